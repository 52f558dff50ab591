
#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_redis_clock.h"
#include "ngx_http_slidewin_redis_conn_io.h"


/* between readings: when the clock is known well enough, and when it is not */
#define NGX_HTTP_SLIDEWIN_REDIS_CLOCK_US      1000000
#define NGX_HTTP_SLIDEWIN_REDIS_CLOCK_SOON    100000

/* an older reading, or one with a larger error, is not used */
#define NGX_HTTP_SLIDEWIN_REDIS_CLOCK_AGE     2000000
#define NGX_HTTP_SLIDEWIN_REDIS_CLOCK_ERROR   5000
#define NGX_HTTP_SLIDEWIN_REDIS_CLOCK_SHARE   100         /* of a window */

#define NGX_HTTP_SLIDEWIN_REDIS_DRIFT         10000       /* 100 ppm */


static void ngx_http_slidewin_redis_clock_replied(redisAsyncContext *context,
    void *reply, void *data);
static int64_t ngx_http_slidewin_redis_clock_error(
    ngx_http_slidewin_redis_conn_t *c, int64_t now);


void
ngx_http_slidewin_redis_clock_reset(ngx_http_slidewin_redis_conn_t *c)
{
    c->clock_asked_at = ngx_http_slidewin_clock_us();
    c->clock_error = 0;
}


/*
 * A server that is busy with a script or with loading answers TIME with an
 * error: the clock is read later.
 */

static void
ngx_http_slidewin_redis_clock_replied(redisAsyncContext *context, void *reply,
    void *data)
{
    redisReply                      *r;
    ngx_http_slidewin_redis_conn_t  *c;

    c = data;
    r = reply;

    c->clock_asking = 0;

    if (ngx_http_slidewin_redis_conn_accept_reply(c, context, r)
        && ngx_http_slidewin_redis_clock_set(c, r) != NGX_OK
        && r->type != REDIS_REPLY_ERROR)
    {
        ngx_http_slidewin_redis_conn_drop_reply(c, r);
    }
}


/*
 * The server read its clock between sending and receiving: the middle of both
 * is wrong by half of the time between them at most.  That error is large if
 * TLS, the server or the worker was slow.  A later reading is used if its error
 * is no larger, or if both cannot be true because a clock was set.
 */

ngx_int_t
ngx_http_slidewin_redis_clock_set(ngx_http_slidewin_redis_conn_t *c,
    redisReply *reply)
{
    int64_t    now, server_time, offset, error, known;
    ngx_int_t  sec, usec;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2
        || reply->element[0]->type != REDIS_REPLY_STRING
        || reply->element[1]->type != REDIS_REPLY_STRING)
    {
        return NGX_ERROR;
    }

    sec = ngx_atoi((u_char *) reply->element[0]->str, reply->element[0]->len);
    usec = ngx_atoi((u_char *) reply->element[1]->str,
                    reply->element[1]->len);

    if (sec == NGX_ERROR || usec == NGX_ERROR || usec > 999999
        || sec < 1 || sec > NGX_MAX_INT32_VALUE * (ngx_int_t) 8)
    {
        return NGX_ERROR;
    }

    now = ngx_http_slidewin_clock_us();
    server_time = (int64_t) sec * 1000000 + usec;
    error = (now - c->clock_asked_at) / 2 + 1;
    offset = server_time - (now + c->clock_asked_at) / 2;
    known = ngx_http_slidewin_redis_clock_error(c, now);

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "slidewin redis clock: %V offset:%L error:%L known error:%L",
                   &c->endpoint->name, offset, error, known);

    if (known < 0 || error <= known
        || offset - c->clock_offset > error + known
        || c->clock_offset - offset > error + known)
    {
        c->clock_offset = offset;
        c->clock_error = error;
        c->clock_read_at = now;
    }

    return NGX_OK;
}


/* the error of the last reading by now, -1 if that is too old */

static int64_t
ngx_http_slidewin_redis_clock_error(ngx_http_slidewin_redis_conn_t *c,
    int64_t now)
{
    int64_t  age;

    age = now - c->clock_read_at;

    if (c->clock_error == 0 || age > NGX_HTTP_SLIDEWIN_REDIS_CLOCK_AGE) {
        return -1;
    }

    return c->clock_error + age / NGX_HTTP_SLIDEWIN_REDIS_DRIFT;
}


int64_t
ngx_http_slidewin_redis_clock_now(ngx_http_slidewin_redis_conn_t *c,
    int64_t now, int64_t window)
{
    int64_t      error, pause;
    ngx_uint_t   known;
    const char  *argv[1];

    error = ngx_http_slidewin_redis_clock_error(c, now);
    known = (error >= 0 && error <= NGX_HTTP_SLIDEWIN_REDIS_CLOCK_ERROR);

    pause = known ? NGX_HTTP_SLIDEWIN_REDIS_CLOCK_US
                  : NGX_HTTP_SLIDEWIN_REDIS_CLOCK_SOON;

    if (!c->clock_asking && now - c->clock_asked_at >= pause) {
        argv[0] = "TIME";

        if (ngx_http_slidewin_redis_conn_send(
                c, ngx_http_slidewin_redis_clock_replied, c, 1, argv, NULL)
            == NGX_OK)
        {
            c->clock_asked_at = now;
            c->clock_asking = 1;
        }
    }

    if (!known
        || error > window * 1000 / NGX_HTTP_SLIDEWIN_REDIS_CLOCK_SHARE)
    {
        return 0;
    }

    return (now + c->clock_offset) / 1000;
}
