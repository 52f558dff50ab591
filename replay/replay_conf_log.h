
/*
 * log_format and access_log: in which format a file is.
 */


#ifndef _REPLAY_CONF_LOG_H_INCLUDED_
#define _REPLAY_CONF_LOG_H_INCLUDED_


#include "replay_conf_token.h"


/* access_log */

typedef struct {
    replay_text_t               path;
    size_t                      format;      /* its place in formats */
} replay_conf_log_t;


void replay_conf_log_init(replay_pool_t *pool, replay_array_t *formats);

/* of the reader's line */
int replay_conf_log_format(replay_conf_reader_t *reader,
    replay_array_t *formats);

/*
 * Of the reader's line.  A part of an nginx.conf may name a format that is
 * defined in another part: this is noted, and the line is left out.
 */
int replay_conf_log_add(replay_conf_reader_t *reader, replay_array_t *logs,
    const replay_array_t *formats, const char **note);

/* see replay_conf_log_format_of(); formats: their number for none */
size_t replay_conf_log_find(const replay_array_t *logs, size_t nformats,
    replay_text_t path);


#endif /* _REPLAY_CONF_LOG_H_INCLUDED_ */
