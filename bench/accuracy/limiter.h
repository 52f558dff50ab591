
/*
 * One client of one rule, as a store keeps it.  All that it decides, estimates
 * and counts is decided, estimated and counted by sw_window_*.
 */


#ifndef _LIMITER_H_INCLUDED_
#define _LIMITER_H_INCLUDED_


#include "sw_window.h"


typedef struct {
    sw_rule_t     rule;
    sw_state_t   *state;
} limiter_t;


/* the algorithms in the order of the tables, strict with 16 slices */

#define LIMITER_ALGORITHMS  4

extern const sw_algorithm_e  limiter_algorithms[LIMITER_ALGORITHMS];


/* "strict slices=4"; strict alone with as many slices as it has by default */
const char *limiter_name(const sw_rule_t *rule);

void limiter_rule(sw_rule_t *rule, sw_algorithm_e algorithm, int64_t limit,
    int64_t window, int64_t slices);

/* the most that the algorithm admits in any rolling window */
int64_t limiter_bound(const sw_rule_t *rule);

void limiter_init(limiter_t *limiter, const sw_rule_t *rule, int64_t now);
void limiter_free(limiter_t *limiter);

/* the verdict on one unit; counts nothing */
void limiter_check(limiter_t *limiter, int64_t now, sw_verdict_t *verdict);

/* counts, whatever the verdict was; returns the stamp */
int64_t limiter_add(limiter_t *limiter, int64_t now, int64_t units);

/* check, and add if it is admitted */
int limiter_take(limiter_t *limiter, int64_t now);

void limiter_give_back(limiter_t *limiter, int64_t units, int64_t stamp);


#endif /* _LIMITER_H_INCLUDED_ */
