
#include <stdarg.h>
#include <stdio.h>

#include "replay_print.h"


/* longer messages are cut */
#define REPLAY_MESSAGE_MAX  2048


static void replay_vsay(const char *fmt, va_list args);


void
replay_fatal(const char *fmt, ...)
{
    va_list  args;

    (void) fflush(stdout);

    va_start(args, fmt);
    replay_vsay(fmt, args);
    va_end(args);

    exit(REPLAY_EXIT_ERROR);
}


void
replay_say(const char *fmt, ...)
{
    va_list  args;

    va_start(args, fmt);
    replay_vsay(fmt, args);
    va_end(args);
}


/* names of files and lines of logs are in it */

static void
replay_vsay(const char *fmt, va_list args)
{
    char  text[REPLAY_MESSAGE_MAX];

    (void) vsnprintf(text, sizeof(text), fmt, args);

    fputs("slidewin-replay: ", stderr);
    replay_print_plain(stderr, replay_text_of(text));
    fputc('\n', stderr);
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
