
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_outcome.h"
#include "ngx_http_slidewin_record.h"
#include "ngx_http_slidewin_shared_key.h"


static void ngx_http_slidewin_record_entries(ngx_http_slidewin_ctx_t *ctx)
    __attribute__((noinline));
static void ngx_http_slidewin_record_bypassed(ngx_http_slidewin_ctx_t *ctx);
static ngx_uint_t ngx_http_slidewin_record_has(
    ngx_http_slidewin_entry_t *entry, ngx_http_slidewin_policy_t *policy);
static void ngx_http_slidewin_record_sample(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry, ngx_http_slidewin_status_e status)
    __attribute__((noinline));


static ngx_http_slidewin_request_counters_t
    *ngx_http_slidewin_record_requests;


void
ngx_http_slidewin_record_init(ngx_http_slidewin_request_counters_t *counters)
{
    ngx_http_slidewin_record_requests = counters;
    ngx_http_slidewin_ctx_end = ngx_http_slidewin_record;
}


static ngx_inline void
ngx_http_slidewin_record_rejected(ngx_http_slidewin_entry_t *entry)
{
    if (entry->policy->top) {
        ngx_http_slidewin_top_add(entry->policy->top, &entry->claim.key);
    }
}


/* record_entry() makes its calls last: most requests save no registers */

static ngx_inline void
ngx_http_slidewin_record_entry(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry, ngx_http_slidewin_status_e status)
{
    ngx_atomic_uint_t                   n;
    ngx_http_slidewin_claim_t          *claim;
    ngx_http_slidewin_zone_counters_t  *counters;

    claim = &entry->claim;
    counters = entry->policy->counters;

    n = ngx_atomic_fetch_add(&counters->evaluations[status][entry->source], 1);

    /* the sources that have a verdict come first */

    if (entry->source < NGX_HTTP_SLIDEWIN_SOURCE_FAIL_OPEN) {
        ngx_http_slidewin_stats_utilization(counters, claim->verdict.level,
                                            claim->verdict.scale
                                            * claim->rule.limit);
    }

    if (n % NGX_HTTP_SLIDEWIN_SHARED_KEY_EVERY == 0) {
        ngx_http_slidewin_record_sample(ctx, entry, status);

    } else if (ngx_http_slidewin_status_is_rejection(status)) {
        ngx_http_slidewin_record_rejected(entry);
    }
}


void
ngx_http_slidewin_record(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_http_slidewin_entry_t   *entry;
    ngx_http_slidewin_status_e   status;

    status = ctx->status;

    if (status == NGX_HTTP_SLIDEWIN_UNDECIDED) {
        return;
    }

    ctx->recorded = 1;

    ngx_http_slidewin_stats_count(
                        &ngx_http_slidewin_record_requests->decisions[status],
                        1);

    entry = ctx->decider;

    /* most requests have one policy, which is not bypassed */

    if (entry && entry == ctx->entries && entry->next == NULL
        && ctx->bypassed == NULL)
    {
        ngx_http_slidewin_record_entry(ctx, entry, status);
        return;
    }

    ngx_http_slidewin_record_entries(ctx);
}


static void
ngx_http_slidewin_record_entries(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_http_slidewin_entry_t   *entry;
    ngx_http_slidewin_status_e   status;

    for (entry = ctx->entries; entry; entry = entry->next) {
        if (entry->decided && !entry->superseded) {

            /* a peek of a later pass may have changed it since */

            status = (entry == ctx->decider)
                         ? ctx->status
                         : ngx_http_slidewin_entry_status(entry);

            ngx_http_slidewin_record_entry(ctx, entry, status);
        }
    }

    if (ctx->bypassed) {
        ngx_http_slidewin_record_bypassed(ctx);
    }
}


/* once for a policy, and not if another pass has asked it */

static void
ngx_http_slidewin_record_bypassed(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_http_slidewin_entry_t   *entry;
    ngx_http_slidewin_policy_t  *policy;

    for (entry = ctx->bypassed; entry; entry = entry->next) {
        policy = entry->policy;

        if (ngx_http_slidewin_record_has(ctx->entries, policy)
            || ngx_http_slidewin_record_has(entry->next, policy))
        {
            continue;
        }

        ngx_http_slidewin_stats_count(&policy->counters->evaluations
                                             [NGX_HTTP_SLIDEWIN_BYPASSED]
                                             [NGX_HTTP_SLIDEWIN_SOURCE_NONE],
                                      1);
    }
}


static ngx_uint_t
ngx_http_slidewin_record_has(ngx_http_slidewin_entry_t *entry,
    ngx_http_slidewin_policy_t *policy)
{
    while (entry && entry->policy != policy) {
        entry = entry->next;
    }

    return entry != NULL;
}


static void
ngx_http_slidewin_record_sample(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry, ngx_http_slidewin_status_e status)
{
    ngx_http_slidewin_shared_key_sample(ctx->request, entry->policy,
                                        &entry->claim.key);

    if (ngx_http_slidewin_status_is_rejection(status)) {
        ngx_http_slidewin_record_rejected(entry);
    }
}
