
#include "ngx_http_slidewin_redis_event.h"

#include <openssl/err.h>


static void ngx_http_slidewin_redis_event_read(ngx_event_t *ev);
static void ngx_http_slidewin_redis_event_write(ngx_event_t *ev);
static void ngx_http_slidewin_redis_event_flush(ngx_event_t *ev);
static void ngx_http_slidewin_redis_event_clear_errors(
    ngx_http_slidewin_redis_event_t *e);
static void ngx_http_slidewin_redis_event_add_read(void *data);
static void ngx_http_slidewin_redis_event_del_read(void *data);
static void ngx_http_slidewin_redis_event_add_write(void *data);
static void ngx_http_slidewin_redis_event_del_write(void *data);
static void ngx_http_slidewin_redis_event_cleanup(void *data);


ngx_int_t
ngx_http_slidewin_redis_event_attach(ngx_http_slidewin_redis_event_t *e,
    redisAsyncContext *context, SSL *ssl, ngx_log_t *log)
{
    ngx_connection_t  *c;

    c = ngx_get_connection(context->c.fd, log);
    if (c == NULL) {
        return NGX_ERROR;
    }

    c->data = e;
    c->log = log;
    c->read->handler = ngx_http_slidewin_redis_event_read;
    c->read->log = log;
    c->write->handler = ngx_http_slidewin_redis_event_write;
    c->write->log = log;

    e->context = context;
    e->ssl = ssl;
    e->connection = c;

    e->flush.handler = ngx_http_slidewin_redis_event_flush;
    e->flush.data = e;
    e->flush.log = log;

    context->ev.data = e;
    context->ev.addRead = ngx_http_slidewin_redis_event_add_read;
    context->ev.delRead = ngx_http_slidewin_redis_event_del_read;
    context->ev.addWrite = ngx_http_slidewin_redis_event_add_write;
    context->ev.delWrite = ngx_http_slidewin_redis_event_del_write;
    context->ev.cleanup = ngx_http_slidewin_redis_event_cleanup;

    return NGX_OK;
}


static void
ngx_http_slidewin_redis_event_read(ngx_event_t *ev)
{
    ngx_connection_t  *c;

    c = ev->data;

    ngx_http_slidewin_redis_event_receive(c->data);
}


void
ngx_http_slidewin_redis_event_receive(ngx_http_slidewin_redis_event_t *e)
{
    ngx_http_slidewin_redis_event_clear_errors(e);

    e->readable(e);

    if (e->context) {
        redisAsyncHandleRead(e->context);
    }

    ngx_http_slidewin_redis_event_clear_errors(e);
}


static void
ngx_http_slidewin_redis_event_write(ngx_event_t *ev)
{
    ngx_connection_t  *c;

    c = ev->data;

    ngx_http_slidewin_redis_event_send(c->data);
}


/* one write for all commands of a turn of the event loop */

static void
ngx_http_slidewin_redis_event_flush(ngx_event_t *ev)
{
    ngx_http_slidewin_redis_event_send(ev->data);
}


void
ngx_http_slidewin_redis_event_send(ngx_http_slidewin_redis_event_t *e)
{
    ngx_http_slidewin_redis_event_clear_errors(e);

    e->flushing = 1;
    redisAsyncHandleWrite(e->context);
    e->flushing = 0;

    ngx_http_slidewin_redis_event_clear_errors(e);
}


/*
 * OpenSSL has one queue of errors for all connections of a worker: an old error
 * of another would be taken for ours, and ours for one of nginx.
 */

static void
ngx_http_slidewin_redis_event_clear_errors(ngx_http_slidewin_redis_event_t *e)
{
    if (e->ssl) {
        ERR_clear_error();
    }
}


/*
 * Level-triggered: hiredis reads up to 16K at a time and waits for another
 * event for the rest.
 */

static void
ngx_http_slidewin_redis_event_add_read(void *data)
{
    ngx_event_t                      *rev;
    ngx_http_slidewin_redis_event_t  *e;

    e = data;
    rev = e->connection->read;

    if (!rev->active) {
        (void) ngx_add_event(rev, NGX_READ_EVENT, NGX_LEVEL_EVENT);
    }
}


static void
ngx_http_slidewin_redis_event_del_read(void *data)
{
    ngx_event_t                      *rev;
    ngx_http_slidewin_redis_event_t  *e;

    e = data;
    rev = e->connection->read;

    if (rev->active) {
        (void) ngx_del_event(rev, NGX_READ_EVENT, 0);
    }
}


static void
ngx_http_slidewin_redis_event_add_write(void *data)
{
    ngx_event_t                      *wev;
    ngx_http_slidewin_redis_event_t  *e;

    e = data;
    wev = e->connection->write;

    /* an event is needed only if the flush could not write all */

    if ((e->context->c.flags & REDIS_CONNECTED) && !e->flushing) {
        ngx_post_event(&e->flush, &ngx_posted_events);
        return;
    }

    if (!wev->active) {
        (void) ngx_add_event(wev, NGX_WRITE_EVENT, NGX_LEVEL_EVENT);
    }
}


static void
ngx_http_slidewin_redis_event_del_write(void *data)
{
    ngx_event_t                      *wev;
    ngx_http_slidewin_redis_event_t  *e;

    e = data;
    wev = e->connection->write;

    /*
     * hiredis remembers that TLS once had to read before it could write, and
     * then takes a full socket buffer for the same: the write would stall
     */

    if (e->ssl && sdslen(e->context->c.obuf) && !SSL_want_read(e->ssl)) {
        ngx_http_slidewin_redis_event_add_write(e);
        return;
    }

    if (wev->active) {
        (void) ngx_del_event(wev, NGX_WRITE_EVENT, 0);
    }
}


/* hiredis closes the descriptor */

static void
ngx_http_slidewin_redis_event_cleanup(void *data)
{
    ngx_connection_t                 *c;
    ngx_http_slidewin_redis_event_t  *e;

    e = data;
    c = e->connection;

    if (c == NULL) {
        return;
    }

    if (c->read->active) {
        (void) ngx_del_event(c->read, NGX_READ_EVENT, 0);
    }

    if (c->write->active) {
        (void) ngx_del_event(c->write, NGX_WRITE_EVENT, 0);
    }

    if (c->read->posted) {
        ngx_delete_posted_event(c->read);
    }

    if (c->write->posted) {
        ngx_delete_posted_event(c->write);
    }

    if (e->flush.posted) {
        ngx_delete_posted_event(&e->flush);
    }

    ngx_free_connection(c);
    c->fd = (ngx_socket_t) -1;

    e->connection = NULL;
    e->context = NULL;
}
