
#include "sw_breaker.h"
#include "sw_math.h"


int64_t
sw_pause_next(int64_t *pause, uint32_t random)
{
    return sw_pause_up_to(pause, SW_PAUSE_MAX, random);
}


int64_t
sw_pause_up_to(int64_t *pause, int64_t max, uint32_t random)
{
    *pause = *pause ? sw_min(*pause * 2, max) : SW_PAUSE_MIN;

    return *pause / 2 + random % (*pause / 2 + 1);
}


int
sw_breaker_allows(sw_breaker_t *breaker, int64_t now)
{
    if (breaker->state == SW_BREAKER_CLOSED) {
        return 1;
    }

    if (now < breaker->until) {
        return 0;
    }

    /* a probe without an outcome is followed by another one */

    breaker->state = SW_BREAKER_PROBING;
    breaker->until = now + SW_PAUSE_MAX;

    return 1;
}


int
sw_breaker_success(sw_breaker_t *breaker)
{
    int  opened;

    opened = (breaker->state != SW_BREAKER_CLOSED);

    breaker->state = SW_BREAKER_CLOSED;
    breaker->failures = 0;
    breaker->pause = 0;

    return opened;
}


/* calls from before the breaker opened may still fail: no change */

int
sw_breaker_failure(sw_breaker_t *breaker, int64_t now, uint32_t random)
{
    int  opened;

    breaker->failures++;

    if (breaker->state == SW_BREAKER_OPEN
        || (breaker->state == SW_BREAKER_CLOSED
            && breaker->failures < SW_BREAKER_FAILURES))
    {
        return 0;
    }

    opened = (breaker->state == SW_BREAKER_CLOSED);

    breaker->state = SW_BREAKER_OPEN;
    breaker->until = now + sw_pause_next(&breaker->pause, random);

    return opened;
}
