
/*
 * A Redis Cluster: which node a call goes to.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_CLUSTER_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_CLUSTER_H_INCLUDED_


#include "ngx_http_slidewin_redis_cluster_nodes.h"
#include "sw_url.h"


/* of the nodes in the URL; sets what replies may have in access */
ngx_http_slidewin_redis_cluster_t *ngx_http_slidewin_redis_cluster_create(
    ngx_conf_t *cf, ngx_http_slidewin_redis_access_t *access, sw_url_t *url);

/* a worker's */
void ngx_http_slidewin_redis_cluster_start(
    ngx_http_slidewin_redis_cluster_t *cluster, ngx_msec_t timeout,
    const ngx_http_slidewin_redis_cluster_hooks_t *hooks);
void ngx_http_slidewin_redis_cluster_stop(
    ngx_http_slidewin_redis_cluster_t *cluster);

/*
 * NGX_OK: the node has the slot.  NGX_AGAIN: the slots are not known yet, the
 * call may wait in cluster->waiting; node is NULL.  NGX_ERROR: no node has the
 * slot, or all that would tell have failed.
 */
ngx_int_t ngx_http_slidewin_redis_cluster_route(
    ngx_http_slidewin_redis_cluster_t *cluster, ngx_uint_t slot,
    ngx_http_slidewin_redis_node_t **node);

/*
 * What an error that a node replied with leads to.  NGX_OK: the call goes to
 * the next node, and ASKING before it, if asking.  NGX_AGAIN: it is to wait in
 * cluster->waiting and be routed again in a moment; next is NULL.
 * NGX_DECLINED: to no other node.
 */
ngx_int_t ngx_http_slidewin_redis_cluster_redirect(
    ngx_http_slidewin_redis_cluster_t *cluster,
    ngx_http_slidewin_redis_node_t *node, redisReply *reply,
    ngx_http_slidewin_redis_node_t **next, ngx_uint_t *asking);

/* whether a call may wait for the slots */
ngx_uint_t ngx_http_slidewin_redis_cluster_may_wait(
    ngx_http_slidewin_redis_cluster_t *cluster);

/* logs what is no fault of one node */
void ngx_http_slidewin_redis_cluster_log_error(
    ngx_http_slidewin_redis_cluster_t *cluster, const char *what,
    const char *reason, size_t len);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_CLUSTER_H_INCLUDED_ */
