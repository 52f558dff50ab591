
/*
 * What is sent over a new connection before any check: AUTH, ROLE, SELECT, the
 * scripts, TIME.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_HANDSHAKE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_HANDSHAKE_H_INCLUDED_


#include "ngx_http_slidewin_redis_conn.h"


/* ends with ngx_http_slidewin_redis_conn_ready(), or ..._conn_drop() */
void ngx_http_slidewin_redis_handshake(ngx_http_slidewin_redis_conn_t *c);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_HANDSHAKE_H_INCLUDED_ */
