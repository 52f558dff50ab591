
/*
 * Two windows side by side: all that fixed and counter remember.
 */


#ifndef _SW_PAIR_H_INCLUDED_
#define _SW_PAIR_H_INCLUDED_


#include "sw_window.h"


/* the time to count at, SW_STALE if the clock went back too far for that */
int64_t sw_pair_advance(sw_pair_t *pair, int64_t window, int64_t now);

void sw_pair_give_back(sw_pair_t *pair, int64_t index, int64_t cost);

int64_t sw_fixed_used(const sw_pair_t *pair, int64_t window, int64_t now);
int64_t sw_fixed_wait(const sw_pair_t *pair, const sw_policy_t *policy,
    int64_t now, int64_t cost);

int64_t sw_counter_used(const sw_pair_t *pair, int64_t window, int64_t now);
int sw_counter_admits(const sw_pair_t *pair, const sw_policy_t *policy,
    int64_t now, int64_t cost);
int64_t sw_counter_wait(const sw_pair_t *pair, const sw_policy_t *policy,
    int64_t now, int64_t cost);

/* the estimate, times the window */
int64_t sw_counter_level(const sw_pair_t *pair, int64_t window, int64_t now);


#endif /* _SW_PAIR_H_INCLUDED_ */
