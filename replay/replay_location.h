
/*
 * The locations of a server, and which of them nginx takes for a URI.
 */


#ifndef _REPLAY_LOCATION_H_INCLUDED_
#define _REPLAY_LOCATION_H_INCLUDED_


#include "replay_conf.h"
#include "replay_regex.h"


typedef enum {
    REPLAY_LOCATION_SERVER = 0,
    REPLAY_LOCATION_PREFIX,
    REPLAY_LOCATION_NOREGEX,                 /* ^~ */
    REPLAY_LOCATION_EXACT,                   /* = */
    REPLAY_LOCATION_REGEX,                   /* ~, ~* */
    REPLAY_LOCATION_NAMED                    /* @: no URI is in it */
} replay_location_e;


typedef struct replay_location_s  replay_location_t;


/* what is outside of all locations of a server is one itself */

struct replay_location_s {
    replay_conf_place_t      place;
    replay_conf_place_t      answered;       /* of requests that nginx answers
                                              * before it looks at limits */
    replay_location_e        type;
    replay_text_t            name;
    replay_regex_t          *regex;
    replay_location_t       *locations;      /* in it */
    replay_location_t      **last;
    replay_location_t       *next;

    unsigned                 redirects:1;    /* "/name" to "/name/" */
    unsigned                 returns:1;
    unsigned                 internal:1;
    unsigned                 settled:1;      /* no "return" is reached */
};


void replay_location_init(replay_location_t *location);

/*
 * Reads what stands behind "location", and adds it to those of its parent.
 * NULL if nginx would not take it, and why.
 */
replay_location_t *replay_location_add(replay_pool_t *pool,
    replay_location_t *parent, const replay_text_t *args, size_t nargs,
    const char **error);

const replay_conf_place_t *replay_location_find(
    const replay_location_t *server, replay_text_t uri);


#endif /* _REPLAY_LOCATION_H_INCLUDED_ */
