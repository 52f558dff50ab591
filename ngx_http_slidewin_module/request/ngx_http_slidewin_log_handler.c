
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_cache.h"
#include "ngx_http_slidewin_charge.h"
#include "ngx_http_slidewin_claim.h"
#include "ngx_http_slidewin_ctx.h"
#include "ngx_http_slidewin_delay_queue.h"
#include "ngx_http_slidewin_module.h"
#include "ngx_http_slidewin_refund.h"
#include "ngx_http_slidewin_request.h"
#include "sw_parse.h"


/* behind the entries whose passes were admitted */

#define ngx_http_slidewin_log_end(ctx)                                        \
    ((ctx)->rejected ? *(ctx)->pass : NULL)


static ngx_uint_t ngx_http_slidewin_log_status(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx);
static void ngx_http_slidewin_log_read_charges(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx, ngx_uint_t status);
static void ngx_http_slidewin_log_changes(ngx_http_slidewin_ctx_t *ctx,
    ngx_uint_t status);
static void ngx_http_slidewin_log_change(ngx_http_slidewin_entry_t *entry);
static void ngx_http_slidewin_log_settled(void *data, ngx_int_t rc,
    ngx_uint_t n);
static int64_t ngx_http_slidewin_log_change_of(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry, ngx_uint_t status);
static ngx_inline ngx_uint_t ngx_http_slidewin_log_counts(
    ngx_http_slidewin_ctx_t *ctx, ngx_http_slidewin_limit_t *limit,
    ngx_uint_t status);
static ngx_inline ngx_uint_t ngx_http_slidewin_log_clears(
    ngx_http_slidewin_limit_t *limit, ngx_uint_t status);
static void ngx_http_slidewin_log_resets(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx, ngx_uint_t status);
static void ngx_http_slidewin_log_reset(ngx_http_request_t *r,
    ngx_http_slidewin_entry_t *entry);


/*
 * A rejected request is not counted by the pass that rejects it.  Its status is
 * the module's own and says nothing of what earlier passes have served: that
 * stays counted, and is settled to its true cost.
 */

ngx_int_t
ngx_http_slidewin_log_handler(ngx_http_request_t *r)
{
    ngx_uint_t                status;
    ngx_http_slidewin_ctx_t  *ctx;

    if (r != r->main) {
        return NGX_OK;
    }

    ctx = ngx_http_slidewin_ctx_find(r);

    if (ctx == NULL || !ctx->has_changes
        || (ctx->rejected && *ctx->pass == ctx->entries))
    {
        return NGX_OK;
    }

    status = ngx_http_slidewin_log_status(r, ctx);

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "slidewin log: status:%ui", status);

    if (ctx->has_charges) {
        ngx_http_slidewin_log_read_charges(r, ctx, status);
    }

    ngx_http_slidewin_log_changes(ctx, status);

    if (!ctx->rejected) {
        ngx_http_slidewin_log_resets(r, ctx, status);
    }

    return NGX_OK;
}


ngx_int_t
ngx_http_slidewin_post_action_handler(ngx_http_request_t *r)
{
    ngx_http_slidewin_ctx_t  *ctx;

    if (r->post_action) {
        ctx = ngx_http_slidewin_ctx_find(r);

        if (ctx && ctx->has_charges) {
            ngx_http_slidewin_log_read_charges(r, ctx,
                                         ngx_http_slidewin_log_status(r, ctx));
        }
    }

    return NGX_DECLINED;
}


/*
 * As $status; but in a post_action that of the response, or 499 if the client
 * left before there was one.
 */

static ngx_uint_t
ngx_http_slidewin_log_status(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx)
{
    if (r->post_action) {
        return ctx->sent_status ? ctx->sent_status
                                : NGX_HTTP_CLIENT_CLOSED_REQUEST;
    }

    return r->err_status ? r->err_status : r->headers_out.status;
}


/*
 * The true cost takes the place of the estimate.  Without one, or if it is bad,
 * the estimate stands.
 */

static void
ngx_http_slidewin_log_read_charges(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx, ngx_uint_t status)
{
    int64_t                     cost;
    ngx_str_t                   value;
    ngx_http_slidewin_limit_t  *limit;
    ngx_http_slidewin_entry_t  *entry, *end;

    end = ngx_http_slidewin_log_end(ctx);

    for (entry = ctx->entries; entry != end; entry = entry->next) {

        limit = entry->limit;

        if (limit->charge == NULL || entry->charge_read || !entry->decided
            || entry->status_ignored
            || !ngx_http_slidewin_log_counts(ctx, limit, status))
        {
            continue;
        }

        entry->charge_read = 1;

        if (ngx_http_complex_value(r, limit->charge, &value) != NGX_OK) {
            continue;
        }

        if (sw_parse_charge((char *) value.data, value.len, &cost) != SW_OK) {
            ngx_http_slidewin_claim_bad(r, entry->policy,
                                        "invalid charge \"%V\" for slidewin "
                                        "zone \"%V\", %s%*s", &value,
                                        "it must be a number, the estimate "
                                        "stays counted");
            continue;
        }

        if (cost != SW_COST_NONE) {
            entry->cost = cost;
            entry->charged = 1;
        }
    }
}


/* all changes are known before the first one is made */

static void
ngx_http_slidewin_log_changes(ngx_http_slidewin_ctx_t *ctx,
    ngx_uint_t status)
{
    ngx_http_slidewin_entry_t  *entry, *end;

    end = ngx_http_slidewin_log_end(ctx);

    for (entry = ctx->entries; entry != end; entry = entry->next) {
        entry->change = ngx_http_slidewin_log_change_of(ctx, entry, status);
    }

    for (entry = ctx->entries; entry != end; entry = entry->next) {
        if (entry->change || entry->settles) {
            ngx_http_slidewin_log_change(entry);
        }
    }
}


static void
ngx_http_slidewin_log_change(ngx_http_slidewin_entry_t *entry)
{
    ngx_http_slidewin_detached_pt  done;

    done = (entry->settles && entry->settles_charge)
               ? ngx_http_slidewin_log_settled : NULL;

    if (entry->settles && !entry->settles_charge) {
        ngx_http_slidewin_log_settled(entry->policy->counters, NGX_DECLINED,
                                      1);
    }

    if (entry->change < 0) {
        entry->claim.cost = -entry->change;

        ngx_http_slidewin_cache_refund(entry->policy, entry->store,
                                       &entry->claim,
                                       entry->source
                                       == NGX_HTTP_SLIDEWIN_SOURCE_LEASE,
                                       done, entry->policy->counters);
        ngx_http_slidewin_delay_wake(entry->policy, &entry->claim.key);

    } else if (entry->change > 0) {
        entry->claim.cost = entry->change;

        ngx_http_slidewin_cache_charge(entry->policy, entry->store,
                                       &entry->claim, done,
                                       entry->policy->counters);

    } else {
        ngx_http_slidewin_detached_result(done, entry->policy->counters,
                                          NGX_OK, 1);
    }
}


/* anything but NGX_OK: the estimate stands */

static void
ngx_http_slidewin_log_settled(void *data, ngx_int_t rc, ngx_uint_t n)
{
    ngx_http_slidewin_zone_counters_t  *counters;

    counters = data;

    ngx_http_slidewin_stats_count(rc == NGX_OK ? &counters->charges_settled
                                               : &counters->charges_estimated,
                                  (ngx_atomic_int_t) n);
}


/*
 * Units to charge for an entry, or, below 0, to refund.  If the policy has met
 * the request in several passes, the greatest cost of the limits that count
 * this status stays counted, in the order in which it was taken.  The last
 * entry that took anything is charged for what was not taken.
 */

static int64_t
ngx_http_slidewin_log_change_of(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry, ngx_uint_t status)
{
    int64_t                     cost, charge, taken;
    ngx_uint_t                  same, before, last, read;
    ngx_http_slidewin_limit_t  *limit;
    ngx_http_slidewin_entry_t  *other, *end;

    if (!entry->claim.counted || entry->status_ignored) {
        return 0;
    }

    limit = entry->limit;

    /* most requests meet one policy, once, and have no true cost */

    if (ctx->entries->next == NULL && !ctx->has_charges) {
        return (ngx_http_slidewin_log_counts(ctx, limit, status)
                || ngx_http_slidewin_log_clears(limit, status))
                   ? 0 : -entry->claim.cost;
    }

    end = ngx_http_slidewin_log_end(ctx);

    cost = 0;
    charge = SW_COST_NONE;
    taken = 0;
    before = 1;
    last = 1;
    read = 0;

    for (other = ctx->entries; other != end; other = other->next) {

        if (other == entry) {
            before = 0;
        }

        if (other->policy != entry->policy || !other->decided
            || other->status_ignored)
        {
            continue;
        }

        limit = other->limit;
        same = (other == entry)
               || ngx_http_slidewin_same_client(other, entry);

        /* a reset clears all units of the client, also these */

        if (same && !ctx->rejected
            && ngx_http_slidewin_log_clears(limit, status))
        {
            return 0;
        }

        if (other->claim.dry_run && !(same && other->claim.counted)) {
            continue;
        }

        if (other->claim.counted && other != entry) {

            if (before) {
                taken += other->claim.cost;

            } else {
                last = 0;
            }
        }

        if (!ngx_http_slidewin_log_counts(ctx, limit, status)) {
            continue;
        }

        if (other->charge_read) {
            read = 1;
        }

        if (other->charged) {
            charge = ngx_max(charge, other->cost);

        } else {
            cost = ngx_max(cost, other->cost);
        }
    }

    if (last && read) {
        entry->settles = 1;
        entry->settles_charge = (charge != SW_COST_NONE);
    }

    if (last && charge > cost) {
        return ngx_max(charge - taken, 0) - entry->claim.cost;
    }

    cost = ngx_max(cost, charge);
    cost = ngx_max(cost - taken, 0);

    return ngx_min(cost - entry->claim.cost, 0);
}


static ngx_inline ngx_uint_t
ngx_http_slidewin_log_counts(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_limit_t *limit, ngx_uint_t status)
{
    return ctx->rejected || limit->count == NULL
           || sw_statuses_have(limit->count, status);
}


static ngx_inline ngx_uint_t
ngx_http_slidewin_log_clears(ngx_http_slidewin_limit_t *limit,
    ngx_uint_t status)
{
    return limit->reset && sw_statuses_have(limit->reset, status);
}


static void
ngx_http_slidewin_log_resets(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx, ngx_uint_t status)
{
    ngx_http_slidewin_entry_t  *entry;

    for (entry = ctx->entries; entry; entry = entry->next) {
        if (entry->decided && !entry->status_ignored
            && ngx_http_slidewin_log_clears(entry->limit, status))
        {
            ngx_http_slidewin_log_reset(r, entry);
            ngx_http_slidewin_delay_wake(entry->policy, &entry->claim.key);
        }
    }
}


/*
 * Shared memory has what was counted while the store did not answer.
 *
 * A client that is banned must not lift its own ban: its bans stay if the store
 * was not asked whether there are any.
 */

static void
ngx_http_slidewin_log_reset(ngx_http_request_t *r,
    ngx_http_slidewin_entry_t *entry)
{
    ngx_http_slidewin_main_conf_t  *smcf;

    smcf = ngx_http_get_module_main_conf(r, ngx_http_slidewin_module);

    if (entry->source > NGX_HTTP_SLIDEWIN_SOURCE_REDIS) {
        entry->claim.ban = NULL;
    }

    ngx_http_slidewin_reset_key(&smcf->local, &entry->claim);

    if (entry->claim.ban && !entry->claim.dry_ban) {
        ngx_http_slidewin_bans_remove(entry->policy->bans, &entry->claim.key);
    }

    if (!entry->policy->store->local) {
        ngx_http_slidewin_cache_purge(entry->policy, &entry->claim);
        ngx_http_slidewin_charge_forget(entry->policy->store, &entry->claim);
        ngx_http_slidewin_reset_key(entry->policy->store, &entry->claim);
    }
}
