
/*
 * Charges: what requests have cost above what was reserved for them.  No
 * request waits for its charge.  While a remote store is asked to count one,
 * others of the same client and policy are added up, and are counted by the
 * next call: however many requests end at once, a client takes two calls.
 */


#ifndef _NGX_HTTP_SLIDEWIN_CHARGE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_CHARGE_H_INCLUDED_


#include "ngx_http_slidewin_refund.h"


/*
 * Counts the cost of a claim, whether there is room or not; without an answer
 * it may not be counted.  done and data are those of the policy.
 */
void ngx_http_slidewin_charge(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim, ngx_http_slidewin_detached_pt done,
    void *data);

/*
 * The client is to be cleared, with all that it was charged so far: a call that
 * waits for others must not come after that.
 */
void ngx_http_slidewin_charge_forget(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim);


#endif /* _NGX_HTTP_SLIDEWIN_CHARGE_H_INCLUDED_ */
