
#include "sw_proto.h"
#include "sw_math.h"
#include "sw_parse.h"
#include "sw_slices.h"


static int sw_proto_taken(const int64_t *numbers, const sw_policy_t *policy,
    const sw_proto_asked_t *asked, sw_proto_taken_t *taken);
static int sw_proto_state(sw_state_t *state, const int64_t *numbers,
    const sw_policy_t *policy, int64_t now);
static int64_t *sw_proto_newest(sw_state_t *state, const sw_policy_t *policy);
static void sw_proto_before(sw_state_t *state, const sw_policy_t *policy,
    int64_t now, int64_t units, sw_verdict_t *verdict);
static int sw_proto_log(const int64_t *numbers, const sw_policy_t *policy,
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
sw_proto_put_policy(char *p, const sw_policy_t *policy, int64_t cost)
{
    *p++ = sw_proto_algorithm(policy->algorithm)[0];

    p = sw_proto_put(p, policy->limit);
    p = sw_proto_put(p, policy->window);
    p = sw_proto_put(p, policy->slices);

    return sw_proto_put(p, cost);
}


size_t
sw_proto_numbers(const sw_policy_t *policy)
{
    switch (policy->algorithm) {

    case SW_STRICT:
        return 2 + 1 + (size_t) policy->slices + 1;

    case SW_LOG:
        return 2 + 4;

    default:
        return 2 + 3;
    }
}


int
sw_proto_read(const int64_t *numbers, const sw_policy_t *policy, int64_t now,
    const sw_proto_asked_t *asked, sw_proto_taken_t *taken,
    sw_verdict_t *last)
{
    size_t          i, n;
    int64_t         units, cost, room;
    sw_any_state_t  space;

    n = sw_proto_numbers(policy);

    for (i = 0; i < n; i++) {
        if (numbers[i] < 0 || numbers[i] > SW_PRODUCT_MAX) {
            return SW_ERROR;
        }
    }

    if (now < 1 || now > SW_PRODUCT_MAX / SW_SLICES_MAX
        || sw_proto_taken(numbers, policy, asked, taken) != SW_OK)
    {
        return SW_ERROR;
    }

    units = numbers[1];
    cost = (taken->counted == asked->times) ? 0 : asked->cost;

    /* what was counted is within the limit, and there */

    if (policy->algorithm == SW_LOG) {

        if (numbers[2] < units || (units && numbers[2] > policy->limit)
            || sw_proto_log(numbers, policy, now, cost, taken->ahead, last)
               != SW_OK)
        {
            return SW_ERROR;
        }

        room = policy->limit - numbers[2];

    } else {

        if (sw_proto_state(&space.state, numbers, policy, now) != SW_OK) {
            return SW_ERROR;
        }

        sw_window_check(&space.state, policy, now, cost, last);

        if (*sw_proto_newest(&space.state, policy) < units
            || (units && last->level > policy->limit * last->scale))
        {
            return SW_ERROR;
        }

        room = last->remaining;

        if (taken->ahead) {
            sw_proto_before(&space.state, policy, now, taken->ahead, last);
        }
    }

    room = sw_max(room, 0);

    /* as many as there was room for, and no more */

    if (asked->cost
        && taken->admitted != sw_min((room + units) / asked->cost,
                                     asked->times))
    {
        return SW_ERROR;
    }

    if (taken->counted == asked->times && taken->ahead < asked->ahead
        && room > 0)
    {
        return SW_ERROR;
    }

    return SW_OK;
}


void
sw_proto_verdict(const int64_t *numbers, const sw_policy_t *policy,
    int64_t now, const sw_proto_asked_t *asked, const sw_proto_taken_t *taken,
    const sw_verdict_t *last, int64_t nth, sw_verdict_t *verdict)
{
    int64_t         later;
    sw_any_state_t  space;

    if (nth > taken->counted || nth == asked->times) {
        *verdict = *last;
        return;
    }

    later = numbers[1] - nth * asked->cost;

    if (policy->algorithm == SW_LOG) {
        (void) sw_proto_log(numbers, policy, now, 0, later, verdict);
        return;
    }

    (void) sw_proto_state(&space.state, numbers, policy, now);

    verdict->admitted = 1;
    verdict->stamp = last->stamp;

    sw_proto_before(&space.state, policy, now, later, verdict);
}


/* what was left before the last units were counted */

static void
sw_proto_before(sw_state_t *state, const sw_policy_t *policy, int64_t now,
    int64_t units, sw_verdict_t *verdict)
{
    *sw_proto_newest(state, policy) -= units;

    sw_window_check_later(state, policy, now, 0, verdict);
}


static int
sw_proto_taken(const int64_t *numbers, const sw_policy_t *policy,
    const sw_proto_asked_t *asked, sw_proto_taken_t *taken)
{
    int64_t  units;

    units = numbers[1];

    taken->admitted = numbers[0];
    taken->counted = 0;
    taken->ahead = 0;

    if (asked->cost == 0) {
        return (taken->admitted == asked->times && units == 0) ? SW_OK
                                                               : SW_ERROR;
    }

    if (units > policy->limit) {
        return SW_ERROR;
    }

    taken->counted = sw_min(units / asked->cost, asked->times);
    taken->ahead = units - taken->counted * asked->cost;

    if (taken->admitted > asked->times || taken->counted > taken->admitted
        || taken->ahead > asked->ahead
        || (taken->ahead && taken->counted < asked->times))
    {
        return SW_ERROR;
    }

    return SW_OK;
}


/* the state's own time is now, or ahead of a clock that stepped back */

static int
sw_proto_state(sw_state_t *state, const int64_t *numbers,
    const sw_policy_t *policy, int64_t now)
{
    int64_t  i;

    sw_state_init(state, policy, now, NULL, 0);

    if (policy->algorithm == SW_STRICT) {

        if (numbers[2] < state->u.slices.index
            || numbers[2] > state->u.slices.index + policy->slices)
        {
            return SW_ERROR;
        }

        state->u.slices.index = numbers[2];

        for (i = 0; i <= policy->slices; i++) {
            state->u.slices.units[i] = numbers[3 + i];
        }

        return SW_OK;
    }

    if (numbers[2] < state->u.pair.index
        || numbers[2] > state->u.pair.index + 1
        || numbers[3] > SW_PRODUCT_MAX / policy->window
        || numbers[4] > SW_PRODUCT_MAX / policy->window)
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
sw_proto_newest(sw_state_t *state, const sw_policy_t *policy)
{
    if (policy->algorithm == SW_STRICT) {
        return sw_slices_newest(&state->u.slices, policy->slices);
    }

    return &state->u.pair.curr;
}


/* total, oldest, newest, and the entry that must leave for the cost */

static int
sw_proto_log(const int64_t *numbers, const sw_policy_t *policy, int64_t now,
    int64_t cost, int64_t later, sw_verdict_t *verdict)
{
    int64_t  total, oldest, newest, fits;

    total = numbers[2] - later;
    oldest = numbers[3];
    newest = numbers[4];
    fits = numbers[5];

    if (total == 0) {
        sw_window_check_new(policy, now, cost, verdict);
        return SW_OK;
    }

    if (oldest > newest || newest > now + policy->window
        || oldest <= newest - policy->window
        || oldest <= now - policy->window)
    {
        return SW_ERROR;
    }

    verdict->deferred = 0;
    verdict->level = total;
    verdict->scale = 1;
    verdict->stamp = newest > now ? newest : now;
    verdict->remaining = sw_max(policy->limit - total, 0);
    verdict->more = oldest + policy->window - now;
    verdict->reset = newest + policy->window - now;
    verdict->admitted = (cost <= verdict->remaining);
    verdict->retry = 0;

    if (verdict->admitted) {
        return SW_OK;
    }

    if (cost > policy->limit) {
        verdict->retry = SW_NEVER;
        return SW_OK;
    }

    if (fits < oldest || fits > newest) {
        return SW_ERROR;
    }

    verdict->retry = fits + policy->window - now;

    /* a lowered limit: it is not the oldest alone that must leave */

    if (cost == verdict->remaining + 1) {
        verdict->more = verdict->retry;
    }

    return SW_OK;
}
