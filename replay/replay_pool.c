
#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>

#include "replay_pool.h"


/* with malloc's own header it stays below a power of two */
#define REPLAY_POOL_BLOCK  (65536 - 64)


struct replay_pool_block_s {
    replay_pool_block_t  *next;
    size_t                size;
    size_t                used;
    alignas(max_align_t) char  data[];
};


static char *replay_pool_take(replay_pool_t *pool, size_t size, size_t align);


void *
replay_pool_alloc(replay_pool_t *pool, size_t size)
{
    return replay_pool_take(pool, size, alignof(max_align_t));
}


char *
replay_pool_bytes(replay_pool_t *pool, size_t size)
{
    return replay_pool_take(pool, size, 1);
}


static char *
replay_pool_take(replay_pool_t *pool, size_t size, size_t align)
{
    size_t                used, room;
    replay_pool_block_t  *block;

    block = pool->last;

    if (block) {
        used = (block->used + align - 1) & ~(align - 1);

        if (used <= block->size && size <= block->size - used) {
            block->used = used + size;
            return block->data + used;
        }
    }

    room = size > REPLAY_POOL_BLOCK ? size : REPLAY_POOL_BLOCK;

    block = replay_alloc(sizeof(replay_pool_block_t) + room);
    block->next = pool->last;
    block->size = room;
    block->used = size;

    pool->last = block;
    pool->size += sizeof(replay_pool_block_t) + room;

    return block->data;
}


replay_text_t
replay_pool_text(replay_pool_t *pool, replay_text_t text)
{
    char  *copy;

    copy = replay_pool_bytes(pool, text.len + 1);

    if (text.len) {
        memcpy(copy, text.data, text.len);
    }

    copy[text.len] = '\0';
    text.data = copy;

    return text;
}


const char *
replay_pool_print(replay_pool_t *pool, const char *fmt, ...)
{
    int      len;
    char    *text;
    va_list  args;

    va_start(args, fmt);
    len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);

    if (len < 0) {
        replay_fatal("a message cannot be formatted");
    }

    text = replay_pool_bytes(pool, (size_t) len + 1);

    va_start(args, fmt);
    (void) vsnprintf(text, (size_t) len + 1, fmt, args);
    va_end(args);

    return text;
}


void
replay_pool_destroy(replay_pool_t *pool)
{
    replay_pool_block_t  *block, *next;

    for (block = pool->last; block; block = next) {
        next = block->next;
        free(block);
    }

    pool->last = NULL;
    pool->size = 0;
}
