
/*
 * Values of a line: of variables that the log has, or that follow from those.
 */


#ifndef _REPLAY_VALUE_H_INCLUDED_
#define _REPLAY_VALUE_H_INCLUDED_


#include "replay_format.h"


/* longer paths, keys and arguments are cut */
#define REPLAY_VALUE_MAX  4096


/* a text with variables, made for a format; one variable is a frequent case */

typedef struct replay_value_part_s  replay_value_part_t;

typedef struct {
    replay_value_part_t  *parts;
    size_t                n;
    replay_text_t         text;            /* as it was given */
} replay_value_t;


/* how $slidewin_client groups addresses */

typedef struct {
    unsigned              prefix_v4;
    unsigned              prefix_v6;
} replay_client_prefix_t;


/*
 * What follows from a line, made when it is first asked for.  Only reset
 * between two lines.
 */

typedef struct {
    replay_line_t           line;
    replay_client_prefix_t  prefix;

    unsigned                have_target:1;
    unsigned                have_uri:1;
    size_t                  used;          /* of scratch */
    replay_text_t           method;
    replay_text_t           target;
    replay_text_t           protocol;
    replay_text_t           path;          /* of the target, as it came */
    replay_text_t           args;
    replay_text_t           uri;
    char                    uri_bytes[REPLAY_VALUE_MAX];
    char                    scratch[2 * REPLAY_VALUE_MAX];
} replay_record_t;


static inline void
replay_record_reset(replay_record_t *record)
{
    record->have_target = 0;
    record->have_uri = 0;
}


/*
 * The text has $name and ${name}; ".name" is a member of JSON.  NULL, or what
 * is wrong: most often a variable that the log does not have.
 */
const char *replay_value_compile(replay_value_t *value,
    replay_format_t *format, replay_text_t text);

/* whether it can be made of this format, without a message */
int replay_value_exists(replay_format_t *format, const char *name);

/* lives until the next call; empty if there is nothing */
replay_text_t replay_value_get(const replay_value_t *value,
    replay_record_t *record);

/* as nginx makes $uri of a path; at most REPLAY_VALUE_MAX bytes */
size_t replay_uri_normalise(char *out, replay_text_t path);


#endif /* _REPLAY_VALUE_H_INCLUDED_ */
