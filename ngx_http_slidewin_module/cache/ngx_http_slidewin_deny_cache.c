
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_deny_cache.h"
#include "ngx_http_slidewin_memo.h"
#include "ngx_http_slidewin_snapshot.h"


/* costs of a client that are remembered together; fills the slab's 256 bytes */
#define NGX_HTTP_SLIDEWIN_DENIAL_COSTS  2


/*
 * When the cost is admitted if nobody else comes, or 0 for one with room, and
 * until when that refuses; if there is no such time, the cost is not known.
 * Later it only tells those that are refused by others how long they wait.
 */

typedef struct {
    int64_t                      cost;
    int64_t                      due;        /* ms */
    int64_t                      until;
} ngx_http_slidewin_refusal_t;


typedef struct {
    ngx_http_slidewin_memo_t      memo;
    sw_rule_t                     rule;
    ngx_http_slidewin_snapshot_t  echo;
    int64_t                       next_look; /* not before, ms */
    ngx_http_slidewin_refusal_t   refusals[NGX_HTTP_SLIDEWIN_DENIAL_COSTS];
} ngx_http_slidewin_denial_t;


static void ngx_http_slidewin_deny_cache_tell(
    ngx_http_slidewin_denial_t *denial, ngx_http_slidewin_claim_t *claim,
    int64_t due, int64_t now);
static int64_t ngx_http_slidewin_deny_cache_due(
    ngx_http_slidewin_denial_t *denial, int64_t cost);
static ngx_http_slidewin_denial_t *ngx_http_slidewin_deny_cache_open(
    ngx_http_slidewin_zone_op_t *op, ngx_http_slidewin_claim_t *claim,
    int64_t now);
static ngx_http_slidewin_refusal_t *ngx_http_slidewin_deny_cache_slot(
    ngx_http_slidewin_denial_t *denial, int64_t cost);


/*
 * A greater cost has a time of its own, later than this one, and is not told
 * this one's: it asks once, and is remembered as well.
 */

ngx_uint_t
ngx_http_slidewin_deny_cache_lookup(ngx_http_slidewin_claim_t *claim)
{
    int64_t                       now;
    ngx_uint_t                    found;
    ngx_http_slidewin_zone_op_t   op;
    ngx_http_slidewin_denial_t   *denial;
    ngx_http_slidewin_refusal_t  *refusal;

    now = ngx_http_slidewin_clock_ms();

    if (!ngx_http_slidewin_memo_may_deny(claim->zone, now)) {
        return 0;
    }

    found = 0;

    ngx_http_slidewin_zone_op_init_key(&op, claim->zone, &claim->key,
                                    NGX_HTTP_SLIDEWIN_NODE_DENY);
    ngx_http_slidewin_zone_lock(&op);

    denial = ngx_http_slidewin_memo_lookup(&op);

    if (denial
        && ngx_http_slidewin_memo_same_rule(&denial->rule, &claim->rule))
    {
        refusal = ngx_http_slidewin_deny_cache_slot(denial, claim->cost);

        if (refusal->cost == claim->cost && now < refusal->until
            && refusal->due > 0)
        {
            ngx_http_slidewin_deny_cache_tell(denial, claim, refusal->due, now);
            found = 1;
        }
    }

    ngx_http_slidewin_zone_unlock(&op);
    ngx_http_slidewin_zone_finish(&op, ngx_cycle->log);

    return found;
}


/*
 * Who is told that it is not known asks, and the others that come meanwhile
 * are told what was known before.
 */

ngx_uint_t
ngx_http_slidewin_deny_cache_known(ngx_http_slidewin_claim_t *claim,
    int64_t pause)
{
    int64_t                       now;
    ngx_uint_t                    known;
    ngx_http_slidewin_zone_op_t   op;
    ngx_http_slidewin_denial_t   *denial;
    ngx_http_slidewin_refusal_t  *refusal;

    now = ngx_http_slidewin_clock_ms();
    known = 0;

    ngx_http_slidewin_zone_op_init_key(&op, claim->zone, &claim->key,
                                    NGX_HTTP_SLIDEWIN_NODE_DENY);
    ngx_http_slidewin_zone_lock(&op);

    denial = ngx_http_slidewin_deny_cache_open(&op, claim, now);

    if (denial) {
        refusal = ngx_http_slidewin_deny_cache_slot(denial, claim->cost);

        known = now < denial->next_look
                || (refusal->cost == claim->cost && now < refusal->until);

        if (known) {
            ngx_http_slidewin_deny_cache_tell(
                denial, claim,
                ngx_http_slidewin_deny_cache_due(denial, claim->cost), now);

        } else {
            denial->next_look = now + pause;

            ngx_http_slidewin_memo_keep_until(&op, &denial->memo,
                                        ngx_max(denial->memo.until,
                                                denial->next_look));
        }
    }

    ngx_http_slidewin_zone_unlock(&op);
    ngx_http_slidewin_zone_finish(&op, ngx_cycle->log);

    return known;
}


static void
ngx_http_slidewin_deny_cache_tell(ngx_http_slidewin_denial_t *denial,
    ngx_http_slidewin_claim_t *claim, int64_t due, int64_t now)
{
    ngx_http_slidewin_snapshot_load(&denial->echo, &claim->rule, now,
                                    &claim->verdict);

    claim->counted = 0;

    if (claim->cost > claim->rule.limit) {
        claim->verdict.retry = SW_NEVER;
        return;
    }

    claim->verdict.admitted = (due <= now);
    claim->verdict.retry = ngx_max(due - now, 0);
}


/* by the latest answer: a cost waits until there is more than what was left */

static int64_t
ngx_http_slidewin_deny_cache_due(ngx_http_slidewin_denial_t *denial,
    int64_t cost)
{
    int64_t                       due;
    ngx_http_slidewin_refusal_t  *refusal;

    if (cost <= denial->echo.remaining) {
        return 0;
    }

    due = denial->echo.at + denial->echo.more;
    refusal = ngx_http_slidewin_deny_cache_slot(denial, cost);

    return (refusal->cost == cost && refusal->until)
               ? ngx_max(due, refusal->due) : due;
}


static ngx_http_slidewin_denial_t *
ngx_http_slidewin_deny_cache_open(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_claim_t *claim, int64_t now)
{
    ngx_http_slidewin_denial_t  *denial;

    denial = ngx_http_slidewin_memo_lookup(op);

    if (denial == NULL) {
        denial = ngx_http_slidewin_zone_insert_memo(op,
                                          sizeof(ngx_http_slidewin_denial_t),
                                          now);
    }

    /* of another rate nothing is known but when it may be looked at */

    if (denial
        && !ngx_http_slidewin_memo_same_rule(&denial->rule, &claim->rule))
    {
        ngx_memzero(denial->refusals, sizeof(denial->refusals));
        ngx_memzero(&denial->echo, sizeof(ngx_http_slidewin_snapshot_t));
        denial->rule = claim->rule;
    }

    return denial;
}


void
ngx_http_slidewin_deny_cache_insert(ngx_http_slidewin_claim_t *claim,
    int64_t asked, int64_t most)
{
    int64_t                       now;
    ngx_http_slidewin_zone_op_t   op;
    ngx_http_slidewin_denial_t   *denial;
    ngx_http_slidewin_refusal_t  *refusal;

    if (!claim->verdict.admitted && claim->verdict.retry == SW_NEVER) {
        return;
    }

    now = ngx_http_slidewin_clock_ms();

    ngx_http_slidewin_zone_op_init_key(&op, claim->zone, &claim->key,
                                    NGX_HTTP_SLIDEWIN_NODE_DENY);
    ngx_http_slidewin_zone_lock(&op);

    if (ngx_http_slidewin_memo_invalidated_since(&op, asked)) {
        goto done;
    }

    denial = ngx_http_slidewin_deny_cache_open(&op, claim, now);

    if (denial) {
        ngx_http_slidewin_snapshot_save(&denial->echo, &claim->verdict, now);

        refusal = ngx_http_slidewin_deny_cache_slot(denial, claim->cost);

        refusal->until = 0;
        ngx_memory_barrier();

        refusal->cost = claim->cost;
        refusal->due = claim->verdict.admitted ? 0
                                               : now + claim->verdict.retry;
        ngx_memory_barrier();

        /* the store said so at some time since it was asked */

        refusal->until = claim->verdict.admitted
                             ? now
                             : ngx_min(asked / 1000 + claim->verdict.retry,
                                       now + most);

        ngx_http_slidewin_memo_keep_until(&op, &denial->memo,
                                    ngx_max(denial->memo.until,
                                            refusal->until));

        if (refusal->due) {
            ngx_http_slidewin_memo_deny_until(&op, refusal->until);
        }
    }

done:

    ngx_http_slidewin_zone_unlock(&op);
    ngx_http_slidewin_zone_finish(&op, ngx_cycle->log);
}


ngx_uint_t
ngx_http_slidewin_deny_cache_invalidated(ngx_http_slidewin_claim_t *claim,
    int64_t asked)
{
    ngx_uint_t                   outdated;
    ngx_http_slidewin_zone_op_t  op;

    ngx_http_slidewin_zone_op_init_key(&op, claim->zone, &claim->key,
                                    NGX_HTTP_SLIDEWIN_NODE_DENY);
    ngx_http_slidewin_zone_lock(&op);

    outdated = ngx_http_slidewin_memo_invalidated_since(&op, asked);

    ngx_http_slidewin_zone_unlock(&op);
    ngx_http_slidewin_zone_finish(&op, ngx_cycle->log);

    return outdated;
}


/* that of the cost, or the one to be replaced */

static ngx_http_slidewin_refusal_t *
ngx_http_slidewin_deny_cache_slot(ngx_http_slidewin_denial_t *denial,
    int64_t cost)
{
    ngx_uint_t                    i;
    ngx_http_slidewin_refusal_t  *refusal, *first;

    first = &denial->refusals[0];

    for (i = 0; i < NGX_HTTP_SLIDEWIN_DENIAL_COSTS; i++) {
        refusal = &denial->refusals[i];

        if (refusal->cost == cost) {
            return refusal;
        }

        if (refusal->until < first->until) {
            first = refusal;
        }
    }

    return first;
}


void
ngx_http_slidewin_deny_cache_invalidate(ngx_http_slidewin_claim_t *claim)
{
    ngx_http_slidewin_zone_op_t   op;
    ngx_http_slidewin_denial_t   *denial;

    ngx_http_slidewin_zone_op_init_key(&op, claim->zone, &claim->key,
                                    NGX_HTTP_SLIDEWIN_NODE_DENY);
    ngx_http_slidewin_zone_lock(&op);

    ngx_http_slidewin_memo_invalidate(&op, ngx_http_slidewin_clock_us());

    denial = ngx_http_slidewin_memo_lookup(&op);

    if (denial) {
        ngx_http_slidewin_memo_delete(&op, &denial->memo);
    }

    ngx_http_slidewin_zone_unlock(&op);
    ngx_http_slidewin_zone_finish(&op, ngx_cycle->log);
}
