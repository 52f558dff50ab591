
/*
 * The contract written down a second time, as slowly as it reads: a list of
 * what was admitted and when, an estimate that adds it up anew every time,
 * and times to wait found by asking at later times.
 */


#ifndef _MODEL_H_INCLUDED_
#define _MODEL_H_INCLUDED_


#include <assert.h>
#include <stdint.h>

#include "sw_window.h"


#define MODEL_EVENTS  2048

#ifndef MODEL_STEPS
#define MODEL_STEPS   512          /* up to this window, ms by ms */
#endif


typedef struct {
    int64_t         time;
    int64_t         units;
} model_event_t;


typedef struct {
    sw_rule_t       rule;
    int64_t         own;           /* the state's own time */
    int64_t         longest;       /* window that a log is kept for */
    int64_t         n;
    model_event_t   events[MODEL_EVENTS];
} model_t;


/* the number of the window (or slice) of a time */

static inline int64_t
model_cell(const model_t *m, int64_t t)
{
    if (m->rule.algorithm == SW_LOG) {
        return t;
    }

    if (m->rule.algorithm == SW_STRICT) {
        return t * m->rule.slices / m->rule.window;
    }

    return t / m->rule.window;
}


static inline int64_t
model_cell_start(const model_t *m, int64_t cell)
{
    int64_t  t;

    t = cell;

    if (m->rule.algorithm == SW_STRICT) {
        t = cell * m->rule.window / m->rule.slices;

        while (model_cell(m, t) < cell) {
            t++;
        }

    } else if (m->rule.algorithm != SW_LOG) {
        t = cell * m->rule.window;
    }

    return t;
}


static inline int64_t
model_scale(const model_t *m)
{
    return m->rule.algorithm == SW_COUNTER ? m->rule.window : 1;
}


/* what an event weighs at the time, times the scale */

static inline int64_t
model_weight(const model_t *m, const model_event_t *event, int64_t t)
{
    int64_t  age;

    age = model_cell(m, t) - model_cell(m, event->time);

    switch (m->rule.algorithm) {

    case SW_FIXED:
        return age == 0 ? event->units : 0;

    case SW_STRICT:
        return age <= m->rule.slices ? event->units : 0;

    case SW_LOG:
        return age < m->rule.window ? event->units : 0;

    default: /* SW_COUNTER */

        if (age == 0) {
            return event->units * m->rule.window;
        }

        if (age == 1) {
            return event->units
                   * (m->rule.window - t % m->rule.window);
        }

        return 0;
    }
}


static inline int64_t
model_level(const model_t *m, int64_t t)
{
    int64_t  i, level;

    level = 0;

    for (i = 0; i < m->n; i++) {
        level += model_weight(m, &m->events[i], t);
    }

    return level;
}


static inline void
model_init(model_t *m, const sw_rule_t *rule, int64_t now)
{
    m->rule = *rule;
    m->own = model_cell_start(m, model_cell(m, now));
    m->longest = rule->window;
    m->n = 0;
}


/* a log is kept for the longest window asked for since it was empty */

static inline int64_t
model_kept(const model_t *m)
{
    return m->longest > m->rule.window ? m->longest : m->rule.window;
}


/* whether the time is so far back that what is held is carried */

static inline int
model_astray(const model_t *m, int64_t now)
{
    if (m->rule.algorithm == SW_LOG) {
        return m->n && m->own - now > m->rule.window;
    }

    if (m->rule.algorithm == SW_STRICT) {
        return model_cell(m, m->own) - model_cell(m, now)
               > m->rule.slices;
    }

    return m->own - now > m->rule.window;
}


static inline int64_t
model_then(const model_t *m, int64_t now)
{
    if (m->rule.algorithm == SW_LOG && m->n == 0) {
        return now;
    }

    return now < m->own ? m->own : now;
}


/* what the state holds, in whole units */

static inline int64_t
model_used(const model_t *m, int64_t now)
{
    int64_t  i, scale, used;

    scale = model_scale(m);

    if (m->rule.algorithm == SW_LOG) {
        used = 0;

        for (i = 0; i < m->n; i++) {

            if (model_then(m, now) - m->events[i].time < m->longest) {
                used += m->events[i].units;
            }
        }

        return used;
    }

    return (model_level(m, model_then(m, now)) + scale - 1) / scale;
}


static inline int64_t
model_bring(model_t *m, int64_t now)
{
    int64_t  i, n, used, then, kept;

    kept = model_kept(m);

    if (model_astray(m, now)) {
        m->longest = kept;
        used = model_used(m, now);

        if (m->rule.algorithm != SW_LOG || kept == m->rule.window) {
            used = used < m->rule.limit ? used : m->rule.limit;
        }

        used = used < SW_LOG_UNITS_MAX || m->rule.algorithm != SW_LOG
               ? used : SW_LOG_UNITS_MAX;

        model_init(m, &m->rule, now);
        m->longest = kept;

        if (used) {
            m->events[0].time = now;
            m->events[0].units = used;
            m->own = model_cell_start(m, model_cell(m, now));
            m->n = 1;
        }

        return now;
    }

    then = model_then(m, now);

    for (i = 0, n = 0; i < m->n; i++) {

        if (m->rule.algorithm == SW_LOG
            ? then - m->events[i].time < kept
            : model_weight(m, &m->events[i], then) != 0)
        {
            m->events[n++] = m->events[i];
        }
    }

    m->n = n;

    m->longest = kept;

    if (m->rule.algorithm != SW_LOG) {
        m->own = model_cell_start(m, model_cell(m, then));
    }

    return then;
}


static inline int
model_fits(const model_t *m, int64_t now, int64_t cost)
{
    int64_t  scale;

    scale = model_scale(m);

    return cost == 0
           || model_level(m, model_then(m, now)) + cost * scale
              <= m->rule.limit * scale;
}


static inline int64_t
model_wait(const model_t *m, int64_t now, int64_t cost)
{
    int64_t  low, high, middle;

    if (m->rule.window <= MODEL_STEPS) {

        for (low = 0; !model_fits(m, now + low, cost); low++) {
            assert(low <= 4 * MODEL_STEPS);
        }

        return low;
    }

    low = -1;
    high = 4 * m->rule.window;

    assert(model_fits(m, now + high, cost));

    while (low + 1 < high) {
        middle = low + (high - low) / 2;

        if (model_fits(m, now + middle, cost)) {
            high = middle;

        } else {
            low = middle;
        }
    }

    return high;
}


static inline void
model_check(model_t *m, int64_t now, int64_t cost, sw_verdict_t *v)
{
    int64_t  low, high, middle;

    v->stamp = model_bring(m, now);
    v->scale = model_scale(m);
    v->level = model_level(m, v->stamp);

    low = 0;
    high = m->rule.limit;

    while (low < high) {
        middle = low + (high - low + 1) / 2;

        if (model_fits(m, now, middle)) {
            low = middle;

        } else {
            high = middle - 1;
        }
    }

    v->remaining = low;
    v->admitted = cost <= m->rule.limit && model_fits(m, now, cost);

    if (v->admitted) {
        v->retry = 0;

    } else if (cost > m->rule.limit) {
        v->retry = SW_NEVER;

    } else {
        v->retry = model_wait(m, now, cost);
    }

    v->more = (low == m->rule.limit) ? m->rule.window
                                       : model_wait(m, now, low + 1);
    v->reset = model_wait(m, now, m->rule.limit);
}


static inline int64_t
model_add(model_t *m, int64_t now, int64_t cost)
{
    int64_t  then;

    then = model_bring(m, now);

    if (cost == 0) {
        return then;
    }

    if (m->n == 0) {
        m->longest = m->rule.window;
    }

    assert(m->n < MODEL_EVENTS);

    m->events[m->n].time = then;
    m->events[m->n].units = cost;
    m->n++;

    if (m->rule.algorithm == SW_LOG) {
        m->own = then;
    }

    return then;
}


/* uncounts of an event of that stamp, which must have been returned by add */

static inline void
model_give_back(model_t *m, int64_t cost, int64_t stamp)
{
    int64_t  i, n;

    for (i = 0; i < m->n && cost; i++) {

        if (m->events[i].time != stamp) {
            continue;
        }

        n = cost < m->events[i].units ? cost : m->events[i].units;

        m->events[i].units -= n;
        cost -= n;
    }

    for (i = 0, n = 0; i < m->n; i++) {

        if (m->events[i].units) {
            m->events[n++] = m->events[i];
        }
    }

    m->n = n;

    if (m->rule.algorithm == SW_LOG && n) {
        m->own = m->events[n - 1].time;
    }
}


#endif /* _MODEL_H_INCLUDED_ */
