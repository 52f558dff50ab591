
/*
 * The buckets of histograms: which one a value is in.  A bucket has what is
 * above the bound before it, up to its own; the last one has no bound.
 */


#ifndef _SW_BUCKET_H_INCLUDED_
#define _SW_BUCKET_H_INCLUDED_


#include <stdint.h>


#define SW_LATENCY_BUCKETS      17
#define SW_UTILIZATION_BUCKETS  6

/* utilizations are in units of 1 / scale; 1 unit above stands for any more */
#define SW_UTILIZATION_SCALE    1000


static const int64_t  sw_latency_bounds[SW_LATENCY_BUCKETS] = {   /* us */
    50, 100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000,
    500000, 1000000, 2500000, 5000000, INT64_MAX
};


/*
 * The first bucket of a time with so many bits.  A bound is at least twice the
 * one before: the time is in that bucket or in the next.
 */

static const uint8_t  sw_latency_first_bucket[] = {
    [0 ... 6] = 0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 14, 15,
    [24 ... 64] = 16
};


static const uint8_t  sw_utilization_buckets[] = {
    [0 ... 250] = 0, [251 ... 500] = 1, [501 ... 750] = 2, [751 ... 900] = 3,
    [901 ... SW_UTILIZATION_SCALE] = 4, [SW_UTILIZATION_SCALE + 1] = 5
};


static inline unsigned
sw_latency_bucket(int64_t us)
{
    unsigned  i;

    if (us <= 0) {
        return 0;
    }

    i = sw_latency_first_bucket[64 - __builtin_clzll((unsigned long long) us)];

    return i + (us > sw_latency_bounds[i]);
}


/*
 * How much of all that may be used a level is, both at most 2^53.  Rounded up:
 * what is above a bound stays above it.
 */

static inline int64_t
sw_utilization(int64_t level, int64_t all)
{
    if ((uint64_t) level > (uint64_t) all) {
        return (level < 0) ? 0 : SW_UTILIZATION_SCALE + 1;
    }

    return (level * SW_UTILIZATION_SCALE + all - 1) / all;
}


static inline unsigned
sw_utilization_bucket(int64_t utilization)
{
    return sw_utilization_buckets[utilization];
}


#endif /* _SW_BUCKET_H_INCLUDED_ */
