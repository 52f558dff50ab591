
/*
 * The format of a log: which part of a line is which variable.  A line is only
 * read as far as something wanted is in it.
 */


#ifndef _REPLAY_FORMAT_H_INCLUDED_
#define _REPLAY_FORMAT_H_INCLUDED_


#include "replay.h"
#include "replay_pool.h"


#define REPLAY_FIELDS_MAX  64

#define REPLAY_COMBINED                                                       \
    "$remote_addr - $remote_user [$time_local] \"$request\" $status "         \
    "$body_bytes_sent \"$http_referer\" \"$http_user_agent\""

#define REPLAY_COMMON                                                         \
    "$remote_addr - $remote_user [$time_local] \"$request\" $status "         \
    "$body_bytes_sent"


typedef struct replay_json_s  replay_json_t;


/* text, then a variable; the last one may be without */

typedef struct {
    replay_text_t          text;
    replay_text_t          name;
    int                    field;          /* -1: not wanted */
} replay_format_part_t;


typedef struct {
    replay_pool_t         *pool;
    replay_format_part_t  *parts;
    size_t                 n;
    size_t                 used;           /* parts up to the last wanted */
    replay_json_t         *json;           /* instead of parts */
    unsigned               fields;
    replay_text_t          sample;         /* of JSON: the first line */
} replay_format_t;


/* the fields of a line; what has no data is missing */

typedef struct {
    replay_text_t          fields[REPLAY_FIELDS_MAX];
} replay_line_t;


/* NULL, or what is wrong with it; "json" is for lines of JSON */
const char *replay_format_compile(replay_format_t *format,
    replay_pool_t *pool, const char *text);

/* what is not in the pool */
void replay_format_free(replay_format_t *format);

/*
 * The field of a variable, without its "$"; of a member of JSON with a "." in
 * front of it and between the levels.  -1 if the format does not have it.
 */
int replay_format_want(replay_format_t *format, replay_text_t name);

/* the same for JSON, if the first line has it */
int replay_format_has(replay_format_t *format, replay_text_t name);

/* NULL, or why it is a bad line */
const char *replay_format_read(const replay_format_t *format,
    replay_text_t text, replay_line_t *line);


/* a part of a text with variables: text, or else a name */

typedef struct {
    replay_text_t          text;
    replay_text_t          name;
} replay_piece_t;

/*
 * Takes the next piece of a text with $name and ${name}.  0 at the end, -1 if a
 * name is bad.
 */
int replay_piece_next(replay_text_t *text, replay_piece_t *piece);


#endif /* _REPLAY_FORMAT_H_INCLUDED_ */
