
/*
 * The order in which the nodes of a zone expire: when a counter counts nothing
 * any more, when a memo is useless.  All with the lock held.
 */


#ifndef _NGX_HTTP_SLIDEWIN_ZONE_EXPIRY_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_ZONE_EXPIRY_H_INCLUDED_


#include "ngx_http_slidewin_zone_node.h"


void ngx_http_slidewin_zone_expiry_clear(ngx_slab_pool_t *pool,
    ngx_http_slidewin_shctx_t *sh);

void ngx_http_slidewin_zone_expiry_insert(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node);
void ngx_http_slidewin_zone_expiry_remove(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node);

/* to its new position after its end has changed */
void ngx_http_slidewin_zone_expiry_move(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node);

/* to be called when a memo's end has changed, or whether it is scheduled */
void ngx_http_slidewin_zone_expiry_update_memo(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_memo_t *memo);

/* a node that has expired, or NULL; now is that of the clock */
ngx_http_slidewin_node_t *ngx_http_slidewin_zone_expiry_expired(
    ngx_http_slidewin_zone_op_t *op, int64_t now);


/*
 * To be called when a state was changed.  A state that counts on in the same
 * window, or slice, keeps its end.
 */

static ngx_inline void
ngx_http_slidewin_zone_expiry_update(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node)
{
    if (sw_state_end(&node->state) != (int64_t) node->expiry.at) {
        ngx_http_slidewin_zone_expiry_move(op, node);
    }
}


#if (NGX_HTTP_SLIDEWIN_TEST)

/* how many nodes are in the right position */
ngx_uint_t ngx_http_slidewin_zone_expiry_verify(ngx_slab_pool_t *pool,
    ngx_http_slidewin_shctx_t *sh);

#endif


#endif /* _NGX_HTTP_SLIDEWIN_ZONE_EXPIRY_H_INCLUDED_ */
