
/*
 * The most rejected clients: within their bounds in streams of all kinds, told
 * apart by the whole key, and forgotten after five to ten minutes.
 */


#include "top.h"


#define NOW     1700000000LL
#define TRACES  250


typedef int (*stream_pt)(const top_t *t, int i);


static int uniform(const top_t *t, int i);
static int zipf(const top_t *t, int i);
static int hot_among_noise(const top_t *t, int i);
static int rotation(const top_t *t, int i);
static int hot_after_rotation(const top_t *t, int i);
static const char *trace(stream_pt stream);
static const char *trace_time(top_t *t, int64_t *now);

static void exact_while_there_is_room(void);
static void one_counter(void);
static void epochs(void);
static void merge(void);
static void clock_behind(void);
static void keys_apart(void);
static void order(void);
static void sizes(void);

static const sw_top_entry_t *find(const top_t *t, const sw_top_entry_t *list,
    uint32_t n, int key);


static top_t           top;
static sw_top_entry_t  list[2 * TOP_COUNTERS];


int
main(void)
{
    int          i, n;
    const char  *wrong;

    static const struct {
        stream_pt    stream;
        const char  *name;
    } streams[] = {
        { uniform, "all clients alike" },
        { zipf, "few clients with most of the rejections" },
        { hot_among_noise, "one hot client among noise" },
        { rotation, "clients in turn, one more than counters" },
        { hot_after_rotation, "clients in turn, then others" },
    };

    tap_diag("seed %" PRIu64, tap_seed(20050105));

    for (i = 0; i < (int) (sizeof(streams) / sizeof(streams[0])); i++) {
        wrong = NULL;

        for (n = 0; n < TRACES && wrong == NULL; n++) {
            wrong = trace(streams[i].stream);
        }

        tap_ok(wrong == NULL, "%s: %d traces within the bounds%s%s",
               streams[i].name, n, wrong ? ": " : "", wrong ? wrong : "");
    }

    exact_while_there_is_room();
    one_counter();
    epochs();
    merge();
    clock_behind();
    keys_apart();
    order();
    sizes();

    return tap_done();
}


static int
uniform(const top_t *t, int i)
{
    (void) i;

    return (int) tap_rand(0, t->keys - 1);
}


static int
zipf(const top_t *t, int i)
{
    (void) i;

    return (int) (t->keys / tap_rand(1, t->keys)) - 1;
}


static int
hot_among_noise(const top_t *t, int i)
{
    return tap_rand(0, 3) ? uniform(t, i) : 0;
}


/* what has just lost its counter comes next */

static int
rotation(const top_t *t, int i)
{
    return i % (int) sw_min(t->counters + 1, t->keys);
}


static int
hot_after_rotation(const top_t *t, int i)
{
    return i < 200 ? i % t->keys : t->keys - 1 - i % (1 + t->keys / 8);
}


static const char *
trace(stream_pt stream)
{
    int          i, adds, steady;
    int64_t      now;
    const char  *wrong;

    now = tap_rand(0, 1) ? NOW : tap_rand(0, 10);

    top_init(&top, (uint32_t) (tap_rand(0, 3) ? tap_rand(1, 12)
                                              : tap_rand(1, TOP_COUNTERS)),
             (int) tap_rand(1, TOP_KEYS), (top_kind_e) tap_rand(0, 3),
             tap_rand(0, 3) ? UINT32_MAX : (uint32_t) tap_rand(1, 4), now);

    wrong = NULL;
    adds = (int) tap_rand(1, 1000);
    steady = tap_rand(0, 1);

    for (i = 0; i < adds && wrong == NULL; i++) {
        top_add(&top, stream(&top, i), tap_rand(0, 3) ? 1 : tap_rand(1, 50),
                now - (tap_rand(0, 4) ? 0 : tap_rand(0, 3000)));

        if (steady) {
            now += tap_rand(0, 100);

        } else {
            wrong = trace_time(&top, &now);
        }

        if (tap_rand(0, 30) == 0) {
            top_move(&top);
        }

        if (wrong == NULL && tap_rand(0, 20) == 0) {
            wrong = top_wrong(&top, now);
        }
    }

    if (wrong == NULL) {
        wrong = top_wrong(&top, now);
    }

    if (wrong) {
        tap_diag("%u counters, %d keys, add %d: %s", top.counters, top.keys,
                 i, wrong);
    }

    top_free(&top);

    return wrong;
}


/* epochs pass now and then, one or more at once, looked at or not */

static const char *
trace_time(top_t *t, int64_t *now)
{
    const char  *wrong;

    switch (tap_rand(0, 60)) {

    case 0:
        *now += tap_rand(0, 4 * SW_TOP_EPOCH);
        break;

    case 1:
        *now += tap_rand(0, SW_TOP_EPOCH);
        break;

    case 2:
        /* to the last ms of an epoch, and the first of the next */

        *now += SW_TOP_EPOCH - 1 - (*now - t->born) % SW_TOP_EPOCH;
        wrong = top_wrong(t, *now);

        if (wrong) {
            return wrong;
        }

        *now += tap_rand(0, 1);
        break;

    default:
        *now += tap_rand(0, 300);
    }

    return NULL;
}


static void
exact_while_there_is_room(void)
{
    int       i, j, good;
    uint32_t  n;

    top_init(&top, 10, 10, TOP_TEXT, UINT32_MAX, NOW);

    for (i = 0; i < 10; i++) {
        for (j = 0; j <= i; j++) {
            top_add(&top, i, 1, NOW + j);
        }
    }

    good = (sw_top_overflow(top.top, NOW + 10) == 1);
    n = sw_top_list(top.top, NOW + 10, list, 20);
    sw_top_sort(list, n);

    for (i = 0; i < 10; i++) {
        good = good && top_key(&top, &list[i]) == 9 - i
               && list[i].count == 10 - i && list[i].error == 0
               && list[i].first == NOW && list[i].last == NOW + 9 - i;
    }

    tap_ok(n == 10 && good, "as many clients as counters: all exact");

    n = sw_top_list(top.top, NOW + 10, list, 3);
    sw_top_sort(list, n);

    tap_ok(n == 3 && list[0].count == 10 && list[1].count == 9
           && list[2].count == 8, "the first three of them");

    tap_ok(sw_top_list(top.top, NOW + 10, list, 0) == 0, "none of them");

    top_free(&top);
}


static void
one_counter(void)
{
    uint32_t  n;

    top_init(&top, 1, 3, TOP_TEXT, UINT32_MAX, NOW);

    tap_ok(sw_top_list(top.top, NOW, list, 2) == 0
           && sw_top_overflow(top.top, NOW) == 0
           && sw_top_since(top.top, NOW) == NOW, "nothing is counted yet");

    top_add(&top, 0, 5, NOW);
    top_add(&top, 1, 2, NOW + 1);
    top_add(&top, 1, 1, NOW + 2);
    n = sw_top_list(top.top, NOW + 2, list, 2);

    tap_ok(n == 1 && top_key(&top, &list[0]) == 1 && list[0].count == 8
           && list[0].error == 5 && list[0].first == NOW + 1
           && list[0].last == NOW + 2
           && sw_top_overflow(top.top, NOW + 2) == 8,
           "one counter: the last client has it, and all counts");

    top_free(&top);
}


static void
epochs(void)
{
    int64_t   end;
    uint32_t  n;

    top_init(&top, 4, 8, TOP_TEXT, UINT32_MAX, NOW);

    end = NOW + SW_TOP_EPOCH;

    top_add(&top, 0, 3, NOW);
    top_add(&top, 0, 1, end - 1);
    top_add(&top, 0, 1, end);

    n = sw_top_list(top.top, end, list, 8);
    tap_ok(n == 1 && list[0].count == 5 && list[0].error == 0
           && list[0].first == NOW && list[0].last == end
           && sw_top_since(top.top, end) == NOW,
           "a client of two epochs has the sum");

    end += SW_TOP_EPOCH;

    n = sw_top_list(top.top, end - 1, list, 8);
    tap_ok(n == 1 && list[0].count == 5
           && sw_top_since(top.top, end - 1) == NOW,
           "to the end of the second epoch");

    n = sw_top_list(top.top, end, list, 8);
    tap_ok(n == 1 && list[0].count == 1
           && sw_top_since(top.top, end) == end - SW_TOP_EPOCH,
           "then it has what it had in that");

    end += SW_TOP_EPOCH;

    tap_ok(sw_top_list(top.top, end - 1, list, 8) == 1
           && sw_top_list(top.top, end, list, 8) == 0,
           "after a third one it is gone");

    end += 3600000;

    tap_ok(sw_top_list(top.top, end, list, 8) == 0
           && sw_top_overflow(top.top, end) == 0
           && end - sw_top_since(top.top, end) >= SW_TOP_EPOCH
           && end - sw_top_since(top.top, end) < 2 * SW_TOP_EPOCH,
           "an hour without rejections: nothing is listed, of ten minutes");

    top_add(&top, 1, 1, end);
    n = sw_top_list(top.top, end, list, 8);

    tap_ok(n == 1 && top_key(&top, &list[0]) == 1 && list[0].count == 1
           && list[0].error == 0, "and a client after it is alone");

    top_free(&top);
}


static void
merge(void)
{
    int64_t                next;
    uint32_t               n;
    const sw_top_entry_t  *old, *both, *fresh;

    top_init(&top, 2, 4, TOP_TEXT, UINT32_MAX, NOW);

    next = NOW + SW_TOP_EPOCH;

    top_add(&top, 0, 10, NOW);
    top_add(&top, 1, 4, NOW);
    top_add(&top, 1, 3, next);

    n = sw_top_list(top.top, next, list, 4);
    old = find(&top, list, n, 0);

    tap_ok(n == 2 && old && old->count == 10 && old->error == 0
           && sw_top_overflow(top.top, next) == 4,
           "an epoch with room adds nothing to a client that is not in it");

    top_add(&top, 2, 6, next);

    n = sw_top_list(top.top, next, list, 4);
    old = find(&top, list, n, 0);
    both = find(&top, list, n, 1);
    fresh = find(&top, list, n, 2);

    tap_ok(n == 3 && old && old->count == 13 && old->error == 3
           && both && both->count == 7 && both->error == 0
           && fresh && fresh->count == 10 && fresh->error == 4
           && sw_top_overflow(top.top, next) == 7,
           "a full one adds its least count, to the error too");

    top_free(&top);
}


static void
clock_behind(void)
{
    int64_t   next;
    uint32_t  n;

    top_init(&top, 2, 4, TOP_TEXT, UINT32_MAX, NOW);

    top_add(&top, 0, 1, NOW - 5);
    n = sw_top_list(top.top, NOW - 5, list, 4);

    tap_ok(n == 1 && list[0].count == 1
           && sw_top_since(top.top, NOW - 5) == NOW,
           "a clock before the first one");

    next = NOW + SW_TOP_EPOCH;

    top_add(&top, 0, 1, next + 1);
    top_add(&top, 0, 1, next - 1);
    top_add(&top, 1, 1, NOW - 2 * SW_TOP_EPOCH);

    tap_ok(top_wrong(&top, next - 1) == NULL
           && sw_top_since(top.top, next - 1) == NOW,
           "a clock that is behind does not bring back an epoch");

    n = sw_top_list(top.top, next + SW_TOP_EPOCH, list, 4);
    sw_top_sort(list, n);

    tap_ok(n == 2 && list[0].count == 2 && list[0].last == next + 1
           && list[0].first == next + 1 && list[1].count == 1,
           "what it adds is of the current one");

    /* what was looked at by a clock ahead is there for one behind */

    top_add(&top, 2, 1, next + 2);

    tap_ok(top_wrong(&top, next + 9 * SW_TOP_EPOCH) == NULL
           && top_wrong(&top, next + 2) == NULL
           && sw_top_list(top.top, next + 2, list, 4) > 0,
           "a look from ahead forgets nothing");

    top_free(&top);
}


static void
keys_apart(void)
{
    int       i, kind, good;
    uint32_t  n, hashes;

    static const char  *names[] = {
        "text", "binary", "of the same bytes, but not as many",
        "the same up to what is kept of them"
    };

    for (kind = 0; kind < TOP_KINDS; kind++) {
        good = 1;

        for (hashes = 1; hashes < 100; hashes += 49) {
            top_init(&top, TOP_COUNTERS, TOP_COUNTERS, (top_kind_e) kind,
                     hashes, NOW);

            for (i = 0; i < 3 * TOP_COUNTERS; i++) {
                top_add(&top, i % TOP_COUNTERS, 1 + i % TOP_COUNTERS, NOW);
            }

            n = sw_top_list(top.top, NOW, list, 2 * TOP_COUNTERS);
            sw_top_sort(list, n);
            good = good && n == TOP_COUNTERS;

            for (i = 0; good && i < TOP_COUNTERS; i++) {
                good = (list[i].count == 3 * (TOP_COUNTERS - i)
                        && top_key(&top, &list[i]) == TOP_COUNTERS - 1 - i);
            }

            top_free(&top);
        }

        tap_ok(good, "keys %s are told apart, of the same hash as well",
               names[kind]);
    }

    top_init(&top, 2, 2, TOP_TEXT, UINT32_MAX, NOW);
    top.key[1].len = 0;

    top_add(&top, 0, 1, NOW);
    top_add(&top, 1, 2, NOW);
    top_add(&top, 1, 2, NOW);
    n = sw_top_list(top.top, NOW, list, 4);
    sw_top_sort(list, n);

    tap_ok(n == 2 && list[0].len == 0 && list[0].count == 4,
           "an empty key is one, too");

    top_free(&top);
}


static void
order(void)
{
    int       i, j, good;
    uint32_t  n;

    memset(list, 0, sizeof(list));
    good = 1;

    for (i = 0; i < 1000 && good; i++) {
        n = (uint32_t) tap_rand(0, 2 * TOP_COUNTERS);

        for (j = 0; j < (int) n; j++) {
            list[j].count = tap_rand(1, 6);
            list[j].error = tap_rand(0, 3);
            list[j].last = NOW + tap_rand(0, 3);
        }

        sw_top_sort(list, n);
        good = top_sorted(list, n);
    }

    tap_ok(good, "by count, then by what is certain, then by time");
}


/* the most counters there may be, all of them taken over and over */

static void
sizes(void)
{
    int            good;
    size_t         size;
    uint32_t       i, n;
    int64_t        count;
    sw_top_t      *many;
    sw_top_key_t   key;

    good = 1;

    for (i = 1; i < SW_TOP_COUNTERS_MAX; i += 1 + i / 3) {
        size = sw_top_size(i);
        good = good && size % 8 == 0 && size > sw_top_size(i - 1)
               && size < 2 * (SW_TOP_KEY + 80) * (i + 1) + 200;
    }

    tap_ok(good, "the size grows with the counters");

    many = malloc(sw_top_size(SW_TOP_COUNTERS_MAX));
    sw_top_init(many, SW_TOP_COUNTERS_MAX, NOW);

    key.data = &n;
    key.len = sizeof(n);
    key.digest = NULL;

    for (i = 0; i < 3 * SW_TOP_COUNTERS_MAX; i++) {
        n = i % (2 * SW_TOP_COUNTERS_MAX);
        key.hash = n * 2654435761U;
        sw_top_add(many, &key, 1, NOW);
    }

    good = 1;
    count = sw_top_overflow(many, NOW);
    n = sw_top_list(many, NOW, list, 2 * TOP_COUNTERS);

    for (i = 0; i < n; i++) {
        good = good && list[i].count == 3 && list[i].error == 2;
    }

    tap_ok(good && n == 2 * TOP_COUNTERS && count == 3, "%d counters",
           SW_TOP_COUNTERS_MAX);

    free(many);
}


static const sw_top_entry_t *
find(const top_t *t, const sw_top_entry_t *entries, uint32_t n, int key)
{
    uint32_t  i;

    for (i = 0; i < n; i++) {
        if (top_key(t, &entries[i]) == key) {
            return &entries[i];
        }
    }

    return NULL;
}
