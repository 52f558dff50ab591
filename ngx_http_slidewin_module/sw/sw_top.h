
/*
 * The most rejected clients of the last five to ten minutes, in memory of a
 * fixed size: Space-Saving (Metwally, Agrawal, El Abbadi: Efficient Computation
 * of Frequent and Top-k Elements in Data Streams, 2005), with as many counters
 * as asked for in each of two epochs, the current one and the one before it.
 *
 * A key without a counter takes the one with the least count, and inherits
 * that count as its possible error.  For a key that is listed
 *
 *     count - error <= its rejections since sw_top_since() <= count
 *
 * and a key that is not listed has no more than sw_top_overflow().  That is at
 * most all rejections divided by the counters: a key with more is listed.
 *
 * The memory may be shared by processes, mapped anywhere in each.  The caller
 * has the lock.  A process may be killed inside of any function here: the
 * rejections that it was adding are then counted or not, and all others are.
 */


#ifndef _SW_TOP_H_INCLUDED_
#define _SW_TOP_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>

#include "sw_key.h"


#define SW_TOP_COUNTERS_MAX  65000
#define SW_TOP_EPOCH         300000     /* ms */
#define SW_TOP_KEY           256        /* bytes of a key that are kept */


typedef struct sw_top_s  sw_top_t;


/* keys that are longer than what is kept of them differ by their digests */

typedef struct {
    const void           *data;         /* the whole key, not NULL */
    size_t                len;
    const unsigned char  *digest;       /* read if len > SW_TOP_KEY */
    uint32_t              hash;         /* of the whole key */
} sw_top_key_t;


typedef struct {
    int64_t               count;
    int64_t               error;
    int64_t               first;        /* since the key has its counter */
    int64_t               last;
    uint32_t              len;          /* of the whole key */
    unsigned char         key[SW_TOP_KEY];
    unsigned char         digest[SW_KEY_DIGEST];  /* if len > SW_TOP_KEY */
} sw_top_entry_t;


/* times are ms of a monotonic clock, which may differ between processes */

/* the memory begins at a multiple of 8; counters: 1 .. SW_TOP_COUNTERS_MAX */
size_t sw_top_size(uint32_t counters);
void sw_top_init(sw_top_t *top, uint32_t counters, int64_t now);

/* n rejections of a key, at least one */
void sw_top_add(sw_top_t *top, const sw_top_key_t *key, int64_t n,
    int64_t now);

/*
 * The entries that come first by sw_top_sort(), at most max of them and twice
 * the counters, in any order.  Sorting needs no lock.
 */
uint32_t sw_top_list(sw_top_t *top, int64_t now, sw_top_entry_t *out,
    uint32_t max);

/* by count, then by what is certain of it, then the last rejected first */
void sw_top_sort(sw_top_entry_t *entries, uint32_t n);

/* from when on the list counts: the start of the epoch before the current */
int64_t sw_top_since(const sw_top_t *top, int64_t now);

/* the most that a key without a counter may have */
int64_t sw_top_overflow(const sw_top_t *top, int64_t now);


#endif /* _SW_TOP_H_INCLUDED_ */
