
/*
 * The small languages of the directives: rates, times, counts, percentages.
 * Every parser takes text that need not be terminated, accepts the whole of
 * it or nothing, and never overflows.
 */


#ifndef _SW_RATE_H_INCLUDED_
#define _SW_RATE_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>


#define SW_OK      0
#define SW_ERROR  -1


/* digits only; at most max */
int sw_parse_count(const char *text, size_t len, int64_t max,
    int64_t *count);

/* [count](ms|s|m|h|d|w), no count is one; at least 1 ms, below 2^32 ms */
int sw_parse_period(const char *text, size_t len, int64_t *ms);

/* <count>r/<period>: 5r/m, 100r/10s; a count of at least 1 */
int sw_parse_rate(const char *text, size_t len, int64_t *limit,
    int64_t *window);

/* <count>%, 1 to 100 */
int sw_parse_percent(const char *text, size_t len, int64_t *percent);


#endif /* _SW_RATE_H_INCLUDED_ */
