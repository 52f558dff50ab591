
/*
 * The window cut into slices, and the one that is leaving: strict.
 */


#ifndef _SW_SLICES_H_INCLUDED_
#define _SW_SLICES_H_INCLUDED_


#include "sw_window.h"


/* the time to count at, SW_STALE if the clock went back too far for that */
int64_t sw_slices_advance(sw_slices_t *slices, int64_t n, int64_t window,
    int64_t now);

int64_t sw_slices_used(const sw_slices_t *slices, int64_t n, int64_t window,
    int64_t now);
int64_t sw_slices_end(const sw_slices_t *slices, int64_t n, int64_t window);
int64_t sw_slices_total(const sw_slices_t *slices, int64_t n);
int64_t sw_slices_wait(const sw_slices_t *slices, const sw_rule_t *rule,
    int64_t now, int64_t cost);

/* the units of the slice that is now */
int64_t *sw_slices_newest(sw_slices_t *slices, int64_t n);

void sw_slices_add(sw_slices_t *slices, int64_t n, int64_t cost);

/* how much of the cost was still there */
int64_t sw_slices_give_back(sw_slices_t *slices, int64_t n, int64_t index,
    int64_t cost);


#endif /* _SW_SLICES_H_INCLUDED_ */
