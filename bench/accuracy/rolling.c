
#include "memory.h"
#include "rolling.h"


#define ROLLING_ROOM  64


void
rolling_init(rolling_t *rolling, int64_t window)
{
    rolling->window = window;
    rolling->room = ROLLING_ROOM;
    rolling->times = memory_get(ROLLING_ROOM * sizeof(int64_t));
    rolling->first = 0;
    rolling->count = 0;
    rolling->most = 0;
}


void
rolling_free(rolling_t *rolling)
{
    free(rolling->times);
}


void
rolling_clear(rolling_t *rolling)
{
    rolling->first = 0;
    rolling->count = 0;
}


int64_t
rolling_count(rolling_t *rolling, int64_t now)
{
    while (rolling->count
           && rolling->times[rolling->first] <= now - rolling->window)
    {
        rolling->first++;
        rolling->count--;

        if (rolling->first == rolling->room) {
            rolling->first = 0;
        }
    }

    return rolling->count;
}


void
rolling_add(rolling_t *rolling, int64_t now)
{
    int64_t   i, at, *times;

    (void) rolling_count(rolling, now);

    if (rolling->count == rolling->room) {
        times = memory_get((size_t) rolling->room * 2 * sizeof(int64_t));

        for (i = 0; i < rolling->count; i++) {
            times[i] = rolling->times[(rolling->first + i) % rolling->room];
        }

        free(rolling->times);
        rolling->times = times;
        rolling->first = 0;
        rolling->room *= 2;
    }

    at = rolling->first + rolling->count;

    rolling->times[at < rolling->room ? at : at - rolling->room] = now;
    rolling->count++;

    if (rolling->count > rolling->most) {
        rolling->most = rolling->count;
    }
}
