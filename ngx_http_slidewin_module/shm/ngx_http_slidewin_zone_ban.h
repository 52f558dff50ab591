
/*
 * Bans of the local store: a node for each client that was banned, beside its
 * counter.  All with the lock held; times are those of the clock, in ms.
 */


#ifndef _NGX_HTTP_SLIDEWIN_ZONE_BAN_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_ZONE_BAN_H_INCLUDED_


#include "ngx_http_slidewin_zone.h"


/* sets what is left of the ban of the claim's client */
void ngx_http_slidewin_zone_ban_lookup(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_claim_t *claim, int64_t now);

/*
 * The claim is rejected: its client is banned from now on.  If there is no
 * memory it is not.  Other nodes may have to make room.
 */
void ngx_http_slidewin_zone_ban_begin(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_claim_t *claim, int64_t now);

/* that of the claim's client; of a dry run, that of dry runs alone */
void ngx_http_slidewin_zone_ban_remove(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_claim_t *claim);


#endif /* _NGX_HTTP_SLIDEWIN_ZONE_BAN_H_INCLUDED_ */
