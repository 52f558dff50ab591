
#include "fuzz.h"
#include "sw_window.h"


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int      rc;
    int64_t  ms, wanted;

    ms = FUZZ_UNTOUCHED;
    rc = sw_parse_period((const char *) data, size, &ms);
    wanted = fuzz_period((const char *) data, size);

    if (wanted == -1) {
        fuzz_check(rc == SW_ERROR);
        fuzz_check(ms == FUZZ_UNTOUCHED);
        return 0;
    }

    fuzz_check(rc == SW_OK);
    fuzz_check(ms == wanted);
    fuzz_check(ms >= 1 && ms <= SW_WINDOW_MAX);

    return 0;
}
