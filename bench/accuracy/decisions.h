
/*
 * The decisions of the algorithms on requests that do not depend on them, each
 * compared with what an exact log makes of the units that were admitted.
 */


#ifndef _DECISIONS_H_INCLUDED_
#define _DECISIONS_H_INCLUDED_


#include "limiter.h"
#include "traffic.h"


typedef struct {
    int64_t  requests;
    int64_t  admitted;
    int64_t  wrongly_admitted;     /* the limit was in the window already */
    int64_t  wrongly_rejected;     /* there was room */
    int64_t  room;                 /* units, summed over the latter */
    int64_t  most;                 /* units in a rolling window */
    int64_t  estimates;            /* that were looked at */
    double   error;                /* of these, summed */
} tally_t;


/* one client's requests, decided and counted by the rule */
void decisions_limited(const trace_t *trace, const sw_rule_t *rule,
    tally_t *tally);

/* the same if rejections count as well, as where the estimate is of a rate */
void decisions_offered(const trace_t *trace, const sw_rule_t *rule,
    tally_t *tally);


#endif /* _DECISIONS_H_INCLUDED_ */
