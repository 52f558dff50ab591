
/*
 * The nodes of a zone by their key, and a node's way into its tree and all
 * lists and out of them.  All with the lock held.
 *
 * The nodes are spread over many trees: in one tree of a million the way down
 * leads through memory outside the CPU caches.
 */


#ifndef _NGX_HTTP_SLIDEWIN_ZONE_TREE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_ZONE_TREE_H_INCLUDED_


#include "ngx_http_slidewin_zone_node.h"


/* empties a zone; its trees only; its lists only */
void ngx_http_slidewin_zone_tree_clear(ngx_slab_pool_t *pool,
    ngx_http_slidewin_shctx_t *sh);
void ngx_http_slidewin_zone_tree_clear_roots(ngx_http_slidewin_shctx_t *sh);
void ngx_http_slidewin_zone_tree_clear_lists(ngx_slab_pool_t *pool,
    ngx_http_slidewin_shctx_t *sh);

/* inserts a node that was allocated and filled into its tree and lists */
void ngx_http_slidewin_zone_tree_link(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node);

/* removes a node from all of them, and leaves it as detached, to be freed */
void ngx_http_slidewin_zone_tree_unlink(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node);

/* inserts a node into its tree only */
void ngx_http_slidewin_zone_tree_insert(ngx_http_slidewin_shctx_t *sh,
    ngx_http_slidewin_node_t *node);

/* the tree of a hash, and where its root is to be stored after a change */
ngx_rbtree_node_t **ngx_http_slidewin_zone_tree_get(
    ngx_http_slidewin_shctx_t *sh, uint32_t hash, ngx_rbtree_t *tree);


/* the order of nodes with the same hash */

static ngx_inline ngx_int_t
ngx_http_slidewin_zone_tree_compare(ngx_uint_t kind, const u_char *key,
    ngx_rbtree_node_t *node)
{
    size_t                     len;
    ngx_http_slidewin_node_t  *swn;

    if (kind != node->data) {
        return (kind < node->data) ? -1 : 1;
    }

    swn = (ngx_http_slidewin_node_t *) node;

    len = kind % NGX_HTTP_SLIDEWIN_NODE_KEY_KINDS;

    if (len == NGX_HTTP_SLIDEWIN_NODE_KEY_DIGESTED) {
        len = SW_KEY_DIGEST;
    }

    return ngx_memcmp(key, swn->key, len);
}


#endif /* _NGX_HTTP_SLIDEWIN_ZONE_TREE_H_INCLUDED_ */
