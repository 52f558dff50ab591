
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

/* the same with a command that is in the protocol's form already */
ngx_int_t ngx_http_slidewin_redis_conn_write(
    ngx_http_slidewin_redis_conn_t *c, redisCallbackFn *callback, void *data,
    ngx_str_t *text);

/*
 * The same with several commands, one of which subscribes: every reply and
 * message from then on is for the callback of the first call.
 */
ngx_int_t ngx_http_slidewin_redis_conn_subscribe(
    ngx_http_slidewin_redis_conn_t *c, redisCallbackFn *callback, void *data,
    ngx_str_t *text);

/* reads all that has arrived, before nginx has its event */
void ngx_http_slidewin_redis_conn_read(ngx_http_slidewin_redis_conn_t *c);

/* a callback calls this first; drops the connection on surplus replies */
void ngx_http_slidewin_redis_conn_received(ngx_http_slidewin_redis_conn_t *c);

/* the same, and whether there is a reply, of the current connection */
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
