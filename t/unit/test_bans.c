
/*
 * The list of bans has every ban until it ends, as long as there is room, and
 * then those that last longest; keys are told apart by all of their bytes.
 */


#include "bans.h"


#define NOW     1700000000LL
#define TRACES  60
#define OPS     400


static const char *trace(bans_kind_e kind);
static void nameless(void);
static void full(void);
static void many(void);
static void lasting(void);
static void sure(void);
static void late(void);
static void over(void);
static void random_key(sw_bans_key_t *key,
    unsigned char digest[SW_KEY_DIGEST]);
static void lengths(void);
static void unused(void);


static bans_t           b;
static sw_bans_entry_t  list[BANS_PLACES];


int
main(void)
{
    int          i;
    const char  *wrong;

    static const struct {
        bans_kind_e  kind;
        const char  *name;
    } kinds[] = {
        { BANS_TEXT, "addresses" },
        { BANS_BINARY, "binary keys" },
        { BANS_LENGTHS, "keys that begin others" },
        { BANS_TAILS, "keys that differ behind what is kept" },
        { BANS_NAMELESS, "keys that nothing is kept of" },
    };

    tap_diag("seed %" PRIu64, tap_seed(20260214));

    for (i = 0; i < BANS_KINDS; i++) {
        int  n;

        wrong = NULL;

        for (n = 0; n < TRACES && wrong == NULL; n++) {
            wrong = trace(kinds[i].kind);
        }

        tap_ok(wrong == NULL, "%s: %d traces as the model says%s%s",
               kinds[i].name, n, wrong ? ": " : "", wrong ? wrong : "");
    }

    nameless();
    full();
    many();
    lasting();
    sure();
    late();
    over();
    lengths();
    unused();

    return tap_done();
}


static const char *
trace(bans_kind_e kind)
{
    int          i, key;
    int64_t      now, left;
    const char  *wrong;

    now = NOW;
    wrong = NULL;

    bans_init(&b, (uint32_t) tap_rand(1, BANS_PLACES), BANS_KEYS, kind,
              tap_rand(0, 2) ? UINT32_MAX : 3);

    for (i = 0; i < OPS && wrong == NULL; i++) {
        now += tap_rand(0, 5) ? tap_rand(1, 100) : tap_rand(1, 5000);
        key = (int) tap_rand(0, b.keys - 1);

        switch (tap_rand(0, 9)) {

        case 0:
            sw_bans_remove(b.bans, &b.key[key], now);
            bans_model_remove(&b, key);
            break;

        case 1:
            sw_bans_insert(b.bans, &b.key[key], now, now, -tap_rand(0, 9),
                           1000);
            bans_model_remove(&b, key);
            break;

        case 2:
            bans_move(&b);
            break;

        case 3:
            left = now - tap_rand(0, 3000);
            sw_bans_remove_heard(b.bans, &b.key[key], now, left);
            bans_model_remove_heard(&b, key, left);
            break;

        default:

            /* no two end at the same time */

            left = tap_rand(1, 20) * 1000 * BANS_KEYS;
            left += key - (now + left) % BANS_KEYS;

            sw_bans_insert(b.bans, &b.key[key], now, now, left, 2 * left);
            bans_model_insert(&b, key, now, left, 2 * left);
        }

        wrong = bans_wrong(&b, now);
    }

    bans_free(&b);

    return wrong;
}


static void
nameless(void)
{
    size_t  i;
    int     found;

    bans_init(&b, 8, 4, BANS_NAMELESS, UINT32_MAX);

    sw_bans_insert(b.bans, &b.key[1], NOW, NOW, 1000, 1000);

    found = 0;

    for (i = 0; i + 9 <= b.size; i++) {
        found |= memcmp((char *) b.bans + i, "192.0.2.1", 9) == 0;
    }

    tap_ok(!found, "nothing of a key is in memory if its length is 0");
    tap_ok(sw_bans_list(b.bans, NOW, list, 8) == 1 && list[0].len == 0
           && list[0].left == 1000, "... its ban is listed");

    bans_free(&b);
}


static void
full(void)
{
    int       k;
    uint32_t  n;

    bans_init(&b, 4, 12, BANS_TEXT, UINT32_MAX);

    for (k = 0; k < 8; k++) {
        sw_bans_insert(b.bans, &b.key[k], NOW, NOW, 1000 + k, 5000);
    }

    n = sw_bans_list(b.bans, NOW, list, 8);
    sw_bans_sort(list, n);

    tap_ok(n == 4 && list[0].left == 1007 && list[3].left == 1004,
           "a full list has those that end last");
    tap_ok(sw_bans_overflow(b.bans, NOW) == 4, "... 4 were left out");

    for (k = 0; k < 4; k++) {
        sw_bans_insert(b.bans, &b.key[k], NOW + 1, NOW + 1, 999 + k, 5000);
    }

    tap_ok(sw_bans_overflow(b.bans, NOW + 1) == 4,
           "... which may come again as often as they like");

    sw_bans_remove(b.bans, &b.key[7], NOW + 1);
    sw_bans_insert(b.bans, &b.key[0], NOW + 1, NOW + 1, 999, 5000);

    n = sw_bans_list(b.bans, NOW + 1, list, 8);
    sw_bans_sort(list, n);

    tap_ok(n == 4 && list[3].left == 999 && sw_bans_overflow(b.bans, NOW + 1)
           == 3, "one that was left out is listed when there is room");

    tap_ok(sw_bans_overflow(b.bans, NOW + 1001) == 2
           && sw_bans_overflow(b.bans, NOW + 1003) == 0,
           "one that was left out does not count when it is over");
    tap_ok(sw_bans_count(b.bans, NOW + 1004) == 2, "others go on");

    tap_ok(sw_bans_may_be_left_out(b.bans, b.key[2].hash)
           && !sw_bans_may_be_left_out(b.bans, b.key[8].hash),
           "one that was left out is known");

    sw_bans_remove_heard(b.bans, &b.key[2], NOW + 1, INT64_MAX);
    tap_ok(sw_bans_overflow(b.bans, NOW + 1) == 3,
           "... and stays so if it may be younger than what is told");

    sw_bans_remove(b.bans, &b.key[2], NOW + 1);
    tap_ok(sw_bans_overflow(b.bans, NOW + 1) == 2, "... or is lifted");

    for (k = 0; k < 8; k++) {
        sw_bans_remove(b.bans, &b.key[k], NOW + 1);
    }

    tap_ok(sw_bans_overflow(b.bans, NOW + 1) == 0
           && sw_bans_count(b.bans, NOW + 1) == 0, "all are lifted");

    bans_free(&b);
}


/* each count is right within 5%, until it is as large as can be told */

static void
many(void)
{
    uint32_t        n, told, worst;
    sw_bans_key_t   key;
    unsigned char   digest[SW_KEY_DIGEST];

    bans_init(&b, 1, 0, BANS_TEXT, UINT32_MAX);

    random_key(&key, digest);
    sw_bans_insert(b.bans, &key, NOW, NOW, 900000, 900000);

    worst = 0;

    for (n = 1; n <= 60000; n++) {
        random_key(&key, digest);
        sw_bans_insert(b.bans, &key, NOW, NOW, 1000 + n, 900000);

        if (n % 20 == 0) {
            told = (uint32_t) labs((long) sw_bans_overflow(b.bans, NOW)
                                   - (long) n);
            worst = (uint32_t) sw_max(worst, 1000 * (told - sw_min(told, 3))
                                             / n);
        }
    }

    tap_ok(worst <= 50, "60000 that are left out: an error of %u.%u%%",
           worst / 10, worst % 10);

    told = sw_bans_overflow(b.bans, NOW + 1000 + 30000);
    tap_ok(told > 28500 && told < 31500, "half of them are over: %u", told);
    tap_ok(sw_bans_overflow(b.bans, NOW + 1000 + 60000) == 0, "... and all");

    for (n = 0; n < 400000; n++) {
        random_key(&key, digest);
        sw_bans_insert(b.bans, &key, NOW, NOW, 100000, 900000);
    }

    told = sw_bans_overflow(b.bans, NOW);
    tap_ok(told == 158991, "of 400000 it tells of more than %u", told);
    tap_ok(sw_bans_overflow(b.bans, NOW + 100000) == 0, "... until they end");

    bans_free(&b);
}


/* for an hour there are more bans than places, and none is lifted */

static void
lasting(void)
{
    int64_t        now, worst, error;
    sw_bans_key_t  key;
    unsigned char  digest[SW_KEY_DIGEST];

    bans_init(&b, BANS_PLACES, 0, BANS_TEXT, UINT32_MAX);

    worst = 0;

    for (now = NOW; now < NOW + 3600000; now += 4) {
        random_key(&key, digest);
        sw_bans_insert(b.bans, &key, now, now, 8000, 8000);

        if (now >= NOW + 8000 && now % 1000 == 0) {
            error = (int64_t) sw_bans_overflow(b.bans, now)
                    - (8000 / 4 - BANS_PLACES);
            worst = sw_max(worst, error < 0 ? -error : error);
        }
    }

    tap_ok(worst < 2000 / 20, "one ban after the other for an hour: of 1936 "
           "that are left out it is off by %d at most", (int) worst);

    bans_free(&b);
}


/* requests without a ban do not look for one, however many there are */

static void
sure(void)
{
    int             n, may;
    sw_bans_key_t   key;
    unsigned char   digest[SW_KEY_DIGEST];

    b.bans = malloc(sw_bans_size(4096));
    sw_bans_init(b.bans, 4096);

    for (n = 0; n < 4096; n++) {
        random_key(&key, digest);
        sw_bans_insert(b.bans, &key, NOW, NOW, 1000 + n, 5000);
    }

    may = 0;

    for (n = 0; n < 100000; n++) {
        random_key(&key, digest);
        may += sw_bans_may_have(b.bans, key.hash);
    }

    tap_ok(may <= 10, "of 100000 clients that have no ban %d may have one",
           may);

    free(b.bans);
}


/* what a store said before a ban was heard of does not end it */

static void
late(void)
{
    bans_init(&b, 4, 4, BANS_TEXT, UINT32_MAX);

    sw_bans_insert(b.bans, &b.key[0], NOW, NOW, 5000, 5000);

    sw_bans_remove_heard(b.bans, &b.key[0], NOW + 1, NOW);
    tap_ok(sw_bans_count(b.bans, NOW) == 1, "a late answer removes no ban");

    sw_bans_insert(b.bans, &b.key[0], NOW + 100, NOW + 100, 4900, 0);
    sw_bans_remove_heard(b.bans, &b.key[0], NOW + 200, NOW + 1);
    tap_ok(sw_bans_count(b.bans, NOW + 200) == 0, "one in time does");

    sw_bans_insert(b.bans, &b.key[0], NOW, NOW, 5000, 5000);
    sw_bans_insert(b.bans, &b.key[0], NOW + 100, NOW + 100, 9000, 0);
    sw_bans_remove_heard(b.bans, &b.key[0], NOW + 200, NOW + 100);
    tap_ok(sw_bans_count(b.bans, NOW + 200) == 1,
           "another ban of the client was heard of later");

    sw_bans_remove(b.bans, &b.key[0], NOW + 100);
    tap_ok(sw_bans_count(b.bans, NOW + 200) == 0, "lifting asks for no time");

    bans_free(&b);
}


static void
random_key(sw_bans_key_t *key, unsigned char digest[SW_KEY_DIGEST])
{
    size_t  i;

    for (i = 0; i < SW_KEY_DIGEST; i++) {
        digest[i] = (unsigned char) tap_rand(0, 255);
    }

    key->data = digest;
    key->len = 0;
    key->digest = digest;
    key->hash = (uint32_t) tap_rand(0, UINT32_MAX);
}


static void
over(void)
{
    int  k;

    bans_init(&b, BANS_PLACES, 40, BANS_TEXT, UINT32_MAX);

    for (k = 0; k < 40; k++) {
        sw_bans_insert(b.bans, &b.key[k], NOW, NOW, 1000, 1000);
    }

    tap_ok(sw_bans_count(b.bans, NOW + 999) == 40
           && sw_bans_count(b.bans, NOW + 1000) == 0,
           "a ban is over when its time is");

    tap_ok(!sw_bans_empty(b.bans), "what nobody looks for is still there");

    for (k = 0; k < 40; k++) {
        sw_bans_remove(b.bans, &b.key[0], NOW + 1000);
    }

    tap_ok(sw_bans_empty(b.bans), "... until there were some changes");

    bans_free(&b);
}


static void
lengths(void)
{
    uint32_t  n;

    bans_init(&b, 4, 4, BANS_TEXT, UINT32_MAX);

    sw_bans_insert(b.bans, &b.key[0], NOW, NOW, 500, 100);
    tap_ok(sw_bans_list(b.bans, NOW, list, 4) == 1 && list[0].length == 500,
           "a ban is not shorter than what is left");

    sw_bans_insert(b.bans, &b.key[0], NOW, NOW, INT64_MAX / 4, INT64_MAX / 4);
    tap_ok(sw_bans_list(b.bans, NOW, list, 4) == 1
           && list[0].left == INT64_MAX / 4 && list[0].length == list[0].left,
           "... however long that is");

    sw_bans_insert(b.bans, &b.key[1], NOW, NOW, 5000, 0);
    sw_bans_insert(b.bans, &b.key[2], NOW, NOW, 4000, 9000);
    sw_bans_insert(b.bans, &b.key[2], NOW + 100, NOW + 100, 4300, 0);
    sw_bans_remove(b.bans, &b.key[0], NOW);

    n = sw_bans_list(b.bans, NOW, list, 4);
    sw_bans_sort(list, n);
    tap_ok(n == 2 && list[0].left == 5000 && list[0].length == 0,
           "a length may not be known");
    tap_ok(list[1].left == 4000 && list[1].length == 9000,
           "... which changes no ban that ends at that time");

    sw_bans_insert(b.bans, &b.key[2], NOW, NOW, 7000, 0);

    n = sw_bans_list(b.bans, NOW, list, 4);
    sw_bans_sort(list, n);
    tap_ok(n == 2 && list[0].left == 7000 && list[0].length == 0,
           "... but is another ban if it ends at another");

    bans_free(&b);
}


/* of a megabyte of addresses only what is needed has memory behind it */

static void
unused(void)
{
    size_t          i, n;
    unsigned char  *p;
    sw_bans_t      *bans;

    bans = malloc(sw_bans_size(4096));
    memset(bans, 0xa5, sw_bans_size(4096));
    sw_bans_init(bans, 4096);

    p = (unsigned char *) bans;
    n = 0;

    for (i = 0; i < sw_bans_size(4096); i++) {
        n += (p[i] != 0xa5);
    }

    tap_ok(n < 32768, "%zu of %zu bytes are touched before the first ban", n,
           sw_bans_size(4096));

    free(bans);
}
