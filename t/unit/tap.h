
/*
 * TAP for small programs, and random numbers.
 */


#ifndef _TAP_H_INCLUDED_
#define _TAP_H_INCLUDED_


#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>


static int       tap_tests;
static int       tap_failures;
static uint64_t  tap_random;


__attribute__((format(printf, 1, 2)))
static inline void
tap_diag(const char *fmt, ...)
{
    va_list  args;

    printf("# ");

    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);

    printf("\n");
}


__attribute__((format(printf, 2, 3)))
static inline int
tap_ok(int good, const char *fmt, ...)
{
    va_list  args;

    tap_tests++;

    if (!good) {
        tap_failures++;
        printf("not ");
    }

    printf("ok %d - ", tap_tests);

    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);

    printf("\n");

    return good;
}


static inline int
tap_done(void)
{
    printf("1..%d\n", tap_tests);

    if (tap_failures) {
        tap_diag("%d of %d failed", tap_failures, tap_tests);
    }

    return tap_failures != 0;
}


/* the same traces every time, unless SW_SEED asks for others */

static inline uint64_t
tap_seed(uint64_t seed)
{
    char  *value;

    value = getenv("SW_SEED");

    if (value) {
        seed = strtoull(value, NULL, 10);
    }

    tap_random = seed;

    return seed;
}


/* splitmix64; from low to high, both included */

static inline int64_t
tap_rand(int64_t low, int64_t high)
{
    uint64_t  z;

    z = (tap_random += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z ^= z >> 31;

    return low + (int64_t) (z % (uint64_t) (high - low + 1));
}


#endif /* _TAP_H_INCLUDED_ */
