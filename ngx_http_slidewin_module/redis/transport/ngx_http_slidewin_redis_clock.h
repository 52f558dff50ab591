
/*
 * The server's clock: read by TIME in the handshake, and every second while
 * there are checks.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_CLOCK_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_CLOCK_H_INCLUDED_


#include "ngx_http_slidewin_redis_conn.h"


/* TIME is about to be sent over a new connection */
void ngx_http_slidewin_redis_clock_reset(ngx_http_slidewin_redis_conn_t *c);

/* takes the reply to TIME; NGX_ERROR if that is not a time */
ngx_int_t ngx_http_slidewin_redis_clock_set(ngx_http_slidewin_redis_conn_t *c,
    redisReply *reply);

/*
 * The server's time in ms when it is now (us) here, or 0 if that is not known
 * well enough for such a window (ms).  Sends TIME if the last reading is old.
 */
int64_t ngx_http_slidewin_redis_clock_now(ngx_http_slidewin_redis_conn_t *c,
    int64_t now, int64_t window);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_CLOCK_H_INCLUDED_ */
