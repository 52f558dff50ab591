
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_backend.h"
#include "ngx_http_slidewin_cache.h"
#include "ngx_http_slidewin_claim.h"
#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_ctx.h"
#include "ngx_http_slidewin_delay.h"
#include "ngx_http_slidewin_handler.h"
#include "ngx_http_slidewin_module.h"
#include "ngx_http_slidewin_outage.h"
#include "ngx_http_slidewin_outcome.h"
#include "ngx_http_slidewin_peek.h"
#include "ngx_http_slidewin_report.h"


static void ngx_http_slidewin_entry_begin(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry);
static ngx_int_t ngx_http_slidewin_decide(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx);
static void ngx_http_slidewin_decide_early(ngx_http_slidewin_ctx_t *ctx);
static ngx_http_slidewin_store_t *ngx_http_slidewin_decide_next_call(
    ngx_http_slidewin_ctx_t *ctx);
static ngx_http_slidewin_store_t *ngx_http_slidewin_decide_local_first(
    ngx_http_slidewin_ctx_t *ctx);
static ngx_uint_t ngx_http_slidewin_decide_queued(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry);
static void ngx_http_slidewin_decide_result(ngx_http_slidewin_ctx_t *ctx,
    ngx_int_t rc);
static ngx_uint_t ngx_http_slidewin_decide_lease_rescue(
    ngx_http_slidewin_ctx_t *ctx);
static void ngx_http_slidewin_entry_decided(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry);
static void ngx_http_slidewin_entry_on_error(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry, ngx_http_slidewin_store_t *fallback);
static void ngx_http_slidewin_fail_closed(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry);
static ngx_int_t ngx_http_slidewin_fail_pass(ngx_http_slidewin_ctx_t *ctx);
static ngx_int_t ngx_http_slidewin_suspend(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx);
static void ngx_http_slidewin_suspended_write(ngx_http_request_t *r);
static ngx_uint_t ngx_http_slidewin_on_reject(ngx_http_slidewin_call_t *call);
static void ngx_http_slidewin_resume(ngx_http_slidewin_call_t *call,
    ngx_int_t rc);
static ngx_int_t ngx_http_slidewin_delay_request(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx);
static void ngx_http_slidewin_delay_expired(ngx_event_t *ev);
static void ngx_http_slidewin_run_phases(ngx_http_slidewin_ctx_t *ctx);


ngx_int_t
ngx_http_slidewin_handler(ngx_http_request_t *r)
{
    ngx_int_t                      rc;
    ngx_http_slidewin_ctx_t       *ctx;
    ngx_http_slidewin_entry_t     *entry;
    ngx_http_slidewin_loc_conf_t  *slcf;

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_slidewin_module);

    if (slcf->limits == NULL) {
        return NGX_DECLINED;
    }

    ctx = ngx_http_slidewin_ctx_find(r);

    /* what comes after the answer is neither charged nor refused */

    if (r->post_action) {
        if (ctx) {
            ngx_http_slidewin_delay_cancel(ctx);
        }

        return NGX_DECLINED;
    }

    if (ctx == NULL) {
        ctx = ngx_http_slidewin_ctx_create(r, slcf->limits->nelts);
        if (ctx == NULL) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    /* whoever came here by another way is to be found by the answer */

    if (ctx->waiting) {
        r->write_event_handler = ngx_http_slidewin_suspended_write;
        return NGX_AGAIN;
    }

    if (!ctx->deciding) {

        /* the page that answers a rejection is not refused again */

        if (ctx->refused) {
            return NGX_DECLINED;
        }

        ctx->started = ngx_http_slidewin_clock_us();
        ctx->headers = slcf->headers;

        rc = ngx_http_slidewin_claim(r, ctx, slcf);

        if (rc == NGX_ERROR) {
            return ngx_http_slidewin_fail_pass(ctx);
        }

        /* all of this location's limits have been looked at before */

        if (rc == NGX_DECLINED
            && ctx->status != NGX_HTTP_SLIDEWIN_UNDECIDED)
        {
            return NGX_DECLINED;
        }

        ctx->deciding = 1;

        ctx->call.log = r->connection->log;
        ctx->call.on_reject = ngx_http_slidewin_on_reject;
        ctx->call.done = ngx_http_slidewin_resume;
        ctx->call.data = ctx;

        for (entry = *ctx->pass; entry; entry = entry->next) {
            if (!entry->decided) {
                ngx_http_slidewin_entry_begin(ctx, entry);
            }
        }
    }

    rc = ngx_http_slidewin_decide(r, ctx);

    if (rc != NGX_OK) {
        return rc;
    }

    ctx->latency += ngx_http_slidewin_clock_us() - ctx->started;

    while (ctx->refused) {

        if (ngx_http_slidewin_peek_needed(ctx)
            && ngx_http_slidewin_peek(ctx) == NGX_AGAIN)
        {
            ctx->started = ctx->call.asked;
            return ngx_http_slidewin_suspend(r, ctx);
        }

        if (ctx->rejected) {
            break;
        }

        if (ngx_http_slidewin_delay_request(r, ctx) == NGX_OK) {
            return ngx_http_slidewin_suspend(r, ctx);
        }

        ctx->rejected = 1;
        ngx_http_slidewin_delay_cancel(ctx);
    }

    ctx->deciding = 0;

    return ngx_http_slidewin_outcome(r, ctx, slcf);
}


static void
ngx_http_slidewin_entry_begin(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry)
{
    entry->decided = 0;
    entry->peeked = 0;
    entry->store = entry->policy->store;
    entry->source = NGX_HTTP_SLIDEWIN_SOURCE_NONE;
    entry->quota = entry->rate;
    entry->claim.verdict.deferred = 0;

    if (entry->rate == 0) {
        ngx_http_slidewin_entry_on_error(ctx, entry, NULL);
    }
}


/* asks one store after the other until all have admitted or one refused */

static ngx_int_t
ngx_http_slidewin_decide(ngx_http_request_t *r, ngx_http_slidewin_ctx_t *ctx)
{
    ngx_int_t                   rc;
    ngx_http_slidewin_store_t  *store;

    while (ctx->undecided && !ctx->refused) {

        ngx_http_slidewin_decide_early(ctx);

        if (ctx->refused) {
            break;
        }

        store = ngx_http_slidewin_decide_next_call(ctx);

        if (store == NULL) {
            break;
        }

        ctx->call.asked = ctx->started;

        if (ctx->place) {
            ngx_http_slidewin_delay_prefetch(ctx, store);
        }

        rc = store->backend->take(store, &ctx->call);

        if (rc == NGX_AGAIN) {
            ctx->waiting = store;
            return ngx_http_slidewin_suspend(r, ctx);
        }

        ngx_http_slidewin_decide_result(ctx, rc);
    }

    return NGX_OK;
}


/* all refusals that are known before a store is asked, and any counts */

static void
ngx_http_slidewin_decide_early(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_http_slidewin_entry_t  *entry;

    if (ctx->place && ngx_http_slidewin_delay_granted(ctx)) {

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

        if (ngx_http_slidewin_decide_queued(ctx, entry)) {
            ngx_http_slidewin_entry_decided(ctx, entry);
            continue;
        }

        /* whoever stands in a line asks for it */

        if (ctx->place == NULL
            && ngx_http_slidewin_cache_denies(entry->policy, entry->store,
                                              &entry->claim))
        {
            entry->source = NGX_HTTP_SLIDEWIN_SOURCE_DENY_CACHE;
            ngx_http_slidewin_entry_decided(ctx, entry);
        }
    }
}


/* the open claims that a store can decide in one call; leases need none */

static ngx_http_slidewin_store_t *
ngx_http_slidewin_decide_next_call(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_uint_t                  shard, its;
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

        its = entry->store->backend->shard
                  ? entry->store->backend->shard(entry->store, &entry->claim)
                  : 0;

        if (store && its != shard) {
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
        shard = its;
        ctx->call.claims[ctx->call.n++] = &entry->claim;
    }

    return store;
}


/* what the local store refuses costs no other a question */

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


/*
 * Those that came before and wait have their turn first, and until then no
 * store need be asked.  A look counts nothing, a dry run keeps nobody waiting,
 * and what can never pass has no turn.
 */

static ngx_uint_t
ngx_http_slidewin_decide_queued(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry)
{
    int64_t        behind;
    sw_verdict_t  *verdict;

    if (!ngx_http_slidewin_delay_queued(entry->policy) || entry->claim.dry_run
        || entry->claim.cost == 0 || entry->claim.cost > entry->quota)
    {
        return 0;
    }

    behind = ngx_http_slidewin_delay_queue_wait(ctx, entry);

    if (behind == 0) {
        return 0;
    }

    verdict = &entry->claim.verdict;

    ngx_memzero(verdict, sizeof(sw_verdict_t));

    verdict->retry = behind;
    verdict->more = behind;
    verdict->reset = behind + entry->claim.rule.window;
    verdict->level = entry->quota;
    verdict->scale = 1;

    return 1;
}


static void
ngx_http_slidewin_decide_result(ngx_http_slidewin_ctx_t *ctx, ngx_int_t rc)
{
    ngx_uint_t                      i, prefetch;
    ngx_http_slidewin_entry_t      *entry;
    ngx_http_slidewin_store_t      *fallback;
    ngx_http_slidewin_main_conf_t  *smcf;

    if (rc == NGX_OK && ngx_http_slidewin_decide_lease_rescue(ctx)) {
        return;
    }

    prefetch = 0;

    for (i = 0; i < ctx->call.n; i++) {
        entry = (ngx_http_slidewin_entry_t *) ctx->call.claims[i];

        if (entry->decided) {
            continue;
        }

        /* a crowd is no failure, and opens nothing */

        if (rc == NGX_BUSY) {
            ngx_http_slidewin_fail_closed(ctx, entry);
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

        ngx_http_slidewin_entry_decided(ctx, entry);

        if (!entry->store->local) {
            ngx_http_slidewin_cache_update(entry->policy, entry->store,
                                           &entry->claim, ctx->call.asked);
            ngx_http_slidewin_outage_decided(entry->policy);
        }

        prefetch |= (entry->claim.prefetch && !entry->policy->lease);
    }

    if (prefetch) {
        ngx_http_slidewin_delay_grant(ctx);
    }
}


/*
 * Whether all that were refused found a lease.  What was asked together with
 * them is not counted then: it stays open and is asked anew.
 */

static ngx_uint_t
ngx_http_slidewin_decide_lease_rescue(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_uint_t                  i, spared;
    ngx_http_slidewin_entry_t  *entry;

    spared = 0;

    for (i = 0; i < ctx->call.n; i++) {
        entry = (ngx_http_slidewin_entry_t *) ctx->call.claims[i];

        if (entry->claim.verdict.admitted || entry->claim.dry_run) {
            continue;
        }

        if (!ngx_http_slidewin_cache_take_open_lease(entry->policy,
                                                     entry->store,
                                                     &entry->claim))
        {
            return 0;
        }

        entry->source = NGX_HTTP_SLIDEWIN_SOURCE_LEASE;
        ngx_http_slidewin_entry_decided(ctx, entry);
        spared = 1;
    }

    return spared;
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
        ctx->refused = 1;
    }
}


/*
 * No answer, or no rate to ask with: on_error decides.  Where there is nothing
 * to fall back on, a limit does not vanish: "local" is "closed" then.
 */

static void
ngx_http_slidewin_entry_on_error(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry, ngx_http_slidewin_store_t *fallback)
{
    int64_t  share;

    if (entry->policy->on_error == NGX_HTTP_SLIDEWIN_ON_ERROR_LOCAL
        && fallback)
    {
        share = entry->rate * entry->policy->share / 100;

        entry->quota = ngx_max(share, 1);
        entry->store = fallback;
        entry->source = NGX_HTTP_SLIDEWIN_SOURCE_FALLBACK;
        return;
    }

    if (entry->policy->on_error == NGX_HTTP_SLIDEWIN_ON_ERROR_OPEN) {
        entry->decided = 1;
        ctx->undecided--;
        entry->source = NGX_HTTP_SLIDEWIN_SOURCE_FAIL_OPEN;
        entry->claim.verdict.admitted = 1;
        return;
    }

    ngx_http_slidewin_fail_closed(ctx, entry);
}


static void
ngx_http_slidewin_fail_closed(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry)
{
    entry->decided = 1;
    ctx->undecided--;

    entry->source = NGX_HTTP_SLIDEWIN_SOURCE_FAIL_CLOSED;
    entry->claim.verdict.admitted = 0;
    entry->claim.verdict.retry = SW_NEVER;

    if (!entry->claim.dry_run) {
        ctx->refused = 1;
    }
}


/*
 * A pass that cannot be decided leaves nothing behind, and undoes nothing: its
 * failure says as little of the client as a refusal does.
 */

static ngx_int_t
ngx_http_slidewin_fail_pass(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_http_slidewin_entry_t  *entry;

    for (entry = *ctx->pass; entry; entry = entry->next) {

        entry->claim.unwanted = 1;

        if (entry->claim.counted) {
            ngx_http_slidewin_entry_refund(entry);
        }
    }

    ngx_http_slidewin_ctx_cancel(ctx);

    *ctx->pass = NULL;
    ctx->deciding = 0;
    ctx->refused = 0;
    ctx->rejected = 0;

    for (entry = ctx->entries; entry; entry = entry->next) {
        entry->stays = 1;
    }

    return NGX_HTTP_INTERNAL_SERVER_ERROR;
}


/* nothing but the answer or the client's leaving moves the request now */

static ngx_int_t
ngx_http_slidewin_suspend(ngx_http_request_t *r, ngx_http_slidewin_ctx_t *ctx)
{
    ngx_event_t  *rev;

    rev = r->connection->read;

    /* what is there already makes no event of its own, not even the end */

    if (rev->ready) {
        ngx_post_event(rev, &ngx_posted_events);

    } else if (ngx_handle_read_event(rev, 0) != NGX_OK) {
        return ngx_http_slidewin_fail_pass(ctx);
    }

    r->read_event_handler = ngx_http_test_reading;
    r->write_event_handler = ngx_http_slidewin_suspended_write;

    return NGX_AGAIN;
}


static void
ngx_http_slidewin_suspended_write(ngx_http_request_t *r)
{
    /* void */
}


/* requests that are read before this one goes on are refused as well */

static ngx_uint_t
ngx_http_slidewin_on_reject(ngx_http_slidewin_call_t *call)
{
    ngx_uint_t                  i;
    ngx_http_slidewin_entry_t  *entry;

    for (i = 0; i < call->n; i++) {
        entry = (ngx_http_slidewin_entry_t *) call->claims[i];

        if (!entry->claim.verdict.admitted
            && !ngx_http_slidewin_cache_confirm_reject(entry->policy,
                                                       entry->store,
                                                       &entry->claim,
                                                       call->asked))
        {
            return 0;
        }
    }

    return 1;
}


static void
ngx_http_slidewin_resume(ngx_http_slidewin_call_t *call, ngx_int_t rc)
{
    ngx_http_slidewin_ctx_t  *ctx;

    ctx = call->data;

    ctx->waiting = NULL;

    if (ctx->peeking) {
        ngx_http_slidewin_peek_done(ctx, rc);

    } else {
        ngx_http_slidewin_decide_result(ctx, rc);
    }

    ngx_http_slidewin_run_phases(ctx);
}


/*
 * A refused request that may wait until it would be admitted: nothing of it is
 * counted meanwhile, and then all is asked anew.
 */

static ngx_int_t
ngx_http_slidewin_delay_request(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx)
{
    ngx_http_slidewin_entry_t  *entry;

    if (ngx_http_slidewin_delay_start(ctx, ngx_http_slidewin_delay_expired)
        != NGX_OK)
    {
        return NGX_DECLINED;
    }

    ctx->refused = 0;
    ctx->undecided = 0;

    for (entry = *ctx->pass; entry; entry = entry->next) {

        if (entry->shadowed) {
            continue;
        }

        ctx->undecided++;

        if (entry->claim.counted) {
            ngx_http_slidewin_entry_refund(entry);
        }

        if (entry->delayed && !ctx->delayed) {
            ctx->delayed = 1;

            ngx_http_slidewin_report(r, entry, NGX_HTTP_SLIDEWIN_DELAYED,
                                     ", limit %L in %Lms, for %Lms",
                                     entry->quota,
                                     entry->claim.rule.window,
                                     entry->claim.verdict.retry);
        }

        ngx_http_slidewin_entry_begin(ctx, entry);
    }

    return NGX_OK;
}


static void
ngx_http_slidewin_delay_expired(ngx_event_t *ev)
{
    ngx_http_slidewin_ctx_t  *ctx;

    ctx = ev->data;

    ctx->stands = 0;
    ctx->started = ngx_http_slidewin_clock_us();

    ngx_http_slidewin_run_phases(ctx);
}


static void
ngx_http_slidewin_run_phases(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_connection_t    *c;
    ngx_http_request_t  *r;

    r = ctx->request;
    c = r->connection;

    ngx_http_set_log_request(c->log, r);

    /*
     * somebody took the request elsewhere meanwhile: post_action does; then it
     * keeps nobody waiting any more
     */

    if (r->write_event_handler != ngx_http_slidewin_suspended_write) {
        ngx_http_slidewin_delay_cancel(ctx);
        return;
    }

    if (ngx_handle_read_event(c->read, 0) != NGX_OK) {
        ngx_http_finalize_request(r, ngx_http_slidewin_fail_pass(ctx));

    } else {
        r->read_event_handler = ngx_http_block_reading;
        r->write_event_handler = ngx_http_core_run_phases;
        ngx_http_core_run_phases(r);
    }

    ngx_http_run_posted_requests(c);
}
