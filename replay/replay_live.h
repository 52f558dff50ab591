
/*
 * How many clients a zone holds at once: a client is in it until its last
 * request counts no more.
 */


#ifndef _REPLAY_LIVE_H_INCLUDED_
#define _REPLAY_LIVE_H_INCLUDED_


#include "sw_rule.h"


/*
 * Clients leave with a tick: a window or a slice, as they do in a zone.  A log
 * has none: of its window, so small a part that few are counted too long.
 */

#define REPLAY_LIVE_PARTS  4096
#define REPLAY_LIVE_RING   8192


typedef struct {
    sw_rule_t        rule;
    int64_t          part;                 /* ms, of a log */
    int64_t          now;                  /* tick */
    uint64_t         live;
    uint64_t         most;
    uint32_t         leaving[REPLAY_LIVE_RING];
} replay_live_t;


/* span: ms that the log cannot tell */
void replay_live_init(replay_live_t *live, const sw_rule_t *rule,
    int64_t span);

/* a request of a client, and when it came before, or -1 */
void replay_live_add(replay_live_t *live, int64_t time, int64_t before);



#endif /* _REPLAY_LIVE_H_INCLUDED_ */
