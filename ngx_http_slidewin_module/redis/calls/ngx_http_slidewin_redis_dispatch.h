
/*
 * Where a call goes, and when: it is sent to a node, waits to be sent, follows
 * another call that asks for the same, or is redirected.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_DISPATCH_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_DISPATCH_H_INCLUDED_


#include "ngx_http_slidewin_redis_call.h"


/* for the log: Redis is well, but calls wait for it too long */
#define NGX_HTTP_SLIDEWIN_REDIS_TOO_MANY                                      \
    "is asked for more than it can answer"


/* send or end the calls that wait for a node, or for the slots */
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
 * calls before it.  After NGX_ERROR the caller ends or frees the call.
 */
ngx_int_t ngx_http_slidewin_redis_dispatch_submit(
    ngx_http_slidewin_redis_call_t *rcall);

/* end a call that was not sent: a follower, or one that waits to be sent */
void ngx_http_slidewin_redis_dispatch_unfollow(
    ngx_http_slidewin_redis_call_t *rcall);
void ngx_http_slidewin_redis_dispatch_fail_unsent(
    ngx_http_slidewin_redis_call_t *rcall);

/* the first follower is submitted, and leads the others */
void ngx_http_slidewin_redis_dispatch_followers(ngx_queue_t *followers);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_DISPATCH_H_INCLUDED_ */
