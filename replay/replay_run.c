
#include "replay.h"
#include "replay_run.h"
#include "sw_math.h"


/* a log has its first entries in the memory of the run */
#define REPLAY_RUN_ENTRIES  2


/* units that are counted when their second is over */

typedef struct {
    int64_t            time;
    int64_t            units;
} replay_pending_t;


static void replay_run_bound(replay_run_t *run, replay_run_e which,
    int apart);
static int replay_run_exact(const sw_rule_t *rule, int64_t step);
static sw_state_t *replay_run_state(const replay_run_t *run, void *memory);
static replay_pending_t *replay_run_pending(const replay_run_t *run,
    void *memory, int64_t time);
static void replay_run_add(const replay_run_t *run, void *memory,
    int64_t time, int64_t cost);
static sw_log_entry_t *replay_run_entries(const replay_run_t *run,
    void *memory);


void
replay_run_init(replay_run_t *run, const sw_rule_t *rule, replay_run_e which,
    int64_t span, int apart)
{
    memset(run, 0, sizeof(replay_run_t));

    run->rule = *rule;
    run->span = span;
    run->kind = REPLAY_RUN_PLAIN;

    if (which != REPLAY_AS_LOGGED) {
        replay_run_bound(run, which, apart);
    }

    switch (run->kind) {

    case REPLAY_RUN_SAME:
    case REPLAY_RUN_ADMITS:
        return;

    case REPLAY_RUN_COUNTS_LATE:
        run->size = sizeof(replay_pending_t);
        break;

    default:
        break;
    }

    run->size += sw_state_size(rule);

    if (rule->algorithm == SW_LOG) {
        run->size += REPLAY_RUN_ENTRIES * sizeof(sw_log_entry_t);
    }
}


static void
replay_run_bound(replay_run_t *run, replay_run_e which, int apart)
{
    int64_t     step;
    sw_rule_t  *rule;

    rule = &run->rule;
    step = run->span + 1;

    if (run->span == 0) {
        run->kind = REPLAY_RUN_SAME;
        return;
    }

    if (replay_run_exact(rule, step)) {
        run->kind = apart ? REPLAY_RUN_PLAIN : REPLAY_RUN_SAME;
        return;
    }

    if (rule->algorithm == SW_LOG) {

        /* another window is as good as other times, and needs no copy */

        if (which == REPLAY_MOST) {
            rule->window = sw_min(rule->window + run->span, SW_WINDOW_MAX);

        } else if (rule->window <= run->span) {
            run->kind = REPLAY_RUN_ADMITS;

        } else if (rule->window % step == 0 && !apart) {
            run->kind = REPLAY_RUN_SAME;

        } else {
            rule->window -= run->span;
        }

        return;
    }

    if (which == REPLAY_FEWEST) {
        run->kind = REPLAY_RUN_LOOKS_LATE;
        return;
    }

    run->kind = REPLAY_RUN_COUNTS_LATE;

    if (rule->algorithm == SW_COUNTER && rule->window % step == 0) {

        /* counted late or not, it is in the same window */

        run->kind = apart ? REPLAY_RUN_PLAIN : REPLAY_RUN_SAME;
    }
}


/* whether all of a second is in the same window or slice, which counts whole */

static int
replay_run_exact(const sw_rule_t *rule, int64_t step)
{
    switch (rule->algorithm) {

    case SW_FIXED:
        return rule->window % step == 0;

    case SW_STRICT:
        return rule->window % rule->slices == 0
               && rule->window / rule->slices % step == 0;

    default:
        return 0;
    }
}


int
replay_run_steady(const sw_rule_t *rule, int64_t span)
{
    switch (rule->algorithm) {

    case SW_COUNTER:
        return rule->window % (span + 1) == 0;

    case SW_LOG:
        return rule->window > span;

    default:
        return replay_run_exact(rule, span + 1);
    }
}


uint32_t
replay_run_fit(const replay_run_t *run, void *memory, int64_t time,
    int64_t cost, uint32_t n)
{
    uint32_t  low, high, middle;

    if (cost == 0) {
        return n;
    }

    if (cost > run->rule.limit) {
        return 0;
    }

    low = 0;
    high = (uint32_t) sw_min(n, run->rule.limit / cost);

    while (low < high) {
        middle = high - (high - low) / 2;

        if (replay_run_admits(run, memory, time, cost * middle)) {
            low = middle;

        } else {
            high = middle - 1;
        }
    }

    return low;
}


void
replay_run_start(const replay_run_t *run, void *memory, int64_t time)
{
    if (run->size == 0) {
        return;
    }

    if (run->kind == REPLAY_RUN_COUNTS_LATE) {
        memset(memory, 0, sizeof(replay_pending_t));
    }

    sw_state_init(replay_run_state(run, memory), &run->rule, time,
                  replay_run_entries(run, memory),
                  run->rule.algorithm == SW_LOG ? REPLAY_RUN_ENTRIES : 0);
}


void
replay_run_reset(const replay_run_t *run, void *memory, int64_t time)
{
    replay_run_free(run, memory);
    replay_run_start(run, memory, time);
}


static sw_state_t *
replay_run_state(const replay_run_t *run, void *memory)
{
    if (run->kind == REPLAY_RUN_COUNTS_LATE) {
        return (sw_state_t *) ((char *) memory + sizeof(replay_pending_t));
    }

    return memory;
}


/* those of an earlier second are counted now, at its end */

static replay_pending_t *
replay_run_pending(const replay_run_t *run, void *memory, int64_t time)
{
    int64_t            units;
    replay_pending_t  *pending;

    pending = memory;

    if (pending->units && pending->time != time) {
        units = pending->units;
        pending->units = 0;
        replay_run_add(run, memory, pending->time + run->span, units);
    }

    return pending;
}


int
replay_run_admits(const replay_run_t *run, void *memory, int64_t time,
    int64_t cost)
{
    sw_state_t         *state;
    sw_any_state_t      copy;
    replay_pending_t   *pending;

    if (cost == 0) {
        return 1;
    }

    switch (run->kind) {

    case REPLAY_RUN_ADMITS:
        return cost <= run->rule.limit;

    case REPLAY_RUN_LOOKS_LATE:

        /* a look moves the state on, but its units are counted earlier */

        state = replay_run_state(run, memory);
        memcpy(&copy, state, sw_state_bytes(state));

        return sw_window_admits(&copy.state, &run->rule, time + run->span,
                                cost);

    case REPLAY_RUN_COUNTS_LATE:
        pending = replay_run_pending(run, memory, time);

        return sw_window_admits(replay_run_state(run, memory), &run->rule,
                                time, pending->units + cost);

    default:
        return sw_window_admits(replay_run_state(run, memory), &run->rule,
                                time, cost);
    }
}


void
replay_run_count(const replay_run_t *run, void *memory, int64_t time,
    int64_t cost)
{
    replay_pending_t  *pending;

    switch (run->kind) {

    case REPLAY_RUN_SAME:
    case REPLAY_RUN_ADMITS:
        return;

    case REPLAY_RUN_COUNTS_LATE:
        pending = replay_run_pending(run, memory, time);
        pending->time = time;

        /* no more than the limit can have been admitted in a second */

        pending->units = sw_min(pending->units + cost, run->rule.limit);
        return;

    default:
        replay_run_add(run, memory, time, cost);
    }
}


static void
replay_run_add(const replay_run_t *run, void *memory, int64_t time,
    int64_t cost)
{
    uint32_t         room;
    sw_log_t        *log;
    sw_state_t      *state;
    sw_log_entry_t  *old;

    state = replay_run_state(run, memory);

    if (run->rule.algorithm == SW_LOG) {
        log = &state->u.log;
        room = sw_log_next_room(log, state->window, &run->rule);

        if (room) {
            old = sw_log_move(log,
                              replay_alloc(room * sizeof(sw_log_entry_t)),
                              room);

            if (old != replay_run_entries(run, memory)) {
                free(old);
            }
        }
    }

    (void) sw_window_add(state, &run->rule, time, cost);
}


static sw_log_entry_t *
replay_run_entries(const replay_run_t *run, void *memory)
{
    if (run->rule.algorithm != SW_LOG) {
        return NULL;
    }

    return (sw_log_entry_t *) ((char *) memory + run->size)
           - REPLAY_RUN_ENTRIES;
}


void
replay_run_free(const replay_run_t *run, void *memory)
{
    sw_state_t  *state;

    if (run->size == 0 || run->rule.algorithm != SW_LOG) {
        return;
    }

    state = replay_run_state(run, memory);

    if (state->u.log.entries != replay_run_entries(run, memory)) {
        free(state->u.log.entries);
    }
}
