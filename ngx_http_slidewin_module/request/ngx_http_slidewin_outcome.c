
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_ban.h"
#include "ngx_http_slidewin_outcome.h"
#include "ngx_http_slidewin_report.h"


static void ngx_http_slidewin_outcome_supersede(ngx_http_slidewin_ctx_t *ctx);
static void ngx_http_slidewin_outcome_log(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx);
static void ngx_http_slidewin_outcome_log_ban(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx, ngx_http_slidewin_entry_t *entry,
    ngx_http_slidewin_status_e status);


#define ngx_http_slidewin_outcome_debug(r, ctx)                               \
    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, (r)->connection->log, 0,               \
                   "slidewin outcome: %V zone:%*s",                           \
                   &ngx_http_slidewin_statuses[(ctx)->status],                \
                   (ctx)->decider ? (ctx)->decider->policy->name.len : 0,     \
                   (ctx)->decider ? (ctx)->decider->policy->name.data         \
                                  : (u_char *) "")


ngx_int_t
ngx_http_slidewin_outcome(ngx_http_request_t *r, ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_loc_conf_t *slcf)
{
    ngx_uint_t                  status, dry_run_admits;
    ngx_http_slidewin_entry_t  *entry;

    dry_run_admits = 1;
    ctx->undecided = 0;
    ctx->decider = NULL;
    ctx->status = NGX_HTTP_SLIDEWIN_BYPASSED;

    if (ctx->pass != &ctx->entries) {
        ngx_http_slidewin_outcome_supersede(ctx);
    }

    for (entry = ctx->entries; entry; entry = entry->next) {

        if (!entry->decided) {
            continue;
        }

        if (entry->claim.dry_run && !entry->claim.verdict.admitted) {
            dry_run_admits = 0;
        }

        if (entry->superseded) {
            continue;
        }

        if (ctx->decider == NULL
            || ngx_http_slidewin_outcome_precedes(entry, ctx->decider))
        {
            ctx->decider = entry;
            ctx->status = ngx_http_slidewin_entry_status(entry);
        }
    }

    /* most requests are admitted, and there is nothing to tell */

    if (ctx->status <= NGX_HTTP_SLIDEWIN_DELAYED && dry_run_admits
        && !ctx->has_bans)
    {
        ngx_http_slidewin_ctx_dequeue(ctx);
        ngx_http_slidewin_outcome_debug(r, ctx);

        return NGX_DECLINED;
    }

    /*
     * A rejected request is not counted by the pass that rejects it.  A request
     * that a dry run would reject is not counted by dry runs.
     */

    if (ctx->rejected || !dry_run_admits) {
        ngx_http_slidewin_pass_refund(ctx, ctx->rejected);
    }

    ngx_http_slidewin_ctx_dequeue(ctx);

    if (ctx->has_bans) {
        ngx_http_slidewin_ban_outcome(ctx);
    }

    if (ctx->rejected && slcf->retry_jitter) {
        ctx->jitter = (uint32_t) (ngx_random() % (slcf->retry_jitter + 1));
    }

    if (ctx->status > NGX_HTTP_SLIDEWIN_DELAYED
        && ngx_http_slidewin_report_enabled(r, slcf, ctx->status))
    {
        ngx_http_slidewin_outcome_log(r, ctx);
    }

    ngx_http_slidewin_outcome_debug(r, ctx);

    /* never NGX_OK: "satisfy any" would take it for a password */

    if (!ctx->rejected) {
        return NGX_DECLINED;
    }

    status = (ctx->status == NGX_HTTP_SLIDEWIN_ERROR_REJECTED)
                 ? NGX_HTTP_SERVICE_UNAVAILABLE
                 : slcf->status;

    /* not by the return code: "satisfy any" would let 401 and 403 pass */

    ngx_http_finalize_request(r, status);

    return NGX_DONE;
}


/*
 * The graver outcome; of two rejections, by a ban or not, the longer, since
 * both must end; of two admissions the one with less remaining.
 */

ngx_uint_t
ngx_http_slidewin_outcome_precedes(ngx_http_slidewin_entry_t *one,
    ngx_http_slidewin_entry_t *two)
{
    sw_verdict_t                *v1, *v2;
    ngx_http_slidewin_status_e   s1, s2;

    s1 = ngx_http_slidewin_entry_status(one);
    s2 = ngx_http_slidewin_entry_status(two);

    if (s1 == NGX_HTTP_SLIDEWIN_BANNED) {
        s1 = NGX_HTTP_SLIDEWIN_REJECTED;
    }

    if (s2 == NGX_HTTP_SLIDEWIN_BANNED) {
        s2 = NGX_HTTP_SLIDEWIN_REJECTED;
    }

    if (s1 != s2) {
        return s1 > s2;
    }

    v1 = ngx_http_slidewin_entry_verdict(one);
    v2 = ngx_http_slidewin_entry_verdict(two);

    if (v1->admitted) {
        return v1->remaining < v2->remaining;
    }

    if (v1->retry == SW_NEVER || v2->retry == SW_NEVER) {
        return v2->retry != SW_NEVER;
    }

    return v1->retry > v2->retry;
}


/*
 * Of a policy that an earlier pass has claimed as well, the later verdict is
 * reported, unless it is a dry run's and the earlier one was enforced.
 */

static void
ngx_http_slidewin_outcome_supersede(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_http_slidewin_entry_t  *entry, *before;

    for (entry = *ctx->pass; entry; entry = entry->next) {

        if (!entry->decided || entry->superseded) {
            continue;
        }

        /* an entry that has only looked for a ban: others have the units */

        if (entry->claim.cost == 0 && entry->cost > 0
            && entry->claim.verdict.admitted)
        {
            entry->superseded = 1;
            continue;
        }

        for (before = ctx->entries;
             before != *ctx->pass;
             before = before->next)
        {
            if (before->policy == entry->policy
                && (before->claim.dry_run || !entry->claim.dry_run))
            {
                before->superseded = 1;
            }
        }
    }
}


static void
ngx_http_slidewin_outcome_log(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx)
{
    sw_verdict_t               *verdict;
    ngx_http_slidewin_entry_t  *entry;

    /* an operator is told of each ban, whichever policy decides */

    for (entry = ctx->has_bans ? *ctx->pass : NULL;
         entry;
         entry = entry->next)
    {
        if (entry->claim.ban_began && entry != ctx->decider) {
            ngx_http_slidewin_outcome_log_ban(r, ctx, entry,
                                    ngx_http_slidewin_entry_status(entry));
        }
    }

    entry = ctx->decider;

    if (!ngx_http_slidewin_entry_has_verdict(entry)) {
        ngx_http_slidewin_report(r, entry, ctx->status, "");
        return;
    }

    if (entry->claim.banned) {
        ngx_http_slidewin_outcome_log_ban(r, ctx, entry, ctx->status);
        return;
    }

    verdict = ngx_http_slidewin_entry_verdict(entry);

    if (verdict->retry == SW_NEVER) {
        ngx_http_slidewin_report(r, entry, ctx->status,
                                 ", its cost %L is above the limit %L: it can "
                                 "never pass",
                                 entry->claim.cost, entry->claim.rule.limit);
        return;
    }

    ngx_http_slidewin_report(r, entry, ctx->status, ", retry after: %Ls",
                             ngx_http_slidewin_retry_after(ctx));
}


static void
ngx_http_slidewin_outcome_log_ban(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx, ngx_http_slidewin_entry_t *entry,
    ngx_http_slidewin_status_e status)
{
    int64_t  banned, retry;

    banned = ngx_http_slidewin_seconds(entry->claim.banned);

    if (entry->claim.ban_began) {
        ngx_http_slidewin_report(r, entry, status,
                                 entry->claim.dry_run
                                     ? ", would be banned for %Ls"
                                     : ", banned for %Ls",
                                 banned);
        return;
    }

    /* a cost above the limit can never pass, but the ban ends */

    retry = ngx_http_slidewin_retry_after(ctx);

    ngx_http_slidewin_report(r, entry, status,
                             entry->claim.dry_run
                                 ? ", would be banned, retry after: %Ls"
                                 : ", banned, retry after: %Ls",
                             retry == SW_NEVER ? banned : retry);
}
