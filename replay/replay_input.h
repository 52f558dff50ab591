
/*
 * The lines of a file, plain or gzip, or of standard input.
 */


#ifndef _REPLAY_INPUT_H_INCLUDED_
#define _REPLAY_INPUT_H_INCLUDED_


#include <stdio.h>
#include <zlib.h>

#include "replay_inflate.h"


/* a longer line is a bad one, and is passed over */
#define REPLAY_LINE_MAX  (1 << 20)


typedef struct {
    const char        *name;
    gzFile             gz;
    replay_inflate_t  *inflate;            /* if it is compressed */
    char              *buf;
    size_t             room;
    size_t             start;
    size_t             end;
    int                last;               /* all has been read */
    int                skipping;           /* the rest of a line too long */
    uint64_t           lines;
    int64_t            size;               /* of the file, -1 if unknown */
    char               error[160];         /* what ended it early, or "" */
} replay_input_t;


/* "-" is standard input; ends the program if it cannot be opened */
void replay_input_open(replay_input_t *input, const char *name);
void replay_input_close(replay_input_t *input);

/*
 * Whether there is another line.  It is without its end of line, and lives
 * until the next call; data is NULL if it is too long.
 */
int replay_input_line(replay_input_t *input, replay_text_t *line);

/* the first lines, which come again; returns how many, 0 if there are none */
size_t replay_input_peek(replay_input_t *input, replay_text_t *lines,
    size_t n);

/* bytes of the file that have been read */
int64_t replay_input_offset(const replay_input_t *input);


#endif /* _REPLAY_INPUT_H_INCLUDED_ */
