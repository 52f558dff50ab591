
/*
 * Every admitted request in a ring: log.
 */


#ifndef _SW_LOG_H_INCLUDED_
#define _SW_LOG_H_INCLUDED_


#include "sw_window.h"


/* the time to count at, SW_STALE if the clock went back too far for that */
int64_t sw_log_advance(sw_log_t *log, int64_t longest, int64_t window,
    int64_t now);

/* what is in the window, of a log that was brought to the time */
int64_t sw_log_held(const sw_log_t *log, int64_t window, int64_t now);

int64_t sw_log_end(const sw_log_t *log, int64_t window);
int64_t sw_log_used(const sw_log_t *log, int64_t window, int64_t now);
int64_t sw_log_wait(const sw_log_t *log, const sw_rule_t *rule,
    int64_t now, int64_t cost);
void sw_log_add(sw_log_t *log, int64_t longest, int64_t window, int64_t now,
    int64_t cost);
void sw_log_give_back(sw_log_t *log, int64_t cost, int64_t stamp);

/* of a log that was left in the middle of a change */
void sw_log_mend(sw_log_t *log);


#endif /* _SW_LOG_H_INCLUDED_ */
