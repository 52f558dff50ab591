
#include "fuzz.h"


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int          rc;
    int64_t      percent, wanted;
    const char  *text;

    text = (const char *) data;
    percent = FUZZ_UNTOUCHED;
    wanted = -1;

    rc = sw_parse_percent(text, size, &percent);

    if (size && text[size - 1] == '%') {
        wanted = fuzz_count(text, size - 1, 100);
    }

    if (wanted < 1) {
        fuzz_check(rc == SW_ERROR);
        fuzz_check(percent == FUZZ_UNTOUCHED);
        return 0;
    }

    fuzz_check(rc == SW_OK);
    fuzz_check(percent == wanted);
    fuzz_check(percent >= 1 && percent <= 100);

    return 0;
}
