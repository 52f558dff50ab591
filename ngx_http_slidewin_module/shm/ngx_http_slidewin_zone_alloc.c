
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_zone_alloc.h"
#include "ngx_http_slidewin_zone_expiry.h"
#include "ngx_http_slidewin_zone_repair.h"
#include "ngx_http_slidewin_zone_tree.h"


/* nodes that a longer ring of a log may evict */
#define NGX_HTTP_SLIDEWIN_RING_EVICTIONS  2

/* at least between two log lines that tell of a full zone, ms */
#define NGX_HTTP_SLIDEWIN_FULL_LOG_MS     60000


static void ngx_http_slidewin_zone_alloc_expire(ngx_http_slidewin_zone_op_t *op,
    int64_t now);
static void *ngx_http_slidewin_zone_alloc(ngx_http_slidewin_zone_op_t *op,
    size_t size, ngx_uint_t evictions, ngx_http_slidewin_node_t *keep,
    int64_t now);
static ngx_http_slidewin_node_t *ngx_http_slidewin_zone_alloc_least_used(
    ngx_http_slidewin_zone_op_t *op, size_t size,
    ngx_http_slidewin_node_t *keep);
static void ngx_http_slidewin_zone_alloc_evict(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node, ngx_uint_t live);


ngx_http_slidewin_node_t *
ngx_http_slidewin_zone_alloc_node(ngx_http_slidewin_zone_op_t *op,
    size_t size, int64_t now)
{
    ngx_http_slidewin_node_t  *node;

    ngx_http_slidewin_zone_alloc_expire(op, now);

    node = ngx_http_slidewin_zone_alloc(op, size, NGX_MAX_INT32_VALUE, NULL,
                                        now);
    if (node == NULL) {
        return NULL;
    }

    node->node.key = op->hash;
    node->node.data = (u_char) op->kind;
    ngx_memcpy(node->key, op->key.data, sw_key_len(op->key.kind));

    return node;
}


void *
ngx_http_slidewin_zone_alloc_ring(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node, size_t size, int64_t now)
{
    return ngx_http_slidewin_zone_alloc(op, size,
                                        NGX_HTTP_SLIDEWIN_RING_EVICTIONS,
                                        node, now);
}


/* two for every new node, so that memory follows the number of clients */

static void
ngx_http_slidewin_zone_alloc_expire(ngx_http_slidewin_zone_op_t *op,
    int64_t now)
{
    ngx_uint_t                 n;
    ngx_http_slidewin_node_t  *node;

    for (n = 0; n < 2; n++) {
        node = ngx_http_slidewin_zone_expiry_expired(op, now);

        if (node == NULL) {
            return;
        }

        ngx_http_slidewin_zone_alloc_evict(op, node, 0);
    }
}


/* for the ring of the node to keep, another node makes room if that helps */

static void *
ngx_http_slidewin_zone_alloc(ngx_http_slidewin_zone_op_t *op, size_t size,
    ngx_uint_t evictions, ngx_http_slidewin_node_t *keep, int64_t now)
{
    void                       *p;
    ngx_uint_t                  evicted, live;
    ngx_slab_pool_t            *shpool;
    ngx_http_slidewin_node_t   *node;
    ngx_http_slidewin_shctx_t  *sh;

    sh = op->sh;
    shpool = op->zone->shpool;

    evicted = sh->evicted;

    for ( ;; ) {
        ngx_http_slidewin_zone_changing(sh, NGX_HTTP_SLIDEWIN_CHANGING_MEMORY);

        p = ngx_slab_alloc_locked(shpool, size);

        if (p) {
            break;
        }

        ngx_http_slidewin_zone_changing(sh, NGX_HTTP_SLIDEWIN_CHANGING_LISTS);

        if (evictions-- == 0) {
            break;
        }

        node = ngx_http_slidewin_zone_expiry_expired(op, now);

        live = (node == NULL || node == keep);

        if (live) {
            node = ngx_http_slidewin_zone_alloc_least_used(op, size, keep);

            if (node == NULL) {
                break;
            }

            sh->evicted++;

#if (NGX_HTTP_SLIDEWIN_TEST)
            ngx_http_slidewin_zone_repair_verify(op, now);
#endif
        }

        ngx_http_slidewin_zone_alloc_evict(op, node, live);
    }

    if ((p == NULL || sh->evicted != evicted)
        && (sh->full_logged_at == 0
            || now - sh->full_logged_at >= NGX_HTTP_SLIDEWIN_FULL_LOG_MS))
    {
        sh->full_logged_at = now;
        op->full = 1;
        op->evicted = sh->evicted;
    }

    return p;
}


static ngx_http_slidewin_node_t *
ngx_http_slidewin_zone_alloc_least_used(ngx_http_slidewin_zone_op_t *op,
    size_t size, ngx_http_slidewin_node_t *keep)
{
    ngx_http_slidewin_link_t  *link;
    ngx_http_slidewin_node_t  *node;

    link = ngx_http_slidewin_link_at(op->zone->shpool, op->sh->lru.prev);

    if (link == &op->sh->lru) {
        return NULL;
    }

    node = ngx_queue_data(link, ngx_http_slidewin_node_t, lru);

    if (keep
        && (node == keep || !ngx_http_slidewin_zone_node_yields(node, size)))
    {
        return NULL;
    }

    return node;
}


static void
ngx_http_slidewin_zone_alloc_evict(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node, ngx_uint_t live)
{
    ngx_http_slidewin_zone_t       *zone;
    ngx_http_slidewin_memo_copy_t  *copy;

    zone = op->zone;

    if (zone->counters) {
        ngx_http_slidewin_stats_count(live ? &zone->counters->evicted_live
                                           : &zone->counters->evicted_idle,
                                      1);
    }

    if (zone->on_evict && ngx_http_slidewin_node_is_scheduled(node)) {
        copy = zone->on_evict(op, ngx_http_slidewin_node_memo(node),
                              zone->evict_data);

        if (copy) {
            copy->next = op->copies;
            op->copies = copy;
        }
    }

    ngx_http_slidewin_zone_tree_unlink(op, node);
    ngx_http_slidewin_zone_node_free(op, node);
}
