
#include "sw_slices.h"
#include "sw_math.h"


static int64_t sw_slice_start(int64_t index, int64_t window, int64_t n);


int64_t
sw_slices_advance(sw_slices_t *slices, int64_t n, int64_t window, int64_t now)
{
    int64_t  j, last, index;

    index = now * n / window;

    if (index == slices->index) {
        return now;
    }

    if (index < slices->index) {
        return (index >= slices->index - n)
               ? sw_slice_start(slices->index, window, n) : SW_STALE;
    }

    last = sw_min(index, slices->index + n + 1);

    for (j = slices->index + 1; j <= last; j++) {
        slices->units[j % (n + 1)] = 0;
    }

    slices->index = index;

    return now;
}


int64_t
sw_slices_used(const sw_slices_t *slices, int64_t n, int64_t window,
    int64_t now)
{
    int64_t  j, used;

    used = 0;
    j = sw_max(now * n / window, slices->index) - n;

    for (j = sw_max(j, 0); j <= slices->index; j++) {
        used += slices->units[j % (n + 1)];
    }

    return used;
}


/* the youngest slice that has units is the last to leave */

int64_t
sw_slices_end(const sw_slices_t *slices, int64_t n, int64_t window)
{
    int64_t  j, last;

    last = sw_max(slices->index - n, 0);

    for (j = slices->index; j >= last; j--) {

        if (slices->units[j % (n + 1)]) {
            return sw_slice_start(j + n + 1, window, n);
        }
    }

    return 0;
}


int64_t
sw_slices_total(const sw_slices_t *slices, int64_t n)
{
    int64_t  i, total;

    total = 0;

    for (i = 0; i <= n; i++) {
        total += slices->units[i];
    }

    return total;
}


int64_t
sw_slices_wait(const sw_slices_t *slices, const sw_rule_t *rule,
    int64_t now, int64_t cost)
{
    int64_t  j, n, excess;

    n = rule->slices;
    excess = sw_slices_total(slices, n) + cost - rule->limit;

    if (excess <= 0) {
        return 0;
    }

    for (j = sw_max(slices->index - n, 0); j < slices->index; j++) {
        excess -= slices->units[j % (n + 1)];

        if (excess <= 0) {
            break;
        }
    }

    return sw_slice_start(j + n + 1, rule->window, n) - now;
}


void
sw_slices_add(sw_slices_t *slices, int64_t n, int64_t cost)
{
    *sw_slices_newest(slices, n) += cost;
}


int64_t *
sw_slices_newest(sw_slices_t *slices, int64_t n)
{
    return &slices->units[slices->index % (n + 1)];
}


int64_t
sw_slices_give_back(sw_slices_t *slices, int64_t n, int64_t index,
    int64_t cost)
{
    int64_t  *units;

    if (index < slices->index - n) {
        return 0;
    }

    units = &slices->units[sw_min(index, slices->index) % (n + 1)];
    cost = sw_min(cost, *units);
    *units -= cost;

    return cost;
}


/* the first ms with ms * n / window >= index */

static int64_t
sw_slice_start(int64_t index, int64_t window, int64_t n)
{
    return (index * window + n - 1) / n;
}
