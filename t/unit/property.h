
/*
 * A property is a function that makes a random case and says what is wrong
 * with it, or NULL.  Here are the table of them run, and what the cases need:
 * a client with a history, and twins that should agree.
 */


#ifndef _PROPERTY_H_INCLUDED_
#define _PROPERTY_H_INCLUDED_


#include "trace.h"


#define TRACES  2000
#define STEPS   60
#define AHEAD   40


typedef struct {
    const char  *(*holds)(sw_algorithm_e algorithm);
    const char   *name;
    int           from;            /* the first algorithm it is about */
} property_t;


static int  property_trace;


static inline void
property_run(const property_t *properties, int n)
{
    int          i, algorithm;
    const char  *what;

    for (i = 0; i < n; i++) {

        for (algorithm = properties[i].from;
             algorithm <= SW_LOG;
             algorithm++)
        {
            what = NULL;

            for (property_trace = 0;
                 property_trace < TRACES && what == NULL;
                 property_trace++)
            {
                what = properties[i].holds((sw_algorithm_e) algorithm);
            }

            tap_ok(what == NULL, "%s: %s", client_algorithms[algorithm],
                   properties[i].name);
        }
    }
}


/* a client of a random rule with a history; returns the time */

static inline int64_t
wander(client_t *client, sw_algorithm_e algorithm, int steps)
{
    int        i, n;
    int64_t    now, stamp, cost, stamps[8], costs[8];
    sw_rule_t  rule;

    trace_rule(&rule, algorithm);

    now = trace_start();
    n = 0;

    client_init(client, &rule, now, 0);

    for (i = 0; i < steps; i++) {
        now += tap_rand(0, 2) ? tap_rand(0, 2) : trace_step(&rule);
        cost = trace_cost(&rule);

        if (client_take(client, now, cost, &stamp) && cost && n < 8) {
            stamps[n] = stamp;
            costs[n++] = cost;

        } else if (n && tap_rand(0, 9) == 0) {
            n--;
            client_give_back(client, costs[n], stamps[n]);
        }

        if (tap_rand(0, 49) == 0) {
            client->rule.limit = tap_rand(1, rule.limit);
        }
    }

    return now;
}


static inline int
twins_agree(client_t *one, client_t *two, int64_t now, int steps)
{
    int           i;
    int64_t       cost;
    sw_verdict_t  v, w;

    for (i = 0; i < steps; i++) {
        cost = trace_cost(&one->rule);

        client_check(one, now, cost, &v);
        client_check(two, now, cost, &w);

        if (!trace_same(&v, &w)) {
            tap_diag("now %" PRId64 " cost %" PRId64, now, cost);
            trace_show("one  ", &v);
            trace_show("other", &w);
            return 0;
        }

        if (v.admitted && cost) {
            (void) client_add(one, now, cost);
            (void) client_add(two, now, cost);
        }

        now += tap_rand(0, 2) ? tap_rand(0, 2) : trace_step(&one->rule);
    }

    return 1;
}


static inline const char *
fail(const client_t *client, int64_t now, const char *what)
{
    tap_diag("trace %d now %" PRId64 ", %s: %s", property_trace, now,
             trace_name(&client->rule), what);

    return what;
}


#endif /* _PROPERTY_H_INCLUDED_ */
