
/*
 * The bans that are in force, to be listed, in memory of a fixed size.  A ban
 * that is over is not listed, and makes room.  When there is no other room,
 * the ban that ends first does: it stays a ban, but is left out of the list.
 *
 * Nothing is decided by this list.  It has what its processes have heard of.
 *
 * The memory may be shared by processes, mapped anywhere in each.  The caller
 * has the lock, except where it says otherwise.  A process may be killed inside
 * of any function here: what it was changing is then as before or as it should
 * be, and all else is untouched.
 */


#ifndef _SW_BANS_H_INCLUDED_
#define _SW_BANS_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>

#include "sw_key.h"


#define SW_BANS_PLACES_MAX  65000
#define SW_BANS_KEY         96          /* bytes of a key that are kept */


typedef struct sw_bans_s  sw_bans_t;


/*
 * Keys that are longer than what is kept of them differ by their digests.  So
 * do those that no byte is kept of, whose length is given as 0.
 */

typedef struct {
    const void           *data;         /* the whole key */
    size_t                len;
    const unsigned char  *digest;       /* read if len is 0 or > SW_BANS_KEY */
    uint32_t              hash;         /* of the whole key */
} sw_bans_key_t;


typedef struct {
    int64_t               left;         /* ms, more than 0 */
    int64_t               length;       /* ms, at least what is left; 0: not
                                         * known */
    uint32_t              len;          /* of the whole key; 0: not kept */
    unsigned char         key[SW_BANS_KEY];
} sw_bans_entry_t;


/* times are ms of a monotonic clock, which all processes share */

/* the memory begins at a multiple of 8; places: 1 .. SW_BANS_PLACES_MAX */
size_t sw_bans_size(uint32_t places);
void sw_bans_init(sw_bans_t *bans, uint32_t places);

/*
 * A ban that has begun or was heard of at that time, which may be finer than
 * ms: bans begin and end within one.  One of the same key is replaced.  One
 * of which the length was not heard, 0, is the one in the list if that ends at
 * about the same time.
 */
void sw_bans_insert(sw_bans_t *bans, const sw_bans_key_t *key, int64_t now,
    int64_t heard, int64_t left, int64_t length);

/* if there is one; it need not be in the list */
void sw_bans_remove(sw_bans_t *bans, const sw_bans_key_t *key, int64_t now);

/*
 * If there is one in the list that was heard of before that time, by the clock
 * of what was heard: one that was heard of later may have begun since.
 */
void sw_bans_remove_heard(sw_bans_t *bans, const sw_bans_key_t *key,
    int64_t now, int64_t before);

/*
 * All without the lock, for requests that have no ban: whether there is none in
 * the list, whether there may be one of a key with that hash, and whether one
 * may have been left out.
 */
int sw_bans_empty(const sw_bans_t *bans);
int sw_bans_may_have(const sw_bans_t *bans, uint32_t hash);
int sw_bans_may_be_left_out(const sw_bans_t *bans, uint32_t hash);

/* those in the list */
uint32_t sw_bans_count(const sw_bans_t *bans, int64_t now);

/*
 * About how many bans are in force that are not in the list, but no more than
 * 158,991.  It is an estimate by the hashes of keys: two bans may leave one
 * mark, and lifting one of them forgets the other.
 */
uint32_t sw_bans_overflow(const sw_bans_t *bans, int64_t now);

/*
 * Those with the most time left, at most max of them, in any order.  Sorting
 * needs no lock.
 */
uint32_t sw_bans_list(const sw_bans_t *bans, int64_t now, sw_bans_entry_t *out,
    uint32_t max);

/* the most time left first */
void sw_bans_sort(sw_bans_entry_t *entries, uint32_t n);


#endif /* _SW_BANS_H_INCLUDED_ */
