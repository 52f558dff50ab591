
/*
 * Members of a line of JSON.
 */


#ifndef _REPLAY_JSON_H_INCLUDED_
#define _REPLAY_JSON_H_INCLUDED_


#include "replay_format.h"


replay_json_t *replay_json_create(replay_pool_t *pool);

/* what is not in the pool */
void replay_json_free(replay_json_t *json);

/* ".a.b", or "a"; raises the number of fields if it is a new one */
int replay_json_want(replay_json_t *json, replay_text_t path,
    unsigned *fields);

/*
 * Sets the fields that are there: the text of a string, and that of a number or
 * another literal.  They live as long as the text and until the next call.
 * NULL, or why it is a bad line.
 */
const char *replay_json_read(replay_json_t *json, replay_text_t text,
    replay_text_t *fields);


#endif /* _REPLAY_JSON_H_INCLUDED_ */
