
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_cache.h"
#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_peek.h"


/* the store needs one more, see backend.h */
#define NGX_HTTP_SLIDEWIN_PEEK_MAX  (NGX_HTTP_SLIDEWIN_CLAIMS_MAX - 1)


/* the entry's own claim keeps what was decided */

typedef struct {
    ngx_http_slidewin_claim_t       claim;
    ngx_http_slidewin_entry_t      *entry;
} ngx_http_slidewin_peek_item_t;


/* the claims of a peek replace those of the call until it is done */

struct ngx_http_slidewin_peek_s {
    ngx_http_slidewin_claim_t     **call_claims;
    ngx_http_slidewin_claim_t     **claims;
    ngx_http_slidewin_peek_item_t  *items;
    ngx_uint_t                      n;
    ngx_uint_t                      max;
};


static ngx_http_slidewin_peek_t *ngx_http_slidewin_peek_create(
    ngx_http_slidewin_ctx_t *ctx);
static ngx_http_slidewin_store_t *ngx_http_slidewin_peek_collect(
    ngx_http_slidewin_ctx_t *ctx);
static ngx_uint_t ngx_http_slidewin_peek_applies(
    ngx_http_slidewin_ctx_t *ctx, ngx_http_slidewin_entry_t *entry,
    ngx_uint_t earlier);
static void ngx_http_slidewin_peek_verdict(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_peek_item_t *item, ngx_http_slidewin_source_e source);


ngx_int_t
ngx_http_slidewin_peek(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_int_t                   rc;
    ngx_http_slidewin_entry_t  *entry;
    ngx_http_slidewin_store_t  *store;

    /* a request that on_error rejects has no Retry-After */

    for (entry = *ctx->pass; entry; entry = entry->next) {
        if (entry->source == NGX_HTTP_SLIDEWIN_SOURCE_FAIL_CLOSED
            && !entry->claim.dry_run)
        {
            return NGX_OK;
        }
    }

    /* at once, or other requests would wait for units to be refunded */

    ngx_http_slidewin_pass_refund(ctx, 1);

    if (ctx->peek == NULL) {
        ctx->peek = ngx_http_slidewin_peek_create(ctx);
        if (ctx->peek == NULL) {
            return NGX_OK;
        }
    }

    for ( ;; ) {
        store = ngx_http_slidewin_peek_collect(ctx);

        if (store == NULL) {
            return NGX_OK;
        }

        ctx->peek->call_claims = ctx->call.claims;
        ctx->call.claims = ctx->peek->claims;
        ctx->call.n = ctx->peek->n;
        ctx->call.asked_at = ngx_http_slidewin_clock_us();
        ctx->call.decided_at = 0;

        ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ctx->call.log, 0,
                       "slidewin peek: %s store, claims:%ui",
                       store->local ? "local" : "remote", ctx->call.n);

        rc = store->backend->peek(store, &ctx->call);

        if (rc == NGX_AGAIN) {
            ctx->pending = store;
            ctx->peek_pending = 1;
            return NGX_AGAIN;
        }

        ngx_http_slidewin_peek_done(ctx, rc);
    }
}


static ngx_http_slidewin_peek_t *
ngx_http_slidewin_peek_create(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_uint_t                  n;
    ngx_http_slidewin_peek_t   *peek;
    ngx_http_slidewin_entry_t  *entry;

    n = 0;

    for (entry = ctx->entries; entry; entry = entry->next) {
        n++;
    }

    n = ngx_min(n, NGX_HTTP_SLIDEWIN_PEEK_MAX);

    peek = ngx_palloc(ctx->request->pool,
                      sizeof(ngx_http_slidewin_peek_t)
                      + (n + 1) * (sizeof(ngx_http_slidewin_peek_item_t)
                                   + sizeof(ngx_http_slidewin_claim_t *)));
    if (peek == NULL) {
        return NULL;
    }

    peek->max = n;
    peek->items = (ngx_http_slidewin_peek_item_t *) &peek[1];
    peek->claims = (ngx_http_slidewin_claim_t **) &peek->items[n + 1];

    return peek;
}


/* claims for one call; a verdict that the cache knows is set by the way */

static ngx_http_slidewin_store_t *
ngx_http_slidewin_peek_collect(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_uint_t                      shard, entry_shard, earlier;
    ngx_http_slidewin_peek_t       *peek;
    ngx_http_slidewin_entry_t      *entry;
    ngx_http_slidewin_store_t      *store;
    ngx_http_slidewin_peek_item_t  *item;

    peek = ctx->peek;
    peek->n = 0;

    store = NULL;
    shard = 0;
    earlier = 1;

    for (entry = ctx->entries; entry; entry = entry->next) {

        if (entry == *ctx->pass) {
            earlier = 0;
        }

        if (!ngx_http_slidewin_peek_applies(ctx, entry, earlier)
            || (store && entry->store != store)
            || peek->n == peek->max)
        {
            continue;
        }

        entry_shard = entry->store->backend->shard
                          ? entry->store->backend->shard(entry->store,
                                                         &entry->claim)
                          : 0;

        if (store && entry_shard != shard) {
            continue;
        }

        item = &peek->items[peek->n];

        item->entry = entry;
        item->claim = entry->claim;
        item->claim.refund_if_left = 0;
        item->claim.begins_ban = 0;
        item->claim.cost = entry->cost;

        entry->peeked = 1;

        if (!entry->store->local
            && ngx_http_slidewin_cache_peek(entry->policy, entry->store,
                                            &item->claim))
        {
            ngx_http_slidewin_peek_verdict(ctx, item,
                                       NGX_HTTP_SLIDEWIN_SOURCE_DENY_CACHE);
            continue;
        }

        store = entry->store;
        shard = entry_shard;
        peek->claims[peek->n++] = &item->claim;
    }

    peek->claims[peek->n] = &peek->items[peek->n].claim;

    return store;
}


/*
 * A request that may wait needs its own pass to be admitted.  A rejected one is
 * sent again, and then the limits of all passes must admit the whole cost.
 */

static ngx_uint_t
ngx_http_slidewin_peek_applies(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry, ngx_uint_t earlier)
{
    ngx_http_slidewin_entry_t  *other;

    /* a cost of 0 waits for nothing but the end of a ban */

    if (entry->peeked || entry->claim.dry_run
        || (entry->cost == 0 && entry->claim.ban == NULL))
    {
        return 0;
    }

    if (!earlier && !entry->decided) {
        return entry->store->backend->peek != NULL;
    }

    if (!ctx->no_wait || !ngx_http_slidewin_entry_has_verdict(entry)
        || entry->store->backend->peek == NULL
        || ngx_http_slidewin_entry_verdict(entry)->remaining >= entry->cost)
    {
        return 0;
    }

    if (!earlier) {
        return entry->claim.cost < entry->cost;
    }

    for (other = *ctx->pass; other; other = other->next) {
        if (other->policy == entry->policy && !other->superseded
            && !other->claim.dry_run)
        {
            return 0;
        }
    }

    return 1;
}


/*
 * If the store does not answer, Retry-After is what is known so far, and no
 * other remote store is asked: the client has waited for one timeout.
 */

void
ngx_http_slidewin_peek_done(ngx_http_slidewin_ctx_t *ctx, ngx_int_t rc)
{
    ngx_uint_t                      i;
    ngx_http_slidewin_peek_t       *peek;
    ngx_http_slidewin_entry_t      *entry;
    ngx_http_slidewin_peek_item_t  *item;

    peek = ctx->peek;

    ctx->peek_pending = 0;
    ctx->call.claims = peek->call_claims;

    if (rc != NGX_OK) {
        for (entry = ctx->entries; entry; entry = entry->next) {
            if (entry->store && !entry->store->local) {
                entry->peeked = 1;
            }
        }

        return;
    }

    for (i = 0; i < peek->n; i++) {
        item = &peek->items[i];
        entry = item->entry;

        if (entry->store->local) {
            ngx_http_slidewin_peek_verdict(ctx, item,
                                           NGX_HTTP_SLIDEWIN_SOURCE_LOCAL);
            continue;
        }

        ngx_http_slidewin_cache_update_peek(entry->policy, &item->claim,
                                            ctx->call.asked_at);

        ngx_http_slidewin_peek_verdict(ctx, item,
                                       NGX_HTTP_SLIDEWIN_SOURCE_REDIS);
    }
}


/* a limit that would admit the request adds nothing to Retry-After */

static void
ngx_http_slidewin_peek_verdict(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_peek_item_t *item, ngx_http_slidewin_source_e source)
{
    ngx_http_slidewin_entry_t  *entry;

    entry = item->entry;

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, ctx->call.log, 0,
                   "slidewin peek: zone:%V %s source:%V", &entry->policy->name,
                   item->claim.verdict.admitted ? "admitted" : "rejected",
                   &ngx_http_slidewin_sources[source]);

    if (item->claim.verdict.admitted) {
        return;
    }

    /* units that are counted go back to where and when they were taken */

    if (entry->claim.counted) {
        sw_verdict_complete(&item->claim.verdict, &item->claim.rule);
        item->claim.verdict.stamp = entry->claim.verdict.stamp;
    }

    entry->claim.verdict = item->claim.verdict;

    /* a ban that this request has begun stays that */

    if (!entry->claim.ban_began) {
        entry->claim.banned = item->claim.banned;
    }

    if (!entry->decided) {
        entry->decided = 1;
        ctx->undecided--;
    }

    if (entry->source != NGX_HTTP_SLIDEWIN_SOURCE_FALLBACK
        && !entry->claim.ban_began && !entry->claim.counted)
    {
        entry->source = source;
    }
}
