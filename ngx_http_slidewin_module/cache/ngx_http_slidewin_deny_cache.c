
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_deny_cache.h"
#include "ngx_http_slidewin_memo.h"
#include "ngx_http_slidewin_snapshot.h"


/* costs remembered of a client: with two, a node fills the slab's 256 bytes */
#define NGX_HTTP_SLIDEWIN_DENY_COSTS  2


/*
 * admit_at is when the cost is admitted if no other request is, 0 if the store
 * had room for it.  Before reject_until the cost is rejected without asking; if
 * that is 0, nothing is known of the cost.  After reject_until, admit_at only
 * tells requests that another limit rejects how long they wait.
 *
 * A ban is of the client, but each cost has a wait of its own: that of a banned
 * one is the ban's or the window's, whichever is longer.  Its reject_until is
 * not after the ban, as the next rejection may begin another one.
 */

typedef struct {
    int64_t                       cost;
    int64_t                       admit_at;      /* ms */
    int64_t                       reject_until;  /* ms */
} ngx_http_slidewin_deny_cost_t;


typedef struct {
    ngx_http_slidewin_memo_t       memo;
    sw_rule_t                      rule;
    ngx_http_slidewin_snapshot_t   snapshot;
    int64_t                        next_peek;    /* not before, ms */
    int64_t                        ban_until;    /* ms; 0: not banned */
    ngx_http_slidewin_deny_cost_t  costs[NGX_HTTP_SLIDEWIN_DENY_COSTS];
} ngx_http_slidewin_denial_t;


static void ngx_http_slidewin_deny_cache_verdict(
    ngx_http_slidewin_denial_t *denial, ngx_http_slidewin_claim_t *claim,
    int64_t admit_at, int64_t now);
static ngx_uint_t ngx_http_slidewin_deny_cache_banned(
    ngx_http_slidewin_denial_t *denial, ngx_http_slidewin_claim_t *claim,
    int64_t now)
    __attribute__((noinline));
static int64_t ngx_http_slidewin_deny_cache_admit_at(
    ngx_http_slidewin_denial_t *denial, int64_t cost);
static ngx_http_slidewin_denial_t *ngx_http_slidewin_deny_cache_create(
    ngx_http_slidewin_zone_op_t *op, ngx_http_slidewin_claim_t *claim,
    int64_t now);
static ngx_http_slidewin_deny_cost_t *ngx_http_slidewin_deny_cache_find_cost(
    ngx_http_slidewin_denial_t *denial, int64_t cost);


/*
 * A greater cost is admitted later, and must not get the time of a smaller one:
 * the store is asked for it once, and that is remembered as well.
 */

ngx_uint_t
ngx_http_slidewin_deny_cache_lookup(ngx_http_slidewin_claim_t *claim)
{
    int64_t                         now;
    ngx_uint_t                      found;
    ngx_http_slidewin_denial_t     *denial;
    ngx_http_slidewin_zone_op_t     op;
    ngx_http_slidewin_deny_cost_t  *dc;

    now = ngx_http_slidewin_clock_ms();

    if (!ngx_http_slidewin_memo_may_deny(claim->zone, now)) {
        return 0;
    }

    found = 0;

    ngx_http_slidewin_memo_lock(&op, claim, NGX_HTTP_SLIDEWIN_NODE_DENY);

    denial = ngx_http_slidewin_memo_lookup(&op);

    if (denial && claim->ban) {
        found = ngx_http_slidewin_deny_cache_banned(denial, claim, now);

    } else if (denial
               && ngx_http_slidewin_memo_same_rule(&denial->rule,
                                                   &claim->rule))
    {
        dc = ngx_http_slidewin_deny_cache_find_cost(denial, claim->cost);

        if (dc->cost == claim->cost && now < dc->reject_until
            && dc->admit_at > 0)
        {
            ngx_http_slidewin_deny_cache_verdict(denial, claim, dc->admit_at,
                                                 now);
            found = 1;
        }
    }

    ngx_http_slidewin_memo_unlock(&op);

    return found;
}


/*
 * A ban that is known of any cost is a ban for all, and for any rate: a client
 * that varies them must not reach the store.
 */

static ngx_uint_t
ngx_http_slidewin_deny_cache_banned(ngx_http_slidewin_denial_t *denial,
    ngx_http_slidewin_claim_t *claim, int64_t now)
{
    int64_t     known_until;
    ngx_uint_t  i;

    known_until = 0;

    for (i = 0; i < NGX_HTTP_SLIDEWIN_DENY_COSTS; i++) {
        known_until = ngx_max(known_until, denial->costs[i].reject_until);
    }

    if (now >= denial->ban_until || now >= known_until) {
        return 0;
    }

    ngx_http_slidewin_deny_cache_verdict(denial, claim,
                         ngx_http_slidewin_deny_cache_admit_at(denial,
                                                               claim->cost),
                         now);

    if (!ngx_http_slidewin_memo_same_rule(&denial->rule, &claim->rule)) {
        claim->verdict.level = 0;
    }

    return 1;
}


ngx_uint_t
ngx_http_slidewin_deny_cache_known(ngx_http_slidewin_claim_t *claim,
    int64_t pause)
{
    int64_t                         now, admit_at;
    ngx_uint_t                      known;
    ngx_http_slidewin_denial_t     *denial;
    ngx_http_slidewin_zone_op_t     op;
    ngx_http_slidewin_deny_cost_t  *dc;

    now = ngx_http_slidewin_clock_ms();
    known = 0;

    ngx_http_slidewin_memo_lock(&op, claim, NGX_HTTP_SLIDEWIN_NODE_DENY);

    denial = ngx_http_slidewin_deny_cache_create(&op, claim, now);

    if (denial) {
        dc = ngx_http_slidewin_deny_cache_find_cost(denial, claim->cost);

        known = now < denial->next_peek
                || (dc->cost == claim->cost && now < dc->reject_until);

        if (known) {
            admit_at = ngx_http_slidewin_deny_cache_admit_at(denial,
                                                             claim->cost);

            ngx_http_slidewin_deny_cache_verdict(denial, claim, admit_at, now);

        } else {
            denial->next_peek = now + pause;

            ngx_http_slidewin_memo_keep_until(&op, &denial->memo,
                                              ngx_max(denial->memo.until,
                                                      denial->next_peek));
        }
    }

    ngx_http_slidewin_memo_unlock(&op);

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "slidewin deny cache: zone:%V peek %s",
                   &claim->name, known ? "is known" : "is to be asked");

    return known;
}


static void
ngx_http_slidewin_deny_cache_verdict(ngx_http_slidewin_denial_t *denial,
    ngx_http_slidewin_claim_t *claim, int64_t admit_at, int64_t now)
{
    ngx_http_slidewin_snapshot_load(&denial->snapshot, &claim->rule, now,
                                    &claim->verdict);

    claim->counted = 0;

    if (claim->cost > claim->rule.limit) {
        claim->verdict.retry = SW_NEVER;

    } else {
        claim->verdict.admitted = (admit_at <= now);
        claim->verdict.retry = ngx_max(admit_at - now, 0);
    }

    if (claim->ban) {
        claim->banned = ngx_max(denial->ban_until - now, 0);
        claim->ban_began = 0;

        if (claim->banned) {
            sw_ban_verdict(&claim->verdict, claim->banned);
        }
    }
}


/*
 * By the latest reply of the store: a cost above what was left waits at least
 * until there is more.
 */

static int64_t
ngx_http_slidewin_deny_cache_admit_at(ngx_http_slidewin_denial_t *denial,
    int64_t cost)
{
    int64_t                         more_at;
    ngx_http_slidewin_deny_cost_t  *dc;

    if (cost <= denial->snapshot.remaining) {
        return 0;
    }

    more_at = denial->snapshot.at + denial->snapshot.more;
    dc = ngx_http_slidewin_deny_cache_find_cost(denial, cost);

    return (dc->cost == cost && dc->reject_until)
               ? ngx_max(more_at, dc->admit_at) : more_at;
}


static ngx_http_slidewin_denial_t *
ngx_http_slidewin_deny_cache_create(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_claim_t *claim, int64_t now)
{
    ngx_http_slidewin_denial_t  *denial;

    denial = ngx_http_slidewin_memo_lookup(op);

    if (denial == NULL) {
        denial = ngx_http_slidewin_zone_insert_memo(op,
                                           sizeof(ngx_http_slidewin_denial_t),
                                           now);
    }

    /* next_peek and a ban hold for any rule, the rest is of another rate */

    if (denial
        && !ngx_http_slidewin_memo_same_rule(&denial->rule, &claim->rule))
    {
        ngx_memzero(denial->costs, sizeof(denial->costs));
        ngx_memzero(&denial->snapshot, sizeof(ngx_http_slidewin_snapshot_t));
        denial->rule = claim->rule;
    }

    return denial;
}


void
ngx_http_slidewin_deny_cache_insert(ngx_http_slidewin_claim_t *claim,
    int64_t asked_at, int64_t max)
{
    int64_t                         now, retry, known;
    ngx_http_slidewin_denial_t     *denial;
    ngx_http_slidewin_zone_op_t     op;
    ngx_http_slidewin_deny_cost_t  *dc;

    retry = claim->verdict.retry;
    known = retry;

    if (claim->banned) {
        retry = ngx_max(retry, claim->banned);
        known = claim->banned;

    } else if (!claim->verdict.admitted && retry == SW_NEVER) {
        return;
    }

    now = ngx_http_slidewin_clock_ms();

    ngx_http_slidewin_memo_lock(&op, claim, NGX_HTTP_SLIDEWIN_NODE_DENY);

    if (ngx_http_slidewin_memo_invalidated_since(&op, asked_at)) {
        goto done;
    }

    denial = ngx_http_slidewin_deny_cache_create(&op, claim, now);

    if (denial == NULL) {
        goto done;
    }

    ngx_http_slidewin_snapshot_save(&denial->snapshot, &claim->verdict, now);

    dc = ngx_http_slidewin_deny_cache_find_cost(denial, claim->cost);

    /* a worker that is killed between these leaves a cost that is not known */

    dc->reject_until = 0;
    ngx_memory_barrier();

    denial->ban_until = claim->banned ? now + claim->banned : 0;

    dc->cost = claim->cost;
    dc->admit_at = claim->verdict.admitted ? 0 : now + retry;
    ngx_memory_barrier();

    /*
     * The store decided at some time since it was asked: what is known may
     * count from as early as that.
     */

    dc->reject_until = claim->verdict.admitted
                           ? now
                           : ngx_min(asked_at / 1000 + known, now + max);

    ngx_http_slidewin_memo_keep_until(&op, &denial->memo,
                                      ngx_max(denial->memo.until,
                                              dc->reject_until));

    if (dc->admit_at) {
        ngx_http_slidewin_memo_deny_until(&op, dc->reject_until);
    }

done:

    ngx_http_slidewin_memo_unlock(&op);
}


ngx_uint_t
ngx_http_slidewin_deny_cache_invalidated(ngx_http_slidewin_claim_t *claim,
    int64_t asked_at)
{
    ngx_uint_t                   invalidated;
    ngx_http_slidewin_zone_op_t  op;

    ngx_http_slidewin_memo_lock(&op, claim, NGX_HTTP_SLIDEWIN_NODE_DENY);

    invalidated = ngx_http_slidewin_memo_invalidated_since(&op, asked_at);

    ngx_http_slidewin_memo_unlock(&op);

    return invalidated;
}


/* the entry of this cost, or else the one to be replaced */

static ngx_http_slidewin_deny_cost_t *
ngx_http_slidewin_deny_cache_find_cost(ngx_http_slidewin_denial_t *denial,
    int64_t cost)
{
    ngx_uint_t                      i;
    ngx_http_slidewin_deny_cost_t  *dc, *oldest;

    oldest = &denial->costs[0];

    for (i = 0; i < NGX_HTTP_SLIDEWIN_DENY_COSTS; i++) {
        dc = &denial->costs[i];

        if (dc->cost == cost) {
            return dc;
        }

        if (dc->reject_until < oldest->reject_until) {
            oldest = dc;
        }
    }

    return oldest;
}


void
ngx_http_slidewin_deny_cache_invalidate(ngx_http_slidewin_claim_t *claim)
{
    ngx_http_slidewin_denial_t   *denial;
    ngx_http_slidewin_zone_op_t   op;

    ngx_http_slidewin_memo_lock(&op, claim, NGX_HTTP_SLIDEWIN_NODE_DENY);

    ngx_http_slidewin_memo_invalidate(&op, ngx_http_slidewin_clock_us());

    denial = ngx_http_slidewin_memo_lookup(&op);

    if (denial) {
        ngx_http_slidewin_memo_delete(&op, &denial->memo);
    }

    ngx_http_slidewin_memo_unlock(&op);
}
