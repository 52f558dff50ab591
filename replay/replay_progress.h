
/*
 * How far the reading is, on a terminal.
 */


#ifndef _REPLAY_PROGRESS_H_INCLUDED_
#define _REPLAY_PROGRESS_H_INCLUDED_


#include "replay_input.h"


typedef struct {
    int               shown;               /* stderr is a terminal */
    int               drawn;
    double            started;             /* seconds */
    double            last;
    int64_t           size;                /* of all inputs, -1: unknown */
    int64_t           done;                /* of inputs that are closed */
} replay_progress_t;


void replay_progress_init(replay_progress_t *progress,
    const replay_input_t *inputs, size_t n);

/* to be called once in some thousand lines */
void replay_progress_draw(replay_progress_t *progress,
    const replay_input_t *inputs, size_t n, uint64_t lines);

void replay_progress_end(replay_progress_t *progress);


#endif /* _REPLAY_PROGRESS_H_INCLUDED_ */
