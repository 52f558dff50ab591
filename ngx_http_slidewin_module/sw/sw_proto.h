
/*
 * Arguments and replies of the scripts, in the format of lua/take.lua.
 */


#ifndef _SW_PROTO_H_INCLUDED_
#define _SW_PROTO_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>

#include "sw_window.h"


#define SW_PROTO_NUMBER       7     /* bytes of a number */

/* bytes of an argument: before the rules, and of each */
#define SW_PROTO_TAKE         (3 * SW_PROTO_NUMBER)
#define SW_PROTO_GIVE_BACK    (2 * SW_PROTO_NUMBER)
#define SW_PROTO_RULE         (1 + 4 * SW_PROTO_NUMBER)
#define SW_PROTO_CLAIM        (SW_PROTO_RULE + 2 * SW_PROTO_NUMBER)

/* in place of whether a claim is in dry run */
#define SW_PROTO_CHARGE       2

/* of a claim, for its bans: in an argument of its own, and in the reply */
#define SW_PROTO_BAN          (3 * SW_PROTO_NUMBER)
#define SW_PROTO_BANNED       ((size_t) 2 * SW_PROTO_NUMBER)

/* bytes of a reply before the rules, and the most numbers of a rule */
#define SW_PROTO_HEAD         ((size_t) 2 * SW_PROTO_NUMBER)
#define SW_PROTO_NUMBERS_MAX  (2 + 1 + SW_SLICES_MAX + 1)


/* what a call asks of a rule: for so many requests, each of that cost */

typedef struct {
    int64_t   times;
    int64_t   cost;
    int64_t   prefetch;     /* units to be counted as well */
} sw_proto_request_t;


/* what was counted of a request */

typedef struct {
    int64_t   admitted;     /* requests, by this rule */
    int64_t   counted;      /* requests, by all rules of the call */
    int64_t   prefetch;
} sw_proto_taken_t;


/* the letter of an algorithm */
const char *sw_proto_algorithm(sw_algorithm_e algorithm);

/*
 * Parts of an argument; both functions return where the next part goes.  Bytes
 * are written singly, the lowest first: compilers make two stores of that.
 */

static inline char *
sw_proto_put(char *p, int64_t number)
{
    uint32_t  low, high;

    low = (uint32_t) number;
    high = (uint32_t) (number >> 32);

    p[0] = (char) low;
    p[1] = (char) (low >> 8);
    p[2] = (char) (low >> 16);
    p[3] = (char) (low >> 24);
    p[4] = (char) high;
    p[5] = (char) (high >> 8);
    p[6] = (char) (high >> 16);

    return p + SW_PROTO_NUMBER;
}


char *sw_proto_put_rule(char *p, const sw_rule_t *rule, int64_t cost);

/* a number of a reply */

static inline int64_t
sw_proto_get(const char *p)
{
    uint32_t              low, high;
    const unsigned char  *u;

    u = (const unsigned char *) p;

    low = u[0] | (uint32_t) u[1] << 8 | (uint32_t) u[2] << 16
          | (uint32_t) u[3] << 24;
    high = u[4] | (uint32_t) u[5] << 8 | (uint32_t) u[6] << 16;

    return (int64_t) ((uint64_t) high << 32 | low);
}


/* how many numbers of a reply belong to a rule */
size_t sw_proto_numbers(const sw_rule_t *rule);

/*
 * What a rule counted, and its verdict on the last request.  SW_ERROR if the
 * numbers contradict each other, the algorithm or the request.
 */
int sw_proto_read(const int64_t *numbers, const sw_rule_t *rule,
    int64_t now, const sw_proto_request_t *request, sw_proto_taken_t *taken,
    sw_verdict_t *last);

/* the verdict on the nth request, from 1, of numbers that were read so */
void sw_proto_verdict(const int64_t *numbers, const sw_rule_t *rule,
    int64_t now, const sw_proto_request_t *request,
    const sw_proto_taken_t *taken, const sw_verdict_t *last, int64_t nth,
    sw_verdict_t *verdict);


#endif /* _SW_PROTO_H_INCLUDED_ */
