
/*
 * The most rejected clients beside an exact count of every client, and the
 * check that what is listed keeps within its bounds.
 */


#ifndef _TOP_H_INCLUDED_
#define _TOP_H_INCLUDED_


#include <inttypes.h>
#include <string.h>

#include "fnv.h"
#include "sw_math.h"
#include "sw_top.h"
#include "tap.h"


#define TOP_KEYS      200
#define TOP_COUNTERS  40
#define TOP_ADDS      4000


/* how keys are alike */

typedef enum {
    TOP_TEXT = 0,
    TOP_BINARY,                    /* with NUL, differ at their end */
    TOP_LENGTHS,                   /* one is the beginning of the next */
    TOP_TAILS,                     /* differ behind what is kept of them */
    TOP_KINDS
} top_kind_e;


/* an add that was killed may be counted or not: least is 0 then */

typedef struct {
    int64_t         time;
    int64_t         least;
    int64_t         most;
    int             key;
} top_add_t;


typedef struct {
    sw_top_t       *top;
    size_t          size;
    uint32_t        counters;
    int64_t         born;

    int             keys;
    sw_top_key_t    key[TOP_KEYS];
    unsigned char   digest[TOP_KEYS][SW_KEY_DIGEST];

    int             adds;
    top_add_t       add[TOP_ADDS];
} top_t;


static inline size_t
top_spell(unsigned char *text, top_kind_e kind, int i)
{
    switch (kind) {

    case TOP_BINARY:
        memset(text, 0, 6);
        text[4] = (unsigned char) (i % 16);
        text[5] = (unsigned char) (i / 16);
        return 6;

    case TOP_LENGTHS:
        memset(text, 'a', SW_TOP_KEY + TOP_KEYS);
        return (size_t) (SW_TOP_KEY - TOP_KEYS / 2 + i);

    case TOP_TAILS:
        memset(text, 'a', SW_TOP_KEY);
        return SW_TOP_KEY + (size_t) sprintf((char *) text + SW_TOP_KEY,
                                             "%03d", i);

    default:
        return (size_t) sprintf((char *) text, "192.0.2.%d", i);
    }
}


/* hashes: how many different ones there are at most */

static inline void
top_init(top_t *t, uint32_t counters, int keys, top_kind_e kind,
    uint32_t hashes, int64_t now)
{
    int             i;
    size_t          len;
    uint64_t        hash;
    unsigned char  *data, text[SW_TOP_KEY + TOP_KEYS];

    t->size = sw_top_size(counters);
    t->top = malloc(t->size);
    memset(t->top, 0xa5, t->size);

    sw_top_init(t->top, counters, now);

    t->counters = counters;
    t->born = now;
    t->keys = keys;
    t->adds = 0;

    for (i = 0; i < keys; i++) {
        len = top_spell(text, kind, i);

        /* nothing behind it can be read */

        data = malloc(len);
        memcpy(data, text, len);

        fnv_digest(t->digest[i], data, len);
        memcpy(&hash, t->digest[i], sizeof(hash));

        t->key[i].data = data;
        t->key[i].len = len;
        t->key[i].digest = (len > SW_TOP_KEY) ? t->digest[i] : NULL;
        t->key[i].hash = (uint32_t) (hash % hashes);
    }
}


static inline void
top_free(top_t *t)
{
    int  i;

    for (i = 0; i < t->keys; i++) {
        free((void *) t->key[i].data);
    }

    free(t->top);
}


/* the other process has mapped the memory elsewhere */

static inline void
top_move(top_t *t)
{
    sw_top_t  *moved;

    moved = malloc(t->size);
    memcpy(moved, t->top, t->size);
    memset(t->top, 0x5a, t->size);
    free(t->top);

    t->top = moved;
}


/* a clock that is behind adds to what others have begun */

static inline void
top_note(top_t *t, int key, int64_t least, int64_t most, int64_t now)
{
    top_add_t  *add;

    if (t->adds == TOP_ADDS) {
        abort();
    }

    add = &t->add[t->adds];
    add->time = t->adds ? sw_max(now, add[-1].time) : now;
    add->time = sw_max(add->time, t->born);
    add->key = key;
    add->least = least;
    add->most = most;
    t->adds++;
}


static inline void
top_add(top_t *t, int key, int64_t n, int64_t now)
{
    sw_top_add(t->top, &t->key[key], n, now);
    top_note(t, key, n, n, now);
}


/* the number of a key by what is listed, or -1 */

static inline int
top_key(const top_t *t, const sw_top_entry_t *entry)
{
    int  i;

    for (i = 0; i < t->keys; i++) {

        if (entry->len != t->key[i].len
            || memcmp(entry->key, t->key[i].data,
                      (size_t) sw_min(entry->len, SW_TOP_KEY)) != 0)
        {
            continue;
        }

        if (entry->len <= SW_TOP_KEY
            || memcmp(entry->digest, t->digest[i], SW_KEY_DIGEST) == 0)
        {
            return i;
        }
    }

    return -1;
}


static inline int
top_sorted(const sw_top_entry_t *entries, uint32_t n)
{
    uint32_t  i;

    for (i = 1; i < n; i++) {

        if (entries[i - 1].count != entries[i].count) {
            if (entries[i - 1].count < entries[i].count) {
                return 0;
            }

        } else if (entries[i - 1].error != entries[i].error) {
            if (entries[i - 1].error > entries[i].error) {
                return 0;
            }

        } else if (entries[i - 1].last < entries[i].last) {
            return 0;
        }
    }

    return 1;
}


/* says what is wrong, or NULL */

static inline const char *
top_wrong(top_t *t, int64_t now)
{
    int                    i, k;
    int64_t                since, overflow, all, newest, reach;
    int64_t                least[TOP_KEYS], most[TOP_KEYS];
    uint32_t               j, n, few;
    unsigned char          listed[TOP_KEYS];
    sw_top_entry_t        *e;

    static sw_top_entry_t  list[2 * TOP_COUNTERS + 1], part[2 * TOP_COUNTERS];

    since = sw_top_since(t->top, now);
    newest = t->adds ? sw_max(now, t->add[t->adds - 1].time) : now;
    newest = sw_max(newest, t->born);
    reach = newest - since;

    if ((since - t->born) % SW_TOP_EPOCH != 0 || since < t->born
        || reach < 0 || reach >= 2 * SW_TOP_EPOCH
        || (since > t->born && reach < SW_TOP_EPOCH))
    {
        return "since";
    }

    memset(least, 0, sizeof(least));
    memset(most, 0, sizeof(most));
    memset(listed, 0, sizeof(listed));
    all = 0;

    for (i = t->adds - 1; i >= 0 && t->add[i].time >= since; i--) {
        least[t->add[i].key] += t->add[i].least;
        most[t->add[i].key] += t->add[i].most;
        all += t->add[i].most;
    }

    /* the list repairs what was left undone, this does not */

    overflow = sw_top_overflow(t->top, now);

    if (overflow < 0 || overflow * t->counters > all) {
        return "overflow";
    }

    n = sw_top_list(t->top, now, list, 2 * t->counters + 1);

    if (n > 2 * t->counters) {
        return "longer than the counters";
    }

    if (sw_top_overflow(t->top, now) != overflow) {
        return "overflow after the list";
    }

    sw_top_sort(list, n);

    if (!top_sorted(list, n)) {
        return "order";
    }

    for (j = 0; j < n; j++) {
        e = &list[j];
        k = top_key(t, e);

        if (k < 0) {
            return "unknown key";
        }

        if (listed[k]++) {
            return "listed twice";
        }

        if (e->error < 0 || e->count < 1 || e->count - e->error > most[k]
            || e->count < least[k])
        {
            tap_diag("key %d: %" PRId64 " - %" PRId64 ", truly %" PRId64
                     " to %" PRId64, k, e->count, e->error, least[k],
                     most[k]);
            return "bounds";
        }

        if (e->first > e->last || e->last > newest) {
            return "times";
        }
    }

    for (k = 0; k < t->keys; k++) {

        if (!listed[k] && least[k] > overflow) {
            return "more than the overflow, and not listed";
        }

        if (!listed[k] && least[k] > all / t->counters) {
            return "much rejected, and not listed";
        }
    }

    /* a shorter list has the first ones */

    few = (uint32_t) tap_rand(0, 2 * t->counters);

    if (sw_top_list(t->top, now, part, few) != sw_min(few, n)) {
        return "length of a part";
    }

    few = (uint32_t) sw_min(few, n);
    sw_top_sort(part, few);

    for (j = 0; j < few; j++) {
        if (part[j].count != list[j].count
            || part[j].error != list[j].error
            || part[j].last != list[j].last)
        {
            return "a part has others";
        }
    }

    return NULL;
}


#endif /* _TOP_H_INCLUDED_ */
