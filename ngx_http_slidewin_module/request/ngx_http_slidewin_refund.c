
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_refund.h"


typedef ngx_int_t (*ngx_http_slidewin_verb_pt)(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call);


/* a call that is its own owner; claims and the bytes of their keys follow */

typedef struct {
    ngx_http_slidewin_call_t    call;
    ngx_http_slidewin_store_t  *store;
} ngx_http_slidewin_detached_t;


static void ngx_http_slidewin_detached_call(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim, ngx_http_slidewin_verb_pt verb);
static void ngx_http_slidewin_detached_done(ngx_http_slidewin_call_t *call,
    ngx_int_t rc);
static void ngx_http_slidewin_abandoned_done(ngx_http_slidewin_call_t *call,
    ngx_int_t rc);
static ngx_http_slidewin_detached_t *ngx_http_slidewin_detached_copy(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t **claims,
    ngx_uint_t n);


void
ngx_http_slidewin_refund(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim)
{
    ngx_http_slidewin_detached_call(store, claim, store->backend->give_back);

    claim->counted = 0;
}


void
ngx_http_slidewin_reset_key(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim)
{
    ngx_http_slidewin_detached_call(store, claim, store->backend->reset);

    claim->counted = 0;
}


static void
ngx_http_slidewin_detached_call(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim, ngx_http_slidewin_verb_pt verb)
{
    ngx_http_slidewin_detached_t  *amend;

    amend = ngx_http_slidewin_detached_copy(store, &claim, 1);
    if (amend == NULL) {
        return;
    }

    amend->call.done = ngx_http_slidewin_detached_done;

    if (verb(store, &amend->call) != NGX_AGAIN) {
        ngx_free(amend);
    }
}


/*
 * If the store did not answer, the units stay counted until they leave by
 * themselves: a client may be held to less than its limit, never to more.
 */

static void
ngx_http_slidewin_detached_done(ngx_http_slidewin_call_t *call, ngx_int_t rc)
{
    ngx_free(call->data);
}


void
ngx_http_slidewin_abandon(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    ngx_uint_t                     i;
    ngx_http_slidewin_detached_t  *amend;

    amend = NULL;

    for (i = 0; i < call->n; i++) {
        if (call->claims[i]->unwanted || call->claims[i]->prefetch) {
            amend = ngx_http_slidewin_detached_copy(store, call->claims,
                                                    call->n);
            break;
        }
    }

    if (amend && store->backend->reassign) {
        amend->call.done = ngx_http_slidewin_abandoned_done;

        if (store->backend->reassign(store, call, &amend->call) == NGX_OK) {
            return;
        }
    }

    ngx_free(amend);

    store->backend->cancel(store, call);
}


static void
ngx_http_slidewin_abandoned_done(ngx_http_slidewin_call_t *call, ngx_int_t rc)
{
    ngx_uint_t                     i;
    ngx_http_slidewin_detached_t  *amend;
    ngx_http_slidewin_claim_t     *claim;

    amend = call->data;

    for (i = 0; rc == NGX_OK && i < call->n; i++) {
        claim = call->claims[i];

        if (!claim->counted) {
            continue;
        }

        /* nor is there anybody to take what was taken ahead */

        claim->cost = (claim->unwanted ? claim->cost : 0) + claim->prefetch;

        if (claim->cost) {
            ngx_http_slidewin_refund(amend->store, claim);
        }
    }

    ngx_free(amend);
}


static ngx_http_slidewin_detached_t *
ngx_http_slidewin_detached_copy(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t **claims, ngx_uint_t n)
{
    size_t                         size;
    u_char                        *key;
    ngx_uint_t                     i;
    ngx_http_slidewin_detached_t  *amend;
    ngx_http_slidewin_claim_t     *claim, **list;

    size = sizeof(ngx_http_slidewin_detached_t)
           + n * (sizeof(ngx_http_slidewin_claim_t)
                  + sizeof(ngx_http_slidewin_claim_t *));

    for (i = 0; i < n; i++) {
        size += claims[i]->key.len;
    }

    amend = ngx_alloc(size, ngx_cycle->log);
    if (amend == NULL) {
        return NULL;
    }

    claim = (ngx_http_slidewin_claim_t *) &amend[1];
    list = (ngx_http_slidewin_claim_t **) &claim[n];
    key = (u_char *) &list[n];

    for (i = 0; i < n; i++) {
        claim[i] = *claims[i];
        claim[i].key.data = key;
        key = ngx_cpymem(key, claims[i]->key.data, claims[i]->key.len);
        list[i] = &claim[i];
    }

    ngx_memzero(&amend->call, sizeof(ngx_http_slidewin_call_t));

    amend->store = store;
    amend->call.claims = list;
    amend->call.n = n;
    amend->call.log = ngx_cycle->log;
    amend->call.data = amend;

    return amend;
}
