
#include "fuzz.h"
#include "text.h"


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int             rc;
    char           *text;
    size_t          i, n;
    unsigned char  *out;

    fuzz_check(text_ok(data, size));

    /* the same bytes as what a client sends */

    out = malloc(size ? size : 1);
    fuzz_check(out != NULL);

    n = SIZE_MAX;
    rc = sw_text_from_uri(out, (const char *) data, size, &n);

    if (rc != 0) {
        fuzz_check(rc == -1);
        fuzz_check(n == SIZE_MAX);
        fuzz_check(memchr(data, '%', size) != NULL);
        free(out);
        return 0;
    }

    fuzz_check(n <= size);

    for (i = 0; i < n; i++) {
        if (n == size) {
            fuzz_check(out[i] == data[i]);
        }
    }

    /* in place it is the same */

    text = malloc(size ? size : 1);
    fuzz_check(text != NULL);
    memcpy(text, data, size);

    fuzz_check(sw_text_from_uri(text, text, size, &i) == 0);
    fuzz_check(i == n);
    fuzz_check(memcmp(text, out, n) == 0);

    free(text);
    free(out);

    return 0;
}
