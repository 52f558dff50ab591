
/*
 * How much came when, in as many steps as a plot needs.  All series of a
 * timeline have the same steps, which become longer with the time.  They begin
 * at full minutes, hours and days of UTC.
 */


#ifndef _REPLAY_SERIES_H_INCLUDED_
#define _REPLAY_SERIES_H_INCLUDED_


#include <stdint.h>


#define REPLAY_SERIES_STEPS  240


typedef struct {
    int64_t           start;               /* ms; 0: nothing came yet */
    int64_t           step;
    unsigned          n;                   /* steps that there are */
} replay_timeline_t;


typedef struct {
    int64_t           start;
    int64_t           step;
    uint64_t          counts[REPLAY_SERIES_STEPS];
} replay_series_t;


/* times come in order */
void replay_timeline_add(replay_timeline_t *timeline, int64_t time);

/* after that, counts one more at that time */
void replay_series_add(replay_series_t *series,
    const replay_timeline_t *timeline, int64_t time);

/* brings it to the steps of the timeline, to be read */
void replay_series_merge(replay_series_t *series,
    const replay_timeline_t *timeline);


#endif /* _REPLAY_SERIES_H_INCLUDED_ */
