
/*
 * Which node has which slot of a cluster: asks for it, and asks again when that
 * may have changed.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_SLOTS_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_SLOTS_H_INCLUDED_


#include "ngx_http_slidewin_redis_cluster_nodes.h"


/* a worker's */
void ngx_http_slidewin_redis_slots_start(
    ngx_http_slidewin_redis_cluster_t *cluster);
void ngx_http_slidewin_redis_slots_stop(
    ngx_http_slidewin_redis_cluster_t *cluster);

/* the slots may have moved: asks for them now, or as soon as it may */
void ngx_http_slidewin_redis_slots_refresh(
    ngx_http_slidewin_redis_cluster_t *cluster);

/* ends the calls that wait for the slots if no node is left to tell them */
void ngx_http_slidewin_redis_slots_fail_waiting(
    ngx_http_slidewin_redis_cluster_t *cluster);

/* gives slots that have no node to the node */
void ngx_http_slidewin_redis_slots_assign(
    ngx_http_slidewin_redis_cluster_t *cluster,
    ngx_http_slidewin_redis_cluster_node_t *cnode, int64_t first,
    int64_t last);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_SLOTS_H_INCLUDED_ */
