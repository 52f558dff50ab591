
#include <string.h>

#include "replay_series.h"


/* seconds, each a multiple of the one before, as people read them */

static const int64_t  replay_steps[] = {
    1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200, 86400
};

#define REPLAY_STEPS  (sizeof(replay_steps) / sizeof(replay_steps[0]))


static int64_t replay_next_step(int64_t step);
static int64_t replay_floor(int64_t time, int64_t step);


void
replay_timeline_add(replay_timeline_t *timeline, int64_t time)
{
    int64_t   step;
    unsigned  n;

    if (timeline->step == 0) {
        timeline->step = replay_steps[0] * 1000;
        timeline->start = replay_floor(time, timeline->step);
    }

    step = timeline->step;

    while ((time - timeline->start) / timeline->step >= REPLAY_SERIES_STEPS) {
        timeline->step = replay_next_step(timeline->step);
        timeline->start = replay_floor(timeline->start, timeline->step);
    }

    n = (unsigned) ((time - timeline->start) / timeline->step) + 1;

    /* longer steps are fewer; the same times may come once more */

    if (step != timeline->step || n > timeline->n) {
        timeline->n = n;
    }
}


void
replay_series_add(replay_series_t *series, const replay_timeline_t *timeline,
    int64_t time)
{
    if (series->step != timeline->step) {
        replay_series_merge(series, timeline);
    }

    series->counts[(time - timeline->start) / timeline->step]++;
}


void
replay_series_merge(replay_series_t *series,
    const replay_timeline_t *timeline)
{
    size_t    i;
    int64_t   step, start;
    uint64_t  count;

    if (series->step == 0) {
        series->step = timeline->step;
        series->start = timeline->start;
    }

    while (series->step < timeline->step) {
        step = replay_next_step(series->step);
        start = replay_floor(series->start, step);

        /* a step goes into one that is not behind it */

        for (i = 0; i < REPLAY_SERIES_STEPS; i++) {
            count = series->counts[i];
            series->counts[i] = 0;

            series->counts[(series->start + (int64_t) i * series->step
                            - start) / step] += count;
        }

        series->start = start;
        series->step = step;
    }
}


/* ms; from a day on they double */

static int64_t
replay_next_step(int64_t step)
{
    size_t  i;

    for (i = 0; i < REPLAY_STEPS; i++) {

        if (replay_steps[i] * 1000 > step) {
            return replay_steps[i] * 1000;
        }
    }

    return 2 * step;
}


static int64_t
replay_floor(int64_t time, int64_t step)
{
    return time / step * step;
}
