
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_module.h"
#include "ngx_http_slidewin_outcome.h"
#include "ngx_http_slidewin_record.h"
#include "ngx_http_slidewin_shared_key.h"


void
ngx_http_slidewin_record_decided(ngx_http_slidewin_ctx_t *ctx)
{
    int64_t                             level, scale;
    ngx_http_slidewin_claim_t          *claim;
    ngx_http_slidewin_entry_t          *entry;
    ngx_http_slidewin_policy_t         *policy;
    ngx_http_slidewin_status_e          status;
    ngx_http_slidewin_main_conf_t      *smcf;
    ngx_http_slidewin_zone_counters_t  *counters;

    for (entry = ctx->entries; entry; entry = entry->next) {

        if (!entry->decided || entry->superseded) {
            continue;
        }

        claim = &entry->claim;
        policy = entry->policy;
        counters = policy->counters;
        status = ngx_http_slidewin_entry_status(entry);

        ngx_http_slidewin_stats_count(&counters->evaluations[status]
                                                            [entry->source],
                                      1);

        if (ngx_http_slidewin_entry_has_verdict(entry)) {
            level = sw_verdict_level(&claim->verdict, &claim->rule, &scale);

            ngx_http_slidewin_stats_utilization(counters, level,
                                                claim->rule.limit * scale);
        }

        if (status == NGX_HTTP_SLIDEWIN_REJECTED && policy->top) {
            ngx_http_slidewin_top_add(policy->top, &claim->key);
        }

        if (ngx_http_slidewin_shared_key_due(policy)) {
            ngx_http_slidewin_shared_key_sample(ctx->request, policy,
                                                &claim->key);
        }
    }

    smcf = ngx_http_get_module_main_conf(ctx->request,
                                         ngx_http_slidewin_module);

    ngx_http_slidewin_stats_count(&smcf->counters->decisions[ctx->status], 1);
}
