
/*
 * slidewin_zone: a policy.
 */


#ifndef _REPLAY_CONF_ZONE_H_INCLUDED_
#define _REPLAY_CONF_ZONE_H_INCLUDED_


#include "replay_conf_token.h"


/* of the reader's line; zones are replay_conf_zone_t */
int replay_conf_zone_add(replay_conf_reader_t *reader, replay_array_t *zones);


#endif /* _REPLAY_CONF_ZONE_H_INCLUDED_ */
