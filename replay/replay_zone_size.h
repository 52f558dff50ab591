
/*
 * The shared memory that clients need, as a size for "zone=".
 */


#ifndef _REPLAY_ZONE_SIZE_H_INCLUDED_
#define _REPLAY_ZONE_SIZE_H_INCLUDED_


#include <stdint.h>

#include "sw_rule.h"


/* busy clients are those of a log that have more units in a window than this */
#define REPLAY_ZONE_LOG_UNITS  14


/*
 * Bytes for so many clients at once, a quarter more, as a size that people
 * write.  units is the most that a busy client of a log has in its window,
 * and banned are those that have a ban as well.
 */
int64_t replay_zone_size(const sw_rule_t *rule, int64_t clients,
    int64_t busy, int64_t units, int64_t banned);

/* "64k", "10m" */
#define REPLAY_ZONE_SIZE_LEN  24
const char *replay_zone_size_text(char buf[REPLAY_ZONE_SIZE_LEN],
    int64_t size);


#endif /* _REPLAY_ZONE_SIZE_H_INCLUDED_ */
