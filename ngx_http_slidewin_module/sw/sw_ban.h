
/*
 * ban=TIME[..MAX]: a client that was rejected is rejected until the time is
 * over, whatever its window says.  Requests during a ban do not prolong it.  A
 * ban that begins within MAX of the last one's end is twice as long, up to MAX.
 */


#ifndef _SW_BAN_H_INCLUDED_
#define _SW_BAN_H_INCLUDED_


#include <stdint.h>

#include "sw_parse.h"
#include "sw_step.h"
#include "sw_window.h"


/*
 * The cost of a call that is to begin a ban, when the rejection stands already:
 * above every limit, and that of no request.
 */

#define SW_BAN_COST  (SW_COST_NEVER + 2)


typedef struct {
    int64_t          time;         /* ms; 0: no bans */
    int64_t          max;          /* 0: all are of that time */
} sw_ban_rule_t;


/* the last ban of a client; zeroed before the first */

typedef struct {
    int64_t          until;        /* ms */
    int64_t          length;
} sw_ban_t;


/*
 * What is left of the ban at that time, 0: it is over.  If the clock stepped
 * back the ban ends after its length at the latest, and not at a far time.
 */

static inline int64_t
sw_ban_left(sw_ban_t *ban, int64_t now)
{
    if (now >= ban->until) {
        return 0;
    }

    if (ban->until - now > ban->length) {
        ban->until = now + ban->length;
    }

    return ban->until - now;
}


/* when the ban is over; returns the length of the new one */

static inline int64_t
sw_ban_begin(sw_ban_t *ban, const sw_ban_rule_t *rule, int64_t now)
{
    int64_t  length;

    length = rule->time;

    if (ban->length && rule->max && now - ban->until <= rule->max) {

        if (2 * ban->length > length) {
            length = 2 * ban->length;
        }

        if (length > rule->max) {
            length = rule->max;
        }
    }

    /* killed in between, a process leaves a ban of the old length, or none */

    ban->until = now + length;
    sw_step();
    ban->length = length;

    return length;
}


/* until then the next ban is to know this one */

static inline int64_t
sw_ban_kept_until(const sw_ban_t *ban, const sw_ban_rule_t *rule)
{
    return ban->until + rule->max;
}


/*
 * Of a verdict that is complete: the client waits until the ban is over and the
 * window has room as well.  What can never pass is rejected for ever.
 */

static inline void
sw_ban_verdict(sw_verdict_t *verdict, int64_t left)
{
    verdict->admitted = 0;

    if (verdict->retry != SW_NEVER && verdict->retry < left) {
        verdict->retry = left;
    }

    if (verdict->remaining > 0 || verdict->more < left) {
        verdict->more = left;
    }

    verdict->remaining = 0;

    if (verdict->reset < left) {
        verdict->reset = left;
    }
}


#endif /* _SW_BAN_H_INCLUDED_ */
