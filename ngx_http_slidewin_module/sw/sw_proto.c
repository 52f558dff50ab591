
#include "sw_proto.h"
#include "sw_math.h"
#include "sw_parse.h"
#include "sw_slices.h"


static int sw_proto_taken(const int64_t *numbers, const sw_rule_t *rule,
    const sw_proto_request_t *request, sw_proto_taken_t *taken);
static int sw_proto_state(sw_state_t *state, const int64_t *numbers,
    const sw_rule_t *rule, int64_t now);
static int64_t *sw_proto_newest(sw_state_t *state, const sw_rule_t *rule);
static void sw_proto_before(sw_state_t *state, const sw_rule_t *rule,
    int64_t now, int64_t units, sw_verdict_t *verdict);
static int sw_proto_log(const int64_t *numbers, const sw_rule_t *rule,
    int64_t now, int64_t cost, int64_t later, sw_verdict_t *verdict);


const char *
sw_proto_algorithm(sw_algorithm_e algorithm)
{
    static const char *const  letters[] = {
        [SW_COUNTER] = "c",
        [SW_FIXED] = "f",
        [SW_STRICT] = "s",
        [SW_LOG] = "l"
    };

    return letters[algorithm];
}


char *
sw_proto_put_rule(char *p, const sw_rule_t *rule, int64_t cost)
{
    *p++ = sw_proto_algorithm(rule->algorithm)[0];

    p = sw_proto_put(p, rule->limit);
    p = sw_proto_put(p, rule->window);
    p = sw_proto_put(p, rule->slices);

    return sw_proto_put(p, cost);
}


size_t
sw_proto_numbers(const sw_rule_t *rule)
{
    switch (rule->algorithm) {

    case SW_STRICT:
        return 2 + 1 + (size_t) rule->slices + 1;

    case SW_LOG:
        return 2 + 4;

    default:
        return 2 + 3;
    }
}


int
sw_proto_read(const int64_t *numbers, const sw_rule_t *rule, int64_t now,
    const sw_proto_request_t *request, sw_proto_taken_t *taken,
    sw_verdict_t *last)
{
    size_t          i, n;
    int64_t         units, cost, room;
    sw_any_state_t  space;

    n = sw_proto_numbers(rule);

    for (i = 0; i < n; i++) {
        if (numbers[i] < 0 || numbers[i] > SW_PRODUCT_MAX) {
            return SW_ERROR;
        }
    }

    if (now < 1 || now > SW_PRODUCT_MAX / SW_SLICES_MAX
        || sw_proto_taken(numbers, rule, request, taken) != SW_OK)
    {
        return SW_ERROR;
    }

    units = numbers[1];
    cost = (taken->counted == request->times) ? 0 : request->cost;

    /* what was counted is within the limit, and there */

    if (rule->algorithm == SW_LOG) {

        if (numbers[2] < units || (units && numbers[2] > rule->limit)
            || sw_proto_log(numbers, rule, now, cost, taken->prefetch, last)
               != SW_OK)
        {
            return SW_ERROR;
        }

        room = rule->limit - numbers[2];

    } else {

        if (sw_proto_state(&space.state, numbers, rule, now) != SW_OK) {
            return SW_ERROR;
        }

        if (taken->counted == request->times) {
            sw_window_check_counted(&space.state, rule, now, last);

        } else {
            sw_window_check(&space.state, rule, now, cost, last);
        }

        if (*sw_proto_newest(&space.state, rule) < units
            || (units && last->level > rule->limit * last->scale))
        {
            return SW_ERROR;
        }

        room = last->remaining;

        if (taken->prefetch) {
            sw_proto_before(&space.state, rule, now, taken->prefetch, last);
        }
    }

    room = sw_max(room, 0);

    /* as many as there was room for, and no more */

    if (request->cost
        && taken->admitted != sw_min((room + units) / request->cost,
                                     request->times))
    {
        return SW_ERROR;
    }

    if (taken->counted == request->times && taken->prefetch < request->prefetch
        && room > 0)
    {
        return SW_ERROR;
    }

    return SW_OK;
}


void
sw_proto_verdict(const int64_t *numbers, const sw_rule_t *rule,
    int64_t now, const sw_proto_request_t *request,
    const sw_proto_taken_t *taken, const sw_verdict_t *last, int64_t nth,
    sw_verdict_t *verdict)
{
    int64_t         later;
    sw_any_state_t  space;

    if (nth > taken->counted || nth == request->times) {
        *verdict = *last;
        return;
    }

    /* all were counted, and the last one has the state at hand */

    if (last->deferred) {
        later = (request->times - nth) * request->cost;

        *verdict = *last;
        verdict->level -= later * verdict->scale;
        verdict->pair.curr -= later;
        return;
    }

    later = numbers[1] - nth * request->cost;

    if (rule->algorithm == SW_LOG) {
        (void) sw_proto_log(numbers, rule, now, 0, later, verdict);
        return;
    }

    (void) sw_proto_state(&space.state, numbers, rule, now);

    verdict->admitted = 1;
    verdict->stamp = last->stamp;

    sw_proto_before(&space.state, rule, now, later, verdict);
}


/* what was left before the last units were counted */

static void
sw_proto_before(sw_state_t *state, const sw_rule_t *rule, int64_t now,
    int64_t units, sw_verdict_t *verdict)
{
    *sw_proto_newest(state, rule) -= units;

    sw_window_check_later(state, rule, now, 0, verdict);
}


static int
sw_proto_taken(const int64_t *numbers, const sw_rule_t *rule,
    const sw_proto_request_t *request, sw_proto_taken_t *taken)
{
    int64_t  units;

    units = numbers[1];

    taken->admitted = numbers[0];
    taken->counted = 0;
    taken->prefetch = 0;

    if (request->cost == 0) {
        return (taken->admitted == request->times && units == 0) ? SW_OK
                                                                 : SW_ERROR;
    }

    if (units > rule->limit) {
        return SW_ERROR;
    }

    taken->counted = sw_min(units / request->cost, request->times);
    taken->prefetch = units - taken->counted * request->cost;

    if (taken->admitted > request->times || taken->counted > taken->admitted
        || taken->prefetch > request->prefetch
        || (taken->prefetch && taken->counted < request->times))
    {
        return SW_ERROR;
    }

    return SW_OK;
}


/* the state's own time is now, or ahead of a clock that stepped back */

static int
sw_proto_state(sw_state_t *state, const int64_t *numbers,
    const sw_rule_t *rule, int64_t now)
{
    int64_t  i;

    sw_state_init(state, rule, now, NULL, 0);

    if (rule->algorithm == SW_STRICT) {

        if (numbers[2] < state->u.slices.index
            || numbers[2] > state->u.slices.index + rule->slices)
        {
            return SW_ERROR;
        }

        state->u.slices.index = numbers[2];

        for (i = 0; i <= rule->slices; i++) {
            state->u.slices.units[i] = numbers[3 + i];
        }

        return SW_OK;
    }

    if (numbers[2] < state->u.pair.index
        || numbers[2] > state->u.pair.index + 1
        || numbers[3] > SW_PRODUCT_MAX / rule->window
        || numbers[4] > SW_PRODUCT_MAX / rule->window)
    {
        return SW_ERROR;
    }

    state->u.pair.index = numbers[2];
    state->u.pair.prev = numbers[3];
    state->u.pair.curr = numbers[4];

    return SW_OK;
}


/* where the last units were counted */

static int64_t *
sw_proto_newest(sw_state_t *state, const sw_rule_t *rule)
{
    if (rule->algorithm == SW_STRICT) {
        return sw_slices_newest(&state->u.slices, rule->slices);
    }

    return &state->u.pair.curr;
}


/*
 * Total, and the times of the entry that must leave for more room than there
 * is, of the newest one, and of the one that must leave for the cost.
 */

static int
sw_proto_log(const int64_t *numbers, const sw_rule_t *rule, int64_t now,
    int64_t cost, int64_t later, sw_verdict_t *verdict)
{
    int64_t  total, more, newest, fits;

    total = numbers[2] - later;
    more = numbers[3];
    newest = numbers[4];
    fits = numbers[5];

    if (total == 0) {
        sw_window_check_new(rule, now, cost, verdict);
        return SW_OK;
    }

    if (more > newest || newest > now + rule->window
        || more <= newest - rule->window
        || more <= now - rule->window)
    {
        return SW_ERROR;
    }

    verdict->deferred = 0;
    verdict->level = total;
    verdict->scale = 1;
    verdict->stamp = newest > now ? newest : now;
    verdict->remaining = sw_max(rule->limit - total, 0);
    verdict->more = more + rule->window - now;
    verdict->reset = newest + rule->window - now;
    verdict->admitted = (cost <= verdict->remaining);
    verdict->retry = 0;

    if (verdict->admitted) {
        return SW_OK;
    }

    if (cost > rule->limit) {
        verdict->retry = SW_NEVER;
        return SW_OK;
    }

    if (fits < more || fits > newest) {
        return SW_ERROR;
    }

    verdict->retry = fits + rule->window - now;

    return SW_OK;
}
