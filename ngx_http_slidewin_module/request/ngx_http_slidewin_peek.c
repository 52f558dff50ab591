
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_cache.h"
#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_outcome.h"
#include "ngx_http_slidewin_peek.h"


/* one is the store's */
#define NGX_HTTP_SLIDEWIN_LOOK_MAX  (NGX_HTTP_SLIDEWIN_CLAIMS_MAX - 1)


typedef struct {
    ngx_http_slidewin_claim_t    claim;      /* a copy */
    ngx_http_slidewin_entry_t   *entry;
} ngx_http_slidewin_glance_t;


/* what is looked at together, in the place of the call's own claims */

struct ngx_http_slidewin_peek_s {
    ngx_http_slidewin_claim_t  **taken;      /* those */
    ngx_http_slidewin_claim_t  **claims;
    ngx_http_slidewin_glance_t  *glances;
    ngx_uint_t                   n;
    ngx_uint_t                   most;
};


static ngx_http_slidewin_peek_t *ngx_http_slidewin_peek_create(
    ngx_http_slidewin_ctx_t *ctx);
static ngx_http_slidewin_store_t *ngx_http_slidewin_peek_collect(
    ngx_http_slidewin_ctx_t *ctx);
static ngx_uint_t ngx_http_slidewin_peek_applies(
    ngx_http_slidewin_ctx_t *ctx, ngx_http_slidewin_entry_t *entry,
    ngx_uint_t asked);
static void ngx_http_slidewin_peek_rejected(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_glance_t *glance, ngx_http_slidewin_source_e source);


ngx_int_t
ngx_http_slidewin_peek(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_int_t                   rc;
    ngx_http_slidewin_entry_t  *entry;
    ngx_http_slidewin_store_t  *store;

    /* a request that failed is told no time */

    for (entry = *ctx->pass; entry; entry = entry->next) {
        if (entry->source == NGX_HTTP_SLIDEWIN_SOURCE_FAIL_CLOSED
            && !entry->claim.dry_run)
        {
            return NGX_OK;
        }
    }

    /* it is refused: what it has reserved does not wait for its time */

    ngx_http_slidewin_outcome_refund(ctx, 1);

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

        ctx->peek->taken = ctx->call.claims;
        ctx->call.claims = ctx->peek->claims;
        ctx->call.n = ctx->peek->n;
        ctx->call.asked = ngx_http_slidewin_clock_us();

        rc = store->backend->peek(store, &ctx->call);

        if (rc == NGX_AGAIN) {
            ctx->waiting = store;
            ctx->peeking = 1;
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

    n = ngx_min(n, NGX_HTTP_SLIDEWIN_LOOK_MAX);

    peek = ngx_palloc(ctx->request->pool,
                      sizeof(ngx_http_slidewin_peek_t)
                      + (n + 1) * (sizeof(ngx_http_slidewin_glance_t)
                                   + sizeof(ngx_http_slidewin_claim_t *)));
    if (peek == NULL) {
        return NULL;
    }

    peek->most = n;
    peek->glances = (ngx_http_slidewin_glance_t *) &peek[1];
    peek->claims = (ngx_http_slidewin_claim_t **) &peek->glances[n + 1];

    return peek;
}


/* as many as a store can tell of in one call, and that are not known here */

static ngx_http_slidewin_store_t *
ngx_http_slidewin_peek_collect(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_uint_t                   shard, its, asked;
    ngx_http_slidewin_peek_t    *peek;
    ngx_http_slidewin_entry_t   *entry;
    ngx_http_slidewin_store_t   *store;
    ngx_http_slidewin_glance_t  *glance;

    peek = ctx->peek;
    peek->n = 0;

    store = NULL;
    shard = 0;
    asked = 1;

    for (entry = ctx->entries; entry; entry = entry->next) {

        /* what earlier passes have asked was admitted, and taken */

        if (entry == *ctx->pass) {
            asked = 0;
        }

        if (!ngx_http_slidewin_peek_applies(ctx, entry, asked)
            || (store && entry->store != store)
            || peek->n == peek->most)
        {
            continue;
        }

        its = entry->store->backend->shard
                  ? entry->store->backend->shard(entry->store, &entry->claim)
                  : 0;

        if (store && its != shard) {
            continue;
        }

        glance = &peek->glances[peek->n];

        glance->entry = entry;
        glance->claim = entry->claim;
        glance->claim.unwanted = 0;
        glance->claim.cost = entry->cost;

        entry->peeked = 1;

        if (!entry->store->local
            && ngx_http_slidewin_cache_peek(entry->policy, entry->store,
                                            &glance->claim))
        {
            ngx_http_slidewin_peek_rejected(ctx, glance,
                                       NGX_HTTP_SLIDEWIN_SOURCE_DENY_CACHE);
            continue;
        }

        store = entry->store;
        shard = its;
        peek->claims[peek->n++] = &glance->claim;
    }

    peek->claims[peek->n] = &peek->glances[peek->n].claim;

    return store;
}


/*
 * A request that may wait needs no more than its own pass asks for.  One that
 * is rejected comes back from the beginning, where all of its limits have to
 * admit the whole of it.
 */

static ngx_uint_t
ngx_http_slidewin_peek_applies(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry, ngx_uint_t asked)
{
    ngx_http_slidewin_entry_t  *other;

    if (entry->peeked || entry->claim.dry_run || entry->cost == 0) {
        return 0;
    }

    if (!asked && !entry->decided) {
        return entry->store->backend->peek != NULL;
    }

    if (!ctx->rejected || !ngx_http_slidewin_entry_known(entry)
        || entry->store->backend->peek == NULL
        || ngx_http_slidewin_entry_verdict(entry)->remaining >= entry->cost)
    {
        return 0;
    }

    if (!asked) {
        return entry->claim.cost < entry->cost;
    }

    for (other = *ctx->pass; other; other = other->next) {
        if (other->policy == entry->policy && !other->shadowed
            && !other->claim.dry_run)
        {
            return 0;
        }
    }

    return 1;
}


/*
 * It was not necessary: if the store does not answer, what is known is told,
 * and no other that may keep the client waiting is asked.
 */

void
ngx_http_slidewin_peek_done(ngx_http_slidewin_ctx_t *ctx, ngx_int_t rc)
{
    ngx_uint_t                   i;
    ngx_http_slidewin_peek_t    *peek;
    ngx_http_slidewin_entry_t   *entry;
    ngx_http_slidewin_glance_t  *glance;

    peek = ctx->peek;

    ctx->peeking = 0;
    ctx->call.claims = peek->taken;

    if (rc != NGX_OK) {
        for (entry = ctx->entries; entry; entry = entry->next) {
            if (entry->store && !entry->store->local) {
                entry->peeked = 1;
            }
        }

        return;
    }

    for (i = 0; i < peek->n; i++) {
        glance = &peek->glances[i];
        entry = glance->entry;

        if (entry->store->local) {
            ngx_http_slidewin_peek_rejected(ctx, glance,
                                            NGX_HTTP_SLIDEWIN_SOURCE_LOCAL);
            continue;
        }

        ngx_http_slidewin_cache_update_peek(entry->policy, &glance->claim,
                                            ctx->call.asked);

        ngx_http_slidewin_peek_rejected(ctx, glance,
                                        NGX_HTTP_SLIDEWIN_SOURCE_REDIS);
    }
}


/* one that has room is told of as little as if it had not been looked at */

static void
ngx_http_slidewin_peek_rejected(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_glance_t *glance, ngx_http_slidewin_source_e source)
{
    ngx_http_slidewin_entry_t  *entry;

    entry = glance->entry;

    if (glance->claim.verdict.admitted) {
        return;
    }

    entry->claim.verdict = glance->claim.verdict;

    if (!entry->decided) {
        entry->decided = 1;
        ctx->undecided--;
    }

    if (entry->source != NGX_HTTP_SLIDEWIN_SOURCE_FALLBACK) {
        entry->source = source;
    }
}
