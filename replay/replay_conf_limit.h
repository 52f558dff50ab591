
/*
 * slidewin: a policy where it applies.
 */


#ifndef _REPLAY_CONF_LIMIT_H_INCLUDED_
#define _REPLAY_CONF_LIMIT_H_INCLUDED_


#include "replay_conf_token.h"


/* the limits of one level */

typedef struct {
    replay_array_t        lines;             /* replay_conf_limit_line_t * */
    int                   is_off;
} replay_conf_limits_t;


typedef struct {
    replay_conf_limit_t   limit;
    replay_text_t         zone;              /* it may come further down */
} replay_conf_limit_line_t;


/* of the reader's line; "all" gets it as well */
int replay_conf_limit_add(replay_conf_reader_t *reader,
    replay_conf_limits_t *limits, replay_array_t *all);


#endif /* _REPLAY_CONF_LIMIT_H_INCLUDED_ */
