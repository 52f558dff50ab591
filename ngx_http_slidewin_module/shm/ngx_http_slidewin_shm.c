
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_shm.h"
#include "ngx_http_slidewin_zone_expiry.h"


/*
 * A claim on its way through its zone.  The state is the node's, unless that
 * was counted with another policy: then it is what the node will become if
 * the claim is counted.
 */

typedef struct {
    ngx_http_slidewin_claim_t    *claim;
    ngx_http_slidewin_node_t     *node;
    sw_state_t                   *state;
    sw_any_state_t                carried;
    ngx_http_slidewin_zone_op_t   op;
    ngx_uint_t                    counts;
} ngx_http_slidewin_slot_t;


static ngx_int_t ngx_http_slidewin_shm_take(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_shm_peek(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_shm_reset(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_shm_give_back(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call);

static ngx_int_t ngx_http_slidewin_shm_take_one(
    ngx_http_slidewin_call_t *call);
static void ngx_http_slidewin_shm_open(ngx_http_slidewin_slot_t *slots,
    ngx_http_slidewin_call_t *call);
static void ngx_http_slidewin_shm_visit(ngx_http_slidewin_slot_t *slot,
    ngx_http_slidewin_claim_t *claim);
static void ngx_http_slidewin_shm_close(ngx_http_slidewin_slot_t *slots,
    ngx_http_slidewin_call_t *call);
static ngx_uint_t ngx_http_slidewin_shm_decide(
    ngx_http_slidewin_slot_t *slots, ngx_uint_t n, int64_t now);
static ngx_uint_t ngx_http_slidewin_shm_admits(ngx_http_slidewin_slot_t *slot,
    int64_t now);
static void ngx_http_slidewin_shm_find(ngx_http_slidewin_slot_t *slot,
    int64_t now);
static ngx_int_t ngx_http_slidewin_shm_prepare(ngx_http_slidewin_slot_t *slot,
    int64_t now);
static ngx_int_t ngx_http_slidewin_shm_carry(ngx_http_slidewin_slot_t *slot,
    int64_t now);
static void ngx_http_slidewin_shm_count(ngx_http_slidewin_slot_t *slot,
    int64_t now);


const ngx_http_slidewin_backend_t  ngx_http_slidewin_shm_backend = {
    ngx_http_slidewin_shm_take,
    ngx_http_slidewin_shm_peek,
    ngx_http_slidewin_shm_reset,
    ngx_http_slidewin_shm_give_back,
    NULL,                                  /* never waits */
    NULL,
    NULL,
    NULL,
    NULL
};


static ngx_int_t
ngx_http_slidewin_shm_take(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    int64_t                   now;
    ngx_int_t                 rc;
    ngx_uint_t                i;
    ngx_http_slidewin_slot_t  slots[NGX_HTTP_SLIDEWIN_CLAIMS_MAX];

    if (call->n == 1) {
        return ngx_http_slidewin_shm_take_one(call);
    }

    ngx_http_slidewin_shm_open(slots, call);

    now = ngx_http_slidewin_clock_ms();
    rc = NGX_OK;

    if (ngx_http_slidewin_shm_decide(slots, call->n, now)) {

        /* memory for all before any is counted */

        for (i = 0; i < call->n && rc == NGX_OK; i++) {
            rc = ngx_http_slidewin_shm_prepare(&slots[i],
                                               now + slots[i].op.utc_offset);
        }
    }

    if (rc == NGX_OK) {
        for (i = 0; i < call->n; i++) {
            ngx_http_slidewin_shm_count(&slots[i],
                                        now + slots[i].op.utc_offset);
        }
    }

    ngx_http_slidewin_shm_close(slots, call);

    return rc;
}


/* what nearly every request does; all or nothing is no question for it */

static ngx_int_t
ngx_http_slidewin_shm_take_one(ngx_http_slidewin_call_t *call)
{
    int64_t                     now;
    ngx_int_t                   rc;
    ngx_http_slidewin_slot_t    slot;
    ngx_http_slidewin_claim_t  *claim;

    claim = call->claims[0];

    ngx_http_slidewin_shm_visit(&slot, claim);

    ngx_http_slidewin_zone_lock(&slot.op);

    /* not before: whoever had the lock meanwhile would be ahead of it */

    now = ngx_http_slidewin_clock_ms() + slot.op.utc_offset;

    ngx_http_slidewin_shm_find(&slot, now);

    /* nearly every client is known, and its state needs no more memory */

    if (slot.node && slot.state == &slot.node->state
        && claim->rule.algorithm != SW_LOG)
    {
        rc = NGX_OK;
        claim->counted = sw_window_take(slot.state, &claim->rule, now,
                                        claim->cost, &claim->verdict)
                         && claim->cost > 0;

        if (claim->counted) {
            ngx_http_slidewin_zone_expiry_update(&slot.op, slot.node);
        }

    } else {
        slot.counts = ngx_http_slidewin_shm_admits(&slot, now)
                      && claim->cost > 0;

        rc = ngx_http_slidewin_shm_prepare(&slot, now);

        if (rc == NGX_OK) {
            ngx_http_slidewin_shm_count(&slot, now);
        }
    }

    ngx_http_slidewin_zone_unlock(&slot.op);

    ngx_http_slidewin_zone_finish(&slot.op, call->log);

    return rc;
}


static ngx_int_t
ngx_http_slidewin_shm_peek(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    int64_t                   now, then;
    ngx_uint_t                i;
    ngx_http_slidewin_slot_t  slots[NGX_HTTP_SLIDEWIN_CLAIMS_MAX];

    ngx_http_slidewin_shm_open(slots, call);

    now = ngx_http_slidewin_clock_ms();

    for (i = 0; i < call->n; i++) {
        then = now + slots[i].op.utc_offset;

        ngx_http_slidewin_shm_find(&slots[i], then);
        (void) ngx_http_slidewin_shm_admits(&slots[i], then);
        ngx_http_slidewin_shm_count(&slots[i], then);
    }

    ngx_http_slidewin_shm_close(slots, call);

    return NGX_OK;
}


static ngx_int_t
ngx_http_slidewin_shm_reset(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    ngx_uint_t                 i;
    ngx_http_slidewin_node_t  *node;
    ngx_http_slidewin_slot_t   slots[NGX_HTTP_SLIDEWIN_CLAIMS_MAX];

    ngx_http_slidewin_shm_open(slots, call);

    for (i = 0; i < call->n; i++) {
        node = ngx_http_slidewin_zone_lookup(&slots[i].op);

        if (node) {
            ngx_http_slidewin_zone_remove(&slots[i].op, node);
        }
    }

    ngx_http_slidewin_shm_close(slots, call);

    return NGX_OK;
}


static ngx_int_t
ngx_http_slidewin_shm_give_back(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    ngx_uint_t                  i;
    ngx_http_slidewin_node_t   *node;
    ngx_http_slidewin_slot_t    slots[NGX_HTTP_SLIDEWIN_CLAIMS_MAX];
    ngx_http_slidewin_claim_t  *claim;

    ngx_http_slidewin_shm_open(slots, call);

    for (i = 0; i < call->n; i++) {
        claim = slots[i].claim;
        node = ngx_http_slidewin_zone_lookup(&slots[i].op);

        if (node == NULL) {
            continue;
        }

        sw_window_give_back(&node->state, &claim->rule, claim->cost,
                            claim->verdict.stamp);

        ngx_http_slidewin_zone_expiry_update(&slots[i].op, node);
    }

    ngx_http_slidewin_shm_close(slots, call);

    return NGX_OK;
}


static void
ngx_http_slidewin_shm_open(ngx_http_slidewin_slot_t *slots,
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
        ngx_http_slidewin_shm_visit(&slots[i], call->claims[i]);
    }

    for (i = 0; i < call->n; i++) {
        ngx_http_slidewin_zone_lock(&slots[i].op);
    }
}


static void
ngx_http_slidewin_shm_visit(ngx_http_slidewin_slot_t *slot,
    ngx_http_slidewin_claim_t *claim)
{
    slot->claim = claim;
    slot->node = NULL;
    slot->state = NULL;
    slot->counts = 0;

    ngx_http_slidewin_zone_op_init_key(&slot->op, claim->zone, &claim->key,
                                    NGX_HTTP_SLIDEWIN_NODE_COUNTER);
}


static void
ngx_http_slidewin_shm_close(ngx_http_slidewin_slot_t *slots,
    ngx_http_slidewin_call_t *call)
{
    ngx_uint_t  i;

    for (i = call->n; i > 0; i--) {
        ngx_http_slidewin_zone_unlock(&slots[i - 1].op);
    }

    for (i = 0; i < call->n; i++) {
        ngx_http_slidewin_zone_finish(&slots[i].op, call->log);
    }
}


/* returns whether any claim is to be counted */

static ngx_uint_t
ngx_http_slidewin_shm_decide(ngx_http_slidewin_slot_t *slots, ngx_uint_t n,
    int64_t now)
{
    int64_t                     then;
    ngx_uint_t                  i, enforced, dry_run, counts;
    ngx_http_slidewin_claim_t  *claim;

    enforced = 1;
    dry_run = 1;

    for (i = 0; i < n; i++) {
        then = now + slots[i].op.utc_offset;

        ngx_http_slidewin_shm_find(&slots[i], then);

        if (ngx_http_slidewin_shm_admits(&slots[i], then)) {
            continue;
        }

        if (slots[i].claim->dry_run) {
            dry_run = 0;

        } else {
            enforced = 0;
        }
    }

    counts = 0;

    for (i = 0; i < n; i++) {
        claim = slots[i].claim;
        slots[i].counts = enforced && claim->cost > 0
                          && (dry_run || !claim->dry_run);
        counts |= slots[i].counts;
    }

    return counts;
}


static ngx_uint_t
ngx_http_slidewin_shm_admits(ngx_http_slidewin_slot_t *slot, int64_t now)
{
    ngx_http_slidewin_claim_t  *claim;

    claim = slot->claim;

    claim->counted = 0;
    claim->verdict.admitted = slot->state
              ? sw_window_admits(slot->state, &claim->rule, now, claim->cost)
              : claim->cost <= claim->rule.limit;

    return claim->verdict.admitted;
}


static void
ngx_http_slidewin_shm_find(ngx_http_slidewin_slot_t *slot, int64_t now)
{
    sw_rule_t                 *rule;
    ngx_http_slidewin_node_t  *node;

    node = ngx_http_slidewin_zone_lookup(&slot->op);

    if (node == NULL) {
        return;
    }

    ngx_http_slidewin_zone_touch(&slot->op, node);

    rule = &slot->claim->rule;
    slot->node = node;
    slot->state = &node->state;

    if (sw_state_matches(&node->state, rule)) {
        return;
    }

    /* another rate, or a reload: the units are carried over */

    slot->state = &slot->carried.state;

    ngx_memcpy(slot->state, &node->state, sw_state_bytes(&node->state));

    sw_state_turn(&slot->carried, rule, now);
}


static ngx_int_t
ngx_http_slidewin_shm_prepare(ngx_http_slidewin_slot_t *slot, int64_t now)
{
    sw_rule_t  *rule;

    if (!slot->counts) {
        return NGX_OK;
    }

    rule = &slot->claim->rule;

    if (slot->node && slot->state != &slot->node->state
        && ngx_http_slidewin_shm_carry(slot, now) != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (slot->node == NULL) {
        slot->node = ngx_http_slidewin_zone_insert_counter(&slot->op, rule,
                                                   sw_state_size(rule), now);
        if (slot->node == NULL) {
            return NGX_ERROR;
        }
    }

    slot->state = &slot->node->state;

    if (rule->algorithm == SW_LOG) {
        ngx_http_slidewin_zone_grow_log(&slot->op, slot->node, rule, now);
    }

    return NGX_OK;
}


/*
 * Writes down what was turned: a node of another size is another node.  Of a
 * log there is an entry to add.
 */

static ngx_int_t
ngx_http_slidewin_shm_carry(ngx_http_slidewin_slot_t *slot, int64_t now)
{
    size_t                     size;
    sw_state_t                *state;
    sw_rule_t                 *rule;
    ngx_http_slidewin_node_t  *node;

    node = slot->node;
    state = slot->state;
    rule = &slot->claim->rule;
    size = sw_state_bytes(state);

    if (node->state.algorithm != state->algorithm
        || sw_state_bytes(&node->state) != size)
    {
        ngx_http_slidewin_zone_remove(&slot->op, node);

        node = ngx_http_slidewin_zone_insert_counter(&slot->op, rule, size,
                                                     now);
        slot->node = node;

        if (node == NULL) {
            return NGX_ERROR;
        }
    }

    if (state->algorithm == SW_LOG) {
        sw_state_carry(&node->state, rule, now, state->u.log.total);

    } else {
        ngx_memcpy(&node->state, state, size);
    }

    slot->state = &node->state;

    ngx_http_slidewin_zone_expiry_update(&slot->op, node);

    return NGX_OK;
}


static void
ngx_http_slidewin_shm_count(ngx_http_slidewin_slot_t *slot, int64_t now)
{
    int64_t                     stamp;
    sw_state_t                 *state;
    ngx_http_slidewin_claim_t  *claim;

    claim = slot->claim;

    state = slot->state;

    if (state == NULL) {
        sw_window_check_new(&claim->rule, now, claim->cost,
                            &claim->verdict);
        return;
    }

    /*
     * Refused by what was used under another policy: from now on that has been
     * used now, or it would be so at every attempt and Retry-After not true.
     * If there is no memory for a state of another size, this one is judged.
     */

    if (slot->node && state != &slot->node->state && !claim->verdict.admitted
        && ngx_http_slidewin_shm_carry(slot, now) == NGX_OK)
    {
        state = slot->state;
    }

    if (slot->counts) {
        stamp = sw_window_add(state, &claim->rule, now, claim->cost);

        /* what is left after it */

        sw_window_check_later(state, &claim->rule, now, 0, &claim->verdict);

        claim->verdict.stamp = stamp;
        claim->counted = 1;

    } else {
        sw_window_check_later(state, &claim->rule, now, claim->cost,
                              &claim->verdict);
    }

    /* a log that counts nothing more may be kept for a longer window now */

    if (slot->node && state == &slot->node->state) {
        ngx_http_slidewin_zone_expiry_update(&slot->op, slot->node);
    }
}
