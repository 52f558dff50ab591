
/*
 * A Redis Cluster: which node has a slot.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_CLUSTER_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_CLUSTER_H_INCLUDED_


#include "ngx_http_slidewin_redis_types.h"
#include "sw_url.h"


/* of the nodes in the URL */
char *ngx_http_slidewin_redis_cluster_create(ngx_conf_t *cf,
    ngx_http_slidewin_redis_t *redis, sw_url_t *url);

/* a worker's */
void ngx_http_slidewin_redis_cluster_start(
    ngx_http_slidewin_redis_cluster_t *cluster);
void ngx_http_slidewin_redis_cluster_stop(
    ngx_http_slidewin_redis_cluster_t *cluster);

/*
 * The node that has the slot.  As long as that is not known it is the store's
 * own, which is never connected: whoever waits for it is sent on later.  NULL
 * if nobody has the slot, or nobody is there to tell.
 */
ngx_http_slidewin_redis_node_t *ngx_http_slidewin_redis_cluster_route(
    ngx_http_slidewin_redis_cluster_t *cluster, ngx_uint_t slot);

/*
 * The node that an error sends the call to, and whether ASKING goes before it;
 * the store's own if the call is to be tried again in a moment; NULL if the
 * error leads nowhere.
 */
ngx_http_slidewin_redis_node_t *ngx_http_slidewin_redis_cluster_redirect(
    ngx_http_slidewin_redis_node_t *node, redisReply *reply,
    ngx_uint_t *asking);

/* a node of it can be asked, or cannot any more */
void ngx_http_slidewin_redis_cluster_ready(
    ngx_http_slidewin_redis_cluster_t *cluster);
void ngx_http_slidewin_redis_cluster_down(
    ngx_http_slidewin_redis_cluster_t *cluster);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_CLUSTER_H_INCLUDED_ */
