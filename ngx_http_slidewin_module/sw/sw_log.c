
#include "sw_log.h"
#include "sw_math.h"
#include "sw_step.h"


/* of the longest window: entries are merged within one of these parts */
#define SW_LOG_PARTS  16


static sw_log_entry_t *sw_log_entry(const sw_log_t *log, uint32_t n);
static int64_t sw_log_time(const sw_log_t *log, uint32_t n);
static int64_t sw_log_total(const sw_log_t *log);
static void sw_log_merge(sw_log_t *log, int64_t longest, int64_t before);
static uint32_t sw_log_merge_index(const sw_log_t *log, int64_t longest,
    int64_t before);
static void sw_log_drop_first(sw_log_t *log);
static void sw_log_change_begin(sw_log_t *log);
static void sw_log_change_end(sw_log_t *log);


int64_t
sw_log_advance(sw_log_t *log, int64_t longest, int64_t window, int64_t now)
{
    if (log->changing) {
        sw_log_repair(log);
    }

    if (log->count == 0) {
        return now;
    }

    if (log->newest - now > window) {
        return SW_STALE;
    }

    now = sw_max(now, log->newest);
    window = sw_max(window, longest);

    if (now - sw_log_time(log, 0) < window) {
        return now;
    }

    sw_log_change_begin(log);

    do {
        sw_log_drop_first(log);
    } while (log->count && now - sw_log_time(log, 0) >= window);

    sw_log_change_end(log);

    return now;
}


/* does not read the entries, of which many may have left */

int64_t
sw_log_end(const sw_log_t *log, int64_t window)
{
    return log->count ? log->newest + window : 0;
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


int64_t
sw_log_used(const sw_log_t *log, int64_t window, int64_t now)
{
    int64_t   used;
    uint32_t  i;

    if (sw_log_end(log, window) <= now) {
        return 0;
    }

    used = sw_log_total(log);
    now = sw_max(now, log->newest);

    for (i = 0; i < log->count; i++) {

        if (now - sw_log_time(log, i) < window) {
            break;
        }

        used -= sw_log_entry(log, i)->units;
    }

    return used;
}


int64_t
sw_log_wait(const sw_log_t *log, const sw_rule_t *rule, int64_t now,
    int64_t cost)
{
    int64_t   held, excess;
    uint32_t  i;

    held = sw_log_held(log, rule->window, now);
    excess = held + cost - rule->limit;

    if (excess <= 0) {
        return 0;
    }

    if (excess >= held) {
        return log->newest + rule->window - now;
    }

    /* units before the window, of a log that is kept for a longer one */

    excess += log->total - held;

    for (i = 0; i < log->count - 1; i++) {
        excess -= sw_log_entry(log, i)->units;

        if (excess <= 0) {
            break;
        }
    }

    return sw_log_time(log, i) + rule->window - now;
}


void
sw_log_add(sw_log_t *log, int64_t longest, int64_t window, int64_t now,
    int64_t cost)
{
    int64_t          over;
    uint32_t         n;
    sw_log_entry_t  *entry;

    if (cost == 0) {
        return;
    }

    n = log->count;

    sw_log_change_begin(log);

    log->total += cost;

    if (n && sw_log_time(log, n - 1) == now) {
        sw_log_entry(log, n - 1)->units += (uint32_t) cost;
        sw_log_change_end(log);
        return;
    }

    log->newest = now;
    sw_step();

    if (n == log->room) {

        if (n == 1) {
            entry = sw_log_entry(log, 0);

            /* it may have units before the window, kept for a longer one */

            over = entry->units + cost - SW_LOG_UNITS_MAX;

            if (over > 0) {
                cost -= over;
                log->total -= over;
            }

            entry->units += (uint32_t) cost;
            entry->time = (uint32_t) now;
            sw_log_change_end(log);
            return;
        }

        sw_log_merge(log, longest, now - window);
        n--;
    }

    entry = sw_log_entry(log, n);
    entry->time = (uint32_t) now;
    entry->units = (uint32_t) cost;
    sw_step();

    log->count = n + 1;
    sw_log_change_end(log);
}


/*
 * Makes room for an entry: one adds its units to the next, and they are held
 * for as long as that one.
 */

static void
sw_log_merge(sw_log_t *log, int64_t longest, int64_t before)
{
    uint32_t         i, units, moved;
    sw_log_entry_t  *entry;

    i = sw_log_merge_index(log, longest, before);

    units = sw_log_entry(log, i)->units;
    entry = sw_log_entry(log, i + 1);

    moved = (uint32_t) sw_min(units, SW_LOG_UNITS_MAX - entry->units);
    entry->units += moved;
    sw_step();

    for ( /* void */ ; i; i--) {
        *sw_log_entry(log, i) = *sw_log_entry(log, i - 1);
        sw_step();
    }

    log->total += moved - (int64_t) units + sw_log_entry(log, 0)->units;

    sw_log_drop_first(log);
}


/*
 * Which entry is merged with the next.  If the log is kept for a longer window
 * than the rule's, both are before the rule's window and in the same part of
 * the longer one, as small a part as there is memory for: units that are merged
 * again and again would else never leave.
 */

static uint32_t
sw_log_merge_index(const sw_log_t *log, int64_t longest, int64_t before)
{
    int64_t   time, next, parts;
    uint32_t  i;

    for (parts = SW_LOG_PARTS; parts; parts /= 2) {
        time = sw_log_time(log, 0);

        for (i = 0; i < log->count - 1; i++) {
            next = sw_log_time(log, i + 1);

            if (next > before) {
                break;
            }

            if (time * parts / longest == next * parts / longest) {
                return i;
            }

            time = next;
        }
    }

    return 0;
}


/* units that were merged into another entry are counted until that leaves */

void
sw_log_give_back(sw_log_t *log, int64_t cost, int64_t stamp)
{
    int64_t          before;
    uint32_t         i, last;
    sw_log_entry_t  *entry;

    if (log->changing) {
        sw_log_repair(log);
    }

    i = log->count;

    do {
        if (i == 0 || sw_log_time(log, i - 1) < stamp) {
            return;
        }

        i--;

    } while (sw_log_time(log, i) != stamp);

    entry = sw_log_entry(log, i);
    cost = sw_min(cost, entry->units);

    sw_log_change_begin(log);

    entry->units -= (uint32_t) cost;
    log->total -= cost;

    if (entry->units) {
        sw_log_change_end(log);
        return;
    }

    before = (log->count > 1) ? sw_log_time(log, log->count - 2) : 0;
    last = (i == log->count - 1);

    for ( /* void */ ; i < log->count - 1; i++) {
        sw_step();
        *sw_log_entry(log, i) = *sw_log_entry(log, i + 1);
    }

    sw_step();
    sw_log_entry(log, i)->units = 0;
    sw_step();
    log->count--;
    sw_step();

    if (last) {
        log->newest = before;
    }

    sw_log_change_end(log);
}


uint32_t
sw_log_next_room(const sw_log_t *log, int64_t longest, const sw_rule_t *rule)
{
    int64_t  most;

    /* entries of the window, and merged ones before it of a longer one */

    most = rule->limit + (longest > rule->window ? SW_LOG_PARTS + 1 : 0);

    if (log->count < log->room || log->room >= most) {
        return 0;
    }

    return (uint32_t) sw_min((int64_t) log->room * 2, most);
}


sw_log_entry_t *
sw_log_move(sw_log_t *log, sw_log_entry_t *entries, uint32_t room)
{
    uint32_t         i;
    sw_log_entry_t  *old;

    old = log->entries;

    for (i = 0; i < log->count; i++) {
        entries[i] = *sw_log_entry(log, i);
    }

    for ( /* void */ ; i < room; i++) {
        entries[i].time = 0;
        entries[i].units = 0;
    }

    /* the rotated ring of a full log has the same entries in another order */

    sw_log_change_begin(log);

    log->first = 0;
    sw_step();

    log->entries = entries;
    sw_step();

    log->room = room;
    sw_log_change_end(log);

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


/* counted anew if a change was left unfinished */

static int64_t
sw_log_total(const sw_log_t *log)
{
    int64_t   total;
    uint32_t  i;

    if (!log->changing) {
        return log->total;
    }

    total = 0;

    for (i = 0; i < log->count; i++) {
        total += sw_log_entry(log, i)->units;
    }

    return total;
}


static void
sw_log_drop_first(sw_log_t *log)
{
    sw_log_entry_t  *entry;

    entry = sw_log_entry(log, 0);

    log->total -= entry->units;
    entry->units = 0;
    sw_step();

    log->first = (log->first + 1 < log->room) ? log->first + 1 : 0;
    sw_step();

    log->count--;
    sw_step();
}


/*
 * A process may die between begin and end.  Units that it was dropping or
 * giving back may then stay counted, and units that it was adding may be
 * missing, of a request that has no answer yet; all others are counted.
 */

static void
sw_log_change_begin(sw_log_t *log)
{
    log->changing = 1;
    sw_step();
}


static void
sw_log_change_end(sw_log_t *log)
{
    sw_step();
    log->changing = 0;
}


/*
 * An entry that was dropped, given back or not yet added has no units, and any
 * time.  An entry that was moved may be there twice: both then get the time of
 * the younger, as does an entry behind a younger one.
 */

void
sw_log_repair(sw_log_t *log)
{
    int64_t          last;
    uint32_t         i, n;
    sw_log_entry_t  *entry;

    for (i = 0, n = 0; i < log->count; i++) {
        entry = sw_log_entry(log, i);

        if (entry->units == 0) {
            continue;
        }

        if (i != n) {
            *sw_log_entry(log, n) = *entry;
            sw_step();
            entry->units = 0;
        }

        n++;
    }

    log->count = n;

    for (i = 1; i < log->count; i++) {
        last = sw_log_time(log, i - 1);

        if (sw_log_time(log, i) < last) {
            entry = sw_log_entry(log, i);
            entry->time = (uint32_t) last;
        }
    }

    if (log->count) {
        log->newest = sw_log_time(log, log->count - 1);
    }

    log->total = sw_log_total(log);

    sw_log_change_end(log);
}
