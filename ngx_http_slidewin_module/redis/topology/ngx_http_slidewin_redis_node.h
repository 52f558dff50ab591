
/*
 * One Redis that is asked, and when not to ask it.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_NODE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_NODE_H_INCLUDED_


#include "ngx_http_slidewin_redis_types.h"


/* node is zeroed; a worker's */
void ngx_http_slidewin_redis_node_start(ngx_http_slidewin_redis_node_t *node,
    ngx_http_slidewin_redis_t *redis,
    ngx_http_slidewin_redis_endpoint_t *endpoint);
void ngx_http_slidewin_redis_node_stop(ngx_http_slidewin_redis_node_t *node);

/* whether a check may be asked, or a change of what was counted */
ngx_uint_t ngx_http_slidewin_redis_node_may_send(
    ngx_http_slidewin_redis_node_t *node, ngx_uint_t check);

/* whether one that was let in and did not go yet may go now */
ngx_uint_t ngx_http_slidewin_redis_node_usable(
    ngx_http_slidewin_redis_node_t *node);

/* how a check went: answered, failed for a reason, or never answered */
void ngx_http_slidewin_redis_node_success(
    ngx_http_slidewin_redis_node_t *node);
void ngx_http_slidewin_redis_node_failure(
    ngx_http_slidewin_redis_node_t *node, const char *reason, size_t len);
void ngx_http_slidewin_redis_node_probe_lost(
    ngx_http_slidewin_redis_node_t *node);

/*
 * A call that was sent then, us, is given up and counted as late: as long as
 * one is, the connection is left when no call was answered for a timeout.
 * NGX_DECLINED if it is left now, and all that was sent has ended.
 */
ngx_int_t ngx_http_slidewin_redis_node_watch(
    ngx_http_slidewin_redis_node_t *node, int64_t sent_at);

/* nothing was heard for too long */
void ngx_http_slidewin_redis_node_timed_out(
    ngx_http_slidewin_redis_node_t *node);

/* logs what is no fault of the node as a whole */
void ngx_http_slidewin_redis_node_log_error(
    ngx_http_slidewin_redis_node_t *node, const char *what, const char *reason,
    size_t len);

/* whether the reply, an error, begins with the code */
ngx_uint_t ngx_http_slidewin_redis_error_is(redisReply *reply,
    const char *code);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_NODE_H_INCLUDED_ */
