
#include <stddef.h>

#include "sw_rule.h"


const char *
sw_rule_error(const sw_rule_t *rule)
{
    if (rule->limit < 1) {
        return "the limit must be at least 1";
    }

    if (rule->window < 1 || rule->window > SW_WINDOW_MAX) {
        return "the period must be from 1ms to 49d";
    }

    /* the doubles of a Lua script are exact up to here */

    if (rule->limit > SW_PRODUCT_MAX / rule->window) {
        return "the limit times the period in ms must be below 2^53";
    }

    if (rule->algorithm == SW_LOG && rule->limit > SW_LOG_LIMIT_MAX) {
        return "the limit of a log must be at most 100000, "
               "algorithm=strict has no such bound";
    }

    if (rule->algorithm == SW_STRICT) {

        if (rule->slices < 1 || rule->slices > SW_SLICES_MAX) {
            return "there must be 1 to 100 slices";
        }

        if (rule->slices > rule->window) {
            return "a slice must be at least 1ms";
        }
    }

    return NULL;
}
