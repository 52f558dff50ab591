
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_refund.h"


/* on the heap; the claims, and the bytes of their keys, follow */

typedef struct {
    ngx_http_slidewin_call_t          call;
    ngx_http_slidewin_store_t        *store;
    ngx_http_slidewin_detached_pt     done;
    ngx_http_slidewin_ban_began_pt    ban_began; /* of an abandoned call */
    void                             *data;
} ngx_http_slidewin_detached_t;


static void ngx_http_slidewin_detached_done(ngx_http_slidewin_call_t *call,
    ngx_int_t rc);
static void ngx_http_slidewin_abandoned_done(ngx_http_slidewin_call_t *call,
    ngx_int_t rc);
static ngx_http_slidewin_detached_t *ngx_http_slidewin_detached_copy(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t **claims,
    ngx_uint_t n);


void
ngx_http_slidewin_refund(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim, ngx_http_slidewin_detached_pt done,
    void *data)
{
    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "slidewin refund: zone:%V units:%L",
                   &claim->name, claim->cost);

    (void) ngx_http_slidewin_detached_call(store, claim,
                                           store->backend->give_back, done,
                                           data);

    claim->counted = 0;
}


void
ngx_http_slidewin_reset_key(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim)
{
    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "slidewin reset: zone:%V key:\"%V\"",
                   &claim->name, &claim->key);

    (void) ngx_http_slidewin_detached_call(store, claim,
                                           store->backend->reset, NULL, NULL);

    claim->counted = 0;
}


ngx_http_slidewin_call_t *
ngx_http_slidewin_detached_call(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim, ngx_http_slidewin_verb_pt verb,
    ngx_http_slidewin_detached_pt done, void *data)
{
    ngx_int_t                      rc;
    ngx_http_slidewin_detached_t  *detached;

    detached = ngx_http_slidewin_detached_copy(store, &claim, 1);

    if (detached == NULL) {
        ngx_http_slidewin_detached_result(done, data, NGX_ERROR, 1);
        return NULL;
    }

    detached->call.done = ngx_http_slidewin_detached_done;
    detached->done = done;
    detached->data = data;

    rc = verb(store, &detached->call);

    if (rc == NGX_AGAIN) {
        return &detached->call;
    }

    ngx_http_slidewin_detached_done(&detached->call, rc);

    return NULL;
}


void
ngx_http_slidewin_detached_cancel(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    store->backend->cancel(store, call);

    ngx_free(call->data);
}


/*
 * If the store did not answer, units that were to be refunded stay counted
 * until they leave the window, and a charge is lost: what was reserved stays.
 */

static void
ngx_http_slidewin_detached_done(ngx_http_slidewin_call_t *call, ngx_int_t rc)
{
    ngx_http_slidewin_detached_t  *detached;

    detached = call->data;

    ngx_http_slidewin_detached_result(detached->done, detached->data, rc,
                                      1);

    ngx_free(detached);
}


void
ngx_http_slidewin_abandon(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call, ngx_http_slidewin_ban_began_pt ban_began,
    void *data)
{
    ngx_uint_t                     i, refunds;
    ngx_http_slidewin_detached_t  *detached;

    refunds = 0;

    for (i = 0; i < call->n; i++) {
        refunds |= call->claims[i]->refund_if_left
                   || call->claims[i]->prefetch;
    }

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, call->log, 0,
                   "slidewin abandon: claims:%ui%s", call->n,
                   refunds ? ", to be refunded" : "");

    detached = (refunds || data)
                   ? ngx_http_slidewin_detached_copy(store, call->claims,
                                                     call->n)
                   : NULL;

    if (detached && store->backend->reassign) {
        detached->call.done = ngx_http_slidewin_abandoned_done;
        detached->ban_began = ban_began;
        detached->data = data;

        if (store->backend->reassign(store, call, &detached->call) == NGX_OK) {
            return;
        }
    }

    ngx_free(detached);
    ngx_free(data);

    store->backend->cancel(store, call);
}


static void
ngx_http_slidewin_abandoned_done(ngx_http_slidewin_call_t *call, ngx_int_t rc)
{
    ngx_uint_t                     i;
    ngx_http_slidewin_detached_t  *detached;
    ngx_http_slidewin_claim_t     *claim;

    detached = call->data;

    for (i = 0; rc == NGX_OK && i < call->n; i++) {
        claim = call->claims[i];

        if (detached->data && claim->ban && claim->ban_began) {
            detached->ban_began(detached->data, claim);
        }

        if (!claim->counted) {
            continue;
        }

        /* no request is left to use the prefetched units */

        claim->cost = (claim->refund_if_left ? claim->cost : 0)
                      + claim->prefetch;

        if (claim->cost) {
            ngx_http_slidewin_refund(detached->store, claim, NULL, NULL);
        }
    }

    ngx_free(detached->data);
    ngx_free(detached);
}


static ngx_http_slidewin_detached_t *
ngx_http_slidewin_detached_copy(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t **claims, ngx_uint_t n)
{
    size_t                         size;
    u_char                        *key;
    ngx_uint_t                     i;
    ngx_http_slidewin_detached_t  *detached;
    ngx_http_slidewin_claim_t     *claim, **list;

    size = sizeof(ngx_http_slidewin_detached_t)
           + n * (sizeof(ngx_http_slidewin_claim_t)
                  + sizeof(ngx_http_slidewin_claim_t *));

    for (i = 0; i < n; i++) {
        size += claims[i]->key.len;
    }

    detached = ngx_alloc(size, ngx_cycle->log);
    if (detached == NULL) {
        return NULL;
    }

    claim = (ngx_http_slidewin_claim_t *) &detached[1];
    list = (ngx_http_slidewin_claim_t **) &claim[n];
    key = (u_char *) &list[n];

    for (i = 0; i < n; i++) {
        claim[i] = *claims[i];
        claim[i].key.data = key;
        key = ngx_cpymem(key, claims[i]->key.data, claims[i]->key.len);
        list[i] = &claim[i];
    }

    ngx_memzero(&detached->call, sizeof(ngx_http_slidewin_call_t));

    detached->store = store;
    detached->done = NULL;
    detached->ban_began = NULL;
    detached->data = NULL;
    detached->call.claims = list;
    detached->call.n = n;
    detached->call.log = ngx_cycle->log;
    detached->call.data = detached;

    return detached;
}
