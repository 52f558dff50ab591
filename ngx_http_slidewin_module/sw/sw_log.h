
/*
 * A ring of all admitted requests: the state of log.
 */


#ifndef _SW_LOG_H_INCLUDED_
#define _SW_LOG_H_INCLUDED_


#include <stdint.h>

#include "sw_rule.h"


typedef struct {
    uint32_t         time;                       /* low bits, see sw_log_t */
    uint32_t         units;
} sw_log_entry_t;


/*
 * A ring, oldest entry first.  An entry keeps the low 32 bits of its time;
 * the rest follows from newest, because all entries lie within one window,
 * the longest that was asked for since the log was last empty.
 * Whatever a change has left undone, first is below room, count is not above
 * it, newest not before the last entry, and what is not in use has no units.
 */

typedef struct {
    int64_t          newest;
    int64_t          total;
    sw_log_entry_t  *entries;
    uint32_t         room;
    uint32_t         first;
    uint32_t         count;
    uint32_t         changing;                   /* the total may be wrong */
} sw_log_t;


/*
 * window is the rule's, longest the one that the log is kept for: the longest
 * that was asked for.
 */

/* the time to count at, SW_STALE if the clock stepped back too far */
int64_t sw_log_advance(sw_log_t *log, int64_t longest, int64_t window,
    int64_t now);

/* units in the window, of a log that was advanced to now */
int64_t sw_log_held(const sw_log_t *log, int64_t window, int64_t now);

int64_t sw_log_end(const sw_log_t *log, int64_t window);
int64_t sw_log_used(const sw_log_t *log, int64_t window, int64_t now);
int64_t sw_log_wait(const sw_log_t *log, const sw_rule_t *rule,
    int64_t now, int64_t cost);
void sw_log_add(sw_log_t *log, int64_t longest, int64_t window, int64_t now,
    int64_t cost);
void sw_log_give_back(sw_log_t *log, int64_t cost, int64_t stamp);

/*
 * The room a log needs before the next add, 0 if it has it.  An add without
 * room merges two of the oldest entries into the younger: the log then holds
 * units longer than it must, never shorter.
 */
uint32_t sw_log_next_room(const sw_log_t *log, int64_t longest,
    const sw_rule_t *rule);

/* moves the entries to a larger ring; returns the old one */
sw_log_entry_t *sw_log_move(sw_log_t *log, sw_log_entry_t *entries,
    uint32_t room);

/* after a process died while it changed the log */
void sw_log_repair(sw_log_t *log);


#endif /* _SW_LOG_H_INCLUDED_ */
