
/*
 * Reads a file of zlib in a thread of its own: to inflate takes as long as all
 * else.
 */


#ifndef _REPLAY_INFLATE_H_INCLUDED_
#define _REPLAY_INFLATE_H_INCLUDED_


#include <zlib.h>

#include "replay.h"


typedef struct replay_inflate_s  replay_inflate_t;


replay_inflate_t *replay_inflate_start(gzFile gz);

/* as gzread(): 0 at the end, and after an error, of which zlib's code is set */
size_t replay_inflate_read(replay_inflate_t *inflate, char *buf, size_t size,
    int *code);

/* compressed bytes until here */
int64_t replay_inflate_offset(replay_inflate_t *inflate);

/* the file stays open */
void replay_inflate_stop(replay_inflate_t *inflate);


#endif /* _REPLAY_INFLATE_H_INCLUDED_ */
