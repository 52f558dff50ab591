
/* times of logs: what is taken is a time that the C library agrees with */


#include <time.h>

#include "fuzz.h"
#include "replay_time.h"


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char           copy[64], again[REPLAY_TIME_LEN];
    time_t         seconds;
    int64_t        ms, period;
    struct tm      tm;
    replay_text_t  text;

    text.data = (const char *) data;
    text.len = size;

    ms = replay_time_parse(text);
    (void) replay_time_is_fine(text);

    period = replay_time_seconds(text);
    fuzz_check(period == REPLAY_TIME_BAD || period >= 0);

    if (ms == REPLAY_TIME_BAD || size >= sizeof(copy)) {
        return 0;
    }

    /* what is shown of it is the same time */

    if (ms >= 0 && ms < 253402300800000LL) {
        replay_time_text(again, ms, 1);
        fuzz_check(replay_time_parse(replay_text_of(again)) == ms);
    }

    memcpy(copy, data, size);
    copy[size] = '\0';

    if (size < 19 || copy[4] != '-') {
        return 0;
    }

    memset(&tm, 0, sizeof(tm));

    copy[10] = 'T';
    fuzz_check(strptime(copy, "%Y-%m-%dT%H:%M:%S", &tm) != NULL);

    seconds = timegm(&tm);
    fuzz_check(ms >= ((int64_t) seconds - 86400) * 1000
               && ms < ((int64_t) seconds + 86400) * 1000);

    return 0;
}
