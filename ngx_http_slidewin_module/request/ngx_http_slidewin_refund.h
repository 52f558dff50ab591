
/*
 * Changes to what was counted that nobody waits for.  A store may be slower
 * than the request that made them.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REFUND_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REFUND_H_INCLUDED_


#include "ngx_http_slidewin_backend.h"


/* uncounts a claim that was counted */
void ngx_http_slidewin_refund(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim);

/* forgets the key of a claim, with all that anybody counted for it */
void ngx_http_slidewin_reset_key(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim);


/*
 * The request of a call that is under way leaves: what it will have counted is
 * given back if its claim is unwanted.
 */
void ngx_http_slidewin_abandon(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call);


#endif /* _NGX_HTTP_SLIDEWIN_REFUND_H_INCLUDED_ */
