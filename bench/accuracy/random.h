
/*
 * Random numbers that are the same on every machine: splitmix64, and nothing
 * of libm, whose last digit differs from one to the next.
 */


#ifndef _RANDOM_H_INCLUDED_
#define _RANDOM_H_INCLUDED_


#include <stdint.h>


typedef struct {
    uint64_t  state;
} random_t;


/* each of them is a stream of its own, whatever the others draw */

static inline void
random_init(random_t *random, uint64_t seed, uint64_t stream)
{
    random->state = seed * 0xda942042e4dd58b5ULL
                    + stream * 0xd1342543de82ef95ULL;
}


static inline uint64_t
random_next(random_t *random)
{
    uint64_t  z;

    z = (random->state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;

    return z ^ (z >> 31);
}


/* from 0, below 1 */

static inline double
random_uniform(random_t *random)
{
    return (double) (random_next(random) >> 11) * 0x1p-53;
}


static inline int64_t
random_below(random_t *random, int64_t n)
{
    return (int64_t) (random_next(random) % (uint64_t) n);
}


/*
 * Exponential, with a mean of 1, by comparisons alone (von Neumann, 1951): the
 * first of a falling run of odd length, behind as many whole ones as there were
 * runs of even length.
 */

static inline double
random_exponential(random_t *random)
{
    int     odd;
    double  whole, first, last, next;

    for (whole = 0; /* void */ ; whole++) {
        first = random_uniform(random);
        last = first;
        odd = 1;

        for ( ;; ) {
            next = random_uniform(random);

            if (next >= last) {
                break;
            }

            last = next;
            odd = !odd;
        }

        if (odd) {
            return whole + first;
        }
    }
}


#endif /* _RANDOM_H_INCLUDED_ */
