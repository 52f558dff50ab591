
#include <inttypes.h>

#include "fuzz.h"
#include "sw_window.h"


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int          rc;
    char         again[64];
    size_t       i;
    int64_t      limit, window, count, period;
    const char  *text;
    sw_rule_t    rule;

    text = (const char *) data;
    limit = FUZZ_UNTOUCHED;
    window = FUZZ_UNTOUCHED;
    count = -1;
    period = -1;

    rc = sw_parse_rate(text, size, &limit, &window);

    /* a place for "r/" with a count on its left and a period on its right */

    for (i = 0; i + 2 <= size && (count < 1 || period < 1); i++) {

        if (memcmp(text + i, "r/", 2) == 0) {
            count = fuzz_count(text, i, SW_PRODUCT_MAX);
            period = fuzz_period(text + i + 2, size - i - 2);
        }
    }

    if (count < 1 || period < 1) {
        fuzz_check(rc == SW_ERROR);
        fuzz_check(limit == FUZZ_UNTOUCHED && window == FUZZ_UNTOUCHED);
        return 0;
    }

    fuzz_check(rc == SW_OK);
    fuzz_check(limit == count && window == period);

    /* what is too much to count is left to the rule, which must say so */

    rule.algorithm = SW_COUNTER;
    rule.limit = limit;
    rule.window = window;
    rule.slices = 0;

    fuzz_check((sw_rule_error(&rule) == NULL)
               == ((__int128) limit * window < ((__int128) 1 << 53)));

    i = (size_t) snprintf(again, sizeof(again), "%" PRId64 "r/%" PRId64 "ms",
                          limit, window);

    fuzz_check(sw_parse_rate(again, i, &count, &period) == SW_OK);
    fuzz_check(count == limit && period == window);

    return 0;
}
