
/*
 * Texts with variables, as keys, costs and formats of logs are: "$name" and
 * "${name}" between what is as it is.
 */


#ifndef _REPLAY_VARIABLES_H_INCLUDED_
#define _REPLAY_VARIABLES_H_INCLUDED_


#include "replay.h"


typedef struct {
    replay_text_t    text;            /* of a variable its name, without "$" */
    int              variable;
} replay_part_t;


/*
 * Takes the next part off a text: 1, or 0 at its end.  Parts are never empty.
 * A "$" that no name follows, or a "${" without "}", is REPLAY_BAD_VARIABLE,
 * which nginx -t would not take.
 */

#define REPLAY_BAD_VARIABLE  -1

int replay_variables_next(replay_text_t *rest, replay_part_t *part);

/* how many variables are in the text; or REPLAY_BAD_VARIABLE */
int replay_variables_count(replay_text_t text);


#endif /* _REPLAY_VARIABLES_H_INCLUDED_ */
