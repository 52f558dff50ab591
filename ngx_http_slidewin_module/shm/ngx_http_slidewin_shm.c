
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_shm.h"
#include "ngx_http_slidewin_zone.h"
#include "ngx_http_slidewin_zone_ban.h"
#include "ngx_http_slidewin_zone_expiry.h"


/*
 * The check of one claim in its zone.  state is the node's, unless that was
 * counted by another rule: then it is carried, which is what the node becomes
 * if the claim is counted.
 */

typedef struct {
    ngx_http_slidewin_claim_t    *claim;
    ngx_http_slidewin_node_t     *node;
    sw_state_t                   *state;
    sw_any_state_t                carried;
    ngx_http_slidewin_zone_op_t   op;
    ngx_uint_t                    to_count;
} ngx_http_slidewin_shm_check_t;


static ngx_int_t ngx_http_slidewin_shm_take(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_shm_peek(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_shm_reset(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_shm_give_back(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_shm_charge(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call);

static ngx_int_t ngx_http_slidewin_shm_take_one(
    ngx_http_slidewin_call_t *call);
static void ngx_http_slidewin_shm_lock_all(
    ngx_http_slidewin_shm_check_t *checks, ngx_http_slidewin_call_t *call);
static void ngx_http_slidewin_shm_check_init(
    ngx_http_slidewin_shm_check_t *check, ngx_http_slidewin_claim_t *claim);
static void ngx_http_slidewin_shm_unlock_all(
    ngx_http_slidewin_shm_check_t *checks, ngx_http_slidewin_call_t *call);
static ngx_uint_t ngx_http_slidewin_shm_decide(
    ngx_http_slidewin_shm_check_t *checks, ngx_uint_t n, int64_t now);
static ngx_inline ngx_uint_t ngx_http_slidewin_shm_admits(
    ngx_http_slidewin_shm_check_t *check, int64_t now);
static ngx_uint_t ngx_http_slidewin_shm_admits_client(
    ngx_http_slidewin_shm_check_t *check, int64_t now)
    __attribute__((noinline));
static void ngx_http_slidewin_shm_find(ngx_http_slidewin_shm_check_t *check,
    int64_t now);
static ngx_int_t ngx_http_slidewin_shm_prepare(
    ngx_http_slidewin_shm_check_t *check, int64_t now);
static ngx_int_t ngx_http_slidewin_shm_carry(
    ngx_http_slidewin_shm_check_t *check, int64_t now);
static void ngx_http_slidewin_shm_finish(ngx_http_slidewin_shm_check_t *check,
    int64_t now);
static void ngx_http_slidewin_shm_ban(ngx_http_slidewin_shm_check_t *check,
    int64_t now);


const ngx_http_slidewin_backend_t  ngx_http_slidewin_shm_backend = {
    ngx_http_slidewin_shm_take,
    ngx_http_slidewin_shm_peek,
    ngx_http_slidewin_shm_reset,
    ngx_http_slidewin_shm_give_back,
    ngx_http_slidewin_shm_charge,
    NULL,                                  /* never waits */
    NULL,
    NULL,
    NULL,
    NULL,
    NULL
};


static ngx_int_t
ngx_http_slidewin_shm_take(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    int64_t                        now;
    ngx_int_t                      rc;
    ngx_uint_t                     i;
    ngx_http_slidewin_shm_check_t  checks[NGX_HTTP_SLIDEWIN_CLAIMS_MAX];

    if (call->n == 1) {
        return ngx_http_slidewin_shm_take_one(call);
    }

    ngx_http_slidewin_shm_lock_all(checks, call);

    now = ngx_http_slidewin_clock_ms();
    rc = NGX_OK;

    if (ngx_http_slidewin_shm_decide(checks, call->n, now)) {

        /* memory for all claims before any of them is counted */

        for (i = 0; i < call->n && rc == NGX_OK; i++) {
            rc = ngx_http_slidewin_shm_prepare(&checks[i],
                                               now + checks[i].op.utc_offset);
        }
    }

    if (rc == NGX_OK) {
        for (i = 0; i < call->n; i++) {
            ngx_http_slidewin_shm_finish(&checks[i],
                                         now + checks[i].op.utc_offset);

            if (checks[i].claim->ban) {
                ngx_http_slidewin_shm_ban(&checks[i], now);
            }
        }
    }

    ngx_http_slidewin_shm_unlock_all(checks, call);

    return rc;
}


/* the common case: one claim needs no second pass for all or nothing */

static ngx_int_t
ngx_http_slidewin_shm_take_one(ngx_http_slidewin_call_t *call)
{
    int64_t                         now;
    ngx_int_t                       rc;
    ngx_http_slidewin_shm_check_t   check;
    ngx_http_slidewin_claim_t      *claim;

    claim = call->claims[0];

    ngx_http_slidewin_shm_check_init(&check, claim);

    ngx_http_slidewin_zone_lock(&check.op);

    /*
     * Not before the lock: another worker that held it meanwhile would have
     * counted at a later time.
     */

    call->decided_at = ngx_http_slidewin_clock_us();
    now = call->decided_at / 1000 + check.op.utc_offset;

    ngx_http_slidewin_shm_find(&check, now);

    /* most clients are known, and their states need no more memory */

    if (check.node && check.state == &check.node->state
        && claim->rule.algorithm != SW_LOG && claim->ban == NULL)
    {
        rc = NGX_OK;
        claim->counted = sw_window_take(check.state, &claim->rule, now,
                                        claim->cost, &claim->verdict)
                         && claim->cost > 0;

        if (claim->counted) {
            ngx_http_slidewin_zone_expiry_update(&check.op, check.node);
        }

    } else {
        check.to_count = ngx_http_slidewin_shm_admits(&check, now)
                      && claim->cost > 0;

        rc = ngx_http_slidewin_shm_prepare(&check, now);

        if (rc == NGX_OK) {
            ngx_http_slidewin_shm_finish(&check, now);
        }

        if (rc == NGX_OK && claim->ban) {
            ngx_http_slidewin_shm_ban(&check, now - check.op.utc_offset);
        }
    }

    ngx_http_slidewin_zone_unlock(&check.op);

    ngx_http_slidewin_zone_finish(&check.op, call->log);

    return rc;
}


static ngx_int_t
ngx_http_slidewin_shm_peek(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    int64_t                        now, zone_now;
    ngx_uint_t                     i;
    ngx_http_slidewin_shm_check_t  checks[NGX_HTTP_SLIDEWIN_CLAIMS_MAX];

    ngx_http_slidewin_shm_lock_all(checks, call);

    now = ngx_http_slidewin_clock_ms();

    for (i = 0; i < call->n; i++) {
        zone_now = now + checks[i].op.utc_offset;

        ngx_http_slidewin_shm_find(&checks[i], zone_now);
        (void) ngx_http_slidewin_shm_admits(&checks[i], zone_now);
        ngx_http_slidewin_shm_finish(&checks[i], zone_now);

        if (checks[i].claim->ban) {
            ngx_http_slidewin_shm_ban(&checks[i], now);
        }
    }

    ngx_http_slidewin_shm_unlock_all(checks, call);

    return NGX_OK;
}


static ngx_int_t
ngx_http_slidewin_shm_reset(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    ngx_uint_t                      i;
    ngx_http_slidewin_node_t       *node;
    ngx_http_slidewin_shm_check_t   checks[NGX_HTTP_SLIDEWIN_CLAIMS_MAX];

    ngx_http_slidewin_shm_lock_all(checks, call);

    for (i = 0; i < call->n; i++) {
        node = ngx_http_slidewin_zone_lookup(&checks[i].op);

        if (node) {
            ngx_http_slidewin_zone_remove(&checks[i].op, node);
        }

        if (checks[i].claim->ban) {
            ngx_http_slidewin_zone_ban_remove(&checks[i].op, checks[i].claim);
        }
    }

    ngx_http_slidewin_shm_unlock_all(checks, call);

    return NGX_OK;
}


static ngx_int_t
ngx_http_slidewin_shm_give_back(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    ngx_uint_t                      i;
    ngx_http_slidewin_node_t       *node;
    ngx_http_slidewin_shm_check_t   checks[NGX_HTTP_SLIDEWIN_CLAIMS_MAX];
    ngx_http_slidewin_claim_t      *claim;

    ngx_http_slidewin_shm_lock_all(checks, call);

    for (i = 0; i < call->n; i++) {
        claim = checks[i].claim;
        node = ngx_http_slidewin_zone_lookup(&checks[i].op);

        if (node == NULL) {
            continue;
        }

        sw_window_give_back(&node->state, &claim->rule, claim->cost,
                            claim->verdict.stamp);

        ngx_http_slidewin_zone_expiry_update(&checks[i].op, node);
    }

    ngx_http_slidewin_shm_unlock_all(checks, call);

    return NGX_OK;
}


static ngx_int_t
ngx_http_slidewin_shm_charge(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    int64_t                         now, limit;
    ngx_int_t                       rc;
    sw_rule_t                      *rule;
    ngx_http_slidewin_claim_t      *claim;
    ngx_http_slidewin_shm_check_t   check;

    claim = call->claims[0];
    rule = &claim->rule;

    limit = rule->limit;
    rule->limit = sw_rule_most(rule);

    ngx_http_slidewin_shm_check_init(&check, claim);

    ngx_http_slidewin_zone_lock(&check.op);

    now = ngx_http_slidewin_clock_ms() + check.op.utc_offset;

    ngx_http_slidewin_shm_find(&check, now);

    /* what is not counted is told as estimated */

    rc = NGX_DECLINED;

    if (check.node && !sw_state_may_charge(&check.node->state, rule, now)) {
        goto done;
    }

    /* what has left the window makes room */

    if (check.state) {
        (void) sw_window_admits(check.state, rule, now, 0);
    }

    /* a log may have an entry for each reservation and one for each charge */

    rule->limit = ngx_min(2 * limit, rule->limit);

    check.to_count = 1;
    rc = ngx_http_slidewin_shm_prepare(&check, now);

    if (rc == NGX_OK) {

        if (sw_window_charge(check.state, rule, now, claim->cost) == 0) {
            rc = NGX_DECLINED;
        }

        ngx_http_slidewin_zone_expiry_update(&check.op, check.node);
    }

done:

    ngx_http_slidewin_zone_unlock(&check.op);

    ngx_http_slidewin_zone_finish(&check.op, call->log);

    return rc;
}


/* the order of locking is the order of call->claims from here on */

static void
ngx_http_slidewin_shm_lock_all(ngx_http_slidewin_shm_check_t *checks,
    ngx_http_slidewin_call_t *call)
{
    ngx_uint_t                  i, j;
    ngx_http_slidewin_claim_t  *claim;

    for (i = 1; i < call->n; i++) {
        claim = call->claims[i];

        for (j = i; j > 0; j--) {
            if (ngx_http_slidewin_zone_locks_before(call->claims[j - 1]->zone,
                                                    claim->zone))
            {
                break;
            }

            call->claims[j] = call->claims[j - 1];
        }

        call->claims[j] = claim;
    }

    for (i = 0; i < call->n; i++) {
        ngx_http_slidewin_shm_check_init(&checks[i], call->claims[i]);
    }

    for (i = 0; i < call->n; i++) {
        ngx_http_slidewin_zone_lock(&checks[i].op);
    }
}


static void
ngx_http_slidewin_shm_check_init(ngx_http_slidewin_shm_check_t *check,
    ngx_http_slidewin_claim_t *claim)
{
    check->claim = claim;
    check->node = NULL;
    check->state = NULL;
    check->to_count = 0;

    ngx_http_slidewin_zone_op_init_key(&check->op, claim->zone, &claim->key,
                                    NGX_HTTP_SLIDEWIN_NODE_COUNTER);
}


static void
ngx_http_slidewin_shm_unlock_all(ngx_http_slidewin_shm_check_t *checks,
    ngx_http_slidewin_call_t *call)
{
    ngx_uint_t  i;

    for (i = call->n; i > 0; i--) {
        ngx_http_slidewin_zone_unlock(&checks[i - 1].op);
    }

    for (i = 0; i < call->n; i++) {
        ngx_http_slidewin_zone_finish(&checks[i].op, call->log);
    }
}


/*
 * An enforced claim that is rejected leaves every claim uncounted, one of a dry
 * run the claims of dry runs.  Returns whether any claim is to be counted.
 */

static ngx_uint_t
ngx_http_slidewin_shm_decide(ngx_http_slidewin_shm_check_t *checks,
    ngx_uint_t n, int64_t now)
{
    int64_t                     zone_now;
    ngx_uint_t                  i, enforced, dry_run, counts;
    ngx_http_slidewin_claim_t  *claim;

    enforced = 1;
    dry_run = 1;

    for (i = 0; i < n; i++) {
        zone_now = now + checks[i].op.utc_offset;

        ngx_http_slidewin_shm_find(&checks[i], zone_now);

        if (ngx_http_slidewin_shm_admits(&checks[i], zone_now)) {
            continue;
        }

        if (checks[i].claim->dry_run) {
            dry_run = 0;

        } else {
            enforced = 0;
        }
    }

    counts = 0;

    for (i = 0; i < n; i++) {
        claim = checks[i].claim;
        checks[i].to_count = enforced && claim->cost > 0
                          && (dry_run || !claim->dry_run);
        counts |= checks[i].to_count;
    }

    return counts;
}


/* the verdict is that of the window; a ban that it does not know is added */

static ngx_inline ngx_uint_t
ngx_http_slidewin_shm_admits(ngx_http_slidewin_shm_check_t *check, int64_t now)
{
    ngx_http_slidewin_claim_t  *claim;

    claim = check->claim;

    claim->counted = 0;
    claim->verdict.admitted = check->state
              ? sw_window_admits(check->state, &claim->rule, now, claim->cost)
              : claim->cost <= claim->rule.limit;

    if (claim->ban) {
        return ngx_http_slidewin_shm_admits_client(check, now);
    }

    return claim->verdict.admitted;
}


static ngx_uint_t
ngx_http_slidewin_shm_admits_client(ngx_http_slidewin_shm_check_t *check,
    int64_t now)
{
    ngx_http_slidewin_claim_t  *claim;

    claim = check->claim;

    ngx_http_slidewin_zone_ban_lookup(&check->op, claim,
                                      now - check->op.utc_offset);

    return claim->banned == 0 && claim->verdict.admitted;
}


static void
ngx_http_slidewin_shm_find(ngx_http_slidewin_shm_check_t *check, int64_t now)
{
    sw_rule_t                 *rule;
    ngx_http_slidewin_node_t  *node;

    node = ngx_http_slidewin_zone_lookup(&check->op);

    if (node == NULL) {
        return;
    }

    ngx_http_slidewin_zone_touch(&check->op, node);

    rule = &check->claim->rule;
    check->node = node;
    check->state = &node->state;

    if (sw_state_matches(&node->state, rule)) {
        return;
    }

    /* a rate from a variable, or a reload: the units are carried over */

    check->state = &check->carried.state;

    ngx_memcpy(check->state, &node->state, sw_state_bytes(&node->state));

    sw_state_convert(&check->carried, rule, now);
}


/* all memory that counting the claim needs */

static ngx_int_t
ngx_http_slidewin_shm_prepare(ngx_http_slidewin_shm_check_t *check, int64_t now)
{
    sw_rule_t  *rule;

    if (!check->to_count) {
        return NGX_OK;
    }

    rule = &check->claim->rule;

    if (check->state == &check->carried.state
        && ngx_http_slidewin_shm_carry(check, now) != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (check->node == NULL) {
        check->node = ngx_http_slidewin_zone_insert_counter(
                          &check->op, rule, sw_state_size(rule), now);
        if (check->node == NULL) {
            return NGX_ERROR;
        }
    }

    check->state = &check->node->state;

    if (rule->algorithm == SW_LOG) {
        ngx_http_slidewin_zone_grow_log(&check->op, check->node, rule, now);
    }

    return NGX_OK;
}


/*
 * Writes the carried state into the node, or into a new one if the size is
 * another.  A carried log is its total alone, which becomes an entry.
 */

static ngx_int_t
ngx_http_slidewin_shm_carry(ngx_http_slidewin_shm_check_t *check, int64_t now)
{
    size_t                     size;
    sw_state_t                *state;
    sw_rule_t                 *rule;
    ngx_http_slidewin_node_t  *node;

    node = check->node;
    state = check->state;
    rule = &check->claim->rule;
    size = sw_state_bytes(state);

    if (node->state.algorithm != state->algorithm
        || sw_state_bytes(&node->state) != size)
    {
        ngx_http_slidewin_zone_remove(&check->op, node);

        node = ngx_http_slidewin_zone_insert_counter(&check->op, rule, size,
                                                     now);
        check->node = node;

        if (node == NULL) {
            return NGX_ERROR;
        }
    }

    if (state->algorithm == SW_LOG) {
        sw_state_carry(&node->state, rule, now, state->u.log.total);

    } else {
        ngx_memcpy(&node->state, state, size);
    }

    check->state = &node->state;

    ngx_http_slidewin_zone_expiry_update(&check->op, node);

    return NGX_OK;
}


/* counts the claim, if it is to be counted, and completes its verdict */

static void
ngx_http_slidewin_shm_finish(ngx_http_slidewin_shm_check_t *check, int64_t now)
{
    int64_t                     stamp;
    sw_state_t                 *state;
    ngx_http_slidewin_claim_t  *claim;

    claim = check->claim;

    state = check->state;

    if (state == NULL) {
        sw_window_check_new(&claim->rule, now, claim->cost,
                            &claim->verdict);
        return;
    }

    /*
     * Rejected because of units that were counted by another rule, and carried
     * over as though used now.  The node has to keep that: or each attempt
     * would carry them over anew, and Retry-After would never come true.  If
     * there is no memory for a state of another size, the verdict is that of
     * the carried one.
     */

    if (state == &check->carried.state && !claim->verdict.admitted
        && ngx_http_slidewin_shm_carry(check, now) == NGX_OK)
    {
        state = check->state;
    }

    if (check->to_count) {
        stamp = sw_window_add(state, &claim->rule, now, claim->cost);

        /* what is left after the claim */

        sw_window_check_later(state, &claim->rule, now, 0, &claim->verdict);

        claim->verdict.stamp = stamp;
        claim->counted = 1;

    } else {
        sw_window_check_later(state, &claim->rule, now, claim->cost,
                              &claim->verdict);
    }

    /* a log may now be kept for a longer window, even if nothing was added */

    if (check->node && state == &check->node->state) {
        ngx_http_slidewin_zone_expiry_update(&check->op, check->node);
    }
}


/*
 * Called last, because a new node may take the memory of the claim's own.  A
 * rejection that cannot be a ban for want of memory is a rejection.
 */

static void
ngx_http_slidewin_shm_ban(ngx_http_slidewin_shm_check_t *check, int64_t now)
{
    ngx_http_slidewin_claim_t  *claim;

    claim = check->claim;

    if (claim->banned == 0 && !claim->verdict.admitted && claim->begins_ban) {

        sw_verdict_complete(&claim->verdict, &claim->rule);

        if (claim->verdict.retry == SW_NEVER
            || claim->verdict.retry > claim->may_wait)
        {
            ngx_http_slidewin_zone_ban_begin(&check->op, claim, now);
        }
    }

    if (claim->banned) {
        sw_verdict_complete(&claim->verdict, &claim->rule);
        sw_ban_verdict(&claim->verdict, claim->banned);
    }
}
