
/*
 * The buckets of histograms: as a search through all bounds finds them.
 */


#include "sw_bucket.h"
#include "tap.h"


#define MILLION  1000000


static void latencies(void);
static void utilizations(void);
static void ratios(void);

static unsigned search(const int64_t *bounds, int64_t value);


/* as /metrics and the documentation have them */

static const int64_t  latency_bounds[] = {             /* us */
    50, 100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000,
    500000, 1000000, 2500000, 5000000, INT64_MAX
};

static const int64_t  utilization_bounds[] = {         /* 1/1000 */
    250, 500, 750, 900, 1000, INT64_MAX
};


int
main(void)
{
    tap_diag("seed %llu", (unsigned long long) tap_seed(1000));

    latencies();
    utilizations();
    ratios();

    return tap_done();
}


static void
latencies(void)
{
    int       good, bits, i;
    int64_t   us;
    unsigned  n;

    for (n = 0; n + 1 < SW_LATENCY_BUCKETS; n++) {
        us = latency_bounds[n];

        tap_ok(sw_latency_bucket(us) == n && sw_latency_bucket(us + 1) == n + 1,
               "%lld us is the last of its bucket", (long long) us);

        tap_ok(n == 0 || us >= 2 * latency_bounds[n - 1],
               "... whose bound is at least twice the one before");
    }

    tap_ok(sw_latency_bucket(0) == 0 && sw_latency_bucket(-1) == 0
           && sw_latency_bucket(INT64_MIN) == 0, "no time, and less");

    good = 1;

    for (us = 0; us < 6 * MILLION; us++) {
        good &= sw_latency_bucket(us) == search(latency_bounds, us);
    }

    tap_ok(good, "every time up to six seconds");

    good = 1;

    for (bits = 0; bits < 63; bits++) {
        for (i = -2; i <= 2; i++) {
            us = (int64_t) (((uint64_t) 1 << bits) + (uint64_t) i);
            us = us < 0 ? 0 : us;

            good &= sw_latency_bucket(us) == search(latency_bounds, us);
        }
    }

    good &= sw_latency_bucket(INT64_MAX) == SW_LATENCY_BUCKETS - 1;

    tap_ok(good, "times of any number of bits");
}


static void
utilizations(void)
{
    int      good;
    int64_t  utilization;

    good = 1;

    for (utilization = 0;
         utilization <= SW_UTILIZATION_SCALE + 1;
         utilization++)
    {
        good &= sw_utilization_bucket(utilization)
                == search(utilization_bounds, utilization);
    }

    tap_ok(good, "every utilization");
}


/* above a bound is above it, by however little */

static void
ratios(void)
{
    int            good, i;
    double         exact;
    int64_t        all, level, ratio;
    const int64_t  most = (int64_t) 1 << 53;

    tap_ok(sw_utilization(0, 5) == 0 && sw_utilization(-7, 5) == 0,
           "nothing, and less");
    tap_ok(sw_utilization(5, 5) == SW_UTILIZATION_SCALE, "all");
    tap_ok(sw_utilization(6, 5) == SW_UTILIZATION_SCALE + 1
           && sw_utilization(2, 1) == SW_UTILIZATION_SCALE + 1
           && sw_utilization(INT64_MAX, 5) == SW_UTILIZATION_SCALE + 1,
           "more than all");
    tap_ok(sw_utilization(most / 4 + 1, most) == 251, "a unit above a quarter");
    tap_ok(sw_utilization(most, most) == SW_UTILIZATION_SCALE
           && sw_utilization(most + 1, most) == SW_UTILIZATION_SCALE + 1,
           "the largest numbers");

    good = 1;

    for (i = 0; i < MILLION; i++) {
        all = tap_rand(1, most >> tap_rand(0, 52));
        level = tap_rand(0, all);

        ratio = sw_utilization(level, all);
        exact = (double) level / (double) all * SW_UTILIZATION_SCALE;

        good &= (double) ratio >= exact - 1e-6
                && (double) ratio < exact + 1 + 1e-6;
    }

    tap_ok(good, "a million of them, rounded up");
}


static unsigned
search(const int64_t *bounds, int64_t value)
{
    unsigned  i;

    for (i = 0; value > bounds[i]; i++) { /* void */ }

    return i;
}
