
/*
 * The four window algorithms: whether a state has room for a cost, what is
 * left, and how long it takes.  Pure integer arithmetic: the clock is handed
 * in, nothing is allocated or logged.
 */


#ifndef _SW_WINDOW_H_INCLUDED_
#define _SW_WINDOW_H_INCLUDED_


#include <stdint.h>

#include "sw_state.h"


typedef struct {
    int              admitted;
    int64_t          remaining;    /* largest cost admitted now */
    int64_t          retry;        /* ms until this cost is; 0, SW_NEVER */
    int64_t          more;         /* ms until more than remaining is */
    int64_t          reset;        /* ms until the full limit is back */
    int64_t          level;        /* used units * scale: the estimate */
    int64_t          scale;
    int64_t          stamp;        /* when it was counted, for give back */

    int              deferred;     /* all but admitted, level, scale and
                                    * stamp is left to sw_verdict_complete */
    int64_t          now;
    int64_t          cost;
    sw_pair_t        pair;
} sw_verdict_t;


/*
 * The calls below need a state that matches the rule.  Each that is given the
 * time, but for check_later, first brings the state to it: what left the window
 * is dropped.
 */

int sw_window_admits(sw_state_t *state, const sw_rule_t *rule,
    int64_t now, int64_t cost);

/* the whole verdict; counts nothing, a cost of 0 peeks */
void sw_window_check(sw_state_t *state, const sw_rule_t *rule,
    int64_t now, int64_t cost, sw_verdict_t *verdict);

/*
 * The verdict on a cost that sw_window_admits has decided at that time.  If the
 * verdict has room for the state, what takes time is left to
 * sw_verdict_complete, which is called only if more than the level is read.
 */
void sw_window_check_later(sw_state_t *state, const sw_rule_t *rule,
    int64_t now, int64_t cost, sw_verdict_t *verdict);
void sw_verdict_complete(sw_verdict_t *verdict, const sw_rule_t *rule);

/* check_later of a cost that is counted already; tells also what remains */
void sw_window_check_counted(sw_state_t *state, const sw_rule_t *rule,
    int64_t now, sw_verdict_t *verdict);

/* the verdict on a client without a state */
void sw_window_check_new(const sw_rule_t *rule, int64_t now,
    int64_t cost, sw_verdict_t *verdict);

/*
 * admits, add and check_later in one, for a state that needs no room: whether
 * the cost was admitted, and thus counted.
 */
int sw_window_take(sw_state_t *state, const sw_rule_t *rule, int64_t now,
    int64_t cost, sw_verdict_t *verdict);

/* counts a cost that was admitted at the same time; returns the stamp */
int64_t sw_window_add(sw_state_t *state, const sw_rule_t *rule,
    int64_t now, int64_t cost);

/*
 * Counts a cost whether there is room or not, but no more than the state can
 * hold; returns how much that was.  Above the limit it is a debt: nothing but
 * a peek is admitted until enough has left the window.
 */
int64_t sw_window_charge(sw_state_t *state, const sw_rule_t *rule,
    int64_t now, int64_t cost);

/*
 * Uncounts what was added with that stamp, unless it has left already.  It goes
 * by the stamp alone, and leaves a state of other windows as it is.
 */
void sw_window_give_back(sw_state_t *state, const sw_rule_t *rule,
    int64_t cost, int64_t stamp);

/* whether the state counts nothing at that time, and may be forgotten */
int sw_window_idle(const sw_state_t *state, int64_t now);


#endif /* _SW_WINDOW_H_INCLUDED_ */
