
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_refund.h"
#include "ngx_http_slidewin_deny_cache.h"
#include "ngx_http_slidewin_cache.h"
#include "ngx_http_slidewin_lease.h"


/* a Redis that need not be asked is not asked more often for a client */
#define NGX_HTTP_SLIDEWIN_EDGE_LOOK  1000    /* ms */


static ngx_uint_t ngx_http_slidewin_edge_take(
    ngx_http_slidewin_entry_t *entry, int64_t percent);
static ngx_uint_t ngx_http_slidewin_edge_concerns(
    ngx_http_slidewin_entry_t *entry);


ngx_uint_t
ngx_http_slidewin_edge_denies(ngx_http_slidewin_entry_t *entry)
{
    if (!ngx_http_slidewin_edge_concerns(entry)
        || entry->policy->deny_cache == 0
        || !ngx_http_slidewin_deny_recall(&entry->claim))
    {
        return 0;
    }

    entry->source = NGX_HTTP_SLIDEWIN_SOURCE_DENY_CACHE;

    return 1;
}


ngx_uint_t
ngx_http_slidewin_edge_leases(ngx_http_slidewin_entry_t *entry)
{
    return ngx_http_slidewin_edge_take(entry, entry->policy->lease);
}


ngx_uint_t
ngx_http_slidewin_edge_spares(ngx_http_slidewin_entry_t *entry)
{
    return ngx_http_slidewin_edge_take(entry, 0);
}


static ngx_uint_t
ngx_http_slidewin_edge_take(ngx_http_slidewin_entry_t *entry, int64_t percent)
{
    entry->claim.ahead = 0;

    if (!ngx_http_slidewin_edge_concerns(entry) || entry->policy->lease == 0
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
ngx_http_slidewin_edge_refused(ngx_http_slidewin_entry_t *entry, int64_t asked)
{
    if (ngx_http_slidewin_deny_outdated(&entry->claim, asked)) {
        return 0;
    }

    if (entry->policy->lease == 0) {
        ngx_http_slidewin_edge_learn(entry, asked);
    }

    return 1;
}


void
ngx_http_slidewin_edge_learn(ngx_http_slidewin_entry_t *entry, int64_t asked)
{
    ngx_http_slidewin_policy_t  *policy;

    policy = entry->policy;

    if (!ngx_http_slidewin_edge_concerns(entry)) {
        return;
    }

    if (!entry->claim.verdict.admitted) {
        if (policy->deny_cache) {
            ngx_http_slidewin_deny_remember(&entry->claim, asked,
                                            policy->deny_cache);
        }

        return;
    }

    if (policy->lease && entry->claim.counted) {

        /* who was refused because of what was taken ahead is so no more */

        if (policy->deny_cache && entry->claim.ahead) {
            ngx_http_slidewin_deny_forget(&entry->claim);
        }

        ngx_http_slidewin_lease_renew(&entry->claim, entry->store,
                                      asked / 1000);
    }
}


ngx_uint_t
ngx_http_slidewin_edge_knows(ngx_http_slidewin_entry_t *entry,
    ngx_http_slidewin_claim_t *claim)
{
    if (entry->policy->lease
        && ngx_http_slidewin_lease_take(claim, entry->store, 0))
    {
        (void) ngx_http_slidewin_lease_return(claim, entry->store);

        claim->verdict.admitted = 1;
        return 1;
    }

    return ngx_http_slidewin_deny_known(claim, NGX_HTTP_SLIDEWIN_EDGE_LOOK);
}


void
ngx_http_slidewin_edge_saw(ngx_http_slidewin_entry_t *entry,
    ngx_http_slidewin_claim_t *claim, int64_t asked)
{
    ngx_http_slidewin_deny_remember(claim, asked, entry->policy->deny_cache);
}


/* there is more for the client than was known */

void
ngx_http_slidewin_edge_give_back(ngx_http_slidewin_entry_t *entry)
{
    if (!entry->policy->store->local) {
        ngx_http_slidewin_deny_forget(&entry->claim);
    }

    if (entry->source == NGX_HTTP_SLIDEWIN_SOURCE_LEASE
        && ngx_http_slidewin_lease_return(&entry->claim, entry->store))
    {
        entry->claim.counted = 0;
        return;
    }

    ngx_http_slidewin_give_back(entry->store, &entry->claim);
}


void
ngx_http_slidewin_edge_forget(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_claim_t *claim)
{
    ngx_http_slidewin_deny_forget(claim);

    if (policy->lease) {
        ngx_http_slidewin_lease_forget(claim);
    }
}


/* a look counts nothing, and a dry run is to tell what there would be */

static ngx_uint_t
ngx_http_slidewin_edge_concerns(ngx_http_slidewin_entry_t *entry)
{
    return !entry->store->local && !entry->claim.dry_run
           && entry->claim.cost > 0;
}
