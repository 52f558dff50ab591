
#include "sw_log.h"
#include "sw_math.h"


static sw_log_entry_t *sw_log_entry(const sw_log_t *log, uint32_t n);
static int64_t sw_log_time(const sw_log_t *log, uint32_t n);
static void sw_log_drop_first(sw_log_t *log);


int64_t
sw_log_advance(sw_log_t *log, int64_t longest, int64_t window, int64_t now)
{
    if (log->count == 0) {
        return now;
    }

    if (log->newest - now > window) {
        return SW_STALE;
    }

    now = sw_max(now, log->newest);
    window = sw_max(window, longest);

    while (log->count && now - sw_log_time(log, 0) >= window) {
        sw_log_drop_first(log);
    }

    return now;
}


int64_t
sw_log_held(const sw_log_t *log, int64_t window, int64_t now)
{
    int64_t   held;
    uint32_t  i;

    if (log->count == 0 || now - sw_log_time(log, 0) < window) {
        return log->total;
    }

    held = 0;

    for (i = log->count; i && now - sw_log_time(log, i - 1) < window; i--) {
        held += sw_log_entry(log, i - 1)->units;
    }

    return held;
}


/*
 * The window that is kept is kept on; a shorter one will do when nothing is
 * left of what was counted with it.
 */

void
sw_log_keep(sw_state_t *state, int64_t window, int64_t now, int64_t cost)
{
    int64_t    age, longest;
    sw_log_t  *log;

    log = &state->u.log;

    if (cost == 0) {
        return;
    }

    age = now - log->since;
    longest = state->window;

    if (log->count == 0
        || (window == longest && 2 * age >= window)
        || (window < longest && 2 * age >= 3 * longest))
    {
        state->window = (uint32_t) window;
        log->since = now;

        (void) sw_log_advance(log, window, window, now);
    }
}


int64_t
sw_log_used(const sw_log_t *log, int64_t window, int64_t now)
{
    int64_t   used;
    uint32_t  i;

    if (log->count == 0 || now - log->newest >= window) {
        return 0;
    }

    used = log->total;
    now = sw_max(now, log->newest);

    for (i = 0; now - sw_log_time(log, i) >= window; i++) {
        used -= sw_log_entry(log, i)->units;
    }

    return used;
}


int64_t
sw_log_wait(const sw_log_t *log, const sw_policy_t *policy, int64_t now,
    int64_t cost)
{
    int64_t   held, excess;
    uint32_t  i;

    held = sw_log_held(log, policy->window, now);
    excess = held + cost - policy->limit;

    if (excess <= 0) {
        return 0;
    }

    if (excess >= held) {
        return log->newest + policy->window - now;
    }

    /* what is before the window of a log that is kept for a longer one */

    excess += log->total - held;

    for (i = 0; i < log->count - 1; i++) {
        excess -= sw_log_entry(log, i)->units;

        if (excess <= 0) {
            break;
        }
    }

    return sw_log_time(log, i) + policy->window - now;
}


void
sw_log_add(sw_log_t *log, int64_t now, int64_t cost)
{
    int64_t          units;
    sw_log_entry_t  *entry;

    if (cost == 0) {
        return;
    }

    if (log->count && log->newest == now) {
        sw_log_entry(log, log->count - 1)->units += (uint32_t) cost;
        log->total += cost;
        return;
    }

    units = cost;

    if (log->count == log->room) {
        entry = sw_log_entry(log, 0);

        if (log->count == 1) {
            units += entry->units;

        } else {
            sw_log_entry(log, 1)->units += entry->units;
            log->total += entry->units;
        }

        sw_log_drop_first(log);
    }

    entry = sw_log_entry(log, log->count);
    entry->time = (uint32_t) now;
    entry->units = (uint32_t) units;
    log->newest = now;
    log->total += units;
    log->count++;
}


/* what a merge has moved to another entry stays counted until that leaves */

void
sw_log_give_back(sw_log_t *log, int64_t cost, int64_t stamp)
{
    int64_t          before;
    uint32_t         i;
    sw_log_entry_t  *entry;

    i = log->count;

    do {
        if (i == 0 || sw_log_time(log, i - 1) < stamp) {
            return;
        }

        i--;

    } while (sw_log_time(log, i) != stamp);

    entry = sw_log_entry(log, i);
    cost = sw_min(cost, entry->units);

    entry->units -= (uint32_t) cost;
    log->total -= cost;

    if (entry->units) {
        return;
    }

    before = (log->count > 1) ? sw_log_time(log, log->count - 2) : 0;

    if (i == log->count - 1) {
        log->newest = before;
    }

    for ( /* void */ ; i < log->count - 1; i++) {
        *sw_log_entry(log, i) = *sw_log_entry(log, i + 1);
    }

    log->count--;
}


uint32_t
sw_log_wants(const sw_state_t *state, const sw_policy_t *policy)
{
    int64_t          most;
    const sw_log_t  *log;

    log = &state->u.log;

    /* beside what fits the window, one for all that a longer one has before */

    most = policy->limit + (state->window > policy->window);

    if (log->count < log->room || log->room >= most) {
        return 0;
    }

    return (uint32_t) sw_min((int64_t) log->room * 2, most);
}


sw_log_entry_t *
sw_log_move(sw_state_t *state, sw_log_entry_t *entries, uint32_t room)
{
    uint32_t         i;
    sw_log_t        *log;
    sw_log_entry_t  *old;

    log = &state->u.log;
    old = log->entries;

    for (i = 0; i < log->count; i++) {
        entries[i] = *sw_log_entry(log, i);
    }

    log->entries = entries;
    log->room = room;
    log->first = 0;

    return old;
}


static sw_log_entry_t *
sw_log_entry(const sw_log_t *log, uint32_t n)
{
    uint64_t  i;

    i = (uint64_t) log->first + n;

    return &log->entries[i < log->room ? i : i - log->room];
}


static int64_t
sw_log_time(const sw_log_t *log, uint32_t n)
{
    return log->newest
           - (uint32_t) ((uint32_t) log->newest - sw_log_entry(log, n)->time);
}


static void
sw_log_drop_first(sw_log_t *log)
{
    log->total -= sw_log_entry(log, 0)->units;
    log->first = (log->first + 1 < log->room) ? log->first + 1 : 0;
    log->count--;

    /* whoever died in the middle of an add is forgiven now */

    if (log->count == 0) {
        log->total = 0;
    }
}
