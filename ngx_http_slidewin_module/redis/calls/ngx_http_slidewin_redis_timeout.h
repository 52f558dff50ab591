
/*
 * When calls are given up: a timeout after they were asked for, or, if they had
 * to wait for others, a timeout after they were sent for the first time.  All
 * calls of a store have the same timeout: the first deadline that is set is the
 * first to be due, and one timer does for all.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_TIMEOUT_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_TIMEOUT_H_INCLUDED_


#include "ngx_http_slidewin_redis_call.h"


void ngx_http_slidewin_redis_timeouts_init(ngx_http_slidewin_redis_t *redis);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_TIMEOUT_H_INCLUDED_ */
