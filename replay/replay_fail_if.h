
/*
 * A condition on the result: "rejected > 0.5%".
 */


#ifndef _REPLAY_FAIL_IF_H_INCLUDED_
#define _REPLAY_FAIL_IF_H_INCLUDED_


#include "replay_log.h"


typedef enum {
    REPLAY_IF_REJECTED = 0,
    REPLAY_IF_AT_LEAST,
    REPLAY_IF_AT_MOST,
    REPLAY_IF_CLIENTS,
    REPLAY_IF_BANNED,
    REPLAY_IF_BAD_LINES,
    REPLAY_IF_OUT_OF_ORDER,
    REPLAY_IF_BAD_COSTS
} replay_measure_e;


typedef struct {
    replay_measure_e   measure;
    int                greater;            /* or else less */
    int                equal;              /* or that */
    int                percent;
    double             value;
} replay_fail_if_t;


/* ends the program if it is no condition */
void replay_fail_if_read(replay_fail_if_t *condition, const char *text);

/* whether it is true of the candidate */
int replay_fail_if_true(const replay_fail_if_t *condition,
    const replay_log_t *log, const replay_group_t *group,
    const replay_candidate_t *candidate);


#endif /* _REPLAY_FAIL_IF_H_INCLUDED_ */
