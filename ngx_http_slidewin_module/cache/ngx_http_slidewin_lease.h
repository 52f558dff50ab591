
/*
 * Leases: units that are prefetched for clients that ask often, and refunded if
 * they are not used in time.  All workers share them.
 */


#ifndef _NGX_HTTP_SLIDEWIN_LEASE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_LEASE_H_INCLUDED_


#include "ngx_http_slidewin_conf.h"


/*
 * Whether the claim could be counted from the client's lease.  If not, the
 * store is to be asked for the claim and claim->prefetch units more: at most
 * percent of the limit, and none with a percent of 0.
 */
ngx_uint_t ngx_http_slidewin_lease_take(ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_store_t *store, int64_t percent);

/* counts as much of the claim as the client's lease has; how much that was */
int64_t ngx_http_slidewin_lease_take_part(ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_store_t *store);

/*
 * The store, asked at that time, in ms, has counted the claim and
 * claim->prefetch units, which become the client's lease.
 */
void ngx_http_slidewin_lease_refill(ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_store_t *store, int64_t asked_at);

/* whether a claim that was counted from a lease could be put back there */
ngx_uint_t ngx_http_slidewin_lease_put_back(ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_store_t *store);

/* the client is reset: the units of its lease are not counted any more */
void ngx_http_slidewin_lease_forget(ngx_http_slidewin_claim_t *claim);

/* the client may not use its lease any more: what is left of it goes back */
void ngx_http_slidewin_lease_void(ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_store_t *store);

/* a worker's timer, which refunds what is left of leases that have ended */
void ngx_http_slidewin_lease_start(ngx_http_slidewin_policy_t *policy);
void ngx_http_slidewin_lease_stop(ngx_http_slidewin_policy_t *policy);


#endif /* _NGX_HTTP_SLIDEWIN_LEASE_H_INCLUDED_ */
