
#include <pthread.h>

#include "replay_inflate.h"


#define REPLAY_INFLATE_BLOCK  262144


typedef struct {
    char              *data;
    size_t             len;
    int64_t            offset;             /* in the file, behind the block */
    int                full;
} replay_block_t;


/* one block is filled while the other is read */

struct replay_inflate_s {
    gzFile             gz;
    pthread_t          thread;
    pthread_mutex_t    lock;
    pthread_cond_t     changed;
    replay_block_t     blocks[2];
    unsigned           current;            /* that is read */
    size_t             used;               /* of it */
    int                code;
    int                ended;
    int                stopped;
};


static void *replay_inflate_run(void *data);


replay_inflate_t *
replay_inflate_start(gzFile gz)
{
    replay_inflate_t  *inflate;

    inflate = replay_calloc(1, sizeof(replay_inflate_t));

    inflate->gz = gz;
    inflate->code = Z_OK;
    inflate->blocks[0].data = replay_alloc(REPLAY_INFLATE_BLOCK);
    inflate->blocks[1].data = replay_alloc(REPLAY_INFLATE_BLOCK);

    (void) pthread_mutex_init(&inflate->lock, NULL);
    (void) pthread_cond_init(&inflate->changed, NULL);

    if (pthread_create(&inflate->thread, NULL, replay_inflate_run, inflate)
        != 0)
    {
        replay_fatal("no thread can be started");
    }

    return inflate;
}


static void *
replay_inflate_run(void *data)
{
    int                n, code, stopped;
    unsigned           i;
    replay_block_t    *block;
    replay_inflate_t  *inflate;

    inflate = data;

    for (i = 0; /* void */ ; i = !i) {
        block = &inflate->blocks[i];

        (void) pthread_mutex_lock(&inflate->lock);

        while (block->full && !inflate->stopped) {
            (void) pthread_cond_wait(&inflate->changed, &inflate->lock);
        }

        stopped = inflate->stopped;

        (void) pthread_mutex_unlock(&inflate->lock);

        if (stopped) {
            return NULL;
        }

        n = gzread(inflate->gz, block->data, REPLAY_INFLATE_BLOCK);
        (void) gzerror(inflate->gz, &code);

        (void) pthread_mutex_lock(&inflate->lock);

        block->len = n > 0 ? (size_t) n : 0;
        block->offset = gzoffset(inflate->gz);
        block->full = (n > 0);

        inflate->code = code;
        inflate->ended = (n <= 0);

        (void) pthread_cond_signal(&inflate->changed);
        (void) pthread_mutex_unlock(&inflate->lock);

        if (n <= 0) {
            return NULL;
        }
    }
}


size_t
replay_inflate_read(replay_inflate_t *inflate, char *buf, size_t size,
    int *code)
{
    int              full;
    size_t           len;
    replay_block_t  *block;

    block = &inflate->blocks[inflate->current];

    (void) pthread_mutex_lock(&inflate->lock);

    while (!block->full && !inflate->ended) {
        (void) pthread_cond_wait(&inflate->changed, &inflate->lock);
    }

    full = block->full;
    *code = full ? Z_OK : inflate->code;

    (void) pthread_mutex_unlock(&inflate->lock);

    if (!full) {
        return 0;
    }

    len = block->len - inflate->used;
    len = len < size ? len : size;

    memcpy(buf, block->data + inflate->used, len);
    inflate->used += len;

    if (inflate->used == block->len) {
        (void) pthread_mutex_lock(&inflate->lock);
        block->full = 0;
        (void) pthread_cond_signal(&inflate->changed);
        (void) pthread_mutex_unlock(&inflate->lock);

        inflate->current = !inflate->current;
        inflate->used = 0;
    }

    return len;
}


int64_t
replay_inflate_offset(replay_inflate_t *inflate)
{
    int64_t  offset;

    (void) pthread_mutex_lock(&inflate->lock);
    offset = inflate->blocks[inflate->current].offset;
    (void) pthread_mutex_unlock(&inflate->lock);

    return offset;
}


void
replay_inflate_stop(replay_inflate_t *inflate)
{
    (void) pthread_mutex_lock(&inflate->lock);
    inflate->stopped = 1;
    (void) pthread_cond_signal(&inflate->changed);
    (void) pthread_mutex_unlock(&inflate->lock);

    (void) pthread_join(inflate->thread, NULL);

    (void) pthread_cond_destroy(&inflate->changed);
    (void) pthread_mutex_destroy(&inflate->lock);

    free(inflate->blocks[0].data);
    free(inflate->blocks[1].data);
    free(inflate);
}
