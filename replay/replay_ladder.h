
/*
 * Many limits on the same requests, to see where one bites, and which to
 * choose.
 */


#ifndef _REPLAY_LADDER_H_INCLUDED_
#define _REPLAY_LADDER_H_INCLUDED_


#include "replay_limits.h"
#include "replay_spool.h"


#define REPLAY_LADDER_MAX  24


typedef struct {
    int64_t               limit;
    uint64_t              rejected;
    uint64_t              clients;         /* that were rejected */
} replay_step_t;


typedef struct {
    sw_rule_t             rule;            /* without its limit */
    replay_step_t         steps[REPLAY_LADDER_MAX + 1];
    size_t                n;
} replay_ladder_t;


/* the limits that people write: 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, ... */
int64_t replay_round_limit(int64_t at_least);

/*
 * Tries limits around the peaks of the clients.  wanted is one of them, or 0.
 */
void replay_ladder_run(replay_ladder_t *ladder, const sw_rule_t *rule,
    const sw_ban_rule_t *ban, replay_limits_t *limits,
    replay_spool_t *spool, int64_t wanted);

/*
 * The lowest round limit that rejects no more than one of 1,000 clients, or
 * NULL.  It becomes a step if it was none.
 */
const replay_step_t *replay_ladder_choose(replay_ladder_t *ladder,
    const sw_ban_rule_t *ban, replay_limits_t *limits,
    replay_spool_t *spool);


#endif /* _REPLAY_LADDER_H_INCLUDED_ */
