
#include <stdlib.h>
#include <string.h>

#include "sw_bans.h"
#include "sw_math.h"
#include "sw_step.h"


#define SW_BANS_NONE      0xffff                 /* no place */

/* a mark of a ban that was left out: its end, and more of its hash */
#define SW_BANS_MARK_PLACE  14                   /* bits of the hash: where */
#define SW_BANS_MARK_HASH   18                   /* bits of the hash: whose */
#define SW_BANS_MARKS       (1 << SW_BANS_MARK_PLACE)
#define SW_BANS_MARK_END    (INT64_MAX >> (SW_BANS_MARK_HASH - 1))

/* places that a change looks at, whether their bans are over */
#define SW_BANS_SWEEP     4

/* places of a bucket that are looked at without the lock */
#define SW_BANS_STEPS     8

/* by as much two ends may differ that are the same, as they were heard of */
#define SW_BANS_NEAR      1000                   /* ms */


/*
 * What a search reads, apart from the keys: 2 in a cache line.  A ban that
 * changes is written to the times that are not in use, which are then
 * exchanged for the others by one write.
 */

typedef struct {
    int64_t               end[2];
    uint32_t              length[2];
    uint32_t              hash;
    uint16_t              next;                  /* of the same bucket, or
                                                  * free */
    uint8_t               state;                 /* 0: free; or 1 + which
                                                  * times */
} sw_bans_place_t;


typedef struct {
    int64_t               heard;                 /* when its times were */
    uint32_t              len;
    unsigned char         key[SW_BANS_KEY];
    unsigned char         digest[SW_KEY_DIGEST];
} sw_bans_client_t;


/*
 * Places from used on were never used, and nothing of them is read.  The
 * buckets, the free places and all counts follow from the states of the places.
 * changing says that they may be wrong.
 *
 * While every place is in use, none ends before least; 0: not known.
 */

struct sw_bans_s {
    int64_t               least;
    uint32_t              places;
    uint32_t              used;
    uint32_t              n;                     /* in use */
    uint32_t              hand;                  /* swept next */
    uint32_t              free;                  /* the first, or none */
    uint32_t              marked;                /* marks may be read */
    uint32_t              mask;                  /* of a hash: its bucket */
    uint32_t              changing;

    /* where they are, from the beginning on */

    uint32_t              place;
    uint32_t              client;
    uint32_t              bucket;
    uint32_t              marks;
};


static uint32_t sw_bans_buckets(uint32_t places);
static uint32_t sw_bans_find(const sw_bans_t *bans, const sw_bans_key_t *key);
static void sw_bans_update(sw_bans_t *bans, uint32_t i, int64_t heard,
    int64_t end, int64_t length);
static int sw_bans_make_room(sw_bans_t *bans, int64_t now, int64_t end);
static void sw_bans_write(sw_bans_t *bans, uint32_t i,
    const sw_bans_key_t *key, int64_t end, int64_t length);
static void sw_bans_use(sw_bans_t *bans, uint32_t i);
static void sw_bans_drop(sw_bans_t *bans, uint32_t i);
static void sw_bans_sweep(sw_bans_t *bans, int64_t now);
static void sw_bans_link(sw_bans_t *bans, uint32_t i);
static void sw_bans_leave_out(sw_bans_t *bans, uint32_t hash, int64_t end);
static void sw_bans_unmark(sw_bans_t *bans, uint32_t hash);
static uint32_t sw_bans_estimate(uint32_t marks);
static void sw_bans_repair(sw_bans_t *bans);
static void sw_bans_sink(sw_bans_entry_t *out, uint32_t n, uint32_t i);
static int sw_bans_compare(const void *one, const void *two);


static inline sw_bans_place_t *
sw_bans_place(const sw_bans_t *bans, uint32_t i)
{
    return (sw_bans_place_t *) (void *) ((char *) bans + bans->place) + i;
}


static inline sw_bans_client_t *
sw_bans_client(const sw_bans_t *bans, uint32_t i)
{
    return (sw_bans_client_t *) (void *) ((char *) bans + bans->client) + i;
}


static inline uint16_t *
sw_bans_bucket(const sw_bans_t *bans, uint32_t hash)
{
    return (uint16_t *) (void *) ((char *) bans + bans->bucket)
           + (hash & bans->mask);
}


static inline uint64_t *
sw_bans_mark(const sw_bans_t *bans, uint32_t hash)
{
    return (uint64_t *) (void *) ((char *) bans + bans->marks)
           + hash % SW_BANS_MARKS;
}


/* bans of one hash are not told apart */

static inline int
sw_bans_is_marked(uint64_t mark, uint32_t hash)
{
    return mark && (mark & ((1 << SW_BANS_MARK_HASH) - 1))
                   == hash >> SW_BANS_MARK_PLACE;
}


/* of a place that is in use */

static inline int64_t
sw_bans_end(const sw_bans_place_t *place)
{
    return place->end[place->state - 1];
}


static inline int
sw_bans_same(const sw_bans_client_t *client, const sw_bans_key_t *key)
{
    if (client->len != key->len) {
        return 0;
    }

    if (key->len && key->len <= SW_BANS_KEY) {
        return memcmp(client->key, key->data, key->len) == 0;
    }

    return memcmp(client->digest, key->digest, SW_KEY_DIGEST) == 0;
}


static inline void
sw_bans_change_begin(sw_bans_t *bans)
{
    bans->changing = 1;
    sw_step();
}


static inline void
sw_bans_change_end(sw_bans_t *bans)
{
    sw_step();
    bans->changing = 0;
}


size_t
sw_bans_size(uint32_t places)
{
    /* in this order all parts are aligned */

    return sizeof(sw_bans_t)
           + (sizeof(sw_bans_place_t) + sizeof(sw_bans_client_t))
             * (size_t) places
           + sizeof(uint64_t) * SW_BANS_MARKS
           + sizeof(uint16_t) * (size_t) sw_bans_buckets(places);
}


/* a power of two, two to four for each place: few are shared */

static uint32_t
sw_bans_buckets(uint32_t places)
{
    uint32_t  n;

    for (n = 2; n < 2 * places; n *= 2) { /* void */ }

    return n;
}


/* places and marks are not touched: what is never used needs no memory */

void
sw_bans_init(sw_bans_t *bans, uint32_t places)
{
    memset(bans, 0, sizeof(sw_bans_t));

    bans->places = places;
    bans->mask = sw_bans_buckets(places) - 1;
    bans->free = SW_BANS_NONE;

    bans->place = (uint32_t) sizeof(sw_bans_t);
    bans->client = bans->place + places * (uint32_t) sizeof(sw_bans_place_t);
    bans->marks = bans->client + places * (uint32_t) sizeof(sw_bans_client_t);
    bans->bucket = bans->marks + SW_BANS_MARKS * (uint32_t) sizeof(uint64_t);

    memset(sw_bans_bucket(bans, 0), 0xff,
           (bans->mask + 1) * sizeof(uint16_t));
}


void
sw_bans_insert(sw_bans_t *bans, const sw_bans_key_t *key, int64_t now,
    int64_t heard, int64_t left, int64_t length)
{
    int64_t   end;
    uint32_t  i;

    if (left <= 0) {
        sw_bans_remove(bans, key, now);
        return;
    }

    if (bans->changing) {
        sw_bans_repair(bans);
    }

    end = now + left;

    if (length) {
        length = sw_min(sw_max(length, left), UINT32_MAX);
    }

    i = sw_bans_find(bans, key);

    if (i != SW_BANS_NONE) {
        sw_bans_update(bans, i, heard, end, length);
        return;
    }

    sw_bans_sweep(bans, now);

    if (bans->n == bans->places && !sw_bans_make_room(bans, now, end)) {
        sw_bans_leave_out(bans, key->hash, end);
        return;
    }

    i = (bans->free != SW_BANS_NONE) ? bans->free : bans->used;

    sw_bans_client(bans, i)->heard = heard;
    sw_bans_write(bans, i, key, end, length);
    sw_bans_change_begin(bans);

    bans->least = sw_min(bans->least, end);
    sw_bans_use(bans, i);
    sw_bans_change_end(bans);

    sw_bans_unmark(bans, key->hash);
}


void
sw_bans_remove(sw_bans_t *bans, const sw_bans_key_t *key, int64_t now)
{
    sw_bans_remove_heard(bans, key, now, INT64_MAX);
    sw_bans_unmark(bans, key->hash);
}


/* when marks were heard of is not known: they stay */

void
sw_bans_remove_heard(sw_bans_t *bans, const sw_bans_key_t *key, int64_t now,
    int64_t before)
{
    uint32_t  i;

    if (bans->changing) {
        sw_bans_repair(bans);
    }

    i = sw_bans_find(bans, key);

    if (i != SW_BANS_NONE && sw_bans_client(bans, i)->heard < before) {
        sw_bans_drop(bans, i);
    }

    sw_bans_sweep(bans, now);
}


int
sw_bans_empty(const sw_bans_t *bans)
{
    const volatile sw_bans_t  *shared;

    shared = bans;

    return shared->n == 0 && !shared->changing;
}


/*
 * A place that another process takes out of the bucket meanwhile leads into the
 * free ones: there are not many steps, and a ban behind it may be missed.
 */

int
sw_bans_may_have(const sw_bans_t *bans, uint32_t hash)
{
    uint32_t                         i, steps;
    const volatile uint16_t         *bucket;
    const volatile sw_bans_t        *shared;
    const volatile sw_bans_place_t  *place;

    shared = bans;
    bucket = sw_bans_bucket(bans, hash);

    i = *bucket;

    for (steps = 0; i != SW_BANS_NONE && steps < SW_BANS_STEPS; steps++) {
        place = sw_bans_place(bans, i);

        if (place->hash == hash) {
            return 1;
        }

        i = place->next;
    }

    return i != SW_BANS_NONE || shared->changing;
}


int
sw_bans_may_be_left_out(const sw_bans_t *bans, uint32_t hash)
{
    const volatile uint64_t   *mark;
    const volatile sw_bans_t  *shared;

    shared = bans;
    mark = sw_bans_mark(bans, hash);

    return shared->marked && sw_bans_is_marked(*mark, hash);
}


static uint32_t
sw_bans_find(const sw_bans_t *bans, const sw_bans_key_t *key)
{
    uint32_t  i;

    i = *sw_bans_bucket(bans, key->hash);

    while (i != SW_BANS_NONE
           && (sw_bans_place(bans, i)->hash != key->hash
               || !sw_bans_same(sw_bans_client(bans, i), key)))
    {
        i = sw_bans_place(bans, i)->next;
    }

    return i;
}


static void
sw_bans_update(sw_bans_t *bans, uint32_t i, int64_t heard, int64_t end,
    int64_t length)
{
    uint32_t          other;
    sw_bans_place_t  *place;

    place = sw_bans_place(bans, i);
    other = 2 - place->state;

    if (length == 0 && llabs(end - sw_bans_end(place)) <= SW_BANS_NEAR) {
        return;
    }

    sw_bans_client(bans, i)->heard = heard;
    place->end[other] = end;
    place->length[other] = (uint32_t) length;
    bans->least = sw_min(bans->least, end);
    sw_step();

    place->state = (uint8_t) (1 + other);
}


/*
 * Bans that are over, or the one that ends first: returns 0 if that is the one
 * that would come.  One that was left out comes again with each request of its
 * client, and is turned away without a search.
 */

static int
sw_bans_make_room(sw_bans_t *bans, int64_t now, int64_t end)
{
    int64_t           least, other;
    uint32_t          i, first;
    sw_bans_place_t  *place;

    if (now < bans->least && end <= bans->least) {
        return 0;
    }

    first = 0;
    least = INT64_MAX;
    other = INT64_MAX;                           /* the second one */

    for (i = 0; i < bans->used; i++) {
        place = sw_bans_place(bans, i);

        if (sw_bans_end(place) <= now) {
            sw_bans_drop(bans, i);

        } else if (sw_bans_end(place) < least) {
            other = least;
            least = sw_bans_end(place);
            first = i;

        } else {
            other = sw_min(other, sw_bans_end(place));
        }
    }

    if (bans->n < bans->places) {
        return 1;
    }

    if (end <= least) {
        bans->least = least;
        return 0;
    }

    place = sw_bans_place(bans, first);

    sw_bans_leave_out(bans, place->hash, least);
    sw_step();

    sw_bans_drop(bans, first);

    bans->least = other;

    return 1;
}


/* to a place that is not in use */

static void
sw_bans_write(sw_bans_t *bans, uint32_t i, const sw_bans_key_t *key,
    int64_t end, int64_t length)
{
    sw_bans_place_t   *place;
    sw_bans_client_t  *client;

    place = sw_bans_place(bans, i);
    place->end[0] = end;
    place->length[0] = (uint32_t) length;
    place->hash = key->hash;
    place->state = 0;
    sw_step();

    client = sw_bans_client(bans, i);
    client->len = (uint32_t) key->len;
    memcpy(client->key, key->data,
           (size_t) sw_min((int64_t) key->len, SW_BANS_KEY));
    sw_step();

    if (key->len == 0 || key->len > SW_BANS_KEY) {
        memcpy(client->digest, key->digest, SW_KEY_DIGEST);
    }

    sw_step();
}


static void
sw_bans_use(sw_bans_t *bans, uint32_t i)
{
    sw_bans_place_t  *place;

    place = sw_bans_place(bans, i);

    if (i == bans->used) {
        bans->used = i + 1;

    } else {
        bans->free = place->next;
    }

    sw_step();

    place->state = 1;
    sw_step();

    sw_bans_link(bans, i);
    bans->n++;
}


static void
sw_bans_drop(sw_bans_t *bans, uint32_t i)
{
    uint16_t         *next;
    sw_bans_place_t  *place;

    place = sw_bans_place(bans, i);
    next = sw_bans_bucket(bans, place->hash);

    sw_bans_change_begin(bans);

    place->state = 0;
    sw_step();

    while (*next != i) {
        next = &sw_bans_place(bans, *next)->next;
    }

    *next = place->next;
    sw_step();

    place->next = (uint16_t) bans->free;
    sw_step();

    bans->free = i;
    bans->least = 0;
    bans->n--;

    sw_bans_change_end(bans);
}


/* so that a list without readers does not grow until it is full */

static void
sw_bans_sweep(sw_bans_t *bans, int64_t now)
{
    uint32_t          n;
    sw_bans_place_t  *place;

    for (n = 0; n < SW_BANS_SWEEP && bans->n; n++) {

        if (bans->hand >= bans->used) {
            bans->hand = 0;
        }

        place = sw_bans_place(bans, bans->hand);

        if (place->state && sw_bans_end(place) <= now) {
            sw_bans_drop(bans, bans->hand);
        }

        bans->hand++;
    }
}


static void
sw_bans_link(sw_bans_t *bans, uint32_t i)
{
    uint16_t         *bucket;
    sw_bans_place_t  *place;

    place = sw_bans_place(bans, i);
    bucket = sw_bans_bucket(bans, place->hash);

    place->next = *bucket;
    sw_step();

    *bucket = (uint16_t) i;
}


/*
 * A mark is one write, and counts no more when its ban is over: nothing of this
 * is repaired.  Of two bans with one mark it is that of the one that ends last.
 */

static void
sw_bans_leave_out(sw_bans_t *bans, uint32_t hash, int64_t end)
{
    uint64_t  *mark, value;

    if (!bans->marked) {
        memset(sw_bans_mark(bans, 0), 0, sizeof(uint64_t) * SW_BANS_MARKS);
        sw_step();
        bans->marked = 1;
        sw_step();
    }

    mark = sw_bans_mark(bans, hash);

    value = (uint64_t) sw_min(end, SW_BANS_MARK_END) << SW_BANS_MARK_HASH
            | hash >> SW_BANS_MARK_PLACE;

    if (value > *mark || sw_bans_is_marked(*mark, hash)) {
        *mark = value;
    }
}


static void
sw_bans_unmark(sw_bans_t *bans, uint32_t hash)
{
    if (bans->marked && sw_bans_is_marked(*sw_bans_mark(bans, hash), hash)) {
        *sw_bans_mark(bans, hash) = 0;
    }
}


/* after a process died between begin and end */

static void
sw_bans_repair(sw_bans_t *bans)
{
    uint32_t          i;
    sw_bans_place_t  *place;

    memset(sw_bans_bucket(bans, 0), 0xff,
           (bans->mask + 1) * sizeof(uint16_t));

    bans->free = SW_BANS_NONE;
    bans->least = 0;
    bans->n = 0;
    sw_step();

    for (i = 0; i < bans->used; i++) {
        place = sw_bans_place(bans, i);

        if (place->state) {
            sw_bans_link(bans, i);
            bans->n++;

        } else {
            place->next = (uint16_t) bans->free;
            bans->free = i;
        }

        sw_step();
    }

    sw_bans_change_end(bans);
}


uint32_t
sw_bans_count(const sw_bans_t *bans, int64_t now)
{
    uint32_t          i, n;
    sw_bans_place_t  *place;

    n = 0;

    for (i = 0; i < bans->used; i++) {
        place = sw_bans_place(bans, i);
        n += (place->state && sw_bans_end(place) > now);
    }

    return n;
}


uint32_t
sw_bans_overflow(const sw_bans_t *bans, int64_t now)
{
    uint32_t         i, n;
    uint64_t         least;
    const uint64_t  *marks;

    if (!bans->marked) {
        return 0;
    }

    n = 0;
    marks = sw_bans_mark(bans, 0);
    least = (uint64_t) (now + 1) << SW_BANS_MARK_HASH;

    for (i = 0; i < SW_BANS_MARKS; i++) {
        n += (marks[i] >= least);
    }

    return sw_bans_estimate(n);
}


/*
 * How many bans leave so many marks: MARKS * ln(MARKS / those without one).
 * ln(2^k * x) = k * ln(2) + 2 * artanh(z), z = (x - 1) / (x + 1), and x is from
 * 1 to 2: as z is up to a third, five terms of artanh are off by less than 0.1
 * bans.  Fractions have 32 bits.
 */

static uint32_t
sw_bans_estimate(uint32_t marks)
{
    int       i;
    uint64_t  without, ln, z, power;

    if (marks == 0) {
        return 0;
    }

    without = (uint64_t) sw_max(1, (int64_t) SW_BANS_MARKS - marks);
    ln = 0;

    while (2 * without <= SW_BANS_MARKS) {
        without *= 2;
        ln += 2977044472;                        /* ln(2) */
    }

    z = ((SW_BANS_MARKS - without) << 32) / (SW_BANS_MARKS + without);
    power = z;

    for (i = 1; i < 11; i += 2) {
        ln += 2 * power / (uint64_t) i;
        power = ((power * z >> 32) * z) >> 32;
    }

    return (uint32_t) ((ln * SW_BANS_MARKS + ((uint64_t) 1 << 31)) >> 32);
}


/*
 * Once there is no room left, out is a heap, whose first entry has the least
 * left.  Until an entry is one of the list, its len is its place.
 */

uint32_t
sw_bans_list(const sw_bans_t *bans, int64_t now, sw_bans_entry_t *out,
    uint32_t max)
{
    int64_t            left;
    uint32_t           i, k, n;
    sw_bans_place_t   *place;
    sw_bans_client_t  *client;

    n = 0;

    for (i = 0; i < bans->used; i++) {
        place = sw_bans_place(bans, i);

        if (place->state == 0) {
            continue;
        }

        left = sw_bans_end(place) - now;

        if (left <= 0 || (n == max && (max == 0 || left <= out[0].left))) {
            continue;
        }

        if (n < max) {
            out[n].left = left;
            out[n].len = i;
            n++;

            for (k = (n == max) ? n / 2 : 0; k; k--) {
                sw_bans_sink(out, n, k - 1);
            }

            continue;
        }

        out[0].left = left;
        out[0].len = i;
        sw_bans_sink(out, n, 0);
    }

    for (k = 0; k < n; k++) {
        i = out[k].len;
        place = sw_bans_place(bans, i);
        client = sw_bans_client(bans, i);

        out[k].length = place->length[place->state - 1];

        if (out[k].length) {
            out[k].length = sw_max(out[k].length, out[k].left);
        }

        out[k].len = client->len;
        memcpy(out[k].key, client->key,
               (size_t) sw_min((int64_t) client->len, SW_BANS_KEY));
    }

    return n;
}


static void
sw_bans_sink(sw_bans_entry_t *out, uint32_t n, uint32_t i)
{
    int64_t   left;
    uint32_t  below, len;

    left = out[i].left;
    len = out[i].len;

    for ( ;; ) {
        below = 2 * i + 1;

        if (below >= n) {
            break;
        }

        if (below + 1 < n && out[below + 1].left < out[below].left) {
            below++;
        }

        if (out[below].left >= left) {
            break;
        }

        out[i].left = out[below].left;
        out[i].len = out[below].len;
        i = below;
    }

    out[i].left = left;
    out[i].len = len;
}


void
sw_bans_sort(sw_bans_entry_t *entries, uint32_t n)
{
    qsort(entries, n, sizeof(sw_bans_entry_t), sw_bans_compare);
}


static int
sw_bans_compare(const void *one, const void *two)
{
    const sw_bans_entry_t  *a, *b;

    a = one;
    b = two;

    return (a->left < b->left) - (a->left > b->left);
}
