
#include "fuzz.h"


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int      rc;
    int64_t  max, count, wanted;

    /* the maximum comes first, of any magnitude */

    if (size < 9) {
        return 0;
    }

    memcpy(&max, data, 8);
    max = (int64_t) ((uint64_t) max >> 1 >> data[8] % 63);

    data += 9;
    size -= 9;

    count = FUZZ_UNTOUCHED;
    rc = sw_parse_count((const char *) data, size, max, &count);
    wanted = fuzz_count((const char *) data, size, max);

    if (wanted == -1) {
        fuzz_check(rc == SW_ERROR);
        fuzz_check(count == FUZZ_UNTOUCHED);
        return 0;
    }

    fuzz_check(rc == SW_OK);
    fuzz_check(count == wanted);
    fuzz_check(count >= 0 && count <= max);

    return 0;
}
