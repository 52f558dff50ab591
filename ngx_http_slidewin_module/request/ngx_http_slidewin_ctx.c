
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_cache.h"
#include "ngx_http_slidewin_ctx.h"
#include "ngx_http_slidewin_module.h"


static void ngx_http_slidewin_ctx_cleanup(void *data);


void  (*ngx_http_slidewin_ctx_end)(ngx_http_slidewin_ctx_t *ctx);
void  (*ngx_http_slidewin_ctx_abandon)(ngx_http_slidewin_ctx_t *ctx);


ngx_str_t  ngx_http_slidewin_statuses[] = {
    [NGX_HTTP_SLIDEWIN_UNDECIDED] = ngx_null_string,
    [NGX_HTTP_SLIDEWIN_BYPASSED] = ngx_string("BYPASSED"),
    [NGX_HTTP_SLIDEWIN_PASSED] = ngx_string("PASSED"),
    [NGX_HTTP_SLIDEWIN_DELAYED] = ngx_string("DELAYED"),
    [NGX_HTTP_SLIDEWIN_ERROR_PASSED] = ngx_string("ERROR_PASSED"),
    [NGX_HTTP_SLIDEWIN_REJECTED_DRY_RUN] = ngx_string("REJECTED_DRY_RUN"),
    [NGX_HTTP_SLIDEWIN_REJECTED] = ngx_string("REJECTED"),
    [NGX_HTTP_SLIDEWIN_BANNED] = ngx_string("BANNED"),
    [NGX_HTTP_SLIDEWIN_ERROR_REJECTED] = ngx_string("ERROR_REJECTED")
};


ngx_str_t  ngx_http_slidewin_sources[] = {
    [NGX_HTTP_SLIDEWIN_SOURCE_NONE] = ngx_null_string,
    [NGX_HTTP_SLIDEWIN_SOURCE_LOCAL] = ngx_string("local"),
    [NGX_HTTP_SLIDEWIN_SOURCE_REDIS] = ngx_string("redis"),
    [NGX_HTTP_SLIDEWIN_SOURCE_LEASE] = ngx_string("lease"),
    [NGX_HTTP_SLIDEWIN_SOURCE_DENY_CACHE] = ngx_string("deny_cache"),
    [NGX_HTTP_SLIDEWIN_SOURCE_FALLBACK] = ngx_string("fallback"),
    [NGX_HTTP_SLIDEWIN_SOURCE_FAIL_OPEN] = ngx_string("fail_open"),
    [NGX_HTTP_SLIDEWIN_SOURCE_FAIL_CLOSED] = ngx_string("fail_closed")
};


/* the redirect has not cleared the pool's cleanups */

ngx_http_slidewin_ctx_t *
ngx_http_slidewin_ctx_find_again(ngx_http_request_t *r)
{
    ngx_pool_cleanup_t       *cln;
    ngx_http_slidewin_ctx_t  *ctx;

    for (cln = r->pool->cleanup; cln; cln = cln->next) {
        if (cln->handler == ngx_http_slidewin_ctx_cleanup) {
            ctx = cln->data;
            ngx_http_set_ctx(r, ctx, ngx_http_slidewin_module);
            return ctx;
        }
    }

    return NULL;
}


ngx_http_slidewin_ctx_t *
ngx_http_slidewin_ctx_create(ngx_http_request_t *r, ngx_uint_t n)
{
    size_t                    size;
    ngx_pool_cleanup_t       *cln;
    ngx_http_slidewin_ctx_t  *ctx;

    size = sizeof(ngx_http_slidewin_ctx_t)
           + n * (sizeof(ngx_http_slidewin_entry_t)
                  + sizeof(ngx_http_slidewin_claim_t *));

    cln = ngx_pool_cleanup_add(r->pool, size);
    if (cln == NULL) {
        return NULL;
    }

    ctx = cln->data;
    ngx_memzero(ctx, size);

    ctx->request = r;
    ctx->pass = &ctx->entries;
    ctx->allocated = (ngx_http_slidewin_entry_t *) &ctx[1];
    ctx->call.claims = (ngx_http_slidewin_claim_t **) &ctx->allocated[n];

    cln->handler = ngx_http_slidewin_ctx_cleanup;
    ngx_http_set_ctx(r, ctx, ngx_http_slidewin_module);

    return ctx;
}


/* the client may have left while the request waited */

static void
ngx_http_slidewin_ctx_cleanup(void *data)
{
    ngx_http_slidewin_ctx_t  *ctx = data;

    if (ctx->pending || ctx->waiter) {
        ngx_http_slidewin_ctx_cancel(ctx);
    }

    if (!ctx->recorded) {
        ngx_http_slidewin_ctx_end(ctx);
    }
}


void
ngx_http_slidewin_ctx_cancel(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_http_slidewin_entry_t  *entry;

    if (ctx->pending) {

        for (entry = *ctx->pass; entry; entry = entry->next) {
            if (entry->limit->count
                && !sw_statuses_have(entry->limit->count,
                                     NGX_HTTP_CLIENT_CLOSED_REQUEST))
            {
                entry->claim.refund_if_left = 1;
            }
        }

        ngx_http_slidewin_ctx_abandon(ctx);
        ctx->pending = NULL;
        ctx->peek_pending = 0;
        ctx->ban_pending = 0;
    }

    ngx_http_slidewin_ctx_dequeue(ctx);
}


void
ngx_http_slidewin_pass_refund(ngx_http_slidewin_ctx_t *ctx, ngx_uint_t all)
{
    sw_verdict_t               *verdict;
    ngx_http_slidewin_claim_t  *claim;
    ngx_http_slidewin_entry_t  *entry;

    for (entry = *ctx->pass; entry; entry = entry->next) {
        claim = &entry->claim;

        if (!claim->counted || !(all || claim->dry_run)) {
            continue;
        }

        ngx_http_slidewin_entry_refund(entry);

        verdict = ngx_http_slidewin_entry_verdict(entry);
        verdict->remaining += claim->cost;
        verdict->level -= claim->cost * verdict->scale;
    }
}


ngx_uint_t
ngx_http_slidewin_entry_has_verdict(ngx_http_slidewin_entry_t *entry)
{
    return entry->decided && !entry->superseded
           && entry->source != NGX_HTTP_SLIDEWIN_SOURCE_FAIL_OPEN
           && entry->source != NGX_HTTP_SLIDEWIN_SOURCE_FAIL_CLOSED;
}


ngx_uint_t
ngx_http_slidewin_same_client(ngx_http_slidewin_entry_t *one,
    ngx_http_slidewin_entry_t *two)
{
    ngx_str_t  *k1, *k2;

    k1 = &one->claim.key;
    k2 = &two->claim.key;

    return k1->len == k2->len && ngx_memcmp(k1->data, k2->data, k1->len) == 0;
}


sw_verdict_t *
ngx_http_slidewin_entry_verdict(ngx_http_slidewin_entry_t *entry)
{
    sw_verdict_complete(&entry->claim.verdict, &entry->claim.rule);

    return &entry->claim.verdict;
}


void
ngx_http_slidewin_entry_refund(ngx_http_slidewin_entry_t *entry)
{
    ngx_http_slidewin_cache_refund(entry->policy, entry->store, &entry->claim,
                                   entry->source
                                   == NGX_HTTP_SLIDEWIN_SOURCE_LEASE,
                                   NULL, NULL);
}


/* the jitter spreads clients that were rejected at the same time */

int64_t
ngx_http_slidewin_retry_after(ngx_http_slidewin_ctx_t *ctx)
{
    sw_verdict_t  *verdict;

    verdict = ngx_http_slidewin_entry_verdict(ctx->decider);

    if (verdict->admitted || verdict->retry == SW_NEVER) {
        return SW_NEVER;
    }

    return ngx_http_slidewin_seconds(verdict->retry + ctx->jitter);
}


int64_t
ngx_http_slidewin_seconds(int64_t ms)
{
    return (ms + 999) / 1000;
}
