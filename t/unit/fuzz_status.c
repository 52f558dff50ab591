
#include "fuzz.h"
#include "sw_status.h"


static int fuzz_status(const char *text, size_t len, int status);


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int            rc, status, good, wanted;
    size_t         i, start;
    const char    *text;
    sw_statuses_t  set, untouched;

    text = (const char *) data;
    memset(&set, 0x5a, sizeof(set));
    untouched = set;

    rc = sw_parse_statuses(text, size, &set);

    /* what is between two commas is some status, or a class */

    good = 1;

    for (i = 0, start = 0; i <= size; i++) {

        if (i < size && text[i] != ',') {
            continue;
        }

        for (status = 100; status < 600; status++) {
            if (fuzz_status(text + start, i - start, status)) {
                break;
            }
        }

        good &= (status < 600);
        start = i + 1;
    }

    if (!good) {
        fuzz_check(rc == SW_ERROR);
        fuzz_check(memcmp(&set, &untouched, sizeof(set)) == 0);
        return 0;
    }

    fuzz_check(rc == SW_OK);

    for (status = 0; status < 1000; status++) {
        wanted = 0;

        for (i = 0; status >= 100 && status < 600 && i < size; i += 4) {
            wanted |= fuzz_status(text + i, 3, status);
        }

        fuzz_check(sw_statuses_have(&set, status) == wanted);
    }

    return 0;
}


static int
fuzz_status(const char *text, size_t len, int status)
{
    return len == 3 && text[0] == '0' + status / 100
           && ((text[1] == 'x' && text[2] == 'x')
               || (text[1] == '0' + status / 10 % 10
                   && text[2] == '0' + status % 10));
}
