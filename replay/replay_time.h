
/*
 * The times of a log, in milliseconds of UTC since 1970.
 */


#ifndef _REPLAY_TIME_H_INCLUDED_
#define _REPLAY_TIME_H_INCLUDED_


#include "replay.h"


#define REPLAY_TIME_BAD  INT64_MIN

#define REPLAY_TIME_LEN  sizeof("2015-05-17T10:05:03.123Z")


/*
 * Any of 17/May/2015:10:05:03 +0000, 2015-05-17T10:05:03[.123][Z|+00:00] (a
 * space may be in place of the T, and no zone means UTC), 1431857103[.123], and
 * milliseconds since 1970 as a whole number.  A fraction of a millisecond is
 * cut off.
 */
int64_t replay_time_parse(replay_text_t text);

/* whether it tells milliseconds: it has a fraction, or is a number of them */
int replay_time_is_fine(replay_text_t text);

/* digits with or without a fraction of a second, as $request_time */
int64_t replay_time_seconds(replay_text_t text);

/* 2015-05-17T10:05:03Z, or with milliseconds; returns the buffer */
const char *replay_time_text(char buf[REPLAY_TIME_LEN], int64_t ms, int fine);


#endif /* _REPLAY_TIME_H_INCLUDED_ */
