
/*
 * A cluster as a worker knows it, and its nodes: nodes that have slots, and
 * nodes of the URL, which are asked for the slots.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_CLUSTER_NODES_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_CLUSTER_NODES_H_INCLUDED_


#include "ngx_http_slidewin_redis_dns.h"
#include "ngx_http_slidewin_redis_node.h"
#include "sw_slot.h"


/* each node has a connection of each worker */
#define NGX_HTTP_SLIDEWIN_REDIS_NODES_MAX   512


typedef struct ngx_http_slidewin_redis_cluster_s
    ngx_http_slidewin_redis_cluster_t;


/*
 * What the room above does: node_ready and node_unusable as a node's ready and
 * unusable; slots_known when the calls in cluster->waiting may have a node now,
 * slots_failed when they will not have one.
 */

typedef struct {
    void             (*node_ready)(ngx_http_slidewin_redis_node_t *node);
    void             (*node_unusable)(ngx_http_slidewin_redis_node_t *node);
    void             (*slots_known)(ngx_http_slidewin_redis_cluster_t *cluster);
    void             (*slots_failed)(
                                   ngx_http_slidewin_redis_cluster_t *cluster);
} ngx_http_slidewin_redis_cluster_hooks_t;


typedef struct {
    ngx_http_slidewin_redis_node_t      node;      /* first: it is cast */
    ngx_http_slidewin_redis_cluster_t  *cluster;
    ngx_http_slidewin_redis_dns_t      *host;
    ngx_pool_t                         *pool;
    ngx_uint_t                          index;
    int64_t                             asked_at;  /* us, for the slots */
    unsigned                            has_slots:1;
    unsigned                            had_slots:1; /* has or had some */
    unsigned                            slots_pending:1; /* their reply is */
    unsigned                            no_slots_reply:1; /* or a bad one */
} ngx_http_slidewin_redis_cluster_node_t;


struct ngx_http_slidewin_redis_cluster_s {
    ngx_http_slidewin_redis_access_t               *access;
    ngx_http_slidewin_redis_dns_t                  *seeds;
    ngx_uint_t                                      nseeds;

    /* a worker's */

    const ngx_http_slidewin_redis_cluster_hooks_t  *hooks;
    const ngx_http_slidewin_redis_node_hooks_t     *node_hooks;
    ngx_msec_t                                      timeout; /* of a call */

    ngx_http_slidewin_redis_cluster_node_t         *nodes
                                         [NGX_HTTP_SLIDEWIN_REDIS_NODES_MAX];
    ngx_uint_t                                      n;   /* indexes in use */

    sw_slots_t                                      tables[2];
    sw_slots_t                                     *slots; /* one of tables;
                                                      NULL: not known yet */
    int                                             unassigned; /* slots */

    ngx_queue_t                                     waiting; /* calls, for the
                                                                slots */
    ngx_uint_t                                      checks;  /* of these */
    ngx_uint_t                                      changes; /* of these */

    ngx_event_t                                     refresh;
    ngx_event_t                                     try_again; /* TRYAGAIN */
    ngx_http_slidewin_redis_cluster_node_t         *slots_from; /* the node
                                           that is asked; NULL: none */
    ngx_uint_t                                      last_index; /* asked */
    int64_t                                         pause;
    int64_t                                         next;  /* ms, to ask */
    time_t                                          logged; /* s, an error */
    unsigned                                        stale:1;
    unsigned                                        reported:1; /* no slots */
    unsigned                                        wait_failed:1; /* a call
                                           waited for the slots in vain;
                                           since then no node was ready
                                           and no TRYAGAIN came */
};


/* the node of that name, connected ahead of use; NULL if there can be none */
ngx_http_slidewin_redis_cluster_node_t *
    ngx_http_slidewin_redis_cluster_get_node(
    ngx_http_slidewin_redis_cluster_t *cluster, const char *host, size_t len,
    ngx_uint_t port);

/* adds the nodes of the URL */
void ngx_http_slidewin_redis_cluster_add_seeds(
    ngx_http_slidewin_redis_cluster_t *cluster);

/* a node to ask for the slots, in turn: of nodes with slots, or of all */
ngx_http_slidewin_redis_cluster_node_t *
    ngx_http_slidewin_redis_cluster_pick_node(
    ngx_http_slidewin_redis_cluster_t *cluster, ngx_uint_t has_slots);

/* whether all nodes that could tell the slots have failed */
ngx_uint_t ngx_http_slidewin_redis_cluster_all_failed(
    ngx_http_slidewin_redis_cluster_t *cluster);

/* closes nodes that are not needed any more; whether one is in use yet */
ngx_uint_t ngx_http_slidewin_redis_cluster_close_unused(
    ngx_http_slidewin_redis_cluster_t *cluster);

/* closes all nodes: the worker exits */
void ngx_http_slidewin_redis_cluster_close_all(
    ngx_http_slidewin_redis_cluster_t *cluster);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_CLUSTER_NODES_H_INCLUDED_ */
