
/*
 * Which requests are replayed: "uri ^~ /login and method = POST".
 */


#ifndef _REPLAY_WHERE_H_INCLUDED_
#define _REPLAY_WHERE_H_INCLUDED_


#include "replay_value.h"


typedef struct replay_where_s  replay_where_t;


/* NULL, and what is wrong with it */
replay_where_t *replay_where_compile(replay_format_t *format,
    const char *text, const char *key, const char **error);

int replay_where_matches(const replay_where_t *where,
    replay_record_t *record, int64_t time);


#endif /* _REPLAY_WHERE_H_INCLUDED_ */
