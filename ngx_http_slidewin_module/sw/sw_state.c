
#include <string.h>

#include "sw_state.h"
#include "sw_math.h"


static int sw_state_same_algorithm(const sw_state_t *state,
    const sw_rule_t *rule);


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


void
sw_state_rule(const sw_state_t *state, sw_rule_t *rule)
{
    rule->algorithm = (sw_algorithm_e) state->algorithm;
    rule->window = state->window;
    rule->slices = state->slices;
    rule->limit = sw_rule_most(rule);
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
        sw_state_count(state, rule, now,
                       sw_min(units, sw_rule_most(rule)));
    }
}


int64_t
sw_state_restart(sw_state_t *state, const sw_rule_t *rule, int64_t now)
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


static int
sw_state_same_algorithm(const sw_state_t *state, const sw_rule_t *rule)
{
    return state->algorithm == rule->algorithm
           && (rule->algorithm != SW_STRICT || state->slices == rule->slices);
}


int
sw_state_may_charge(sw_state_t *state, const sw_rule_t *rule, int64_t now)
{
    sw_state_t  *second;

    second = sw_state_second(state);

    return sw_state_same_algorithm(state, rule)
           || (sw_state_used(state, now) == 0
               && (second == NULL || sw_state_used(second, now) == 0));
}


void
sw_state_convert(sw_any_state_t *any, const sw_rule_t *rule, int64_t now)
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

    if (!sw_state_same_algorithm(own, rule)) {

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

        /* units that left the copy are not in the new state either */

        sw_state_rule(&copy.state, &other);
        (void) sw_state_advance(&copy.state, &other, now);
    }

    own->second = (room || used);

    if (own->second) {

        if (used == 0) {
            copy.state.window = 0;
        }

        memcpy((unsigned char *) own + size, &copy.state, size);
    }
}


/* a log has no second state that would need to know how much there was */

int64_t
sw_state_give_back(sw_state_t *state, const sw_rule_t *rule, int64_t cost,
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


void
sw_state_repair(sw_state_t *state)
{
    if (state->algorithm == SW_LOG && state->u.log.changing) {
        sw_log_repair(&state->u.log);
    }
}
