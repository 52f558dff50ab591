
#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_redis_conn.h"
#include "sw_breaker.h"


#define NGX_HTTP_SLIDEWIN_REDIS_KEEPALIVE     15          /* s */

/* a server that closes a connection earlier does not do so for idleness */
#define NGX_HTTP_SLIDEWIN_REDIS_IDLE_US       500000

/* ms between attempts to connect; checks wait for the first within timeout= */
#define NGX_HTTP_SLIDEWIN_REDIS_PAUSE_FIRST   25
#define NGX_HTTP_SLIDEWIN_REDIS_PAUSE_MAX     5000


static void ngx_http_slidewin_redis_conn_connect(
    ngx_http_slidewin_redis_conn_t *c);
static void ngx_http_slidewin_redis_conn_timer(ngx_event_t *ev);
static const char *ngx_http_slidewin_redis_conn_timeout_reason(
    ngx_http_slidewin_redis_conn_t *c);
static void ngx_http_slidewin_redis_conn_connected(
    const redisAsyncContext *context, int status);
static void ngx_http_slidewin_redis_conn_disconnected(
    const redisAsyncContext *context, int status);
static void ngx_http_slidewin_redis_conn_lost(
    ngx_http_slidewin_redis_conn_t *c, const char *reason);

static ngx_msec_t ngx_http_slidewin_redis_conn_pause(
    ngx_http_slidewin_redis_conn_t *c);
static void ngx_http_slidewin_redis_conn_retry(
    ngx_http_slidewin_redis_conn_t *c, ngx_msec_t pause);

static void ngx_http_slidewin_redis_conn_restart(
    ngx_http_slidewin_redis_conn_t *c);
static void ngx_http_slidewin_redis_conn_readable(
    ngx_http_slidewin_redis_event_t *e);
static ngx_uint_t ngx_http_slidewin_redis_conn_has_input(
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
    c->state = NGX_HTTP_SLIDEWIN_REDIS_CONNECTING;
    c->resolving = 1;
    c->connected = 0;

    ngx_add_timer(&c->timer, c->access->connect_timeout);

    c->endpoint->find(c->endpoint, c);
}


void
ngx_http_slidewin_redis_conn_resolve_failed(ngx_http_slidewin_redis_conn_t *c,
    const char *reason)
{
    c->resolving = 0;

    ngx_http_slidewin_redis_conn_lost(c, reason);
}


void
ngx_http_slidewin_redis_conn_connect_to(ngx_http_slidewin_redis_conn_t *c,
    const ngx_http_slidewin_redis_address_t *address)
{
    SSL                *ssl;
    u_char             *last, reason[128];
    redisOptions        options;
    redisAsyncContext  *context;

    c->resolving = 0;

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "slidewin redis connect: %V to %s:%ui",
                   &c->endpoint->name, address->host, address->port);

    ngx_memzero(&options, sizeof(redisOptions));

    last = c->address + sizeof(c->address) - 1;

    if (address->port) {
        REDIS_OPTIONS_SET_TCP(&options, address->host, (int) address->port);

        last = ngx_slprintf(c->address, last,
                            ngx_strchr(address->host, ':') ? "[%s]:%ui"
                                                           : "%s:%ui",
                            address->host, address->port);

    } else {
        REDIS_OPTIONS_SET_UNIX(&options, address->host);

        last = ngx_slprintf(c->address, last, "unix:%s", address->host);
    }

    *last = '\0';

    context = redisAsyncConnectWithOptions(&options);

    if (context == NULL) {
        ngx_http_slidewin_redis_conn_lost(c, "no memory");
        return;
    }

    if (context->err) {
        (void) ngx_cpystrn(reason, (u_char *) context->errstr,
                           sizeof(reason));
        redisAsyncFree(context);
        ngx_http_slidewin_redis_conn_lost(c, (char *) reason);
        return;
    }

    ssl = NULL;

    if (c->access->tls) {
        ssl = ngx_http_slidewin_redis_tls_start(c->access->tls, &context->c,
                                                address, &c->session, reason,
                                                sizeof(reason));
        if (ssl == NULL) {
            redisAsyncFree(context);
            ngx_http_slidewin_redis_conn_lost(c, (char *) reason);
            return;
        }
    }

    if (ngx_http_slidewin_redis_event_attach(&c->event, context, ssl,
                                             ngx_cycle->log)
        != NGX_OK)
    {
        redisAsyncFree(context);
        ngx_http_slidewin_redis_conn_lost(c,
                                          "worker_connections are not enough");
        return;
    }

    context->data = c;
    context->c.reader->maxelements = (long long) c->access->reply_elements;

    c->memory.max = c->access->reply_memory;
    c->memory.used = 0;

    ngx_http_slidewin_redis_reader_init(context->c.reader, &c->memory);

    c->pending = 0;
    c->clock_asking = 0;

    (void) redisAsyncSetConnectCallback(context,
                                     ngx_http_slidewin_redis_conn_connected);
    (void) redisAsyncSetDisconnectCallback(context,
                                  ngx_http_slidewin_redis_conn_disconnected);
}


static void
ngx_http_slidewin_redis_conn_timer(ngx_event_t *ev)
{
    ngx_http_slidewin_redis_conn_t  *c;

    c = ev->data;

    switch (c->state) {

    case NGX_HTTP_SLIDEWIN_REDIS_DOWN:
        ngx_http_slidewin_redis_conn_connect(c);
        break;

    case NGX_HTTP_SLIDEWIN_REDIS_CONNECTING:

        /* another address may be left, but checks have waited enough */

        c->failed = 1;
        c->unhealthy = 1;

        ngx_http_slidewin_redis_conn_drop(
            c, ngx_http_slidewin_redis_conn_timeout_reason(c));
        break;

    default: /* NGX_HTTP_SLIDEWIN_REDIS_MOVING */

        /* pending replies are awaited as long as the server answers */

        if (c->pending
            && ngx_http_slidewin_clock_us() - c->replied_at
               < (int64_t) c->access->connect_timeout * 1000)
        {
            ngx_add_timer(&c->timer, c->access->connect_timeout);
            break;
        }

        ngx_http_slidewin_redis_conn_restart(c);
        break;
    }
}


static const char *
ngx_http_slidewin_redis_conn_timeout_reason(ngx_http_slidewin_redis_conn_t *c)
{
    if (c->resolving) {
        return "where it is was not heard in time";
    }

    if (c->event.context
        && (c->event.context->c.flags & REDIS_CONNECTED)
        && c->event.ssl && !SSL_is_init_finished(c->event.ssl))
    {
        return "the TLS handshake took too long";
    }

    return "connecting took too long";
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

    if (context->c.connection_type == REDIS_CONN_TCP) {
        (void) redisEnableKeepAliveWithInterval(
                                          (redisContext *) &context->c,
                                          NGX_HTTP_SLIDEWIN_REDIS_KEEPALIVE);
    }

    c->connected = 1;

    c->access->handshake(c);
}


/*
 * hiredis has found the connection broken and frees it.  A server that closes
 * an idle connection is not at fault: this is logged at "info".  A server that
 * closes one connection after another as soon as they are made is.
 */

static void
ngx_http_slidewin_redis_conn_disconnected(const redisAsyncContext *context,
    int status)
{
    u_char                           text[128];
    ngx_uint_t                       bad_reply;
    const char                      *reason;
    ngx_http_slidewin_redis_conn_t  *c;

    c = context->data;

    if (c->event.context == NULL && !c->exiting
        && c->state != NGX_HTTP_SLIDEWIN_REDIS_DOWN)
    {
        reason = context->err ? context->errstr : "closed";

        if (c->memory.used > c->memory.max) {
            reason = "its answer is too long";

        } else if (c->event.ssl) {
            ngx_http_slidewin_redis_tls_reason(c->event.ssl, reason, text,
                                               sizeof(text));
            reason = (char *) text;
        }

        if (c->state != NGX_HTTP_SLIDEWIN_REDIS_CONNECTING && c->pending == 0
            && (c->pause == 0
                || ngx_http_slidewin_clock_us() - c->replied_at
                   > NGX_HTTP_SLIDEWIN_REDIS_IDLE_US))
        {
            ngx_log_error(NGX_LOG_INFO, ngx_cycle->log, 0,
                          "slidewin redis %V ended an idle connection: %s",
                          &c->endpoint->name, reason);

            c->pause = 0;
            (void) c->endpoint->leave(c->endpoint, 0);

            ngx_http_slidewin_redis_conn_retry(c,
                                       ngx_http_slidewin_redis_conn_pause(c));
            return;
        }

        if (c->state != NGX_HTTP_SLIDEWIN_REDIS_CONNECTING) {
            bad_reply = (context->err == REDIS_ERR_PROTOCOL
                         || c->memory.used > c->memory.max);

            ngx_http_slidewin_stats_error(c->access->counters,
                                          bad_reply
                                          ? NGX_HTTP_SLIDEWIN_ERROR_BAD_REPLY
                                          : NGX_HTTP_SLIDEWIN_ERROR_LOST);
        }

        ngx_http_slidewin_redis_conn_lost(c, reason);
    }
}


void
ngx_http_slidewin_redis_conn_drop_bad(ngx_http_slidewin_redis_conn_t *c,
    const char *reason)
{
    if (c->state == NGX_HTTP_SLIDEWIN_REDIS_READY
        || c->state == NGX_HTTP_SLIDEWIN_REDIS_MOVING)
    {
        ngx_http_slidewin_stats_error(c->access->counters,
                                      NGX_HTTP_SLIDEWIN_ERROR_BAD_REPLY);
    }

    ngx_http_slidewin_redis_conn_drop(c, reason);
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

    /* calls the callbacks of all pending replies */

    if (context) {
        redisAsyncFree(context);
    }
}


static void
ngx_http_slidewin_redis_conn_lost(ngx_http_slidewin_redis_conn_t *c,
    const char *reason)
{
    ngx_uint_t  level, was_ready, offered;

    was_ready = (c->state != NGX_HTTP_SLIDEWIN_REDIS_CONNECTING);

    (void) ngx_cpystrn(c->reason, (u_char *) reason, sizeof(c->reason));

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "slidewin redis lost: %V ready:%ui pending:%ui: %s",
                   &c->endpoint->name, was_ready, c->pending, reason);

    /* the server may have rejected the TLS session: once more without it */

    if (!was_ready && c->connected) {
        offered = c->session.offered;
        ngx_http_slidewin_redis_tls_forget(&c->session);

        if (offered) {
            ngx_log_error(NGX_LOG_INFO, ngx_cycle->log, 0,
                          "slidewin redis %V is tried without its last "
                          "session: %s", &c->endpoint->name, reason);
            (void) c->endpoint->leave(c->endpoint, 0);
            ngx_http_slidewin_redis_conn_retry(c, 0);
            return;
        }
    }

    /* the endpoint is not lost before all of its addresses were tried */

    if (c->endpoint->leave(c->endpoint, !was_ready)) {
        ngx_log_error(NGX_LOG_INFO, ngx_cycle->log, 0,
                      "slidewin redis %V is tried at its next address: %s",
                      &c->endpoint->name, reason);
        ngx_http_slidewin_redis_conn_retry(c, 0);
        return;
    }

    if (!was_ready) {
        ngx_http_slidewin_stats_error(c->access->counters,
                                      NGX_HTTP_SLIDEWIN_ERROR_CONNECT);
    }

    /* one line for the loss, and one for why it lasts, until it is back */

    level = (c->reported && (was_ready || c->reason_reported))
            ? NGX_LOG_INFO : NGX_LOG_ERR;

    if (++c->losses <= c->access->quiet_losses) {
        level = NGX_LOG_INFO;

    } else {
        c->reported = 1;
        c->reason_reported |= !was_ready;
    }

    ngx_log_error(level, ngx_cycle->log, 0,
                  "slidewin redis %V %s: %s", &c->endpoint->name,
                  was_ready ? "is lost" : "cannot be reached", reason);

    /* checks wait for the first attempt after a loss */

    if (!was_ready || c->pause) {
        c->failed = 1;
        c->unhealthy = 1;
    }

    ngx_http_slidewin_redis_conn_retry(c,
                                       ngx_http_slidewin_redis_conn_pause(c));
}


/*
 * All workers of all machines lose a server at the same time: every pause is
 * random, or they would all come back in the same moment.
 */

static ngx_msec_t
ngx_http_slidewin_redis_conn_pause(ngx_http_slidewin_redis_conn_t *c)
{
    uint32_t  rnd;

    rnd = (uint32_t) ngx_random();

    if (c->pause == 0 && c->state != NGX_HTTP_SLIDEWIN_REDIS_CONNECTING) {
        c->pause = SW_PAUSE_MIN;
        return rnd % (NGX_HTTP_SLIDEWIN_REDIS_PAUSE_FIRST + 1);
    }

    return (ngx_msec_t) sw_pause_up_to(&c->pause,
                                       NGX_HTTP_SLIDEWIN_REDIS_PAUSE_MAX,
                                       rnd);
}


static void
ngx_http_slidewin_redis_conn_retry(ngx_http_slidewin_redis_conn_t *c,
    ngx_msec_t pause)
{
    c->state = NGX_HTTP_SLIDEWIN_REDIS_DOWN;

    if (c->timer.timer_set) {
        ngx_del_timer(&c->timer);
    }

    c->resolving = 0;

    if (!c->exiting) {
        ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                       "slidewin redis pause: %V for %Mms",
                       &c->endpoint->name, pause);

        ngx_add_timer(&c->timer, pause);
    }

    c->down(c);
}


/*
 * New calls wait for the new connection, so that no reply is due on the old one
 * after a round trip.
 */

void
ngx_http_slidewin_redis_conn_reconnect(ngx_http_slidewin_redis_conn_t *c)
{
    switch (c->state) {

    case NGX_HTTP_SLIDEWIN_REDIS_CONNECTING:
        ngx_http_slidewin_redis_conn_restart(c);
        break;

    case NGX_HTTP_SLIDEWIN_REDIS_READY:
        c->state = NGX_HTTP_SLIDEWIN_REDIS_MOVING;
        ngx_add_timer(&c->timer, c->pending ? c->access->connect_timeout : 0);
        break;

    default:
        break;
    }
}


static void
ngx_http_slidewin_redis_conn_restart(ngx_http_slidewin_redis_conn_t *c)
{
    redisAsyncContext  *context;

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "slidewin redis reconnect: %V pending:%ui",
                   &c->endpoint->name, c->pending);

    context = c->event.context;

    (void) c->endpoint->leave(c->endpoint, 0);

    ngx_http_slidewin_redis_conn_retry(c, 0);

    if (context) {
        redisAsyncFree(context);
    }
}


ngx_uint_t
ngx_http_slidewin_redis_conn_can_send(ngx_http_slidewin_redis_conn_t *c)
{
    return c->state == NGX_HTTP_SLIDEWIN_REDIS_READY && c->event.context
           && !(c->event.context->c.flags
                & (REDIS_DISCONNECTING|REDIS_FREEING));
}


void
ngx_http_slidewin_redis_conn_ready(ngx_http_slidewin_redis_conn_t *c)
{
    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "slidewin redis ready: %V", &c->endpoint->name);

    ngx_del_timer(&c->timer);

    if (c->was_ready && c->access->counters) {
        ngx_http_slidewin_stats_count(&c->access->counters->reconnects, 1);
    }

    c->state = NGX_HTTP_SLIDEWIN_REDIS_READY;
    c->was_ready = 1;
    c->failed = 0;

    c->ready(c);
}


void
ngx_http_slidewin_redis_conn_healthy(ngx_http_slidewin_redis_conn_t *c)
{
    /* the reply may have been the reason to drop the connection */

    if (c->state == NGX_HTTP_SLIDEWIN_REDIS_DOWN) {
        return;
    }

    c->pause = 0;
    c->losses = 0;
    c->unhealthy = 0;

    if (c->reported) {
        c->reported = 0;
        c->reason_reported = 0;
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "slidewin redis %V is back", &c->endpoint->name);
    }
}


/*
 * hiredis aborts the process on a reply that was not asked for, and buffers a
 * reply of any size: both are checked before it reads.
 */

static void
ngx_http_slidewin_redis_conn_readable(ngx_http_slidewin_redis_event_t *e)
{
    redisReader                     *reader;
    ngx_http_slidewin_redis_conn_t  *c;

    c = (ngx_http_slidewin_redis_conn_t *) e;
    c->read_at = ngx_http_slidewin_clock_us();

    if (!(e->context->c.flags & REDIS_CONNECTED)) {
        return;
    }

    reader = e->context->c.reader;

    if (reader->len - reader->pos > c->access->reply_max) {
        ngx_http_slidewin_redis_conn_drop_bad(c, "its answer is too long");
        return;
    }

    /* hiredis nests as deep as the reply does, and frees by recursion */

    if (reader->ridx > c->access->reply_depth) {
        ngx_http_slidewin_redis_conn_drop_bad(c,
                                              "its answer is nested too deep");
        return;
    }

    if (c->pending == 0 && ngx_http_slidewin_redis_conn_has_input(e)) {
        ngx_http_slidewin_redis_conn_drop_bad(c, "it said more than was asked");
    }
}


/* with TLS, what can be read may be a record of the protocol itself */

static ngx_uint_t
ngx_http_slidewin_redis_conn_has_input(ngx_http_slidewin_redis_event_t *e)
{
    char  byte;

    return e->ssl ? SSL_peek(e->ssl, &byte, 1) > 0
                  : recv(e->context->c.fd, &byte, 1, MSG_PEEK) > 0;
}


void
ngx_http_slidewin_redis_conn_stop(ngx_http_slidewin_redis_conn_t *c)
{
    redisAsyncContext  *context;

    c->exiting = 1;

    /* the last commands, refunds perhaps, are written; no reply is awaited */

    if (ngx_http_slidewin_redis_conn_can_send(c)) {
        ngx_http_slidewin_redis_event_send(&c->event);
    }

    c->state = NGX_HTTP_SLIDEWIN_REDIS_DOWN;
    context = c->event.context;

    (void) c->endpoint->leave(c->endpoint, 0);

    if (c->timer.timer_set) {
        ngx_del_timer(&c->timer);
    }

    if (context) {
        redisAsyncFree(context);
    }

    ngx_http_slidewin_redis_tls_forget(&c->session);
}
