
#include "sw_math.h"
#include "sw_parse.h"
#include "sw_rule.h"

#include <string.h>


typedef struct {
    const char  *name;
    int64_t      ms;
} sw_unit_t;


static const sw_unit_t  sw_units[] = {
    { "ms", 1 },
    { "s",  1000 },
    { "m",  60LL * 1000 },
    { "h",  60LL * 60 * 1000 },
    { "d",  24LL * 60 * 60 * 1000 },
    { "w",  7LL * 24 * 60 * 60 * 1000 },
    { NULL, 0 }
};


static int sw_parse_decimal(const char *text, size_t len, int64_t *value);


static size_t
sw_digits(const char *text, size_t len)
{
    size_t  n;

    for (n = 0; n < len && text[n] >= '0' && text[n] <= '9'; n++) {
        /* void */
    }

    return n;
}


int
sw_parse_count(const char *text, size_t len, int64_t max, int64_t *count)
{
    size_t   i;
    int64_t  value, digit;

    if (len == 0) {
        return SW_ERROR;
    }

    value = 0;

    for (i = 0; i < len; i++) {

        if (text[i] < '0' || text[i] > '9') {
            return SW_ERROR;
        }

        digit = text[i] - '0';

        if (digit > max || value > (max - digit) / 10) {
            return SW_ERROR;
        }

        value = value * 10 + digit;
    }

    *count = value;

    return SW_OK;
}


int
sw_parse_cost(const char *text, size_t len, int64_t *cost)
{
    if (len == 0 || sw_digits(text, len) < len) {
        return SW_ERROR;
    }

    if (sw_parse_count(text, len, SW_PRODUCT_MAX, cost) != SW_OK) {
        *cost = SW_COST_NEVER;
    }

    return SW_OK;
}


int
sw_parse_charge(const char *text, size_t len, int64_t *cost)
{
    size_t       n;
    int64_t      sum, value;
    const char  *last, *end;

    sum = SW_COST_NONE;
    last = len ? text + len : text;

    for ( ;; ) {

        while (text < last && (*text == ' ' || *text == '\t')) {
            text++;
        }

        for (end = text; end < last && *end != ',' && *end != ':'; end++) {
            /* void */
        }

        n = (size_t) (end - text);

        while (n && (text[n - 1] == ' ' || text[n - 1] == '\t')) {
            n--;
        }

        if (n && !(n == 1 && *text == '-')) {

            if (sw_parse_decimal(text, n, &value) != SW_OK) {
                return SW_ERROR;
            }

            sum = sw_max(sum, 0) + value;
            sum = sw_min(sum, SW_COST_NEVER);
        }

        if (end == last) {
            break;
        }

        text = end + 1;
    }

    *cost = sum;

    return SW_OK;
}


/* digits, or digits "." digits; rounded up */

static int
sw_parse_decimal(const char *text, size_t len, int64_t *value)
{
    size_t  i, digits, decimals;

    digits = sw_digits(text, len);

    if (sw_parse_cost(text, digits, value) != SW_OK) {
        return SW_ERROR;
    }

    if (digits == len) {
        return SW_OK;
    }

    decimals = sw_digits(text + digits + 1, len - digits - 1);

    if (text[digits] != '.' || decimals == 0
        || digits + 1 + decimals < len)
    {
        return SW_ERROR;
    }

    for (i = digits + 1; i < len; i++) {
        if (text[i] != '0') {
            *value += 1;
            break;
        }
    }

    return SW_OK;
}


int
sw_parse_period(const char *text, size_t len, int64_t *ms)
{
    size_t            digits;
    int64_t           count;
    const sw_unit_t  *unit;

    digits = sw_digits(text, len);

    for (unit = sw_units; unit->name; unit++) {
        if (len - digits == strlen(unit->name)
            && memcmp(text + digits, unit->name, len - digits) == 0)
        {
            break;
        }
    }

    if (unit->name == NULL) {
        return SW_ERROR;
    }

    count = 1;

    if (digits
        && sw_parse_count(text, digits, SW_WINDOW_MAX / unit->ms, &count)
           != SW_OK)
    {
        return SW_ERROR;
    }

    if (count == 0) {
        return SW_ERROR;
    }

    *ms = count * unit->ms;

    return SW_OK;
}


int
sw_parse_ban(const char *text, size_t len, int64_t *time, int64_t *max)
{
    size_t   n;
    int64_t  first, longest;

    for (n = 0; n < len && text[n] != '.'; n++) { /* void */ }

    if (sw_parse_period(text, n, &first) != SW_OK) {
        return SW_ERROR;
    }

    longest = 0;

    if (n < len
        && (len - n < 2 || text[n + 1] != '.'
            || sw_parse_period(text + n + 2, len - n - 2, &longest) != SW_OK
            || longest < first))
    {
        return SW_ERROR;
    }

    *time = first;
    *max = longest;

    return SW_OK;
}


int
sw_parse_rate(const char *text, size_t len, int64_t *limit, int64_t *window)
{
    int64_t      count, period;
    const char  *slash;

    slash = len ? memchr(text, '/', len) : NULL;

    if (slash == NULL || slash - text < 2 || slash[-1] != 'r') {
        return SW_ERROR;
    }

    if (sw_parse_count(text, (size_t) (slash - text) - 1, SW_PRODUCT_MAX,
                       &count)
        != SW_OK)
    {
        return SW_ERROR;
    }

    if (sw_parse_period(slash + 1, (size_t) (text + len - slash) - 1,
                        &period)
        != SW_OK)
    {
        return SW_ERROR;
    }

    if (count == 0) {
        return SW_ERROR;
    }

    *limit = count;
    *window = period;

    return SW_OK;
}


const char *
sw_rate_error(const char *text, size_t len)
{
    size_t   digits, decimals;
    int64_t  count;

    digits = sw_digits(text, len);
    decimals = 0;

    if (digits < len && text[digits] == '.') {
        decimals = 1 + sw_digits(text + digits + 1, len - digits - 1);
    }

    if (len - digits - decimals >= 2
        && memcmp(text + digits + decimals, "r/", 2) == 0)
    {
        if (decimals) {
            return "the count must be a whole number, the period may have "
                   "one too: 1.5r/s is 3r/2s";
        }

        if (sw_parse_count(text, digits, 0, &count) == SW_OK) {
            return "the count must be at least 1, \"deny all\" refuses "
                   "everybody";
        }
    }

    return "it must be <count>r/<period>, such as 5r/m or 100r/10s";
}


int
sw_parse_percent(const char *text, size_t len, int64_t *percent)
{
    int64_t  value;

    if (len < 2 || text[len - 1] != '%'
        || sw_parse_count(text, len - 1, 100, &value) != SW_OK
        || value == 0)
    {
        return SW_ERROR;
    }

    *percent = value;

    return SW_OK;
}
