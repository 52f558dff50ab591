
/*
 * Repair of a zone that a worker was changing when it was killed.
 */


#ifndef _NGX_HTTP_SLIDEWIN_ZONE_REPAIR_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_ZONE_REPAIR_H_INCLUDED_


#include "ngx_http_slidewin_zone_node.h"


/* with the lock held, which the master has taken from the dead worker */
void ngx_http_slidewin_zone_repair(ngx_http_slidewin_zone_op_t *op);


#if (NGX_HTTP_SLIDEWIN_TEST)

/*
 * A client that counts is about to be evicted: alerts if another one has
 * expired, or if a node is not where it must be.
 */
void ngx_http_slidewin_zone_repair_verify(ngx_http_slidewin_zone_op_t *op,
    int64_t now);

/* kills this process with the lock held and the links in disorder */
void ngx_http_slidewin_zone_repair_test_crash(ngx_http_slidewin_zone_t *zone,
    ngx_uint_t all);

#endif


#endif /* _NGX_HTTP_SLIDEWIN_ZONE_REPAIR_H_INCLUDED_ */
