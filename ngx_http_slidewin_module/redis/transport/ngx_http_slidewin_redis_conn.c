
#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_redis_conn.h"
#include "sw_breaker.h"


#define NGX_HTTP_SLIDEWIN_REDIS_KEEPALIVE     15          /* s */
#define NGX_HTTP_SLIDEWIN_REDIS_IDLE_US       500000

/* between attempts to connect; that of the first one is less than a timeout */
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
    c->locating = 1;
    c->met = 0;

    ngx_add_timer(&c->timer, c->access->connect_timeout);

    c->endpoint->find(c->endpoint, c);
}


void
ngx_http_slidewin_redis_conn_resolve_failed(ngx_http_slidewin_redis_conn_t *c,
    const char *reason)
{
    c->locating = 0;

    ngx_http_slidewin_redis_conn_lost(c, reason);
}


void
ngx_http_slidewin_redis_conn_connect_to(ngx_http_slidewin_redis_conn_t *c,
    const ngx_http_slidewin_redis_address_t *address)
{
    SSL                *ssl;
    u_char              reason[128];
    redisOptions        options;
    redisAsyncContext  *context;

    c->locating = 0;

    ngx_memzero(&options, sizeof(redisOptions));

    if (address->port) {
        REDIS_OPTIONS_SET_TCP(&options, address->host, (int) address->port);

    } else {
        REDIS_OPTIONS_SET_UNIX(&options, address->host);
    }

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
    c->asking_clock = 0;

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

        /* it may have other addresses, but who waits has waited enough */

        c->failed = 1;
        c->doubtful = 1;

        ngx_http_slidewin_redis_conn_drop(
            c, ngx_http_slidewin_redis_conn_timeout_reason(c));
        break;

    default: /* NGX_HTTP_SLIDEWIN_REDIS_MOVING */

        /* as long as it answers */

        if (c->pending
            && ngx_http_slidewin_clock_us() - c->heard
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
    if (c->locating) {
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

    c->met = 1;

    c->access->handshake(c);
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
    u_char                           text[128];
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
                || ngx_http_slidewin_clock_us() - c->heard
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

    /* what was resumed in vain is begun anew, once */

    if (!was_ready && c->met) {
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

    /* it is not lost as long as it has an address that was not tried */

    if (c->endpoint->leave(c->endpoint, !was_ready)) {
        ngx_log_error(NGX_LOG_INFO, ngx_cycle->log, 0,
                      "slidewin redis %V is tried at its next address: %s",
                      &c->endpoint->name, reason);
        ngx_http_slidewin_redis_conn_retry(c, 0);
        return;
    }

    /* one line for the loss, one for why it lasts, until it works again */

    level = (c->reported && (was_ready || c->explained)) ? NGX_LOG_INFO
                                                         : NGX_LOG_ERR;

    if (++c->losses <= c->access->spared) {
        level = NGX_LOG_INFO;

    } else {
        c->reported = 1;
        c->explained |= !was_ready;
    }

    ngx_log_error(level, ngx_cycle->log, 0,
                  "slidewin redis %V %s: %s", &c->endpoint->name,
                  was_ready ? "is lost" : "cannot be reached", reason);

    /* the first attempt after a loss is waited for */

    if (!was_ready || c->pause) {
        c->failed = 1;
        c->doubtful = 1;
    }

    ngx_http_slidewin_redis_conn_retry(c,
                                       ngx_http_slidewin_redis_conn_pause(c));
}


/*
 * All workers of all edges lose a server at the same time: none of the pauses
 * is the same for all.
 */

static ngx_msec_t
ngx_http_slidewin_redis_conn_pause(ngx_http_slidewin_redis_conn_t *c)
{
    uint32_t  chance;

    chance = (uint32_t) ngx_random();

    if (c->pause == 0 && c->state != NGX_HTTP_SLIDEWIN_REDIS_CONNECTING) {
        c->pause = SW_PAUSE_MIN;
        return chance % (NGX_HTTP_SLIDEWIN_REDIS_PAUSE_FIRST + 1);
    }

    return (ngx_msec_t) sw_pause_up_to(&c->pause,
                                       NGX_HTTP_SLIDEWIN_REDIS_PAUSE_MAX,
                                       chance);
}


static void
ngx_http_slidewin_redis_conn_retry(ngx_http_slidewin_redis_conn_t *c,
    ngx_msec_t pause)
{
    c->state = NGX_HTTP_SLIDEWIN_REDIS_DOWN;

    if (c->timer.timer_set) {
        ngx_del_timer(&c->timer);
    }

    c->locating = 0;

    if (!c->exiting) {
        ngx_add_timer(&c->timer, pause);
    }

    c->down(c);
}


/*
 * What is asked from now on waits for the new connection, so that this one has
 * said all that it owes after a round trip.
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

    context = c->event.context;

    (void) c->endpoint->leave(c->endpoint, 0);

    ngx_http_slidewin_redis_conn_retry(c, 0);

    if (context) {
        redisAsyncFree(context);
    }
}


ngx_uint_t
ngx_http_slidewin_redis_conn_open(ngx_http_slidewin_redis_conn_t *c)
{
    return c->state == NGX_HTTP_SLIDEWIN_REDIS_READY && c->event.context
           && !(c->event.context->c.flags
                & (REDIS_DISCONNECTING|REDIS_FREEING));
}


void
ngx_http_slidewin_redis_conn_ready(ngx_http_slidewin_redis_conn_t *c)
{
    ngx_del_timer(&c->timer);

    c->state = NGX_HTTP_SLIDEWIN_REDIS_READY;
    c->failed = 0;

    c->ready(c);
}


void
ngx_http_slidewin_redis_conn_healthy(ngx_http_slidewin_redis_conn_t *c)
{
    /* not by the answer that made it be dropped */

    if (c->state == NGX_HTTP_SLIDEWIN_REDIS_DOWN) {
        return;
    }

    c->pause = 0;
    c->losses = 0;
    c->doubtful = 0;

    if (c->reported) {
        c->reported = 0;
        c->explained = 0;
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "slidewin redis %V is back", &c->endpoint->name);
    }
}


/*
 * hiredis aborts on a reply that nobody waits for, and reads as much as it is
 * sent: both are looked at before it reads.
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
        ngx_http_slidewin_redis_conn_drop(c, "its answer is too long");
        return;
    }

    /* hiredis goes as deep as it is led, and frees by recursion */

    if (reader->ridx > c->access->reply_depth) {
        ngx_http_slidewin_redis_conn_drop(c, "its answer is nested too deep");
        return;
    }

    if (c->pending == 0 && ngx_http_slidewin_redis_conn_has_input(e)) {
        ngx_http_slidewin_redis_conn_drop(c, "it said more than was asked");
    }
}


/* with TLS what there is to read need not be for us */

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

    /* what was said last is not waited for, but it goes */

    if (ngx_http_slidewin_redis_conn_open(c)) {
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
