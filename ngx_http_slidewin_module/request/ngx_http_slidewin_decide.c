
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_ban.h"
#include "ngx_http_slidewin_cache.h"
#include "ngx_http_slidewin_decide.h"
#include "ngx_http_slidewin_delay.h"
#include "ngx_http_slidewin_delay_prefetch.h"
#include "ngx_http_slidewin_module.h"
#include "ngx_http_slidewin_outage.h"


static void ngx_http_slidewin_decide_early(ngx_http_slidewin_ctx_t *ctx);
static ngx_uint_t ngx_http_slidewin_decide_queued(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry);
static ngx_http_slidewin_store_t *ngx_http_slidewin_decide_next_call(
    ngx_http_slidewin_ctx_t *ctx);
static ngx_http_slidewin_store_t *ngx_http_slidewin_decide_local_first(
    ngx_http_slidewin_ctx_t *ctx);
static ngx_uint_t ngx_http_slidewin_decide_lease_rescue(
    ngx_http_slidewin_ctx_t *ctx);
static void ngx_http_slidewin_entry_decided(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry);
static void ngx_http_slidewin_entry_on_error(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry, ngx_http_slidewin_store_t *fallback);
static void ngx_http_slidewin_entry_fail(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry, ngx_http_slidewin_source_e source);


void
ngx_http_slidewin_decide_begin(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_http_slidewin_entry_t  *entry;

    ctx->rejected = 0;
    ctx->undecided = 0;
    ctx->call.decided_at = 0;

    for (entry = *ctx->pass; entry; entry = entry->next) {

        if (entry->superseded) {
            continue;
        }

        ctx->undecided++;

        entry->decided = 0;
        entry->peeked = 0;
        entry->wait_refused = 0;
        entry->ban_deferred = 0;
        entry->store = entry->policy->store;
        entry->source = NGX_HTTP_SLIDEWIN_SOURCE_NONE;
        entry->quota = entry->rate;
        entry->claim.verdict.deferred = 0;

        if (entry->rate == 0) {
            ngx_http_slidewin_entry_on_error(ctx, entry, NULL);
        }
    }
}


ngx_int_t
ngx_http_slidewin_decide(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_int_t                   rc;
    ngx_http_slidewin_store_t  *store;

    while (ctx->undecided && !ctx->rejected) {

        ngx_http_slidewin_decide_early(ctx);

        if (ctx->rejected) {
            break;
        }

        store = ngx_http_slidewin_decide_next_call(ctx);

        if (store == NULL) {
            break;
        }

        ctx->call.asked_at = ctx->started;
        ctx->call.decided_at = 0;

        if (ctx->waiter) {
            ngx_http_slidewin_delay_prefetch(ctx, store);
        }

        ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ctx->call.log, 0,
                       "slidewin decide: %s store, claims:%ui",
                       store->local ? "local" : "remote", ctx->call.n);

        rc = store->backend->take(store, &ctx->call);

        if (rc == NGX_AGAIN) {
            ctx->pending = store;
            return NGX_AGAIN;
        }

        ngx_http_slidewin_decide_result(ctx, rc);
    }

    return NGX_OK;
}


/* all that is known before a store is asked, so that nothing counts in vain */

static void
ngx_http_slidewin_decide_early(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_http_slidewin_entry_t  *entry;

    if (ctx->waiter && ngx_http_slidewin_delay_granted(ctx)) {

        for (entry = *ctx->pass; entry; entry = entry->next) {
            if (!entry->decided && !entry->store->local) {
                ngx_http_slidewin_entry_decided(ctx, entry);
            }
        }
    }

    for (entry = *ctx->pass; entry; entry = entry->next) {

        if (entry->decided) {
            continue;
        }

        entry->claim.rule.limit = entry->quota;

        /* a banned client does not queue, whatever it waits for */

        if (entry->claim.ban && ngx_http_slidewin_ban_known(ctx, entry)) {
            ngx_http_slidewin_entry_decided(ctx, entry);
            continue;
        }

        if (ngx_http_slidewin_decide_queued(ctx, entry)) {
            if (entry->claim.ban) {
                entry->ban_deferred = 1;
                ctx->ban_deferred = 1;
            }

            ngx_http_slidewin_entry_decided(ctx, entry);
            continue;
        }

        if (entry->claim.ban && entry->deadline) {
            entry->claim.may_wait = ngx_http_slidewin_delay_left(entry);
        }

        /* a queued request asks the store: it waits for its rejection to end */

        if (entry->policy->deny_cache && ctx->waiter == NULL
            && entry->claim.ban == NULL
            && ngx_http_slidewin_cache_denies(entry->policy, entry->store,
                                              &entry->claim))
        {
            entry->source = NGX_HTTP_SLIDEWIN_SOURCE_DENY_CACHE;
            ngx_http_slidewin_entry_decided(ctx, entry);
        }
    }
}


/*
 * Requests that are queued for the client pass first, and until then no store
 * need be asked.  A cost of 0 counts nothing, a dry run delays no request, and
 * a cost above the limit never passes: these do not queue.
 */

static ngx_uint_t
ngx_http_slidewin_decide_queued(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry)
{
    int64_t        wait;
    sw_verdict_t  *verdict;

    if (!ngx_http_slidewin_delay_queued(entry->policy) || entry->claim.dry_run
        || entry->claim.cost == 0 || entry->claim.cost > entry->quota)
    {
        return 0;
    }

    wait = ngx_http_slidewin_delay_queue_wait(ctx, entry);

    if (wait == 0) {
        return 0;
    }

    verdict = &entry->claim.verdict;

    ngx_memzero(verdict, sizeof(sw_verdict_t));

    verdict->retry = wait;
    verdict->more = wait;
    verdict->reset = wait + entry->claim.rule.window;
    verdict->level = entry->quota;
    verdict->scale = 1;

    return 1;
}


/*
 * The undecided claims that a store can decide in one call; NULL if there are
 * none.  Claims that a lease admits are decided by the way.
 */

static ngx_http_slidewin_store_t *
ngx_http_slidewin_decide_next_call(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_uint_t                  shard, entry_shard;
    ngx_http_slidewin_entry_t  *entry;
    ngx_http_slidewin_store_t  *store;

    store = NULL;
    shard = 0;
    ctx->call.n = 0;

    if (ctx->undecided > 1) {
        store = ngx_http_slidewin_decide_local_first(ctx);
    }

    for (entry = *ctx->pass; entry; entry = entry->next) {

        if (entry->decided || (store && entry->store != store)) {
            continue;
        }

        entry_shard = entry->store->backend->shard
                          ? entry->store->backend->shard(entry->store,
                                                         &entry->claim)
                          : 0;

        if (store && entry_shard != shard) {
            continue;
        }

        if (entry->policy->lease
            && ngx_http_slidewin_cache_take_lease(entry->policy, entry->store,
                                                  &entry->claim))
        {
            entry->source = NGX_HTTP_SLIDEWIN_SOURCE_LEASE;
            ngx_http_slidewin_entry_decided(ctx, entry);
            continue;
        }

        store = entry->store;
        shard = entry_shard;
        ctx->call.claims[ctx->call.n++] = &entry->claim;
    }

    return store;
}


/* a claim that shared memory rejects needs no call to a remote store */

static ngx_http_slidewin_store_t *
ngx_http_slidewin_decide_local_first(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_http_slidewin_entry_t  *entry;

    for (entry = *ctx->pass; entry; entry = entry->next) {
        if (!entry->decided && entry->store->local) {
            return entry->store;
        }
    }

    return NULL;
}


void
ngx_http_slidewin_decide_result(ngx_http_slidewin_ctx_t *ctx, ngx_int_t rc)
{
    ngx_uint_t                      i, prefetched;
    ngx_http_slidewin_entry_t      *entry;
    ngx_http_slidewin_store_t      *fallback;
    ngx_http_slidewin_main_conf_t  *smcf;

    if (rc == NGX_OK && ngx_http_slidewin_decide_lease_rescue(ctx)) {
        return;
    }

    prefetched = 0;

    for (i = 0; i < ctx->call.n; i++) {
        entry = (ngx_http_slidewin_entry_t *) ctx->call.claims[i];

        if (entry->decided) {
            continue;
        }

        /* clients can make a store busy: on_error=open must not let them in */

        if (rc == NGX_BUSY) {
            ngx_http_slidewin_entry_fail(ctx, entry,
                                         NGX_HTTP_SLIDEWIN_SOURCE_FAIL_CLOSED);
            continue;
        }

        if (rc != NGX_OK) {
            if (!entry->store->local) {
                ngx_http_slidewin_outage_count(entry->policy);
            }

            smcf = ngx_http_get_module_main_conf(ctx->request,
                                                 ngx_http_slidewin_module);
            fallback = entry->store->local ? NULL : &smcf->local;

            ngx_http_slidewin_entry_on_error(ctx, entry, fallback);
            continue;
        }

        if (entry->claim.ban) {
            entry->asked_at = ctx->call.asked_at;

            if (entry->claim.may_wait && !entry->claim.dry_run
                && !entry->claim.verdict.admitted)
            {
                entry->ban_deferred = 1;
                ctx->ban_deferred = 1;
            }
        }

        ngx_http_slidewin_entry_decided(ctx, entry);

        if (!entry->store->local) {
            ngx_http_slidewin_cache_update(entry->policy, entry->store,
                                           &entry->claim, ctx->call.asked_at);
            ngx_http_slidewin_outage_decided(entry->policy);
        }

        prefetched |= (entry->claim.prefetch && !entry->policy->lease);
    }

    if (prefetched) {
        ngx_http_slidewin_delay_grant(ctx);
    }
}


/*
 * Whether leases admit all claims that the store has rejected.  The claims that
 * were asked together with them are not counted then: they stay undecided and
 * are asked anew.
 */

static ngx_uint_t
ngx_http_slidewin_decide_lease_rescue(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_uint_t                  i, rescued;
    ngx_http_slidewin_entry_t  *entry;

    rescued = 0;

    for (i = 0; i < ctx->call.n; i++) {
        entry = (ngx_http_slidewin_entry_t *) ctx->call.claims[i];

        if (entry->claim.verdict.admitted || entry->claim.dry_run) {
            continue;
        }

        if (entry->claim.ban && entry->claim.banned) {
            return 0;
        }

        if (!ngx_http_slidewin_cache_take_lease_after_reject(entry->policy,
                                                             entry->store,
                                                             &entry->claim))
        {
            return 0;
        }

        entry->source = NGX_HTTP_SLIDEWIN_SOURCE_LEASE;
        ngx_http_slidewin_entry_decided(ctx, entry);
        rescued = 1;
    }

    return rescued;
}


/* remembered here, so that requests read before the resume do not ask again */

ngx_uint_t
ngx_http_slidewin_decide_on_reject(ngx_http_slidewin_call_t *call)
{
    ngx_uint_t                  i;
    ngx_http_slidewin_entry_t  *entry;

    for (i = 0; i < call->n; i++) {
        entry = (ngx_http_slidewin_entry_t *) call->claims[i];

        if (!entry->claim.verdict.admitted
            && !ngx_http_slidewin_cache_confirm_reject(entry->policy,
                                                       entry->store,
                                                       &entry->claim,
                                                       call->asked_at))
        {
            return 0;
        }
    }

    return 1;
}


static void
ngx_http_slidewin_entry_decided(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry)
{
    entry->decided = 1;
    ctx->undecided--;

    if (entry->source == NGX_HTTP_SLIDEWIN_SOURCE_NONE) {
        entry->source = entry->store->local
                            ? NGX_HTTP_SLIDEWIN_SOURCE_LOCAL
                            : NGX_HTTP_SLIDEWIN_SOURCE_REDIS;
    }

    if (!entry->claim.verdict.admitted && !entry->claim.dry_run) {
        ctx->rejected = 1;
    }

    ngx_log_debug5(NGX_LOG_DEBUG_HTTP, ctx->call.log, 0,
                   "slidewin verdict: zone:%V %s remaining:%L retry:%Lms "
                   "source:%V",
                   &entry->policy->name,
                   entry->claim.verdict.admitted ? "admitted" : "rejected",
                   ngx_http_slidewin_entry_verdict(entry)->remaining,
                   ngx_http_slidewin_entry_verdict(entry)->retry,
                   &ngx_http_slidewin_sources[entry->source]);
}


/*
 * The store did not answer, or the rate or cost is bad: on_error decides.  With
 * nothing to fall back on, "local" is "closed": a limit must not vanish.
 */

static void
ngx_http_slidewin_entry_on_error(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry, ngx_http_slidewin_store_t *fallback)
{
    int64_t  share;

    switch (entry->policy->on_error) {

    case NGX_HTTP_SLIDEWIN_ON_ERROR_OPEN:
        ngx_http_slidewin_entry_fail(ctx, entry,
                                     NGX_HTTP_SLIDEWIN_SOURCE_FAIL_OPEN);
        return;

    case NGX_HTTP_SLIDEWIN_ON_ERROR_LOCAL:

        if (fallback == NULL) {
            break;
        }

        share = entry->rate * entry->policy->share / 100;

        entry->quota = ngx_max(share, 1);
        entry->store = fallback;
        entry->source = NGX_HTTP_SLIDEWIN_SOURCE_FALLBACK;

        ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ctx->call.log, 0,
                       "slidewin on_error: zone:%V fallback limit:%L",
                       &entry->policy->name, entry->quota);
        return;

    default: /* NGX_HTTP_SLIDEWIN_ON_ERROR_CLOSED */
        break;
    }

    ngx_http_slidewin_entry_fail(ctx, entry,
                                 NGX_HTTP_SLIDEWIN_SOURCE_FAIL_CLOSED);
}


static void
ngx_http_slidewin_entry_fail(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry, ngx_http_slidewin_source_e source)
{
    entry->decided = 1;
    ctx->undecided--;

    entry->source = source;

    if (source == NGX_HTTP_SLIDEWIN_SOURCE_FAIL_OPEN) {
        entry->claim.verdict.admitted = 1;

    } else {
        entry->claim.verdict.admitted = 0;
        entry->claim.verdict.retry = SW_NEVER;

        if (!entry->claim.dry_run) {
            ctx->rejected = 1;
        }
    }

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ctx->call.log, 0,
                   "slidewin on_error: zone:%V %V",
                   &entry->policy->name, &ngx_http_slidewin_sources[source]);
}
