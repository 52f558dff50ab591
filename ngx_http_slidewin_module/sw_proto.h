
/*
 * What goes to the scripts and what comes back, as lua/take.lua says it.
 */


#ifndef _SW_PROTO_H_INCLUDED_
#define _SW_PROTO_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>

#include "sw_window.h"


#define SW_PROTO_ARGS    6        /* of a policy */
#define SW_PROTO_HEAD    2        /* numbers before those of the policies */
#define SW_PROTO_TEXT    21       /* of one number, with its end */


/* a number as a terminated argument; returns its length */
size_t sw_proto_number(char text[SW_PROTO_TEXT], int64_t number);

/* the letter of an algorithm */
const char *sw_proto_algorithm(sw_algorithm_e algorithm);

/* how many numbers of the reply are about a policy */
size_t sw_proto_numbers(const sw_policy_t *policy);

/*
 * The verdict on a policy from its numbers, which must agree with each other
 * and with the algorithm: SW_OK, or SW_ERROR if they cannot be true.
 */
int sw_proto_verdict(const int64_t *numbers, const sw_policy_t *policy,
    int64_t now, int64_t cost, int *counted, sw_verdict_t *verdict);


#endif /* _SW_PROTO_H_INCLUDED_ */
