
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_digest.h"
#include "ngx_http_slidewin_zone.h"
#include "sw_step.h"


/* fills the slab's chunk of 256 bytes with the node of a log */
#define NGX_HTTP_SLIDEWIN_LOG_INLINE     14

/* at most, for a longer ring */
#define NGX_HTTP_SLIDEWIN_RING_EVICTIONS 2

/* a power of two, as many as the bits that tell which have any */
#define NGX_HTTP_SLIDEWIN_ZONE_LISTS     64

/* what a node can keep of a time, ms: of the year 6429 */
#define NGX_HTTP_SLIDEWIN_END_MAX        (((int64_t) 1 << 47) - 1)

/* what a link can tell */
#define NGX_HTTP_SLIDEWIN_ZONE_UNIT      8
#define NGX_HTTP_SLIDEWIN_ZONE_MAX       ((uint64_t) 8 << 32)

#define NGX_HTTP_SLIDEWIN_FULL_LOG_MS    60000

/* what is due for so long is not attended to any more, ms */
#define NGX_HTTP_SLIDEWIN_DUE_MS         60000

/* counts up when what lies in shared memory changes its meaning */
#define NGX_HTTP_SLIDEWIN_ZONE_VERSION   9

#define NGX_HTTP_SLIDEWIN_ZONE_LAYOUT                                         \
    (NGX_HTTP_SLIDEWIN_ZONE_VERSION << 24                                     \
     | sizeof(ngx_http_slidewin_shctx_t) << 12                                \
     | sizeof(ngx_http_slidewin_node_t))


/* node.data: the length of a key, or that it is a digest, for each use */

#define NGX_HTTP_SLIDEWIN_NODE_KINDS     64
#define NGX_HTTP_SLIDEWIN_NODE_DIGESTED  63

#define ngx_http_slidewin_node_counts(n)                                      \
    ((n)->node.data / NGX_HTTP_SLIDEWIN_NODE_KINDS                            \
     == NGX_HTTP_SLIDEWIN_COUNTS)


/*
 * The clients are spread over many trees: in one tree of a million the way down
 * leads through memory that no cache has.  A tree for that many bytes of a zone
 * has about eight clients, and its root adds a byte to each of them.
 */
#define NGX_HTTP_SLIDEWIN_ZONE_TREE      1024

/* clients share the time of their last change with some others */
#define NGX_HTTP_SLIDEWIN_ZONE_CHANGES   64


/*
 * What a worker was changing when it died with the lock.  Whatever it is, all
 * clients are found elsewhere: in the trees, or else in the list of the seen.
 * While the lock is held, and nothing else is being changed, the lists are: a
 * state may have another end than the one that its node was placed by.
 */

#define NGX_HTTP_SLIDEWIN_LINKS_SOUND    0
#define NGX_HTTP_SLIDEWIN_LINKS_LISTS    1
#define NGX_HTTP_SLIDEWIN_LINKS_TREE     2
#define NGX_HTTP_SLIDEWIN_LINKS_MEMORY   3
#define NGX_HTTP_SLIDEWIN_LINKS_ALL      4


/* up to the roots it outlives a repair */

struct ngx_http_slidewin_shctx_s {
    ngx_uint_t                  layout;
    ngx_rbtree_node_t           sentinel;
    ngx_http_slidewin_link_t    seen;        /* the latest first */
    ngx_http_slidewin_link_t    ends[NGX_HTTP_SLIDEWIN_ZONE_LISTS];
                                             /* each the latest first */
    uint64_t                    lists;       /* that may have some */
    uint32_t                    sorted;      /* the root of all others */
    ngx_queue_t                 due;
    ngx_atomic_t                denies;      /* until, ms */
    ngx_atomic_t                workers;
    ngx_atomic_t                links;
    ngx_http_slidewin_node_t   *loose;       /* being listed, or freed */
    int64_t                     utc;         /* ahead of the clock, ms */
    ngx_uint_t                  forgotten;   /* clients, to make room */
    int64_t                     full_logged;
    int64_t                     changed[NGX_HTTP_SLIDEWIN_ZONE_CHANGES];
                                             /* us */
    ngx_uint_t                  trees;       /* a power of two */
    ngx_rbtree_node_t          *roots[1];    /* of all of them */
};


/* the context is reached through shpool->data: a repair may move it */

struct ngx_http_slidewin_zone_s {
    ngx_slab_pool_t            *shpool;
    ngx_str_t                   name;
    ngx_str_t                   key;

    ngx_http_slidewin_lost_t *(*copy)(ngx_http_slidewin_visit_t *visit,
                                      ngx_http_slidewin_memo_t *memo,
                                      void *data);
    void                      (*lost)(ngx_http_slidewin_lost_t *lost,
                                      void *data);
    void                       *data;
};


static void ngx_http_slidewin_zone_links_begin(ngx_http_slidewin_shctx_t *sh,
    ngx_uint_t links);
static void ngx_http_slidewin_zone_links_end(ngx_http_slidewin_shctx_t *sh);
static ngx_http_slidewin_node_t *ngx_http_slidewin_zone_node_alloc(
    ngx_http_slidewin_visit_t *visit, size_t size, int64_t now);
static void ngx_http_slidewin_zone_link(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node);
static void ngx_http_slidewin_zone_free(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node);
static void *ngx_http_slidewin_zone_alloc(ngx_http_slidewin_visit_t *visit,
    size_t size, ngx_uint_t evictions, ngx_http_slidewin_node_t *keep,
    int64_t now);
static ngx_http_slidewin_node_t *ngx_http_slidewin_zone_least(
    ngx_http_slidewin_visit_t *visit, size_t size,
    ngx_http_slidewin_node_t *keep);
static void ngx_http_slidewin_zone_evict(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node);
static void ngx_http_slidewin_zone_expire(ngx_http_slidewin_visit_t *visit,
    int64_t now);
static ngx_http_slidewin_node_t *ngx_http_slidewin_zone_useless(
    ngx_http_slidewin_visit_t *visit, int64_t now);
static ngx_http_slidewin_node_t *ngx_http_slidewin_zone_ended(
    ngx_http_slidewin_visit_t *visit, int64_t now);
static size_t ngx_http_slidewin_zone_chunk(size_t size);
static size_t ngx_http_slidewin_node_size(ngx_uint_t algorithm, size_t size);
static size_t ngx_http_slidewin_node_bytes(ngx_http_slidewin_node_t *node);
static size_t ngx_http_slidewin_node_ring(ngx_http_slidewin_node_t *node);
static ngx_uint_t ngx_http_slidewin_node_yields(
    ngx_http_slidewin_node_t *node, size_t size);
static sw_log_entry_t *ngx_http_slidewin_node_inline(
    ngx_http_slidewin_node_t *node);
static ngx_http_slidewin_memo_t *ngx_http_slidewin_node_memo(
    ngx_http_slidewin_node_t *node);
static ngx_http_slidewin_node_t *ngx_http_slidewin_memo_node(
    ngx_http_slidewin_memo_t *memo);
static int64_t ngx_http_slidewin_node_end(
    ngx_http_slidewin_visit_t *visit, ngx_http_slidewin_node_t *node);
static void ngx_http_slidewin_memo_place(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_memo_t *memo);

static void ngx_http_slidewin_end_insert(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node);
static void ngx_http_slidewin_end_remove(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node);
static ngx_uint_t ngx_http_slidewin_end_list(ngx_http_slidewin_node_t *node);
static void ngx_http_slidewin_end_sort(ngx_slab_pool_t *pool, uint32_t *below,
    ngx_http_slidewin_node_t *node);
static void ngx_http_slidewin_end_unsort(ngx_slab_pool_t *pool,
    uint32_t *below, ngx_http_slidewin_node_t *node);
static ngx_uint_t ngx_http_slidewin_end_precedes(
    ngx_http_slidewin_node_t *one, ngx_http_slidewin_node_t *two);
static uint32_t ngx_http_slidewin_end_rank(uint32_t n);
static ngx_inline ngx_http_slidewin_node_t *ngx_http_slidewin_end_at(
    ngx_slab_pool_t *pool, uint32_t n);
static ngx_inline ngx_http_slidewin_link_t *ngx_http_slidewin_link_at(
    ngx_slab_pool_t *pool, uint32_t n);
static ngx_inline uint32_t ngx_http_slidewin_link_of(ngx_slab_pool_t *pool,
    ngx_http_slidewin_link_t *link);
static void ngx_http_slidewin_link_init(ngx_slab_pool_t *pool,
    ngx_http_slidewin_link_t *list);
static ngx_inline void ngx_http_slidewin_link_insert(ngx_slab_pool_t *pool,
    ngx_http_slidewin_link_t *after, ngx_http_slidewin_link_t *link);
static ngx_inline void ngx_http_slidewin_link_remove(ngx_slab_pool_t *pool,
    ngx_http_slidewin_link_t *link);

static ngx_rbtree_node_t **ngx_http_slidewin_zone_tree(
    ngx_http_slidewin_shctx_t *sh, uint32_t hash, ngx_rbtree_t *tree);
static void ngx_http_slidewin_zone_insert(ngx_rbtree_node_t *temp,
    ngx_rbtree_node_t *node, ngx_rbtree_node_t *sentinel);
static ngx_int_t ngx_http_slidewin_zone_cmp(ngx_uint_t kind,
    const u_char *key, ngx_rbtree_node_t *node);

static ngx_int_t ngx_http_slidewin_zone_format(ngx_slab_pool_t *pool,
    int64_t utc);
static size_t ngx_http_slidewin_zone_size(ngx_uint_t trees);
static void ngx_http_slidewin_zone_clear(ngx_slab_pool_t *pool,
    ngx_http_slidewin_shctx_t *sh);
static void ngx_http_slidewin_zone_repair(ngx_http_slidewin_visit_t *visit);
static void ngx_http_slidewin_zone_repair_lists(
    ngx_http_slidewin_visit_t *visit);
static void ngx_http_slidewin_zone_repair_trees(
    ngx_http_slidewin_visit_t *visit);
static u_char *ngx_http_slidewin_zone_save(ngx_http_slidewin_visit_t *visit,
    u_char **end);
static void ngx_http_slidewin_zone_restore(ngx_http_slidewin_visit_t *visit,
    u_char *p, u_char *end);
static void ngx_http_slidewin_zone_untree(ngx_http_slidewin_shctx_t *sh);
static void ngx_http_slidewin_zone_unlist(ngx_slab_pool_t *pool,
    ngx_http_slidewin_shctx_t *sh);
static void ngx_http_slidewin_zone_relist(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node);
static ngx_int_t ngx_http_slidewin_zone_init(ngx_shm_zone_t *shm_zone,
    void *data);

#if (NGX_HTTP_SLIDEWIN_TEST)
static void ngx_http_slidewin_zone_verify(ngx_http_slidewin_visit_t *visit,
    int64_t now);
static ngx_uint_t ngx_http_slidewin_node_idle(
    ngx_http_slidewin_visit_t *visit, ngx_http_slidewin_node_t *node,
    int64_t now);
static ngx_uint_t ngx_http_slidewin_end_verify(ngx_slab_pool_t *pool,
    uint32_t n, ngx_http_slidewin_node_t **last);
#endif


void
ngx_http_slidewin_zone_open_key(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_zone_t *zone, ngx_str_t *key,
    ngx_http_slidewin_what_e what)
{
    ngx_http_slidewin_zone_open(visit, zone);

    sw_key_make(&visit->key, key->data, key->len,
                ngx_http_slidewin_digest);

    visit->kind = what * NGX_HTTP_SLIDEWIN_NODE_KINDS
                  + ngx_min(visit->key.kind,
                            NGX_HTTP_SLIDEWIN_NODE_DIGESTED);

    visit->hash = ngx_murmur_hash2((u_char *) visit->key.data,
                                   sw_key_len(visit->key.kind));
}


void
ngx_http_slidewin_zone_open(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_zone_t *zone)
{
    visit->zone = zone;
    visit->sh = NULL;
    visit->lost = NULL;
    visit->full = 0;
    visit->repaired = 0;
}


void
ngx_http_slidewin_zone_on_lost(ngx_http_slidewin_zone_t *zone,
    ngx_http_slidewin_lost_t *(*copy)(ngx_http_slidewin_visit_t *visit,
                                      ngx_http_slidewin_memo_t *memo,
                                      void *data),
    void (*lost)(ngx_http_slidewin_lost_t *lost, void *data), void *data)
{
    zone->copy = copy;
    zone->lost = lost;
    zone->data = data;
}


void
ngx_http_slidewin_zone_ref(ngx_http_slidewin_zone_t *zone)
{
    ngx_http_slidewin_shctx_t  *sh;

    sh = zone->shpool->data;

    (void) ngx_atomic_fetch_add(&sh->workers, 1);
}


ngx_uint_t
ngx_http_slidewin_zone_unref(ngx_http_slidewin_zone_t *zone)
{
    ngx_http_slidewin_shctx_t  *sh;

    sh = zone->shpool->data;

    return ngx_atomic_fetch_add(&sh->workers, -1) == 1;
}


/* a zone that is being repaired may say anything: it is only a hint */

ngx_uint_t
ngx_http_slidewin_memo_may_deny(ngx_http_slidewin_zone_t *zone, int64_t now)
{
    ngx_http_slidewin_shctx_t  *sh;

    sh = zone->shpool->data;

    return (ngx_atomic_int_t) (sh->denies - (ngx_atomic_uint_t) now) > 0;
}


ngx_uint_t
ngx_http_slidewin_zone_locks_before(ngx_http_slidewin_zone_t *one,
    ngx_http_slidewin_zone_t *two)
{
    return one->shpool <= two->shpool;
}


void
ngx_http_slidewin_zone_lock(ngx_http_slidewin_visit_t *visit)
{
    ngx_shmtx_lock(&visit->zone->shpool->mutex);

    visit->sh = visit->zone->shpool->data;
    visit->utc = visit->sh->utc;

    if (visit->sh->links != NGX_HTTP_SLIDEWIN_LINKS_SOUND) {
        ngx_http_slidewin_zone_repair(visit);
    }

    ngx_http_slidewin_zone_links_end(visit->sh);
}


void
ngx_http_slidewin_zone_unlock(ngx_http_slidewin_visit_t *visit)
{
    ngx_http_slidewin_zone_links_begin(visit->sh,
                                       NGX_HTTP_SLIDEWIN_LINKS_SOUND);

    ngx_shmtx_unlock(&visit->zone->shpool->mutex);
}


void
ngx_http_slidewin_zone_tell(ngx_http_slidewin_visit_t *visit, ngx_log_t *log)
{
    ngx_http_slidewin_lost_t  *lost;

    if (visit->full) {
        ngx_log_error(NGX_LOG_ERR, log, 0,
                      "slidewin zone \"%V\" is full, %ui clients have been "
                      "forgotten so far to make room",
                      &visit->zone->name, visit->forgotten);
    }

    if (visit->repaired) {
        ngx_log_error(NGX_LOG_ERR, log, 0,
                      "slidewin zone \"%V\" has been repaired after a "
                      "worker process died while changing it",
                      &visit->zone->name);
    }

    while (visit->lost) {
        lost = visit->lost;
        visit->lost = lost->next;

        visit->zone->lost(lost, visit->zone->data);
    }
}


ngx_http_slidewin_node_t *
ngx_http_slidewin_zone_lookup(ngx_http_slidewin_visit_t *visit)
{
    ngx_int_t           rc;
    ngx_rbtree_node_t  *node, *sentinel;

    node = visit->sh->roots[visit->hash & (visit->sh->trees - 1)];
    sentinel = &visit->sh->sentinel;

    while (node != sentinel) {

        if (visit->hash != node->key) {
            node = (visit->hash < node->key) ? node->left : node->right;
            continue;
        }

        rc = ngx_http_slidewin_zone_cmp(visit->kind, visit->key.data, node);

        if (rc == 0) {
            return (ngx_http_slidewin_node_t *) node;
        }

        node = (rc < 0) ? node->left : node->right;
    }

    return NULL;
}


void
ngx_http_slidewin_zone_touch(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node)
{
    ngx_slab_pool_t           *pool;
    ngx_http_slidewin_link_t  *seen;

    pool = visit->zone->shpool;
    seen = &visit->sh->seen;

    if (seen->next == ngx_http_slidewin_link_of(pool, &node->seen)) {
        return;
    }

    ngx_http_slidewin_link_remove(pool, &node->seen);
    ngx_http_slidewin_link_insert(pool, seen, &node->seen);
}


void
ngx_http_slidewin_zone_move(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node)
{
    ngx_http_slidewin_end_remove(visit, node);
    ngx_http_slidewin_end_insert(visit, node);
}


ngx_http_slidewin_node_t *
ngx_http_slidewin_zone_create(ngx_http_slidewin_visit_t *visit,
    const sw_rule_t *rule, size_t size, int64_t now)
{
    uint32_t                   room;
    sw_log_entry_t            *entries;
    ngx_http_slidewin_node_t  *node;

    size = ngx_http_slidewin_node_size(rule->algorithm, size);

    node = ngx_http_slidewin_zone_node_alloc(visit, size, now - visit->utc);
    if (node == NULL) {
        return NULL;
    }

    room = (rule->algorithm == SW_LOG) ? NGX_HTTP_SLIDEWIN_LOG_INLINE : 0;
    entries = room ? ngx_http_slidewin_node_inline(node) : NULL;
    sw_state_init(&node->state, rule, now, entries, room);

    ngx_http_slidewin_zone_link(visit, node);

    return node;
}


void *
ngx_http_slidewin_memo_insert(ngx_http_slidewin_visit_t *visit, size_t size,
    int64_t now)
{
    ngx_http_slidewin_node_t  *node;

    node = ngx_http_slidewin_zone_node_alloc(visit,
                                             offsetof(ngx_http_slidewin_node_t,
                                                      state)
                                             + size, now);
    if (node == NULL) {
        return NULL;
    }

    ngx_memzero(&node->state, size);

    ngx_http_slidewin_zone_link(visit, node);

    return ngx_http_slidewin_node_memo(node);
}


static ngx_http_slidewin_node_t *
ngx_http_slidewin_zone_node_alloc(ngx_http_slidewin_visit_t *visit, size_t size,
    int64_t now)
{
    ngx_http_slidewin_node_t  *node;

    ngx_http_slidewin_zone_expire(visit, now);

    node = ngx_http_slidewin_zone_alloc(visit, size, NGX_MAX_INT32_VALUE,
                                        NULL, now);
    if (node == NULL) {
        return NULL;
    }

    node->node.key = visit->hash;
    node->node.data = (u_char) visit->kind;
    ngx_memcpy(node->key, visit->key.data, sw_key_len(visit->key.kind));

    return node;
}


static void
ngx_http_slidewin_zone_link(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node)
{
    ngx_rbtree_t                tree;
    ngx_rbtree_node_t         **root;
    ngx_http_slidewin_shctx_t  *sh;

    sh = visit->sh;

    sh->loose = node;
    ngx_http_slidewin_zone_links_end(sh);

    ngx_http_slidewin_link_insert(visit->zone->shpool, &sh->seen, &node->seen);
    ngx_http_slidewin_end_insert(visit, node);

    ngx_http_slidewin_zone_links_begin(sh, NGX_HTTP_SLIDEWIN_LINKS_TREE);
    sh->loose = NULL;

    root = ngx_http_slidewin_zone_tree(sh, (uint32_t) node->node.key, &tree);

    ngx_rbtree_insert(&tree, &node->node);
    sw_step();
    *root = tree.root;

    ngx_http_slidewin_zone_links_end(sh);
}


void
ngx_http_slidewin_zone_remove(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node)
{
    ngx_rbtree_t                tree;
    ngx_rbtree_node_t         **root;
    ngx_http_slidewin_memo_t   *memo;
    ngx_http_slidewin_shctx_t  *sh;

    sh = visit->sh;

    ngx_http_slidewin_zone_links_begin(sh, NGX_HTTP_SLIDEWIN_LINKS_TREE);

    root = ngx_http_slidewin_zone_tree(sh, (uint32_t) node->node.key, &tree);

    ngx_rbtree_delete(&tree, &node->node);
    sw_step();
    *root = tree.root;

    sh->loose = node;
    ngx_http_slidewin_zone_links_end(sh);

    ngx_http_slidewin_link_remove(visit->zone->shpool, &node->seen);
    ngx_http_slidewin_end_remove(visit, node);

    memo = ngx_http_slidewin_node_memo(node);

    if (!ngx_http_slidewin_node_counts(node) && memo->queue.next) {
        ngx_queue_remove(&memo->queue);
    }

    ngx_http_slidewin_zone_free(visit, node);
}


/* of one that is in no tree and no list */

static void
ngx_http_slidewin_zone_free(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node)
{
    ngx_slab_pool_t            *pool;
    ngx_http_slidewin_shctx_t  *sh;

    sh = visit->sh;
    pool = visit->zone->shpool;

    ngx_http_slidewin_zone_links_begin(sh, NGX_HTTP_SLIDEWIN_LINKS_MEMORY);

    if (ngx_http_slidewin_node_counts(node)
        && ngx_http_slidewin_node_ring(node))
    {
        ngx_slab_free_locked(pool, node->state.u.log.entries);
        sw_step();
    }

    ngx_slab_free_locked(pool, node);

    sh->loose = NULL;
    ngx_http_slidewin_zone_links_end(sh);
}


void *
ngx_http_slidewin_memo_lookup(ngx_http_slidewin_visit_t *visit)
{
    ngx_http_slidewin_node_t  *node;

    node = ngx_http_slidewin_zone_lookup(visit);

    if (node == NULL) {
        return NULL;
    }

    ngx_http_slidewin_zone_touch(visit, node);

    return ngx_http_slidewin_node_memo(node);
}


void
ngx_http_slidewin_memo_delete(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_memo_t *memo)
{
    ngx_http_slidewin_zone_remove(visit, ngx_http_slidewin_memo_node(memo));
}


void
ngx_http_slidewin_zone_keep(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_memo_t *memo, int64_t until)
{
    memo->until = until;

    ngx_http_slidewin_memo_place(visit, memo);
}


void
ngx_http_slidewin_memo_deny_until(ngx_http_slidewin_visit_t *visit,
    int64_t until)
{
    if (!ngx_http_slidewin_memo_may_deny(visit->zone, until - 1)) {
        visit->sh->denies = (ngx_atomic_uint_t) until;
    }
}


void
ngx_http_slidewin_memo_invalidate(ngx_http_slidewin_visit_t *visit, int64_t now)
{
    visit->sh->changed[visit->hash % NGX_HTTP_SLIDEWIN_ZONE_CHANGES] = now;
}


ngx_uint_t
ngx_http_slidewin_memo_invalidated_since(ngx_http_slidewin_visit_t *visit,
    int64_t since)
{
    return visit->sh->changed[visit->hash % NGX_HTTP_SLIDEWIN_ZONE_CHANGES]
           >= since;
}


void
ngx_http_slidewin_memo_schedule(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_memo_t *memo)
{
    if (memo->queue.next) {
        ngx_queue_remove(&memo->queue);
        sw_step();
    }

    ngx_queue_insert_tail(&visit->sh->due, &memo->queue);
    sw_step();

    ngx_http_slidewin_memo_place(visit, memo);
}


void
ngx_http_slidewin_memo_unschedule(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_memo_t *memo)
{
    if (memo->queue.next == NULL) {
        return;
    }

    ngx_queue_remove(&memo->queue);
    sw_step();
    memo->queue.next = NULL;
    sw_step();

    ngx_http_slidewin_memo_place(visit, memo);
}


void *
ngx_http_slidewin_memo_next_due(ngx_http_slidewin_visit_t *visit)
{
    ngx_queue_t  *q;

    if (ngx_queue_empty(&visit->sh->due)) {
        return NULL;
    }

    q = ngx_queue_head(&visit->sh->due);

    return ngx_queue_data(q, ngx_http_slidewin_memo_t, queue);
}


/*
 * A log that finds no memory for a longer ring merges its oldest entries; it
 * is then stricter than it must be, but never laxer.
 */

void
ngx_http_slidewin_zone_log_grow(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node, const sw_rule_t *rule, int64_t now)
{
    size_t           size;
    uint32_t         room;
    sw_log_entry_t  *entries;

    room = sw_log_wants(&node->state, rule);

    if (room == 0) {
        return;
    }

    size = ngx_http_slidewin_zone_chunk(room * sizeof(sw_log_entry_t));

    entries = ngx_http_slidewin_zone_alloc(visit, size,
                                           NGX_HTTP_SLIDEWIN_RING_EVICTIONS,
                                           node, now - visit->utc);
    if (entries == NULL) {
        return;
    }

    entries = sw_log_move(&node->state, entries,
                          (uint32_t) (size / sizeof(sw_log_entry_t)));

    if (entries != ngx_http_slidewin_node_inline(node)) {
        sw_step();
        ngx_slab_free_locked(visit->zone->shpool, entries);
    }

    ngx_http_slidewin_zone_links_end(visit->sh);
}


/* what a worker that dies now leaves to be repaired */

static void
ngx_http_slidewin_zone_links_begin(ngx_http_slidewin_shctx_t *sh,
    ngx_uint_t links)
{
    sw_step();
    sh->links = links;
    sw_step();
}


/* the rest is as it should be, but for the lists */

static void
ngx_http_slidewin_zone_links_end(ngx_http_slidewin_shctx_t *sh)
{
    ngx_http_slidewin_zone_links_begin(sh, NGX_HTTP_SLIDEWIN_LINKS_LISTS);
}


/*
 * If there is no other memory, those that count nothing make room, and then the
 * least recently seen; for the ring of a client only if that helps.  Until the
 * memory has been put to use it is not settled.
 */

static void *
ngx_http_slidewin_zone_alloc(ngx_http_slidewin_visit_t *visit, size_t size,
    ngx_uint_t evictions, ngx_http_slidewin_node_t *keep, int64_t now)
{
    void                       *p;
    ngx_uint_t                  forgotten;
    ngx_slab_pool_t            *shpool;
    ngx_http_slidewin_node_t   *node;
    ngx_http_slidewin_shctx_t  *sh;

    sh = visit->sh;
    shpool = visit->zone->shpool;

    forgotten = sh->forgotten;

    for ( ;; ) {
        ngx_http_slidewin_zone_links_begin(sh, NGX_HTTP_SLIDEWIN_LINKS_MEMORY);

        p = ngx_slab_alloc_locked(shpool, size);

        if (p) {
            break;
        }

        ngx_http_slidewin_zone_links_end(sh);

        if (evictions-- == 0) {
            break;
        }

        node = ngx_http_slidewin_zone_useless(visit, now);

        if (node == NULL || node == keep) {
            node = ngx_http_slidewin_zone_least(visit, size, keep);

            if (node == NULL) {
                break;
            }

            sh->forgotten++;

#if (NGX_HTTP_SLIDEWIN_TEST)
            ngx_http_slidewin_zone_verify(visit, now);
#endif
        }

        ngx_http_slidewin_zone_evict(visit, node);
    }

    if ((p == NULL || sh->forgotten != forgotten)
        && (sh->full_logged == 0
            || now - sh->full_logged >= NGX_HTTP_SLIDEWIN_FULL_LOG_MS))
    {
        sh->full_logged = now;
        visit->full = 1;
        visit->forgotten = sh->forgotten;
    }

    return p;
}


static ngx_http_slidewin_node_t *
ngx_http_slidewin_zone_least(ngx_http_slidewin_visit_t *visit, size_t size,
    ngx_http_slidewin_node_t *keep)
{
    ngx_http_slidewin_link_t  *link;
    ngx_http_slidewin_node_t  *node;

    link = ngx_http_slidewin_link_at(visit->zone->shpool,
                                     visit->sh->seen.prev);

    if (link == &visit->sh->seen) {
        return NULL;
    }

    node = ngx_queue_data(link, ngx_http_slidewin_node_t, seen);

    if (keep && (node == keep || !ngx_http_slidewin_node_yields(node, size))) {
        return NULL;
    }

    return node;
}


static void
ngx_http_slidewin_zone_evict(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node)
{
    ngx_http_slidewin_memo_t  *memo;
    ngx_http_slidewin_lost_t  *lost;
    ngx_http_slidewin_zone_t  *zone;

    zone = visit->zone;
    memo = ngx_http_slidewin_node_memo(node);

    if (!ngx_http_slidewin_node_counts(node) && memo->queue.next
        && zone->copy)
    {
        lost = zone->copy(visit, memo, zone->data);

        if (lost) {
            lost->next = visit->lost;
            visit->lost = lost;
        }
    }

    ngx_http_slidewin_zone_remove(visit, node);
}


/* two for every new one, so that memory follows the clients there are */

static void
ngx_http_slidewin_zone_expire(ngx_http_slidewin_visit_t *visit, int64_t now)
{
    ngx_uint_t                 n;
    ngx_http_slidewin_node_t  *node;

    for (n = 0; n < 2; n++) {
        node = ngx_http_slidewin_zone_useless(visit, now);

        if (node == NULL) {
            return;
        }

        ngx_http_slidewin_zone_evict(visit, node);
    }
}


/*
 * One that counts nothing any more, if there is any.  What it was placed by may
 * be too early: a log was looked at with a longer window.
 */

static ngx_http_slidewin_node_t *
ngx_http_slidewin_zone_useless(ngx_http_slidewin_visit_t *visit, int64_t now)
{
    ngx_http_slidewin_node_t  *node;

    now += visit->utc;

    for ( ;; ) {
        node = ngx_http_slidewin_zone_ended(visit, now);

        if (node == NULL || ngx_http_slidewin_node_end(visit, node) <= now) {
            return node;
        }

        ngx_http_slidewin_zone_move(visit, node);
    }
}


/* the first to end is the last of a list, or the least of the sorted */

static ngx_http_slidewin_node_t *
ngx_http_slidewin_zone_ended(ngx_http_slidewin_visit_t *visit, int64_t now)
{
    uint32_t                    below;
    uint64_t                    lists;
    ngx_uint_t                  n;
    ngx_slab_pool_t            *pool;
    ngx_http_slidewin_node_t   *node;
    ngx_http_slidewin_link_t   *list, *last;
    ngx_http_slidewin_shctx_t  *sh;

    sh = visit->sh;
    pool = visit->zone->shpool;

    for (lists = sh->lists; lists; lists &= lists - 1) {
        n = (ngx_uint_t) __builtin_ctzll(lists);

        list = &sh->ends[n];
        last = ngx_http_slidewin_link_at(pool, list->prev);

        if (last == list) {
            sh->lists &= ~((uint64_t) 1 << n);
            continue;
        }

        node = ngx_queue_data(last, ngx_http_slidewin_node_t, ends);

        if ((int64_t) node->end.at <= now) {
            return node;
        }
    }

    node = NULL;

    for (below = sh->sorted; below; below = node->ends.prev) {
        node = ngx_http_slidewin_end_at(pool, below);
    }

    return (node && (int64_t) node->end.at <= now) ? node : NULL;
}


/* the slab's chunks are powers of two, and whole pages above */

static size_t
ngx_http_slidewin_zone_chunk(size_t size)
{
    size_t  chunk;

    chunk = ngx_pagesize;

    while (chunk / 2 >= size) {
        chunk /= 2;
    }

    return ngx_align(size, chunk);
}


static size_t
ngx_http_slidewin_node_size(ngx_uint_t algorithm, size_t size)
{
    size += offsetof(ngx_http_slidewin_node_t, state);

    if (algorithm == SW_LOG) {
        size += NGX_HTTP_SLIDEWIN_LOG_INLINE * sizeof(sw_log_entry_t);
    }

    return size;
}


/* of one that counts; its ring, if that is elsewhere */

static size_t
ngx_http_slidewin_node_bytes(ngx_http_slidewin_node_t *node)
{
    return ngx_http_slidewin_node_size(node->state.algorithm,
                                       sw_state_bytes(&node->state));
}


static size_t
ngx_http_slidewin_node_ring(ngx_http_slidewin_node_t *node)
{
    if (node->state.algorithm != SW_LOG
        || node->state.u.log.room == NGX_HTTP_SLIDEWIN_LOG_INLINE)
    {
        return 0;
    }

    return node->state.u.log.room * sizeof(sw_log_entry_t);
}


/* whether without it there is a chunk of that size */

static ngx_uint_t
ngx_http_slidewin_node_yields(ngx_http_slidewin_node_t *node, size_t size)
{
    size_t  ring;

    if (!ngx_http_slidewin_node_counts(node)) {
        return 0;
    }

    ring = ngx_http_slidewin_node_ring(node);

    return ring == size || (size >= ngx_pagesize && ring > size)
           || ngx_http_slidewin_zone_chunk(ngx_http_slidewin_node_bytes(node))
              == size;
}


static sw_log_entry_t *
ngx_http_slidewin_node_inline(ngx_http_slidewin_node_t *node)
{
    return (sw_log_entry_t *) ((u_char *) &node->state
                               + offsetof(sw_state_t, u) + sizeof(sw_log_t));
}


static ngx_http_slidewin_memo_t *
ngx_http_slidewin_node_memo(ngx_http_slidewin_node_t *node)
{
    return (ngx_http_slidewin_memo_t *) &node->state;
}


static ngx_http_slidewin_node_t *
ngx_http_slidewin_memo_node(ngx_http_slidewin_memo_t *memo)
{
    return (ngx_http_slidewin_node_t *)
               ((u_char *) memo - offsetof(ngx_http_slidewin_node_t, state));
}


static int64_t
ngx_http_slidewin_node_end(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node)
{
    int64_t                    end;
    ngx_http_slidewin_memo_t  *memo;

    if (ngx_http_slidewin_node_counts(node)) {
        end = sw_state_end(&node->state);

    } else {
        memo = ngx_http_slidewin_node_memo(node);

        end = memo->until + visit->utc;
        end += memo->queue.next ? NGX_HTTP_SLIDEWIN_DUE_MS : 0;
    }

    return ngx_max(ngx_min(end, NGX_HTTP_SLIDEWIN_END_MAX), 0);
}


static void
ngx_http_slidewin_memo_place(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_memo_t *memo)
{
    ngx_http_slidewin_node_t  *node;

    node = ngx_http_slidewin_memo_node(memo);

    if (ngx_http_slidewin_node_end(visit, node) != (int64_t) node->end.at) {
        ngx_http_slidewin_zone_move(visit, node);
    }
}


/*
 * In a list are nodes of one window: they end in the order in which they count,
 * or at once.  A node that would be out of order, because some of its units
 * were given back or because another window shares the list, is sorted instead.
 */

static void
ngx_http_slidewin_end_insert(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node)
{
    ngx_uint_t                  n;
    ngx_slab_pool_t            *pool;
    ngx_http_slidewin_link_t   *list, *after;
    ngx_http_slidewin_node_t   *first, *last;
    ngx_http_slidewin_shctx_t  *sh;

    sh = visit->sh;
    pool = visit->zone->shpool;

    n = ngx_http_slidewin_end_list(node);

    list = &sh->ends[n];
    first = ngx_http_slidewin_end_at(pool, list->next);
    last = ngx_http_slidewin_end_at(pool, list->prev);

    node->end.at = (uint64_t) ngx_http_slidewin_node_end(visit, node);

    if (&first->ends == list || node->end.at >= first->end.at) {
        after = list;

    } else if (node->end.at <= last->end.at) {
        after = &last->ends;

    } else {
        node->end.sorted = 1;
        sw_step();

        ngx_http_slidewin_end_sort(pool, &sh->sorted, node);
        return;
    }

    node->end.sorted = 0;
    sh->lists |= (uint64_t) 1 << n;
    sw_step();

    ngx_http_slidewin_link_insert(pool, after, &node->ends);
}


static void
ngx_http_slidewin_end_remove(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node)
{
    if (node->end.sorted) {
        ngx_http_slidewin_end_unsort(visit->zone->shpool, &visit->sh->sorted,
                                     node);
        return;
    }

    ngx_http_slidewin_link_remove(visit->zone->shpool, &node->ends);
}


/* that of its longest window, spread by a multiplicative hash */

static ngx_uint_t
ngx_http_slidewin_end_list(ngx_http_slidewin_node_t *node)
{
    uint32_t  window;

    window = ngx_http_slidewin_node_counts(node)
                 ? (uint32_t) sw_state_window(&node->state) : 0;

    return (uint32_t) (window * 2654435769u)
           / (UINT32_MAX / NGX_HTTP_SLIDEWIN_ZONE_LISTS + 1);
}


/*
 * A treap: a tree in the order of the ends, and a heap of ranks that are as
 * good as random, and so about as deep as the logarithm of what is in it.  A
 * node goes to where its rank puts it, and what was there is split below it.
 */

static void
ngx_http_slidewin_end_sort(ngx_slab_pool_t *pool, uint32_t *below,
    ngx_http_slidewin_node_t *node)
{
    uint32_t                   n, rank, rest, *before, *after;
    ngx_http_slidewin_node_t  *other;

    n = ngx_http_slidewin_link_of(pool, &node->ends);
    rank = ngx_http_slidewin_end_rank(n);

    while (*below && ngx_http_slidewin_end_rank(*below) > rank) {
        other = ngx_http_slidewin_end_at(pool, *below);

        below = ngx_http_slidewin_end_precedes(node, other)
                    ? &other->ends.prev : &other->ends.next;
    }

    rest = *below;
    *below = n;
    sw_step();

    before = &node->ends.prev;
    after = &node->ends.next;

    while (rest) {
        other = ngx_http_slidewin_end_at(pool, rest);

        if (ngx_http_slidewin_end_precedes(other, node)) {
            *before = rest;
            before = &other->ends.next;
            rest = *before;

        } else {
            *after = rest;
            after = &other->ends.prev;
            rest = *after;
        }

        sw_step();
    }

    *before = 0;
    sw_step();
    *after = 0;
    sw_step();
}


/* what is below the node is joined in its place */

static void
ngx_http_slidewin_end_unsort(ngx_slab_pool_t *pool, uint32_t *below,
    ngx_http_slidewin_node_t *node)
{
    uint32_t                   n, before, after;
    ngx_http_slidewin_node_t  *other;

    n = ngx_http_slidewin_link_of(pool, &node->ends);

    while (*below != n) {
        other = ngx_http_slidewin_end_at(pool, *below);

        below = ngx_http_slidewin_end_precedes(node, other)
                    ? &other->ends.prev : &other->ends.next;
    }

    before = node->ends.prev;
    after = node->ends.next;

    while (before && after) {

        if (ngx_http_slidewin_end_rank(before)
            > ngx_http_slidewin_end_rank(after))
        {
            *below = before;
            below = &ngx_http_slidewin_end_at(pool, before)->ends.next;
            before = *below;

        } else {
            *below = after;
            below = &ngx_http_slidewin_end_at(pool, after)->ends.prev;
            after = *below;
        }

        sw_step();
    }

    *below = before ? before : after;
    sw_step();
}


static ngx_uint_t
ngx_http_slidewin_end_precedes(ngx_http_slidewin_node_t *one,
    ngx_http_slidewin_node_t *two)
{
    if (one->end.at != two->end.at) {
        return one->end.at < two->end.at;
    }

    return one < two;
}


/* of a link, another for each: the mixing of murmur3 */

static uint32_t
ngx_http_slidewin_end_rank(uint32_t n)
{
    n ^= n >> 16;
    n *= 0x85ebca6b;
    n ^= n >> 13;
    n *= 0xc2b2ae35;
    n ^= n >> 16;

    return n;
}


static ngx_inline ngx_http_slidewin_node_t *
ngx_http_slidewin_end_at(ngx_slab_pool_t *pool, uint32_t n)
{
    return ngx_queue_data(ngx_http_slidewin_link_at(pool, n),
                          ngx_http_slidewin_node_t, ends);
}


static ngx_inline ngx_http_slidewin_link_t *
ngx_http_slidewin_link_at(ngx_slab_pool_t *pool, uint32_t n)
{
    return (ngx_http_slidewin_link_t *)
               ((u_char *) pool + (size_t) n * NGX_HTTP_SLIDEWIN_ZONE_UNIT);
}


static ngx_inline uint32_t
ngx_http_slidewin_link_of(ngx_slab_pool_t *pool,
    ngx_http_slidewin_link_t *link)
{
    return (uint32_t) (((size_t) ((u_char *) link - (u_char *) pool))
                       / NGX_HTTP_SLIDEWIN_ZONE_UNIT);
}


static void
ngx_http_slidewin_link_init(ngx_slab_pool_t *pool,
    ngx_http_slidewin_link_t *list)
{
    list->prev = ngx_http_slidewin_link_of(pool, list);
    list->next = list->prev;
}


static ngx_inline void
ngx_http_slidewin_link_insert(ngx_slab_pool_t *pool,
    ngx_http_slidewin_link_t *after, ngx_http_slidewin_link_t *link)
{
    uint32_t  n;

    n = ngx_http_slidewin_link_of(pool, link);

    link->prev = ngx_http_slidewin_link_of(pool, after);
    link->next = after->next;

    sw_step();
    ngx_http_slidewin_link_at(pool, after->next)->prev = n;
    sw_step();
    after->next = n;
}


static ngx_inline void
ngx_http_slidewin_link_remove(ngx_slab_pool_t *pool,
    ngx_http_slidewin_link_t *link)
{
    ngx_http_slidewin_link_at(pool, link->prev)->next = link->next;
    sw_step();
    ngx_http_slidewin_link_at(pool, link->next)->prev = link->prev;
    sw_step();
}


/* whoever changes the tree puts its root back */

static ngx_rbtree_node_t **
ngx_http_slidewin_zone_tree(ngx_http_slidewin_shctx_t *sh, uint32_t hash,
    ngx_rbtree_t *tree)
{
    ngx_rbtree_node_t  **root;

    root = &sh->roots[hash & (sh->trees - 1)];

    tree->root = *root;
    tree->sentinel = &sh->sentinel;
    tree->insert = ngx_http_slidewin_zone_insert;

    return root;
}


static void
ngx_http_slidewin_zone_insert(ngx_rbtree_node_t *temp, ngx_rbtree_node_t *node,
    ngx_rbtree_node_t *sentinel)
{
    ngx_int_t                  rc;
    ngx_rbtree_node_t        **p;
    ngx_http_slidewin_node_t  *swn;

    swn = (ngx_http_slidewin_node_t *) node;

    for ( ;; ) {

        if (node->key != temp->key) {
            rc = (node->key < temp->key) ? -1 : 1;

        } else {
            rc = ngx_http_slidewin_zone_cmp(node->data, swn->key, temp);
        }

        p = (rc < 0) ? &temp->left : &temp->right;

        if (*p == sentinel) {
            break;
        }

        temp = *p;
    }

    *p = node;
    node->parent = temp;
    node->left = sentinel;
    node->right = sentinel;
    ngx_rbt_red(node);
}


static ngx_int_t
ngx_http_slidewin_zone_cmp(ngx_uint_t kind, const u_char *key,
    ngx_rbtree_node_t *node)
{
    size_t                     len;
    ngx_http_slidewin_node_t  *swn;

    if (kind != node->data) {
        return (kind < node->data) ? -1 : 1;
    }

    swn = (ngx_http_slidewin_node_t *) node;

    len = kind % NGX_HTTP_SLIDEWIN_NODE_KINDS;

    if (len == NGX_HTTP_SLIDEWIN_NODE_DIGESTED) {
        len = SW_KEY_DIGEST;
    }

    return ngx_memcmp(key, swn->key, len);
}


static ngx_int_t
ngx_http_slidewin_zone_format(ngx_slab_pool_t *pool, int64_t utc)
{
    size_t                      size;
    ngx_uint_t                  trees;
    ngx_http_slidewin_shctx_t  *sh;

    size = pool->end - (u_char *) pool;
    trees = 1;

    while (size / NGX_HTTP_SLIDEWIN_ZONE_TREE >= 2 * trees) {
        trees *= 2;
    }

    sh = ngx_slab_calloc_locked(pool, ngx_http_slidewin_zone_size(trees));
    if (sh == NULL) {
        return NGX_ERROR;
    }

    sh->layout = NGX_HTTP_SLIDEWIN_ZONE_LAYOUT;
    sh->utc = utc;
    sh->trees = trees;

    ngx_http_slidewin_zone_clear(pool, sh);

    pool->data = sh;

    return NGX_OK;
}


static size_t
ngx_http_slidewin_zone_size(ngx_uint_t trees)
{
    return offsetof(ngx_http_slidewin_shctx_t, roots)
           + trees * sizeof(ngx_rbtree_node_t *);
}


static void
ngx_http_slidewin_zone_clear(ngx_slab_pool_t *pool,
    ngx_http_slidewin_shctx_t *sh)
{
    pool->log_nomem = 0;
    sh->loose = NULL;

    ngx_http_slidewin_zone_untree(sh);
    ngx_http_slidewin_zone_unlist(pool, sh);
}


/*
 * A worker was killed while it held the lock, and the master has released it.
 * What it was not changing still knows every client.
 */

static void
ngx_http_slidewin_zone_repair(ngx_http_slidewin_visit_t *visit)
{
    u_char                     *saved, *end;
    ngx_http_slidewin_shctx_t  *sh;

    sh = visit->sh;
    visit->repaired = 1;

    switch (sh->links) {

    case NGX_HTTP_SLIDEWIN_LINKS_LISTS:
        ngx_http_slidewin_zone_repair_lists(visit);
        return;

    case NGX_HTTP_SLIDEWIN_LINKS_TREE:
        ngx_http_slidewin_zone_repair_trees(visit);
        return;

    case NGX_HTTP_SLIDEWIN_LINKS_MEMORY:
        saved = ngx_http_slidewin_zone_save(visit, &end);
        break;

    default: /* NGX_HTTP_SLIDEWIN_LINKS_ALL */
        saved = NULL;
        end = NULL;
    }

    ngx_http_slidewin_zone_links_begin(sh, NGX_HTTP_SLIDEWIN_LINKS_ALL);

    ngx_slab_init(visit->zone->shpool);
    sw_step();

    /* the first allocation of a pool that held it before: it is where it was */

    (void) ngx_slab_alloc_locked(visit->zone->shpool,
                                 ngx_http_slidewin_zone_size(sh->trees));
    sw_step();

    ngx_http_slidewin_zone_clear(visit->zone->shpool, sh);
    ngx_http_slidewin_zone_links_end(sh);

    ngx_http_slidewin_zone_restore(visit, saved, end);

    ngx_free(saved);
}


static void
ngx_http_slidewin_zone_repair_lists(ngx_http_slidewin_visit_t *visit)
{
    ngx_uint_t                  i;
    ngx_rbtree_t                tree;
    ngx_rbtree_node_t          *node;
    ngx_http_slidewin_shctx_t  *sh;

    sh = visit->sh;

    ngx_http_slidewin_zone_unlist(visit->zone->shpool, sh);

    for (i = 0; i < sh->trees; i++) {

        (void) ngx_http_slidewin_zone_tree(sh, (uint32_t) i, &tree);

        if (tree.root == tree.sentinel) {
            continue;
        }

        for (node = ngx_rbtree_min(tree.root, tree.sentinel);
             node;
             node = ngx_rbtree_next(&tree, node))
        {
            ngx_http_slidewin_zone_relist(visit,
                                          (ngx_http_slidewin_node_t *) node);
        }
    }

    if (sh->loose) {
        ngx_http_slidewin_zone_free(visit, sh->loose);
        return;
    }

    ngx_http_slidewin_zone_links_end(sh);
}


static void
ngx_http_slidewin_zone_repair_trees(ngx_http_slidewin_visit_t *visit)
{
    ngx_rbtree_t                tree;
    ngx_rbtree_node_t         **root;
    ngx_http_slidewin_link_t   *link;
    ngx_http_slidewin_node_t   *node;
    ngx_http_slidewin_shctx_t  *sh;

    sh = visit->sh;

    ngx_http_slidewin_zone_untree(sh);

    for (link = ngx_http_slidewin_link_at(visit->zone->shpool, sh->seen.prev);
         link != &sh->seen;
         link = ngx_http_slidewin_link_at(visit->zone->shpool, link->prev))
    {
        node = ngx_queue_data(link, ngx_http_slidewin_node_t, seen);

        root = ngx_http_slidewin_zone_tree(sh, (uint32_t) node->node.key,
                                           &tree);

        ngx_rbtree_insert(&tree, &node->node);
        *root = tree.root;
    }

    sh->loose = NULL;
    ngx_http_slidewin_zone_links_end(sh);
}


/*
 * Copies those that count, the latest seen last: a node and the entries of a
 * log that are elsewhere.  Denials and leases are not worth it: a store knows
 * better.
 */

static u_char *
ngx_http_slidewin_zone_save(ngx_http_slidewin_visit_t *visit, u_char **end)
{
    u_char                    *p, *saved;
    size_t                     size, bytes, ring;
    ngx_slab_pool_t           *pool;
    ngx_http_slidewin_link_t  *link, *seen;
    ngx_http_slidewin_node_t  *node;

    pool = visit->zone->shpool;
    seen = &visit->sh->seen;
    saved = NULL;
    p = NULL;

    for ( ;; ) {
        size = 0;

        for (link = ngx_http_slidewin_link_at(pool, seen->prev);
             link != seen;
             link = ngx_http_slidewin_link_at(pool, link->prev))
        {
            node = ngx_queue_data(link, ngx_http_slidewin_node_t, seen);

            if (!ngx_http_slidewin_node_counts(node)) {
                continue;
            }

            bytes = ngx_http_slidewin_node_bytes(node);
            ring = ngx_http_slidewin_node_ring(node);

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
ngx_http_slidewin_zone_restore(ngx_http_slidewin_visit_t *visit, u_char *p,
    u_char *end)
{
    size_t                     size, ring;
    sw_log_t                  *log;
    ngx_slab_pool_t           *pool;
    sw_log_entry_t            *entries;
    ngx_http_slidewin_node_t  *node, *saved;

    pool = visit->zone->shpool;

    for ( /* void */ ; p != end; p += size + ring) {

        saved = (ngx_http_slidewin_node_t *) p;
        size = ngx_http_slidewin_node_bytes(saved);
        ring = ngx_http_slidewin_node_ring(saved);

        ngx_http_slidewin_zone_links_begin(visit->sh,
                                           NGX_HTTP_SLIDEWIN_LINKS_MEMORY);

        node = ngx_slab_alloc_locked(pool, size);
        entries = ring ? ngx_slab_alloc_locked(pool, ring) : NULL;

        /* there was room for all of them */

        if (node == NULL || (ring && entries == NULL)) {
            break;
        }

        ngx_memcpy(node, saved, size);
        log = &node->state.u.log;

        if (ring) {
            ngx_memcpy(entries, p + size, ring);
            log->entries = entries;

        } else if (node->state.algorithm == SW_LOG) {
            log->entries = ngx_http_slidewin_node_inline(node);
        }

        sw_state_mend(&node->state);

        ngx_http_slidewin_zone_link(visit, node);
    }

    ngx_http_slidewin_zone_links_end(visit->sh);
}


static void
ngx_http_slidewin_zone_untree(ngx_http_slidewin_shctx_t *sh)
{
    ngx_uint_t  i;

    ngx_rbtree_sentinel_init(&sh->sentinel);

    for (i = 0; i < sh->trees; i++) {
        sh->roots[i] = &sh->sentinel;
    }
}


static void
ngx_http_slidewin_zone_unlist(ngx_slab_pool_t *pool,
    ngx_http_slidewin_shctx_t *sh)
{
    ngx_uint_t  i;

    ngx_http_slidewin_link_init(pool, &sh->seen);

    for (i = 0; i < NGX_HTTP_SLIDEWIN_ZONE_LISTS; i++) {
        ngx_http_slidewin_link_init(pool, &sh->ends[i]);
    }

    sh->lists = 0;
    sh->sorted = 0;

    ngx_queue_init(&sh->due);
}


static void
ngx_http_slidewin_zone_relist(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node)
{
    ngx_http_slidewin_memo_t  *memo;

    if (ngx_http_slidewin_node_counts(node)) {
        sw_state_mend(&node->state);
    }

    ngx_http_slidewin_link_insert(visit->zone->shpool, &visit->sh->seen,
                                  &node->seen);
    ngx_http_slidewin_end_insert(visit, node);

    if (ngx_http_slidewin_node_counts(node)) {
        return;
    }

    memo = ngx_http_slidewin_node_memo(node);

    if (memo->queue.next) {
        ngx_queue_insert_tail(&visit->sh->due, &memo->queue);
    }
}


ngx_http_slidewin_zone_t *
ngx_http_slidewin_zone_add(ngx_conf_t *cf, ngx_str_t *name, size_t size,
    ngx_str_t *key, void *tag)
{
    ngx_shm_zone_t            *shm_zone;
    ngx_http_slidewin_zone_t  *zone;

    if ((uint64_t) size > NGX_HTTP_SLIDEWIN_ZONE_MAX) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "zone \"%V\" is too large, it must be at most "
                           "32768m", name);
        return NULL;
    }

    shm_zone = ngx_shared_memory_add(cf, name, size, tag);
    if (shm_zone == NULL) {
        return NULL;
    }

    if (shm_zone->data) {
        zone = shm_zone->data;

        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "slidewin_zone \"%V\" is already bound to key "
                           "\"%V\"", name, &zone->key);
        return NULL;
    }

    zone = ngx_pcalloc(cf->pool, sizeof(ngx_http_slidewin_zone_t));
    if (zone == NULL) {
        return NULL;
    }

    zone->name = *name;
    zone->key = *key;

    shm_zone->init = ngx_http_slidewin_zone_init;
    shm_zone->data = zone;

    return zone;
}


static ngx_int_t
ngx_http_slidewin_zone_init(ngx_shm_zone_t *shm_zone, void *data)
{
    ngx_http_slidewin_zone_t   *old = data;
    ngx_http_slidewin_zone_t   *zone;
    ngx_http_slidewin_shctx_t  *sh;

    zone = shm_zone->data;
    zone->shpool = (ngx_slab_pool_t *) shm_zone->shm.addr;

    if (old) {

        if (zone->key.len != old->key.len
            || ngx_strncmp(zone->key.data, old->key.data, zone->key.len)
               != 0)
        {
            ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0,
                          "slidewin \"%V\" uses the \"%V\" key while "
                          "previously it used the \"%V\" key, give the "
                          "zone another name or restart nginx",
                          &zone->name, &zone->key, &old->key);
            return NGX_ERROR;
        }

        sh = zone->shpool->data;

        if (sh->layout != NGX_HTTP_SLIDEWIN_ZONE_LAYOUT) {
            ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0,
                          "slidewin zone \"%V\" was laid out by another "
                          "version of the module, restart nginx to use "
                          "this one", &zone->name);
            return NGX_ERROR;
        }

        return NGX_OK;
    }

    if (shm_zone->shm.exists) {
        return NGX_OK;
    }

    if (ngx_http_slidewin_zone_format(zone->shpool,
                                      ngx_http_slidewin_clock_utc())
        != NGX_OK)
    {
        ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0,
                      "slidewin zone \"%V\" has no memory", &zone->name);
        return NGX_ERROR;
    }

    return NGX_OK;
}


#if (NGX_HTTP_SLIDEWIN_TEST)

void
ngx_http_slidewin_zone_test_crash(ngx_http_slidewin_zone_t *zone,
    ngx_uint_t all)
{
    ngx_http_slidewin_shctx_t  *sh;

    ngx_shmtx_lock(&zone->shpool->mutex);

    sh = zone->shpool->data;
    sh->links = all ? NGX_HTTP_SLIDEWIN_LINKS_ALL
                    : NGX_HTTP_SLIDEWIN_LINKS_LISTS;

    sh->seen.next = 0;
    sh->seen.prev = 0;

    if (all) {
        sh->roots[0] = NULL;
    }

    (void) raise(SIGKILL);
}


/* all clients of a larger zone are too many to be looked at, bytes */
#define NGX_HTTP_SLIDEWIN_VERIFY_MAX     262144


/*
 * A client that counts is about to be forgotten: no other counts nothing, and
 * each is in its place.
 */

static void
ngx_http_slidewin_zone_verify(ngx_http_slidewin_visit_t *visit, int64_t now)
{
    ngx_uint_t                  i, nodes, idle, placed;
    ngx_slab_pool_t            *pool;
    ngx_http_slidewin_link_t   *link, *list;
    ngx_http_slidewin_node_t   *node, *last;
    ngx_http_slidewin_shctx_t  *sh;

    sh = visit->sh;
    pool = visit->zone->shpool;

    if (pool->end - (u_char *) pool > NGX_HTTP_SLIDEWIN_VERIFY_MAX) {
        return;
    }

    nodes = 0;
    idle = 0;

    for (link = ngx_http_slidewin_link_at(pool, sh->seen.next);
         link != &sh->seen;
         link = ngx_http_slidewin_link_at(pool, link->next))
    {
        node = ngx_queue_data(link, ngx_http_slidewin_node_t, seen);

        nodes++;
        idle += ngx_http_slidewin_node_idle(visit, node, now);
    }

    last = NULL;
    placed = ngx_http_slidewin_end_verify(pool, sh->sorted, &last);

    for (i = 0; i < NGX_HTTP_SLIDEWIN_ZONE_LISTS; i++) {
        list = &sh->ends[i];
        last = NULL;

        for (link = ngx_http_slidewin_link_at(pool, list->prev);
             link != list;
             link = ngx_http_slidewin_link_at(pool, link->prev))
        {
            node = ngx_queue_data(link, ngx_http_slidewin_node_t, ends);

            placed += !node->end.sorted
                      && (last == NULL || last->end.at <= node->end.at)
                      && (sh->lists & ((uint64_t) 1 << i));
            last = node;
        }
    }

    if (idle || placed != nodes) {
        ngx_log_error(NGX_LOG_ALERT, ngx_cycle->log, 0,
                      "slidewin zone \"%V\" forgets a client that counts, "
                      "%ui of %ui count nothing, %ui are in their place",
                      &visit->zone->name, idle, nodes, placed);
    }
}


/* not by its end, which is what may be wrong */

static ngx_uint_t
ngx_http_slidewin_node_idle(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node, int64_t now)
{
    int64_t                    due;
    sw_state_t                *second;
    ngx_http_slidewin_memo_t  *memo;

    if (ngx_http_slidewin_node_counts(node)) {
        second = sw_state_second(&node->state);

        return sw_state_used(&node->state, now + visit->utc) == 0
               && (second == NULL
                   || sw_state_used(second, now + visit->utc) == 0);
    }

    memo = ngx_http_slidewin_node_memo(node);
    due = memo->queue.next ? NGX_HTTP_SLIDEWIN_DUE_MS : 0;

    return memo->until + due <= now;
}


/* how many are sorted as they must be */

static ngx_uint_t
ngx_http_slidewin_end_verify(ngx_slab_pool_t *pool, uint32_t n,
    ngx_http_slidewin_node_t **last)
{
    ngx_uint_t                 placed;
    ngx_http_slidewin_node_t  *node;

    if (n == 0) {
        return 0;
    }

    node = ngx_http_slidewin_end_at(pool, n);

    placed = ngx_http_slidewin_end_verify(pool, node->ends.prev, last);

    placed += node->end.sorted
              && (*last == NULL
                  || ngx_http_slidewin_end_precedes(*last, node));
    *last = node;

    return placed + ngx_http_slidewin_end_verify(pool, node->ends.next, last);
}

#endif
