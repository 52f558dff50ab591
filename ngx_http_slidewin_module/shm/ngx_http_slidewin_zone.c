
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_digest.h"
#include "ngx_http_slidewin_zone.h"
#include "ngx_http_slidewin_zone_alloc.h"
#include "ngx_http_slidewin_zone_repair.h"
#include "ngx_http_slidewin_zone_tree.h"


/*
 * A tree for so many bytes of a zone has about eight nodes, and its root adds a
 * byte to each of them.
 */
#define NGX_HTTP_SLIDEWIN_ZONE_TREE  1024


static ngx_int_t ngx_http_slidewin_zone_init(ngx_shm_zone_t *shm_zone,
    void *data);
static ngx_int_t ngx_http_slidewin_zone_format(ngx_slab_pool_t *pool,
    int64_t utc_offset);


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


static ngx_int_t
ngx_http_slidewin_zone_format(ngx_slab_pool_t *pool, int64_t utc_offset)
{
    size_t                      size;
    ngx_uint_t                  trees;
    ngx_http_slidewin_shctx_t  *sh;

    size = pool->end - (u_char *) pool;
    trees = 1;

    while (size / NGX_HTTP_SLIDEWIN_ZONE_TREE >= 2 * trees) {
        trees *= 2;
    }

    sh = ngx_slab_calloc_locked(pool, ngx_http_slidewin_shctx_size(trees));
    if (sh == NULL) {
        return NGX_ERROR;
    }

    sh->layout = NGX_HTTP_SLIDEWIN_ZONE_LAYOUT;
    sh->utc_offset = utc_offset;
    sh->trees = trees;

    pool->log_nomem = 0;

    ngx_http_slidewin_zone_tree_clear(pool, sh);

    pool->data = sh;

    return NGX_OK;
}


void
ngx_http_slidewin_zone_on_evict(ngx_http_slidewin_zone_t *zone,
    ngx_http_slidewin_on_evict_pt on_evict,
    ngx_http_slidewin_evicted_pt evicted, void *data)
{
    zone->on_evict = on_evict;
    zone->evicted = evicted;
    zone->evict_data = data;
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


ngx_uint_t
ngx_http_slidewin_zone_locks_before(ngx_http_slidewin_zone_t *one,
    ngx_http_slidewin_zone_t *two)
{
    return one->shpool <= two->shpool;
}


/* free pages, and free chunks of pages in use; figures may be a moment apart */

void
ngx_http_slidewin_zone_usage(ngx_http_slidewin_zone_t *zone,
    ngx_http_slidewin_zone_usage_t *usage)
{
    ngx_uint_t                  i, n, used, total;
    ngx_slab_pool_t            *pool;
    ngx_http_slidewin_shctx_t  *sh;

    pool = zone->shpool;
    sh = pool->data;

    usage->size = pool->end - (u_char *) pool;
    usage->free = pool->pfree * ngx_pagesize;

    n = ngx_pagesize_shift - pool->min_shift;

    for (i = 0; i < n; i++) {
        total = pool->stats[i].total;
        used = pool->stats[i].used;

        if (total > used) {
            usage->free += (total - used) << (i + pool->min_shift);
        }
    }

    usage->entries = sh->entries;
}


void
ngx_http_slidewin_zone_set_counters(ngx_http_slidewin_zone_t *zone,
    ngx_http_slidewin_zone_counters_t *counters)
{
    zone->counters = counters;
}


void
ngx_http_slidewin_zone_op_init(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_zone_t *zone)
{
    op->zone = zone;
    op->sh = NULL;
    op->copies = NULL;
    op->full = 0;
    op->repaired = 0;
}


void
ngx_http_slidewin_zone_op_init_key(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_zone_t *zone, ngx_str_t *key,
    ngx_http_slidewin_node_type_e type)
{
    ngx_http_slidewin_zone_op_init(op, zone);

    sw_key_make(&op->key, key->data, key->len, ngx_http_slidewin_digest);

    ngx_http_slidewin_zone_op_set_type(op, type);

    op->hash = ngx_murmur_hash2((u_char *) op->key.data,
                                sw_key_len(op->key.kind));
}


void
ngx_http_slidewin_zone_lock(ngx_http_slidewin_zone_op_t *op)
{
    ngx_shmtx_lock(&op->zone->shpool->mutex);

    op->sh = op->zone->shpool->data;
    op->utc_offset = op->sh->utc_offset;

    if (op->sh->changing != NGX_HTTP_SLIDEWIN_CHANGING_NOTHING) {
        ngx_http_slidewin_zone_repair(op);
    }

    ngx_http_slidewin_zone_changing(op->sh, NGX_HTTP_SLIDEWIN_CHANGING_LISTS);
}


void
ngx_http_slidewin_zone_unlock(ngx_http_slidewin_zone_op_t *op)
{
    ngx_http_slidewin_zone_changing(op->sh,
                                    NGX_HTTP_SLIDEWIN_CHANGING_NOTHING);

    ngx_shmtx_unlock(&op->zone->shpool->mutex);
}


void
ngx_http_slidewin_zone_report(ngx_http_slidewin_zone_op_t *op, ngx_log_t *log)
{
    ngx_http_slidewin_memo_copy_t  *copy;

    if (op->full) {
        ngx_log_error(NGX_LOG_ERR, log, 0,
                      "slidewin zone \"%V\" is full, %ui clients have been "
                      "forgotten so far to make room",
                      &op->zone->name, op->evicted);
    }

    if (op->repaired) {
        ngx_log_error(NGX_LOG_ERR, log, 0,
                      "slidewin zone \"%V\" has been repaired after a "
                      "worker process died while changing it",
                      &op->zone->name);
    }

    while (op->copies) {
        copy = op->copies;
        op->copies = copy->next;

        op->zone->evicted(copy, op->zone->evict_data);
    }
}


ngx_http_slidewin_node_t *
ngx_http_slidewin_zone_lookup(ngx_http_slidewin_zone_op_t *op)
{
    ngx_int_t           rc;
    ngx_rbtree_node_t  *node, *sentinel;

    node = op->sh->roots[op->hash & (op->sh->trees - 1)];
    sentinel = &op->sh->sentinel;

    while (node != sentinel) {

        if (op->hash != node->key) {
            node = (op->hash < node->key) ? node->left : node->right;
            continue;
        }

        rc = ngx_http_slidewin_zone_tree_compare(op->kind, op->key.data, node);

        if (rc == 0) {
            return (ngx_http_slidewin_node_t *) node;
        }

        node = (rc < 0) ? node->left : node->right;
    }

    return NULL;
}


void
ngx_http_slidewin_zone_touch(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node)
{
    ngx_slab_pool_t           *pool;
    ngx_http_slidewin_link_t  *lru;

    pool = op->zone->shpool;
    lru = &op->sh->lru;

    if (lru->next == ngx_http_slidewin_link_of(pool, &node->lru)) {
        return;
    }

    ngx_http_slidewin_link_remove(pool, &node->lru);
    ngx_http_slidewin_link_insert(pool, lru, &node->lru);
}


ngx_http_slidewin_node_t *
ngx_http_slidewin_zone_insert_counter(ngx_http_slidewin_zone_op_t *op,
    const sw_rule_t *rule, size_t size, int64_t now)
{
    uint32_t                   room;
    sw_log_entry_t            *entries;
    ngx_http_slidewin_node_t  *node;

    size = ngx_http_slidewin_zone_node_new_size(rule->algorithm, size);

    node = ngx_http_slidewin_zone_alloc_node(op, size, now - op->utc_offset);
    if (node == NULL) {
        return NULL;
    }

    room = (rule->algorithm == SW_LOG) ? NGX_HTTP_SLIDEWIN_LOG_INLINE : 0;
    entries = room ? ngx_http_slidewin_node_entries(node) : NULL;
    sw_state_init(&node->state, rule, now, entries, room);

    ngx_http_slidewin_zone_tree_link(op, node);

    return node;
}


void *
ngx_http_slidewin_zone_insert_memo(ngx_http_slidewin_zone_op_t *op,
    size_t size, int64_t now)
{
    ngx_http_slidewin_node_t  *node;

    node = ngx_http_slidewin_zone_alloc_node(op,
                                             offsetof(ngx_http_slidewin_node_t,
                                                      state)
                                             + size, now);
    if (node == NULL) {
        return NULL;
    }

    ngx_memzero(&node->state, size);

    ngx_http_slidewin_zone_tree_link(op, node);

    return ngx_http_slidewin_node_memo(node);
}


void
ngx_http_slidewin_zone_remove(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node)
{
    ngx_http_slidewin_zone_tree_unlink(op, node);
    ngx_http_slidewin_zone_node_free(op, node);
}


/*
 * A log that finds no memory for a longer ring merges its oldest entries; it
 * is then stricter than it must be, but never laxer.
 */

void
ngx_http_slidewin_zone_grow_log(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node, const sw_rule_t *rule, int64_t now)
{
    size_t           size;
    uint32_t         room;
    sw_log_t        *log;
    sw_log_entry_t  *entries;

    log = &node->state.u.log;
    room = sw_log_next_room(log, node->state.window, rule);

    if (room == 0) {
        return;
    }

    size = ngx_http_slidewin_zone_node_chunk_size(room
                                                  * sizeof(sw_log_entry_t));

    entries = ngx_http_slidewin_zone_alloc_ring(op, node, size,
                                                now - op->utc_offset);
    if (entries == NULL) {
        return;
    }

    entries = sw_log_move(log, entries,
                          (uint32_t) (size / sizeof(sw_log_entry_t)));

    if (entries != ngx_http_slidewin_node_entries(node)) {
        sw_step();
        ngx_slab_free_locked(op->zone->shpool, entries);
    }

    ngx_http_slidewin_zone_changing(op->sh, NGX_HTTP_SLIDEWIN_CHANGING_LISTS);
}
