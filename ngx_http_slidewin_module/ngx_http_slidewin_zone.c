
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_digest.h"
#include "ngx_http_slidewin_zone.h"


/* fills the slab's chunk of 256 bytes with the node of a log */
#define NGX_HTTP_SLIDEWIN_LOG_INLINE     13

#define NGX_HTTP_SLIDEWIN_RING_EVICTIONS 2
#define NGX_HTTP_SLIDEWIN_FULL_LOG_MS    60000

/* what is due for so long is not attended to any more, ms */
#define NGX_HTTP_SLIDEWIN_DUE_MS         60000

/* counts up when what lies in shared memory changes its meaning */
#define NGX_HTTP_SLIDEWIN_ZONE_VERSION   6

#define NGX_HTTP_SLIDEWIN_ZONE_LAYOUT                                         \
    (NGX_HTTP_SLIDEWIN_ZONE_VERSION << 24                                     \
     | sizeof(ngx_http_slidewin_shctx_t) << 12                                \
     | sizeof(ngx_http_slidewin_node_t))


/* node.data: the length of a key, or that it is a digest, for each use */

#define NGX_HTTP_SLIDEWIN_NODE_KINDS     64
#define NGX_HTTP_SLIDEWIN_NODE_DIGESTED  63

#define ngx_http_slidewin_node_counts(n)                                      \
    ((n)->node.data / NGX_HTTP_SLIDEWIN_NODE_KINDS                            \
     == NGX_HTTP_SLIDEWIN_COUNTS                                              \
     || (n)->node.data / NGX_HTTP_SLIDEWIN_NODE_KINDS                         \
        == NGX_HTTP_SLIDEWIN_LONGER)


/*
 * The clients are spread over many trees: in one tree of a million the way down
 * leads through memory that no cache has.  A tree for that many bytes of a zone
 * has about eight clients, and its root adds a byte to each of them.
 */
#define NGX_HTTP_SLIDEWIN_ZONE_TREE      1024

/* clients share the time of their last change with some others */
#define NGX_HTTP_SLIDEWIN_ZONE_CHANGES   64


/* what a worker was doing to the links when it died with the lock */

#define NGX_HTTP_SLIDEWIN_LINKS_SOUND    0
#define NGX_HTTP_SLIDEWIN_LINKS_QUEUE    1
#define NGX_HTTP_SLIDEWIN_LINKS_ALL      2


struct ngx_http_slidewin_shctx_s {
    ngx_uint_t                  layout;
    ngx_rbtree_node_t           sentinel;
    ngx_queue_t                 queue;
    ngx_queue_t                 due;
    ngx_atomic_t                denies;      /* until, ms */
    ngx_atomic_t                workers;
    ngx_atomic_t                links;
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
};


static void ngx_http_slidewin_zone_disturb(ngx_http_slidewin_shctx_t *sh,
    ngx_uint_t links);
static void ngx_http_slidewin_zone_settle(ngx_http_slidewin_shctx_t *sh);
static ngx_http_slidewin_node_t *ngx_http_slidewin_zone_make(
    ngx_http_slidewin_visit_t *visit, size_t size, int64_t now);
static void ngx_http_slidewin_zone_link(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node);
static void *ngx_http_slidewin_zone_alloc(ngx_http_slidewin_visit_t *visit,
    size_t size, ngx_uint_t evictions, ngx_http_slidewin_node_t *keep,
    int64_t now);
static void ngx_http_slidewin_zone_expire(ngx_http_slidewin_visit_t *visit,
    int64_t now);
static sw_log_entry_t *ngx_http_slidewin_node_inline(
    ngx_http_slidewin_node_t *node);
static ngx_http_slidewin_memo_t *ngx_http_slidewin_node_memo(
    ngx_http_slidewin_node_t *node);
static ngx_http_slidewin_node_t *ngx_http_slidewin_memo_node(
    ngx_http_slidewin_memo_t *memo);
static ngx_uint_t ngx_http_slidewin_node_idle(ngx_http_slidewin_node_t *node,
    int64_t now);

static ngx_rbtree_node_t **ngx_http_slidewin_zone_tree(
    ngx_http_slidewin_shctx_t *sh, uint32_t hash, ngx_rbtree_t *tree);
static void ngx_http_slidewin_zone_insert(ngx_rbtree_node_t *temp,
    ngx_rbtree_node_t *node, ngx_rbtree_node_t *sentinel);
static ngx_int_t ngx_http_slidewin_zone_cmp(ngx_uint_t kind,
    const u_char *key, ngx_rbtree_node_t *node);

static ngx_int_t ngx_http_slidewin_zone_format(ngx_slab_pool_t *shpool);
static void ngx_http_slidewin_zone_repair(ngx_http_slidewin_visit_t *visit);
static void ngx_http_slidewin_zone_requeue(ngx_http_slidewin_shctx_t *sh,
    ngx_http_slidewin_node_t *node);
static ngx_int_t ngx_http_slidewin_zone_init(ngx_shm_zone_t *shm_zone,
    void *data);


void
ngx_http_slidewin_zone_visit(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_zone_t *zone, ngx_str_t *key,
    ngx_http_slidewin_what_e what)
{
    ngx_http_slidewin_zone_attend(visit, zone);

    sw_key_make(&visit->key, key->data, key->len,
                ngx_http_slidewin_digest);

    visit->kind = what * NGX_HTTP_SLIDEWIN_NODE_KINDS
                  + ngx_min(visit->key.kind,
                            NGX_HTTP_SLIDEWIN_NODE_DIGESTED);

    visit->hash = ngx_murmur_hash2((u_char *) visit->key.data,
                                   sw_key_len(visit->key.kind));
}


void
ngx_http_slidewin_zone_visit_longer(ngx_http_slidewin_visit_t *longer,
    ngx_http_slidewin_visit_t *visit)
{
    *longer = *visit;

    longer->kind = NGX_HTTP_SLIDEWIN_LONGER;
    longer->kind *= NGX_HTTP_SLIDEWIN_NODE_KINDS;
    longer->kind += visit->kind % NGX_HTTP_SLIDEWIN_NODE_KINDS;
}


void
ngx_http_slidewin_zone_attend(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_zone_t *zone)
{
    visit->zone = zone;
    visit->sh = NULL;
    visit->full = 0;
    visit->repaired = 0;
}


void
ngx_http_slidewin_zone_enter(ngx_http_slidewin_zone_t *zone)
{
    ngx_http_slidewin_shctx_t  *sh;

    sh = zone->shpool->data;

    (void) ngx_atomic_fetch_add(&sh->workers, 1);
}


ngx_uint_t
ngx_http_slidewin_zone_leave(ngx_http_slidewin_zone_t *zone)
{
    ngx_http_slidewin_shctx_t  *sh;

    sh = zone->shpool->data;

    return ngx_atomic_fetch_add(&sh->workers, -1) == 1;
}


/* a zone that is being repaired may say anything: it is only a hint */

ngx_uint_t
ngx_http_slidewin_zone_denies(ngx_http_slidewin_zone_t *zone, int64_t now)
{
    ngx_http_slidewin_shctx_t  *sh;

    sh = zone->shpool->data;

    return (ngx_atomic_int_t) (sh->denies - (ngx_atomic_uint_t) now) > 0;
}


ngx_uint_t
ngx_http_slidewin_zone_precedes(ngx_http_slidewin_zone_t *one,
    ngx_http_slidewin_zone_t *two)
{
    return one->shpool <= two->shpool;
}


void
ngx_http_slidewin_zone_lock(ngx_http_slidewin_visit_t *visit)
{
    ngx_shmtx_lock(&visit->zone->shpool->mutex);

    visit->sh = visit->zone->shpool->data;

    if (visit->sh->links != NGX_HTTP_SLIDEWIN_LINKS_SOUND) {
        ngx_http_slidewin_zone_repair(visit);
    }
}


void
ngx_http_slidewin_zone_unlock(ngx_http_slidewin_visit_t *visit)
{
    ngx_shmtx_unlock(&visit->zone->shpool->mutex);
}


void
ngx_http_slidewin_zone_log(ngx_http_slidewin_visit_t *visit, ngx_log_t *log)
{
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
    ngx_http_slidewin_shctx_t  *sh;

    sh = visit->sh;

    if (ngx_queue_head(&sh->queue) == &node->queue) {
        return;
    }

    ngx_http_slidewin_zone_disturb(sh, NGX_HTTP_SLIDEWIN_LINKS_QUEUE);

    ngx_queue_remove(&node->queue);
    ngx_queue_insert_head(&sh->queue, &node->queue);

    ngx_http_slidewin_zone_settle(sh);
}


ngx_http_slidewin_node_t *
ngx_http_slidewin_zone_create(ngx_http_slidewin_visit_t *visit,
    const sw_policy_t *policy, int64_t now)
{
    size_t                     size;
    uint32_t                   room;
    sw_log_entry_t            *entries;
    ngx_http_slidewin_node_t  *node;

    room = (policy->algorithm == SW_LOG) ? NGX_HTTP_SLIDEWIN_LOG_INLINE : 0;

    size = offsetof(ngx_http_slidewin_node_t, state) + sw_state_size(policy)
           + room * sizeof(sw_log_entry_t);

    node = ngx_http_slidewin_zone_make(visit, size, now);
    if (node == NULL) {
        return NULL;
    }

    entries = room ? ngx_http_slidewin_node_inline(node) : NULL;
    sw_state_init(&node->state, policy, now, entries, room);

    ngx_http_slidewin_zone_link(visit, node);

    return node;
}


void *
ngx_http_slidewin_zone_remember(ngx_http_slidewin_visit_t *visit, size_t size,
    int64_t now)
{
    ngx_http_slidewin_node_t  *node;

    node = ngx_http_slidewin_zone_make(visit,
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
ngx_http_slidewin_zone_make(ngx_http_slidewin_visit_t *visit, size_t size,
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

    ngx_http_slidewin_zone_disturb(sh, NGX_HTTP_SLIDEWIN_LINKS_ALL);

    root = ngx_http_slidewin_zone_tree(sh, visit->hash, &tree);

    ngx_rbtree_insert(&tree, &node->node);
    *root = tree.root;

    ngx_queue_insert_head(&sh->queue, &node->queue);

    ngx_http_slidewin_zone_settle(sh);
}


void
ngx_http_slidewin_zone_remove(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node)
{
    ngx_rbtree_t                tree;
    ngx_slab_pool_t            *shpool;
    ngx_rbtree_node_t         **root;
    ngx_http_slidewin_memo_t   *memo;
    ngx_http_slidewin_shctx_t  *sh;

    sh = visit->sh;
    shpool = visit->zone->shpool;

    ngx_http_slidewin_zone_disturb(sh, NGX_HTTP_SLIDEWIN_LINKS_ALL);

    ngx_queue_remove(&node->queue);

    root = ngx_http_slidewin_zone_tree(sh, (uint32_t) node->node.key, &tree);

    ngx_rbtree_delete(&tree, &node->node);
    *root = tree.root;

    if (!ngx_http_slidewin_node_counts(node)) {
        memo = ngx_http_slidewin_node_memo(node);

        if (memo->queue.next) {
            ngx_queue_remove(&memo->queue);
        }

    } else if (node->state.algorithm == SW_LOG
               && node->state.u.log.entries
                  != ngx_http_slidewin_node_inline(node))
    {
        ngx_slab_free_locked(shpool, node->state.u.log.entries);
    }

    ngx_slab_free_locked(shpool, node);

    ngx_http_slidewin_zone_settle(sh);
}


void *
ngx_http_slidewin_zone_recall(ngx_http_slidewin_visit_t *visit)
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
ngx_http_slidewin_zone_forget(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_memo_t *memo)
{
    ngx_http_slidewin_zone_remove(visit, ngx_http_slidewin_memo_node(memo));
}


void
ngx_http_slidewin_zone_deny(ngx_http_slidewin_visit_t *visit, int64_t until)
{
    if (!ngx_http_slidewin_zone_denies(visit->zone, until - 1)) {
        visit->sh->denies = (ngx_atomic_uint_t) until;
    }
}


void
ngx_http_slidewin_zone_change(ngx_http_slidewin_visit_t *visit, int64_t now)
{
    visit->sh->changed[visit->hash % NGX_HTTP_SLIDEWIN_ZONE_CHANGES] = now;
}


ngx_uint_t
ngx_http_slidewin_zone_changed(ngx_http_slidewin_visit_t *visit, int64_t since)
{
    return visit->sh->changed[visit->hash % NGX_HTTP_SLIDEWIN_ZONE_CHANGES]
           >= since;
}


void
ngx_http_slidewin_zone_due(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_memo_t *memo)
{
    ngx_http_slidewin_zone_done(visit, memo);

    ngx_http_slidewin_zone_disturb(visit->sh, NGX_HTTP_SLIDEWIN_LINKS_QUEUE);

    ngx_queue_insert_tail(&visit->sh->due, &memo->queue);

    ngx_http_slidewin_zone_settle(visit->sh);
}


void
ngx_http_slidewin_zone_done(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_memo_t *memo)
{
    if (memo->queue.next == NULL) {
        return;
    }

    ngx_http_slidewin_zone_disturb(visit->sh, NGX_HTTP_SLIDEWIN_LINKS_QUEUE);

    ngx_queue_remove(&memo->queue);
    memo->queue.next = NULL;

    ngx_http_slidewin_zone_settle(visit->sh);
}


void *
ngx_http_slidewin_zone_first(ngx_http_slidewin_visit_t *visit)
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
ngx_http_slidewin_zone_grow(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node, const sw_policy_t *policy, int64_t now)
{
    size_t                      size;
    uint32_t                    room;
    sw_log_entry_t             *entries;
    ngx_http_slidewin_shctx_t  *sh;

    room = sw_log_wants(&node->state, policy);

    if (room == 0) {
        return;
    }

    /* the slab's chunks are powers of two, and whole pages above */

    size = ngx_pagesize;

    while (size / 2 >= room * sizeof(sw_log_entry_t)) {
        size /= 2;
    }

    size = ngx_align(room * sizeof(sw_log_entry_t), size);

    entries = ngx_http_slidewin_zone_alloc(visit, size,
                                           NGX_HTTP_SLIDEWIN_RING_EVICTIONS,
                                           node, now);
    if (entries == NULL) {
        return;
    }

    sh = visit->sh;

    ngx_http_slidewin_zone_disturb(sh, NGX_HTTP_SLIDEWIN_LINKS_ALL);

    entries = sw_log_move(&node->state, entries,
                          (uint32_t) (size / sizeof(sw_log_entry_t)));

    if (entries != ngx_http_slidewin_node_inline(node)) {
        ngx_slab_free_locked(visit->zone->shpool, entries);
    }

    ngx_http_slidewin_zone_settle(sh);
}


/* between the two, a worker that dies leaves something to repair */

static void
ngx_http_slidewin_zone_disturb(ngx_http_slidewin_shctx_t *sh,
    ngx_uint_t links)
{
    sh->links = links;
    ngx_memory_barrier();
}


static void
ngx_http_slidewin_zone_settle(ngx_http_slidewin_shctx_t *sh)
{
    ngx_memory_barrier();
    sh->links = NGX_HTTP_SLIDEWIN_LINKS_SOUND;
}


/* forgets the least recently seen clients if there is no other memory */

static void *
ngx_http_slidewin_zone_alloc(ngx_http_slidewin_visit_t *visit, size_t size,
    ngx_uint_t evictions, ngx_http_slidewin_node_t *keep, int64_t now)
{
    void                       *p;
    ngx_uint_t                  forgotten;
    ngx_queue_t                *q;
    ngx_slab_pool_t            *shpool;
    ngx_http_slidewin_node_t   *node;
    ngx_http_slidewin_shctx_t  *sh;

    sh = visit->sh;
    shpool = visit->zone->shpool;

    forgotten = sh->forgotten;

    for ( ;; ) {
        ngx_http_slidewin_zone_disturb(sh, NGX_HTTP_SLIDEWIN_LINKS_ALL);

        p = ngx_slab_alloc_locked(shpool, size);

        ngx_http_slidewin_zone_settle(sh);

        if (p || evictions-- == 0 || ngx_queue_empty(&sh->queue)) {
            break;
        }

        q = ngx_queue_last(&sh->queue);
        node = ngx_queue_data(q, ngx_http_slidewin_node_t, queue);

        if (node == keep) {
            break;
        }

        if (!ngx_http_slidewin_node_idle(node, now)) {
            sh->forgotten++;
        }

        ngx_http_slidewin_zone_remove(visit, node);
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


/* two for every new one, so that memory follows the clients there are */

static void
ngx_http_slidewin_zone_expire(ngx_http_slidewin_visit_t *visit, int64_t now)
{
    ngx_uint_t                 n;
    ngx_queue_t               *q;
    ngx_http_slidewin_node_t  *node;

    for (n = 0; n < 2 && !ngx_queue_empty(&visit->sh->queue); n++) {

        q = ngx_queue_last(&visit->sh->queue);
        node = ngx_queue_data(q, ngx_http_slidewin_node_t, queue);

        if (!ngx_http_slidewin_node_idle(node, now)) {
            return;
        }

        ngx_http_slidewin_zone_remove(visit, node);
    }
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


static ngx_uint_t
ngx_http_slidewin_node_idle(ngx_http_slidewin_node_t *node, int64_t now)
{
    int64_t                    due;
    ngx_http_slidewin_memo_t  *memo;

    if (ngx_http_slidewin_node_counts(node)) {
        return sw_window_idle(&node->state, now);
    }

    memo = ngx_http_slidewin_node_memo(node);
    due = memo->queue.next ? NGX_HTTP_SLIDEWIN_DUE_MS : 0;

    return memo->until + due <= now;
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
ngx_http_slidewin_zone_format(ngx_slab_pool_t *shpool)
{
    size_t                      size;
    ngx_uint_t                  i, trees;
    ngx_http_slidewin_shctx_t  *sh;

    shpool->log_nomem = 0;

    size = shpool->end - (u_char *) shpool;
    trees = 1;

    while (size / NGX_HTTP_SLIDEWIN_ZONE_TREE >= 2 * trees) {
        trees *= 2;
    }

    sh = ngx_slab_calloc_locked(shpool,
                                offsetof(ngx_http_slidewin_shctx_t, roots)
                                + trees * sizeof(ngx_rbtree_node_t *));
    if (sh == NULL) {
        return NGX_ERROR;
    }

    sh->layout = NGX_HTTP_SLIDEWIN_ZONE_LAYOUT;
    sh->trees = trees;

    ngx_rbtree_sentinel_init(&sh->sentinel);

    for (i = 0; i < trees; i++) {
        sh->roots[i] = &sh->sentinel;
    }

    ngx_queue_init(&sh->queue);
    ngx_queue_init(&sh->due);

    shpool->data = sh;

    return NGX_OK;
}


/*
 * A worker was killed while it held the lock, and the master has released it.
 * If it was relinking the queue, the tree still knows every client.  If not,
 * the clients are forgotten: counting anew is better than following links
 * that lead nowhere.
 */

static void
ngx_http_slidewin_zone_repair(ngx_http_slidewin_visit_t *visit)
{
    ngx_uint_t                  i;
    ngx_rbtree_t                tree;
    ngx_rbtree_node_t          *node;
    ngx_http_slidewin_shctx_t  *sh;

    sh = visit->sh;
    visit->repaired = 1;

    if (sh->links != NGX_HTTP_SLIDEWIN_LINKS_QUEUE) {
        ngx_slab_init(visit->zone->shpool);

        /* the first allocation of a pool that held it before */

        (void) ngx_http_slidewin_zone_format(visit->zone->shpool);

        visit->sh = visit->zone->shpool->data;
        return;
    }

    ngx_queue_init(&sh->queue);
    ngx_queue_init(&sh->due);

    for (i = 0; i < sh->trees; i++) {

        (void) ngx_http_slidewin_zone_tree(sh, (uint32_t) i, &tree);

        if (tree.root == tree.sentinel) {
            continue;
        }

        for (node = ngx_rbtree_min(tree.root, tree.sentinel);
             node;
             node = ngx_rbtree_next(&tree, node))
        {
            ngx_http_slidewin_zone_requeue(sh,
                                           (ngx_http_slidewin_node_t *) node);
        }
    }

    sh->links = NGX_HTTP_SLIDEWIN_LINKS_SOUND;
}


static void
ngx_http_slidewin_zone_requeue(ngx_http_slidewin_shctx_t *sh,
    ngx_http_slidewin_node_t *node)
{
    ngx_http_slidewin_memo_t  *memo;

    ngx_queue_insert_tail(&sh->queue, &node->queue);

    if (ngx_http_slidewin_node_counts(node)) {
        return;
    }

    memo = ngx_http_slidewin_node_memo(node);

    if (memo->queue.next) {
        ngx_queue_insert_tail(&sh->due, &memo->queue);
    }
}


ngx_http_slidewin_zone_t *
ngx_http_slidewin_zone_add(ngx_conf_t *cf, ngx_str_t *name, size_t size,
    ngx_str_t *key, void *tag)
{
    ngx_shm_zone_t            *shm_zone;
    ngx_http_slidewin_zone_t  *zone;

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
                          "previously it used the \"%V\" key",
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

    if (ngx_http_slidewin_zone_format(zone->shpool) != NGX_OK) {
        ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0,
                      "slidewin zone \"%V\" has no memory", &zone->name);
        return NGX_ERROR;
    }

    return NGX_OK;
}


#if (NGX_HTTP_SLIDEWIN_TEST)

void
ngx_http_slidewin_zone_die(ngx_http_slidewin_zone_t *zone, ngx_uint_t all)
{
    ngx_http_slidewin_shctx_t  *sh;

    ngx_shmtx_lock(&zone->shpool->mutex);

    sh = zone->shpool->data;
    sh->links = all ? NGX_HTTP_SLIDEWIN_LINKS_ALL
                    : NGX_HTTP_SLIDEWIN_LINKS_QUEUE;

    sh->queue.next = NULL;
    sh->queue.prev = NULL;

    if (all) {
        sh->roots[0] = NULL;
    }

    (void) raise(SIGKILL);
}

#endif
