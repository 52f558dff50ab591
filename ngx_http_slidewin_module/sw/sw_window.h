
/*
 * The four window algorithms on plain state.  Pure integer arithmetic: the
 * clock is handed in, memory is handed in, nothing is allocated or logged.
 *
 * Times are milliseconds on any clock that does not run fast or slow; it may
 * step.  Units are what a request costs.
 */


#ifndef _SW_WINDOW_H_INCLUDED_
#define _SW_WINDOW_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>


#define SW_WINDOW_MAX    4294967295LL            /* a window fits 32 bits */
#define SW_PRODUCT_MAX   ((1LL << 53) - 1)       /* limit * window */
#define SW_LOG_LIMIT_MAX 100000                  /* entries to look through */
#define SW_LOG_UNITS_MAX 4294967295LL            /* of an entry */
#define SW_SLICES_MAX    100
#define SW_SLICES        16

#define SW_NEVER         -1                      /* as a time to wait */
#define SW_STALE         -1                      /* as a time to count at */


typedef enum {
    SW_COUNTER = 0,
    SW_FIXED,
    SW_STRICT,
    SW_LOG
} sw_algorithm_e;


typedef struct {
    sw_algorithm_e   algorithm;
    int64_t          limit;
    int64_t          window;
    int64_t          slices;                     /* strict only */
} sw_rule_t;


typedef struct {
    uint32_t         time;                       /* low bits, see sw_log_t */
    uint32_t         units;
} sw_log_entry_t;


/* fixed and counter; fixed never looks at prev */

typedef struct {
    int64_t          index;                      /* number of the window */
    int64_t          prev;
    int64_t          curr;
} sw_pair_t;


/* units[j % (slices + 1)] belongs to slice j, index - slices <= j <= index */

typedef struct {
    int64_t          index;                      /* number of the slice */
    int64_t          units[1];
} sw_slices_t;


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


typedef struct {
    int              admitted;
    int64_t          remaining;    /* largest cost admitted now */
    int64_t          retry;        /* ms until this cost is; 0, SW_NEVER */
    int64_t          more;         /* ms until more than remaining is */
    int64_t          reset;        /* ms until the full limit is back */
    int64_t          level;        /* used units * scale: the estimate */
    int64_t          scale;
    int64_t          stamp;        /* when it was counted, for give back */

    int              deferred;     /* all but admitted and stamp */
    int64_t          now;
    int64_t          cost;
    sw_pair_t        pair;
} sw_verdict_t;


/* NULL if the rule can be counted exactly, else what is wrong with it */
const char *sw_rule_error(const sw_rule_t *rule);

/* bytes of a state for this rule, without a second one, entries of a log */
size_t sw_state_size(const sw_rule_t *rule);

/* bytes of this state and the second one, without the entries of a log */
size_t sw_state_bytes(const sw_state_t *state);

/* entries: the ring of a log (room of at least 1), ignored by the others */
void sw_state_init(sw_state_t *state, const sw_rule_t *rule, int64_t now,
    sw_log_entry_t *entries, uint32_t room);

/* units the state still holds, rounded up */
int64_t sw_state_used(const sw_state_t *state, int64_t now);

/*
 * Starts the state anew for the rule with the units another state held, as
 * though they had been taken now: nothing is forgotten.
 */
void sw_state_carry(sw_state_t *state, const sw_rule_t *rule, int64_t now,
    int64_t units);

/*
 * Turns a state of another rule to this one: the second one, if that is of
 * this window, or else what carry makes of it.
 */
void sw_state_turn(sw_any_state_t *any, const sw_rule_t *rule,
    int64_t now);

/* of a state that a process may have left in the middle of a change */
void sw_state_mend(sw_state_t *state);

/* the second state of one that has it, or NULL */
sw_state_t *sw_state_second(const sw_state_t *state);

/* the longest window that it counts for */
int64_t sw_state_window(const sw_state_t *state);

/*
 * The calls below need a state that matches the rule.  Each that is given the
 * time first brings the state to it: what left the window is dropped.
 */

int sw_window_admits(sw_state_t *state, const sw_rule_t *rule,
    int64_t now, int64_t cost);

/* the same with all there is to say; counts nothing, a cost of 0 peeks */
void sw_window_check(sw_state_t *state, const sw_rule_t *rule,
    int64_t now, int64_t cost, sw_verdict_t *verdict);

/*
 * The same of a cost that sw_window_admits has judged, for whoever may not
 * want to know: what takes time is left to sw_verdict_complete, if the state
 * is small enough to be remembered.
 */
void sw_window_check_later(sw_state_t *state, const sw_rule_t *rule,
    int64_t now, int64_t cost, sw_verdict_t *verdict);
void sw_verdict_complete(sw_verdict_t *verdict, const sw_rule_t *rule);

/* what check says of a client never seen */
void sw_window_check_new(const sw_rule_t *rule, int64_t now,
    int64_t cost, sw_verdict_t *verdict);

/*
 * All three in one, for a state that needs no room: whether the cost was
 * admitted, and thus counted, and for later what is left or how long it takes.
 */
int sw_window_take(sw_state_t *state, const sw_rule_t *rule, int64_t now,
    int64_t cost, sw_verdict_t *verdict);

/* counts a cost that was admitted at the same time; returns the stamp */
int64_t sw_window_add(sw_state_t *state, const sw_rule_t *rule,
    int64_t now, int64_t cost);

/*
 * Uncounts what was added with that stamp, unless it has left already.  It goes
 * by the stamp alone, and leaves a state of other windows as it is.
 */
void sw_window_give_back(sw_state_t *state, const sw_rule_t *rule,
    int64_t cost, int64_t stamp);

/* when the state counts nothing any more, 0 if it counts nothing now */
int64_t sw_state_end(const sw_state_t *state);

/* whether it is so at that time, and the state may be forgotten */
int sw_window_idle(const sw_state_t *state, int64_t now);

/*
 * The room a log wants before the next add, 0 if it has it.  An add without
 * room merges two of the oldest entries into the younger: the log then holds
 * units longer than it must, never shorter.
 */
uint32_t sw_log_wants(const sw_state_t *state, const sw_rule_t *rule);

/* moves a log to a larger ring; returns the old one */
sw_log_entry_t *sw_log_move(sw_state_t *state, sw_log_entry_t *entries,
    uint32_t room);


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


#endif /* _SW_WINDOW_H_INCLUDED_ */
