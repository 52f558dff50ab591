
#include "sw_window.h"
#include "sw_math.h"


static inline int sw_window_fits(const sw_state_t *state,
    const sw_rule_t *rule, int64_t now, int64_t cost);
static inline void sw_window_defer(sw_state_t *state, const sw_rule_t *rule,
    int64_t now, int64_t cost, sw_verdict_t *verdict);
static void sw_window_add_second(sw_state_t *state, int64_t now,
    int64_t cost);
static int64_t sw_window_remaining(const sw_state_t *state,
    const sw_rule_t *rule, int64_t now);
static int64_t sw_window_wait(const sw_state_t *state,
    const sw_rule_t *rule, int64_t now, int64_t cost);


int
sw_window_admits(sw_state_t *state, const sw_rule_t *rule, int64_t now,
    int64_t cost)
{
    now = sw_state_advance(state, rule, now);

    return sw_window_fits(state, rule, now, cost);
}


void
sw_window_check(sw_state_t *state, const sw_rule_t *rule, int64_t now,
    int64_t cost, sw_verdict_t *verdict)
{
    int64_t  lag, then;

    /* the state may be ahead of a clock that stepped back */

    then = sw_state_advance(state, rule, now);
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
    sw_window_defer(state, rule, now, cost, verdict);
}


void
sw_window_check_counted(sw_state_t *state, const sw_rule_t *rule,
    int64_t now, sw_verdict_t *verdict)
{
    int64_t  then;

    then = sw_state_advance(state, rule, now);

    sw_window_defer(state, rule, now, 0, verdict);

    verdict->admitted = 1;
    verdict->remaining = sw_window_remaining(state, rule, then);
    verdict->stamp = then;
}


/* check_later, inlined; a state that was brought to the time may be ahead */

static inline void
sw_window_defer(sw_state_t *state, const sw_rule_t *rule, int64_t now,
    int64_t cost, sw_verdict_t *verdict)
{
    sw_pair_t  *pair;

    pair = &state->u.pair;

    switch (rule->algorithm) {

    case SW_COUNTER:
        verdict->level = sw_counter_level(pair, rule->window,
                                     sw_max(now, pair->index * rule->window));
        verdict->scale = rule->window;
        break;

    case SW_FIXED:
        verdict->level = pair->curr;
        verdict->scale = 1;
        break;

    default:
        sw_window_check(state, rule, now, cost, verdict);
        return;
    }

    verdict->deferred = 1;
    verdict->now = now;
    verdict->cost = cost;
    verdict->pair = *pair;
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
    verdict->scale = sw_rule_scale(rule);
    verdict->stamp = now;
}


int
sw_window_take(sw_state_t *state, const sw_rule_t *rule, int64_t now,
    int64_t cost, sw_verdict_t *verdict)
{
    int64_t  then;

    then = sw_state_advance(state, rule, now);

    verdict->admitted = sw_window_fits(state, rule, then, cost);

    if (!verdict->admitted) {
        sw_window_defer(state, rule, now, cost, verdict);
        return 0;
    }

    if (state->second) {
        sw_window_add_second(state, now, cost);
    }

    sw_state_count(state, rule, then, cost);
    sw_window_defer(state, rule, now, 0, verdict);

    verdict->stamp = then;

    return 1;
}


int64_t
sw_window_add(sw_state_t *state, const sw_rule_t *rule, int64_t now,
    int64_t cost)
{
    int64_t  then;

    then = sw_state_advance(state, rule, now);

    if (state->second) {
        sw_window_add_second(state, now, cost);
    }

    sw_state_count(state, rule, then, cost);

    return then;
}


int64_t
sw_window_charge(sw_state_t *state, const sw_rule_t *rule, int64_t now,
    int64_t cost)
{
    int64_t    then;
    sw_rule_t  most;

    most = *rule;
    most.limit = sw_rule_most(rule);

    then = sw_state_advance(state, &most, now);
    cost = sw_min(cost, sw_window_remaining(state, &most, then));

    if (cost) {
        (void) sw_window_add(state, &most, now, cost);
    }

    return cost;
}


/*
 * Called before the first state counts the cost.  The second one is forgotten
 * when both count nothing: no request may ever have its window again.
 */

static void
sw_window_add_second(sw_state_t *state, int64_t now, int64_t cost)
{
    int64_t     *units;
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

    (void) sw_state_advance(second, &rule, now);

    units = (rule.algorithm == SW_STRICT)
                ? sw_slices_newest(&second->u.slices, rule.slices)
                : &second->u.pair.curr;

    *units = sw_max(*units, sw_min(*units + cost, rule.limit));
}


/*
 * The state of the rule's window uncounts, be it the first or the second one.
 * The other state loses as many units: it counted them too, or was made of
 * them.
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

    cost = sw_state_give_back(state, rule, cost, stamp);

    if (other) {
        sw_state_rule(other, &counts);
        (void) sw_state_give_back(other, &counts, cost, stamp);
    }
}


int
sw_window_idle(const sw_state_t *state, int64_t now)
{
    return sw_state_end(state) <= now;
}


/* of a state that was brought to the time */

static inline int
sw_window_fits(const sw_state_t *state, const sw_rule_t *rule,
    int64_t now, int64_t cost)
{
    if (rule->algorithm == SW_COUNTER) {
        return sw_counter_admits(&state->u.pair, rule, now, cost);
    }

    return cost <= sw_window_remaining(state, rule, now);
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
 * The time until the cost, which is at most the limit, is admitted if nothing
 * else is counted.  What is used only ever falls then, so that an earlier time
 * is too early and a later one is late enough.
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
