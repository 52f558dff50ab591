
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


/* how long units may be held: a tenth of the window, at most so long, ms */
#define NGX_HTTP_SLIDEWIN_LEASE_PART       10
#define NGX_HTTP_SLIDEWIN_LEASE_TTL_MAX    1000

/* the least interval of the timer, and that if more leases have ended, ms */
#define NGX_HTTP_SLIDEWIN_LEASE_INTERVAL   50
#define NGX_HTTP_SLIDEWIN_LEASE_NEXT       10

/* leases to expire in one turn of the timer, and when the last worker exits */
#define NGX_HTTP_SLIDEWIN_LEASE_EXPIRE     256
#define NGX_HTTP_SLIDEWIN_LEASE_EXPIRE_ALL 4096

/* a client with a longer key has no lease */
#define NGX_HTTP_SLIDEWIN_LEASE_KEY_MAX    512


/*
 * The memo has the key, because a node may have only its digest, and a refund
 * needs the key.
 */

typedef struct {
    ngx_http_slidewin_memo_t       memo;
    sw_rule_t                      rule;
    ngx_http_slidewin_snapshot_t   snapshot;
    int64_t                        left;
    int64_t                        used;
    int64_t                        size;          /* 0: nothing prefetched */
    int64_t                        stamp;
    int64_t                        ends;          /* ms; if no size: when it
                                                     was given up */
    int64_t                        last_asked;    /* the store was, ms */
    int64_t                        asking_until;  /* a request does, ms */
    uint16_t                       origin;        /* of the store */
    uint16_t                       key_len:15;
    uint16_t                       voided:1;      /* given up, but not by a
                                                     reset */
    u_char                         key[1];
} ngx_http_slidewin_lease_t;


/* what a lease did not use, to be refunded to the store */

typedef struct {
    ngx_http_slidewin_claim_t      claim;
    ngx_http_slidewin_memo_copy_t  copy;          /* of an evicted lease */
    u_char                         key[NGX_HTTP_SLIDEWIN_LEASE_KEY_MAX];
} ngx_http_slidewin_unused_t;


static void ngx_http_slidewin_lease_count(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_lease_t *lease, ngx_http_slidewin_claim_t *claim,
    int64_t now);
static void ngx_http_slidewin_lease_use(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_lease_t *lease, int64_t units);
static int64_t ngx_http_slidewin_lease_next_size(
    ngx_http_slidewin_lease_t *lease, int64_t cost, int64_t ttl, int64_t now);
static void ngx_http_slidewin_lease_set(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_lease_t *lease, ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_store_t *store, int64_t ends, int64_t now);
static ngx_http_slidewin_lease_t *ngx_http_slidewin_lease_lock(
    ngx_http_slidewin_zone_op_t *op, ngx_http_slidewin_claim_t *claim);
static ngx_uint_t ngx_http_slidewin_lease_matches(
    ngx_http_slidewin_lease_t *lease, ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_store_t *store);
static int64_t ngx_http_slidewin_lease_ttl(const sw_rule_t *rule);
static void ngx_http_slidewin_lease_drain(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_lease_t *lease, ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_unused_t *unused);
static void ngx_http_slidewin_lease_refund(ngx_http_slidewin_claim_t *unused,
    ngx_http_slidewin_claim_t *claim, ngx_http_slidewin_store_t *store);
static void ngx_http_slidewin_lease_refund_units(
    ngx_http_slidewin_claim_t *claim, int64_t units,
    ngx_http_slidewin_store_t *store);
static ngx_http_slidewin_memo_copy_t *ngx_http_slidewin_lease_on_evict(
    ngx_http_slidewin_zone_op_t *op, ngx_http_slidewin_memo_t *memo,
    void *data);
static void ngx_http_slidewin_lease_evicted(
    ngx_http_slidewin_memo_copy_t *copy, void *data);
static void ngx_http_slidewin_lease_timer(ngx_event_t *ev);
static ngx_uint_t ngx_http_slidewin_lease_expire(
    ngx_http_slidewin_policy_t *policy, int64_t now, ngx_uint_t max);


ngx_uint_t
ngx_http_slidewin_lease_take(ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_store_t *store, int64_t percent)
{
    int64_t                      now, ttl, max, size;
    ngx_uint_t                   taken;
    ngx_http_slidewin_lease_t   *lease;
    ngx_http_slidewin_unused_t   unused;
    ngx_http_slidewin_zone_op_t  op;

    ttl = ngx_http_slidewin_lease_ttl(&claim->rule);

    if (ttl == 0 || claim->key.len > NGX_HTTP_SLIDEWIN_LEASE_KEY_MAX) {
        return 0;
    }

    now = ngx_http_slidewin_clock_ms();
    taken = 0;
    unused.claim.cost = 0;

    lease = ngx_http_slidewin_lease_lock(&op, claim);

    if (lease == NULL
        || !ngx_http_slidewin_lease_matches(lease, claim, store))
    {
        goto done;
    }

    if (now < lease->ends && claim->cost <= lease->left) {
        ngx_http_slidewin_lease_count(&op, lease, claim, now);
        taken = 1;
        goto done;
    }

    if (percent == 0) {
        goto done;
    }

    size = ngx_http_slidewin_lease_next_size(lease, claim->cost, ttl, now);

    if (size) {
        max = claim->rule.limit * percent / 100;

        claim->prefetch = ngx_min(size, ngx_max(max, 1));
        lease->asking_until = now + ttl;
    }

    /* the refund of what is left goes out before the store is asked for more */

    if (size || now >= lease->ends) {
        ngx_http_slidewin_lease_drain(&op, lease, store, &unused);
    }

done:

    ngx_http_slidewin_memo_unlock(&op);
    ngx_http_slidewin_lease_refund(&unused.claim, claim, store);

    return taken;
}


int64_t
ngx_http_slidewin_lease_take_part(ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_store_t *store)
{
    int64_t                      units;
    ngx_http_slidewin_lease_t   *lease;
    ngx_http_slidewin_zone_op_t  op;

    units = 0;

    lease = ngx_http_slidewin_lease_lock(&op, claim);

    if (lease && ngx_http_slidewin_clock_ms() < lease->ends
        && ngx_http_slidewin_lease_matches(lease, claim, store))
    {
        units = ngx_min(claim->cost, lease->left);

        ngx_http_slidewin_lease_use(&op, lease, units);
    }

    ngx_http_slidewin_memo_unlock(&op);

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "slidewin charge: lease zone:%V units:%L",
                   &claim->name, units);

    return units;
}


static void
ngx_http_slidewin_lease_count(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_lease_t *lease, ngx_http_slidewin_claim_t *claim,
    int64_t now)
{
    sw_verdict_t  *verdict;

    ngx_http_slidewin_lease_use(op, lease, claim->cost);

    verdict = &claim->verdict;

    ngx_http_slidewin_snapshot_load(&lease->snapshot, &claim->rule, now,
                                    verdict);

    /* the snapshot has all units of the lease as used */

    verdict->admitted = 1;
    verdict->remaining += lease->left;
    verdict->level -= lease->left * verdict->scale;
    verdict->stamp = lease->stamp;

    claim->counted = 1;
}


static void
ngx_http_slidewin_lease_use(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_lease_t *lease, int64_t units)
{
    lease->left -= units;
    lease->used += units;

    if (lease->left == 0) {
        ngx_http_slidewin_memo_unschedule(op, &lease->memo);
    }
}


/*
 * Units to prefetch for a client: 0 if the store has not been asked for it for
 * a while; as much as it takes now if the store was asked lately; twice its
 * lease if that was used up in time; what it used if the lease ended lately.
 */

static int64_t
ngx_http_slidewin_lease_next_size(ngx_http_slidewin_lease_t *lease,
    int64_t cost, int64_t ttl, int64_t now)
{
    if (now < lease->asking_until) {
        return 0;
    }

    if (lease->size == 0) {
        return (now < lease->last_asked + ttl) ? cost : 0;
    }

    if (now < lease->ends) {
        return 2 * lease->size;
    }

    return (now < lease->ends + ttl) ? lease->used : 0;
}


void
ngx_http_slidewin_lease_refill(ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_store_t *store, int64_t asked_at)
{
    int64_t                      now, ttl, voided;
    ngx_http_slidewin_lease_t   *lease;
    ngx_http_slidewin_unused_t   unused;
    ngx_http_slidewin_zone_op_t  op;

    ttl = ngx_http_slidewin_lease_ttl(&claim->rule);

    if (ttl == 0 || claim->key.len > NGX_HTTP_SLIDEWIN_LEASE_KEY_MAX) {
        return;
    }

    now = ngx_http_slidewin_clock_ms();
    voided = 0;
    unused.claim.cost = 0;

    sw_verdict_complete(&claim->verdict, &claim->rule);

    lease = ngx_http_slidewin_lease_lock(&op, claim);

    if (lease == NULL) {
        lease = ngx_http_slidewin_zone_insert_memo(&op,
                              offsetof(ngx_http_slidewin_lease_t, key)
                              + claim->key.len, now);
    }

    if (lease == NULL) {
        ngx_http_slidewin_memo_unlock(&op);

        /* no memory to keep the units in */

        ngx_http_slidewin_lease_refund_units(claim, claim->prefetch, store);
        return;
    }

    if (lease->key_len == 0) {
        ngx_memcpy(lease->key, claim->key.data, claim->key.len);
        lease->key_len = (uint16_t) claim->key.len;
    }

    /*
     * The lease was given up meanwhile.  What was prefetched goes back, unless
     * a reset has erased it.
     */

    if (lease->size == 0 && asked_at <= lease->ends) {
        voided = lease->voided ? claim->prefetch : 0;
        claim->prefetch = 0;
    }

    if (claim->prefetch
        || !ngx_http_slidewin_lease_matches(lease, claim, store))
    {

        /* what is left has another stamp, and a client has one lease */

        ngx_http_slidewin_lease_drain(&op, lease, store, &unused);
        ngx_http_slidewin_lease_set(&op, lease, claim, store, asked_at + ttl,
                                    now);

    } else if (lease->size && now >= lease->ends + ttl) {
        lease->size = 0;
        lease->ends = 0;
    }

    lease->last_asked = now;

    ngx_http_slidewin_memo_keep_until(&op, &lease->memo,
                                      ngx_max(now, lease->ends) + ttl);

    ngx_http_slidewin_memo_unlock(&op);
    ngx_http_slidewin_lease_refund(&unused.claim, claim, store);
    ngx_http_slidewin_lease_refund_units(claim, voided, store);

    if (claim->prefetch) {
        ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                       "slidewin lease: zone:%V refilled units:%L",
                       &claim->name, claim->prefetch);
    }
}


static void
ngx_http_slidewin_lease_set(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_lease_t *lease, ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_store_t *store, int64_t ends, int64_t now)
{
    lease->rule = claim->rule;
    lease->origin = store->origin;
    lease->size = claim->prefetch;
    lease->used = 0;
    lease->voided = 0;
    lease->stamp = claim->verdict.stamp;
    lease->ends = claim->prefetch ? ends : 0;
    lease->asking_until = 0;

    ngx_http_slidewin_snapshot_save(&lease->snapshot, &claim->verdict, now);

    lease->snapshot.remaining -= claim->prefetch;
    lease->snapshot.level += claim->prefetch * claim->verdict.scale;

    /* a worker that is killed before this leaves a lease without units */

    ngx_memory_barrier();

    lease->left = claim->prefetch;

    if (lease->left) {
        ngx_http_slidewin_memo_schedule(op, &lease->memo);
    }
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

    ngx_http_slidewin_memo_unlock(&op);

    return returned;
}


/* ends is the time, so that a refill that was asked for before is dropped */

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
        lease->voided = 0;
        lease->ends = ngx_http_slidewin_clock_ms();
        lease->last_asked = 0;
        lease->asking_until = 0;
    }

    ngx_http_slidewin_memo_unlock(&op);
}


/*
 * If a reset came before, it is not known which units it has erased: those that
 * are still prefetched are dropped.
 */

void
ngx_http_slidewin_lease_void(ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_store_t *store)
{
    ngx_http_slidewin_lease_t    *lease;
    ngx_http_slidewin_unused_t    unused;
    ngx_http_slidewin_zone_op_t   op;

    unused.claim.cost = 0;

    lease = ngx_http_slidewin_lease_lock(&op, claim);

    if (lease) {
        ngx_http_slidewin_lease_drain(&op, lease, store, &unused);

        if (lease->size || lease->ends == 0) {
            lease->voided = 1;
        }

        lease->size = 0;
        lease->ends = ngx_http_slidewin_clock_ms();
        lease->last_asked = 0;
        lease->asking_until = 0;
    }

    ngx_http_slidewin_memo_unlock(&op);
    ngx_http_slidewin_lease_refund(&unused.claim, claim, store);
}


static ngx_http_slidewin_lease_t *
ngx_http_slidewin_lease_lock(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_claim_t *claim)
{
    ngx_http_slidewin_memo_lock(op, claim, NGX_HTTP_SLIDEWIN_NODE_LEASE);

    return ngx_http_slidewin_memo_lookup(op);
}


/* a reload may have changed the limit, or the store */

static ngx_uint_t
ngx_http_slidewin_lease_matches(ngx_http_slidewin_lease_t *lease,
    ngx_http_slidewin_claim_t *claim, ngx_http_slidewin_store_t *store)
{
    return lease->origin == store->origin
           && ngx_http_slidewin_memo_same_rule(&lease->rule, &claim->rule);
}


/*
 * Units count from when they were prefetched, not from when they are used: the
 * longer they are held, the less exact is the limit.
 */

static int64_t
ngx_http_slidewin_lease_ttl(const sw_rule_t *rule)
{
    return ngx_min(rule->window / NGX_HTTP_SLIDEWIN_LEASE_PART,
                   NGX_HTTP_SLIDEWIN_LEASE_TTL_MAX);
}


/* units that another store has counted are dropped: this one has not */

static void
ngx_http_slidewin_lease_drain(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_lease_t *lease, ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_unused_t *unused)
{
    ngx_memzero(&unused->claim, sizeof(ngx_http_slidewin_claim_t));

    /*
     * Also if nothing is left: a worker that used the last unit may have been
     * killed before it did this.
     */

    ngx_http_slidewin_memo_unschedule(op, &lease->memo);

    if (lease->left == 0) {
        return;
    }

    unused->claim.cost = (lease->origin == store->origin) ? lease->left : 0;
    unused->claim.rule = lease->rule;
    unused->claim.verdict.stamp = lease->stamp;
    unused->claim.key.len = lease->key_len;
    unused->claim.key.data = unused->key;
    ngx_memcpy(unused->key, lease->key, lease->key_len);

    lease->left = 0;
}


static void
ngx_http_slidewin_lease_refund(ngx_http_slidewin_claim_t *unused,
    ngx_http_slidewin_claim_t *claim, ngx_http_slidewin_store_t *store)
{
    if (unused->cost == 0) {
        return;
    }

    unused->zone = claim->zone;
    unused->name = claim->name;

    ngx_http_slidewin_deny_cache_invalidate(unused);
    ngx_http_slidewin_refund(store, unused, NULL, NULL);
}


/* units that were prefetched with the claim */

static void
ngx_http_slidewin_lease_refund_units(ngx_http_slidewin_claim_t *claim,
    int64_t units, ngx_http_slidewin_store_t *store)
{
    ngx_http_slidewin_claim_t  unused;

    unused = *claim;
    unused.cost = units;
    unused.prefetch = 0;

    ngx_http_slidewin_lease_refund(&unused, claim, store);
}


void
ngx_http_slidewin_lease_start(ngx_http_slidewin_policy_t *policy)
{
    int64_t       ttl;
    ngx_event_t  *ev;

    ttl = policy->rate ? 0 : ngx_http_slidewin_lease_ttl(&policy->rule);

    policy->lease_interval = ngx_max(ttl, NGX_HTTP_SLIDEWIN_LEASE_INTERVAL);

    ev = &policy->lease_timer;

    ev->handler = ngx_http_slidewin_lease_timer;
    ev->data = policy;
    ev->log = ngx_cycle->log;
    ev->cancelable = 1;

    ngx_add_timer(ev, policy->lease_interval);

    ngx_http_slidewin_zone_ref(policy->zone);
    ngx_http_slidewin_zone_on_evict(policy->zone,
                                    ngx_http_slidewin_lease_on_evict,
                                    ngx_http_slidewin_lease_evicted, policy);
}


/* an evicted lease refunds what is left of it */

static ngx_http_slidewin_memo_copy_t *
ngx_http_slidewin_lease_on_evict(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_memo_t *memo, void *data)
{
    ngx_http_slidewin_policy_t *policy = data;

    ngx_http_slidewin_unused_t  *unused;

    unused = ngx_alloc(sizeof(ngx_http_slidewin_unused_t), ngx_cycle->log);
    if (unused == NULL) {
        return NULL;
    }

    ngx_http_slidewin_lease_drain(op, (ngx_http_slidewin_lease_t *) memo,
                                  policy->store, unused);

    return &unused->copy;
}


static void
ngx_http_slidewin_lease_evicted(ngx_http_slidewin_memo_copy_t *copy,
    void *data)
{
    ngx_http_slidewin_policy_t *policy = data;

    ngx_http_slidewin_claim_t    claim;
    ngx_http_slidewin_unused_t  *unused;

    unused = ngx_queue_data(copy, ngx_http_slidewin_unused_t, copy);

    claim.zone = policy->zone;
    claim.name = policy->name;

    ngx_http_slidewin_lease_refund(&unused->claim, &claim, policy->store);

    ngx_free(unused);
}


/* the last worker waits neither for leases to end nor for Redis */

void
ngx_http_slidewin_lease_stop(ngx_http_slidewin_policy_t *policy)
{
    if (ngx_http_slidewin_zone_unref(policy->zone)) {
        (void) ngx_http_slidewin_lease_expire(policy, INT64_MAX,
                                          NGX_HTTP_SLIDEWIN_LEASE_EXPIRE_ALL);
    }
}


/*
 * Any worker expires any lease: the one that prefetched it may be gone.  Units
 * that are never refunded stay counted until they leave the window.  An
 * exiting worker of an old configuration may not know the store of the others.
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
                                          NGX_HTTP_SLIDEWIN_LEASE_EXPIRE);

    ngx_add_timer(ev, more ? NGX_HTTP_SLIDEWIN_LEASE_NEXT
                           : policy->lease_interval);
}


/* whether there may be more of them */

static ngx_uint_t
ngx_http_slidewin_lease_expire(ngx_http_slidewin_policy_t *policy,
    int64_t now, ngx_uint_t max)
{
    ngx_uint_t                   n, ended;
    ngx_http_slidewin_claim_t    claim;
    ngx_http_slidewin_lease_t   *lease;
    ngx_http_slidewin_unused_t   unused;
    ngx_http_slidewin_zone_op_t  op;

    claim.zone = policy->zone;
    claim.name = policy->name;

    for (n = 0; n < max; n++) {

        ngx_http_slidewin_zone_op_init(&op, policy->zone);
        ngx_http_slidewin_zone_lock(&op);

        unused.claim.cost = 0;
        lease = ngx_http_slidewin_memo_next_due(&op);
        ended = (lease && lease->ends <= now);

        if (ended) {
            ngx_http_slidewin_lease_drain(&op, lease, policy->store, &unused);
        }

        ngx_http_slidewin_memo_unlock(&op);

        if (!ended) {
            return 0;
        }

        ngx_http_slidewin_lease_refund(&unused.claim, &claim, policy->store);
    }

    return 1;
}
