
#include "sw_pair.h"
#include "sw_math.h"


static int64_t sw_counter_decay(int64_t units, int64_t room, int64_t window);


int64_t
sw_pair_give_back(sw_pair_t *pair, int64_t index, int64_t cost)
{
    int64_t  *units;

    if (index < pair->index - 1) {
        return 0;
    }

    units = (index < pair->index) ? &pair->prev : &pair->curr;
    cost = sw_min(cost, *units);
    *units -= cost;

    return cost;
}


int64_t
sw_fixed_used(const sw_pair_t *pair, int64_t window, int64_t now)
{
    return (now / window > pair->index) ? 0 : pair->curr;
}


int64_t
sw_fixed_wait(const sw_pair_t *pair, const sw_rule_t *rule, int64_t now,
    int64_t cost)
{
    if (pair->curr + cost <= rule->limit) {
        return 0;
    }

    return rule->window - sw_pair_gone(pair, rule->window, now);
}


int64_t
sw_counter_used(const sw_pair_t *pair, int64_t window, int64_t now)
{
    sw_pair_t  then;

    then = *pair;

    if (sw_pair_advance(&then, window, now) != now) {
        now = then.index * window;
    }

    return (sw_counter_level(&then, window, now) + window - 1) / window;
}


int64_t
sw_counter_wait(const sw_pair_t *pair, const sw_rule_t *rule,
    int64_t now, int64_t cost)
{
    int64_t  gone, room, decay;

    gone = sw_pair_gone(pair, rule->window, now);
    room = rule->limit - cost - pair->curr;

    if (room >= 0) {
        decay = sw_counter_decay(pair->prev, room, rule->window);

        if (decay < rule->window) {
            return sw_max(decay - gone, 0);
        }
    }

    return rule->window - gone
           + sw_counter_decay(pair->curr, rule->limit - cost,
                              rule->window);
}


/*
 * How far into a window the units of the previous one weigh no more than
 * room: the least e with units * (window - e) <= room * window.
 */

static int64_t
sw_counter_decay(int64_t units, int64_t room, int64_t window)
{
    if (units <= room) {
        return 0;
    }

    return window - room * window / units;
}
