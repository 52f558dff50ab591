
#include "replay_peaks.h"
#include "sw_math.h"


/* more is not told apart: many of them have room in a sum */
#define REPLAY_PEAK_COST  (1LL << 43)


typedef struct {
    int64_t                time;
    int64_t                units;
} replay_peak_entry_t;


/* a ring, oldest entry first; most clients need but one */

typedef struct {
    int64_t                  most;
    int64_t                  total;

    union {
        replay_peak_entry_t  *entries;
        replay_peak_entry_t   one;         /* of no room */
    } u;

    uint32_t                 first;
    uint32_t                 count;
    uint32_t                 room;
} replay_peak_t;


static replay_peak_entry_t *replay_peak_entry(replay_peak_t *peak,
    uint32_t n);
static void replay_peak_make_room(replay_peak_t *peak);
static int replay_peak_compare(const void *one, const void *two);


void
replay_peaks_init(replay_peaks_t *peaks, int64_t window)
{
    replay_chunks_init(&peaks->clients, sizeof(replay_peak_t));
    peaks->window = window;
}


void
replay_peaks_add(replay_peaks_t *peaks, uint32_t client, int64_t time,
    int64_t cost)
{
    replay_peak_t        *peak;
    replay_peak_entry_t  *entry;

    peak = replay_chunks_get(&peaks->clients, client);
    cost = sw_min(cost, REPLAY_PEAK_COST);

    while (peak->count) {
        entry = replay_peak_entry(peak, 0);

        if (time - entry->time < peaks->window) {
            break;
        }

        peak->total -= entry->units;
        peak->first = (peak->first + 1 < peak->room) ? peak->first + 1 : 0;
        peak->count--;
    }

    peak->total += cost;

    if (peak->total > peak->most) {
        peak->most = peak->total;
    }

    if (peak->count) {
        entry = replay_peak_entry(peak, peak->count - 1);

        if (entry->time == time) {
            entry->units += cost;
            return;
        }
    }

    if (peak->count >= (peak->room ? peak->room : 1)) {
        replay_peak_make_room(peak);
    }

    entry = replay_peak_entry(peak, peak->count++);
    entry->time = time;
    entry->units = cost;
}


static replay_peak_entry_t *
replay_peak_entry(replay_peak_t *peak, uint32_t n)
{
    if (peak->room == 0) {
        return &peak->u.one;
    }

    n += peak->first;

    return &peak->u.entries[n < peak->room ? n : n - peak->room];
}


/* if there may be no more, the oldest is held for as long as the next one */

static void
replay_peak_make_room(replay_peak_t *peak)
{
    uint32_t              i, room;
    replay_peak_entry_t  *entries;

    if (peak->room >= REPLAY_PEAK_ROOM) {
        replay_peak_entry(peak, 1)->units += replay_peak_entry(peak, 0)->units;
        peak->first = (peak->first + 1 < peak->room) ? peak->first + 1 : 0;
        peak->count--;
        return;
    }

    room = peak->room ? 2 * peak->room : 4;
    entries = replay_alloc(room * sizeof(replay_peak_entry_t));

    for (i = 0; i < peak->count; i++) {
        entries[i] = *replay_peak_entry(peak, i);
    }

    if (peak->room) {
        free(peak->u.entries);
    }

    peak->u.entries = entries;
    peak->room = room;
    peak->first = 0;
}


int64_t
replay_peak(replay_peaks_t *peaks, uint32_t client)
{
    replay_peak_t  *peak;

    peak = replay_chunks_get(&peaks->clients, client);

    return peak->most;
}


size_t
replay_peaks_count(replay_peaks_t *peaks, uint32_t nclients,
    replay_peak_count_t **result)
{
    size_t                n;
    int64_t              *most;
    uint32_t              i;
    replay_peak_count_t  *counts;

    most = replay_alloc((nclients + 1) * sizeof(int64_t));

    for (i = 0; i < nclients; i++) {
        most[i] = replay_peak(peaks, i);
    }

    qsort(most, nclients, sizeof(int64_t), replay_peak_compare);

    counts = replay_alloc((nclients + 1) * sizeof(replay_peak_count_t));
    n = 0;

    for (i = 0; i < nclients; i++) {

        if (n == 0 || counts[n - 1].peak != most[i]) {
            counts[n].peak = most[i];
            counts[n].clients = 0;
            n++;
        }

        counts[n - 1].clients++;
    }

    free(most);

    *result = replay_realloc(counts, (n + 1) * sizeof(replay_peak_count_t));

    return n;
}


static int
replay_peak_compare(const void *one, const void *two)
{
    int64_t  a, b;

    a = *(const int64_t *) one;
    b = *(const int64_t *) two;

    return (a > b) - (a < b);
}


void
replay_peaks_percentiles(replay_peaks_t *peaks, uint32_t nclients,
    int64_t percentiles[REPLAY_PERCENTILES])
{
    int                   p;
    size_t                i, n;
    uint64_t              seen;
    replay_peak_count_t  *counts;

    static const unsigned  permille[REPLAY_PERCENTILES] = {
        500, 900, 990, 999, 1000
    };

    n = replay_peaks_count(peaks, nclients, &counts);

    seen = 0;
    p = 0;

    for (i = 0; i < n; i++) {
        seen += counts[i].clients;

        while (p < REPLAY_PERCENTILES
               && seen * 1000 >= (uint64_t) nclients * permille[p])
        {
            percentiles[p++] = counts[i].peak;
        }
    }

    while (p < REPLAY_PERCENTILES) {
        percentiles[p++] = 0;
    }

    free(counts);
}
