
/*
 * What is said before anything is asked: who we are, who they are, where to
 * count, the scripts; and what time it is there, then and later.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_HANDSHAKE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_HANDSHAKE_H_INCLUDED_


#include "ngx_http_slidewin_redis_conn.h"


/* ends with ngx_http_slidewin_redis_conn_ready(), or it is dropped */
void ngx_http_slidewin_redis_handshake(ngx_http_slidewin_redis_conn_t *c);

/* drops it for an answer that is an error, or is not what Redis would say */
void ngx_http_slidewin_redis_handshake_failed(ngx_http_slidewin_redis_conn_t *c,
    redisReply *reply);

/*
 * The time there, in ms, when it is now here, 0 if it is not known well enough
 * for such a window; asks for it now and then.
 */
int64_t ngx_http_slidewin_redis_clock_now(ngx_http_slidewin_redis_conn_t *c,
    int64_t now, int64_t window);

/*
 * How much of an error may be logged: what is printable, and one about a
 * command that is unknown there goes on with what the command was given.
 */
size_t ngx_http_slidewin_redis_error_printable(const char *text, size_t len);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_HANDSHAKE_H_INCLUDED_ */
