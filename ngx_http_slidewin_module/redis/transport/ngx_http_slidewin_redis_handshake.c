
#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_redis_conn.h"
#include "ngx_http_slidewin_redis_handshake.h"


/* how often it is asked for the time: by one that knows it, and by others */
#define NGX_HTTP_SLIDEWIN_REDIS_CLOCK_US      1000000
#define NGX_HTTP_SLIDEWIN_REDIS_CLOCK_SOON    100000

/* what is known is good for so long, and if it is no further off */
#define NGX_HTTP_SLIDEWIN_REDIS_CLOCK_AGE     2000000
#define NGX_HTTP_SLIDEWIN_REDIS_CLOCK_ERROR   5000
#define NGX_HTTP_SLIDEWIN_REDIS_CLOCK_SHARE   100         /* of a window */

#define NGX_HTTP_SLIDEWIN_REDIS_DRIFT         10000       /* 100 ppm */


static ngx_int_t ngx_http_slidewin_redis_handshake_say(
    ngx_http_slidewin_redis_conn_t *c, redisCallbackFn *callback, int argc,
    const char **argv);
static void ngx_http_slidewin_redis_handshake_replied(
    redisAsyncContext *context, void *reply, void *data);
static void ngx_http_slidewin_redis_handshake_role(redisAsyncContext *context,
    void *reply, void *data);
static void ngx_http_slidewin_redis_handshake_pong(redisAsyncContext *context,
    void *reply, void *data);
static void ngx_http_slidewin_redis_handshake_loaded(redisAsyncContext *context,
    void *reply, void *data);
static void ngx_http_slidewin_redis_clock_replied(redisAsyncContext *context,
    void *reply, void *data);
static ngx_int_t ngx_http_slidewin_redis_clock_set(
    ngx_http_slidewin_redis_conn_t *c, redisReply *reply);
static int64_t ngx_http_slidewin_redis_handshake_error(
    ngx_http_slidewin_redis_conn_t *c, int64_t now);


void
ngx_http_slidewin_redis_handshake(ngx_http_slidewin_redis_conn_t *c)
{
    int                                argc;
    char                               database[NGX_INT_T_LEN + 1];
    ngx_uint_t                         i;
    const char                        *argv[3];
    ngx_http_slidewin_redis_access_t  *access;

    access = c->access;

    if (access->password.len) {
        argc = 0;
        argv[argc++] = "AUTH";

        if (access->user.len) {
            argv[argc++] = (char *) access->user.data;
        }

        argv[argc++] = (char *) access->password.data;

        if (ngx_http_slidewin_redis_handshake_say(
                c, ngx_http_slidewin_redis_handshake_replied, argc, argv)
            != NGX_OK)
        {
            return;
        }
    }

    if (access->sentinel) {
        argv[0] = "PING";

        (void) ngx_http_slidewin_redis_handshake_say(
            c, ngx_http_slidewin_redis_handshake_pong, 1, argv);
        return;
    }

    if (access->master) {
        argv[0] = "ROLE";

        if (ngx_http_slidewin_redis_handshake_say(
                c, ngx_http_slidewin_redis_handshake_role, 1, argv)
            != NGX_OK)
        {
            return;
        }
    }

    if (access->database) {
        (void) ngx_sprintf((u_char *) database, "%ui%Z", access->database);

        argv[0] = "SELECT";
        argv[1] = database;

        if (ngx_http_slidewin_redis_handshake_say(
                c, ngx_http_slidewin_redis_handshake_replied, 2, argv)
            != NGX_OK)
        {
            return;
        }
    }

    for (i = 0; i < access->nscripts; i++) {
        argv[0] = "SCRIPT";
        argv[1] = "LOAD";
        argv[2] = (char *) access->scripts[i].data;

        if (ngx_http_slidewin_redis_handshake_say(
                c, ngx_http_slidewin_redis_handshake_loaded, 3, argv)
            != NGX_OK)
        {
            return;
        }
    }

    c->clock_asked = ngx_http_slidewin_clock_us();
    c->clock_error = 0;

    argv[0] = "TIME";

    (void) ngx_http_slidewin_redis_handshake_say(
        c, ngx_http_slidewin_redis_clock_replied, 1, argv);
}


static ngx_int_t
ngx_http_slidewin_redis_handshake_say(ngx_http_slidewin_redis_conn_t *c,
    redisCallbackFn *callback, int argc, const char **argv)
{
    if (ngx_http_slidewin_redis_conn_send(c, callback, c, argc, argv, NULL)
        != NGX_OK)
    {
        ngx_http_slidewin_redis_conn_drop(c, "no memory");
        return NGX_ERROR;
    }

    return NGX_OK;
}


/* AUTH, SELECT: without them it would count as somebody else, or elsewhere */

static void
ngx_http_slidewin_redis_handshake_replied(redisAsyncContext *context,
    void *reply, void *data)
{
    redisReply                      *r;
    ngx_http_slidewin_redis_conn_t  *c;

    c = data;
    r = reply;

    if (ngx_http_slidewin_redis_conn_accept_reply(c, context, r)
        && r->type != REDIS_REPLY_STATUS)
    {
        ngx_http_slidewin_redis_handshake_failed(c, r);
    }
}


void
ngx_http_slidewin_redis_handshake_failed(ngx_http_slidewin_redis_conn_t *c,
    redisReply *reply)
{
    size_t  len;
    u_char  reason[128];

    if (reply->type != REDIS_REPLY_ERROR) {
        ngx_http_slidewin_redis_conn_drop(c, "it does not speak like Redis");
        return;
    }

    len = ngx_http_slidewin_redis_error_printable(reply->str, reply->len);

    (void) ngx_cpystrn(reason, (u_char *) reply->str,
                       ngx_min(len + 1, sizeof(reason)));

    ngx_http_slidewin_redis_conn_drop(c, (char *) reason);
}


/* ROLE: what a sentinel has said may be over */

static void
ngx_http_slidewin_redis_handshake_role(redisAsyncContext *context, void *reply,
    void *data)
{
    redisReply                      *r;
    ngx_http_slidewin_redis_conn_t  *c;

    c = data;
    r = reply;

    if (!ngx_http_slidewin_redis_conn_accept_reply(c, context, r)) {
        return;
    }

    if (r->type != REDIS_REPLY_ARRAY || r->elements == 0
        || r->element[0]->type != REDIS_REPLY_STRING)
    {
        ngx_http_slidewin_redis_handshake_failed(c, r);
        return;
    }

    if (ngx_strcmp(r->element[0]->str, "master") != 0) {
        ngx_http_slidewin_redis_conn_drop(c, "it is a replica");
    }
}


/* PING: the last that a sentinel is told */

static void
ngx_http_slidewin_redis_handshake_pong(redisAsyncContext *context, void *reply,
    void *data)
{
    redisReply                      *r;
    ngx_http_slidewin_redis_conn_t  *c;

    c = data;
    r = reply;

    if (!ngx_http_slidewin_redis_conn_accept_reply(c, context, r)) {
        return;
    }

    if (r->type != REDIS_REPLY_STATUS) {
        ngx_http_slidewin_redis_handshake_failed(c, r);
        return;
    }

    ngx_http_slidewin_redis_conn_ready(c);
}


/* SCRIPT LOAD: without it the first check brings the script along */

static void
ngx_http_slidewin_redis_handshake_loaded(redisAsyncContext *context,
    void *reply, void *data)
{
    ngx_http_slidewin_redis_conn_t  *c;

    c = data;

    (void) ngx_http_slidewin_redis_conn_accept_reply(c, context, reply);
}


static void
ngx_http_slidewin_redis_clock_replied(redisAsyncContext *context, void *reply,
    void *data)
{
    ngx_http_slidewin_redis_conn_t  *c;

    c = data;
    c->asking_clock = 0;

    if (!ngx_http_slidewin_redis_conn_accept_reply(c, context, reply)) {
        return;
    }

    if (ngx_http_slidewin_redis_clock_set(c, reply) != NGX_OK) {

        /* one that is busy has the time later */

        if (c->state == NGX_HTTP_SLIDEWIN_REDIS_CONNECTING
            || ((redisReply *) reply)->type != REDIS_REPLY_ERROR)
        {
            ngx_http_slidewin_redis_handshake_failed(c, reply);
        }

        return;
    }

    /* the last of the greeting */

    if (c->state == NGX_HTTP_SLIDEWIN_REDIS_CONNECTING) {
        ngx_http_slidewin_redis_conn_ready(c);
    }
}


/*
 * The other clock was read between asking and hearing: the middle is wrong by
 * half of that at most.  The first question goes behind a TLS handshake, and
 * any may meet a server or a worker that stands still: its answer is then wide,
 * and says so.  A later reading is taken if it is as good, or if the two cannot
 * both be true because a clock was set.
 */

static ngx_int_t
ngx_http_slidewin_redis_clock_set(ngx_http_slidewin_redis_conn_t *c,
    redisReply *reply)
{
    int64_t    now, theirs, offset, error, known;
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
    theirs = (int64_t) sec * 1000000 + usec;
    error = (now - c->clock_asked) / 2 + 1;
    offset = theirs - (now + c->clock_asked) / 2;
    known = ngx_http_slidewin_redis_handshake_error(c, now);

    if (known < 0 || error <= known
        || offset - c->clock > error + known
        || c->clock - offset > error + known)
    {
        c->clock = offset;
        c->clock_error = error;
        c->clock_read = now;
    }

    return NGX_OK;
}


/* how far off what is known may be, -1 if it is too old to say */

static int64_t
ngx_http_slidewin_redis_handshake_error(ngx_http_slidewin_redis_conn_t *c,
    int64_t now)
{
    int64_t  age;

    age = now - c->clock_read;

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

    error = ngx_http_slidewin_redis_handshake_error(c, now);
    known = (error >= 0 && error <= NGX_HTTP_SLIDEWIN_REDIS_CLOCK_ERROR);

    pause = known ? NGX_HTTP_SLIDEWIN_REDIS_CLOCK_US
                  : NGX_HTTP_SLIDEWIN_REDIS_CLOCK_SOON;

    if (!c->asking_clock && now - c->clock_asked >= pause) {
        argv[0] = "TIME";

        if (ngx_http_slidewin_redis_conn_send(
                c, ngx_http_slidewin_redis_clock_replied, c, 1, argv, NULL)
            == NGX_OK)
        {
            c->clock_asked = now;
            c->asking_clock = 1;
        }
    }

    if (!known
        || error > window * 1000 / NGX_HTTP_SLIDEWIN_REDIS_CLOCK_SHARE)
    {
        return 0;
    }

    return (now + c->clock) / 1000;
}


size_t
ngx_http_slidewin_redis_error_printable(const char *text, size_t len)
{
    size_t   i;
    u_char  *given;

    given = ngx_strlcasestrn((u_char *) text, (u_char *) text + len,
                             (u_char *) ", with args", 11 - 1);

    if (given) {
        len = given - (u_char *) text;
    }

    for (i = 0; i < len; i++) {
        if (text[i] < ' ' || text[i] > '~') {
            break;
        }
    }

    return i;
}
