
/*
 * Random rules and times that like to sit on the edges of windows, and the
 * list of what was admitted, which is all that a guarantee is about.
 */


#ifndef _TRACE_H_INCLUDED_
#define _TRACE_H_INCLUDED_


#include <inttypes.h>

#include "client.h"
#include "tap.h"


#define TRACE_EVENTS  4096


typedef struct {
    int64_t   time;
    int64_t   units;
} trace_event_t;


typedef struct {
    int            n;
    trace_event_t  events[TRACE_EVENTS];
} trace_t;


/* a small one: every ms and every cost can be asked for */

static inline void
trace_rule(sw_rule_t *rule, sw_algorithm_e algorithm)
{
    static const int64_t  windows[] = {
        1, 2, 3, 4, 5, 7, 10, 12, 13, 16, 17, 24, 30, 41, 60, 64, 100
    };

    rule->algorithm = algorithm;
    rule->limit = tap_rand(0, 3) ? tap_rand(1, 12) : tap_rand(1, 60);
    rule->window = windows[tap_rand(0, 16)];
    rule->slices = 0;

    if (algorithm == SW_STRICT) {
        rule->slices = rule->window;

        switch (tap_rand(0, 7)) {

        case 0:
            break;

        case 1:
            rule->slices = 1;
            break;

        default:
            rule->slices = tap_rand(1, rule->window);
            break;
        }
    }

    assert(sw_rule_error(rule) == NULL);
}


static inline int64_t
trace_start(void)
{
    switch (tap_rand(0, 3)) {

    case 0:
        return 0;

    case 1:
        return tap_rand(0, 500);

    case 2:
        return 1700000000000 + tap_rand(0, 1000);

    default:
        /* where the low 32 bits of a time begin again */
        return (tap_rand(1, 1000) << 32) - tap_rand(0, 200);
    }
}


/* time that passes */

static inline int64_t
trace_step(const sw_rule_t *rule)
{
    switch (tap_rand(0, 11)) {

    case 0:
    case 1:
    case 2:
        return 0;

    case 3:
    case 4:
        return 1;

    case 5:
        return rule->window - 1;

    case 6:
        return rule->window;

    case 7:
        return tap_rand(0, 3 * rule->window + 3);

    case 8:
    case 9:
        return tap_rand(0, rule->window / 4 + 1);

    default:
        return tap_rand(0, rule->window);
    }
}


static inline int64_t
trace_cost(const sw_rule_t *rule)
{
    switch (tap_rand(0, 7)) {

    case 0:
        return 0;

    case 1:
        return rule->limit;

    case 2:
        return tap_rand(1, rule->limit);

    case 3:
        return tap_rand(1, rule->limit / 2 + 1);

    default:
        return 1;
    }
}


static inline void
trace_add(trace_t *trace, int64_t time, int64_t units)
{
    assert(trace->n < TRACE_EVENTS);

    trace->events[trace->n].time = time;
    trace->events[trace->n].units = units;
    trace->n++;
}


/* units in (time - span, time] */

static inline int64_t
trace_units(const trace_t *trace, int64_t time, int64_t span)
{
    int      i;
    int64_t  units;

    units = 0;

    for (i = trace->n - 1; i >= 0; i--) {

        if (trace->events[i].time <= time
            && trace->events[i].time > time - span)
        {
            units += trace->events[i].units;
        }
    }

    return units;
}


/* the most in any span; one that is fullest can end with an event */

static inline int64_t
trace_most(const trace_t *trace, int64_t span)
{
    int      i;
    int64_t  units, most;

    most = 0;

    for (i = 0; i < trace->n; i++) {
        units = trace_units(trace, trace->events[i].time, span);
        most = units > most ? units : most;
    }

    return most;
}


/* the most in any aligned window */

static inline int64_t
trace_most_aligned(const trace_t *trace, int64_t window)
{
    int      i;
    int64_t  end, units, most;

    most = 0;

    for (i = 0; i < trace->n; i++) {
        end = (trace->events[i].time / window + 1) * window - 1;
        units = trace_units(trace, end, window);
        most = units > most ? units : most;
    }

    return most;
}


static inline const char *
trace_name(const sw_rule_t *rule)
{
    static char  text[128];

    snprintf(text, sizeof(text), "%s limit=%" PRId64 " window=%" PRId64
             " slices=%" PRId64, client_algorithms[rule->algorithm],
             rule->limit, rule->window, rule->slices);

    return text;
}


static inline int
trace_same(const sw_verdict_t *a, const sw_verdict_t *b)
{
    return a->admitted == b->admitted
           && a->remaining == b->remaining
           && a->retry == b->retry
           && a->more == b->more
           && a->reset == b->reset
           && a->level == b->level
           && a->scale == b->scale
           && a->stamp == b->stamp;
}


static inline void
trace_show(const char *whose, const sw_verdict_t *v)
{
    tap_diag("  %s: admitted=%d remaining=%" PRId64 " retry=%" PRId64
             " more=%" PRId64 " reset=%" PRId64 " level=%" PRId64 "/%" PRId64
             " stamp=%" PRId64, whose, v->admitted, v->remaining, v->retry,
             v->more, v->reset, v->level, v->scale, v->stamp);
}


#endif /* _TRACE_H_INCLUDED_ */
