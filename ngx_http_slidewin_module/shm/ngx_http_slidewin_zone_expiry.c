
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_zone_expiry.h"


static int64_t ngx_http_slidewin_zone_expiry_time(
    ngx_http_slidewin_zone_op_t *op, ngx_http_slidewin_node_t *node);
static ngx_uint_t ngx_http_slidewin_zone_expiry_list(
    ngx_http_slidewin_node_t *node);
static ngx_http_slidewin_node_t *ngx_http_slidewin_zone_expiry_first(
    ngx_http_slidewin_zone_op_t *op, int64_t now);

static void ngx_http_slidewin_zone_expiry_treap_insert(ngx_slab_pool_t *pool,
    uint32_t *below, ngx_http_slidewin_node_t *node);
static void ngx_http_slidewin_zone_expiry_treap_remove(ngx_slab_pool_t *pool,
    uint32_t *below, ngx_http_slidewin_node_t *node);
static ngx_uint_t ngx_http_slidewin_zone_expiry_precedes(
    ngx_http_slidewin_node_t *one, ngx_http_slidewin_node_t *two);
static uint32_t ngx_http_slidewin_zone_expiry_rank(uint32_t n);
static ngx_inline ngx_http_slidewin_node_t *ngx_http_slidewin_zone_expiry_node(
    ngx_slab_pool_t *pool, uint32_t n);

#if (NGX_HTTP_SLIDEWIN_TEST)
static ngx_uint_t ngx_http_slidewin_zone_expiry_verify_treap(
    ngx_slab_pool_t *pool, uint32_t n, ngx_http_slidewin_node_t **last);
#endif


void
ngx_http_slidewin_zone_expiry_clear(ngx_slab_pool_t *pool,
    ngx_http_slidewin_shctx_t *sh)
{
    ngx_uint_t  i;

    for (i = 0; i < NGX_HTTP_SLIDEWIN_EXPIRY_LISTS; i++) {
        ngx_http_slidewin_link_init(pool, &sh->expiry_lists[i]);
    }

    sh->nonempty = 0;
    sh->treap = 0;
}


/*
 * A list has the nodes of one window: they expire in the order in which they
 * are counted, or at once.  A node that would be out of order, because some of
 * its units were refunded or because another window shares the list, goes
 * into the treap instead.
 */

void
ngx_http_slidewin_zone_expiry_insert(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node)
{
    ngx_uint_t                  n;
    ngx_slab_pool_t            *pool;
    ngx_http_slidewin_link_t   *list, *after;
    ngx_http_slidewin_node_t   *first, *last;
    ngx_http_slidewin_shctx_t  *sh;

    sh = op->sh;
    pool = op->zone->shpool;

    n = ngx_http_slidewin_zone_expiry_list(node);

    list = &sh->expiry_lists[n];
    first = ngx_http_slidewin_zone_expiry_node(pool, list->next);
    last = ngx_http_slidewin_zone_expiry_node(pool, list->prev);

    node->expiry.at = (uint64_t) ngx_http_slidewin_zone_expiry_time(op, node);

    if (&first->by_expiry == list || node->expiry.at >= first->expiry.at) {
        after = list;

    } else if (node->expiry.at <= last->expiry.at) {
        after = &last->by_expiry;

    } else {
        node->expiry.in_treap = 1;
        sw_step();

        ngx_http_slidewin_zone_expiry_treap_insert(pool, &sh->treap, node);
        return;
    }

    node->expiry.in_treap = 0;
    sh->nonempty |= (uint64_t) 1 << n;
    sw_step();

    ngx_http_slidewin_link_insert(pool, after, &node->by_expiry);
}


void
ngx_http_slidewin_zone_expiry_remove(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node)
{
    if (node->expiry.in_treap) {
        ngx_http_slidewin_zone_expiry_treap_remove(op->zone->shpool,
                                                   &op->sh->treap, node);
        return;
    }

    ngx_http_slidewin_link_remove(op->zone->shpool, &node->by_expiry);
}


void
ngx_http_slidewin_zone_expiry_move(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node)
{
    ngx_http_slidewin_zone_expiry_remove(op, node);
    ngx_http_slidewin_zone_expiry_insert(op, node);
}


void
ngx_http_slidewin_zone_expiry_update_memo(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_memo_t *memo)
{
    ngx_http_slidewin_node_t  *node;

    node = ngx_http_slidewin_node_of_memo(memo);

    if (ngx_http_slidewin_zone_expiry_time(op, node)
        != (int64_t) node->expiry.at)
    {
        ngx_http_slidewin_zone_expiry_move(op, node);
    }
}


static int64_t
ngx_http_slidewin_zone_expiry_time(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node)
{
    int64_t                    end;
    ngx_http_slidewin_memo_t  *memo;

    if (ngx_http_slidewin_node_is_counter(node)) {
        end = sw_state_end(&node->state);

    } else {
        memo = ngx_http_slidewin_node_memo(node);

        end = memo->until + op->utc_offset;
        end += memo->queue.next ? NGX_HTTP_SLIDEWIN_SCHEDULED_MS : 0;
    }

    return ngx_max(ngx_min(end, NGX_HTTP_SLIDEWIN_EXPIRY_MAX), 0);
}


/* the list of a node's longest window, spread by a multiplicative hash */

static ngx_uint_t
ngx_http_slidewin_zone_expiry_list(ngx_http_slidewin_node_t *node)
{
    uint32_t  window;

    window = ngx_http_slidewin_node_is_counter(node)
                 ? (uint32_t) sw_state_window(&node->state) : 0;

    return (uint32_t) (window * 2654435769u)
           / (UINT32_MAX / NGX_HTTP_SLIDEWIN_EXPIRY_LISTS + 1);
}


/*
 * A node may be listed by a time that is too early: a log that was since asked
 * for with a longer window is kept for longer.
 */

ngx_http_slidewin_node_t *
ngx_http_slidewin_zone_expiry_expired(ngx_http_slidewin_zone_op_t *op,
    int64_t now)
{
    ngx_http_slidewin_node_t  *node;

    now += op->utc_offset;

    for ( ;; ) {
        node = ngx_http_slidewin_zone_expiry_first(op, now);

        if (node == NULL
            || ngx_http_slidewin_zone_expiry_time(op, node) <= now)
        {
            return node;
        }

        ngx_http_slidewin_zone_expiry_move(op, node);
    }
}


/* the first node to expire is the last of a list or leftmost in the treap */

static ngx_http_slidewin_node_t *
ngx_http_slidewin_zone_expiry_first(ngx_http_slidewin_zone_op_t *op,
    int64_t now)
{
    uint32_t                    below;
    uint64_t                    nonempty;
    ngx_uint_t                  n;
    ngx_slab_pool_t            *pool;
    ngx_http_slidewin_node_t   *node;
    ngx_http_slidewin_link_t   *list, *last;
    ngx_http_slidewin_shctx_t  *sh;

    sh = op->sh;
    pool = op->zone->shpool;

    for (nonempty = sh->nonempty; nonempty; nonempty &= nonempty - 1) {
        n = (ngx_uint_t) __builtin_ctzll(nonempty);

        list = &sh->expiry_lists[n];
        last = ngx_http_slidewin_link_at(pool, list->prev);

        if (last == list) {
            sh->nonempty &= ~((uint64_t) 1 << n);
            continue;
        }

        node = ngx_queue_data(last, ngx_http_slidewin_node_t, by_expiry);

        if ((int64_t) node->expiry.at <= now) {
            return node;
        }
    }

    node = NULL;

    for (below = sh->treap; below; below = node->by_expiry.prev) {
        node = ngx_http_slidewin_zone_expiry_node(pool, below);
    }

    return (node && (int64_t) node->expiry.at <= now) ? node : NULL;
}


/*
 * A treap is a binary tree in the order of expiry, and a heap of ranks that are
 * as good as random: its depth is about the logarithm of its size.  The new
 * node goes to where its rank puts it, and the subtree there is split below it.
 */

static void
ngx_http_slidewin_zone_expiry_treap_insert(ngx_slab_pool_t *pool,
    uint32_t *below, ngx_http_slidewin_node_t *node)
{
    uint32_t                   n, rank, subtree, *before, *after;
    ngx_http_slidewin_node_t  *other;

    n = ngx_http_slidewin_link_of(pool, &node->by_expiry);
    rank = ngx_http_slidewin_zone_expiry_rank(n);

    while (*below && ngx_http_slidewin_zone_expiry_rank(*below) > rank) {
        other = ngx_http_slidewin_zone_expiry_node(pool, *below);

        below = ngx_http_slidewin_zone_expiry_precedes(node, other)
                    ? &other->by_expiry.prev : &other->by_expiry.next;
    }

    subtree = *below;
    *below = n;
    sw_step();

    before = &node->by_expiry.prev;
    after = &node->by_expiry.next;

    while (subtree) {
        other = ngx_http_slidewin_zone_expiry_node(pool, subtree);

        if (ngx_http_slidewin_zone_expiry_precedes(other, node)) {
            *before = subtree;
            before = &other->by_expiry.next;
            subtree = *before;

        } else {
            *after = subtree;
            after = &other->by_expiry.prev;
            subtree = *after;
        }

        sw_step();
    }

    *before = 0;
    sw_step();
    *after = 0;
    sw_step();
}


/* the two subtrees of the node are joined, and take its position */

static void
ngx_http_slidewin_zone_expiry_treap_remove(ngx_slab_pool_t *pool,
    uint32_t *below, ngx_http_slidewin_node_t *node)
{
    uint32_t                   n, before, after;
    ngx_http_slidewin_node_t  *other;

    n = ngx_http_slidewin_link_of(pool, &node->by_expiry);

    while (*below != n) {
        other = ngx_http_slidewin_zone_expiry_node(pool, *below);

        below = ngx_http_slidewin_zone_expiry_precedes(node, other)
                    ? &other->by_expiry.prev : &other->by_expiry.next;
    }

    before = node->by_expiry.prev;
    after = node->by_expiry.next;

    while (before && after) {

        if (ngx_http_slidewin_zone_expiry_rank(before)
            > ngx_http_slidewin_zone_expiry_rank(after))
        {
            other = ngx_http_slidewin_zone_expiry_node(pool, before);

            *below = before;
            below = &other->by_expiry.next;
            before = *below;

        } else {
            other = ngx_http_slidewin_zone_expiry_node(pool, after);

            *below = after;
            below = &other->by_expiry.prev;
            after = *below;
        }

        sw_step();
    }

    *below = before ? before : after;
    sw_step();
}


static ngx_uint_t
ngx_http_slidewin_zone_expiry_precedes(ngx_http_slidewin_node_t *one,
    ngx_http_slidewin_node_t *two)
{
    if (one->expiry.at != two->expiry.at) {
        return one->expiry.at < two->expiry.at;
    }

    return one < two;
}


/* different for each link: the final mix of murmur3 is a bijection */

static uint32_t
ngx_http_slidewin_zone_expiry_rank(uint32_t n)
{
    n ^= n >> 16;
    n *= 0x85ebca6b;
    n ^= n >> 13;
    n *= 0xc2b2ae35;
    n ^= n >> 16;

    return n;
}


static ngx_inline ngx_http_slidewin_node_t *
ngx_http_slidewin_zone_expiry_node(ngx_slab_pool_t *pool, uint32_t n)
{
    return ngx_queue_data(ngx_http_slidewin_link_at(pool, n),
                          ngx_http_slidewin_node_t, by_expiry);
}


#if (NGX_HTTP_SLIDEWIN_TEST)

ngx_uint_t
ngx_http_slidewin_zone_expiry_verify(ngx_slab_pool_t *pool,
    ngx_http_slidewin_shctx_t *sh)
{
    ngx_uint_t                 i, ordered;
    ngx_http_slidewin_link_t  *link, *list;
    ngx_http_slidewin_node_t  *node, *last;

    last = NULL;
    ordered = ngx_http_slidewin_zone_expiry_verify_treap(pool, sh->treap,
                                                         &last);

    for (i = 0; i < NGX_HTTP_SLIDEWIN_EXPIRY_LISTS; i++) {
        list = &sh->expiry_lists[i];
        last = NULL;

        for (link = ngx_http_slidewin_link_at(pool, list->prev);
             link != list;
             link = ngx_http_slidewin_link_at(pool, link->prev))
        {
            node = ngx_queue_data(link, ngx_http_slidewin_node_t, by_expiry);

            ordered += !node->expiry.in_treap
                       && (last == NULL || last->expiry.at <= node->expiry.at)
                       && (sh->nonempty & ((uint64_t) 1 << i));
            last = node;
        }
    }

    return ordered;
}


static ngx_uint_t
ngx_http_slidewin_zone_expiry_verify_treap(ngx_slab_pool_t *pool, uint32_t n,
    ngx_http_slidewin_node_t **last)
{
    ngx_uint_t                 ordered;
    ngx_http_slidewin_node_t  *node;

    if (n == 0) {
        return 0;
    }

    node = ngx_http_slidewin_zone_expiry_node(pool, n);

    ordered = ngx_http_slidewin_zone_expiry_verify_treap(
                  pool, node->by_expiry.prev, last);

    ordered += node->expiry.in_treap
               && (*last == NULL
                   || ngx_http_slidewin_zone_expiry_precedes(*last, node));
    *last = node;

    return ordered
           + ngx_http_slidewin_zone_expiry_verify_treap(pool,
                                                        node->by_expiry.next,
                                                        last);
}

#endif
