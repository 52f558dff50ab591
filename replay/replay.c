
#include <stdarg.h>
#include <stdio.h>

#include "replay.h"


void
replay_fatal(const char *fmt, ...)
{
    va_list  args;

    (void) fflush(stdout);

    fputs("slidewin-replay: ", stderr);

    va_start(args, fmt);
    (void) vfprintf(stderr, fmt, args);
    va_end(args);

    fputs("\n", stderr);

    exit(REPLAY_EXIT_ERROR);
}


void *
replay_alloc(size_t size)
{
    void  *p;

    p = malloc(size);

    if (p == NULL && size) {
        replay_fatal("no memory for %zu bytes", size);
    }

    return p;
}


void *
replay_calloc(size_t n, size_t size)
{
    void  *p;

    p = calloc(n, size);

    if (p == NULL && n && size) {
        replay_fatal("no memory for %zu times %zu bytes", n, size);
    }

    return p;
}


void *
replay_realloc(void *old, size_t size)
{
    void  *p;

    p = realloc(old, size);

    if (p == NULL && size) {
        replay_fatal("no memory for %zu bytes", size);
    }

    return p;
}
