
#include "sw_proto.h"
#include "sw_rate.h"

#include <inttypes.h>
#include <stdio.h>


static int sw_proto_log(const int64_t *numbers, const sw_policy_t *policy,
    int64_t now, int64_t cost, int counted, sw_verdict_t *verdict);


size_t
sw_proto_number(char text[SW_PROTO_TEXT], int64_t number)
{
    return (size_t) snprintf(text, SW_PROTO_TEXT, "%" PRId64, number);
}


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
sw_proto_verdict(const int64_t *numbers, const sw_policy_t *policy,
    int64_t now, int64_t cost, int *counted, sw_verdict_t *verdict)
{
    size_t           i;
    int64_t          admitted, asked;
    sw_state_t      *state;
    sw_any_state_t   space;

    for (i = 0; i < sw_proto_numbers(policy); i++) {
        if (numbers[i] < 0 || numbers[i] > SW_PRODUCT_MAX) {
            return SW_ERROR;
        }
    }

    admitted = numbers[0];

    if (now < 1 || now > SW_PRODUCT_MAX / SW_SLICES_MAX
        || admitted > 1 || numbers[1] > admitted
        || (numbers[1] && (cost == 0 || cost > policy->limit)))
    {
        return SW_ERROR;
    }

    *counted = (int) numbers[1];
    asked = *counted ? 0 : cost;

    if (policy->algorithm == SW_LOG) {
        if (sw_proto_log(numbers + 2, policy, now, cost, *counted, verdict)
            != SW_OK)
        {
            return SW_ERROR;
        }

        return verdict->admitted == admitted ? SW_OK : SW_ERROR;
    }

    state = &space.state;
    sw_state_init(state, policy, now, NULL, 0);

    /* the state's own time is now, or ahead of a clock that stepped back */

    if (policy->algorithm == SW_STRICT) {

        if (numbers[2] < state->u.slices.index
            || numbers[2] > state->u.slices.index + policy->slices)
        {
            return SW_ERROR;
        }

        state->u.slices.index = numbers[2];

        for (i = 0; i <= (size_t) policy->slices; i++) {
            state->u.slices.units[i] = numbers[3 + i];
        }

    } else {

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
    }

    sw_window_check(state, policy, now, asked, verdict);

    /* what was counted is within the limit, and holds the cost */

    if (*counted
        && (verdict->level > policy->limit * verdict->scale
            || verdict->level < cost * verdict->scale))
    {
        return SW_ERROR;
    }

    return verdict->admitted == admitted ? SW_OK : SW_ERROR;
}


/* total, oldest, newest, and the entry that must leave for the cost */

static int
sw_proto_log(const int64_t *numbers, const sw_policy_t *policy, int64_t now,
    int64_t cost, int counted, sw_verdict_t *verdict)
{
    int64_t  total, oldest, newest, fits, asked;

    total = numbers[0];
    oldest = numbers[1];
    newest = numbers[2];
    fits = numbers[3];
    asked = counted ? 0 : cost;

    if (total == 0) {
        if (counted) {
            return SW_ERROR;
        }

        sw_window_check_new(policy, now, asked, verdict);
        return SW_OK;
    }

    if (oldest > newest || newest > now + policy->window
        || oldest <= newest - policy->window
        || oldest <= now - policy->window
        || (counted && (total > policy->limit || total < cost)))
    {
        return SW_ERROR;
    }

    verdict->level = total;
    verdict->scale = 1;
    verdict->stamp = newest > now ? newest : now;
    verdict->remaining = policy->limit > total ? policy->limit - total : 0;
    verdict->more = oldest + policy->window - now;
    verdict->reset = newest + policy->window - now;
    verdict->admitted = (asked <= verdict->remaining);
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
