
/*
 * Detached calls: refunds and resets that no request waits for.  A store may
 * answer them after the request has ended.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REFUND_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REFUND_H_INCLUDED_


#include "ngx_http_slidewin_backend.h"


/* uncounts a claim that was counted */
void ngx_http_slidewin_refund(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim);

/* clears the key of a claim, with all units that any request counted for it */
void ngx_http_slidewin_reset_key(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim);

/*
 * The request of a pending call leaves.  Units that the call will have counted
 * are refunded if their claim has refund_if_left; prefetched units always are.
 */
void ngx_http_slidewin_abandon(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call);


#endif /* _NGX_HTTP_SLIDEWIN_REFUND_H_INCLUDED_ */
