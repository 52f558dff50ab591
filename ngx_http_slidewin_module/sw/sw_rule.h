
/*
 * A rule: how many units in which window, and the algorithm that counts them.
 *
 * Times are milliseconds on any clock that does not run fast or slow; it may
 * step.  Units are what a request costs.
 */


#ifndef _SW_RULE_H_INCLUDED_
#define _SW_RULE_H_INCLUDED_


#include <stdint.h>


#define SW_WINDOW_MAX    4294967295LL            /* a window fits 32 bits */
#define SW_PRODUCT_MAX   ((1LL << 53) - 1)       /* limit * window */
#define SW_LOG_LIMIT_MAX 100000                  /* entries to look through */
#define SW_LOG_UNITS_MAX 4294967295LL            /* of an entry */
#define SW_SLICES_MAX    100
#define SW_SLICES        16

#define SW_NEVER         -1                      /* as a time to wait */
#define SW_STALE         -1                      /* as a time to count at */


typedef enum {
    SW_COUNTER = 0,
    SW_FIXED,
    SW_STRICT,
    SW_LOG
} sw_algorithm_e;


typedef struct {
    sw_algorithm_e   algorithm;
    int64_t          limit;
    int64_t          window;
    int64_t          slices;                     /* strict only */
} sw_rule_t;


/* NULL if the rule can be counted exactly, else what is wrong with it */
const char *sw_rule_error(const sw_rule_t *rule);


/* the level of a verdict is in units of 1 / scale */

static inline int64_t
sw_rule_scale(const sw_rule_t *rule)
{
    return rule->algorithm == SW_COUNTER ? rule->window : 1;
}


/*
 * The most units that a state can hold: as many as an entry of a log has, or
 * as the products allow.  A limit is never above.
 */

static inline int64_t
sw_rule_most(const sw_rule_t *rule)
{
    return rule->algorithm == SW_LOG ? SW_LOG_UNITS_MAX
                                     : SW_PRODUCT_MAX / rule->window;
}


#endif /* _SW_RULE_H_INCLUDED_ */
