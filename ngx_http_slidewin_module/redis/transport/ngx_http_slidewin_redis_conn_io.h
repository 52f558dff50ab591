
/*
 * Commands and replies over a connection.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_CONN_IO_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_CONN_IO_H_INCLUDED_


#include "ngx_http_slidewin_redis_conn.h"


/*
 * Sends a command.  The callback is called once if NGX_OK was returned, never
 * if NGX_ERROR was; its reply is NULL if the connection is lost.
 */
ngx_int_t ngx_http_slidewin_redis_conn_send(ngx_http_slidewin_redis_conn_t *c,
    redisCallbackFn *callback, void *data, int argc, const char **argv,
    const size_t *lens);

/* the same with one that is written out already */
ngx_int_t ngx_http_slidewin_redis_conn_write(
    ngx_http_slidewin_redis_conn_t *c, redisCallbackFn *callback, void *data,
    ngx_str_t *text);

/*
 * The same with some that are written out: all that is said from then on, and
 * it may be more than was asked, is for the first callback.
 */
ngx_int_t ngx_http_slidewin_redis_conn_subscribe(
    ngx_http_slidewin_redis_conn_t *c, redisCallbackFn *callback, void *data,
    ngx_str_t *text);

/* reads all that has arrived, though no event has told of it yet */
void ngx_http_slidewin_redis_conn_read(ngx_http_slidewin_redis_conn_t *c);

/* every callback is to call this first: counts, finds what is too much */
void ngx_http_slidewin_redis_conn_received(ngx_http_slidewin_redis_conn_t *c);

/* whether the reply is of the connection there is now, and is one */
ngx_uint_t ngx_http_slidewin_redis_conn_accept_reply(
    ngx_http_slidewin_redis_conn_t *c, redisAsyncContext *context,
    redisReply *reply);

/* drops the connection for a reply that is an error, or is not Redis' */
void ngx_http_slidewin_redis_conn_drop_reply(
    ngx_http_slidewin_redis_conn_t *c, redisReply *reply);

/*
 * How much of an error may be logged: what is printable, and not the arguments
 * that Redis repeats behind "unknown command".
 */
size_t ngx_http_slidewin_redis_error_printable(const char *text, size_t len);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_CONN_IO_H_INCLUDED_ */
