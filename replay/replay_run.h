
/*
 * The count of a client by a rule: at the times of the log, or, where the log
 * only tells seconds, so that as few or as many as possible are rejected.
 *
 * A request of the second s came at some time from s to s + span.  What was
 * counted leaves the window earliest if it was counted at s and is looked at
 * with s + span, and latest the other way round.  If no request costs more than
 * another, and all are charged, the first admits at least as many as any true
 * order did up to each time, and the second at most: the n-th admission can
 * only be later when an earlier one is.  Else the bounds are made of what is
 * surely and what is possibly counted: see replay_bounds.h.
 */


#ifndef _REPLAY_RUN_H_INCLUDED_
#define _REPLAY_RUN_H_INCLUDED_


#include "sw_window.h"


typedef enum {
    REPLAY_AS_LOGGED = 0,
    REPLAY_FEWEST,
    REPLAY_MOST
} replay_run_e;


typedef enum {
    REPLAY_RUN_SAME = 0,                   /* decides as that of the log */
    REPLAY_RUN_PLAIN,                      /* counts and looks at one time */
    REPLAY_RUN_LOOKS_LATE,                 /* looks with the end of a second */
    REPLAY_RUN_COUNTS_LATE,
    REPLAY_RUN_ADMITS                      /* all that is not above the limit */
} replay_run_kind_e;


typedef struct {
    replay_run_kind_e  kind;
    sw_rule_t          rule;
    int64_t            span;
    size_t             size;               /* of its state in memory */
} replay_run_t;


/* span is 0 if the log tells all times; apart: no bound may be "same" */
void replay_run_init(replay_run_t *run, const sw_rule_t *rule,
    replay_run_e which, int64_t span, int apart);

/* whether no window or slice ends, and no unit leaves, inside of a second */
int replay_run_steady(const sw_rule_t *rule, int64_t span);

/* of n requests of that cost, how many are admitted, as they are counted */
uint32_t replay_run_fit(const replay_run_t *run, void *memory, int64_t time,
    int64_t cost, uint32_t n);

/* memory of the size of the run, before its first use */
void replay_run_start(const replay_run_t *run, void *memory, int64_t time);

/* as if the client had not come before */
void replay_run_reset(const replay_run_t *run, void *memory, int64_t time);

int replay_run_admits(const replay_run_t *run, void *memory, int64_t time,
    int64_t cost);
void replay_run_count(const replay_run_t *run, void *memory, int64_t time,
    int64_t cost);

/* what is not in the memory of the run */
void replay_run_free(const replay_run_t *run, void *memory);


#endif /* _REPLAY_RUN_H_INCLUDED_ */
