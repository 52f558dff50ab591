
#include "replay_chunks.h"


void
replay_chunks_init(replay_chunks_t *chunks, size_t size)
{
    memset(chunks, 0, sizeof(replay_chunks_t));
    chunks->size = size;
}


void
replay_chunks_grow(replay_chunks_t *chunks, uint32_t chunk)
{
    while (chunks->n <= chunk) {

        if (chunks->n == chunks->room) {
            chunks->room = chunks->room ? 2 * chunks->room : 16;
            chunks->items = replay_realloc(chunks->items,
                                           chunks->room * sizeof(char *));
        }

        chunks->items[chunks->n++] = replay_calloc(REPLAY_CHUNK,
                                                   chunks->size);
    }
}


void
replay_chunks_free(replay_chunks_t *chunks)
{
    while (chunks->n) {
        free(chunks->items[--chunks->n]);
    }

    free(chunks->items);
    chunks->items = NULL;
}
