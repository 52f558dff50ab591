
/*
 * The nodes of a cluster that a worker knows: those that have slots, and those
 * that tell who has them.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_CLUSTER_NODES_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_CLUSTER_NODES_H_INCLUDED_


#include "ngx_http_slidewin_redis_types.h"
#include "sw_slot.h"


/* each has a connection of the worker's */
#define NGX_HTTP_SLIDEWIN_REDIS_NODES_MAX   512


typedef struct {
    ngx_http_slidewin_redis_node_t     node;
    ngx_http_slidewin_redis_dns_t     *host;
    ngx_pool_t                        *pool;
    ngx_uint_t                         index;
    int64_t                            asked_at;   /* us */
    unsigned                           mapped:1;   /* has slots */
    unsigned                           owned:1;    /* has or had some */
    unsigned                           asked:1;    /* for the map */
    unsigned                           useless:1;  /* has none to give */
} ngx_http_slidewin_redis_cluster_node_t;


struct ngx_http_slidewin_redis_cluster_s {
    ngx_http_slidewin_redis_t               *redis;
    ngx_http_slidewin_redis_dns_t           *seeds;
    ngx_uint_t                               nseeds;

    ngx_http_slidewin_redis_cluster_node_t  *members
                                         [NGX_HTTP_SLIDEWIN_REDIS_NODES_MAX];
    ngx_uint_t                               n;    /* places in use */

    sw_slots_t                               maps[2];
    sw_slots_t                              *map;  /* NULL: not known yet */
    int                                      left; /* slots without a node */

    ngx_event_t                              look; /* for the next map */
    ngx_event_t                              again; /* for TRYAGAIN */
    ngx_http_slidewin_redis_cluster_node_t  *asking;
    ngx_uint_t                               last; /* that was asked */
    int64_t                                  pause;
    int64_t                                  next; /* ms, not before */
    unsigned                                 stale:1;
    unsigned                                 reported:1; /* there is none */
};


/* the node of that name, connected ahead of use; NULL if it cannot be one */
ngx_http_slidewin_redis_cluster_node_t *
    ngx_http_slidewin_redis_cluster_get_node(
    ngx_http_slidewin_redis_cluster_t *cluster, const char *host, size_t len,
    ngx_uint_t port);

/* those of the URL */
void ngx_http_slidewin_redis_cluster_add_seeds(
    ngx_http_slidewin_redis_cluster_t *cluster);

/* one that can be asked for the map, in turn; of those with slots, or of all */
ngx_http_slidewin_redis_cluster_node_t *
    ngx_http_slidewin_redis_cluster_pick_node(
    ngx_http_slidewin_redis_cluster_t *cluster, ngx_uint_t mapped);

/* whether all that the map could come from have failed */
ngx_uint_t ngx_http_slidewin_redis_cluster_all_failed(
    ngx_http_slidewin_redis_cluster_t *cluster);

/* closes what is not needed any more; whether some is in use yet */
ngx_uint_t ngx_http_slidewin_redis_cluster_close_unused(
    ngx_http_slidewin_redis_cluster_t *cluster);

/* all of them; the worker exits */
void ngx_http_slidewin_redis_cluster_close_all(
    ngx_http_slidewin_redis_cluster_t *cluster);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_CLUSTER_NODES_H_INCLUDED_ */
