
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_delay_prefetch.h"
#include "ngx_http_slidewin_delay_queue.h"


static ngx_uint_t ngx_http_slidewin_delay_prefetch_for(
    ngx_http_slidewin_call_t *call, ngx_http_slidewin_ctx_t *ctx);
static ngx_uint_t ngx_http_slidewin_delay_remote_claims(
    ngx_http_slidewin_ctx_t *ctx);
static ngx_http_slidewin_claim_t *ngx_http_slidewin_delay_find_claim(
    ngx_http_slidewin_claim_t **claims, ngx_uint_t n,
    ngx_http_slidewin_entry_t *entry);


/*
 * Requests that claim other policies as well, or in several remote stores, send
 * their own call.  A policy with a lease prefetches into the lease.
 */

void
ngx_http_slidewin_delay_prefetch(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_store_t *store)
{
    ngx_uint_t                        i;
    ngx_queue_t                      *q;
    ngx_http_slidewin_entry_t        *entry;
    ngx_http_slidewin_waiter_t       *waiter;
    ngx_http_slidewin_delay_queue_t  *queue;

    for (i = 0; i < ctx->call.n; i++) {
        entry = (ngx_http_slidewin_entry_t *) ctx->call.claims[i];

        if (entry->policy->lease || entry->claim.dry_run) {
            return;
        }

        entry->claim.prefetch = 0;
    }

    queue = ctx->waiter->queue;

    if (store->local
        || ctx->call.n != ngx_http_slidewin_delay_remote_claims(ctx)
        || ctx->waiter != ngx_http_slidewin_delay_queue_head(queue))
    {
        return;
    }

    for (q = ngx_queue_next(&ctx->waiter->link);
         q != ngx_queue_sentinel(&queue->waiters);
         q = ngx_queue_next(q))
    {
        waiter = ngx_queue_data(q, ngx_http_slidewin_waiter_t, link);

        if (!ngx_http_slidewin_delay_prefetch_for(&ctx->call,
                                                  waiter->timer.data))
        {
            return;
        }
    }
}


/* adds the units of another request, if the call asks for all its claims */

static ngx_uint_t
ngx_http_slidewin_delay_prefetch_for(ngx_http_slidewin_call_t *call,
    ngx_http_slidewin_ctx_t *ctx)
{
    ngx_http_slidewin_claim_t  *claim;
    ngx_http_slidewin_entry_t  *entry;

    if (ngx_http_slidewin_delay_remote_claims(ctx) != call->n) {
        return 0;
    }

    for (entry = *ctx->pass; entry; entry = entry->next) {
        if (!entry->decided && !entry->store->local
            && ngx_http_slidewin_delay_find_claim(call->claims, call->n, entry)
               == NULL)
        {
            return 0;
        }
    }

    for (entry = *ctx->pass; entry; entry = entry->next) {

        if (entry->decided || entry->store->local) {
            continue;
        }

        claim = ngx_http_slidewin_delay_find_claim(call->claims, call->n,
                                                   entry);

        claim->prefetch = ngx_min(claim->prefetch + entry->claim.cost,
                                  claim->rule.limit);
    }

    return 1;
}


/* how many undecided claims a remote store decides */

static ngx_uint_t
ngx_http_slidewin_delay_remote_claims(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_uint_t                  n;
    ngx_http_slidewin_entry_t  *entry;

    n = 0;

    for (entry = *ctx->pass; entry; entry = entry->next) {
        n += (!entry->decided && !entry->store->local);
    }

    return n;
}


/* the claim of the same client, zone and rule as the entry's; NULL: none */

static ngx_http_slidewin_claim_t *
ngx_http_slidewin_delay_find_claim(ngx_http_slidewin_claim_t **claims,
    ngx_uint_t n, ngx_http_slidewin_entry_t *entry)
{
    ngx_uint_t   i;
    ngx_str_t   *key;
    sw_rule_t   *one, *two;

    key = &entry->claim.key;
    two = &entry->claim.rule;

    for (i = 0; i < n; i++) {
        one = &claims[i]->rule;

        if (claims[i]->zone == entry->claim.zone && !entry->claim.dry_run
            && one->algorithm == two->algorithm && one->slices == two->slices
            && one->limit == entry->quota && one->window == two->window
            && claims[i]->key.len == key->len
            && ngx_memcmp(claims[i]->key.data, key->data, key->len) == 0)
        {
            return claims[i];
        }
    }

    return NULL;
}


/*
 * The store may have decided the head's call together with calls of requests
 * that are in no queue: the request that gets the prefetched units hands them
 * to the head.
 */

void
ngx_http_slidewin_delay_grant(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_uint_t                        i;
    ngx_http_slidewin_entry_t        *entry;
    ngx_http_slidewin_grant_t        *grant;
    ngx_http_slidewin_store_t        *store;
    ngx_http_slidewin_delay_queue_t  *queue;

    queue = ctx->waiter ? ctx->waiter->queue : NULL;
    store = NULL;

    for (i = 0; i < ctx->call.n; i++) {
        entry = (ngx_http_slidewin_entry_t *) ctx->call.claims[i];

        (void) ngx_http_slidewin_entry_verdict(entry);

        store = entry->store;

        if (queue == NULL) {
            queue = ngx_http_slidewin_delay_queue_find(entry->policy,
                                                       &entry->claim.key);
        }
    }

    grant = NULL;

    if (queue && queue->grant == NULL) {
        grant = ngx_http_slidewin_delay_create_grant(store, &ctx->call);
        queue->grant = grant;
    }

    for (i = 0; i < ctx->call.n; i++) {
        if (grant == NULL) {
            ngx_http_slidewin_delay_refund_prefetch(store,
                                                    ctx->call.claims[i]);
        }

        ctx->call.claims[i]->prefetch = 0;
    }

    if (grant && ctx->waiter == NULL) {
        ngx_http_slidewin_delay_wake_head(queue);
    }
}


ngx_uint_t
ngx_http_slidewin_delay_granted(ngx_http_slidewin_ctx_t *ctx)
{
    int64_t                           left;
    ngx_uint_t                        i;
    ngx_http_slidewin_claim_t        *claim;
    ngx_http_slidewin_entry_t        *entry;
    ngx_http_slidewin_grant_t        *grant;
    ngx_http_slidewin_delay_queue_t  *queue;

    queue = ctx->waiter->queue;
    grant = queue->grant;

    if (grant == NULL
        || ctx->waiter != ngx_http_slidewin_delay_queue_head(queue))
    {
        return 0;
    }

    for (entry = *ctx->pass; entry; entry = entry->next) {

        if (entry->decided || entry->store->local) {
            continue;
        }

        claim = ngx_http_slidewin_delay_find_claim(grant->claims, grant->n,
                                                   entry);

        if (claim == NULL || claim->prefetch < entry->claim.cost) {
            ngx_http_slidewin_delay_revoke_grant(queue);
            return 0;
        }
    }

    for (entry = *ctx->pass; entry; entry = entry->next) {

        if (entry->decided || entry->store->local) {
            continue;
        }

        claim = ngx_http_slidewin_delay_find_claim(grant->claims, grant->n,
                                                   entry);

        claim->prefetch -= entry->claim.cost;
        claim->verdict.remaining -= entry->claim.cost;
        claim->verdict.level += entry->claim.cost * claim->verdict.scale;

        entry->claim.rule.limit = entry->quota;
        entry->claim.verdict = claim->verdict;
        entry->claim.counted = 1;
        entry->claim.prefetch = 0;
    }

    left = 0;

    for (i = 0; i < grant->n; i++) {
        left += grant->claims[i]->prefetch;
    }

    if (left == 0) {
        ngx_http_slidewin_delay_revoke_grant(queue);
    }

    return 1;
}
