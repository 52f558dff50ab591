
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_cache.h"
#include "ngx_http_slidewin_ctx.h"
#include "ngx_http_slidewin_delay_queue.h"
#include "ngx_http_slidewin_module.h"
#include "ngx_http_slidewin_refund.h"
#include "ngx_http_slidewin_request.h"


static ngx_uint_t ngx_http_slidewin_log_status(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx);
static void ngx_http_slidewin_log_refunds(ngx_http_slidewin_ctx_t *ctx,
    ngx_uint_t status);
static int64_t ngx_http_slidewin_log_refund_of(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry, ngx_uint_t status);
static void ngx_http_slidewin_log_resets(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx, ngx_uint_t status);
static void ngx_http_slidewin_log_reset(ngx_http_request_t *r,
    ngx_http_slidewin_entry_t *entry);


/*
 * A rejected request is not counted by the pass that rejects it.  Its status is
 * the module's own and says nothing of what earlier passes have served: that
 * stays counted.
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

    if (ctx == NULL || ctx->rejected) {
        return NGX_OK;
    }

    status = ngx_http_slidewin_log_status(r, ctx);

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "slidewin log: status:%ui", status);

    ngx_http_slidewin_log_refunds(ctx, status);
    ngx_http_slidewin_log_resets(r, ctx, status);

    return NGX_OK;
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


static void
ngx_http_slidewin_log_refunds(ngx_http_slidewin_ctx_t *ctx,
    ngx_uint_t status)
{
    ngx_http_slidewin_entry_t  *entry;

    for (entry = ctx->entries; entry; entry = entry->next) {
        entry->refund = ngx_http_slidewin_log_refund_of(ctx, entry, status);
    }

    for (entry = ctx->entries; entry; entry = entry->next) {
        if (entry->refund) {
            entry->claim.cost = entry->refund;

            ngx_http_slidewin_entry_refund(entry);
            ngx_http_slidewin_delay_wake(entry->policy, &entry->claim.key);
        }
    }
}


/*
 * Units to refund of an entry.  If the policy has met the request in several
 * passes, the greatest cost of the limits that count this status stays counted,
 * in the order in which it was taken.
 */

static int64_t
ngx_http_slidewin_log_refund_of(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry, ngx_uint_t status)
{
    int64_t                     cost, taken;
    ngx_uint_t                  same, before;
    ngx_http_slidewin_limit_t  *limit;
    ngx_http_slidewin_entry_t  *other;

    if (!entry->claim.counted || entry->status_ignored) {
        return 0;
    }

    cost = 0;
    taken = 0;
    before = 1;

    for (other = ctx->entries; other; other = other->next) {

        if (other == entry) {
            before = 0;
        }

        if (other->policy != entry->policy || !other->decided
            || other->status_ignored)
        {
            continue;
        }

        limit = other->limit;
        same = ngx_http_slidewin_same_client(other, entry);

        /* a reset clears all units of the client, also these */

        if (same && limit->reset && sw_statuses_have(limit->reset, status)) {
            return 0;
        }

        if (other->claim.dry_run && !(same && other->claim.counted)) {
            continue;
        }

        if (before && other->claim.counted) {
            taken += other->claim.cost;
        }

        if (limit->count == NULL || sw_statuses_have(limit->count, status)) {
            cost = ngx_max(cost, other->cost);
        }
    }

    cost = ngx_max(cost - taken, 0);

    return ngx_max(entry->claim.cost - cost, 0);
}


static void
ngx_http_slidewin_log_resets(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx, ngx_uint_t status)
{
    ngx_http_slidewin_entry_t  *entry;

    for (entry = ctx->entries; entry; entry = entry->next) {
        if (entry->decided && !entry->status_ignored && entry->limit->reset
            && sw_statuses_have(entry->limit->reset, status))
        {
            ngx_http_slidewin_log_reset(r, entry);
            ngx_http_slidewin_delay_wake(entry->policy, &entry->claim.key);
        }
    }
}


/* shared memory has what was counted while the store did not answer */

static void
ngx_http_slidewin_log_reset(ngx_http_request_t *r,
    ngx_http_slidewin_entry_t *entry)
{
    ngx_http_slidewin_main_conf_t  *smcf;

    smcf = ngx_http_get_module_main_conf(r, ngx_http_slidewin_module);

    ngx_http_slidewin_reset_key(&smcf->local, &entry->claim);

    if (!entry->policy->store->local) {
        ngx_http_slidewin_cache_purge(entry->policy, &entry->claim);
        ngx_http_slidewin_reset_key(entry->policy->store, &entry->claim);
    }
}
