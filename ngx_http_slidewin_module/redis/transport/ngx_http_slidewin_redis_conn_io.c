
#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_redis_conn_io.h"


/* what the buffer of a connection grows to with its second command */
#define NGX_HTTP_SLIDEWIN_REDIS_ROOM  6144


static void ngx_http_slidewin_redis_conn_make_room(redisContext *context,
    size_t len);


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


ngx_int_t
ngx_http_slidewin_redis_conn_write(ngx_http_slidewin_redis_conn_t *c,
    redisCallbackFn *callback, void *data, ngx_str_t *text)
{
    if (c->event.context == NULL) {
        return NGX_ERROR;
    }

    ngx_http_slidewin_redis_conn_make_room(&c->event.context->c, text->len);

    if (redisAsyncFormattedCommand(c->event.context, callback, data,
                                   (char *) text->data, text->len)
        != REDIS_OK)
    {
        return NGX_ERROR;
    }

    c->pending++;

    return NGX_OK;
}


/*
 * hiredis can subscribe, but aborts the process on a reply that it does not
 * understand.  Its code for MONITOR keeps the first callback whatever comes.
 */

ngx_int_t
ngx_http_slidewin_redis_conn_subscribe(ngx_http_slidewin_redis_conn_t *c,
    redisCallbackFn *callback, void *data, ngx_str_t *text)
{
    redisAsyncContext  *context;

    context = c->event.context;

    if (context == NULL || !(context->c.flags & REDIS_MONITORING)) {
        if (ngx_http_slidewin_redis_conn_write(c, callback, data, text)
            != NGX_OK)
        {
            return NGX_ERROR;
        }

        c->event.context->c.flags |= REDIS_MONITORING;
        return NGX_OK;
    }

    if (redisAppendFormattedCommand(&context->c, (char *) text->data,
                                    text->len)
        != REDIS_OK)
    {
        return NGX_ERROR;
    }

    context->ev.addWrite(context->ev.data);

    return NGX_OK;
}


/*
 * hiredis begins with an empty buffer after each write.  A second command in
 * one turn is likely to be followed by more: the buffer grows once for all.
 */

static void
ngx_http_slidewin_redis_conn_make_room(redisContext *context, size_t len)
{
    sds  room;

    if (sdslen(context->obuf) == 0 || sdsavail(context->obuf) >= len) {
        return;
    }

    room = sdsMakeRoomFor(context->obuf, NGX_HTTP_SLIDEWIN_REDIS_ROOM);

    if (room) {
        context->obuf = room;
    }
}


void
ngx_http_slidewin_redis_conn_read(ngx_http_slidewin_redis_conn_t *c)
{
    int64_t  replied_at;

    do {
        c->drained_at = ngx_http_slidewin_clock_us();

        if (c->event.context == NULL
            || !(c->event.context->c.flags & REDIS_CONNECTED))
        {
            return;
        }

        replied_at = c->replied_at;
        ngx_http_slidewin_redis_event_receive(&c->event);

    } while (c->replied_at != replied_at);
}


void
ngx_http_slidewin_redis_conn_received(ngx_http_slidewin_redis_conn_t *c)
{
    redisReader  *reader;

    if (c->state == NGX_HTTP_SLIDEWIN_REDIS_DOWN) {
        return;
    }

    c->replied_at = c->read_at;
    c->pending--;

    if (c->pending) {
        return;
    }

    reader = c->event.context->c.reader;

    if (reader->pos < reader->len) {
        ngx_http_slidewin_redis_conn_drop_bad(c,
                                              "it said more than was asked");
        return;
    }

    /* not from here: the callback of this reply may send another command */

    if (c->state == NGX_HTTP_SLIDEWIN_REDIS_MOVING) {
        ngx_del_timer(&c->timer);
        ngx_add_timer(&c->timer, 0);
    }
}


ngx_uint_t
ngx_http_slidewin_redis_conn_accept_reply(ngx_http_slidewin_redis_conn_t *c,
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
ngx_http_slidewin_redis_conn_drop_reply(ngx_http_slidewin_redis_conn_t *c,
    redisReply *reply)
{
    size_t  len;
    u_char  reason[128];

    if (reply->type != REDIS_REPLY_ERROR) {
        ngx_http_slidewin_redis_conn_drop_bad(c,
                                              "it does not speak like Redis");
        return;
    }

    len = ngx_http_slidewin_redis_error_printable(reply->str, reply->len);

    (void) ngx_cpystrn(reason, (u_char *) reply->str,
                       ngx_min(len + 1, sizeof(reason)));

    ngx_http_slidewin_redis_conn_drop(c, (char *) reason);
}


size_t
ngx_http_slidewin_redis_error_printable(const char *text, size_t len)
{
    size_t   i;
    u_char  *args;

    args = ngx_strlcasestrn((u_char *) text, (u_char *) text + len,
                            (u_char *) ", with args", 11 - 1);

    if (args) {
        len = args - (u_char *) text;
    }

    for (i = 0; i < len; i++) {
        if (text[i] < ' ' || text[i] > '~') {
            break;
        }
    }

    return i;
}
