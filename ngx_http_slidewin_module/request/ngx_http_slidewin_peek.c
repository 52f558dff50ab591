
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_outcome.h"
#include "ngx_http_slidewin_cache.h"
#include "ngx_http_slidewin_peek.h"


/* one is the store's */
#define NGX_HTTP_SLIDEWIN_LOOK_MAX  (NGX_HTTP_SLIDEWIN_CLAIMS_MAX - 1)


typedef struct {
    ngx_http_slidewin_claim_t    claim;      /* a copy */
    ngx_http_slidewin_entry_t   *entry;
} ngx_http_slidewin_glance_t;


/* what is looked at together, in the place of the call's own claims */

struct ngx_http_slidewin_look_s {
    ngx_http_slidewin_claim_t  **taken;      /* those */
    ngx_http_slidewin_claim_t  **claims;
    ngx_http_slidewin_glance_t  *glances;
    ngx_uint_t                   n;
    ngx_uint_t                   most;
};


static ngx_http_slidewin_look_t *ngx_http_slidewin_look_create(
    ngx_http_slidewin_ctx_t *ctx);
static ngx_http_slidewin_store_t *ngx_http_slidewin_look_collect(
    ngx_http_slidewin_ctx_t *ctx);
static ngx_uint_t ngx_http_slidewin_look_concerns(
    ngx_http_slidewin_ctx_t *ctx, ngx_http_slidewin_entry_t *entry,
    ngx_uint_t asked);
static void ngx_http_slidewin_look_refused(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_glance_t *glance, ngx_http_slidewin_source_e source);


ngx_int_t
ngx_http_slidewin_look(ngx_http_slidewin_ctx_t *ctx)
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

    ngx_http_slidewin_uncount(ctx, 1);

    if (ctx->look == NULL) {
        ctx->look = ngx_http_slidewin_look_create(ctx);
        if (ctx->look == NULL) {
            return NGX_OK;
        }
    }

    for ( ;; ) {
        store = ngx_http_slidewin_look_collect(ctx);

        if (store == NULL) {
            return NGX_OK;
        }

        ctx->look->taken = ctx->call.claims;
        ctx->call.claims = ctx->look->claims;
        ctx->call.n = ctx->look->n;
        ctx->call.asked = ngx_http_slidewin_clock_us();

        rc = store->backend->look(store, &ctx->call);

        if (rc == NGX_AGAIN) {
            ctx->waiting = store;
            ctx->looks = 1;
            return NGX_AGAIN;
        }

        ngx_http_slidewin_look_done(ctx, rc);
    }
}


static ngx_http_slidewin_look_t *
ngx_http_slidewin_look_create(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_uint_t                  n;
    ngx_http_slidewin_look_t   *look;
    ngx_http_slidewin_entry_t  *entry;

    n = 0;

    for (entry = ctx->entries; entry; entry = entry->next) {
        n++;
    }

    n = ngx_min(n, NGX_HTTP_SLIDEWIN_LOOK_MAX);

    look = ngx_palloc(ctx->request->pool,
                      sizeof(ngx_http_slidewin_look_t)
                      + (n + 1) * (sizeof(ngx_http_slidewin_glance_t)
                                   + sizeof(ngx_http_slidewin_claim_t *)));
    if (look == NULL) {
        return NULL;
    }

    look->most = n;
    look->glances = (ngx_http_slidewin_glance_t *) &look[1];
    look->claims = (ngx_http_slidewin_claim_t **) &look->glances[n + 1];

    return look;
}


/* as many as a store can tell of in one call, and that are not known here */

static ngx_http_slidewin_store_t *
ngx_http_slidewin_look_collect(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_uint_t                   group, its, asked;
    ngx_http_slidewin_look_t    *look;
    ngx_http_slidewin_entry_t   *entry;
    ngx_http_slidewin_store_t   *store;
    ngx_http_slidewin_glance_t  *glance;

    look = ctx->look;
    look->n = 0;

    store = NULL;
    group = 0;
    asked = 1;

    for (entry = ctx->entries; entry; entry = entry->next) {

        /* what earlier passes have asked was admitted, and taken */

        if (entry == *ctx->pass) {
            asked = 0;
        }

        if (!ngx_http_slidewin_look_concerns(ctx, entry, asked)
            || (store && entry->store != store)
            || look->n == look->most)
        {
            continue;
        }

        its = entry->store->backend->group
                  ? entry->store->backend->group(entry->store, &entry->claim)
                  : 0;

        if (store && its != group) {
            continue;
        }

        glance = &look->glances[look->n];

        glance->entry = entry;
        glance->claim = entry->claim;
        glance->claim.unwanted = 0;
        glance->claim.cost = entry->cost;

        entry->looked = 1;

        if (!entry->store->local
            && ngx_http_slidewin_edge_knows(entry, &glance->claim))
        {
            ngx_http_slidewin_look_refused(ctx, glance,
                                       NGX_HTTP_SLIDEWIN_SOURCE_DENY_CACHE);
            continue;
        }

        store = entry->store;
        group = its;
        look->claims[look->n++] = &glance->claim;
    }

    look->claims[look->n] = &look->glances[look->n].claim;

    return store;
}


/*
 * A request that may wait needs no more than its own pass asks for.  One that
 * is rejected comes back from the beginning, where all of its limits have to
 * admit the whole of it.
 */

static ngx_uint_t
ngx_http_slidewin_look_concerns(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry, ngx_uint_t asked)
{
    ngx_http_slidewin_entry_t  *other;

    if (entry->looked || entry->claim.dry_run || entry->cost == 0) {
        return 0;
    }

    if (!asked && !entry->settled) {
        return entry->store->backend->look != NULL;
    }

    if (!ctx->rejected || !ngx_http_slidewin_entry_known(entry)
        || entry->store->backend->look == NULL
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
ngx_http_slidewin_look_done(ngx_http_slidewin_ctx_t *ctx, ngx_int_t rc)
{
    ngx_uint_t                   i;
    ngx_http_slidewin_look_t    *look;
    ngx_http_slidewin_entry_t   *entry;
    ngx_http_slidewin_glance_t  *glance;

    look = ctx->look;

    ctx->looks = 0;
    ctx->call.claims = look->taken;

    if (rc != NGX_OK) {
        for (entry = ctx->entries; entry; entry = entry->next) {
            if (entry->store && !entry->store->local) {
                entry->looked = 1;
            }
        }

        return;
    }

    for (i = 0; i < look->n; i++) {
        glance = &look->glances[i];
        entry = glance->entry;

        if (entry->store->local) {
            ngx_http_slidewin_look_refused(ctx, glance,
                                           NGX_HTTP_SLIDEWIN_SOURCE_LOCAL);
            continue;
        }

        ngx_http_slidewin_edge_saw(entry, &glance->claim, ctx->call.asked);

        ngx_http_slidewin_look_refused(ctx, glance,
                                       NGX_HTTP_SLIDEWIN_SOURCE_REDIS);
    }
}


/* one that has room is told of as little as if it had not been looked at */

static void
ngx_http_slidewin_look_refused(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_glance_t *glance, ngx_http_slidewin_source_e source)
{
    ngx_http_slidewin_entry_t  *entry;

    entry = glance->entry;

    if (glance->claim.verdict.admitted) {
        return;
    }

    entry->claim.verdict = glance->claim.verdict;

    if (!entry->settled) {
        entry->settled = 1;
        ctx->undecided--;
    }

    if (entry->source != NGX_HTTP_SLIDEWIN_SOURCE_FALLBACK) {
        entry->source = source;
    }
}
