
/*
 * Memory of a zone.  If there is none left, nodes that expired make room, then
 * the least recently used.  All with the lock held.
 *
 * On success the zone is left as changing its memory, until the caller has put
 * the memory to use.
 */


#ifndef _NGX_HTTP_SLIDEWIN_ZONE_ALLOC_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_ZONE_ALLOC_H_INCLUDED_


#include "ngx_http_slidewin_zone_node.h"


/* a node of that many bytes with the key of the operation, in no tree yet */
ngx_http_slidewin_node_t *ngx_http_slidewin_zone_alloc_node(
    ngx_http_slidewin_zone_op_t *op, size_t size, int64_t now);

/* a ring of that many bytes for the log of the node, which is not evicted */
void *ngx_http_slidewin_zone_alloc_ring(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node, size_t size, int64_t now);


#endif /* _NGX_HTTP_SLIDEWIN_ZONE_ALLOC_H_INCLUDED_ */
