
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_outcome.h"
#include "ngx_http_slidewin_record.h"
#include "ngx_http_slidewin_shared_key.h"


static void ngx_http_slidewin_record_bypassed(ngx_http_slidewin_ctx_t *ctx);
static ngx_uint_t ngx_http_slidewin_record_has(
    ngx_http_slidewin_entry_t *entry, ngx_http_slidewin_policy_t *policy);
static void ngx_http_slidewin_record_client(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry, ngx_http_slidewin_status_e status,
    ngx_atomic_uint_t n);


static ngx_http_slidewin_request_counters_t
    *ngx_http_slidewin_record_requests;


void
ngx_http_slidewin_record_init(ngx_http_slidewin_request_counters_t *counters)
{
    ngx_http_slidewin_record_requests = counters;
    ngx_http_slidewin_ctx_end = ngx_http_slidewin_record;
}


static ngx_inline void
ngx_http_slidewin_record_entry(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry)
{
    ngx_atomic_uint_t                   n;
    ngx_http_slidewin_claim_t          *claim;
    ngx_http_slidewin_status_e          status;
    ngx_http_slidewin_zone_counters_t  *counters;

    claim = &entry->claim;
    counters = entry->policy->counters;

    status = (entry == ctx->decider) ? ctx->status
                                     : ngx_http_slidewin_entry_status(entry);

    n = ngx_atomic_fetch_add(&counters->evaluations[status][entry->source], 1);

    /* the sources that have a verdict come first */

    if (entry->source < NGX_HTTP_SLIDEWIN_SOURCE_FAIL_OPEN) {
        ngx_http_slidewin_stats_utilization(counters,
                             sw_verdict_level(&claim->verdict, &claim->rule),
                             sw_verdict_scale(&claim->verdict, &claim->rule)
                             * claim->rule.limit);
    }

    if (status == NGX_HTTP_SLIDEWIN_REJECTED
        || n % NGX_HTTP_SLIDEWIN_SHARED_KEY_EVERY == 0)
    {
        ngx_http_slidewin_record_client(ctx, entry, status, n);
    }
}


void
ngx_http_slidewin_record(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_http_slidewin_entry_t  *entry;

    if (ctx->status == NGX_HTTP_SLIDEWIN_UNDECIDED) {
        return;
    }

    ctx->recorded = 1;

    for (entry = ctx->entries; entry; entry = entry->next) {
        if (entry->decided && !entry->superseded) {
            ngx_http_slidewin_record_entry(ctx, entry);
        }
    }

    if (ctx->bypassed) {
        ngx_http_slidewin_record_bypassed(ctx);
    }

    ngx_http_slidewin_stats_count(
                    &ngx_http_slidewin_record_requests->decisions[ctx->status],
                    1);
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
ngx_http_slidewin_record_client(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry, ngx_http_slidewin_status_e status,
    ngx_atomic_uint_t n)
{
    ngx_http_slidewin_policy_t  *policy;

    policy = entry->policy;

    if (status == NGX_HTTP_SLIDEWIN_REJECTED && policy->top) {
        ngx_http_slidewin_top_add(policy->top, &entry->claim.key);
    }

    if (n % NGX_HTTP_SLIDEWIN_SHARED_KEY_EVERY == 0) {
        ngx_http_slidewin_shared_key_sample(ctx->request, policy,
                                            &entry->claim.key);
    }
}
