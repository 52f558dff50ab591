
/*
 * Arrays that grow in a pool.  What is pushed moves when the array grows.
 */


#ifndef _REPLAY_ARRAY_H_INCLUDED_
#define _REPLAY_ARRAY_H_INCLUDED_


#include "replay_pool.h"


/* zeroed before the first use */

typedef struct {
    void            *elts;
    size_t           nelts;
    size_t           nalloc;
} replay_array_t;


/* a new last element, zeroed */

static inline void *
replay_array_push(replay_pool_t *pool, replay_array_t *array, size_t size)
{
    char  *elt, *elts;

    if (array->nelts == array->nalloc) {
        array->nalloc = array->nalloc ? 2 * array->nalloc : 4;

        elts = replay_pool_alloc(pool, array->nalloc * size);

        if (array->nelts) {
            memcpy(elts, array->elts, array->nelts * size);
        }

        array->elts = elts;
    }

    elt = (char *) array->elts + array->nelts++ * size;

    memset(elt, 0, size);

    return elt;
}


#endif /* _REPLAY_ARRAY_H_INCLUDED_ */
