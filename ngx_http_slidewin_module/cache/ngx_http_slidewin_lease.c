
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_deny_cache.h"
#include "ngx_http_slidewin_lease.h"
#include "ngx_http_slidewin_memo.h"
#include "ngx_http_slidewin_refund.h"
#include "ngx_http_slidewin_snapshot.h"


/* how long units may be held: a part of the window, at most, ms */
#define NGX_HTTP_SLIDEWIN_LEASE_PART     10
#define NGX_HTTP_SLIDEWIN_LEASE_MAX      1000

/* at least between two looks for those that have ended, ms */
#define NGX_HTTP_SLIDEWIN_LEASE_WATCH    50

/* if there are more than are seen to at once */
#define NGX_HTTP_SLIDEWIN_LEASE_MORE     10

/* seen to at once, and by the last worker */
#define NGX_HTTP_SLIDEWIN_LEASE_ENDED    256
#define NGX_HTTP_SLIDEWIN_LEASE_LEFT     4096

/* whoever has a longer name asks every time */
#define NGX_HTTP_SLIDEWIN_LEASE_KEY_MAX  512


/* the key follows: a store is to be told whose units come back */

typedef struct {
    ngx_http_slidewin_memo_t      memo;
    sw_rule_t                     rule;
    ngx_http_slidewin_snapshot_t  echo;
    int64_t                       left;
    int64_t                       used;
    int64_t                       size;    /* 0: none was needed */
    int64_t                       stamp;
    int64_t                       ends;    /* ms; no size: was cleared */
    int64_t                       asked;
    int64_t                       asking;  /* until then somebody does */
    uint16_t                      origin;  /* of the store */
    uint16_t                      key_len;
    u_char                        key[1];
} ngx_http_slidewin_lease_t;


/* what is left of a lease and goes back to the store */

typedef struct {
    ngx_http_slidewin_claim_t      claim;
    ngx_http_slidewin_memo_copy_t  lost;
    u_char                         key[NGX_HTTP_SLIDEWIN_LEASE_KEY_MAX];
} ngx_http_slidewin_rest_t;


static ngx_http_slidewin_lease_t *ngx_http_slidewin_lease_lock(
    ngx_http_slidewin_zone_op_t *op, ngx_http_slidewin_claim_t *claim);
static void ngx_http_slidewin_lease_unlock(ngx_http_slidewin_zone_op_t *op);
static ngx_uint_t ngx_http_slidewin_lease_matches(
    ngx_http_slidewin_lease_t *lease, ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_store_t *store);
static int64_t ngx_http_slidewin_lease_ttl(const sw_rule_t *rule);
static void ngx_http_slidewin_lease_charge(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_lease_t *lease, ngx_http_slidewin_claim_t *claim,
    int64_t now);
static int64_t ngx_http_slidewin_lease_next_size(
    ngx_http_slidewin_lease_t *lease, int64_t cost, int64_t span, int64_t now);
static void ngx_http_slidewin_lease_drain(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_lease_t *lease, ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_rest_t *rest);
static void ngx_http_slidewin_lease_refund(ngx_http_slidewin_claim_t *rest,
    ngx_http_slidewin_claim_t *claim, ngx_http_slidewin_store_t *store);
static ngx_http_slidewin_memo_copy_t *ngx_http_slidewin_lease_on_evict(
    ngx_http_slidewin_zone_op_t *op, ngx_http_slidewin_memo_t *memo,
    void *data);
static void ngx_http_slidewin_lease_evicted(ngx_http_slidewin_memo_copy_t *lost,
    void *data);
static void ngx_http_slidewin_lease_timer(ngx_event_t *ev);
static ngx_uint_t ngx_http_slidewin_lease_expire(
    ngx_http_slidewin_policy_t *rule, int64_t now, ngx_uint_t most);


ngx_uint_t
ngx_http_slidewin_lease_take(ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_store_t *store, int64_t percent)
{
    int64_t                       now, span, most, wish;
    ngx_uint_t                    taken;
    ngx_http_slidewin_lease_t    *lease;
    ngx_http_slidewin_rest_t      rest;
    ngx_http_slidewin_zone_op_t   op;

    span = ngx_http_slidewin_lease_ttl(&claim->rule);

    if (span == 0 || claim->key.len > NGX_HTTP_SLIDEWIN_LEASE_KEY_MAX) {
        return 0;
    }

    now = ngx_http_slidewin_clock_ms();
    taken = 0;
    rest.claim.cost = 0;

    lease = ngx_http_slidewin_lease_lock(&op, claim);

    if (lease == NULL
        || !ngx_http_slidewin_lease_matches(lease, claim, store))
    {
        goto done;
    }

    if (now < lease->ends && claim->cost <= lease->left) {
        ngx_http_slidewin_lease_charge(&op, lease, claim, now);
        taken = 1;
        goto done;
    }

    if (percent == 0) {
        goto done;
    }

    wish = ngx_http_slidewin_lease_next_size(lease, claim->cost, span, now);

    if (wish) {
        most = claim->rule.limit * percent / 100;

        claim->prefetch = ngx_min(wish, ngx_max(most, 1));
        lease->asking = now + span;
    }

    /* the store hears of what is left before it is asked for more */

    if (wish || now >= lease->ends) {
        ngx_http_slidewin_lease_drain(&op, lease, store, &rest);
    }

done:

    ngx_http_slidewin_lease_unlock(&op);
    ngx_http_slidewin_lease_refund(&rest.claim, claim, store);

    return taken;
}


static void
ngx_http_slidewin_lease_charge(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_lease_t *lease, ngx_http_slidewin_claim_t *claim,
    int64_t now)
{
    sw_verdict_t  *verdict;

    lease->left -= claim->cost;
    lease->used += claim->cost;

    if (lease->left == 0) {
        ngx_http_slidewin_memo_unschedule(op, &lease->memo);
    }

    verdict = &claim->verdict;

    ngx_http_slidewin_snapshot_load(&lease->echo, &claim->rule, now, verdict);

    verdict->admitted = 1;
    verdict->remaining += lease->left;
    verdict->level -= lease->left * verdict->scale;
    verdict->stamp = lease->stamp;

    claim->counted = 1;
}


/*
 * A client that has not asked for a while takes what it needs.  One that comes
 * again soon gets as much once more; one that used up its lease in time gets
 * twice as much, one that did not what it used.
 */

static int64_t
ngx_http_slidewin_lease_next_size(ngx_http_slidewin_lease_t *lease,
    int64_t cost, int64_t span, int64_t now)
{
    if (now < lease->asking) {
        return 0;
    }

    if (lease->size == 0) {
        return (now < lease->asked + span) ? cost : 0;
    }

    if (now < lease->ends) {
        return 2 * lease->size;
    }

    return (now < lease->ends + span) ? lease->used : 0;
}


void
ngx_http_slidewin_lease_refill(ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_store_t *store, int64_t asked)
{
    int64_t                       now, span;
    ngx_http_slidewin_lease_t    *lease;
    ngx_http_slidewin_rest_t      rest;
    ngx_http_slidewin_zone_op_t   op;

    span = ngx_http_slidewin_lease_ttl(&claim->rule);

    if (span == 0 || claim->key.len > NGX_HTTP_SLIDEWIN_LEASE_KEY_MAX) {
        return;
    }

    now = ngx_http_slidewin_clock_ms();
    rest.claim.cost = 0;

    sw_verdict_complete(&claim->verdict, &claim->rule);

    lease = ngx_http_slidewin_lease_lock(&op, claim);

    if (lease == NULL) {
        lease = ngx_http_slidewin_zone_insert_memo(&op,
                              offsetof(ngx_http_slidewin_lease_t, key)
                              + claim->key.len, now);
    }

    if (lease == NULL) {
        ngx_http_slidewin_lease_unlock(&op);

        /* no memory to keep them in */

        rest.claim = *claim;
        rest.claim.cost = claim->prefetch;
        rest.claim.prefetch = 0;

        ngx_http_slidewin_lease_refund(&rest.claim, claim, store);
        return;
    }

    if (lease->key_len == 0) {
        ngx_memcpy(lease->key, claim->key.data, claim->key.len);
        lease->key_len = (uint16_t) claim->key.len;
    }

    /* the client was cleared meanwhile, and what is ahead with it */

    if (lease->size == 0 && asked <= lease->ends) {
        claim->prefetch = 0;
    }

    if (claim->prefetch
        || !ngx_http_slidewin_lease_matches(lease, claim, store))
    {

        /* what is left is from another time, and one at a time is enough */

        ngx_http_slidewin_lease_drain(&op, lease, store, &rest);

        lease->rule = claim->rule;
        lease->origin = store->origin;
        lease->size = claim->prefetch;
        lease->used = 0;
        lease->stamp = claim->verdict.stamp;
        lease->ends = claim->prefetch ? asked + span : 0;
        lease->asking = 0;

        ngx_http_slidewin_snapshot_save(&lease->echo, &claim->verdict, now);

        lease->echo.remaining -= claim->prefetch;
        lease->echo.level += claim->prefetch * claim->verdict.scale;

        ngx_memory_barrier();

        lease->left = claim->prefetch;

        if (lease->left) {
            ngx_http_slidewin_memo_schedule(&op, &lease->memo);
        }

    } else if (lease->size && now >= lease->ends + span) {
        lease->size = 0;
        lease->ends = 0;
    }

    lease->asked = now;

    ngx_http_slidewin_memo_keep_until(&op, &lease->memo,
                                ngx_max(now, lease->ends) + span);

    ngx_http_slidewin_lease_unlock(&op);
    ngx_http_slidewin_lease_refund(&rest.claim, claim, store);
}


ngx_uint_t
ngx_http_slidewin_lease_put_back(ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_store_t *store)
{
    ngx_uint_t                    returned;
    ngx_http_slidewin_lease_t    *lease;
    ngx_http_slidewin_zone_op_t   op;

    lease = ngx_http_slidewin_lease_lock(&op, claim);

    returned = lease && lease->stamp == claim->verdict.stamp
               && lease->used >= claim->cost
               && ngx_http_slidewin_clock_ms() < lease->ends
               && ngx_http_slidewin_lease_matches(lease, claim, store);

    if (returned) {
        lease->used -= claim->cost;
        lease->left += claim->cost;

        if (lease->memo.queue.next == NULL) {
            ngx_http_slidewin_memo_schedule(&op, &lease->memo);
        }
    }

    ngx_http_slidewin_lease_unlock(&op);

    return returned;
}


/* what was left is counted no more either, nor what is on its way */

void
ngx_http_slidewin_lease_forget(ngx_http_slidewin_claim_t *claim)
{
    ngx_http_slidewin_lease_t    *lease;
    ngx_http_slidewin_zone_op_t   op;

    lease = ngx_http_slidewin_lease_lock(&op, claim);

    if (lease) {
        lease->left = 0;
        ngx_http_slidewin_memo_unschedule(&op, &lease->memo);

        lease->size = 0;
        lease->ends = ngx_http_slidewin_clock_ms();
        lease->asked = 0;
        lease->asking = 0;
    }

    ngx_http_slidewin_lease_unlock(&op);
}


static ngx_http_slidewin_lease_t *
ngx_http_slidewin_lease_lock(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_claim_t *claim)
{
    ngx_http_slidewin_zone_op_init_key(op, claim->zone, &claim->key,
                                    NGX_HTTP_SLIDEWIN_NODE_LEASE);
    ngx_http_slidewin_zone_lock(op);

    return ngx_http_slidewin_memo_lookup(op);
}


static void
ngx_http_slidewin_lease_unlock(ngx_http_slidewin_zone_op_t *op)
{
    ngx_http_slidewin_zone_unlock(op);
    ngx_http_slidewin_zone_finish(op, ngx_cycle->log);
}


/* a reload may have changed the limit, or where it counts */

static ngx_uint_t
ngx_http_slidewin_lease_matches(ngx_http_slidewin_lease_t *lease,
    ngx_http_slidewin_claim_t *claim, ngx_http_slidewin_store_t *store)
{
    return lease->origin == store->origin
           && ngx_http_slidewin_memo_same_rule(&lease->rule, &claim->rule);
}


/* the longer units are held, the later the limit hears of their use */

static int64_t
ngx_http_slidewin_lease_ttl(const sw_rule_t *rule)
{
    return ngx_min(rule->window / NGX_HTTP_SLIDEWIN_LEASE_PART,
                   NGX_HTTP_SLIDEWIN_LEASE_MAX);
}


/* what another store has counted is not for this one to take back */

static void
ngx_http_slidewin_lease_drain(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_lease_t *lease, ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_rest_t *rest)
{
    ngx_memzero(&rest->claim, sizeof(ngx_http_slidewin_claim_t));

    /* also if nothing is left: who used the last of it may have died */

    ngx_http_slidewin_memo_unschedule(op, &lease->memo);

    if (lease->left == 0) {
        return;
    }

    rest->claim.cost = (lease->origin == store->origin) ? lease->left : 0;
    rest->claim.rule = lease->rule;
    rest->claim.verdict.stamp = lease->stamp;
    rest->claim.key.len = lease->key_len;
    rest->claim.key.data = rest->key;
    ngx_memcpy(rest->key, lease->key, lease->key_len);

    lease->left = 0;
}


static void
ngx_http_slidewin_lease_refund(ngx_http_slidewin_claim_t *rest,
    ngx_http_slidewin_claim_t *claim, ngx_http_slidewin_store_t *store)
{
    if (rest->cost == 0) {
        return;
    }

    rest->zone = claim->zone;
    rest->name = claim->name;

    ngx_http_slidewin_deny_cache_invalidate(rest);
    ngx_http_slidewin_refund(store, rest);
}


void
ngx_http_slidewin_lease_start(ngx_http_slidewin_policy_t *policy)
{
    int64_t       span;
    ngx_event_t  *ev;

    span = policy->rate ? 0 : ngx_http_slidewin_lease_ttl(&policy->rule);

    policy->lease_watch = ngx_max(span, NGX_HTTP_SLIDEWIN_LEASE_WATCH);

    ev = &policy->lease_timer;

    ev->handler = ngx_http_slidewin_lease_timer;
    ev->data = policy;
    ev->log = ngx_cycle->log;
    ev->cancelable = 1;

    ngx_add_timer(ev, policy->lease_watch);

    ngx_http_slidewin_zone_ref(policy->zone);
    ngx_http_slidewin_zone_on_evict(policy->zone,
                                    ngx_http_slidewin_lease_on_evict,
                                    ngx_http_slidewin_lease_evicted, policy);
}


/* a lease that makes room for another client: what is left of it goes back */

static ngx_http_slidewin_memo_copy_t *
ngx_http_slidewin_lease_on_evict(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_memo_t *memo, void *data)
{
    ngx_http_slidewin_policy_t *policy = data;

    ngx_http_slidewin_rest_t  *rest;

    rest = ngx_alloc(sizeof(ngx_http_slidewin_rest_t), ngx_cycle->log);
    if (rest == NULL) {
        return NULL;
    }

    ngx_http_slidewin_lease_drain(op, (ngx_http_slidewin_lease_t *) memo,
                                  policy->store, rest);

    return &rest->lost;
}


static void
ngx_http_slidewin_lease_evicted(ngx_http_slidewin_memo_copy_t *lost, void *data)
{
    ngx_http_slidewin_policy_t *policy = data;

    ngx_http_slidewin_rest_t   *rest;
    ngx_http_slidewin_claim_t   claim;

    rest = ngx_queue_data(lost, ngx_http_slidewin_rest_t, lost);

    claim.zone = policy->zone;
    claim.name = policy->name;

    ngx_http_slidewin_lease_refund(&rest->claim, &claim, policy->store);

    ngx_free(rest);
}


/* the last one waits for no lease to end, nor for Redis */

void
ngx_http_slidewin_lease_stop(ngx_http_slidewin_policy_t *policy)
{
    if (ngx_http_slidewin_zone_unref(policy->zone)) {
        (void) ngx_http_slidewin_lease_expire(policy, INT64_MAX,
                                              NGX_HTTP_SLIDEWIN_LEASE_LEFT);
    }
}


/*
 * Any worker sees to any lease: the one that took it may be gone.  What nobody
 * hands back stays counted until it leaves the window.  One that was replaced
 * may not know the store of the others.
 */

static void
ngx_http_slidewin_lease_timer(ngx_event_t *ev)
{
    ngx_uint_t                   more;
    ngx_http_slidewin_policy_t  *policy;

    if (ngx_exiting) {
        return;
    }

    policy = ev->data;

    more = ngx_http_slidewin_lease_expire(policy, ngx_http_slidewin_clock_ms(),
                                          NGX_HTTP_SLIDEWIN_LEASE_ENDED);

    ngx_add_timer(ev, more ? NGX_HTTP_SLIDEWIN_LEASE_MORE
                           : policy->lease_watch);
}


/* whether there may be more of them */

static ngx_uint_t
ngx_http_slidewin_lease_expire(ngx_http_slidewin_policy_t *policy,
    int64_t now, ngx_uint_t most)
{
    ngx_uint_t                    n, ended;
    ngx_http_slidewin_claim_t     claim;
    ngx_http_slidewin_lease_t    *lease;
    ngx_http_slidewin_rest_t      rest;
    ngx_http_slidewin_zone_op_t   op;

    claim.zone = policy->zone;
    claim.name = policy->name;

    for (n = 0; n < most; n++) {

        ngx_http_slidewin_zone_op_init(&op, policy->zone);
        ngx_http_slidewin_zone_lock(&op);

        rest.claim.cost = 0;
        lease = ngx_http_slidewin_memo_next_due(&op);
        ended = (lease && lease->ends <= now);

        if (ended) {
            ngx_http_slidewin_lease_drain(&op, lease, policy->store, &rest);
        }

        ngx_http_slidewin_lease_unlock(&op);

        if (!ended) {
            return 0;
        }

        ngx_http_slidewin_lease_refund(&rest.claim, &claim, policy->store);
    }

    return 1;
}
