
/*
 * The limits that are tried on each request, and the clients they count.
 */


#ifndef _REPLAY_LIMITS_H_INCLUDED_
#define _REPLAY_LIMITS_H_INCLUDED_


#include <stdio.h>

#include "replay_bounds.h"
#include "replay_candidate.h"
#include "replay_clients.h"
#include "replay_peaks.h"
#include "replay_queue.h"
#include "replay_value.h"


/* limits that one request meets */
#define REPLAY_CLAIMS_MAX  64


/*
 * Candidates that count the same clients.  Without a configuration there is one
 * group, and its candidates know nothing of each other; with one each zone is a
 * group with one candidate, and all zones of a request must admit it.
 */

typedef struct {
    replay_value_t         key;
    replay_clients_t       clients;
    replay_candidate_t    *candidates;
    size_t                 n;
    replay_candidate_t    *plain;          /* without cost, count and ban */
    replay_peaks_t        *peaks;          /* one for each window */
    size_t                 npeaks;
} replay_group_t;


typedef struct {
    replay_group_t        *group;
    const sw_statuses_t   *count;          /* NULL: all are charged */
    const sw_statuses_t   *reset;
    replay_value_t         cost;           /* of no parts: it is units */
    int64_t                units;
    replay_value_t         condition;      /* of no parts: always */
    int                    dry_run;        /* rejects no request */
    int                    joint;          /* others are beside it */
} replay_limit_t;


typedef struct {
    replay_limit_t        *limits;
    size_t                 nlimits;
    replay_group_t        *groups;
    size_t                 ngroups;
    int                    joint;          /* all must admit */
    replay_timeline_t      timeline;
    replay_bounds_t        bounds;
    int64_t                first;          /* times of requests, ms */
    int64_t                last;
    uint64_t               requests;
    uint64_t               rejected;       /* by any of joint limits */

    FILE                  *decisions;
    const char           **files;          /* for decisions */
} replay_limits_t;


/* has the peaks of a window measured */
void replay_group_window(replay_group_t *group, int64_t window);

/* the handler of a queue: decides a request by all limits that it meets */
void replay_limits_decide(void *limits, const replay_event_t *event,
    const replay_claim_t *claims, replay_text_t path);

/* has what that will read brought from memory */
void replay_limits_prefetch(const replay_limits_t *limits,
    const replay_claim_t *claims, unsigned n);

replay_peaks_t *replay_group_peaks(const replay_group_t *group,
    int64_t window);


#endif /* _REPLAY_LIMITS_H_INCLUDED_ */
