
/*
 * When calls are given up.  All of a store wait equally long: the first to ask
 * is the first to be due, and one timer does for all.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_DEADLINE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_DEADLINE_H_INCLUDED_


#include "ngx_http_slidewin_redis_call.h"


void ngx_http_slidewin_redis_deadlines_init(ngx_http_slidewin_redis_t *redis);

/* the call is overdue if it has not ended after the timeout */
void ngx_http_slidewin_redis_deadline_set(
    ngx_http_slidewin_redis_call_t *rcall);

/* or after another while, once it was so */
void ngx_http_slidewin_redis_deadline_again(
    ngx_http_slidewin_redis_call_t *rcall, ngx_msec_t pause);

void ngx_http_slidewin_redis_deadline_clear(
    ngx_http_slidewin_redis_call_t *rcall);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_DEADLINE_H_INCLUDED_ */
