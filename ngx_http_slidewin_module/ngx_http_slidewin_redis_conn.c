
#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_redis_conn.h"
#include "sw_breaker.h"


/* no reply of ours is longer, has more elements, or has more within them */
#define NGX_HTTP_SLIDEWIN_REDIS_REPLY_MAX     65536
#define NGX_HTTP_SLIDEWIN_REDIS_ELEMENTS_MAX  4096
#define NGX_HTTP_SLIDEWIN_REDIS_DEPTH_MAX     1

#define NGX_HTTP_SLIDEWIN_REDIS_KEEPALIVE     15          /* s */
#define NGX_HTTP_SLIDEWIN_REDIS_IDLE_US       500000
#define NGX_HTTP_SLIDEWIN_REDIS_CLOCK_US      1000000
#define NGX_HTTP_SLIDEWIN_REDIS_DRIFT         10000       /* 100 ppm */


static void ngx_http_slidewin_redis_conn_connect(
    ngx_http_slidewin_redis_conn_t *c);
static void ngx_http_slidewin_redis_conn_timer(ngx_event_t *ev);
static void ngx_http_slidewin_redis_conn_connected(
    const redisAsyncContext *context, int status);
static void ngx_http_slidewin_redis_conn_disconnected(
    const redisAsyncContext *context, int status);
static void ngx_http_slidewin_redis_conn_lost(
    ngx_http_slidewin_redis_conn_t *c, const char *reason);

static void ngx_http_slidewin_redis_conn_retry(
    ngx_http_slidewin_redis_conn_t *c, ngx_msec_t pause);

static void ngx_http_slidewin_redis_conn_greet(
    ngx_http_slidewin_redis_conn_t *c);
static ngx_int_t ngx_http_slidewin_redis_conn_say(
    ngx_http_slidewin_redis_conn_t *c, redisCallbackFn *callback, int argc,
    const char **argv);
static void ngx_http_slidewin_redis_conn_greeted(redisAsyncContext *context,
    void *reply, void *data);
static void ngx_http_slidewin_redis_conn_refused(
    ngx_http_slidewin_redis_conn_t *c, redisReply *reply);
static void ngx_http_slidewin_redis_conn_loaded(redisAsyncContext *context,
    void *reply, void *data);
static void ngx_http_slidewin_redis_conn_clock(redisAsyncContext *context,
    void *reply, void *data);
static ngx_int_t ngx_http_slidewin_redis_conn_set_clock(
    ngx_http_slidewin_redis_conn_t *c, redisReply *reply);
static ngx_uint_t ngx_http_slidewin_redis_conn_current(
    ngx_http_slidewin_redis_conn_t *c, redisAsyncContext *context,
    redisReply *reply);

static void ngx_http_slidewin_redis_conn_readable(
    ngx_http_slidewin_redis_event_t *e);


void
ngx_http_slidewin_redis_conn_start(ngx_http_slidewin_redis_conn_t *c)
{
    c->event.readable = ngx_http_slidewin_redis_conn_readable;

    c->timer.handler = ngx_http_slidewin_redis_conn_timer;
    c->timer.data = c;
    c->timer.log = ngx_cycle->log;
    c->timer.cancelable = 1;

    ngx_http_slidewin_redis_conn_connect(c);
}


static void
ngx_http_slidewin_redis_conn_connect(ngx_http_slidewin_redis_conn_t *c)
{
    char                reason[128], *host;
    redisOptions        options;
    redisAsyncContext  *context;

    c->state = NGX_HTTP_SLIDEWIN_REDIS_CONNECTING;

    if (c->server->nhosts == 0) {
        ngx_http_slidewin_redis_conn_lost(c, "its name was not resolved");
        return;
    }

    ngx_memzero(&options, sizeof(redisOptions));

    host = (char *) c->server->hosts[c->host].data;

    if (c->server->is_unix) {
        REDIS_OPTIONS_SET_UNIX(&options, host);

    } else {
        REDIS_OPTIONS_SET_TCP(&options, host, (int) c->server->port);
    }

    context = redisAsyncConnectWithOptions(&options);

    if (context == NULL) {
        ngx_http_slidewin_redis_conn_lost(c, "no memory");
        return;
    }

    if (context->err) {
        (void) ngx_cpystrn((u_char *) reason, (u_char *) context->errstr,
                           sizeof(reason));
        redisAsyncFree(context);
        ngx_http_slidewin_redis_conn_lost(c, reason);
        return;
    }

    if (ngx_http_slidewin_redis_event_attach(&c->event, context,
                                             ngx_cycle->log)
        != NGX_OK)
    {
        redisAsyncFree(context);
        ngx_http_slidewin_redis_conn_lost(c,
                                          "worker_connections are not enough");
        return;
    }

    context->data = c;
    context->c.reader->maxelements = NGX_HTTP_SLIDEWIN_REDIS_ELEMENTS_MAX;

    c->pending = 0;
    c->asking_clock = 0;

    (void) redisAsyncSetConnectCallback(context,
                                     ngx_http_slidewin_redis_conn_connected);
    (void) redisAsyncSetDisconnectCallback(context,
                                  ngx_http_slidewin_redis_conn_disconnected);

    ngx_add_timer(&c->timer, c->server->connect_timeout);
}


static void
ngx_http_slidewin_redis_conn_timer(ngx_event_t *ev)
{
    ngx_http_slidewin_redis_conn_t  *c;

    c = ev->data;

    if (c->state == NGX_HTTP_SLIDEWIN_REDIS_DOWN) {
        ngx_http_slidewin_redis_conn_connect(c);

    } else {
        ngx_http_slidewin_redis_conn_drop(c, "connecting took too long");
    }
}


static void
ngx_http_slidewin_redis_conn_connected(const redisAsyncContext *context,
    int status)
{
    ngx_http_slidewin_redis_conn_t  *c;

    c = context->data;

    if (context != c->event.context) {
        return;
    }

    if (status != REDIS_OK) {
        ngx_http_slidewin_redis_conn_lost(c, context->errstr);
        return;
    }

    if (!c->server->is_unix) {
        (void) redisEnableKeepAliveWithInterval(
                                          (redisContext *) &context->c,
                                          NGX_HTTP_SLIDEWIN_REDIS_KEEPALIVE);
    }

    ngx_http_slidewin_redis_conn_greet(c);
}


/*
 * hiredis has found the connection broken and frees it.  A server may end one
 * that is idle: that is no fault, and nobody is told but those who look.  One
 * that ends again and again what it has just let in is not idle.
 */

static void
ngx_http_slidewin_redis_conn_disconnected(const redisAsyncContext *context,
    int status)
{
    const char                      *reason;
    ngx_http_slidewin_redis_conn_t  *c;

    c = context->data;

    if (c->event.context == NULL
        && c->state != NGX_HTTP_SLIDEWIN_REDIS_DOWN)
    {
        reason = context->err ? context->errstr : "closed";

        if (c->state == NGX_HTTP_SLIDEWIN_REDIS_READY && c->pending == 0
            && (c->pause == 0
                || ngx_http_slidewin_clock_us() - c->heard
                   > NGX_HTTP_SLIDEWIN_REDIS_IDLE_US))
        {
            c->pause = SW_PAUSE_MIN;

            ngx_log_error(NGX_LOG_INFO, ngx_cycle->log, 0,
                          "slidewin redis %V ended an idle connection: %s",
                          &c->server->name, reason);
            ngx_http_slidewin_redis_conn_retry(c, 0);
            return;
        }

        ngx_http_slidewin_redis_conn_lost(c, reason);
    }
}


void
ngx_http_slidewin_redis_conn_drop(ngx_http_slidewin_redis_conn_t *c,
    const char *reason)
{
    redisAsyncContext  *context;

    if (c->state == NGX_HTTP_SLIDEWIN_REDIS_DOWN) {
        return;
    }

    context = c->event.context;

    ngx_http_slidewin_redis_conn_lost(c, reason);

    /* runs the callbacks of all that is pending */

    redisAsyncFree(context);
}


static void
ngx_http_slidewin_redis_conn_lost(ngx_http_slidewin_redis_conn_t *c,
    const char *reason)
{
    ngx_uint_t  level, was_ready;
    ngx_msec_t  pause;

    /* one line for the loss, one for why it lasts, until it works again */

    was_ready = (c->state == NGX_HTTP_SLIDEWIN_REDIS_READY);

    level = (c->reported && (was_ready || c->explained)) ? NGX_LOG_INFO
                                                         : NGX_LOG_ERR;

    ngx_log_error(level, ngx_cycle->log, 0,
                  "slidewin redis %V %s: %s", &c->server->name,
                  was_ready ? "is lost" : "cannot be reached", reason);

    c->reported = 1;
    c->explained |= !was_ready;

    if (!was_ready && ++c->host >= c->server->nhosts) {
        c->host = 0;
    }

    /* the first attempt after a loss is made at once */

    pause = 0;

    if (!was_ready || c->pause) {
        pause = (ngx_msec_t) sw_pause_next(&c->pause,
                                           (uint32_t) ngx_random());
        c->failed = 1;
        c->doubtful = 1;

    } else {
        c->pause = SW_PAUSE_MIN;
    }

    ngx_http_slidewin_redis_conn_retry(c, pause);
}


static void
ngx_http_slidewin_redis_conn_retry(ngx_http_slidewin_redis_conn_t *c,
    ngx_msec_t pause)
{
    c->state = NGX_HTTP_SLIDEWIN_REDIS_DOWN;

    if (c->timer.timer_set) {
        ngx_del_timer(&c->timer);
    }

    if (!c->exiting) {
        ngx_add_timer(&c->timer, pause);
    }

    c->down(c);
}


static void
ngx_http_slidewin_redis_conn_greet(ngx_http_slidewin_redis_conn_t *c)
{
    int                                argc;
    char                               database[NGX_INT_T_LEN + 1];
    ngx_uint_t                         i;
    const char                        *argv[3];
    ngx_http_slidewin_redis_server_t  *server;

    server = c->server;

    if (server->password.len) {
        argc = 0;
        argv[argc++] = "AUTH";

        if (server->user.len) {
            argv[argc++] = (char *) server->user.data;
        }

        argv[argc++] = (char *) server->password.data;

        if (ngx_http_slidewin_redis_conn_say(c,
                                         ngx_http_slidewin_redis_conn_greeted,
                                         argc, argv)
            != NGX_OK)
        {
            return;
        }
    }

    if (server->database) {
        (void) ngx_sprintf((u_char *) database, "%ui%Z", server->database);

        argv[0] = "SELECT";
        argv[1] = database;

        if (ngx_http_slidewin_redis_conn_say(c,
                                         ngx_http_slidewin_redis_conn_greeted,
                                         2, argv)
            != NGX_OK)
        {
            return;
        }
    }

    for (i = 0; i < server->nscripts; i++) {
        argv[0] = "SCRIPT";
        argv[1] = "LOAD";
        argv[2] = (char *) server->scripts[i].data;

        if (ngx_http_slidewin_redis_conn_say(c,
                                          ngx_http_slidewin_redis_conn_loaded,
                                          3, argv)
            != NGX_OK)
        {
            return;
        }
    }

    c->clock_asked = ngx_http_slidewin_clock_us();
    c->clock_error = 0;

    argv[0] = "TIME";

    (void) ngx_http_slidewin_redis_conn_say(c,
                                           ngx_http_slidewin_redis_conn_clock,
                                           1, argv);
}


static ngx_int_t
ngx_http_slidewin_redis_conn_say(ngx_http_slidewin_redis_conn_t *c,
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
ngx_http_slidewin_redis_conn_greeted(redisAsyncContext *context, void *reply,
    void *data)
{
    redisReply                      *r;
    ngx_http_slidewin_redis_conn_t  *c;

    c = data;
    r = reply;

    if (ngx_http_slidewin_redis_conn_current(c, context, r)
        && r->type != REDIS_REPLY_STATUS)
    {
        ngx_http_slidewin_redis_conn_refused(c, r);
    }
}


static void
ngx_http_slidewin_redis_conn_refused(ngx_http_slidewin_redis_conn_t *c,
    redisReply *reply)
{
    size_t  len;
    u_char  reason[128];

    if (reply->type != REDIS_REPLY_ERROR) {
        ngx_http_slidewin_redis_conn_drop(c, "it does not speak like Redis");
        return;
    }

    len = ngx_http_slidewin_redis_conn_reason(reply->str, reply->len);

    (void) ngx_cpystrn(reason, (u_char *) reply->str,
                       ngx_min(len + 1, sizeof(reason)));

    ngx_http_slidewin_redis_conn_drop(c, (char *) reason);
}


size_t
ngx_http_slidewin_redis_conn_reason(const char *text, size_t len)
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


/* SCRIPT LOAD: without it the first check brings the script along */

static void
ngx_http_slidewin_redis_conn_loaded(redisAsyncContext *context, void *reply,
    void *data)
{
    ngx_http_slidewin_redis_conn_t  *c;

    c = data;

    (void) ngx_http_slidewin_redis_conn_current(c, context, reply);
}


static void
ngx_http_slidewin_redis_conn_clock(redisAsyncContext *context, void *reply,
    void *data)
{
    ngx_http_slidewin_redis_conn_t  *c;

    c = data;
    c->asking_clock = 0;

    if (!ngx_http_slidewin_redis_conn_current(c, context, reply)) {
        return;
    }

    if (ngx_http_slidewin_redis_conn_set_clock(c, reply) != NGX_OK) {

        /* one that is busy has the time later */

        if (c->state != NGX_HTTP_SLIDEWIN_REDIS_READY
            || ((redisReply *) reply)->type != REDIS_REPLY_ERROR)
        {
            ngx_http_slidewin_redis_conn_refused(c, reply);
        }

        return;
    }

    if (c->state == NGX_HTTP_SLIDEWIN_REDIS_READY) {
        return;
    }

    /* the last of the greeting */

    ngx_del_timer(&c->timer);
    c->state = NGX_HTTP_SLIDEWIN_REDIS_READY;

    c->failed = 0;

    c->ready(c);
}


/*
 * The other clock was read between asking and hearing: the middle is wrong by
 * half of that at most.  A later reading is taken if it is as good, or if the
 * two cannot both be true because a clock was set.
 */

static ngx_int_t
ngx_http_slidewin_redis_conn_set_clock(ngx_http_slidewin_redis_conn_t *c,
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

    known = c->clock_error + NGX_HTTP_SLIDEWIN_REDIS_CLOCK_US
                             / NGX_HTTP_SLIDEWIN_REDIS_DRIFT;

    if (c->clock_error == 0 || error <= known
        || offset - c->clock > error + known
        || c->clock - offset > error + known)
    {
        c->clock = offset;
        c->clock_error = error;

    } else {
        c->clock_error = known;
    }

    return NGX_OK;
}


int64_t
ngx_http_slidewin_redis_conn_time(ngx_http_slidewin_redis_conn_t *c)
{
    int64_t      now;
    const char  *argv[1];

    now = ngx_http_slidewin_clock_us();

    if (!c->asking_clock
        && now - c->clock_asked >= NGX_HTTP_SLIDEWIN_REDIS_CLOCK_US)
    {
        argv[0] = "TIME";

        if (ngx_http_slidewin_redis_conn_send(c,
                                            ngx_http_slidewin_redis_conn_clock,
                                            c, 1, argv, NULL)
            == NGX_OK)
        {
            c->clock_asked = now;
            c->asking_clock = 1;
        }
    }

    return (now + c->clock) / 1000;
}


ngx_int_t
ngx_http_slidewin_redis_conn_send(ngx_http_slidewin_redis_conn_t *c,
    redisCallbackFn *callback, void *data, int argc, const char **argv,
    const size_t *lens)
{
    if (c->event.context == NULL
        || redisAsyncCommandArgv(c->event.context, callback, data, argc,
                                 argv, lens)
           != REDIS_OK)
    {
        return NGX_ERROR;
    }

    c->pending++;

    return NGX_OK;
}


void
ngx_http_slidewin_redis_conn_received(ngx_http_slidewin_redis_conn_t *c)
{
    redisReader  *reader;

    if (c->state == NGX_HTTP_SLIDEWIN_REDIS_DOWN) {
        return;
    }

    c->heard = ngx_http_slidewin_clock_us();
    c->pending--;

    if (c->pending) {
        return;
    }

    reader = c->event.context->c.reader;

    if (reader->pos < reader->len) {
        ngx_http_slidewin_redis_conn_drop(c, "it said more than was asked");
    }
}


/* whether the reply is of the connection there is now, and is one */

static ngx_uint_t
ngx_http_slidewin_redis_conn_current(ngx_http_slidewin_redis_conn_t *c,
    redisAsyncContext *context, redisReply *reply)
{
    if (reply == NULL || context != c->event.context
        || c->state == NGX_HTTP_SLIDEWIN_REDIS_DOWN)
    {
        return 0;
    }

    ngx_http_slidewin_redis_conn_received(c);

    return c->state != NGX_HTTP_SLIDEWIN_REDIS_DOWN;
}


void
ngx_http_slidewin_redis_conn_proven(ngx_http_slidewin_redis_conn_t *c)
{
    /* not by the answer that made it be dropped */

    if (c->state != NGX_HTTP_SLIDEWIN_REDIS_READY) {
        return;
    }

    c->pause = 0;
    c->doubtful = 0;

    if (c->reported) {
        c->reported = 0;
        c->explained = 0;
        ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                      "slidewin redis %V is back", &c->server->name);
    }
}


/*
 * hiredis aborts on a reply that nobody waits for, and reads as much as it is
 * sent: both are looked at before it reads.
 */

static void
ngx_http_slidewin_redis_conn_readable(ngx_http_slidewin_redis_event_t *e)
{
    char                             byte;
    redisReader                     *reader;
    ngx_http_slidewin_redis_conn_t  *c;

    c = (ngx_http_slidewin_redis_conn_t *) e;

    if (!(e->context->c.flags & REDIS_CONNECTED)) {
        return;
    }

    reader = e->context->c.reader;

    if (reader->len - reader->pos > NGX_HTTP_SLIDEWIN_REDIS_REPLY_MAX) {
        ngx_http_slidewin_redis_conn_drop(c, "its answer is too long");
        return;
    }

    /* hiredis goes as deep as it is led, and frees by recursion */

    if (reader->ridx > NGX_HTTP_SLIDEWIN_REDIS_DEPTH_MAX) {
        ngx_http_slidewin_redis_conn_drop(c, "its answer is nested too deep");
        return;
    }

    if (c->pending == 0
        && recv(e->context->c.fd, &byte, 1, MSG_PEEK) > 0)
    {
        ngx_http_slidewin_redis_conn_drop(c, "it said more than was asked");
    }
}


void
ngx_http_slidewin_redis_conn_stop(ngx_http_slidewin_redis_conn_t *c)
{
    redisAsyncContext  *context;

    c->exiting = 1;
    c->state = NGX_HTTP_SLIDEWIN_REDIS_DOWN;
    context = c->event.context;

    if (c->timer.timer_set) {
        ngx_del_timer(&c->timer);
    }

    if (context) {
        redisAsyncFree(context);
    }
}
