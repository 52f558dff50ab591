
/*
 * Where a call goes, and when: it is sent to a node, waits to be sent, follows
 * another call that asks for the same, or is redirected.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_DISPATCH_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_DISPATCH_H_INCLUDED_


#include "ngx_http_slidewin_redis_call.h"


/* for the log: what a node is that is well and that calls wait too long for */
#define NGX_HTTP_SLIDEWIN_REDIS_TOO_MANY                                      \
    "is asked for more than it can answer"


/*
 * Sends the call, or lets it wait for the connection or for calls before it.
 * NGX_ERROR if that cannot be, and the call is the caller's.
 */
ngx_int_t ngx_http_slidewin_redis_dispatch_submit(
    ngx_http_slidewin_redis_call_t *rcall);

/* the calls that wait for the node: as many as may be sent, or none will be */
void ngx_http_slidewin_redis_dispatch_waiting(
    ngx_http_slidewin_redis_node_t *node);
void ngx_http_slidewin_redis_dispatch_fail_waiting(
    ngx_http_slidewin_redis_node_t *node);

/* the calls that wait for a node of a cluster: look for it again */
void ngx_http_slidewin_redis_dispatch_route(ngx_http_slidewin_redis_t *redis);

/* a call that was not sent ends: as a follower, or waiting to be sent */
void ngx_http_slidewin_redis_dispatch_unfollow(
    ngx_http_slidewin_redis_call_t *rcall);
void ngx_http_slidewin_redis_dispatch_fail_unsent(
    ngx_http_slidewin_redis_call_t *rcall);

/* the first follower leads the others */
void ngx_http_slidewin_redis_dispatch_next(ngx_queue_t *followers);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_DISPATCH_H_INCLUDED_ */
