
/*
 * The slices of the window and the one that is leaving: the state of strict.
 */


#ifndef _SW_SLICES_H_INCLUDED_
#define _SW_SLICES_H_INCLUDED_


#include <stdint.h>

#include "sw_rule.h"


/* units[j % (slices + 1)] belongs to slice j, index - slices <= j <= index */

typedef struct {
    int64_t          index;                      /* number of the slice */
    int64_t          units[1];
} sw_slices_t;


/* the time to count at, SW_STALE if the clock stepped back too far */
int64_t sw_slices_advance(sw_slices_t *slices, int64_t n, int64_t window,
    int64_t now);

int64_t sw_slices_used(const sw_slices_t *slices, int64_t n, int64_t window,
    int64_t now);
int64_t sw_slices_end(const sw_slices_t *slices, int64_t n, int64_t window);
int64_t sw_slices_total(const sw_slices_t *slices, int64_t n);
int64_t sw_slices_wait(const sw_slices_t *slices, const sw_rule_t *rule,
    int64_t now, int64_t cost);

/* the units of the current slice */
int64_t *sw_slices_newest(sw_slices_t *slices, int64_t n);

void sw_slices_add(sw_slices_t *slices, int64_t n, int64_t cost);

/* how much of the cost was still there */
int64_t sw_slices_give_back(sw_slices_t *slices, int64_t n, int64_t index,
    int64_t cost);


#endif /* _SW_SLICES_H_INCLUDED_ */
