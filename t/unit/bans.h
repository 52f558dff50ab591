
/*
 * The list of bans beside a model of it: an array of keys, with when the ban of
 * each ends, and whether it is in the list.  The bans in force that are not in
 * the list are counted one by one.
 */


#ifndef _BANS_H_INCLUDED_
#define _BANS_H_INCLUDED_


#include <inttypes.h>
#include <string.h>

#include "fnv.h"
#include "sw_bans.h"
#include "sw_math.h"
#include "tap.h"


#define BANS_KEYS    80
#define BANS_PLACES  64

/* bans that were left out are told apart by so much of their hash */
#define BANS_MARKS   16384


/* how keys are alike */

typedef enum {
    BANS_TEXT = 0,
    BANS_BINARY,                   /* with NUL, differ at their end */
    BANS_LENGTHS,                  /* one is the beginning of the next */
    BANS_TAILS,                    /* differ behind what is kept of them */
    BANS_NAMELESS,                 /* no byte of them is kept */
    BANS_KINDS
} bans_kind_e;


/* of a key; end 0: none was told of, or it was lifted */

typedef struct {
    int64_t         end;
    int64_t         length;
    int64_t         heard;
    int             listed;
} bans_ban_t;


typedef struct {
    bans_ban_t      ban[BANS_KEYS];
} bans_model_t;


typedef struct {
    sw_bans_t      *bans;
    size_t          size;
    uint32_t        places;

    int             keys;
    int             collide;       /* some may leave one mark */
    sw_bans_key_t   key[BANS_KEYS];
    unsigned char   digest[BANS_KEYS][SW_KEY_DIGEST];

    bans_model_t    model;
} bans_t;


static inline size_t
bans_spell(unsigned char *text, bans_kind_e kind, int i)
{
    switch (kind) {

    case BANS_BINARY:
        memset(text, 0, 6);
        text[4] = (unsigned char) (i % 16);
        text[5] = (unsigned char) (i / 16);
        return 6;

    case BANS_LENGTHS:
        memset(text, 'a', SW_BANS_KEY + BANS_KEYS);
        return (size_t) (SW_BANS_KEY - BANS_KEYS / 2 + i);

    case BANS_TAILS:
        memset(text, 'a', SW_BANS_KEY);
        return SW_BANS_KEY + (size_t) sprintf((char *) text + SW_BANS_KEY,
                                              "%03d", i);

    default:
        return (size_t) sprintf((char *) text, "192.0.2.%d", i);
    }
}


/* hashes: how many different ones there are at most */

static inline void
bans_init(bans_t *b, uint32_t places, int keys, bans_kind_e kind,
    uint32_t hashes)
{
    int             i, k;
    size_t          len;
    uint64_t        hash;
    unsigned char  *data, text[SW_BANS_KEY + BANS_KEYS];

    b->size = sw_bans_size(places);
    b->bans = malloc(b->size);
    memset(b->bans, 0xa5, b->size);

    sw_bans_init(b->bans, places);

    b->places = places;
    b->keys = keys;
    b->collide = 0;
    memset(&b->model, 0, sizeof(bans_model_t));

    for (i = 0; i < keys; i++) {
        len = bans_spell(text, kind, i);

        /* nothing behind it can be read */

        data = malloc(len);
        memcpy(data, text, len);

        fnv_digest(b->digest[i], data, len);
        memcpy(&hash, b->digest[i], sizeof(hash));

        b->key[i].data = data;
        b->key[i].len = (kind == BANS_NAMELESS) ? 0 : len;
        b->key[i].digest = (b->key[i].len == 0 || len > SW_BANS_KEY)
                           ? b->digest[i] : NULL;
        b->key[i].hash = (uint32_t) (hash % hashes);

        for (k = 0; k < i; k++) {
            b->collide |= (b->key[k].hash % BANS_MARKS
                           == b->key[i].hash % BANS_MARKS);
        }
    }
}


static inline void
bans_free(bans_t *b)
{
    int  i;

    for (i = 0; i < b->keys; i++) {
        free((void *) b->key[i].data);
    }

    free(b->bans);
}


/* the other process has mapped the memory elsewhere */

static inline void
bans_move(bans_t *b)
{
    sw_bans_t  *moved;

    moved = malloc(b->size);
    memcpy(moved, b->bans, b->size);
    memset(b->bans, 0x5a, b->size);
    free(b->bans);

    b->bans = moved;
}


static inline int
bans_active(const bans_t *b, int k, int64_t now)
{
    return b->model.ban[k].listed && b->model.ban[k].end > now;
}


static inline void
bans_model_insert(bans_t *b, int key, int64_t now, int64_t left,
    int64_t length)
{
    int          k, n, first;
    bans_ban_t  *ban;

    ban = b->model.ban;
    n = 0;
    first = -1;

    for (k = 0; k < b->keys; k++) {
        if (k != key && bans_active(b, k, now)) {
            n++;
            first = (first < 0 || ban[k].end < ban[first].end) ? k : first;
        }
    }

    if (!bans_active(b, key, now) && n == (int) b->places) {

        if (now + left <= ban[first].end) {
            ban[key].end = now + left;
            ban[key].listed = 0;
            return;
        }

        ban[first].listed = 0;
    }

    ban[key].end = now + left;
    ban[key].length = sw_max(length, left);
    ban[key].heard = now;
    ban[key].listed = 1;
}


static inline void
bans_model_remove(bans_t *b, int key)
{
    b->model.ban[key].end = 0;
    b->model.ban[key].listed = 0;
}


/* only what is in the list is known to be older than that */

static inline void
bans_model_remove_heard(bans_t *b, int key, int64_t before)
{
    if (b->model.ban[key].listed && b->model.ban[key].heard < before) {
        bans_model_remove(b, key);
    }
}


static inline uint32_t
bans_model_count(const bans_t *b, int64_t now)
{
    int       k;
    uint32_t  n;

    n = 0;

    for (k = 0; k < b->keys; k++) {
        n += (uint32_t) bans_active(b, k, now);
    }

    return n;
}


/* the truth */

static inline uint32_t
bans_model_overflow(const bans_t *b, int64_t now)
{
    int       k;
    uint32_t  n;

    n = 0;

    for (k = 0; k < b->keys; k++) {
        n += (b->model.ban[k].end > now && !b->model.ban[k].listed);
    }

    return n;
}


/* whether an entry may be of that key, by what it has of it */

static inline int
bans_is(const bans_t *b, const sw_bans_entry_t *entry, int k)
{
    return entry->len == b->key[k].len
           && memcmp(entry->key, b->key[k].data,
                     (size_t) sw_min(entry->len, SW_BANS_KEY)) == 0;
}


/* the number of a key by what is listed, or -1 */

static inline int
bans_key(const bans_t *b, const sw_bans_entry_t *entry, int64_t now)
{
    int  k;

    for (k = 0; k < b->keys; k++) {
        if (bans_is(b, entry, k) && bans_active(b, k, now)
            && b->model.ban[k].end - now == entry->left
            && b->model.ban[k].length == entry->length)
        {
            return k;
        }
    }

    return -1;
}


static inline int
bans_sorted(const sw_bans_entry_t *entries, uint32_t n)
{
    uint32_t  i;

    for (i = 1; i < n; i++) {
        if (entries[i - 1].left < entries[i].left) {
            return 0;
        }
    }

    return 1;
}


/* what is wrong with the list, or NULL; it is left in all, if that is given */

static inline const char *
bans_wrong_list(const bans_t *b, int64_t now, sw_bans_entry_t *all,
    uint32_t *nall)
{
    int                     k, known[BANS_KEYS];
    uint32_t                i, n, few, active;

    static sw_bans_entry_t  list[BANS_PLACES + 1], part[BANS_PLACES + 1];

    n = sw_bans_list(b->bans, now, list, b->places + 1);
    sw_bans_sort(list, n);

    active = 0;
    memset(known, 0, sizeof(known));

    for (k = 0; k < b->keys; k++) {
        active += (uint32_t) bans_active(b, k, now);

        if (bans_active(b, k, now)
            && (sw_bans_empty(b->bans)
                || !sw_bans_may_have(b->bans, b->key[k].hash)))
        {
            return "a ban that nobody would look for";
        }
    }

    for (i = 0; i < n; i++) {
        k = bans_key(b, &list[i], now);

        if (k < 0) {
            return "an entry that there should not be";
        }

        if (known[k]++) {
            return "an entry twice";
        }
    }

    if (n != active || sw_bans_count(b->bans, now) != n) {
        tap_diag("%u of %u bans", n, active);
        return "not all bans";
    }

    if (!bans_sorted(list, n)) {
        return "order";
    }

    /* a shorter list has the first ones */

    few = (uint32_t) tap_rand(0, b->places);

    if (sw_bans_list(b->bans, now, part, few) != sw_min(few, n)) {
        return "length of a part";
    }

    few = (uint32_t) sw_min(few, n);
    sw_bans_sort(part, few);

    for (i = 0; i < few; i++) {
        if (part[i].left != list[i].left) {
            return "a part has others";
        }
    }

    if (all) {
        memcpy(all, list, n * sizeof(sw_bans_entry_t));
        *nall = n;
    }

    return NULL;
}


static inline const char *
bans_wrong(const bans_t *b, int64_t now)
{
    uint32_t  overflow, truth;

    overflow = sw_bans_overflow(b->bans, now);
    truth = bans_model_overflow(b, now);

    /* so few are not estimated, unless some share a mark */

    if (overflow > truth || (overflow < truth && !b->collide)) {
        tap_diag("%u left out, truly %u", overflow, truth);
        return "overflow";
    }

    return bans_wrong_list(b, now, NULL, NULL);
}


#endif /* _BANS_H_INCLUDED_ */
