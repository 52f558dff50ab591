
/*
 * The parameters of a directive: name=value, or a name alone.
 */


#ifndef _REPLAY_CONF_PARAM_H_INCLUDED_
#define _REPLAY_CONF_PARAM_H_INCLUDED_


#include "replay_conf_token.h"


typedef struct {
    const char      *name;                   /* with its "=", if it has one */
    int            (*set)(replay_conf_reader_t *reader, replay_text_t arg,
                          replay_text_t value, void *data);
} replay_conf_param_t;


/* a set of NULL ignores the parameter; the list ends with a name of NULL */
int replay_conf_params_set(replay_conf_reader_t *reader, size_t first,
    const replay_conf_param_t *params, void *data);

/* whether a text has variables */
int replay_conf_varies(replay_text_t text);


#endif /* _REPLAY_CONF_PARAM_H_INCLUDED_ */
