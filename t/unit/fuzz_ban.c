
#include "fuzz.h"
#include "sw_window.h"


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int          rc;
    size_t       first;
    int64_t      time, max, wanted_time, wanted_max;
    const char  *text;

    text = (const char *) data;

    for (first = 0; first < size; first++) {
        if (size - first > 1 && memcmp(text + first, "..", 2) == 0) {
            break;
        }
    }

    wanted_time = fuzz_period(text, first);
    wanted_max = 0;

    if (first < size) {
        wanted_max = fuzz_period(text + first + 2, size - first - 2);
    }

    time = FUZZ_UNTOUCHED;
    max = FUZZ_UNTOUCHED;
    rc = sw_parse_ban(text, size, &time, &max);

    if (wanted_time == -1 || (first < size && wanted_max < wanted_time)) {
        fuzz_check(rc == SW_ERROR);
        fuzz_check(time == FUZZ_UNTOUCHED && max == FUZZ_UNTOUCHED);
        return 0;
    }

    fuzz_check(rc == SW_OK);
    fuzz_check(time == wanted_time && max == wanted_max);
    fuzz_check(time >= 1 && time <= SW_WINDOW_MAX);
    fuzz_check(max == 0 || (max >= time && max <= SW_WINDOW_MAX));

    return 0;
}
