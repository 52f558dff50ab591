
/*
 * The input of a fuzz target as a stream of numbers and rules.
 */


#ifndef _STREAM_H_INCLUDED_
#define _STREAM_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>

#include "fuzz.h"
#include "sw_rule.h"


typedef struct {
    const uint8_t  *p;
    size_t          left;
} stream_t;


/* as many bytes as the range needs; zeros when there are none left */

static inline int64_t
next(stream_t *s, int64_t low, int64_t high)
{
    uint64_t  value, range;

    value = 0;

    for (range = (uint64_t) high - (uint64_t) low; range; range >>= 8) {
        value <<= 8;

        if (s->left) {
            value |= *s->p++;
            s->left--;
        }
    }

    range = (uint64_t) high - (uint64_t) low + 1;

    return (int64_t) ((uint64_t) low + value % range);
}


/* one rule in large + 1 has a window and limit of any size */

static inline void
next_rule(stream_t *s, sw_rule_t *rule, int64_t large)
{
    rule->algorithm = (sw_algorithm_e) next(s, SW_COUNTER, SW_LOG);
    rule->slices = 0;

    if (next(s, 0, large)) {
        rule->window = next(s, 1, 128);
        rule->limit = next(s, 1, 64);

    } else {
        rule->window = next(s, 1, SW_WINDOW_MAX);
        rule->limit = next(s, 1, SW_PRODUCT_MAX / rule->window);

        if (rule->algorithm == SW_LOG && rule->limit > SW_LOG_LIMIT_MAX) {
            rule->limit = SW_LOG_LIMIT_MAX;
        }
    }

    if (rule->algorithm == SW_STRICT) {
        rule->slices = next(s, 1, rule->window < SW_SLICES_MAX
                                  ? rule->window : SW_SLICES_MAX);
    }

    fuzz_check(sw_rule_error(rule) == NULL);
}


#endif /* _STREAM_H_INCLUDED_ */
