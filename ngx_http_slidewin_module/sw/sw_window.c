
#include <string.h>

#include "sw_window.h"
#include "sw_log.h"
#include "sw_math.h"
#include "sw_pair.h"
#include "sw_slices.h"


static inline int64_t sw_window_advance(sw_state_t *state,
    const sw_policy_t *policy, int64_t now);
static inline int sw_window_fits(const sw_state_t *state,
    const sw_policy_t *policy, int64_t now, int64_t cost);
static inline void sw_window_count(sw_state_t *state,
    const sw_policy_t *policy, int64_t now, int64_t cost);
static int64_t sw_window_restart(sw_state_t *state, const sw_policy_t *policy,
    int64_t now);
static void sw_window_add_second(sw_state_t *state, int64_t now,
    int64_t cost);
static int64_t sw_window_uncount(sw_state_t *state, const sw_policy_t *policy,
    int64_t cost, int64_t stamp);
static void sw_state_policy(const sw_state_t *state, sw_policy_t *policy);
static int64_t sw_units_max(const sw_policy_t *policy);
static int64_t sw_window_remaining(const sw_state_t *state,
    const sw_policy_t *policy, int64_t now);
static int64_t sw_window_wait(const sw_state_t *state,
    const sw_policy_t *policy, int64_t now, int64_t cost);


const char *
sw_policy_error(const sw_policy_t *policy)
{
    if (policy->limit < 1) {
        return "the limit must be at least 1";
    }

    if (policy->window < 1 || policy->window > SW_WINDOW_MAX) {
        return "the period must be from 1ms to 49d";
    }

    /* beyond this, the doubles of a Lua script are no longer exact */

    if (policy->limit > SW_PRODUCT_MAX / policy->window) {
        return "the limit times the period in ms must be below 2^53";
    }

    if (policy->algorithm == SW_LOG && policy->limit > SW_LOG_LIMIT_MAX) {
        return "the limit of a log must be at most 100000, "
               "algorithm=strict has no such bound";
    }

    if (policy->algorithm == SW_STRICT) {

        if (policy->slices < 1 || policy->slices > SW_SLICES_MAX) {
            return "there must be 1 to 100 slices";
        }

        if (policy->slices > policy->window) {
            return "a slice must be at least 1ms";
        }
    }

    return NULL;
}


size_t
sw_state_size(const sw_policy_t *policy)
{
    switch (policy->algorithm) {

    case SW_STRICT:
        return offsetof(sw_state_t, u.slices.units)
               + (size_t) (policy->slices + 1) * sizeof(int64_t);

    case SW_LOG:
        return offsetof(sw_state_t, u) + sizeof(sw_log_t);

    default:
        return offsetof(sw_state_t, u) + sizeof(sw_pair_t);
    }
}


size_t
sw_state_bytes(const sw_state_t *state)
{
    size_t       size;
    sw_policy_t  policy;

    sw_state_policy(state, &policy);
    size = sw_state_size(&policy);

    return state->second ? 2 * size : size;
}


void
sw_state_init(sw_state_t *state, const sw_policy_t *policy, int64_t now,
    sw_log_entry_t *entries, uint32_t room)
{
    int64_t  i;

    state->window = (uint32_t) policy->window;
    state->slices = 0;
    state->algorithm = (uint8_t) policy->algorithm;
    state->second = 0;

    switch (policy->algorithm) {

    case SW_STRICT:
        state->slices = (uint16_t) policy->slices;
        state->u.slices.index = now * policy->slices / policy->window;

        for (i = 0; i <= policy->slices; i++) {
            state->u.slices.units[i] = 0;
        }

        break;

    case SW_LOG:
        state->u.log.newest = now;
        state->u.log.total = 0;
        state->u.log.entries = entries;
        state->u.log.room = room;
        state->u.log.first = 0;
        state->u.log.count = 0;
        state->u.log.changing = 0;

        for (i = 0; i < room; i++) {
            entries[i].time = 0;
            entries[i].units = 0;
        }

        break;

    default:
        state->u.pair.index = now / policy->window;
        state->u.pair.prev = 0;
        state->u.pair.curr = 0;
        break;
    }
}


int64_t
sw_state_used(const sw_state_t *state, int64_t now)
{
    switch (state->algorithm) {

    case SW_FIXED:
        return sw_fixed_used(&state->u.pair, state->window, now);

    case SW_STRICT:
        return sw_slices_used(&state->u.slices, state->slices,
                              state->window, now);

    case SW_LOG:
        return sw_log_used(&state->u.log, state->window, now);

    default: /* SW_COUNTER */
        return sw_counter_used(&state->u.pair, state->window, now);
    }
}


void
sw_state_carry(sw_state_t *state, const sw_policy_t *policy, int64_t now,
    int64_t units)
{
    sw_log_entry_t  *entries;
    uint32_t         room;

    entries = NULL;
    room = 0;

    if (policy->algorithm == SW_LOG) {
        entries = state->u.log.entries;
        room = state->u.log.room;
    }

    sw_state_init(state, policy, now, entries, room);

    if (units > 0) {
        (void) sw_window_add(state, policy, now,
                             sw_min(units, sw_units_max(policy)));
    }
}


void
sw_state_turn(sw_any_state_t *any, const sw_policy_t *policy, int64_t now)
{
    int              swap;
    size_t           size;
    uint8_t          room;
    int64_t          used;
    sw_state_t      *own, *second, *kept;
    sw_policy_t      other;
    sw_any_state_t   copy;

    own = &any->state;
    second = sw_state_second(own);

    used = sw_state_used(own, now);

    if (second) {
        used = sw_max(used, sw_state_used(second, now));
    }

    if (own->algorithm != policy->algorithm
        || (policy->algorithm == SW_STRICT && own->slices != policy->slices))
    {
        /* a reload: a client is at worst full */

        sw_state_init(own, policy, now, &any->entry, 1);
        sw_state_carry(own, policy, now, sw_min(used, policy->limit));
        return;
    }

    size = sw_state_size(policy);
    room = own->second;
    swap = (second && second->window == policy->window);

    kept = (second && second->window > own->window && !swap) ? second : own;
    memcpy(&copy.state, kept, size);
    copy.state.second = 0;

    if (swap) {
        memcpy(own, second, size);

    } else {
        sw_state_init(own, policy, now, NULL, 0);
        sw_state_carry(own, policy, now, used);

        /* what has left it is not in the new one: it is not given back there */

        sw_state_policy(&copy.state, &other);
        (void) sw_window_advance(&copy.state, &other, now);
    }

    own->second = (room || used);

    if (own->second) {

        if (used == 0) {
            copy.state.window = 0;
        }

        memcpy((unsigned char *) own + size, &copy.state, size);
    }
}


void
sw_state_mend(sw_state_t *state)
{
    if (state->algorithm == SW_LOG && state->u.log.changing) {
        sw_log_mend(&state->u.log);
    }
}


sw_state_t *
sw_state_second(const sw_state_t *state)
{
    sw_state_t   *second;
    sw_policy_t   policy;

    if (!state->second) {
        return NULL;
    }

    sw_state_policy(state, &policy);

    second = (sw_state_t *) ((unsigned char *) state + sw_state_size(&policy));

    return second->window ? second : NULL;
}


int64_t
sw_state_window(const sw_state_t *state)
{
    sw_state_t  *second;

    second = sw_state_second(state);

    return second ? sw_max(state->window, second->window) : state->window;
}


/* a policy that counts such a state, with the largest limit there may be */

static void
sw_state_policy(const sw_state_t *state, sw_policy_t *policy)
{
    policy->algorithm = (sw_algorithm_e) state->algorithm;
    policy->window = state->window;
    policy->slices = state->slices;
    policy->limit = sw_units_max(policy);
}


/* what a state can hold: an entry of a log, or what its products allow */

static int64_t
sw_units_max(const sw_policy_t *policy)
{
    return policy->algorithm == SW_LOG ? SW_LOG_UNITS_MAX
                                       : SW_PRODUCT_MAX / policy->window;
}


int
sw_window_admits(sw_state_t *state, const sw_policy_t *policy, int64_t now,
    int64_t cost)
{
    now = sw_window_advance(state, policy, now);

    return sw_window_fits(state, policy, now, cost);
}


void
sw_window_check(sw_state_t *state, const sw_policy_t *policy, int64_t now,
    int64_t cost, sw_verdict_t *verdict)
{
    int64_t  lag, then;

    /* the state may be ahead of a clock that stepped back */

    then = sw_window_advance(state, policy, now);
    lag = then - now;

    verdict->deferred = 0;
    verdict->stamp = then;
    verdict->scale = 1;

    switch (policy->algorithm) {

    case SW_COUNTER:
        verdict->scale = policy->window;
        verdict->level = sw_counter_level(&state->u.pair, policy->window,
                                          then);
        break;

    case SW_FIXED:
        verdict->level = state->u.pair.curr;
        break;

    case SW_STRICT:
        verdict->level = sw_slices_total(&state->u.slices, policy->slices);
        break;

    case SW_LOG:
        verdict->level = sw_log_held(&state->u.log, policy->window, then);
        break;
    }

    if (verdict->level == 0) {
        verdict->remaining = policy->limit;
        verdict->more = policy->window;
        verdict->reset = 0;

    } else {
        verdict->remaining = sw_window_remaining(state, policy, then);
        verdict->more = lag + sw_window_wait(state, policy, then,
                                             verdict->remaining + 1);
        verdict->reset = lag + sw_window_wait(state, policy, then,
                                              policy->limit);
    }

    verdict->admitted = (cost <= verdict->remaining);

    if (verdict->admitted) {
        verdict->retry = 0;

    } else if (cost > policy->limit) {
        verdict->retry = SW_NEVER;

    } else {
        verdict->retry = lag + sw_window_wait(state, policy, then, cost);
    }
}


void
sw_window_check_later(sw_state_t *state, const sw_policy_t *policy,
    int64_t now, int64_t cost, sw_verdict_t *verdict)
{
    if (policy->algorithm == SW_STRICT || policy->algorithm == SW_LOG) {
        sw_window_check(state, policy, now, cost, verdict);
        return;
    }

    verdict->deferred = 1;
    verdict->now = now;
    verdict->cost = cost;
    verdict->pair = state->u.pair;
}


void
sw_verdict_complete(sw_verdict_t *verdict, const sw_policy_t *policy)
{
    sw_state_t  state;

    if (!verdict->deferred) {
        return;
    }

    sw_state_init(&state, policy, verdict->now, NULL, 0);
    state.u.pair = verdict->pair;

    sw_window_check(&state, policy, verdict->now, verdict->cost, verdict);
}


void
sw_window_check_new(const sw_policy_t *policy, int64_t now, int64_t cost,
    sw_verdict_t *verdict)
{
    verdict->deferred = 0;
    verdict->admitted = (cost <= policy->limit);
    verdict->remaining = policy->limit;
    verdict->retry = verdict->admitted ? 0 : SW_NEVER;
    verdict->more = policy->window;
    verdict->reset = 0;
    verdict->level = 0;
    verdict->scale = (policy->algorithm == SW_COUNTER) ? policy->window : 1;
    verdict->stamp = now;
}


int
sw_window_take(sw_state_t *state, const sw_policy_t *policy, int64_t now,
    int64_t cost, sw_verdict_t *verdict)
{
    int64_t  then;

    then = sw_window_advance(state, policy, now);

    verdict->admitted = sw_window_fits(state, policy, then, cost);

    if (!verdict->admitted) {
        sw_window_check_later(state, policy, now, cost, verdict);
        return 0;
    }

    if (state->second) {
        sw_window_add_second(state, now, cost);
    }

    sw_window_count(state, policy, then, cost);
    sw_window_check_later(state, policy, now, 0, verdict);

    verdict->stamp = then;

    return 1;
}


int64_t
sw_window_add(sw_state_t *state, const sw_policy_t *policy, int64_t now,
    int64_t cost)
{
    int64_t  then;

    then = sw_window_advance(state, policy, now);

    if (state->second) {
        sw_window_add_second(state, now, cost);
    }

    sw_window_count(state, policy, then, cost);

    return then;
}


/*
 * Before the first state counts the cost.  A second one is forgotten when both
 * have nothing left: its window may not be asked for again.
 */

static void
sw_window_add_second(sw_state_t *state, int64_t now, int64_t cost)
{
    int64_t       curr;
    sw_state_t   *second;
    sw_policy_t   policy;

    second = sw_state_second(state);

    if (second == NULL || cost == 0) {
        return;
    }

    if (sw_window_idle(state, now)) {
        second->window = 0;
        return;
    }

    sw_state_policy(second, &policy);

    (void) sw_window_advance(second, &policy, now);

    if (policy.algorithm == SW_STRICT) {
        sw_slices_add(&second->u.slices, policy.slices, cost);
        return;
    }

    curr = second->u.pair.curr;
    second->u.pair.curr = sw_max(curr, sw_min(curr + cost, policy.limit));
}


/*
 * The state of that window uncounts, whether it is the first or the second one.
 * The other has counted what that one still has of it, or was made of it.
 */

void
sw_window_give_back(sw_state_t *state, const sw_policy_t *policy,
    int64_t cost, int64_t stamp)
{
    sw_state_t   *other, *second;
    sw_policy_t   counts;

    second = sw_state_second(state);
    other = second;

    if (!sw_state_matches(state, policy)) {

        if (second == NULL || !sw_state_matches(second, policy)) {
            return;
        }

        other = state;
        state = second;
    }

    cost = sw_window_uncount(state, policy, cost, stamp);

    if (other) {
        sw_state_policy(other, &counts);
        (void) sw_window_uncount(other, &counts, cost, stamp);
    }
}


/* returns how much of it */

static int64_t
sw_window_uncount(sw_state_t *state, const sw_policy_t *policy, int64_t cost,
    int64_t stamp)
{
    switch (policy->algorithm) {

    case SW_STRICT:
        return sw_slices_give_back(&state->u.slices, policy->slices,
                                   stamp * policy->slices / policy->window,
                                   cost);

    case SW_LOG:
        sw_log_give_back(&state->u.log, cost, stamp);
        return 0;

    default:
        return sw_pair_give_back(&state->u.pair, stamp / policy->window, cost);
    }
}


int64_t
sw_state_end(const sw_state_t *state)
{
    int64_t      end;
    sw_state_t  *second;

    switch (state->algorithm) {

    case SW_FIXED:
        end = sw_fixed_end(&state->u.pair, state->window);
        break;

    case SW_STRICT:
        end = sw_slices_end(&state->u.slices, state->slices, state->window);
        break;

    case SW_LOG:
        end = sw_log_end(&state->u.log, state->window);
        break;

    default: /* SW_COUNTER */
        end = sw_counter_end(&state->u.pair, state->window);
        break;
    }

    if (!state->second) {
        return end;
    }

    second = sw_state_second(state);

    return second ? sw_max(end, sw_state_end(second)) : end;
}


int
sw_window_idle(const sw_state_t *state, int64_t now)
{
    return sw_state_end(state) <= now;
}


/*
 * The time to count at, which is not before the state's own.
 */

static inline int64_t
sw_window_advance(sw_state_t *state, const sw_policy_t *policy, int64_t now)
{
    int64_t  then;

    switch (policy->algorithm) {

    case SW_STRICT:
        then = sw_slices_advance(&state->u.slices, policy->slices,
                                 policy->window, now);
        break;

    case SW_LOG:
        then = sw_log_advance(&state->u.log, state->window, policy->window,
                              now);

        if (then != SW_STALE && policy->window > state->window) {
            state->window = (uint32_t) policy->window;
        }

        break;

    default:
        then = sw_pair_advance(&state->u.pair, policy->window, now);
        break;
    }

    return (then == SW_STALE) ? sw_window_restart(state, policy, now) : then;
}


/* both of a state that was brought to the time */

static inline int
sw_window_fits(const sw_state_t *state, const sw_policy_t *policy,
    int64_t now, int64_t cost)
{
    if (policy->algorithm == SW_COUNTER) {
        return sw_counter_admits(&state->u.pair, policy, now, cost);
    }

    return cost <= sw_window_remaining(state, policy, now);
}


static inline void
sw_window_count(sw_state_t *state, const sw_policy_t *policy, int64_t now,
    int64_t cost)
{
    switch (policy->algorithm) {

    case SW_STRICT:
        sw_slices_add(&state->u.slices, policy->slices, cost);
        break;

    case SW_LOG:
        if (state->u.log.count == 0) {
            state->window = (uint32_t) policy->window;
        }

        sw_log_add(&state->u.log, state->window, policy->window, now, cost);
        break;

    default:
        state->u.pair.curr += cost;
        break;
    }
}


/*
 * A clock that stepped back by more than a state allows does not lock anybody
 * out: what was used is used now.
 */

static int64_t
sw_window_restart(sw_state_t *state, const sw_policy_t *policy, int64_t now)
{
    uint8_t      second;
    int64_t      used;
    sw_policy_t  kept;

    kept = *policy;
    second = state->second;

    if (policy->algorithm == SW_LOG) {
        kept.window = sw_max(policy->window, state->window);

        if (kept.window > policy->window) {
            kept.limit = SW_LOG_UNITS_MAX;
        }

        state->window = (uint32_t) kept.window;
    }

    used = sw_min(sw_state_used(state, now), kept.limit);

    sw_state_carry(state, &kept, now, used);
    state->second = second;

    return now;
}


static int64_t
sw_window_remaining(const sw_state_t *state, const sw_policy_t *policy,
    int64_t now)
{
    int64_t  room;

    switch (policy->algorithm) {

    case SW_COUNTER:

        if (state->u.pair.prev == 0) {
            room = policy->limit - state->u.pair.curr;
            break;
        }

        room = policy->limit * policy->window
               - sw_counter_level(&state->u.pair, policy->window, now);

        if (room > 0) {
            room /= policy->window;
        }

        break;

    case SW_FIXED:
        room = policy->limit - state->u.pair.curr;
        break;

    case SW_STRICT:
        room = policy->limit
               - sw_slices_total(&state->u.slices, policy->slices);
        break;

    default: /* SW_LOG */
        room = policy->limit
               - sw_log_held(&state->u.log, policy->window, now);
        break;
    }

    return sw_max(room, 0);
}


/*
 * The time until the cost, which is at most the limit, is admitted if nobody
 * else comes.  What is used only ever falls then, so that an earlier time is
 * too early and a later one is late enough.
 */

static int64_t
sw_window_wait(const sw_state_t *state, const sw_policy_t *policy,
    int64_t now, int64_t cost)
{
    switch (policy->algorithm) {

    case SW_COUNTER:
        return sw_counter_wait(&state->u.pair, policy, now, cost);

    case SW_FIXED:
        return sw_fixed_wait(&state->u.pair, policy, now, cost);

    case SW_STRICT:
        return sw_slices_wait(&state->u.slices, policy, now, cost);

    default: /* SW_LOG */
        return sw_log_wait(&state->u.log, policy, now, cost);
    }
}
