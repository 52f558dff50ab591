
#include <string.h>

#include "replay_series.h"


#define REPLAY_SERIES_FIRST_STEP  1000


void
replay_timeline_add(replay_timeline_t *timeline, int64_t time)
{
    int64_t   step;
    unsigned  n;

    if (timeline->step == 0) {
        timeline->step = REPLAY_SERIES_FIRST_STEP;
        timeline->start = time / timeline->step * timeline->step;
    }

    step = timeline->step;

    while ((time - timeline->start) / timeline->step >= REPLAY_SERIES_STEPS) {
        timeline->step *= 2;
    }

    n = (unsigned) ((time - timeline->start) / timeline->step) + 1;

    /* steps that have doubled are fewer; the same times may come once more */

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
    size_t  i;

    if (series->step == 0) {
        series->step = timeline->step;
    }

    while (series->step < timeline->step) {

        for (i = 0; i < REPLAY_SERIES_STEPS / 2; i++) {
            series->counts[i] = series->counts[2 * i]
                                + series->counts[2 * i + 1];
        }

        memset(series->counts + i, 0,
               (REPLAY_SERIES_STEPS - i) * sizeof(uint64_t));

        series->step *= 2;
    }
}
