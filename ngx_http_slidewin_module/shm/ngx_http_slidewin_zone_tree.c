
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_zone_expiry.h"
#include "ngx_http_slidewin_zone_tree.h"


static void ngx_http_slidewin_zone_tree_insert_value(ngx_rbtree_node_t *temp,
    ngx_rbtree_node_t *node, ngx_rbtree_node_t *sentinel);


void
ngx_http_slidewin_zone_tree_clear(ngx_slab_pool_t *pool,
    ngx_http_slidewin_shctx_t *sh)
{
    sh->detached = NULL;

    ngx_http_slidewin_zone_tree_clear_roots(sh);
    ngx_http_slidewin_zone_tree_clear_lists(pool, sh);
}


void
ngx_http_slidewin_zone_tree_clear_roots(ngx_http_slidewin_shctx_t *sh)
{
    ngx_uint_t  i;

    ngx_rbtree_sentinel_init(&sh->sentinel);

    sh->entries = 0;

    for (i = 0; i < sh->trees; i++) {
        sh->roots[i] = &sh->sentinel;
    }
}


void
ngx_http_slidewin_zone_tree_clear_lists(ngx_slab_pool_t *pool,
    ngx_http_slidewin_shctx_t *sh)
{
    ngx_http_slidewin_link_init(pool, &sh->lru);
    ngx_http_slidewin_zone_expiry_clear(pool, sh);
    ngx_queue_init(&sh->schedule);
}


/* the lists first: a node that is in no tree yet is freed by a repair */

void
ngx_http_slidewin_zone_tree_link(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node)
{
    ngx_http_slidewin_shctx_t  *sh;

    sh = op->sh;

    sh->detached = node;
    ngx_http_slidewin_zone_changing(sh, NGX_HTTP_SLIDEWIN_CHANGING_LISTS);

    ngx_http_slidewin_link_insert(op->zone->shpool, &sh->lru, &node->lru);
    ngx_http_slidewin_zone_expiry_insert(op, node);

    ngx_http_slidewin_zone_changing(sh, NGX_HTTP_SLIDEWIN_CHANGING_TREE);
    sh->detached = NULL;

    ngx_http_slidewin_zone_tree_insert(sh, node);

    ngx_http_slidewin_zone_changing(sh, NGX_HTTP_SLIDEWIN_CHANGING_LISTS);
}


void
ngx_http_slidewin_zone_tree_unlink(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node)
{
    ngx_rbtree_t                tree;
    ngx_rbtree_node_t         **root;
    ngx_http_slidewin_shctx_t  *sh;

    sh = op->sh;

    ngx_http_slidewin_zone_changing(sh, NGX_HTTP_SLIDEWIN_CHANGING_TREE);

    /* nginx clears the hash of a node that it deletes: no way back from here */

    sh->detached = node;

    root = ngx_http_slidewin_zone_tree_get(sh, (uint32_t) node->node.key,
                                           &tree);

    ngx_rbtree_delete(&tree, &node->node);
    sw_step();
    *root = tree.root;
    sh->entries--;

    ngx_http_slidewin_zone_changing(sh, NGX_HTTP_SLIDEWIN_CHANGING_LISTS);

    ngx_http_slidewin_link_remove(op->zone->shpool, &node->lru);
    ngx_http_slidewin_zone_expiry_remove(op, node);

    if (ngx_http_slidewin_node_is_scheduled(node)) {
        ngx_queue_remove(&ngx_http_slidewin_node_memo(node)->queue);
    }
}


void
ngx_http_slidewin_zone_tree_insert(ngx_http_slidewin_shctx_t *sh,
    ngx_http_slidewin_node_t *node)
{
    ngx_rbtree_t         tree;
    ngx_rbtree_node_t  **root;

    root = ngx_http_slidewin_zone_tree_get(sh, (uint32_t) node->node.key,
                                           &tree);

    ngx_rbtree_insert(&tree, &node->node);
    sw_step();
    *root = tree.root;
    sh->entries++;
}


ngx_rbtree_node_t **
ngx_http_slidewin_zone_tree_get(ngx_http_slidewin_shctx_t *sh, uint32_t hash,
    ngx_rbtree_t *tree)
{
    ngx_rbtree_node_t  **root;

    root = &sh->roots[hash & (sh->trees - 1)];

    tree->root = *root;
    tree->sentinel = &sh->sentinel;
    tree->insert = ngx_http_slidewin_zone_tree_insert_value;

    return root;
}


static void
ngx_http_slidewin_zone_tree_insert_value(ngx_rbtree_node_t *temp,
    ngx_rbtree_node_t *node, ngx_rbtree_node_t *sentinel)
{
    ngx_int_t                  rc;
    ngx_rbtree_node_t        **p;
    ngx_http_slidewin_node_t  *swn;

    swn = (ngx_http_slidewin_node_t *) node;

    for ( ;; ) {

        if (node->key != temp->key) {
            rc = (node->key < temp->key) ? -1 : 1;

        } else {
            rc = ngx_http_slidewin_zone_tree_compare(node->data, swn->key,
                                                     temp);
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
