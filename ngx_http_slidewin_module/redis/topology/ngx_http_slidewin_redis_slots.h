
/*
 * Who has which slot of a cluster: asks for it, and asks again when it may have
 * changed.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_SLOTS_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_SLOTS_H_INCLUDED_


#include "ngx_http_slidewin_redis_cluster_nodes.h"


/* a worker's */
void ngx_http_slidewin_redis_slots_start(
    ngx_http_slidewin_redis_cluster_t *cluster);
void ngx_http_slidewin_redis_slots_stop(
    ngx_http_slidewin_redis_cluster_t *cluster);

/* it may have changed: a look now, or as soon as it may be */
void ngx_http_slidewin_redis_slots_refresh(
    ngx_http_slidewin_redis_cluster_t *cluster);

/* nobody waits for a map that will not come */
void ngx_http_slidewin_redis_slots_fail_waiting(
    ngx_http_slidewin_redis_cluster_t *cluster);

/* slots that nobody has are the member's */
void ngx_http_slidewin_redis_slots_assign(
    ngx_http_slidewin_redis_cluster_t *cluster,
    ngx_http_slidewin_redis_cluster_node_t *member, int64_t first,
    int64_t last);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_SLOTS_H_INCLUDED_ */
