
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_zone_expiry.h"
#include "ngx_http_slidewin_zone_repair.h"
#include "ngx_http_slidewin_zone_tree.h"


static void ngx_http_slidewin_zone_repair_lists(
    ngx_http_slidewin_zone_op_t *op);
static void ngx_http_slidewin_zone_repair_relist(
    ngx_http_slidewin_zone_op_t *op, ngx_http_slidewin_node_t *node);
static void ngx_http_slidewin_zone_repair_trees(
    ngx_http_slidewin_zone_op_t *op);
static void ngx_http_slidewin_zone_repair_memory(
    ngx_http_slidewin_zone_op_t *op, u_char *saved, u_char *end);
static u_char *ngx_http_slidewin_zone_repair_save(
    ngx_http_slidewin_zone_op_t *op, u_char **end);
static void ngx_http_slidewin_zone_repair_restore(
    ngx_http_slidewin_zone_op_t *op, u_char *p, u_char *end);

#if (NGX_HTTP_SLIDEWIN_TEST)
static ngx_uint_t ngx_http_slidewin_zone_repair_is_expired(
    ngx_http_slidewin_zone_op_t *op, ngx_http_slidewin_node_t *node,
    int64_t now);
#endif


/* every node is found by a structure that the dead worker was not changing */

void
ngx_http_slidewin_zone_repair(ngx_http_slidewin_zone_op_t *op)
{
    u_char  *saved, *end;

    op->repaired = 1;

    switch (op->sh->changing) {

    case NGX_HTTP_SLIDEWIN_CHANGING_LISTS:
        ngx_http_slidewin_zone_repair_lists(op);
        return;

    case NGX_HTTP_SLIDEWIN_CHANGING_TREE:
        ngx_http_slidewin_zone_repair_trees(op);
        return;

    case NGX_HTTP_SLIDEWIN_CHANGING_MEMORY:
        saved = ngx_http_slidewin_zone_repair_save(op, &end);
        break;

    default: /* NGX_HTTP_SLIDEWIN_CHANGING_ALL */
        saved = NULL;
        end = NULL;
    }

    ngx_http_slidewin_zone_repair_memory(op, saved, end);

    ngx_free(saved);
}


/* rebuilds the lists from the trees; frees a node that is in no tree */

static void
ngx_http_slidewin_zone_repair_lists(ngx_http_slidewin_zone_op_t *op)
{
    ngx_uint_t                  i;
    ngx_rbtree_t                tree;
    ngx_rbtree_node_t          *node;
    ngx_http_slidewin_shctx_t  *sh;

    sh = op->sh;

    ngx_http_slidewin_zone_tree_clear_lists(op->zone->shpool, sh);
    sh->entries = 0;

    for (i = 0; i < sh->trees; i++) {

        (void) ngx_http_slidewin_zone_tree_get(sh, (uint32_t) i, &tree);

        if (tree.root == tree.sentinel) {
            continue;
        }

        for (node = ngx_rbtree_min(tree.root, tree.sentinel);
             node;
             node = ngx_rbtree_next(&tree, node))
        {
            ngx_http_slidewin_zone_repair_relist(op,
                                           (ngx_http_slidewin_node_t *) node);
        }
    }

    if (sh->detached) {
        ngx_http_slidewin_zone_node_free(op, sh->detached);
        return;
    }

    ngx_http_slidewin_zone_changing(sh, NGX_HTTP_SLIDEWIN_CHANGING_LISTS);
}


static void
ngx_http_slidewin_zone_repair_relist(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node)
{
    if (ngx_http_slidewin_node_is_counter(node)) {
        sw_state_repair(&node->state);
    }

    ngx_http_slidewin_link_insert(op->zone->shpool, &op->sh->lru, &node->lru);
    ngx_http_slidewin_zone_expiry_insert(op, node);
    op->sh->entries++;

    if (ngx_http_slidewin_node_is_scheduled(node)) {
        ngx_queue_insert_tail(&op->sh->schedule,
                              &ngx_http_slidewin_node_memo(node)->queue);
    }
}


/* rebuilds the trees from the LRU list, without a node that was removed */

static void
ngx_http_slidewin_zone_repair_trees(ngx_http_slidewin_zone_op_t *op)
{
    ngx_slab_pool_t            *pool;
    ngx_http_slidewin_link_t   *link;
    ngx_http_slidewin_node_t   *node;
    ngx_http_slidewin_shctx_t  *sh;

    sh = op->sh;
    pool = op->zone->shpool;

    ngx_http_slidewin_zone_tree_clear_roots(sh);

    for (link = ngx_http_slidewin_link_at(pool, sh->lru.prev);
         link != &sh->lru;
         link = ngx_http_slidewin_link_at(pool, link->prev))
    {
        node = ngx_queue_data(link, ngx_http_slidewin_node_t, lru);

        if (node != sh->detached) {
            ngx_http_slidewin_zone_tree_insert(sh, node);
        }
    }

    ngx_http_slidewin_zone_changing(sh, NGX_HTTP_SLIDEWIN_CHANGING_LISTS);

    if (sh->detached) {
        ngx_http_slidewin_zone_repair_lists(op);
    }
}


/* rebuilds the slab with the nodes that were saved */

static void
ngx_http_slidewin_zone_repair_memory(ngx_http_slidewin_zone_op_t *op,
    u_char *saved, u_char *end)
{
    ngx_slab_pool_t            *pool;
    ngx_http_slidewin_shctx_t  *sh;

    sh = op->sh;
    pool = op->zone->shpool;

    ngx_http_slidewin_zone_changing(sh, NGX_HTTP_SLIDEWIN_CHANGING_ALL);

    ngx_slab_init(pool);
    sw_step();

    /*
     * The context was the first allocation of this pool and is so again: it
     * stays at its address.
     */

    (void) ngx_slab_alloc_locked(pool, ngx_http_slidewin_shctx_size(sh->trees));
    sw_step();

    pool->log_nomem = 0;

    ngx_http_slidewin_zone_tree_clear(pool, sh);
    ngx_http_slidewin_zone_changing(sh, NGX_HTTP_SLIDEWIN_CHANGING_LISTS);

    ngx_http_slidewin_zone_repair_restore(op, saved, end);
}


/*
 * Copies the counters to the heap, the latest used last: a node, then the ring
 * of a log, if that is elsewhere.  Memos are not worth it: the store knows.
 * The first pass of the loop finds the size, the second one copies.
 */

static u_char *
ngx_http_slidewin_zone_repair_save(ngx_http_slidewin_zone_op_t *op,
    u_char **end)
{
    u_char                    *p, *saved;
    size_t                     size, bytes, ring;
    ngx_slab_pool_t           *pool;
    ngx_http_slidewin_link_t  *link, *lru;
    ngx_http_slidewin_node_t  *node;

    pool = op->zone->shpool;
    lru = &op->sh->lru;
    saved = NULL;
    p = NULL;

    for ( ;; ) {
        size = 0;

        for (link = ngx_http_slidewin_link_at(pool, lru->prev);
             link != lru;
             link = ngx_http_slidewin_link_at(pool, link->prev))
        {
            node = ngx_queue_data(link, ngx_http_slidewin_node_t, lru);

            if (!ngx_http_slidewin_node_is_counter(node)) {
                continue;
            }

            bytes = ngx_http_slidewin_zone_node_size(node);
            ring = ngx_http_slidewin_zone_node_ring_size(node);

            size += bytes + ring;

            if (saved == NULL) {
                continue;
            }

            p = ngx_cpymem(p, node, bytes);

            if (ring) {
                p = ngx_cpymem(p, node->state.u.log.entries, ring);
            }
        }

        if (saved || size == 0) {
            break;
        }

        saved = ngx_alloc(size, ngx_cycle->log);
        if (saved == NULL) {
            break;
        }

        p = saved;
    }

    *end = p;

    return saved;
}


static void
ngx_http_slidewin_zone_repair_restore(ngx_http_slidewin_zone_op_t *op,
    u_char *p, u_char *end)
{
    size_t                     size, ring;
    sw_log_t                  *log;
    ngx_slab_pool_t           *pool;
    sw_log_entry_t            *entries;
    ngx_http_slidewin_node_t  *node, *saved;

    pool = op->zone->shpool;

    for ( /* void */ ; p != end; p += size + ring) {

        saved = (ngx_http_slidewin_node_t *) p;
        size = ngx_http_slidewin_zone_node_size(saved);
        ring = ngx_http_slidewin_zone_node_ring_size(saved);

        ngx_http_slidewin_zone_changing(op->sh,
                                        NGX_HTTP_SLIDEWIN_CHANGING_MEMORY);

        node = ngx_slab_alloc_locked(pool, size);
        entries = ring ? ngx_slab_alloc_locked(pool, ring) : NULL;

        /* does not happen: there was room for all of them */

        if (node == NULL || (ring && entries == NULL)) {
            break;
        }

        ngx_memcpy(node, saved, size);
        log = &node->state.u.log;

        if (ring) {
            ngx_memcpy(entries, p + size, ring);
            log->entries = entries;

        } else if (node->state.algorithm == SW_LOG) {
            log->entries = ngx_http_slidewin_node_entries(node);
        }

        sw_state_repair(&node->state);

        ngx_http_slidewin_zone_tree_link(op, node);
    }

    ngx_http_slidewin_zone_changing(op->sh, NGX_HTTP_SLIDEWIN_CHANGING_LISTS);
}


#if (NGX_HTTP_SLIDEWIN_TEST)

/* bytes; a larger zone has too many nodes to look at each */
#define NGX_HTTP_SLIDEWIN_VERIFY_MAX  262144


void
ngx_http_slidewin_zone_repair_verify(ngx_http_slidewin_zone_op_t *op,
    int64_t now)
{
    ngx_uint_t                  nodes, expired, ordered;
    ngx_slab_pool_t            *pool;
    ngx_http_slidewin_link_t   *link;
    ngx_http_slidewin_node_t   *node;
    ngx_http_slidewin_shctx_t  *sh;

    sh = op->sh;
    pool = op->zone->shpool;

    if (pool->end - (u_char *) pool > NGX_HTTP_SLIDEWIN_VERIFY_MAX) {
        return;
    }

    nodes = 0;
    expired = 0;

    for (link = ngx_http_slidewin_link_at(pool, sh->lru.next);
         link != &sh->lru;
         link = ngx_http_slidewin_link_at(pool, link->next))
    {
        node = ngx_queue_data(link, ngx_http_slidewin_node_t, lru);

        nodes++;
        expired += ngx_http_slidewin_zone_repair_is_expired(op, node, now);
    }

    ordered = ngx_http_slidewin_zone_expiry_verify(pool, sh);

    if (expired || ordered != nodes) {
        ngx_log_error(NGX_LOG_ALERT, ngx_cycle->log, 0,
                      "slidewin zone \"%V\" forgets a client that counts, "
                      "%ui of %ui count nothing, %ui are in their place",
                      &op->zone->name, expired, nodes, ordered);
    }
}


/* by the state itself: the end that the node is listed by may be wrong */

static ngx_uint_t
ngx_http_slidewin_zone_repair_is_expired(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node, int64_t now)
{
    int64_t                    keep;
    sw_state_t                *second;
    ngx_http_slidewin_memo_t  *memo;

    if (ngx_http_slidewin_node_is_counter(node)) {
        second = sw_state_second(&node->state);

        return sw_state_used(&node->state, now + op->utc_offset) == 0
               && (second == NULL
                   || sw_state_used(second, now + op->utc_offset) == 0);
    }

    memo = ngx_http_slidewin_node_memo(node);
    keep = memo->queue.next ? NGX_HTTP_SLIDEWIN_SCHEDULED_MS : 0;

    return memo->until + keep <= now;
}


void
ngx_http_slidewin_zone_repair_test_crash(ngx_http_slidewin_zone_t *zone,
    ngx_uint_t all)
{
    ngx_http_slidewin_shctx_t  *sh;

    ngx_shmtx_lock(&zone->shpool->mutex);

    sh = zone->shpool->data;
    sh->changing = all ? NGX_HTTP_SLIDEWIN_CHANGING_ALL
                       : NGX_HTTP_SLIDEWIN_CHANGING_LISTS;

    sh->lru.next = 0;
    sh->lru.prev = 0;

    if (all) {
        sh->roots[0] = NULL;
    }

    (void) raise(SIGKILL);
}

#endif
