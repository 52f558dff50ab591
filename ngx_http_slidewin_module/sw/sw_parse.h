
/*
 * The small languages of the directives: rates, times, counts, percentages.
 * Every parser takes text that need not be terminated, accepts the whole of
 * it or nothing, and never overflows.
 */


#ifndef _SW_PARSE_H_INCLUDED_
#define _SW_PARSE_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>


#define SW_OK      0
#define SW_ERROR  -1

#define SW_COST_NEVER  (1LL << 53)
#define SW_COST_NONE   -1


/* digits only; at most max */
int sw_parse_count(const char *text, size_t len, int64_t max,
    int64_t *count);

/* digits only; what does not fit is SW_COST_NEVER, above every limit */
int sw_parse_cost(const char *text, size_t len, int64_t *cost);

/*
 * The true cost of a request: whole or decimal numbers, each rounded up, with
 * commas or colons between them as nginx joins those of several upstreams or
 * fields; they are added.  "-", and nothing between two commas, counts for
 * nothing.  SW_COST_NONE if there is no number; at most SW_COST_NEVER.
 */
int sw_parse_charge(const char *text, size_t len, int64_t *cost);

/* [count](ms|s|m|h|d|w), no count is one; at least 1 ms, below 2^32 ms */
int sw_parse_period(const char *text, size_t len, int64_t *ms);

/* TIME or TIME..MAX, periods, MAX not below TIME; max is 0 without one */
int sw_parse_ban(const char *text, size_t len, int64_t *time, int64_t *max);

/* <count>r/<period>: 5r/m, 100r/10s; a count of at least 1 */
int sw_parse_rate(const char *text, size_t len, int64_t *limit,
    int64_t *window);

/* what is wrong with a rate that sw_parse_rate does not take */
const char *sw_rate_error(const char *text, size_t len);

/* <count>%, 1 to 100 */
int sw_parse_percent(const char *text, size_t len, int64_t *percent);


#endif /* _SW_PARSE_H_INCLUDED_ */
