
/*
 * ban=TIME[..MAX]: a client that was rejected is rejected until the time is
 * over, whatever the window says.  Requests during a ban do not prolong it.  A
 * ban that begins within MAX of the last one's end is twice as long, up to MAX.
 */


#ifndef _REPLAY_BAN_H_INCLUDED_
#define _REPLAY_BAN_H_INCLUDED_


#include <stdint.h>


typedef struct {
    int64_t          time;                 /* ms, 0: no bans */
    int64_t          max;                  /* 0: all are of that time */
} replay_ban_rule_t;


/* of the last ban; zeroed before the first */

typedef struct {
    int64_t          until;
    int64_t          length;
} replay_ban_t;


static inline int
replay_banned(const replay_ban_t *ban, int64_t now)
{
    return now < ban->until;
}


static inline void
replay_ban_begin(replay_ban_t *ban, const replay_ban_rule_t *rule,
    int64_t now)
{
    int64_t  length;

    length = rule->time;

    if (ban->length && rule->max && now - ban->until <= rule->max) {
        length = 2 * ban->length;

        if (length > rule->max) {
            length = rule->max;
        }
    }

    ban->length = length;
    ban->until = now + length;
}


#endif /* _REPLAY_BAN_H_INCLUDED_ */
