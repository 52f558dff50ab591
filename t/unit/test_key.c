
/*
 * Keys as they are stored, here and in Redis, and the text of a client.
 */


#include <arpa/inet.h>
#include <string.h>

#include "fnv.h"
#include "rfc5952.h"
#include "sw_key.h"
#include "tap.h"


#define ADDRESSES  20000


static void keys(void);
static void redis_keys(void);
static void redis_keys_random(void);
static void clients_v4(void);
static void clients_v6(void);
static void clients_one_network(void);
static void clients_random(void);

static void digest(unsigned char *out, const void *data, size_t len);
static int key_equal(const sw_key_t *a, const sw_key_t *b);
static int redis_is(const char *prefix, const void *client, size_t len,
    const char *zone, const char *wanted);
static size_t redis_text(char *text, const char *prefix, const void *client,
    size_t len, const char *zone);
static int redis_plain(const unsigned char *client, size_t len);
static int client_is(const char *addr, unsigned v4, unsigned v6,
    const char *wanted);
static size_t client_text(char *text, const char *addr, unsigned v4,
    unsigned v6);


static int            digested;
static size_t         digested_len;
static unsigned char  digested_last;


int
main(void)
{
    tap_diag("seed %llu", (unsigned long long) tap_seed(5952));

    keys();
    redis_keys();
    redis_keys_random();
    clients_v4();
    clients_v6();
    clients_one_network();
    clients_random();

    return tap_done();
}


static void
keys(void)
{
    int            good;
    size_t         len;
    sw_key_t       key, other;
    unsigned char  data[70000], *exact;

    for (len = 0; len < sizeof(data); len++) {
        data[len] = (unsigned char) (len * 7 + 1);
    }

    good = 1;
    digested = 0;

    for (len = 0; len <= SW_KEY_MAX; len++) {

        /* nothing but the key, where a sanitizer sees what is read beyond */

        exact = malloc(len ? len : 1);
        memcpy(exact, data, len);
        memset(&key, 0xee, sizeof(key));

        sw_key_make(&key, exact, len, digest);

        good = good && key.kind == len && sw_key_len(key.kind) == len
               && memcmp(key.data, data, len) == 0;
        free(exact);
    }

    tap_ok(good && digested == 0, "key: up to %d bytes as it is", SW_KEY_MAX);

    good = 1;

    for (len = SW_KEY_MAX + 1; len < 300; len++) {
        exact = malloc(len);
        memcpy(exact, data, len);
        memset(&key, 0xee, sizeof(key));
        digested = 0;

        sw_key_make(&key, exact, len, digest);

        good = good && digested == 1 && digested_len == len
               && digested_last == data[len - 1]
               && key.kind == SW_KEY_DIGESTED
               && sw_key_len(key.kind) == SW_KEY_DIGEST;
        free(exact);
    }

    tap_ok(good, "key: longer ones by the digest of the whole of it");

    sw_key_make(&key, data, 65536, digest);
    tap_ok(key.kind == SW_KEY_DIGESTED && digested_len == 65536,
           "key: 65536 bytes too");

    sw_key_make(&key, data, 256 + 5, digest);
    sw_key_make(&other, data, 5, digest);
    tap_ok(!key_equal(&key, &other), "key: a length is not cut to 8 bits");

    sw_key_make(&key, data, 100, digest);
    sw_key_make(&other, data, 100, digest);
    tap_ok(key_equal(&key, &other), "key: the same long key twice is one");

    data[50]++;
    sw_key_make(&other, data, 100, digest);
    tap_ok(!key_equal(&key, &other), "key: another long key is another");

    sw_key_make(&other, key.data, SW_KEY_DIGEST, digest);
    tap_ok(!key_equal(&key, &other) && other.kind == SW_KEY_DIGEST,
           "key: the digest of a key, as a key, is another");

    sw_key_make(&key, "a", 1, digest);
    sw_key_make(&other, "a\0", 2, digest);
    tap_ok(!key_equal(&key, &other), "key: a trailing NUL is another key");

    sw_key_make(&key, "a\0b", 3, digest);
    sw_key_make(&other, "a\0c", 3, digest);
    tap_ok(!key_equal(&key, &other), "key: a NUL ends nothing");

    sw_key_make(&key, "", 0, digest);
    sw_key_make(&other, "\0", 1, digest);
    tap_ok(!key_equal(&key, &other), "key: the empty key is not a NUL");

    tap_ok(SW_KEY_MAX < SW_KEY_DIGESTED && SW_KEY_DIGEST <= SW_KEY_MAX,
           "key: no length is mistaken for a digest, which fits");
}


static void
redis_keys(void)
{
    int            i, good;
    char           text[SW_REDIS_KEY_LEN + 16], other[SW_REDIS_KEY_LEN + 16];
    size_t         len, other_len;
    unsigned char  client[100];

    tap_ok(redis_is("sw:", "192.0.2.1", 9, "login", "sw:{192.0.2.1}:login"),
           "redis key: <prefix>{<client>}:<zone>");
    tap_ok(redis_is("", "a", 1, "z", "{a}:z"), "redis key: no prefix");
    tap_ok(redis_is("a:b:", "c:d", 3, "e", "a:b:{c:d}:e"),
           "redis key: colons are left alone");
    tap_ok(redis_is("sw:", "2001:db8::/64", 13, "z", "sw:{2001:db8::/64}:z"),
           "redis key: an IPv6 client");
    tap_ok(redis_is("sw:", "a#", 2, "z", "sw:{a#}:z"),
           "redis key: a # that is not the first");
    tap_ok(redis_is("sw:", "!~\"'\\%s$*?[]", 12, "z",
                    "sw:{!~\"'\\%s$*?[]}:z"),
           "redis key: whatever can be seen");

    memset(client, 'x', sizeof(client));
    good = 1;
    digested = 0;

    for (len = 1; len <= SW_REDIS_CLIENT_MAX; len++) {
        good = good && redis_text(text, "p", client, len, "z") == len + 5;
    }

    tap_ok(good && digested == 0, "redis key: %d bytes as they are",
           SW_REDIS_CLIENT_MAX);

    good = 1;

    for (len = SW_REDIS_CLIENT_MAX + 1; len <= sizeof(client); len++) {
        digested = 0;
        good = good && redis_text(text, "p", client, len, "z")
                       == 1 + 2 * SW_KEY_DIGEST + 5
               && memcmp(text, "p{#", 3) == 0
               && digested == 1 && digested_len == len;
    }

    tap_ok(good, "redis key: longer ones by the digest of the whole of it");

    /* each byte there is, alone and inside */

    good = 1;

    for (i = 0; i < 256; i++) {
        client[0] = (unsigned char) i;
        len = redis_text(text, "", client, 1, "z");

        good = good && (len == 5) == (i > ' ' && i <= '~' && i != '{'
                                      && i != '}' && i != '#');

        client[0] = 'x';
        client[5] = (unsigned char) i;
        len = redis_text(text, "", client, 10, "z");

        good = good && (len == 14) == (i > ' ' && i <= '~' && i != '{'
                                       && i != '}');
        client[5] = 'x';
    }

    tap_ok(good, "redis key: no byte of a client that is not plain text");

    tap_ok(redis_text(text, "sw:", "", 0, "z") == 3 + 41 + 4,
           "redis key: the empty client is not an empty hash tag");

    /* the text of a digest as a client is another client */

    len = redis_text(text, "", "a b", 3, "z");
    other_len = redis_text(other, "", text + 1, 41, "z");

    tap_ok(len == other_len && memcmp(text, other, len) != 0,
           "redis key: a client that spells a digest is another client");

    /* K04 */

    len = redis_text(text, "sw:", "b:c", 3, "a");
    other_len = redis_text(other, "sw:", "c", 1, "a:b");

    tap_ok(len != other_len || memcmp(text, other, len) != 0,
           "redis key: zone a, client b:c is not zone a:b, client c");

    len = redis_text(text, "sw:", "a}:z", 4, "z");
    tap_ok(memcmp(text, "sw:{#", 5) == 0,
           "redis key: a client does not end the hash tag");

    /* exactly the room it asks for */

    good = 1;
    len = SW_REDIS_KEY_LEN + 1 + 1;
    memset(client, 'y', sizeof(client));

    memset(other, '!', sizeof(other));
    good = good && redis_text(other, "p", client, SW_REDIS_CLIENT_MAX, "z")
                   == len && other[len] == '!';

    tap_ok(good, "redis key: the longest is as long as said");
}


/* one client is one key and two are two, whatever they are */

static void
redis_keys_random(void)
{
    int            i, good, plain;
    char           text[SW_REDIS_KEY_LEN + 16], other[SW_REDIS_KEY_LEN + 16];
    char          *tag;
    size_t         j, len, n, m;
    unsigned char  one[80], two[80];

    good = 1;
    plain = 0;

    for (i = 0; i < ADDRESSES && good; i++) {
        len = (size_t) tap_rand(1, 80);

        for (j = 0; j < len; j++) {
            one[j] = (unsigned char) (tap_rand(0, 49) ? tap_rand('a', 'd')
                                                      : tap_rand(0, 255));
        }

        memcpy(two, one, len);
        two[tap_rand(0, (int64_t) len - 1)] ^= (unsigned char)
                                               tap_rand(1, 255);

        n = redis_text(text, "sw:", one, len, "zone");
        m = redis_text(other, "sw:", two, len, "zone");

        good = good && (n != m || memcmp(text, other, n) != 0);

        /* the hash tag is from the first brace to the next */

        tag = memchr(text, '{', n);
        good = good && tag == text + 3
               && memchr(tag, '}', n - 3) == text + n - 6
               && n <= 3 + SW_REDIS_KEY_LEN + 4
               && memcmp(text + n - 6, "}:zone", 6) == 0;

        if (redis_plain(one, len)) {
            plain++;
            good = good && n == len + 10 && memcmp(text + 4, one, len) == 0;

        } else {
            good = good && n == 41 + 10 && text[4] == '#';
        }

        for (j = 0; j < n; j++) {
            good = good && text[j] > ' ' && text[j] <= '~';
        }
    }

    tap_ok(good && plain && plain < i, "redis key: %d random clients, %d of "
           "them plain", i, plain);
}


static void
clients_v4(void)
{
    tap_ok(client_is("192.0.2.1", 32, 64, "192.0.2.1"), "v4: as it is");
    tap_ok(client_is("192.0.2.1", 31, 64, "192.0.2.0/31"), "v4: /31");
    tap_ok(client_is("192.0.2.255", 25, 64, "192.0.2.128/25"), "v4: /25");
    tap_ok(client_is("192.0.2.1", 24, 64, "192.0.2.0/24"), "v4: /24");
    tap_ok(client_is("192.0.255.1", 23, 64, "192.0.254.0/23"), "v4: /23");
    tap_ok(client_is("192.255.2.1", 12, 64, "192.240.0.0/12"), "v4: /12");
    tap_ok(client_is("192.0.2.1", 8, 64, "192.0.0.0/8"), "v4: /8");
    tap_ok(client_is("192.0.2.1", 1, 64, "128.0.0.0/1"), "v4: /1");
    tap_ok(client_is("192.0.2.1", 0, 64, "0.0.0.0/0"), "v4: all are one");
    tap_ok(client_is("0.0.0.0", 32, 64, "0.0.0.0"), "v4: zero");
    tap_ok(client_is("255.255.255.255", 32, 64, "255.255.255.255"),
           "v4: the longest");
    tap_ok(client_is("255.255.255.255", 30, 64, "255.255.255.252/30"),
           "v4: the longest network");
}


static void
clients_v6(void)
{
    tap_ok(client_is("2001:db8:1:2:3:4:5:6", 32, 64, "2001:db8:1:2::/64"),
           "v6: /64");
    tap_ok(client_is("2001:db8:1:2:3:4:5:6", 32, 128, "2001:db8:1:2:3:4:5:6"),
           "v6: as it is");
    tap_ok(client_is("2001:db8:1:2ff:3:4:5:6", 32, 56, "2001:db8:1:200::/56"),
           "v6: /56");
    tap_ok(client_is("2001:db8:1:2:3:4:5:6", 32, 48, "2001:db8:1::/48"),
           "v6: /48");
    tap_ok(client_is("2001:db8:1:2:3:4:5:6", 32, 32, "2001:db8::/32"),
           "v6: /32");
    tap_ok(client_is("2001:db8:1:2:3:4:5:7", 32, 127,
                     "2001:db8:1:2:3:4:5:6/127"), "v6: /127");
    tap_ok(client_is("2001:db8:1:2:ffff:4:5:7", 32, 65,
                     "2001:db8:1:2:8000::/65"), "v6: /65");
    tap_ok(client_is("2001:db8:1:2:3:4:5:6", 32, 1, "::/1"), "v6: /1");
    tap_ok(client_is("ffff::1", 32, 1, "8000::/1"), "v6: /1, the other one");
    tap_ok(client_is("2001:db8::1", 32, 0, "::/0"), "v6: all are one");

    /* RFC 5952 */

    tap_ok(client_is("2001:0DB8:0000:0000:0000:0000:0000:00AB", 32, 128,
                     "2001:db8::ab"), "v6: lower case, no leading zeros");
    tap_ok(client_is("2001:db8:0:1:1:1:1:1", 32, 128, "2001:db8:0:1:1:1:1:1"),
           "v6: one zero field stays");
    tap_ok(client_is("2001:db8:0:0:1:0:0:1", 32, 128, "2001:db8::1:0:0:1"),
           "v6: of two equal runs the first");
    tap_ok(client_is("2001:0:0:1:0:0:0:1", 32, 128, "2001:0:0:1::1"),
           "v6: the longest run");
    tap_ok(client_is("0:0:0:1:0:0:0:0", 32, 128, "0:0:0:1::"),
           "v6: the longest run at the end");
    tap_ok(client_is("::", 32, 128, "::"), "v6: zero");
    tap_ok(client_is("::1", 32, 128, "::1"), "v6: loopback");
    tap_ok(client_is("::1", 32, 64, "::/64"), "v6: loopback by its network");
    tap_ok(client_is("1:0:0:0:0:0:0:0", 32, 128, "1::"), "v6: 1::");
    tap_ok(client_is("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe", 32, 127,
                     "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127"),
           "v6: the longest");

    /* mapped */

    tap_ok(client_is("::ffff:1.2.3.4", 32, 64, "1.2.3.4"),
           "v6: ::ffff:1.2.3.4 is the IPv4 client");
    tap_ok(client_is("::ffff:1.2.3.4", 24, 64, "1.2.3.0/24"),
           "v6: mapped, by the IPv4 prefix");
    tap_ok(client_is("::ffff:1.2.3.4", 32, 0, "1.2.3.4"),
           "v6: mapped, whatever the IPv6 prefix");
    tap_ok(client_is("::ffff:0.0.0.0", 32, 64, "0.0.0.0"),
           "v6: mapped zero");
    tap_ok(client_is("::ffff:255.255.255.255", 32, 128, "255.255.255.255"),
           "v6: mapped, the longest");
    tap_ok(client_is("::fffe:1.2.3.4", 32, 128, "::fffe:102:304"),
           "v6: nearly mapped");
    tap_ok(client_is("1::ffff:1.2.3.4", 32, 128, "1::ffff:102:304"),
           "v6: mapped somewhere else");
    tap_ok(client_is("0:0:0:0:ffff::1", 32, 128, "::ffff:0:0:1"),
           "v6: the mark at another place");
}


/* K07: a thousand addresses of one network are one client */

static void
clients_one_network(void)
{
    int            i, same, differ;
    char           first[SW_CLIENT_LEN], text[SW_CLIENT_LEN];
    size_t         first_len, len;
    unsigned char  addr[16] = { 0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 2 };

    first_len = sw_client_v6(first, addr, 32, 64);
    same = 0;

    for (i = 0; i < 1000; i++) {
        addr[8 + tap_rand(0, 7)] = (unsigned char) tap_rand(0, 255);
        len = sw_client_v6(text, addr, 32, 64);
        same += (len == first_len && memcmp(text, first, len) == 0);
    }

    tap_ok(same == 1000, "K07: 1000 addresses of one /64 are one client (%d)",
           same);

    addr[7]++;
    len = sw_client_v6(text, addr, 32, 64);
    differ = (len != first_len || memcmp(text, first, len) != 0);

    tap_ok(differ, "K07: the next /64 is another");
}


static void
clients_random(void)
{
    int            i, j, good;
    char           text[SW_CLIENT_LEN + 1], wanted[64];
    size_t         len;
    unsigned       prefix;
    unsigned char  addr[16], again[16];

    good = 1;

    for (i = 0; i < ADDRESSES && good; i++) {

        /* zeros of any run length, at any place */

        for (j = 0; j < 16; j += 2) {
            addr[j] = tap_rand(0, 2) ? 0 : (unsigned char) tap_rand(0, 255);
            addr[j + 1] = tap_rand(0, 1) && addr[j] == 0
                          ? 0 : (unsigned char) tap_rand(0, 255);
        }

        /* not in ::/80: those have texts of their own */

        addr[tap_rand(0, 7)] |= 1;

        prefix = tap_rand(0, 1) ? 128 : (unsigned) tap_rand(16, 128);

        /* not masked to ::/80 either */

        if (prefix < 128) {
            addr[0] |= 0x20;
        }

        rfc5952(wanted, addr, prefix);

        len = sw_client_v6(text, addr, 32, prefix);

        if (len > SW_CLIENT_LEN || len != strlen(wanted)
            || memcmp(text, wanted, len) != 0)
        {
            text[len > SW_CLIENT_LEN ? 0 : len] = '\0';
            tap_diag("\"%s\", must be \"%s\"", text, wanted);
            good = 0;
        }

        if (prefix == 128) {
            text[len] = '\0';

            if (inet_pton(AF_INET6, text, again) != 1
                || memcmp(addr, again, 16) != 0)
            {
                tap_diag("\"%s\" is another address", text);
                good = 0;
            }
        }
    }

    tap_ok(good, "v6: %d random addresses as RFC 5952 wants them", i);

    good = 1;

    for (i = 0; i < ADDRESSES && good; i++) {

        for (j = 0; j < 4; j++) {
            addr[j] = (unsigned char) tap_rand(0, 255);
        }

        prefix = (unsigned) tap_rand(0, 32);
        len = sw_client_v4(text, addr, prefix);

        for (j = 0; j < 32; j++) {
            if ((unsigned) j >= prefix) {
                addr[j / 8] &= (unsigned char) ~(0x80 >> j % 8);
            }
        }

        snprintf(wanted, sizeof(wanted), prefix < 32 ? "%d.%d.%d.%d/%u"
                                                     : "%d.%d.%d.%d",
                 addr[0], addr[1], addr[2], addr[3], prefix);

        if (len != strlen(wanted) || memcmp(text, wanted, len) != 0) {
            tap_diag("not %s", wanted);
            good = 0;
        }
    }

    tap_ok(good, "v4: %d random networks", i);
}


static void
digest(unsigned char *out, const void *data, size_t len)
{
    const unsigned char  *p;

    p = data;
    fnv_digest(out, data, len);

    digested++;
    digested_len = len;
    digested_last = len ? p[len - 1] : 0;
}


static int
key_equal(const sw_key_t *a, const sw_key_t *b)
{
    return a->kind == b->kind
           && memcmp(a->data, b->data, sw_key_len(a->kind)) == 0;
}


static int
redis_is(const char *prefix, const void *client, size_t len, const char *zone,
    const char *wanted)
{
    char    text[SW_REDIS_KEY_LEN + 16];
    size_t  n;

    n = redis_text(text, prefix, client, len, zone);

    return n == strlen(wanted) && memcmp(text, wanted, n) == 0;
}


/* of exact copies, into exact room */

static size_t
redis_text(char *text, const char *prefix, const void *client, size_t len,
    const char *zone)
{
    char           *room;
    size_t          n;
    unsigned char  *copy;

    copy = malloc(len ? len : 1);
    room = malloc(SW_REDIS_KEY_LEN + strlen(prefix) + strlen(zone));
    memcpy(copy, client, len);

    n = sw_key_redis(room, prefix, strlen(prefix), copy, len, zone,
                     strlen(zone), digest);
    memcpy(text, room, n);

    free(room);
    free(copy);

    return n;
}


static int
redis_plain(const unsigned char *client, size_t len)
{
    size_t  i;

    for (i = 0; i < len; i++) {
        if (client[i] < 0x21 || client[i] > 0x7e
            || strchr("{}", client[i]) != NULL)
        {
            return 0;
        }
    }

    return len <= SW_REDIS_CLIENT_MAX && client[0] != '#';
}


static int
client_is(const char *addr, unsigned v4, unsigned v6, const char *wanted)
{
    char    text[SW_CLIENT_LEN + 1];
    size_t  len;

    /* no terminator may be written beyond the room it has */

    text[SW_CLIENT_LEN] = '!';

    len = client_text(text, addr, v4, v6);

    if (len <= SW_CLIENT_LEN && len == strlen(wanted)
        && memcmp(text, wanted, len) == 0 && text[SW_CLIENT_LEN] == '!')
    {
        return 1;
    }

    tap_diag("%s is %.*s, must be %s", addr, (int) len, text, wanted);

    return 0;
}


static size_t
client_text(char *text, const char *addr, unsigned v4, unsigned v6)
{
    size_t         len;
    unsigned char  bytes[16], before[16];

    if (inet_pton(AF_INET, addr, bytes) == 1) {
        memcpy(before, bytes, 4);
        len = sw_client_v4(text, bytes, v4);

        return memcmp(before, bytes, 4) == 0 ? len : 0;
    }

    if (inet_pton(AF_INET6, addr, bytes) != 1) {
        abort();
    }

    memcpy(before, bytes, 16);
    len = sw_client_v6(text, bytes, v4, v6);

    return memcmp(before, bytes, 16) == 0 ? len : 0;
}
