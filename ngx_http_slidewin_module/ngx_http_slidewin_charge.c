
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_charge.h"
#include "sw_math.h"


#define NGX_HTTP_SLIDEWIN_CHARGES  256


/* a client of a policy while a store is asked; the bytes of its key follow */

typedef struct {
    ngx_queue_t                      queue;
    uint32_t                         hash;
    ngx_http_slidewin_store_t       *store;
    ngx_http_slidewin_call_t        *call;
    ngx_http_slidewin_claim_t        claim;
    int64_t                          sum;     /* for the next call */
    ngx_uint_t                       summed;  /* requests */
    ngx_uint_t                       asked;   /* requests of this call */
    ngx_http_slidewin_detached_pt    done;
    void                            *data;
} ngx_http_slidewin_charge_t;


static ngx_queue_t *ngx_http_slidewin_charge_bucket(uint32_t hash);
static ngx_http_slidewin_charge_t *ngx_http_slidewin_charge_find(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t *claim,
    uint32_t hash);
static ngx_uint_t ngx_http_slidewin_charge_is_of(
    ngx_http_slidewin_charge_t *charge, ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim, uint32_t hash);
static void ngx_http_slidewin_charge_ask(ngx_http_slidewin_charge_t *charge);
static void ngx_http_slidewin_charge_asked(void *data, ngx_int_t rc,
    ngx_uint_t n);


/* of this worker */

static ngx_queue_t
    ngx_http_slidewin_charges[NGX_HTTP_SLIDEWIN_CHARGES];


void
ngx_http_slidewin_charge(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim, ngx_http_slidewin_detached_pt done,
    void *data)
{
    uint32_t                     hash;
    ngx_http_slidewin_charge_t  *charge;

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "slidewin charge: zone:%V units:%L",
                   &claim->name, claim->cost);

    if (store->local) {
        (void) ngx_http_slidewin_detached_call(store, claim,
                                               store->backend->charge, done,
                                               data);
        return;
    }

    hash = ngx_murmur_hash2(claim->key.data, claim->key.len);
    charge = ngx_http_slidewin_charge_find(store, claim, hash);

    if (charge) {
        charge->sum = sw_min(charge->sum + claim->cost,
                             sw_rule_most(&claim->rule));
        charge->summed++;
        return;
    }

    charge = ngx_alloc(sizeof(ngx_http_slidewin_charge_t) + claim->key.len,
                       ngx_cycle->log);

    if (charge == NULL) {
        ngx_http_slidewin_detached_result(done, data, NGX_ERROR, 1);
        return;
    }

    charge->hash = hash;
    charge->store = store;
    charge->claim = *claim;
    charge->claim.key.data = (u_char *) &charge[1];
    ngx_memcpy(&charge[1], claim->key.data, claim->key.len);
    charge->sum = claim->cost;
    charge->summed = 1;
    charge->done = done;
    charge->data = data;

    ngx_queue_insert_head(ngx_http_slidewin_charge_bucket(hash),
                          &charge->queue);

    ngx_http_slidewin_charge_ask(charge);
}


void
ngx_http_slidewin_charge_forget(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim)
{
    uint32_t                     hash;
    ngx_queue_t                 *q, *next, *bucket;
    ngx_http_slidewin_charge_t  *charge;

    hash = ngx_murmur_hash2(claim->key.data, claim->key.len);
    bucket = ngx_http_slidewin_charge_bucket(hash);

    for (q = ngx_queue_head(bucket);
         q != ngx_queue_sentinel(bucket);
         q = next)
    {
        next = ngx_queue_next(q);
        charge = ngx_queue_data(q, ngx_http_slidewin_charge_t, queue);

        if (!ngx_http_slidewin_charge_is_of(charge, store, claim, hash)) {
            continue;
        }

        ngx_http_slidewin_detached_cancel(store, charge->call);

        ngx_http_slidewin_detached_result(charge->done, charge->data, NGX_OK,
                                          charge->asked + charge->summed);

        ngx_queue_remove(q);
        ngx_free(charge);
    }
}


static ngx_queue_t *
ngx_http_slidewin_charge_bucket(uint32_t hash)
{
    ngx_queue_t  *bucket;

    bucket = &ngx_http_slidewin_charges[hash % NGX_HTTP_SLIDEWIN_CHARGES];

    if (bucket->next == NULL) {
        ngx_queue_init(bucket);
    }

    return bucket;
}


static ngx_http_slidewin_charge_t *
ngx_http_slidewin_charge_find(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim, uint32_t hash)
{
    sw_rule_t                   *r1, *r2;
    ngx_queue_t                 *q, *bucket;
    ngx_http_slidewin_charge_t  *charge;

    bucket = ngx_http_slidewin_charge_bucket(hash);

    for (q = ngx_queue_head(bucket);
         q != ngx_queue_sentinel(bucket);
         q = ngx_queue_next(q))
    {
        charge = ngx_queue_data(q, ngx_http_slidewin_charge_t, queue);

        r1 = &charge->claim.rule;
        r2 = &claim->rule;

        if (ngx_http_slidewin_charge_is_of(charge, store, claim, hash)
            && r1->algorithm == r2->algorithm
            && r1->window == r2->window
            && r1->slices == r2->slices)
        {
            return charge;
        }
    }

    return NULL;
}


static ngx_uint_t
ngx_http_slidewin_charge_is_of(ngx_http_slidewin_charge_t *charge,
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t *claim,
    uint32_t hash)
{
    return charge->hash == hash && charge->store == store
           && charge->claim.zone == claim->zone
           && charge->claim.key.len == claim->key.len
           && ngx_memcmp(charge->claim.key.data, claim->key.data,
                         claim->key.len) == 0;
}


/* the charge may be gone when this returns */

static void
ngx_http_slidewin_charge_ask(ngx_http_slidewin_charge_t *charge)
{
    ngx_http_slidewin_call_t  *call;

    charge->claim.cost = charge->sum;
    charge->asked = charge->summed;
    charge->sum = 0;
    charge->summed = 0;

    call = ngx_http_slidewin_detached_call(charge->store, &charge->claim,
                                           charge->store->backend->charge,
                                           ngx_http_slidewin_charge_asked,
                                           charge);
    if (call) {
        charge->call = call;
    }
}


static void
ngx_http_slidewin_charge_asked(void *data, ngx_int_t rc, ngx_uint_t n)
{
    ngx_http_slidewin_charge_t  *charge;

    charge = data;

    ngx_http_slidewin_detached_result(charge->done, charge->data, rc,
                                      charge->asked);

    if (charge->summed) {
        ngx_http_slidewin_charge_ask(charge);
        return;
    }

    ngx_queue_remove(&charge->queue);
    ngx_free(charge);
}
