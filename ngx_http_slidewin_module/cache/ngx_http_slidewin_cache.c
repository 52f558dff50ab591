
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_cache.h"
#include "ngx_http_slidewin_deny_cache.h"
#include "ngx_http_slidewin_lease.h"
#include "ngx_http_slidewin_refund.h"


/* a Redis that need not be asked is not asked more often for a client */
#define NGX_HTTP_SLIDEWIN_EDGE_LOOK  1000    /* ms */


static ngx_uint_t ngx_http_slidewin_cache_take(
    ngx_http_slidewin_entry_t *entry, int64_t percent);
static ngx_uint_t ngx_http_slidewin_cache_applies(
    ngx_http_slidewin_entry_t *entry);


ngx_uint_t
ngx_http_slidewin_cache_denies(ngx_http_slidewin_entry_t *entry)
{
    if (!ngx_http_slidewin_cache_applies(entry)
        || entry->policy->deny_cache == 0
        || !ngx_http_slidewin_deny_cache_lookup(&entry->claim))
    {
        return 0;
    }

    entry->source = NGX_HTTP_SLIDEWIN_SOURCE_DENY_CACHE;

    return 1;
}


ngx_uint_t
ngx_http_slidewin_cache_take_lease(ngx_http_slidewin_entry_t *entry)
{
    return ngx_http_slidewin_cache_take(entry, entry->policy->lease);
}


ngx_uint_t
ngx_http_slidewin_cache_take_open_lease(ngx_http_slidewin_entry_t *entry)
{
    return ngx_http_slidewin_cache_take(entry, 0);
}


static ngx_uint_t
ngx_http_slidewin_cache_take(ngx_http_slidewin_entry_t *entry, int64_t percent)
{
    entry->claim.prefetch = 0;

    if (!ngx_http_slidewin_cache_applies(entry) || entry->policy->lease == 0
        || !ngx_http_slidewin_lease_take(&entry->claim, entry->store,
                                         percent))
    {
        return 0;
    }

    entry->source = NGX_HTTP_SLIDEWIN_SOURCE_LEASE;

    return 1;
}


/* where there are leases, the request may still find one */

ngx_uint_t
ngx_http_slidewin_cache_confirm_reject(ngx_http_slidewin_entry_t *entry,
    int64_t asked)
{
    if (ngx_http_slidewin_deny_cache_invalidated(&entry->claim, asked)) {
        return 0;
    }

    if (entry->policy->lease == 0) {
        ngx_http_slidewin_cache_update(entry, asked);
    }

    return 1;
}


void
ngx_http_slidewin_cache_update(ngx_http_slidewin_entry_t *entry, int64_t asked)
{
    ngx_http_slidewin_policy_t  *policy;

    policy = entry->policy;

    if (!ngx_http_slidewin_cache_applies(entry)) {
        return;
    }

    if (!entry->claim.verdict.admitted) {
        if (policy->deny_cache) {
            ngx_http_slidewin_deny_cache_insert(&entry->claim, asked,
                                                policy->deny_cache);
        }

        return;
    }

    if (policy->lease && entry->claim.counted) {

        /* who was refused because of what was taken ahead is so no more */

        if (policy->deny_cache && entry->claim.prefetch) {
            ngx_http_slidewin_deny_cache_invalidate(&entry->claim);
        }

        ngx_http_slidewin_lease_refill(&entry->claim, entry->store,
                                       asked / 1000);
    }
}


ngx_uint_t
ngx_http_slidewin_cache_peek(ngx_http_slidewin_entry_t *entry,
    ngx_http_slidewin_claim_t *claim)
{
    if (entry->policy->lease
        && ngx_http_slidewin_lease_take(claim, entry->store, 0))
    {
        (void) ngx_http_slidewin_lease_put_back(claim, entry->store);

        claim->verdict.admitted = 1;
        return 1;
    }

    return ngx_http_slidewin_deny_cache_known(claim,
                                              NGX_HTTP_SLIDEWIN_EDGE_LOOK);
}


void
ngx_http_slidewin_cache_update_peek(ngx_http_slidewin_entry_t *entry,
    ngx_http_slidewin_claim_t *claim, int64_t asked)
{
    ngx_http_slidewin_deny_cache_insert(claim, asked,
                                        entry->policy->deny_cache);
}


/* there is more for the client than was known */

void
ngx_http_slidewin_cache_refund(ngx_http_slidewin_entry_t *entry)
{
    if (!entry->policy->store->local) {
        ngx_http_slidewin_deny_cache_invalidate(&entry->claim);
    }

    if (entry->source == NGX_HTTP_SLIDEWIN_SOURCE_LEASE
        && ngx_http_slidewin_lease_put_back(&entry->claim, entry->store))
    {
        entry->claim.counted = 0;
        return;
    }

    ngx_http_slidewin_refund(entry->store, &entry->claim);
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


/* a look counts nothing, and a dry run is to tell what there would be */

static ngx_uint_t
ngx_http_slidewin_cache_applies(ngx_http_slidewin_entry_t *entry)
{
    return !entry->store->local && !entry->claim.dry_run
           && entry->claim.cost > 0;
}
