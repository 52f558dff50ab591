
/*
 * Items by their number, in chunks of memory.  They do not move, and are zeroed
 * at first.
 */


#ifndef _REPLAY_CHUNKS_H_INCLUDED_
#define _REPLAY_CHUNKS_H_INCLUDED_


#include "replay.h"


/* items of a chunk: little is wasted, and there are few to keep */
#define REPLAY_CHUNK_SHIFT  10
#define REPLAY_CHUNK        (1 << REPLAY_CHUNK_SHIFT)


typedef struct {
    char            **items;               /* of each chunk */
    size_t            n;
    size_t            room;
    size_t            size;                /* of an item */
} replay_chunks_t;


void replay_chunks_init(replay_chunks_t *chunks, size_t size);
void replay_chunks_grow(replay_chunks_t *chunks, uint32_t chunk);
void replay_chunks_free(replay_chunks_t *chunks);


static inline void *
replay_chunks_get(replay_chunks_t *chunks, uint32_t n)
{
    uint32_t  chunk;

    chunk = n >> REPLAY_CHUNK_SHIFT;

    if (chunk >= chunks->n) {
        replay_chunks_grow(chunks, chunk);
    }

    return chunks->items[chunk] + (n & (REPLAY_CHUNK - 1)) * chunks->size;
}


#endif /* _REPLAY_CHUNKS_H_INCLUDED_ */
