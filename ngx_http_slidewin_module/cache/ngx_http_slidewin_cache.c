
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_cache.h"
#include "ngx_http_slidewin_charge.h"
#include "ngx_http_slidewin_deny_cache.h"
#include "ngx_http_slidewin_lease.h"


/* between two peeks at a client in Redis that only make Retry-After longer */
#define NGX_HTTP_SLIDEWIN_CACHE_PEEK_PERIOD  1000    /* ms */


static ngx_uint_t ngx_http_slidewin_cache_take(
    ngx_http_slidewin_policy_t *policy, ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim, int64_t percent);
static ngx_uint_t ngx_http_slidewin_cache_applies(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t *claim);


ngx_uint_t
ngx_http_slidewin_cache_denies(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t *claim)
{
    return policy->deny_cache && ngx_http_slidewin_cache_applies(store, claim)
           && ngx_http_slidewin_deny_cache_lookup(claim);
}


ngx_uint_t
ngx_http_slidewin_cache_take_lease(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t *claim)
{
    return ngx_http_slidewin_cache_take(policy, store, claim, policy->lease);
}


ngx_uint_t
ngx_http_slidewin_cache_take_lease_after_reject(
    ngx_http_slidewin_policy_t *policy, ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim)
{
    return ngx_http_slidewin_cache_take(policy, store, claim, 0);
}


static ngx_uint_t
ngx_http_slidewin_cache_take(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t *claim,
    int64_t percent)
{
    claim->prefetch = 0;

    return policy->lease && claim->cost > 0
           && ngx_http_slidewin_cache_applies(store, claim)
           && ngx_http_slidewin_lease_take(claim, store, percent);
}


ngx_uint_t
ngx_http_slidewin_cache_confirm_reject(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t *claim,
    int64_t asked_at)
{
    if (ngx_http_slidewin_deny_cache_invalidated(claim, asked_at)) {
        return 0;
    }

    /* a request of a policy with leases may still find one */

    if (policy->lease == 0) {
        ngx_http_slidewin_cache_update(policy, store, claim, asked_at);
    }

    return 1;
}


void
ngx_http_slidewin_cache_update(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t *claim,
    int64_t asked_at)
{
    if (!ngx_http_slidewin_cache_applies(store, claim)) {
        return;
    }

    if (!claim->verdict.admitted) {
        if (policy->deny_cache) {
            ngx_http_slidewin_deny_cache_insert(claim, asked_at,
                                                policy->deny_cache);
        }

        return;
    }

    if (policy->lease && claim->counted) {

        /* requests that were rejected may use the prefetched units */

        if (policy->deny_cache && claim->prefetch) {
            ngx_http_slidewin_deny_cache_invalidate(claim);
        }

        ngx_http_slidewin_lease_refill(claim, store, asked_at / 1000);
    }
}


ngx_uint_t
ngx_http_slidewin_cache_peek(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t *claim)
{
    if (claim->ban && policy->deny_cache
        && ngx_http_slidewin_deny_cache_lookup(claim))
    {
        return 1;
    }

    if (policy->lease && claim->cost > 0
        && ngx_http_slidewin_lease_take(claim, store, 0))
    {
        (void) ngx_http_slidewin_lease_put_back(claim, store);

        claim->verdict.admitted = 1;
        return 1;
    }

    return ngx_http_slidewin_deny_cache_known(claim,
                                        NGX_HTTP_SLIDEWIN_CACHE_PEEK_PERIOD);
}


void
ngx_http_slidewin_cache_update_peek(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_claim_t *claim, int64_t asked_at)
{
    ngx_http_slidewin_deny_cache_insert(claim, asked_at, policy->deny_cache);
}


void
ngx_http_slidewin_cache_refund(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t *claim,
    ngx_uint_t leased, ngx_http_slidewin_detached_pt done, void *data)
{
    /* the client has more units than a remembered rejection knows of */

    if (!policy->store->local) {
        ngx_http_slidewin_deny_cache_invalidate(claim);
    }

    if (leased && ngx_http_slidewin_lease_put_back(claim, store)) {
        ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                       "slidewin refund: lease zone:%V units:%L",
                       &claim->name, claim->cost);

        claim->counted = 0;

        ngx_http_slidewin_detached_result(done, data, NGX_OK, 1);
        return;
    }

    ngx_http_slidewin_refund(store, claim, done, data);
}


void
ngx_http_slidewin_cache_charge(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_detached_pt done, void *data)
{
    if (policy->lease && ngx_http_slidewin_cache_applies(store, claim)) {
        claim->cost -= ngx_http_slidewin_lease_take_part(claim, store);

        if (claim->cost == 0) {
            ngx_http_slidewin_detached_result(done, data, NGX_OK, 1);
            return;
        }

        /* units that are put back later must not pass requests in a debt */

        ngx_http_slidewin_lease_void(claim, store);
    }

    /* the client waits longer than a remembered rejection knows of */

    if (!store->local) {
        ngx_http_slidewin_deny_cache_invalidate(claim);
    }

    ngx_http_slidewin_charge(store, claim, done, data);
}


void
ngx_http_slidewin_cache_ban(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_claim_t *claim)
{
    if (policy->lease) {
        ngx_http_slidewin_lease_void(claim, policy->store);
    }
}


void
ngx_http_slidewin_cache_purge(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_claim_t *claim)
{
    ngx_http_slidewin_deny_cache_invalidate(claim);

    if (policy->lease) {
        ngx_http_slidewin_lease_forget(claim);
    }
}


/*
 * A peek counts nothing, and a dry run is to tell what the store would do.  A
 * ban rejects peeks as well.
 */

static ngx_uint_t
ngx_http_slidewin_cache_applies(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim)
{
    return !store->local && !claim->dry_run && (claim->cost > 0 || claim->ban);
}
