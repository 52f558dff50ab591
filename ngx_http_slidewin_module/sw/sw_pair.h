
/*
 * The current window and the previous one: the state of fixed and counter.
 */


#ifndef _SW_PAIR_H_INCLUDED_
#define _SW_PAIR_H_INCLUDED_


#include <stdint.h>

#include "sw_rule.h"
#include "sw_step.h"


/* fixed never looks at prev */

typedef struct {
    int64_t          index;                      /* number of the window */
    int64_t          prev;
    int64_t          curr;
} sw_pair_t;


/* how much of the cost was still there */
int64_t sw_pair_give_back(sw_pair_t *pair, int64_t index, int64_t cost);

int64_t sw_fixed_used(const sw_pair_t *pair, int64_t window, int64_t now);
int64_t sw_fixed_wait(const sw_pair_t *pair, const sw_rule_t *rule,
    int64_t now, int64_t cost);

int64_t sw_counter_used(const sw_pair_t *pair, int64_t window, int64_t now);
int64_t sw_counter_wait(const sw_pair_t *pair, const sw_rule_t *rule,
    int64_t now, int64_t cost);


/* of every request: a division only when a window has ended */

static inline int64_t
sw_pair_gone(const sw_pair_t *pair, int64_t window, int64_t now)
{
    return now - pair->index * window;
}


/* the time to count at, SW_STALE if the clock stepped back too far */

static inline int64_t
sw_pair_advance(sw_pair_t *pair, int64_t window, int64_t now)
{
    int64_t  gone;

    gone = sw_pair_gone(pair, window, now);

    if (gone < 0) {
        return (gone >= -window) ? now - gone : SW_STALE;
    }

    /* a process that dies in between leaves too much counted, not too little */

    if (gone >= window) {
        pair->index = now / window;
        sw_step();

        pair->prev = (gone < 2 * window) ? pair->curr : 0;
        sw_step();

        pair->curr = 0;
    }

    return now;
}


/* the estimate, times the window */

static inline int64_t
sw_counter_level(const sw_pair_t *pair, int64_t window, int64_t now)
{
    return pair->prev * (window - sw_pair_gone(pair, window, now))
           + pair->curr * window;
}


/* the units of a window weigh on the next one, and on none after it */

static inline int64_t
sw_counter_end(const sw_pair_t *pair, int64_t window)
{
    if (pair->curr) {
        return (pair->index + 2) * window;
    }

    return pair->prev ? (pair->index + 1) * window : 0;
}


static inline int64_t
sw_fixed_end(const sw_pair_t *pair, int64_t window)
{
    return pair->curr ? (pair->index + 1) * window : 0;
}


static inline int
sw_counter_admits(const sw_pair_t *pair, const sw_rule_t *rule,
    int64_t now, int64_t cost)
{
    if (cost == 0) {
        return 1;
    }

    return cost <= rule->limit
           && sw_counter_level(pair, rule->window, now)
              + cost * rule->window <= rule->limit * rule->window;
}


#endif /* _SW_PAIR_H_INCLUDED_ */
