
#include <stdlib.h>
#include <string.h>

#include "sw_math.h"
#include "sw_step.h"
#include "sw_top.h"


#define SW_TOP_NONE  0xffff                      /* no counter */


/* what a search and the heap read, apart from the keys: 4 in a cache line */

typedef struct {
    int64_t               count;
    uint32_t              hash;
    uint16_t              next;                  /* of the same bucket */
    uint16_t              place;                 /* in the heap */
} sw_top_counter_t;


typedef struct {
    int64_t               error;
    int64_t               first;
    int64_t               last;
    uint32_t              len;
    unsigned char         key[SW_TOP_KEY];
    unsigned char         digest[SW_KEY_DIGEST];
} sw_top_client_t;


/*
 * There is one counter more than asked for, the spare one.  A key that takes
 * the counter of another is written to the spare one, which is then exchanged
 * for the other by one write, so that at no time a key is half a key.
 *
 * Until all counters are in use, the first ones are, and there is no heap.
 *
 * The buckets and the heap follow from the counters.  changing says that they
 * may be wrong; the counters in use, their counts and their keys never are.
 * A count is one write, on a machine of 32 bits as long as it is below 2^32.
 *
 * An epoch whose number has passed may have anything in it.
 */

typedef struct {
    int64_t               number;
    uint32_t              counters;
    uint32_t              used;
    uint32_t              spare;
    uint32_t              changing;
    uint32_t              mask;                  /* of a hash: its bucket */

    /* where they are, from the epoch on */

    uint32_t              counter;
    uint32_t              client;
    uint32_t              bucket;
    uint32_t              heap;
} sw_top_epoch_t;


/* epochs are numbered from 1, an odd one is epochs[1] */

struct sw_top_s {
    int64_t               born;
    int64_t               newest;                /* number */
    sw_top_epoch_t        epochs[2];
};


static uint32_t sw_top_buckets(uint32_t counters);
static void sw_top_reset(sw_top_epoch_t *epoch, int64_t number);
static void sw_top_add_any(sw_top_t *top, const sw_top_key_t *key, int64_t n,
    int64_t now) __attribute__((noinline));
static uint32_t sw_top_find(const sw_top_epoch_t *epoch,
    const sw_top_key_t *key);
static void sw_top_prepare(sw_top_t *top, sw_top_epoch_t *epoch,
    int64_t number);
static void sw_top_insert(sw_top_epoch_t *epoch, const sw_top_key_t *key,
    int64_t n, int64_t now);
static void sw_top_write(sw_top_epoch_t *epoch, uint32_t i,
    const sw_top_key_t *key, int64_t count, int64_t error, int64_t now);
static void sw_top_replace(sw_top_epoch_t *epoch, uint32_t i, uint32_t old);
static void sw_top_link(sw_top_epoch_t *epoch, uint32_t i);
static void sw_top_unlink(sw_top_epoch_t *epoch, uint32_t i);
static void sw_top_heapify(sw_top_epoch_t *epoch);
static void sw_top_sink(sw_top_epoch_t *epoch, uint32_t place, uint32_t i);
static void sw_top_repair(sw_top_epoch_t *epoch);
static int64_t sw_top_least(const sw_top_epoch_t *epoch);
static uint32_t sw_top_merge(const sw_top_epoch_t *epoch,
    const sw_top_epoch_t *other, int again, sw_top_entry_t *out, uint32_t n,
    uint32_t max);
static uint32_t sw_top_select(const sw_top_client_t *client,
    sw_top_entry_t *entry, sw_top_entry_t *out, uint32_t n, uint32_t max);
static void sw_top_select_sink(sw_top_entry_t *out, uint32_t n, uint32_t i);
static int sw_top_compare(const void *one, const void *two);


static inline sw_top_counter_t *
sw_top_counters(const sw_top_epoch_t *epoch)
{
    return (void *) ((char *) epoch + epoch->counter);
}


static inline sw_top_client_t *
sw_top_client(const sw_top_epoch_t *epoch, uint32_t i)
{
    return (sw_top_client_t *) (void *) ((char *) epoch + epoch->client) + i;
}


static inline uint16_t *
sw_top_bucket(const sw_top_epoch_t *epoch, uint32_t hash)
{
    return (uint16_t *) (void *) ((char *) epoch + epoch->bucket)
           + (hash & epoch->mask);
}


static inline uint16_t *
sw_top_heap(const sw_top_epoch_t *epoch)
{
    return (void *) ((char *) epoch + epoch->heap);
}


static inline int
sw_top_full(const sw_top_epoch_t *epoch)
{
    return epoch->used == epoch->counters;
}


/* counters in use are below, but for the spare one */

static inline uint32_t
sw_top_end(const sw_top_epoch_t *epoch)
{
    return epoch->used + (uint32_t) sw_top_full(epoch);
}


/* a process whose clock is behind counts in the epoch that others have begun */

static inline int64_t
sw_top_number(const sw_top_t *top, int64_t now)
{
    if (now - top->born < top->newest * SW_TOP_EPOCH) {
        return top->newest;
    }

    return (now - top->born) / SW_TOP_EPOCH + 1;
}


/* an epoch in which something was counted, or NULL */

static inline const sw_top_epoch_t *
sw_top_epoch(const sw_top_t *top, int64_t number)
{
    const sw_top_epoch_t  *epoch;

    epoch = &top->epochs[number & 1];

    return epoch->number == number ? epoch : NULL;
}


static inline int
sw_top_same(const sw_top_client_t *client, const sw_top_key_t *key)
{
    if (client->len != key->len) {
        return 0;
    }

    if (key->len <= SW_TOP_KEY) {
        return memcmp(client->key, key->data, key->len) == 0;
    }

    return memcmp(client->digest, key->digest, SW_KEY_DIGEST) == 0;
}


/* a key of 4 to 16 bytes, an address: its first and last bytes may overlap */

static inline int
sw_top_same_short(const sw_top_client_t *client, const sw_top_key_t *key)
{
    uint32_t              a, b, c, d;
    uint64_t              e, f, g, h;
    const unsigned char  *data;

    if (client->len != key->len || key->len - 4 > 12) {
        return 0;
    }

    data = key->data;

    if (key->len < 8) {
        memcpy(&a, client->key, 4);
        memcpy(&b, data, 4);
        memcpy(&c, client->key + key->len - 4, 4);
        memcpy(&d, data + key->len - 4, 4);

        return ((a ^ b) | (c ^ d)) == 0;
    }

    memcpy(&e, client->key, 8);
    memcpy(&f, data, 8);
    memcpy(&g, client->key + key->len - 8, 8);
    memcpy(&h, data + key->len - 8, 8);

    return ((e ^ f) | (g ^ h)) == 0;
}


/* would a counter with that count still be no greater than those below it */

static inline int
sw_top_settled(const sw_top_epoch_t *epoch, uint32_t i, int64_t count)
{
    uint32_t                 below;
    const uint16_t          *heap;
    const sw_top_counter_t  *counters;

    if (!sw_top_full(epoch)) {
        return 1;
    }

    counters = sw_top_counters(epoch);
    below = 2 * (uint32_t) counters[i].place + 1;

    if (below >= epoch->counters) {
        return 1;
    }

    heap = sw_top_heap(epoch);

    return counters[heap[below]].count >= count
           && (below + 1 == epoch->counters
               || counters[heap[below + 1]].count >= count);
}


static inline void
sw_top_count(sw_top_epoch_t *epoch, uint32_t i, int64_t n, int64_t now)
{
    sw_top_client_t  *client;

    client = sw_top_client(epoch, i);

    if (now > client->last) {
        client->last = now;
    }

    sw_step();
    sw_top_counters(epoch)[i].count += n;
}


static inline void
sw_top_change_begin(sw_top_epoch_t *epoch)
{
    epoch->changing = 1;
    sw_step();
}


static inline void
sw_top_change_end(sw_top_epoch_t *epoch)
{
    sw_step();
    epoch->changing = 0;
}


size_t
sw_top_size(uint32_t counters)
{
    size_t  size;

    /* counters and clients first, which keeps all parts aligned */

    size = (sizeof(sw_top_counter_t) + sizeof(sw_top_client_t))
           * ((size_t) counters + 1)
           + sizeof(uint16_t) * ((size_t) sw_top_buckets(counters) + counters);

    return sizeof(sw_top_t) + 2 * ((size + 7) / 8 * 8);
}


/* a power of two, two to four for each counter: few are shared */

static uint32_t
sw_top_buckets(uint32_t counters)
{
    uint32_t  n;

    for (n = 2; n < 2 * counters; n *= 2) { /* void */ }

    return n;
}


void
sw_top_init(sw_top_t *top, uint32_t counters, int64_t now)
{
    size_t           size;
    uint32_t         i;
    sw_top_epoch_t  *epoch;

    top->born = now;
    top->newest = 1;

    size = (sw_top_size(counters) - sizeof(sw_top_t)) / 2;

    for (i = 0; i < 2; i++) {
        epoch = &top->epochs[i];

        epoch->counters = counters;
        epoch->mask = sw_top_buckets(counters) - 1;

        epoch->counter = (uint32_t) (sizeof(sw_top_t)
                                     - offsetof(sw_top_t, epochs)
                                     - i * sizeof(sw_top_epoch_t) + i * size);
        epoch->client = epoch->counter
                        + (counters + 1) * (uint32_t) sizeof(sw_top_counter_t);
        epoch->bucket = epoch->client
                        + (counters + 1) * (uint32_t) sizeof(sw_top_client_t);
        epoch->heap = epoch->bucket
                      + (epoch->mask + 1) * (uint32_t) sizeof(uint16_t);

        sw_top_reset(epoch, i);
    }
}


/* the number comes last: a reset that was left undone is done again */

static void
sw_top_reset(sw_top_epoch_t *epoch, int64_t number)
{
    epoch->used = 0;
    epoch->spare = epoch->counters;
    sw_step();

    memset(sw_top_bucket(epoch, 0), 0xff,
           (epoch->mask + 1) * sizeof(uint16_t));
    epoch->changing = 0;
    sw_step();

    epoch->number = number;
}


/*
 * Most rejections are of a client that has a counter, in an epoch that has
 * begun, with a key that is short.  Those are added without a call, which
 * spares a third of the instructions.
 */

void
sw_top_add(sw_top_t *top, const sw_top_key_t *key, int64_t n, int64_t now)
{
    uint32_t           i;
    sw_top_epoch_t    *epoch;
    sw_top_counter_t  *counters;

    epoch = (top->newest & 1) ? &top->epochs[1] : &top->epochs[0];

    if (now - top->born >= top->newest * SW_TOP_EPOCH
        || epoch->number != top->newest || epoch->changing)
    {
        sw_top_add_any(top, key, n, now);
        return;
    }

    counters = sw_top_counters(epoch);
    i = *sw_top_bucket(epoch, key->hash);

    while (i != SW_TOP_NONE && counters[i].hash != key->hash) {
        i = counters[i].next;
    }

    if (i == SW_TOP_NONE
        || !sw_top_same_short(sw_top_client(epoch, i), key)
        || !sw_top_settled(epoch, i, counters[i].count + n))
    {
        sw_top_add_any(top, key, n, now);
        return;
    }

    sw_top_count(epoch, i, n, now);
}


static void
sw_top_add_any(sw_top_t *top, const sw_top_key_t *key, int64_t n, int64_t now)
{
    int64_t          number;
    uint32_t         i;
    sw_top_epoch_t  *epoch;

    number = sw_top_number(top, now);
    epoch = &top->epochs[number & 1];

    if (epoch->number != number || epoch->changing) {
        sw_top_prepare(top, epoch, number);
    }

    i = sw_top_find(epoch, key);

    if (i == SW_TOP_NONE) {
        sw_top_insert(epoch, key, n, now);
        return;
    }

    if (sw_top_settled(epoch, i, sw_top_counters(epoch)[i].count + n)) {
        sw_top_count(epoch, i, n, now);
        return;
    }

    sw_top_change_begin(epoch);

    sw_top_count(epoch, i, n, now);
    sw_step();

    sw_top_sink(epoch, sw_top_counters(epoch)[i].place, i);
    sw_top_change_end(epoch);
}


static uint32_t
sw_top_find(const sw_top_epoch_t *epoch, const sw_top_key_t *key)
{
    uint32_t                 i;
    const sw_top_counter_t  *counters;

    counters = sw_top_counters(epoch);
    i = *sw_top_bucket(epoch, key->hash);

    while (i != SW_TOP_NONE
           && (counters[i].hash != key->hash
               || !sw_top_same(sw_top_client(epoch, i), key)))
    {
        i = counters[i].next;
    }

    return i;
}


/* an epoch for a number that has come, or after a process died in a change */

static void
sw_top_prepare(sw_top_t *top, sw_top_epoch_t *epoch, int64_t number)
{
    if (epoch->number != number) {

        /* what is reset is not in the list, even by a clock that is behind */

        top->newest = number;
        sw_step();

        sw_top_reset(epoch, number);
        return;
    }

    sw_top_repair(epoch);
}


static void
sw_top_insert(sw_top_epoch_t *epoch, const sw_top_key_t *key, int64_t n,
    int64_t now)
{
    int64_t   least;
    uint32_t  i, old;

    if (!sw_top_full(epoch)) {
        i = epoch->used;

        sw_top_write(epoch, i, key, n, 0, now);
        sw_top_change_begin(epoch);

        epoch->used = i + 1;
        sw_step();

        sw_top_link(epoch, i);

        if (sw_top_full(epoch)) {
            sw_top_heapify(epoch);
        }

        sw_top_change_end(epoch);
        return;
    }

    i = epoch->spare;
    old = sw_top_heap(epoch)[0];
    least = sw_top_counters(epoch)[old].count;

    sw_top_write(epoch, i, key, least + n, least, now);
    sw_top_change_begin(epoch);

    sw_top_replace(epoch, i, old);
    sw_top_change_end(epoch);
}


/* to a counter that is not in use */

static void
sw_top_write(sw_top_epoch_t *epoch, uint32_t i, const sw_top_key_t *key,
    int64_t count, int64_t error, int64_t now)
{
    sw_top_client_t   *client;
    sw_top_counter_t  *counter;

    client = sw_top_client(epoch, i);
    client->error = error;
    client->first = now;
    client->last = now;
    client->len = (uint32_t) key->len;
    sw_step();

    if (key->len <= SW_TOP_KEY) {
        memcpy(client->key, key->data, key->len);

    } else {
        memcpy(client->key, key->data, SW_TOP_KEY);
        sw_step();
        memcpy(client->digest, key->digest, SW_KEY_DIGEST);
    }

    sw_step();

    counter = &sw_top_counters(epoch)[i];
    counter->count = count;
    counter->hash = key->hash;
    sw_step();
}


static void
sw_top_replace(sw_top_epoch_t *epoch, uint32_t i, uint32_t old)
{
    sw_top_unlink(epoch, old);
    sw_step();

    epoch->spare = old;
    sw_step();

    sw_top_link(epoch, i);
    sw_step();

    sw_top_sink(epoch, 0, i);
}


static void
sw_top_link(sw_top_epoch_t *epoch, uint32_t i)
{
    uint16_t          *bucket;
    sw_top_counter_t  *counter;

    counter = &sw_top_counters(epoch)[i];
    bucket = sw_top_bucket(epoch, counter->hash);

    counter->next = *bucket;
    sw_step();

    *bucket = (uint16_t) i;
}


static void
sw_top_unlink(sw_top_epoch_t *epoch, uint32_t i)
{
    uint16_t          *next;
    sw_top_counter_t  *counters;

    counters = sw_top_counters(epoch);
    next = sw_top_bucket(epoch, counters[i].hash);

    while (*next != i) {
        next = &counters[*next].next;
    }

    *next = counters[i].next;
}


static void
sw_top_heapify(sw_top_epoch_t *epoch)
{
    uint32_t           i, place;
    uint16_t          *heap;
    sw_top_counter_t  *counters;

    heap = sw_top_heap(epoch);
    counters = sw_top_counters(epoch);

    for (i = 0, place = 0; place < epoch->counters; i++) {

        if (i == epoch->spare) {
            continue;
        }

        heap[place] = (uint16_t) i;
        counters[i].place = (uint16_t) place;
        place++;
    }

    sw_step();

    for (place = epoch->counters / 2; place; place--) {
        sw_top_sink(epoch, place - 1, heap[place - 1]);
    }
}


/* puts a counter at a place of the heap or below it; the others move up */

static void
sw_top_sink(sw_top_epoch_t *epoch, uint32_t place, uint32_t i)
{
    int64_t            count;
    uint32_t           below;
    uint16_t          *heap;
    sw_top_counter_t  *counters;

    heap = sw_top_heap(epoch);
    counters = sw_top_counters(epoch);
    count = counters[i].count;

    for ( ;; ) {
        below = 2 * place + 1;

        if (below >= epoch->counters) {
            break;
        }

        if (below + 1 < epoch->counters
            && counters[heap[below + 1]].count < counters[heap[below]].count)
        {
            below++;
        }

        if (counters[heap[below]].count >= count) {
            break;
        }

        heap[place] = heap[below];
        counters[heap[place]].place = (uint16_t) place;
        sw_step();

        place = below;
    }

    heap[place] = (uint16_t) i;
    sw_step();

    counters[i].place = (uint16_t) place;
}


/*
 * After a process died between begin and end.  What it was adding is counted
 * or not; nothing else is lost.
 */

static void
sw_top_repair(sw_top_epoch_t *epoch)
{
    uint32_t  i;

    memset(sw_top_bucket(epoch, 0), 0xff,
           (epoch->mask + 1) * sizeof(uint16_t));
    sw_step();

    for (i = 0; i < sw_top_end(epoch); i++) {
        if (i != epoch->spare) {
            sw_top_link(epoch, i);
        }
    }

    if (sw_top_full(epoch)) {
        sw_top_heapify(epoch);
    }

    sw_top_change_end(epoch);
}


/* the most that a key without a counter may have in an epoch */

static int64_t
sw_top_least(const sw_top_epoch_t *epoch)
{
    int64_t                  least;
    uint32_t                 i;
    const sw_top_counter_t  *counters;

    if (epoch == NULL || !sw_top_full(epoch)) {
        return 0;
    }

    counters = sw_top_counters(epoch);

    if (!epoch->changing) {
        return counters[sw_top_heap(epoch)[0]].count;
    }

    least = INT64_MAX;

    for (i = 0; i < sw_top_end(epoch); i++) {
        if (i != epoch->spare) {
            least = sw_min(least, counters[i].count);
        }
    }

    return least;
}


int64_t
sw_top_since(const sw_top_t *top, int64_t now)
{
    return sw_max(top->born + (sw_top_number(top, now) - 2) * SW_TOP_EPOCH,
                  top->born);
}


int64_t
sw_top_overflow(const sw_top_t *top, int64_t now)
{
    int64_t  number;

    number = sw_top_number(top, now);

    return sw_top_least(sw_top_epoch(top, number))
           + sw_top_least(sw_top_epoch(top, number - 1));
}


uint32_t
sw_top_list(sw_top_t *top, int64_t now, sw_top_entry_t *out, uint32_t max)
{
    int64_t                number;
    uint32_t               i, n;
    const sw_top_epoch_t  *current, *previous;

    for (i = 0; i < 2; i++) {
        if (top->epochs[i].changing) {
            sw_top_repair(&top->epochs[i]);
        }
    }

    number = sw_top_number(top, now);
    current = sw_top_epoch(top, number);
    previous = sw_top_epoch(top, number - 1);

    n = 0;

    if (max) {
        n = sw_top_merge(current, previous, 0, out, n, max);
        n = sw_top_merge(previous, current, 1, out, n, max);
    }

    return n;
}


/*
 * Keys of an epoch, with what they have in the other one.  The second of the
 * two epochs leaves out those that the first one had.
 */

static uint32_t
sw_top_merge(const sw_top_epoch_t *epoch, const sw_top_epoch_t *other,
    int again, sw_top_entry_t *out, uint32_t n, uint32_t max)
{
    int64_t                  least;
    uint32_t                 i, j;
    sw_top_key_t             key;
    sw_top_entry_t           entry;
    const sw_top_client_t   *client;
    const sw_top_counter_t  *counters;

    if (epoch == NULL) {
        return n;
    }

    least = sw_top_least(other);
    counters = sw_top_counters(epoch);

    for (i = 0; i < sw_top_end(epoch); i++) {

        if (i == epoch->spare) {
            continue;
        }

        client = sw_top_client(epoch, i);

        key.data = client->key;
        key.len = client->len;
        key.digest = client->digest;
        key.hash = counters[i].hash;

        j = other ? sw_top_find(other, &key) : SW_TOP_NONE;

        if (j != SW_TOP_NONE && again) {
            continue;
        }

        entry.count = counters[i].count + least;
        entry.error = client->error + least;
        entry.first = client->first;
        entry.last = client->last;

        if (j != SW_TOP_NONE) {
            entry.count += sw_top_counters(other)[j].count - least;
            entry.error += sw_top_client(other, j)->error - least;
            entry.first = sw_min(entry.first, sw_top_client(other, j)->first);
            entry.last = sw_max(entry.last, sw_top_client(other, j)->last);
        }

        n = sw_top_select(client, &entry, out, n, max);
    }

    return n;
}


/* once there is no room left, out is a heap, whose first entry sorts last */

static uint32_t
sw_top_select(const sw_top_client_t *client, sw_top_entry_t *entry,
    sw_top_entry_t *out, uint32_t n, uint32_t max)
{
    uint32_t  i;

    if (n == max && sw_top_compare(entry, &out[0]) >= 0) {
        return n;
    }

    entry->len = client->len;
    memcpy(entry->key, client->key, (size_t) sw_min(client->len, SW_TOP_KEY));

    if (client->len > SW_TOP_KEY) {
        memcpy(entry->digest, client->digest, SW_KEY_DIGEST);
    }

    if (n == max) {
        out[0] = *entry;
        sw_top_select_sink(out, n, 0);
        return n;
    }

    out[n++] = *entry;

    if (n == max) {
        for (i = n / 2; i; i--) {
            sw_top_select_sink(out, n, i - 1);
        }
    }

    return n;
}


static void
sw_top_select_sink(sw_top_entry_t *out, uint32_t n, uint32_t i)
{
    uint32_t        below;
    sw_top_entry_t  entry;

    entry = out[i];

    for ( ;; ) {
        below = 2 * i + 1;

        if (below >= n) {
            break;
        }

        if (below + 1 < n
            && sw_top_compare(&out[below + 1], &out[below]) > 0)
        {
            below++;
        }

        if (sw_top_compare(&out[below], &entry) <= 0) {
            break;
        }

        out[i] = out[below];
        i = below;
    }

    out[i] = entry;
}


void
sw_top_sort(sw_top_entry_t *entries, uint32_t n)
{
    qsort(entries, n, sizeof(sw_top_entry_t), sw_top_compare);
}


static int
sw_top_compare(const void *one, const void *two)
{
    const sw_top_entry_t  *a, *b;

    a = one;
    b = two;

    if (a->count != b->count) {
        return a->count > b->count ? -1 : 1;
    }

    if (a->error != b->error) {
        return a->error < b->error ? -1 : 1;
    }

    if (a->last != b->last) {
        return a->last > b->last ? -1 : 1;
    }

    return 0;
}
