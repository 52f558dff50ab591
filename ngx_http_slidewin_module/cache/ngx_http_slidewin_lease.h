
/*
 * Units that were taken ahead of use for clients that ask often, and handed
 * back if they are not used in time.  All workers share them.
 */


#ifndef _NGX_HTTP_SLIDEWIN_LEASE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_LEASE_H_INCLUDED_


#include "ngx_http_slidewin_conf.h"


/*
 * Whether the claim could be counted from a lease, of so many percent of the
 * limit at most.  If not, the store is to be asked, and for what is ahead;
 * with no percent it is not.
 */
ngx_uint_t ngx_http_slidewin_lease_take(ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_store_t *store, int64_t percent);

/* the store has counted the claim, and what is ahead, asked at that time */
void ngx_http_slidewin_lease_refill(ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_store_t *store, int64_t asked);

/* whether a claim that was taken from a lease could be put back there */
ngx_uint_t ngx_http_slidewin_lease_put_back(ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_store_t *store);

void ngx_http_slidewin_lease_forget(ngx_http_slidewin_claim_t *claim);

/* a worker's: sees to leases that have ended, until it leaves */
void ngx_http_slidewin_lease_start(ngx_http_slidewin_policy_t *policy);
void ngx_http_slidewin_lease_stop(ngx_http_slidewin_policy_t *policy);


#endif /* _NGX_HTTP_SLIDEWIN_LEASE_H_INCLUDED_ */
