
/*
 * The most units that each client asked for in any rolling window, admitted or
 * not: the limit that would not have met it.
 */


#ifndef _REPLAY_PEAKS_H_INCLUDED_
#define _REPLAY_PEAKS_H_INCLUDED_


#include "replay_chunks.h"
#include "replay_clients.h"


/* of more requests in a window, at different times, some are merged */
#define REPLAY_PEAK_ROOM  65536


typedef struct {
    replay_chunks_t    clients;
    int64_t           window;
} replay_peaks_t;


typedef struct {
    int64_t           peak;
    uint64_t          clients;
} replay_peak_count_t;


/* p50, p90, p99, p99.9, max */
#define REPLAY_PERCENTILES  5


void replay_peaks_init(replay_peaks_t *peaks, int64_t window);
void replay_peaks_add(replay_peaks_t *peaks, uint32_t client, int64_t time,
    int64_t cost);
int64_t replay_peak(replay_peaks_t *peaks, uint32_t client);

/* how many clients have which peak, the smallest first; returns how many */
size_t replay_peaks_count(replay_peaks_t *peaks, uint32_t nclients,
    replay_peak_count_t **counts);

/* the smallest peaks that so many clients do not exceed */
void replay_peaks_percentiles(replay_peaks_t *peaks, uint32_t nclients,
    int64_t percentiles[REPLAY_PERCENTILES]);


#endif /* _REPLAY_PEAKS_H_INCLUDED_ */
