
/*
 * Memory that is freed together.  What it gives does not move.
 */


#ifndef _REPLAY_POOL_H_INCLUDED_
#define _REPLAY_POOL_H_INCLUDED_


#include "replay.h"


typedef struct replay_pool_block_s  replay_pool_block_t;


/* zeroed before the first use */

typedef struct {
    replay_pool_block_t  *last;
    size_t                size;            /* of all blocks, bytes */
} replay_pool_t;


/* aligned for any object; not zeroed */
void *replay_pool_alloc(replay_pool_t *pool, size_t size);

/* not aligned */
char *replay_pool_bytes(replay_pool_t *pool, size_t size);

/* a copy, with a zero byte behind it */
replay_text_t replay_pool_text(replay_pool_t *pool, replay_text_t text);

__attribute__((format(printf, 2, 3)))
const char *replay_pool_print(replay_pool_t *pool, const char *fmt, ...);

void replay_pool_destroy(replay_pool_t *pool);


#endif /* _REPLAY_POOL_H_INCLUDED_ */
