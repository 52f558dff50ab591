
#include <inttypes.h>
#include <stdio.h>

#include "limiter.h"
#include "memory.h"


const sw_algorithm_e  limiter_algorithms[LIMITER_ALGORITHMS] = {
    SW_COUNTER, SW_FIXED, SW_STRICT, SW_LOG
};


const char *
limiter_name(const sw_rule_t *rule)
{
    static char  name[32];

    static const char *const  names[] = {
        "counter", "fixed", "strict", "log"
    };

    if (rule->algorithm == SW_STRICT && rule->slices != SW_SLICES) {
        snprintf(name, sizeof(name), "strict slices=%" PRId64, rule->slices);
        return name;
    }

    return names[rule->algorithm];
}


void
limiter_rule(sw_rule_t *rule, sw_algorithm_e algorithm, int64_t limit,
    int64_t window, int64_t slices)
{
    rule->algorithm = algorithm;
    rule->limit = limit;
    rule->window = window;
    rule->slices = (algorithm == SW_STRICT) ? slices : 0;

    if (sw_rule_error(rule) != NULL) {
        abort();
    }
}


int64_t
limiter_bound(const sw_rule_t *rule)
{
    switch (rule->algorithm) {

    case SW_COUNTER:
        return 2 * rule->limit - 1;

    case SW_FIXED:
        return 2 * rule->limit;

    default:
        return rule->limit;
    }
}


void
limiter_init(limiter_t *limiter, const sw_rule_t *rule, int64_t now)
{
    sw_log_entry_t  *ring;

    limiter->rule = *rule;
    limiter->state = memory_get(sw_state_size(rule));

    ring = (rule->algorithm == SW_LOG) ? memory_get(sizeof(sw_log_entry_t))
                                       : NULL;

    sw_state_init(limiter->state, rule, now, ring, 1);
}


void
limiter_free(limiter_t *limiter)
{
    if (limiter->rule.algorithm == SW_LOG) {
        free(limiter->state->u.log.entries);
    }

    free(limiter->state);
}


void
limiter_check(limiter_t *limiter, int64_t now, sw_verdict_t *verdict)
{
    sw_window_check(limiter->state, &limiter->rule, now, 1, verdict);
}


int64_t
limiter_add(limiter_t *limiter, int64_t now, int64_t units)
{
    uint32_t   room;
    sw_log_t  *log;

    if (limiter->rule.algorithm == SW_LOG) {
        log = &limiter->state->u.log;
        room = sw_log_next_room(log, limiter->state->window, &limiter->rule);

        if (room) {
            free(sw_log_move(log, memory_get(room * sizeof(sw_log_entry_t)),
                             room));
        }
    }

    return sw_window_add(limiter->state, &limiter->rule, now, units);
}


int
limiter_take(limiter_t *limiter, int64_t now)
{
    if (!sw_window_admits(limiter->state, &limiter->rule, now, 1)) {
        return 0;
    }

    (void) limiter_add(limiter, now, 1);

    return 1;
}


void
limiter_give_back(limiter_t *limiter, int64_t units, int64_t stamp)
{
    sw_window_give_back(limiter->state, &limiter->rule, units, stamp);
}
