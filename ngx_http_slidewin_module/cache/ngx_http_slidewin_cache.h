
/*
 * What saves a call to a remote store: rejections that are remembered, and
 * leased units, both in the zone of the policy.
 *
 * The store is that of the claim, not of the policy: on_error may have fallen
 * back on shared memory.
 */


#ifndef _NGX_HTTP_SLIDEWIN_CACHE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_CACHE_H_INCLUDED_


#include "ngx_http_slidewin_conf.h"
#include "ngx_http_slidewin_refund.h"


/* whether the deny cache rejects the claim; then its verdict is set */
ngx_uint_t ngx_http_slidewin_cache_denies(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t *claim);

/*
 * Whether a lease admits the claim; then its verdict is set, and it is counted.
 * If not, claim->prefetch is what the store is to be asked for as well.
 */
ngx_uint_t ngx_http_slidewin_cache_take_lease(
    ngx_http_slidewin_policy_t *policy, ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim);

/*
 * The same after the store has rejected the claim: a lease may have been
 * refilled meanwhile, and its units may be why the store rejects.
 */
ngx_uint_t ngx_http_slidewin_cache_take_lease_after_reject(
    ngx_http_slidewin_policy_t *policy, ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim);

/*
 * Whether a rejection by the store, asked at that time, in us, still holds as
 * far as this machine knows.
 */
ngx_uint_t ngx_http_slidewin_cache_confirm_reject(
    ngx_http_slidewin_policy_t *policy, ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim, int64_t asked_at);

/* the verdict of the store, asked at that time, in us */
void ngx_http_slidewin_cache_update(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t *claim,
    int64_t asked_at);

/* whether the verdict of a peek could be set without asking the store */
ngx_uint_t ngx_http_slidewin_cache_peek(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t *claim);

/* the verdict of a peek at the store, asked at that time, in us */
void ngx_http_slidewin_cache_update_peek(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_claim_t *claim, int64_t asked_at);

/* refunds a counted claim, to its lease if it was leased, or to the store */
void ngx_http_slidewin_cache_refund(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t *claim,
    ngx_uint_t leased, ngx_http_slidewin_detached_pt done, void *data);

/*
 * Counts the cost of a claim, whether there is room or not: leased units first,
 * the rest in the store.
 */
void ngx_http_slidewin_cache_charge(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_detached_pt done, void *data);

/* the client is banned: it has no use for leased units */
void ngx_http_slidewin_cache_ban(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_claim_t *claim);

/* forgets rejections and leased units of a client that is reset */
void ngx_http_slidewin_cache_purge(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_claim_t *claim);


#endif /* _NGX_HTTP_SLIDEWIN_CACHE_H_INCLUDED_ */
