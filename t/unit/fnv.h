
/*
 * A digest for tests of keys: FNV-1a, as often as it takes to fill it.
 */


#ifndef _FNV_H_INCLUDED_
#define _FNV_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>

#include "sw_key.h"


static inline void
fnv_digest(unsigned char *out, const void *data, size_t len)
{
    size_t                i;
    uint64_t              hash;
    const unsigned char  *p;

    p = data;
    hash = 14695981039346656037ULL;

    for (i = 0; i < len; i++) {
        hash = (hash ^ p[i]) * 1099511628211ULL;
    }

    for (i = 0; i < SW_KEY_DIGEST; i++) {
        out[i] = (unsigned char) (hash >> i % 8 * 8);
    }
}


#endif /* _FNV_H_INCLUDED_ */
