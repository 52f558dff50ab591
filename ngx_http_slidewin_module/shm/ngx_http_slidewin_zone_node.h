
/*
 * The layout of the shared memory of a zone: its context, and the nodes.  For
 * the files of shm/, and for memos.
 */


#ifndef _NGX_HTTP_SLIDEWIN_ZONE_NODE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_ZONE_NODE_H_INCLUDED_


#include "ngx_http_slidewin_stats.h"
#include "ngx_http_slidewin_zone_op.h"
#include "sw_step.h"


/* with so many entries the node of a log fills the slab's chunk of 256 bytes */
#define NGX_HTTP_SLIDEWIN_LOG_INLINE     14

/* a power of two, as many as the bits of shctx.nonempty */
#define NGX_HTTP_SLIDEWIN_EXPIRY_LISTS   64

/* the last time that fits the 47 bits of an expiry, ms: in the year 6429 */
#define NGX_HTTP_SLIDEWIN_EXPIRY_MAX     (((int64_t) 1 << 47) - 1)

/* a scheduled memo is kept for so long after its own end, ms */
#define NGX_HTTP_SLIDEWIN_SCHEDULED_MS   60000

/* links count in units of so many bytes, in 32 bits */
#define NGX_HTTP_SLIDEWIN_LINK_UNIT      8
#define NGX_HTTP_SLIDEWIN_ZONE_MAX       ((uint64_t) 8 << 32)

/* clients share the time when they were last invalidated with some others */
#define NGX_HTTP_SLIDEWIN_INVALIDATED    64

/* to be incremented when the layout of shared memory changes its meaning */
#define NGX_HTTP_SLIDEWIN_ZONE_VERSION   10

#define NGX_HTTP_SLIDEWIN_ZONE_LAYOUT                                         \
    (NGX_HTTP_SLIDEWIN_ZONE_VERSION << 24                                     \
     | sizeof(ngx_http_slidewin_shctx_t) << 12                                \
     | sizeof(ngx_http_slidewin_node_t))


/*
 * node.data is type * KEY_KINDS + the kind of the key: its length, or that it
 * is a digest.
 */

#define NGX_HTTP_SLIDEWIN_NODE_KEY_KINDS     64
#define NGX_HTTP_SLIDEWIN_NODE_KEY_DIGESTED  63


/*
 * What a worker was changing if it died with the lock held.  The nodes that
 * this left in disorder are found elsewhere: if the lists are broken, in the
 * trees; if a tree or the slab is, in the LRU list.
 *
 * LISTS is also what is set while the lock is held and nothing else is being
 * changed: a state may have another end than the one its node is listed by.
 */

#define NGX_HTTP_SLIDEWIN_CHANGING_NOTHING   0
#define NGX_HTTP_SLIDEWIN_CHANGING_LISTS     1
#define NGX_HTTP_SLIDEWIN_CHANGING_TREE      2
#define NGX_HTTP_SLIDEWIN_CHANGING_MEMORY    3
#define NGX_HTTP_SLIDEWIN_CHANGING_ALL       4


/*
 * A link of a list, or the children in the treap: distances from the pool, so
 * that a node's two links take no more than one of pointers.  0 is no child.
 */

typedef struct {
    uint32_t                        prev;
    uint32_t                        next;
} ngx_http_slidewin_link_t;


/* kept in the bytes that a node of an rbtree leaves unused */

typedef struct {
    u_char                          links[offsetof(ngx_rbtree_node_t, color)];
    uint64_t                        color_data:16;
    uint64_t                        at:47;         /* ms, UTC of the zone */
    uint64_t                        in_treap:1;    /* or else in a list */
} ngx_http_slidewin_expiry_t;


/* a larger state, entries of a log or a memo may follow */

struct ngx_http_slidewin_node_s {
    union {
        ngx_rbtree_node_t           node;
        ngx_http_slidewin_expiry_t  expiry;
    };

    ngx_http_slidewin_link_t        lru;
    ngx_http_slidewin_link_t        by_expiry;
    u_char                          key[SW_KEY_MAX];
    sw_state_t                      state;         /* or a memo */
};


/* a repair rebuilds trees, lists and slab, and keeps all else in here */

struct ngx_http_slidewin_shctx_s {
    ngx_uint_t                      layout;
    ngx_rbtree_node_t               sentinel;
    ngx_http_slidewin_link_t        lru;           /* the latest used first */
    ngx_http_slidewin_link_t        expiry_lists[
                                        NGX_HTTP_SLIDEWIN_EXPIRY_LISTS];
                                                   /* the last to end first */
    uint64_t                        nonempty;      /* lists that may have any */
    uint32_t                        treap;         /* its root, or 0 */
    ngx_queue_t                     schedule;      /* of memos */
    ngx_atomic_t                    denied_until;  /* ms */
    ngx_atomic_t                    workers;
    ngx_atomic_t                    changing;
    ngx_http_slidewin_node_t       *detached;      /* in lists, in no tree */
    int64_t                         utc_offset;    /* UTC - clock, ms */
    ngx_uint_t                      entries;       /* nodes in trees */
    ngx_uint_t                      evicted;       /* before they expired */
    int64_t                         full_logged_at;
    int64_t                         invalidated[NGX_HTTP_SLIDEWIN_INVALIDATED];
                                                   /* us */
    ngx_uint_t                      trees;         /* a power of two */
    ngx_rbtree_node_t              *roots[1];      /* as many as trees */
};


/* its context is shpool->data */

struct ngx_http_slidewin_zone_s {
    ngx_slab_pool_t                *shpool;
    ngx_str_t                       name;
    ngx_str_t                       key;

    ngx_http_slidewin_zone_counters_t  *counters;  /* of this worker; NULL:
                                                    * not counted */

    ngx_http_slidewin_on_evict_pt   on_evict;
    ngx_http_slidewin_evicted_pt    evicted;
    void                           *evict_data;
};


/* bytes of the node of a counter, without a ring that is elsewhere */
size_t ngx_http_slidewin_zone_node_size(ngx_http_slidewin_node_t *node);

/* bytes of a new node with so many bytes for its state */
size_t ngx_http_slidewin_zone_node_new_size(ngx_uint_t algorithm,
    size_t state_size);

/* bytes of the ring of a log that is elsewhere, or 0 */
size_t ngx_http_slidewin_zone_node_ring_size(ngx_http_slidewin_node_t *node);

/* whether freeing the node of a counter gives a chunk of exactly that size */
ngx_uint_t ngx_http_slidewin_zone_node_yields(ngx_http_slidewin_node_t *node,
    size_t size);

/* what the slab takes for so many bytes */
size_t ngx_http_slidewin_zone_node_chunk_size(size_t size);

/* frees a node that is in no tree and in no list */
void ngx_http_slidewin_zone_node_free(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node);


/* from now on the operation is on that node of the client */

static ngx_inline void
ngx_http_slidewin_zone_op_set_type(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_type_e type)
{
    op->kind = type * NGX_HTTP_SLIDEWIN_NODE_KEY_KINDS
               + ngx_min(op->key.kind, NGX_HTTP_SLIDEWIN_NODE_KEY_DIGESTED);
}


/* notes what a worker that is killed from now on leaves to be repaired */

static ngx_inline void
ngx_http_slidewin_zone_changing(ngx_http_slidewin_shctx_t *sh,
    ngx_uint_t changing)
{
    sw_step();
    sh->changing = changing;
    sw_step();
}


static ngx_inline size_t
ngx_http_slidewin_shctx_size(ngx_uint_t trees)
{
    return offsetof(ngx_http_slidewin_shctx_t, roots)
           + trees * sizeof(ngx_rbtree_node_t *);
}


static ngx_inline ngx_uint_t
ngx_http_slidewin_node_is_counter(ngx_http_slidewin_node_t *node)
{
    return node->node.data / NGX_HTTP_SLIDEWIN_NODE_KEY_KINDS
           == NGX_HTTP_SLIDEWIN_NODE_COUNTER;
}


static ngx_inline ngx_http_slidewin_memo_t *
ngx_http_slidewin_node_memo(ngx_http_slidewin_node_t *node)
{
    return (ngx_http_slidewin_memo_t *) &node->state;
}


static ngx_inline ngx_http_slidewin_node_t *
ngx_http_slidewin_node_of_memo(ngx_http_slidewin_memo_t *memo)
{
    return (ngx_http_slidewin_node_t *)
               ((u_char *) memo - offsetof(ngx_http_slidewin_node_t, state));
}


static ngx_inline ngx_uint_t
ngx_http_slidewin_node_is_scheduled(ngx_http_slidewin_node_t *node)
{
    return !ngx_http_slidewin_node_is_counter(node)
           && ngx_http_slidewin_node_memo(node)->queue.next != NULL;
}


/* entries of a log that lie in its node */

static ngx_inline sw_log_entry_t *
ngx_http_slidewin_node_entries(ngx_http_slidewin_node_t *node)
{
    return (sw_log_entry_t *) ((u_char *) &node->state
                               + offsetof(sw_state_t, u) + sizeof(sw_log_t));
}


static ngx_inline ngx_http_slidewin_link_t *
ngx_http_slidewin_link_at(ngx_slab_pool_t *pool, uint32_t n)
{
    return (ngx_http_slidewin_link_t *)
               ((u_char *) pool + (size_t) n * NGX_HTTP_SLIDEWIN_LINK_UNIT);
}


static ngx_inline uint32_t
ngx_http_slidewin_link_of(ngx_slab_pool_t *pool,
    ngx_http_slidewin_link_t *link)
{
    return (uint32_t) (((size_t) ((u_char *) link - (u_char *) pool))
                       / NGX_HTTP_SLIDEWIN_LINK_UNIT);
}


static ngx_inline void
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


#endif /* _NGX_HTTP_SLIDEWIN_ZONE_NODE_H_INCLUDED_ */
