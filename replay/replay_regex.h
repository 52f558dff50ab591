
/*
 * Regular expressions as nginx has them: of bytes, anywhere in the text.
 */


#ifndef _REPLAY_REGEX_H_INCLUDED_
#define _REPLAY_REGEX_H_INCLUDED_


#include "replay_pool.h"


typedef struct replay_regex_s  replay_regex_t;


/* NULL if the pattern is bad, and why */
replay_regex_t *replay_regex_compile(replay_pool_t *pool,
    replay_text_t pattern, int caseless, const char **error);

/* what takes too many steps does not match */
int replay_regex_match(const replay_regex_t *regex, replay_text_t text);


#endif /* _REPLAY_REGEX_H_INCLUDED_ */
