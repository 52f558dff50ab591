
/*
 * How many requests were rejected at least and at most, if a log tells only
 * seconds, and requests have costs or statuses that matter, or a rejection
 * bans.
 *
 * An order that admits more here may admit less there then, so that no order is
 * the best or worst.  What is counted is bounded instead: the fewest units are
 * those that were surely admitted, the most those that were possibly.
 * Requests of one second may have come in any order, and are looked at
 * together.
 */


#ifndef _REPLAY_BOUNDS_H_INCLUDED_
#define _REPLAY_BOUNDS_H_INCLUDED_


#include "replay_candidate.h"


/* one limit of a request; those of the same request follow each other */

typedef struct {
    replay_candidate_t    *candidate;
    uint32_t               client;
    unsigned               request;        /* its number in the second */
    int64_t                cost;
    int                    charged;
    int                    resets;
    int                    dry_run;
    int                    possible;       /* that the limit admits it */
    int                    sure;
} replay_doubt_t;


/* the requests of a second */

typedef struct {
    replay_doubt_t        *doubts;
    size_t                 n;
    size_t                 room;
    unsigned               requests;
    int64_t                time;
} replay_bounds_t;


/* begins a request; those before another second are decided */
void replay_bounds_request(replay_bounds_t *bounds, int64_t time);

/* the next limit of the request */
void replay_bounds_add(replay_bounds_t *bounds,
    replay_candidate_t *candidate, uint32_t client,
    const replay_outcome_t *outcome);

/* decides those that are left, and frees what it has */
void replay_bounds_end(replay_bounds_t *bounds);


#endif /* _REPLAY_BOUNDS_H_INCLUDED_ */
