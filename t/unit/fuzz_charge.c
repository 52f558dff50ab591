
#include "fuzz.h"


static int64_t decimal(const char *text, size_t len);


/*
 * The same number, or -1 if it is none: a fraction that is not all zeros makes
 * one more of the digits before the point.
 */

static int64_t
decimal(const char *text, size_t len)
{
    size_t       i, whole;
    int64_t      value;
    const char  *point;

    point = memchr(text, '.', len);
    whole = point ? (size_t) (point - text) : len;

    for (i = 0; i < len; i++) {
        if (i != whole && (text[i] < '0' || text[i] > '9')) {
            return -1;
        }
    }

    if (whole == 0 || (point && whole == len - 1)) {
        return -1;
    }

    value = fuzz_count(text, whole, SW_COST_NEVER);

    if (value == -1) {
        return SW_COST_NEVER;
    }

    while (len > whole + 1 && text[len - 1] == '0') {
        len--;
    }

    return value + (len > whole + 1);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int          rc;
    size_t       i, from, to;
    int64_t      cost, value, wanted;
    const char  *text;

    text = (const char *) data;

    cost = FUZZ_UNTOUCHED;
    rc = sw_parse_charge(text, size, &cost);

    wanted = SW_COST_NONE;

    /* the last part ends with the text */

    for (i = 0, from = 0; i <= size; i++) {

        if (i < size && text[i] != ',' && text[i] != ':') {
            continue;
        }

        to = i;

        while (from < to && (text[from] == ' ' || text[from] == '\t')) {
            from++;
        }

        while (from < to && (text[to - 1] == ' ' || text[to - 1] == '\t')) {
            to--;
        }

        if (from < to && !(to == from + 1 && text[from] == '-')) {
            value = decimal(text + from, to - from);

            if (value == -1) {
                fuzz_check(rc == SW_ERROR);
                fuzz_check(cost == FUZZ_UNTOUCHED);
                return 0;
            }

            wanted = (wanted == SW_COST_NONE ? 0 : wanted) + value;

            if (wanted > SW_COST_NEVER) {
                wanted = SW_COST_NEVER;
            }
        }

        from = i + 1;
    }

    fuzz_check(rc == SW_OK);
    fuzz_check(cost == wanted);
    fuzz_check(cost >= SW_COST_NONE && cost <= SW_COST_NEVER);

    return 0;
}
