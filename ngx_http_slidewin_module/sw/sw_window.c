
#include <string.h>

#include "sw_window.h"
#include "sw_log.h"
#include "sw_math.h"
#include "sw_pair.h"
#include "sw_slices.h"


static inline int64_t sw_window_advance(sw_state_t *state,
    const sw_rule_t *rule, int64_t now);
static inline int sw_window_fits(const sw_state_t *state,
    const sw_rule_t *rule, int64_t now, int64_t cost);
static inline void sw_window_count(sw_state_t *state,
    const sw_rule_t *rule, int64_t now, int64_t cost);
static int64_t sw_window_restart(sw_state_t *state, const sw_rule_t *rule,
    int64_t now);
static void sw_window_add_second(sw_state_t *state, int64_t now,
    int64_t cost);
static int64_t sw_window_uncount(sw_state_t *state, const sw_rule_t *rule,
    int64_t cost, int64_t stamp);
static void sw_state_rule(const sw_state_t *state, sw_rule_t *rule);
static int64_t sw_units_max(const sw_rule_t *rule);
static int64_t sw_window_remaining(const sw_state_t *state,
    const sw_rule_t *rule, int64_t now);
static int64_t sw_window_wait(const sw_state_t *state,
    const sw_rule_t *rule, int64_t now, int64_t cost);


const char *
sw_rule_error(const sw_rule_t *rule)
{
    if (rule->limit < 1) {
        return "the limit must be at least 1";
    }

    if (rule->window < 1 || rule->window > SW_WINDOW_MAX) {
        return "the period must be from 1ms to 49d";
    }

    /* beyond this, the doubles of a Lua script are no longer exact */

    if (rule->limit > SW_PRODUCT_MAX / rule->window) {
        return "the limit times the period in ms must be below 2^53";
    }

    if (rule->algorithm == SW_LOG && rule->limit > SW_LOG_LIMIT_MAX) {
        return "the limit of a log must be at most 100000, "
               "algorithm=strict has no such bound";
    }

    if (rule->algorithm == SW_STRICT) {

        if (rule->slices < 1 || rule->slices > SW_SLICES_MAX) {
            return "there must be 1 to 100 slices";
        }

        if (rule->slices > rule->window) {
            return "a slice must be at least 1ms";
        }
    }

    return NULL;
}


size_t
sw_state_size(const sw_rule_t *rule)
{
    switch (rule->algorithm) {

    case SW_STRICT:
        return offsetof(sw_state_t, u.slices.units)
               + (size_t) (rule->slices + 1) * sizeof(int64_t);

    case SW_LOG:
        return offsetof(sw_state_t, u) + sizeof(sw_log_t);

    default:
        return offsetof(sw_state_t, u) + sizeof(sw_pair_t);
    }
}


size_t
sw_state_bytes(const sw_state_t *state)
{
    size_t     size;
    sw_rule_t  rule;

    sw_state_rule(state, &rule);
    size = sw_state_size(&rule);

    return state->second ? 2 * size : size;
}


void
sw_state_init(sw_state_t *state, const sw_rule_t *rule, int64_t now,
    sw_log_entry_t *entries, uint32_t room)
{
    int64_t  i;

    state->window = (uint32_t) rule->window;
    state->slices = 0;
    state->algorithm = (uint8_t) rule->algorithm;
    state->second = 0;

    switch (rule->algorithm) {

    case SW_STRICT:
        state->slices = (uint16_t) rule->slices;
        state->u.slices.index = now * rule->slices / rule->window;

        for (i = 0; i <= rule->slices; i++) {
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
        state->u.pair.index = now / rule->window;
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
sw_state_carry(sw_state_t *state, const sw_rule_t *rule, int64_t now,
    int64_t units)
{
    sw_log_entry_t  *entries;
    uint32_t         room;

    entries = NULL;
    room = 0;

    if (rule->algorithm == SW_LOG) {
        entries = state->u.log.entries;
        room = state->u.log.room;
    }

    sw_state_init(state, rule, now, entries, room);

    if (units > 0) {
        (void) sw_window_add(state, rule, now,
                             sw_min(units, sw_units_max(rule)));
    }
}


void
sw_state_turn(sw_any_state_t *any, const sw_rule_t *rule, int64_t now)
{
    int              swap;
    size_t           size;
    uint8_t          room;
    int64_t          used;
    sw_state_t      *own, *second, *kept;
    sw_rule_t        other;
    sw_any_state_t   copy;

    own = &any->state;
    second = sw_state_second(own);

    used = sw_state_used(own, now);

    if (second) {
        used = sw_max(used, sw_state_used(second, now));
    }

    if (own->algorithm != rule->algorithm
        || (rule->algorithm == SW_STRICT && own->slices != rule->slices))
    {
        /* a reload: a client is at worst full */

        sw_state_init(own, rule, now, &any->entry, 1);
        sw_state_carry(own, rule, now, sw_min(used, rule->limit));
        return;
    }

    size = sw_state_size(rule);
    room = own->second;
    swap = (second && second->window == rule->window);

    kept = (second && second->window > own->window && !swap) ? second : own;
    memcpy(&copy.state, kept, size);
    copy.state.second = 0;

    if (swap) {
        memcpy(own, second, size);

    } else {
        sw_state_init(own, rule, now, NULL, 0);
        sw_state_carry(own, rule, now, used);

        /* what has left it is not in the new one: it is not given back there */

        sw_state_rule(&copy.state, &other);
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
    sw_state_t  *second;
    sw_rule_t    rule;

    if (!state->second) {
        return NULL;
    }

    sw_state_rule(state, &rule);

    second = (sw_state_t *) ((unsigned char *) state + sw_state_size(&rule));

    return second->window ? second : NULL;
}


int64_t
sw_state_window(const sw_state_t *state)
{
    sw_state_t  *second;

    second = sw_state_second(state);

    return second ? sw_max(state->window, second->window) : state->window;
}


/* a rule that counts such a state, with the largest limit there may be */

static void
sw_state_rule(const sw_state_t *state, sw_rule_t *rule)
{
    rule->algorithm = (sw_algorithm_e) state->algorithm;
    rule->window = state->window;
    rule->slices = state->slices;
    rule->limit = sw_units_max(rule);
}


/* what a state can hold: an entry of a log, or what its products allow */

static int64_t
sw_units_max(const sw_rule_t *rule)
{
    return rule->algorithm == SW_LOG ? SW_LOG_UNITS_MAX
                                       : SW_PRODUCT_MAX / rule->window;
}


int
sw_window_admits(sw_state_t *state, const sw_rule_t *rule, int64_t now,
    int64_t cost)
{
    now = sw_window_advance(state, rule, now);

    return sw_window_fits(state, rule, now, cost);
}


void
sw_window_check(sw_state_t *state, const sw_rule_t *rule, int64_t now,
    int64_t cost, sw_verdict_t *verdict)
{
    int64_t  lag, then;

    /* the state may be ahead of a clock that stepped back */

    then = sw_window_advance(state, rule, now);
    lag = then - now;

    verdict->deferred = 0;
    verdict->stamp = then;
    verdict->scale = 1;

    switch (rule->algorithm) {

    case SW_COUNTER:
        verdict->scale = rule->window;
        verdict->level = sw_counter_level(&state->u.pair, rule->window,
                                          then);
        break;

    case SW_FIXED:
        verdict->level = state->u.pair.curr;
        break;

    case SW_STRICT:
        verdict->level = sw_slices_total(&state->u.slices, rule->slices);
        break;

    case SW_LOG:
        verdict->level = sw_log_held(&state->u.log, rule->window, then);
        break;
    }

    if (verdict->level == 0) {
        verdict->remaining = rule->limit;
        verdict->more = rule->window;
        verdict->reset = 0;

    } else {
        verdict->remaining = sw_window_remaining(state, rule, then);
        verdict->more = lag + sw_window_wait(state, rule, then,
                                             verdict->remaining + 1);
        verdict->reset = lag + sw_window_wait(state, rule, then,
                                              rule->limit);
    }

    verdict->admitted = (cost <= verdict->remaining);

    if (verdict->admitted) {
        verdict->retry = 0;

    } else if (cost > rule->limit) {
        verdict->retry = SW_NEVER;

    } else {
        verdict->retry = lag + sw_window_wait(state, rule, then, cost);
    }
}


void
sw_window_check_later(sw_state_t *state, const sw_rule_t *rule,
    int64_t now, int64_t cost, sw_verdict_t *verdict)
{
    if (rule->algorithm == SW_STRICT || rule->algorithm == SW_LOG) {
        sw_window_check(state, rule, now, cost, verdict);
        return;
    }

    verdict->deferred = 1;
    verdict->now = now;
    verdict->cost = cost;
    verdict->pair = state->u.pair;
}


void
sw_verdict_complete(sw_verdict_t *verdict, const sw_rule_t *rule)
{
    sw_state_t  state;

    if (!verdict->deferred) {
        return;
    }

    sw_state_init(&state, rule, verdict->now, NULL, 0);
    state.u.pair = verdict->pair;

    sw_window_check(&state, rule, verdict->now, verdict->cost, verdict);
}


void
sw_window_check_new(const sw_rule_t *rule, int64_t now, int64_t cost,
    sw_verdict_t *verdict)
{
    verdict->deferred = 0;
    verdict->admitted = (cost <= rule->limit);
    verdict->remaining = rule->limit;
    verdict->retry = verdict->admitted ? 0 : SW_NEVER;
    verdict->more = rule->window;
    verdict->reset = 0;
    verdict->level = 0;
    verdict->scale = (rule->algorithm == SW_COUNTER) ? rule->window : 1;
    verdict->stamp = now;
}


int
sw_window_take(sw_state_t *state, const sw_rule_t *rule, int64_t now,
    int64_t cost, sw_verdict_t *verdict)
{
    int64_t  then;

    then = sw_window_advance(state, rule, now);

    verdict->admitted = sw_window_fits(state, rule, then, cost);

    if (!verdict->admitted) {
        sw_window_check_later(state, rule, now, cost, verdict);
        return 0;
    }

    if (state->second) {
        sw_window_add_second(state, now, cost);
    }

    sw_window_count(state, rule, then, cost);
    sw_window_check_later(state, rule, now, 0, verdict);

    verdict->stamp = then;

    return 1;
}


int64_t
sw_window_add(sw_state_t *state, const sw_rule_t *rule, int64_t now,
    int64_t cost)
{
    int64_t  then;

    then = sw_window_advance(state, rule, now);

    if (state->second) {
        sw_window_add_second(state, now, cost);
    }

    sw_window_count(state, rule, then, cost);

    return then;
}


/*
 * Before the first state counts the cost.  A second one is forgotten when both
 * have nothing left: its window may not be asked for again.
 */

static void
sw_window_add_second(sw_state_t *state, int64_t now, int64_t cost)
{
    int64_t      curr;
    sw_state_t  *second;
    sw_rule_t    rule;

    second = sw_state_second(state);

    if (second == NULL || cost == 0) {
        return;
    }

    if (sw_window_idle(state, now)) {
        second->window = 0;
        return;
    }

    sw_state_rule(second, &rule);

    (void) sw_window_advance(second, &rule, now);

    if (rule.algorithm == SW_STRICT) {
        sw_slices_add(&second->u.slices, rule.slices, cost);
        return;
    }

    curr = second->u.pair.curr;
    second->u.pair.curr = sw_max(curr, sw_min(curr + cost, rule.limit));
}


/*
 * The state of that window uncounts, whether it is the first or the second one.
 * The other has counted what that one still has of it, or was made of it.
 */

void
sw_window_give_back(sw_state_t *state, const sw_rule_t *rule,
    int64_t cost, int64_t stamp)
{
    sw_state_t  *other, *second;
    sw_rule_t    counts;

    second = sw_state_second(state);
    other = second;

    if (!sw_state_matches(state, rule)) {

        if (second == NULL || !sw_state_matches(second, rule)) {
            return;
        }

        other = state;
        state = second;
    }

    cost = sw_window_uncount(state, rule, cost, stamp);

    if (other) {
        sw_state_rule(other, &counts);
        (void) sw_window_uncount(other, &counts, cost, stamp);
    }
}


/* returns how much of it */

static int64_t
sw_window_uncount(sw_state_t *state, const sw_rule_t *rule, int64_t cost,
    int64_t stamp)
{
    switch (rule->algorithm) {

    case SW_STRICT:
        return sw_slices_give_back(&state->u.slices, rule->slices,
                                   stamp * rule->slices / rule->window,
                                   cost);

    case SW_LOG:
        sw_log_give_back(&state->u.log, cost, stamp);
        return 0;

    default:
        return sw_pair_give_back(&state->u.pair, stamp / rule->window, cost);
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
sw_window_advance(sw_state_t *state, const sw_rule_t *rule, int64_t now)
{
    int64_t  then;

    switch (rule->algorithm) {

    case SW_STRICT:
        then = sw_slices_advance(&state->u.slices, rule->slices,
                                 rule->window, now);
        break;

    case SW_LOG:
        then = sw_log_advance(&state->u.log, state->window, rule->window,
                              now);

        if (then != SW_STALE && rule->window > state->window) {
            state->window = (uint32_t) rule->window;
        }

        break;

    default:
        then = sw_pair_advance(&state->u.pair, rule->window, now);
        break;
    }

    return (then == SW_STALE) ? sw_window_restart(state, rule, now) : then;
}


/* both of a state that was brought to the time */

static inline int
sw_window_fits(const sw_state_t *state, const sw_rule_t *rule,
    int64_t now, int64_t cost)
{
    if (rule->algorithm == SW_COUNTER) {
        return sw_counter_admits(&state->u.pair, rule, now, cost);
    }

    return cost <= sw_window_remaining(state, rule, now);
}


static inline void
sw_window_count(sw_state_t *state, const sw_rule_t *rule, int64_t now,
    int64_t cost)
{
    switch (rule->algorithm) {

    case SW_STRICT:
        sw_slices_add(&state->u.slices, rule->slices, cost);
        break;

    case SW_LOG:
        if (state->u.log.count == 0) {
            state->window = (uint32_t) rule->window;
        }

        sw_log_add(&state->u.log, state->window, rule->window, now, cost);
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
sw_window_restart(sw_state_t *state, const sw_rule_t *rule, int64_t now)
{
    uint8_t    second;
    int64_t    used;
    sw_rule_t  kept;

    kept = *rule;
    second = state->second;

    if (rule->algorithm == SW_LOG) {
        kept.window = sw_max(rule->window, state->window);

        if (kept.window > rule->window) {
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
sw_window_remaining(const sw_state_t *state, const sw_rule_t *rule,
    int64_t now)
{
    int64_t  room;

    switch (rule->algorithm) {

    case SW_COUNTER:

        if (state->u.pair.prev == 0) {
            room = rule->limit - state->u.pair.curr;
            break;
        }

        room = rule->limit * rule->window
               - sw_counter_level(&state->u.pair, rule->window, now);

        if (room > 0) {
            room /= rule->window;
        }

        break;

    case SW_FIXED:
        room = rule->limit - state->u.pair.curr;
        break;

    case SW_STRICT:
        room = rule->limit
               - sw_slices_total(&state->u.slices, rule->slices);
        break;

    default: /* SW_LOG */
        room = rule->limit
               - sw_log_held(&state->u.log, rule->window, now);
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
sw_window_wait(const sw_state_t *state, const sw_rule_t *rule,
    int64_t now, int64_t cost)
{
    switch (rule->algorithm) {

    case SW_COUNTER:
        return sw_counter_wait(&state->u.pair, rule, now, cost);

    case SW_FIXED:
        return sw_fixed_wait(&state->u.pair, rule, now, cost);

    case SW_STRICT:
        return sw_slices_wait(&state->u.slices, rule, now, cost);

    default: /* SW_LOG */
        return sw_log_wait(&state->u.log, rule, now, cost);
    }
}
