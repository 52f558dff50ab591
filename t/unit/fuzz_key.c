
#include "fnv.h"
#include "fuzz.h"
#include "sw_key.h"


static void digest(unsigned char *out, const void *data, size_t len);
static int key_equal(const sw_key_t *a, const sw_key_t *b);


static size_t  digested;


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t         split, rest;
    sw_key_t       a, b, again;
    unsigned char  sum_a[SW_KEY_DIGEST], sum_b[SW_KEY_DIGEST];

    /* two keys, cut from the input anywhere */

    if (size < 2) {
        return 0;
    }

    split = (size_t) (data[0] << 8 | data[1]) % (size - 1);
    data += 2;
    size -= 2;
    rest = size - split;

    digested = 0;
    memset(&a, 0x11, sizeof(a));
    sw_key_make(&a, data, split, digest);

    if (split <= SW_KEY_MAX) {
        fuzz_check(digested == 0);
        fuzz_check(a.kind == split && sw_key_len(a.kind) == split);
        fuzz_check(memcmp(a.data, data, split) == 0);

    } else {
        digest(sum_a, data, split);
        fuzz_check(digested == 2 * split);
        fuzz_check(sw_key_len(a.kind) == SW_KEY_DIGEST);
        fuzz_check(memcmp(a.data, sum_a, SW_KEY_DIGEST) == 0);
    }

    memset(&again, 0x22, sizeof(again));
    sw_key_make(&again, data, split, digest);
    fuzz_check(key_equal(&a, &again));

    memset(&b, 0x33, sizeof(b));
    sw_key_make(&b, data + split, rest, digest);

    if (split == rest && memcmp(data, data + split, split) == 0) {
        fuzz_check(key_equal(&a, &b));

    } else if (split <= SW_KEY_MAX || rest <= SW_KEY_MAX) {
        fuzz_check(!key_equal(&a, &b));

    } else {
        digest(sum_a, data, split);
        digest(sum_b, data + split, rest);
        fuzz_check(key_equal(&a, &b)
                   == (memcmp(sum_a, sum_b, SW_KEY_DIGEST) == 0));
    }

    return 0;
}


static void
digest(unsigned char *out, const void *data, size_t len)
{
    fnv_digest(out, data, len);
    digested += len;
}


static int
key_equal(const sw_key_t *a, const sw_key_t *b)
{
    return a->kind == b->kind
           && memcmp(a->data, b->data, sw_key_len(a->kind)) == 0;
}
