
/*
 * The circuit breaker and the pauses between attempts.
 */


#include <string.h>

#include "sw_breaker.h"
#include "tap.h"


#define TRACES  2000
#define STEPS   200


static void pauses(void);
static void closed(void);
static void opens(void);
static void probes(void);
static void lost_probes(void);
static void late_failures(void);
static void random_traces(void);

static int open_it(sw_breaker_t *breaker, int64_t now);


int
main(void)
{
    tap_diag("seed %llu", (unsigned long long) tap_seed(1984));

    pauses();
    closed();
    opens();
    probes();
    lost_probes();
    late_failures();
    random_traces();

    return tap_done();
}


static void
pauses(void)
{
    int       i, good, low, high;
    int64_t   pause, nominal, given;
    uint32_t  random;

    pause = 0;
    nominal = SW_PAUSE_MIN;
    good = 1;

    for (i = 0; i < 100; i++) {
        random = (uint32_t) tap_rand(0, UINT32_MAX);
        given = sw_pause_next(&pause, random);

        good = good && pause == nominal && given >= nominal / 2
               && given <= nominal;

        nominal = nominal * 2 < SW_PAUSE_MAX ? nominal * 2 : SW_PAUSE_MAX;
    }

    tap_ok(good, "pause: doubles from %d to %d, and half of it by chance",
           SW_PAUSE_MIN, SW_PAUSE_MAX);

    low = high = 0;

    for (i = 0; i < 10000; i++) {
        pause = 0;
        given = sw_pause_next(&pause, (uint32_t) tap_rand(0, UINT32_MAX));
        low += (given == SW_PAUSE_MIN / 2);
        high += (given == SW_PAUSE_MIN);
    }

    tap_ok(low > 0 && high > 0, "pause: both ends of the half are met");

    pause = 0;
    tap_ok(sw_pause_next(&pause, 0) == SW_PAUSE_MIN / 2,
           "pause: the least is not nothing");

    pause = SW_PAUSE_MAX;
    tap_ok(sw_pause_next(&pause, UINT32_MAX) <= SW_PAUSE_MAX
           && pause == SW_PAUSE_MAX, "pause: the most stays the most");

    pause = SW_PAUSE_MAX;
    given = sw_pause_up_to(&pause, 3 * SW_PAUSE_MAX, UINT32_MAX);
    tap_ok(pause == 2 * SW_PAUSE_MAX && given >= pause / 2 && given <= pause
           && sw_pause_up_to(&pause, 3 * SW_PAUSE_MAX, 0)
              == 3 * SW_PAUSE_MAX / 2,
           "pause: up to another length if told");
}


static void
closed(void)
{
    int           i, good;
    sw_breaker_t  breaker;

    memset(&breaker, 0, sizeof(breaker));

    tap_ok(breaker.state == SW_BREAKER_CLOSED, "zeros are a closed breaker");

    good = 1;

    for (i = 0; i < 100; i++) {
        good = good && sw_breaker_allows(&breaker, i);
    }

    tap_ok(good, "closed: any number may ask");
    tap_ok(sw_breaker_success(&breaker) == 0, "closed: a success is no news");

    good = 1;

    for (i = 0; i < 100; i++) {
        good = good
               && (i % SW_BREAKER_FAILURES == SW_BREAKER_FAILURES - 1
                   ? !sw_breaker_success(&breaker)
                   : !sw_breaker_failure(&breaker, i, 1))
               && sw_breaker_allows(&breaker, i);
    }

    tap_ok(good, "closed: %d failures in a row never come together",
           SW_BREAKER_FAILURES);
}


static void
opens(void)
{
    int           i, good;
    sw_breaker_t  breaker;

    memset(&breaker, 0, sizeof(breaker));
    good = 1;

    for (i = 1; i < SW_BREAKER_FAILURES; i++) {
        good = good && !sw_breaker_failure(&breaker, 1000, 7)
               && sw_breaker_allows(&breaker, 1000)
               && breaker.failures == i;
    }

    tap_ok(good, "opens: not before the last");
    tap_ok(sw_breaker_failure(&breaker, 1000, 7) == 1
           && breaker.failures == SW_BREAKER_FAILURES,
           "opens: at the %dth in a row, and reports it", SW_BREAKER_FAILURES);
    tap_ok(!sw_breaker_allows(&breaker, 1000), "open: no check is sent");
    tap_ok(!sw_breaker_allows(&breaker, 1000 + SW_PAUSE_MIN / 2 - 1),
           "open: nor before the least pause is over");
    tap_ok(sw_breaker_allows(&breaker, 1000 + SW_PAUSE_MIN),
           "open: when the longest is over one does");
}


static void
probes(void)
{
    int           i, good, grows;
    int64_t       now, before, until;
    sw_breaker_t  breaker;

    now = open_it(&breaker, 5000);
    tap_ok(now == 5000, "probe: it is open");

    now = breaker.until;
    tap_ok(!sw_breaker_allows(&breaker, now - 1)
           && sw_breaker_allows(&breaker, now)
           && breaker.state == SW_BREAKER_PROBING,
           "probe: the first after the pause is the probe");

    good = 1;

    for (i = 0; i < 100; i++) {
        good = good && !sw_breaker_allows(&breaker, now + i);
    }

    tap_ok(good, "probe: the only one while it is under way");

    tap_ok(sw_breaker_success(&breaker) == 1,
           "probe: a success closes it, and reports it");
    tap_ok(sw_breaker_allows(&breaker, now) && sw_breaker_allows(&breaker, now)
           && breaker.failures == 0, "probe: then all may ask");
    tap_ok(sw_breaker_success(&breaker) == 0, "probe: which is reported once");

    /* a failed probe opens it for longer, silently */

    (void) open_it(&breaker, 5000);
    good = grows = 1;
    before = breaker.until - 5000;

    for (i = 0; i < 20; i++) {
        now = breaker.until;
        good = good && sw_breaker_allows(&breaker, now)
               && !sw_breaker_failure(&breaker, now, UINT32_MAX - 15)
               && breaker.state == SW_BREAKER_OPEN
               && !sw_breaker_allows(&breaker, now);

        until = breaker.until - now;
        grows = grows && until <= SW_PAUSE_MAX
                && (until >= before || breaker.pause == SW_PAUSE_MAX);
        before = until;
    }

    tap_ok(good, "probe: a failure opens it again, and is no news");
    tap_ok(grows && breaker.pause == SW_PAUSE_MAX,
           "probe: after pauses that grow up to %d", SW_PAUSE_MAX);

    now = breaker.until;
    (void) sw_breaker_allows(&breaker, now);
    tap_ok(sw_breaker_success(&breaker) == 1, "probe: in the end it works");

    now = open_it(&breaker, now);
    tap_ok(breaker.until - now <= SW_PAUSE_MIN,
           "probe: the next time begins with the least pause");
}


static void
lost_probes(void)
{
    int64_t       now;
    sw_breaker_t  breaker;

    (void) open_it(&breaker, 0);

    now = breaker.until;
    (void) sw_breaker_allows(&breaker, now);

    tap_ok(!sw_breaker_allows(&breaker, now + SW_PAUSE_MAX - 1),
           "a probe that is not heard of keeps others away");
    tap_ok(sw_breaker_allows(&breaker, now + SW_PAUSE_MAX)
           && !sw_breaker_allows(&breaker, now + SW_PAUSE_MAX),
           "... for %d ms, then there is another one", SW_PAUSE_MAX);
}


static void
late_failures(void)
{
    int           i, good;
    int64_t       until;
    sw_breaker_t  breaker;

    (void) open_it(&breaker, 0);

    until = breaker.until;
    good = 1;

    for (i = 0; i < 1000; i++) {
        good = good && !sw_breaker_failure(&breaker, i, (uint32_t) i)
               && breaker.until == until
               && breaker.state == SW_BREAKER_OPEN;
    }

    tap_ok(good && breaker.pause == SW_PAUSE_MIN,
           "what was asked before it opened may fail: nothing changes");

    tap_ok(sw_breaker_success(&breaker) == 1
           && sw_breaker_allows(&breaker, 0),
           "... or work: it closes");
}


/*
 * Whatever happens: it changes only as it says, asks while it is closed, lets
 * one in a time while it is not, and never stays away for longer than a pause.
 */

static void
random_traces(void)
{
    int           i, j, allowed, changed, row, good;
    int64_t       now;
    sw_breaker_t  breaker, before;

    good = 1;

    for (i = 0; i < TRACES && good; i++) {
        memset(&breaker, 0, sizeof(breaker));
        now = tap_rand(0, 1) ? 0 : tap_rand(0, 1LL << 50);
        row = 0;

        for (j = 0; j < STEPS && good; j++) {
            now += tap_rand(0, 3) ? tap_rand(0, 20) : tap_rand(0, 3000);
            before = breaker;

            switch (tap_rand(0, 3)) {

            case 0:
                changed = sw_breaker_success(&breaker);
                row = 0;

                good = breaker.state == SW_BREAKER_CLOSED
                       && changed == (before.state != SW_BREAKER_CLOSED);
                break;

            case 1:
                changed = sw_breaker_failure(&breaker, now,
                                     (uint32_t) tap_rand(0, UINT32_MAX));
                row++;

                good = changed == (before.state == SW_BREAKER_CLOSED
                                   && breaker.state == SW_BREAKER_OPEN)
                       && (before.state != SW_BREAKER_CLOSED
                           || changed == (row >= SW_BREAKER_FAILURES));
                break;

            default:
                allowed = sw_breaker_allows(&breaker, now);

                good = allowed == (before.state == SW_BREAKER_CLOSED
                                   || now >= before.until)
                       && (before.state == SW_BREAKER_CLOSED
                           || !sw_breaker_allows(&breaker, now));
                break;
            }

            /* never away for longer than a pause from now */

            good = good && (breaker.state == SW_BREAKER_CLOSED
                            || breaker.until <= now + SW_PAUSE_MAX);
        }
    }

    tap_ok(good, "%d random traces", i);
}


static int
open_it(sw_breaker_t *breaker, int64_t now)
{
    int  i;

    memset(breaker, 0, sizeof(sw_breaker_t));

    for (i = 0; i < SW_BREAKER_FAILURES; i++) {
        (void) sw_breaker_failure(breaker, now, 0);
    }

    return breaker->state == SW_BREAKER_OPEN ? (int) now : -1;
}
