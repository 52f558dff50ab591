
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_ban.h"
#include "ngx_http_slidewin_cache.h"
#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_delay.h"
#include "ngx_http_slidewin_delay_queue.h"
#include "ngx_http_slidewin_refund.h"
#include "ngx_http_slidewin_report.h"


/* a rule for bans is that of a policy */

#define ngx_http_slidewin_policy_of_ban(rule)                                 \
    ((ngx_http_slidewin_policy_t *)                                           \
         ((u_char *) (rule) - offsetof(ngx_http_slidewin_policy_t, ban)))


/*
 * A call that begins a ban has a claim of its own: that of the entry keeps what
 * was decided.
 */

struct ngx_http_slidewin_ban_s {
    ngx_http_slidewin_claim_t     claim;
    ngx_http_slidewin_claim_t    *claims[1];
    ngx_http_slidewin_claim_t   **call_claims;
    ngx_http_slidewin_entry_t    *entry;
};


static void ngx_http_slidewin_ban_abandon(ngx_http_slidewin_ctx_t *ctx);
static void ngx_http_slidewin_ban_began(void *data,
    ngx_http_slidewin_claim_t *claim);


void
ngx_http_slidewin_ban_init(void)
{
    ngx_http_slidewin_ctx_abandon = ngx_http_slidewin_ban_abandon;
}


/* a dry run does not wait, but tells whether its request could have waited */

void
ngx_http_slidewin_ban_claim(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry)
{
    ngx_http_slidewin_claim_t  *claim;

    claim = &entry->claim;

    claim->ban = &entry->policy->ban;
    claim->dry_ban = claim->dry_run;
    ctx->has_bans = 1;

    claim->begins_ban = 1;
    claim->may_wait = ngx_http_slidewin_delay_left(entry);
}


ngx_uint_t
ngx_http_slidewin_ban_known(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry)
{
    ngx_http_slidewin_call_t    call;
    ngx_http_slidewin_claim_t   claim, *claims[2];

    if (!entry->store->local) {

        if (!ngx_http_slidewin_cache_denies(entry->policy, entry->store,
                                            &entry->claim))
        {
            return 0;
        }

        entry->source = NGX_HTTP_SLIDEWIN_SOURCE_DENY_CACHE;
        return 1;
    }

    /* take will tell, unless the request would queue and ask nothing */

    if (!ngx_http_slidewin_delay_queued(entry->policy)) {
        return 0;
    }

    claim = entry->claim;
    claim.begins_ban = 0;
    claims[0] = &claim;

    ngx_memzero(&call, sizeof(ngx_http_slidewin_call_t));

    call.claims = claims;
    call.n = 1;
    call.log = ctx->call.log;

    if (entry->store->backend->peek(entry->store, &call) != NGX_OK
        || claim.banned == 0)
    {
        return 0;
    }

    entry->claim.verdict = claim.verdict;
    entry->claim.banned = claim.banned;
    entry->claim.ban_began = 0;

    return 1;
}


/*
 * A ban that is remembered was learned before.  A queue of a banned client has
 * nothing to wait for.
 */

void
ngx_http_slidewin_ban_outcome(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_http_slidewin_claim_t   *claim;
    ngx_http_slidewin_entry_t   *entry;
    ngx_http_slidewin_policy_t  *policy;

    for (entry = *ctx->pass; entry; entry = entry->next) {
        claim = &entry->claim;
        policy = entry->policy;

        if (claim->ban == NULL || claim->dry_ban
            || !ngx_http_slidewin_entry_has_verdict(entry)
            || entry->source == NGX_HTTP_SLIDEWIN_SOURCE_DENY_CACHE
            || entry->source == NGX_HTTP_SLIDEWIN_SOURCE_LEASE)
        {
            continue;
        }

        ngx_http_slidewin_ban_list(policy, entry->store, claim,
                                   entry->asked_at);

        if (claim->ban_began) {
            ngx_http_slidewin_stats_count(&policy->counters->bans, 1);
        }

        if (claim->banned) {
            ngx_http_slidewin_delay_wake(policy, &claim->key);

            if (!entry->store->local) {
                ngx_http_slidewin_cache_ban(policy, claim);
            }
        }
    }
}


/*
 * Shared memory has told of a ban when it began, but the list may be younger.
 * A remote store may tell of one that began elsewhere.  What is told later has
 * no length.
 *
 * A fallback tells of its own bans: it does not know those of the store whose
 * place it takes.
 */

void
ngx_http_slidewin_ban_list(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t *claim,
    int64_t asked_at)
{
    if (claim->banned == 0) {

        if (store == policy->store) {
            ngx_http_slidewin_bans_not_banned(policy->bans, &claim->key,
                                              asked_at);
        }

    } else if (claim->ban_began || !store->local
               || !ngx_http_slidewin_bans_may_have(policy->bans, &claim->key))
    {
        ngx_http_slidewin_bans_insert(policy->bans, &claim->key, claim->banned,
                                      claim->ban_began ? claim->banned : 0);
    }
}


/*
 * A store knows neither the queue of a client, nor whether the request may join
 * it.  One call for each: only the first rejection of a client comes here.
 */

ngx_int_t
ngx_http_slidewin_ban_begin(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_int_t                   rc;
    ngx_http_slidewin_ban_t    *ban;
    ngx_http_slidewin_entry_t  *entry;

    for (entry = *ctx->pass; entry; entry = entry->next) {

        if (!entry->ban_deferred || !entry->wait_refused
            || entry->claim.banned || entry->superseded)
        {
            continue;
        }

        entry->ban_deferred = 0;

        /* the client may leave before the answer */

        ngx_http_slidewin_pass_refund(ctx, ctx->rejected);

        ban = ctx->ban;

        if (ban == NULL) {
            ban = ngx_palloc(ctx->request->pool,
                             sizeof(ngx_http_slidewin_ban_t));
            if (ban == NULL) {
                return NGX_OK;
            }

            ctx->ban = ban;
        }

        ban->entry = entry;
        ban->claim = entry->claim;
        ban->claim.cost = SW_BAN_COST;
        ban->claim.prefetch = 0;
        ban->claim.begins_ban = 1;
        ban->claim.may_wait = 0;
        ban->claim.refund_if_left = 0;
        ban->claims[0] = &ban->claim;
        ban->call_claims = ctx->call.claims;

        ctx->call.claims = ban->claims;
        ctx->call.n = 1;
        ctx->call.on_reject = NULL;
        ctx->call.asked_at = ngx_http_slidewin_clock_us();
        ctx->call.decided_at = 0;

        ngx_log_debug1(NGX_LOG_DEBUG_HTTP, ctx->call.log, 0,
                       "slidewin ban: zone:%V begins", &entry->policy->name);

        rc = entry->store->backend->take(entry->store, &ctx->call);

        if (rc == NGX_AGAIN) {
            ctx->pending = entry->store;
            ctx->ban_pending = 1;
            return NGX_AGAIN;
        }

        ngx_http_slidewin_ban_done(ctx, rc);
    }

    return NGX_OK;
}


/* without an answer there is no ban: the next rejection begins one */

void
ngx_http_slidewin_ban_done(ngx_http_slidewin_ctx_t *ctx, ngx_int_t rc)
{
    ngx_http_slidewin_ban_t    *ban;
    ngx_http_slidewin_claim_t  *claim;
    ngx_http_slidewin_entry_t  *entry;

    ban = ctx->ban;
    entry = ban->entry;
    claim = &entry->claim;

    ctx->ban_pending = 0;
    ctx->call.claims = ban->call_claims;

    if (rc != NGX_OK || ban->claim.banned == 0) {
        return;
    }

    claim->banned = ban->claim.banned;
    claim->ban_began = ban->claim.ban_began;

    sw_ban_verdict(ngx_http_slidewin_entry_verdict(entry), claim->banned);

    if (!entry->store->local) {
        ngx_http_slidewin_cache_update(entry->policy, entry->store, claim,
                                       ctx->call.asked_at);
    }
}


/* a client that does not wait for the answer is banned all the same */

static void
ngx_http_slidewin_ban_abandon(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_uint_t                        i;
    ngx_http_slidewin_entry_t        *entry;
    ngx_http_slidewin_report_left_t  *left;

    /* bans that the answers so far have told of */

    for (entry = *ctx->pass; entry; entry = entry->next) {

        if (!entry->claim.ban_began) {
            continue;
        }

        for (i = 0; i < ctx->call.n; i++) {
            if (ctx->call.claims[i] == &entry->claim) {
                break;
            }
        }

        if (i < ctx->call.n) {
            continue;
        }

        left = ngx_http_slidewin_report_leave(ctx->request);

        if (left) {
            ngx_http_slidewin_ban_began(left, &entry->claim);
            ngx_free(left);
        }
    }

    left = NULL;

    for (i = 0; i < ctx->call.n; i++) {
        if (ctx->call.claims[i]->begins_ban) {
            left = ngx_http_slidewin_report_leave(ctx->request);
            break;
        }
    }

    ngx_http_slidewin_abandon(ctx->pending, &ctx->call,
                              ngx_http_slidewin_ban_began, left);
}


static void
ngx_http_slidewin_ban_began(void *data, ngx_http_slidewin_claim_t *claim)
{
    ngx_http_slidewin_policy_t  *policy;

    policy = ngx_http_slidewin_policy_of_ban(claim->ban);

    ngx_http_slidewin_report_left(data, policy, claim);

    if (claim->dry_ban) {
        return;
    }

    ngx_http_slidewin_bans_insert(policy->bans, &claim->key, claim->banned,
                                  claim->banned);
    ngx_http_slidewin_stats_count(&policy->counters->bans, 1);
    ngx_http_slidewin_delay_wake(policy, &claim->key);
    ngx_http_slidewin_cache_ban(policy, claim);
}
