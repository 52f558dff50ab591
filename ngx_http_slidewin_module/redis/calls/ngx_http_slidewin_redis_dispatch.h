
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


/* what calls do when a node can be asked or cannot, or slots are known */
extern const ngx_http_slidewin_redis_node_hooks_t
    ngx_http_slidewin_redis_dispatch_node_hooks;
extern const ngx_http_slidewin_redis_cluster_hooks_t
    ngx_http_slidewin_redis_dispatch_cluster_hooks;


/* whether a check, or a change, may go to the node, or wait for the slots */
ngx_uint_t ngx_http_slidewin_redis_dispatch_may_send(
    ngx_http_slidewin_redis_t *redis, ngx_http_slidewin_redis_node_t *node,
    ngx_uint_t check);

/*
 * Sends the call, or lets it wait: for the slots, for the connection or for
 * calls before it.  NGX_ERROR if that cannot be, and the call is the caller's.
 */
ngx_int_t ngx_http_slidewin_redis_dispatch_submit(
    ngx_http_slidewin_redis_call_t *rcall);

/* a call that was not sent ends: as a follower, or waiting to be sent */
void ngx_http_slidewin_redis_dispatch_unfollow(
    ngx_http_slidewin_redis_call_t *rcall);
void ngx_http_slidewin_redis_dispatch_fail_unsent(
    ngx_http_slidewin_redis_call_t *rcall);

/* the first follower leads the others */
void ngx_http_slidewin_redis_dispatch_next(ngx_queue_t *followers);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_DISPATCH_H_INCLUDED_ */
