
/*
 * Two clients, cut from the input anywhere: one key in Redis for each, and one
 * for both only if they are the same.
 */


#include "fnv.h"
#include "fuzz.h"
#include "sw_key.h"


#define PREFIX  "sw:"
#define ZONE    "zone"
#define ROOM    (SW_REDIS_KEY_LEN + sizeof(PREFIX ZONE) - 1)


static size_t make(char *text, const uint8_t *client, size_t len);
static void check(const char *text, size_t n, const uint8_t *client,
    size_t len);
static int plain(const uint8_t *client, size_t len);


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char           *a, *b;
    size_t          split, rest, n, m;
    unsigned char   sum_a[SW_KEY_DIGEST], sum_b[SW_KEY_DIGEST];

    if (size < 2) {
        return 0;
    }

    split = (size_t) (data[0] << 8 | data[1]) % (size - 1);
    data += 2;
    size -= 2;
    rest = size - split;

    a = malloc(ROOM);
    b = malloc(ROOM);

    n = make(a, data, split);
    check(a, n, data, split);

    m = make(b, data + split, rest);
    check(b, m, data + split, rest);

    if (split == rest && memcmp(data, data + split, split) == 0) {
        fuzz_check(n == m && memcmp(a, b, n) == 0);

    } else if (plain(data, split) || plain(data + split, rest)) {
        fuzz_check(n != m || memcmp(a, b, n) != 0);

    } else {
        fnv_digest(sum_a, data, split);
        fnv_digest(sum_b, data + split, rest);
        fuzz_check((memcmp(a, b, n) == 0)
                   == (memcmp(sum_a, sum_b, SW_KEY_DIGEST) == 0));
    }

    free(a);
    free(b);

    return 0;
}


static size_t
make(char *text, const uint8_t *client, size_t len)
{
    return sw_key_redis(text, PREFIX, sizeof(PREFIX) - 1, client, len, ZONE,
                        sizeof(ZONE) - 1, fnv_digest);
}


static void
check(const char *text, size_t n, const uint8_t *client, size_t len)
{
    size_t       i;
    const char  *open, *close;

    fuzz_check(n <= ROOM);

    for (i = 0; i < n; i++) {
        fuzz_check(text[i] > ' ' && text[i] <= '~');
    }

    /* the hash tag is from the first brace to the next, and not empty */

    open = memchr(text, '{', n);
    close = memchr(text, '}', n);

    fuzz_check(open == text + sizeof(PREFIX) - 1);
    fuzz_check(close == text + n - sizeof("}:" ZONE) + 1);
    fuzz_check(close > open + 1);
    fuzz_check(memcmp(text, PREFIX, sizeof(PREFIX) - 1) == 0);
    fuzz_check(memcmp(close, "}:" ZONE, sizeof("}:" ZONE) - 1) == 0);

    if (plain(client, len)) {
        fuzz_check((size_t) (close - open) == len + 1);
        fuzz_check(memcmp(open + 1, client, len) == 0);

    } else {
        fuzz_check(close - open == 2 + 2 * SW_KEY_DIGEST);
        fuzz_check(open[1] == '#');
        fuzz_check(strspn(open + 2, "0123456789abcdef")
                   == 2 * SW_KEY_DIGEST);
    }
}


static int
plain(const uint8_t *client, size_t len)
{
    size_t  i;

    for (i = 0; i < len; i++) {
        if (client[i] < 0x21 || client[i] > 0x7e || client[i] == '{'
            || client[i] == '}')
        {
            return 0;
        }
    }

    return len > 0 && len <= SW_REDIS_CLIENT_MAX && client[0] != '#';
}
