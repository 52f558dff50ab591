
/*
 * The state of a client: what a rule's algorithm remembers of it, and how that
 * follows the time and a change of the rule.  Memory is handed in, nothing is
 * allocated.
 */


#ifndef _SW_STATE_H_INCLUDED_
#define _SW_STATE_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>

#include "sw_log.h"
#include "sw_pair.h"
#include "sw_rule.h"
#include "sw_slices.h"


/*
 * The state says how it was counted, so that a rule with another window,
 * number of slices or algorithm recognises it and carries its units over.
 *
 * A rate from a variable may have a short window here and a long one there.  A
 * log has the times of all units and is kept for the longest window.  Behind
 * the others there may be room for a second state, of another window, which
 * counts all units that the first one counts; its window is 0 if there is none.
 * Of all windows that were asked for, the longest is one of the two.
 */

typedef struct {
    uint32_t         window;
    uint16_t         slices;
    uint8_t          algorithm;
    uint8_t          second;                     /* there is room for one */
    union {
        sw_pair_t    pair;
        sw_slices_t  slices;
        sw_log_t     log;
    } u;
} sw_state_t;


/* room for a state of any rule with a second one, and one entry of a log */

typedef struct {
    sw_state_t       state;
    int64_t          units[SW_SLICES_MAX];
    sw_state_t       second;
    int64_t          second_units[SW_SLICES_MAX];
    sw_log_entry_t   entry;
} sw_any_state_t;


/* bytes of a state for this rule, without a second one, entries of a log */
size_t sw_state_size(const sw_rule_t *rule);

/* bytes of this state and the second one, without the entries of a log */
size_t sw_state_bytes(const sw_state_t *state);

/* entries: the ring of a log (room of at least 1), ignored by the others */
void sw_state_init(sw_state_t *state, const sw_rule_t *rule, int64_t now,
    sw_log_entry_t *entries, uint32_t room);

/* a rule that counts such a state, with the largest limit there may be */
void sw_state_rule(const sw_state_t *state, sw_rule_t *rule);

/* the second state of one that has it, or NULL */
sw_state_t *sw_state_second(const sw_state_t *state);

/* the longest window that it counts for */
int64_t sw_state_window(const sw_state_t *state);

/* units the state still holds, rounded up */
int64_t sw_state_used(const sw_state_t *state, int64_t now);

/*
 * Whether a charge by the rule may make the state one of it: not while a state
 * of another algorithm counts.  Before and after a reload each change would
 * count all units anew.
 */
int sw_state_may_charge(sw_state_t *state, const sw_rule_t *rule, int64_t now);

/* when the state counts nothing any more, 0 if it counts nothing now */
int64_t sw_state_end(const sw_state_t *state);

/*
 * Starts the state anew for the rule with the units that another state held, as
 * though they had been taken now.
 */
void sw_state_carry(sw_state_t *state, const sw_rule_t *rule, int64_t now,
    int64_t units);

/*
 * Makes a state of another rule one of this rule: the second one, if that is of
 * this window, or else what carry makes of it.
 */
void sw_state_convert(sw_any_state_t *any, const sw_rule_t *rule, int64_t now);

/*
 * Starts the state anew at a clock that stepped far back: the units are taken
 * now, or the client would be locked out until the old time.  Returns now.
 */
int64_t sw_state_restart(sw_state_t *state, const sw_rule_t *rule,
    int64_t now);

/* takes off a cost that was counted at the stamp; returns how much there was */
int64_t sw_state_give_back(sw_state_t *state, const sw_rule_t *rule,
    int64_t cost, int64_t stamp);

/* after a process may have died while it changed the state */
void sw_state_repair(sw_state_t *state);


/*
 * Whether the rule can go on with the state: the same algorithm, window and
 * slices.  A log has the times themselves, any window will do.
 */

static inline int
sw_state_matches(const sw_state_t *state, const sw_rule_t *rule)
{
    return state->algorithm == rule->algorithm
           && (state->window == rule->window || rule->algorithm == SW_LOG)
           && (state->slices == rule->slices
               || rule->algorithm != SW_STRICT);
}


/*
 * The two below are of every request, and of the state of one window: a second
 * one is not changed.  advance drops what has left the window, and returns the
 * time to count at, which is not before the state's own.
 */

static inline int64_t
sw_state_advance(sw_state_t *state, const sw_rule_t *rule, int64_t now)
{
    int64_t  then;

    switch (rule->algorithm) {

    case SW_STRICT:
        then = sw_slices_advance(&state->u.slices, rule->slices,
                                 rule->window, now);
        break;

    case SW_LOG:
        then = sw_log_advance(&state->u.log, state->window, rule->window,
                              now);

        if (then != SW_STALE && rule->window > state->window) {
            state->window = (uint32_t) rule->window;
        }

        break;

    default:
        then = sw_pair_advance(&state->u.pair, rule->window, now);
        break;
    }

    return (then == SW_STALE) ? sw_state_restart(state, rule, now) : then;
}


static inline void
sw_state_count(sw_state_t *state, const sw_rule_t *rule, int64_t now,
    int64_t cost)
{
    switch (rule->algorithm) {

    case SW_STRICT:
        sw_slices_add(&state->u.slices, rule->slices, cost);
        break;

    case SW_LOG:
        if (state->u.log.count == 0) {
            state->window = (uint32_t) rule->window;
        }

        sw_log_add(&state->u.log, state->window, rule->window, now, cost);
        break;

    default:
        state->u.pair.curr += cost;
        break;
    }
}


#endif /* _SW_STATE_H_INCLUDED_ */
