
/*
 * When calls are given up: a timeout after they were asked for, or, if they had
 * to wait for others, a timeout after they were sent for the first time.  All
 * of a store wait equally long from a moment that is now: the first to be set
 * is the first to be due, and one timer does for all.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_TIMEOUT_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_TIMEOUT_H_INCLUDED_


#include "ngx_http_slidewin_redis_call.h"


void ngx_http_slidewin_redis_timeouts_init(ngx_http_slidewin_redis_t *redis);

/* the call is overdue if it has not ended a timeout from now, us */
void ngx_http_slidewin_redis_timeout_set(
    ngx_http_slidewin_redis_call_t *rcall, int64_t now);

void ngx_http_slidewin_redis_timeout_clear(
    ngx_http_slidewin_redis_call_t *rcall);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_TIMEOUT_H_INCLUDED_ */
