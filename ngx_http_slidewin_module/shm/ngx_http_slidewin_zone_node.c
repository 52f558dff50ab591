
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_zone_node.h"


size_t
ngx_http_slidewin_zone_node_size(ngx_http_slidewin_node_t *node)
{
    return ngx_http_slidewin_zone_node_new_size(node->state.algorithm,
                                                sw_state_bytes(&node->state));
}


size_t
ngx_http_slidewin_zone_node_new_size(ngx_uint_t algorithm, size_t state_size)
{
    size_t  size;

    size = offsetof(ngx_http_slidewin_node_t, state) + state_size;

    if (algorithm == SW_LOG) {
        size += NGX_HTTP_SLIDEWIN_LOG_INLINE * sizeof(sw_log_entry_t);
    }

    return size;
}


size_t
ngx_http_slidewin_zone_node_ring_size(ngx_http_slidewin_node_t *node)
{
    if (node->state.algorithm != SW_LOG
        || node->state.u.log.room == NGX_HTTP_SLIDEWIN_LOG_INLINE)
    {
        return 0;
    }

    return node->state.u.log.room * sizeof(sw_log_entry_t);
}


ngx_uint_t
ngx_http_slidewin_zone_node_yields(ngx_http_slidewin_node_t *node, size_t size)
{
    size_t  ring;

    if (!ngx_http_slidewin_node_is_counter(node)) {
        return 0;
    }

    ring = ngx_http_slidewin_zone_node_ring_size(node);

    return ring == size || (size >= ngx_pagesize && ring > size)
           || ngx_http_slidewin_zone_node_chunk_size(
                  ngx_http_slidewin_zone_node_size(node))
              == size;
}


/* chunks are powers of two, and whole pages above */

size_t
ngx_http_slidewin_zone_node_chunk_size(size_t size)
{
    size_t  chunk;

    chunk = ngx_pagesize;

    while (chunk / 2 >= size) {
        chunk /= 2;
    }

    return ngx_align(size, chunk);
}


void
ngx_http_slidewin_zone_node_free(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node)
{
    ngx_slab_pool_t            *pool;
    ngx_http_slidewin_shctx_t  *sh;

    sh = op->sh;
    pool = op->zone->shpool;

    ngx_http_slidewin_zone_changing(sh, NGX_HTTP_SLIDEWIN_CHANGING_MEMORY);

    if (ngx_http_slidewin_node_is_counter(node)
        && ngx_http_slidewin_zone_node_ring_size(node))
    {
        ngx_slab_free_locked(pool, node->state.u.log.entries);
        sw_step();
    }

    ngx_slab_free_locked(pool, node);

    sh->detached = NULL;
    ngx_http_slidewin_zone_changing(sh, NGX_HTTP_SLIDEWIN_CHANGING_LISTS);
}
