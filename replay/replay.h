
/*
 * What all of slidewin-replay uses: texts that need not be terminated, and how
 * it ends when it cannot go on.
 */


#ifndef _REPLAY_H_INCLUDED_
#define _REPLAY_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>


#define REPLAY_EXIT_FAIL_IF  1           /* what --fail-if names is true */
#define REPLAY_EXIT_ERROR    2           /* bad usage, or nothing to replay */


typedef struct {
    const char      *data;
    size_t           len;
} replay_text_t;


#define replay_text(literal)  { literal, sizeof(literal) - 1 }


static inline replay_text_t
replay_text_of(const char *string)
{
    replay_text_t  text;

    text.data = string;
    text.len = strlen(string);

    return text;
}


static inline int
replay_text_is(replay_text_t text, const char *string)
{
    size_t  len;

    len = strlen(string);

    return text.len == len && memcmp(text.data, string, len) == 0;
}


static inline int
replay_text_begins(replay_text_t text, const char *string)
{
    size_t  len;

    len = strlen(string);

    return text.len >= len && memcmp(text.data, string, len) == 0;
}


/* says what is wrong, and ends the program */
__attribute__((noreturn, format(printf, 1, 2)))
void replay_fatal(const char *fmt, ...);

/* a line on stderr, with the name of the program */
__attribute__((format(printf, 1, 2)))
void replay_say(const char *fmt, ...);

/* memory, or the end of the program */
void *replay_alloc(size_t size);
void *replay_calloc(size_t n, size_t size);
void *replay_realloc(void *p, size_t size);


#endif /* _REPLAY_H_INCLUDED_ */
