
#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include "replay_progress.h"


/* seconds between two drawings, and before the first one */
#define REPLAY_PROGRESS_STEP   0.2

#define REPLAY_PROGRESS_WIDTH  24


static double replay_now(void);


void
replay_progress_init(replay_progress_t *progress,
    const replay_input_t *inputs, size_t n)
{
    size_t       i;
    const char  *terminal;

    memset(progress, 0, sizeof(replay_progress_t));

    terminal = getenv("TERM");

    progress->shown = isatty(STDERR_FILENO)
                      && (terminal == NULL || strcmp(terminal, "dumb") != 0);
    progress->started = replay_now();
    progress->last = progress->started;

    for (i = 0; i < n; i++) {

        if (inputs[i].size < 0) {
            progress->size = -1;
            return;
        }

        progress->size += inputs[i].size;
    }
}


void
replay_progress_draw(replay_progress_t *progress,
    const replay_input_t *inputs, size_t n, uint64_t lines)
{
    int      width;
    char     bar[REPLAY_PROGRESS_WIDTH + 1];
    double   now, spent, share, rate;
    size_t   i;
    int64_t  done;

    if (!progress->shown) {
        return;
    }

    now = replay_now();

    if (now - progress->last < REPLAY_PROGRESS_STEP) {
        return;
    }

    progress->last = now;
    progress->drawn = 1;

    done = progress->done;

    for (i = 0; i < n; i++) {
        done += inputs[i].gz ? replay_input_offset(&inputs[i]) : 0;
    }

    spent = now - progress->started;
    rate = (double) lines / spent / 1e6;

    if (progress->size <= 0) {
        fprintf(stderr, "\r%.1f MB, %" PRIu64 " lines, %.2f M lines/s\033[K",
                (double) done / 1e6, lines, rate);
        return;
    }

    share = (double) done / (double) progress->size;
    share = share > 1 ? 1 : share;

    width = (int) (share * REPLAY_PROGRESS_WIDTH);
    memset(bar, '.', REPLAY_PROGRESS_WIDTH);
    memset(bar, '#', (size_t) width);
    bar[REPLAY_PROGRESS_WIDTH] = '\0';

    fprintf(stderr, "\r[%s] %3.0f%% of %.1f MB, %.2f M lines/s, %.0f s left"
            "\033[K", bar, share * 100, (double) progress->size / 1e6, rate,
            share > 0 ? spent / share - spent : 0);
}


void
replay_progress_end(replay_progress_t *progress)
{
    if (progress->drawn) {
        fputs("\r\033[K", stderr);
    }
}


static double
replay_now(void)
{
    struct timespec  ts;

    (void) clock_gettime(CLOCK_MONOTONIC, &ts);

    return (double) ts.tv_sec + (double) ts.tv_nsec / 1e9;
}
