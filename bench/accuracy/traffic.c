
#include "memory.h"
#include "traffic.h"


#define MINUTE   60000LL
#define HOUR     3600000LL

/* zero of all clocks; windows of an hour begin there */
#define EPOCH    (1000 * HOUR)

#define LOADS    8
#define MIXED    500               /* clients of a mix, before it repeats */

#define BURST    5                 /* times the mean, a fifth of the time */
#define CALM     0.2               /* of the limit, before a flash crowd */
#define CROWD    5                 /* times the limit, when it comes */


const traffic_t  traffics[TRAFFIC_KINDS] = {
    { "Poisson",     MINUTE, 10, LOADS, 1000000 },
    { "bursty",      MINUTE, 10, LOADS, 1000000 },
    { "daily",       HOUR,   24, LOADS, 1000000 },
    { "flash crowd", MINUTE, 10, LOADS, 1000000 },
    { "adversary",   MINUTE, 40, 1,      200000 },
    { "mix",         MINUTE, 6,  MIXED, 2000000 },
    { "mix, bursty", MINUTE, 6,  MIXED, 2000000 },
};


/* mean rates of clients around their limit, as parts of it */

static const double  loads[LOADS] = {
    0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.3, 2.0
};


static double mix_load(int64_t n, random_t *random);
static void poisson(trace_t *trace, double from, double to, double every,
    random_t *random);
static void bursty(trace_t *trace, double from, double to, double every,
    double window, random_t *random);
static void daily(trace_t *trace, double from, double to, double every,
    random_t *random);
static void flash(trace_t *trace, double from, double to, double window,
    double limit, double load, random_t *random);
static void adversary(trace_t *trace, double to, int64_t window,
    int64_t limit);
static void trace_add(trace_t *trace, double time);


void
traffic_make(trace_t *trace, traffic_e kind, int64_t n, int64_t limit,
    random_t *random)
{
    double            from, to, load, window, every;
    const traffic_t  *traffic;

    traffic = &traffics[kind];
    window = (double) traffic->window;

    trace->n = 0;
    trace->start = EPOCH + random_below(random, traffic->window);

    from = (double) trace->start;
    to = from + window * traffic->windows;

    load = (kind < TRAFFIC_MIX) ? loads[n % LOADS] : mix_load(n, random);
    every = window / (load * (double) limit);

    switch (kind) {

    case TRAFFIC_BURSTY:
    case TRAFFIC_MIX_BURSTY:
        bursty(trace, from, to, every, window, random);
        break;

    case TRAFFIC_DAILY:
        daily(trace, from, to, every, random);
        break;

    case TRAFFIC_FLASH:
        flash(trace, from, to, window, (double) limit, load, random);
        break;

    case TRAFFIC_ADVERSARY:
        adversary(trace, to, traffic->window, limit);
        break;

    default:
        poisson(trace, from, to, every, random);
        break;
    }
}


/* of 500 clients one is far above its limit, and two are around it */

traffic_group_e
traffic_group(int64_t n)
{
    switch (n % MIXED) {

    case 0:
        return TRAFFIC_ABOVE;

    case 1:
    case 2:
        return TRAFFIC_AROUND;

    default:
        return TRAFFIC_BELOW;
    }
}


/* far below: from 1/64 to 1/2 of the limit, each doubling is as likely */

static double
mix_load(int64_t n, random_t *random)
{
    double  load;

    load = random_uniform(random);

    switch (traffic_group(n)) {

    case TRAFFIC_ABOVE:
        return 1.5 + 1.5 * load;

    case TRAFFIC_AROUND:
        return 0.6 + 0.2 * (double) (n % MIXED + load);

    default:
        return (1 + load) / (double) (4 << random_below(random, 5));
    }
}


static void
poisson(trace_t *trace, double from, double to, double every,
    random_t *random)
{
    for ( ;; ) {
        from += every * random_exponential(random);

        if (from >= to) {
            return;
        }

        trace_add(trace, from);
    }
}


/* on for a fifth of a window, off for four fifths, both on average */

static void
bursty(trace_t *trace, double from, double to, double every, double window,
    random_t *random)
{
    int     on;
    double  next;

    on = (random_below(random, BURST) == 0);

    while (from < to) {
        next = from + random_exponential(random) * window / BURST
                      * (on ? 1 : BURST - 1);

        if (next > to) {
            next = to;
        }

        if (on) {
            poisson(trace, from, next, every / BURST, random);
        }

        from = next;
        on = !on;
    }
}


/* rises from 0.1 to 1.9 of the mean and falls again, in straight lines */

static void
daily(trace_t *trace, double from, double to, double every,
    random_t *random)
{
    double  time, part;

    for (time = from; /* void */ ; /* void */ ) {
        time += every / 1.9 * random_exponential(random);

        if (time >= to) {
            return;
        }

        part = 2 * (time - from) / (to - from);

        if (part > 1) {
            part = 2 - part;
        }

        if (random_uniform(random) * 1.9 < 0.1 + 1.8 * part) {
            trace_add(trace, time);
        }
    }
}


/* a crowd that is there at once, and of which half is left a window later */

static void
flash(trace_t *trace, double from, double to, double window, double limit,
    double load, random_t *random)
{
    double  time, came, rate, part;

    came = from + window * (2 + random_uniform(random));

    poisson(trace, from, came, window / (CALM * limit), random);

    for (rate = CROWD * load; came < to; rate /= 2) {

        for (time = came; /* void */ ; /* void */ ) {
            time += window / ((CALM + rate) * limit)
                    * random_exponential(random);

            if (time >= came + window || time >= to) {
                break;
            }

            part = 1 - (time - came) / window / 2;

            if (random_uniform(random) * (CALM + rate) < CALM + rate * part) {
                trace_add(trace, time);
            }
        }

        came += window;
    }
}


/*
 * It knows when windows end: the whole limit in the last ms of one and in the
 * first of the next, then a try whenever a unit of the first burst has decayed.
 * After two windows it comes again.
 */

static void
adversary(trace_t *trace, double to, int64_t window, int64_t limit)
{
    int64_t  i, time, decayed;

    for (time = (trace->start / window + 1) * window;
         (double) time < to;
         time += 4 * window)
    {
        for (i = 0; i < limit; i++) {
            trace_add(trace, (double) (time - 1));
        }

        for (i = 0; i < limit; i++) {
            trace_add(trace, (double) time);
        }

        for (i = 1; i < limit; i++) {
            decayed = (i * window + limit - 1) / limit;
            trace_add(trace, (double) (time + decayed));
        }
    }
}


static void
trace_add(trace_t *trace, double time)
{
    int64_t  *times;

    if (trace->n == trace->room) {
        trace->room = trace->room ? trace->room * 2 : 1024;

        times = realloc(trace->times, (size_t) trace->room * sizeof(int64_t));

        if (times == NULL) {
            abort();
        }

        trace->times = times;
    }

    trace->times[trace->n++] = (int64_t) time;
}


void
trace_free(trace_t *trace)
{
    free(trace->times);
}
