
/*
 * What each algorithm guarantees, and the adversaries that reach the edge of
 * it.  The docs quote the table this prints.
 */


#include "trace.h"


#define TRACES  3000
#define STEPS   150


static void random_traces(void);
static int random_trace(const sw_rule_t *rule, int trace);
static int64_t slice_life(const sw_rule_t *rule);

static void strict_every_n(void);
static int strict_busy(const sw_rule_t *rule, int64_t start, int obeys);

static void exhaustive(void);
static void exhaust(const client_t *client, trace_t *trace, int64_t now,
    int64_t end, int64_t *most);

static void counter_adversary(void);
static void counter_busy(void);
static void fixed_adversary(void);
static int64_t burst_and_drip(const sw_rule_t *rule, int64_t start);

static void worst_cases(void);


int
main(void)
{
    tap_diag("seed %" PRIu64, tap_seed(20010911));

    random_traces();
    strict_every_n();
    exhaustive();
    counter_adversary();
    counter_busy();
    fixed_adversary();
    worst_cases();

    return tap_done();
}


static void
random_traces(void)
{
    int        i, trace, good;
    sw_rule_t  rule;

    for (i = SW_COUNTER; i <= SW_LOG; i++) {
        good = 1;

        for (trace = 0; trace < TRACES && good; trace++) {
            trace_rule(&rule, (sw_algorithm_e) i);
            good = random_trace(&rule, trace);
        }

        tap_ok(good, "%s: %d random traces within its guarantee",
               client_algorithms[i], trace);
    }
}


static int
random_trace(const sw_rule_t *rule, int trace)
{
    int             i, good, eager;
    int64_t         now, cost, most, bound, span;
    client_t        client;
    const char     *what;
    static trace_t  seen;

    now = trace_start();
    eager = tap_rand(0, 1);
    seen.n = 0;
    good = 1;
    what = NULL;

    client_init(&client, rule, now, 0);

    for (i = 0; i < STEPS; i++) {
        now += eager ? tap_rand(0, 1 + rule->window / 16)
                     : trace_step(rule);
        cost = trace_cost(rule);

        if (client_take(&client, now, cost, NULL)) {

            if (cost) {
                trace_add(&seen, now, cost);
            }

            continue;
        }

        /* a rejection must have had a reason */

        switch (rule->algorithm) {

        case SW_LOG:
            span = rule->window;
            break;

        case SW_STRICT:
            span = slice_life(rule);
            break;

        case SW_FIXED:
            span = now % rule->window + 1;
            break;

        default: /* SW_COUNTER */
            span = rule->window + now % rule->window + 1;
            break;
        }

        if (trace_units(&seen, now, span) + cost <= rule->limit) {
            what = "rejected with room left";
        }
    }

    most = trace_most(&seen, rule->window);
    bound = rule->limit;

    if (rule->algorithm == SW_COUNTER) {
        bound = 2 * rule->limit - 1;

    } else if (rule->algorithm == SW_FIXED) {
        bound = 2 * rule->limit;
    }

    if (most > bound) {
        what = "too many in a rolling window";
    }

    if (trace_most_aligned(&seen, rule->window) > rule->limit) {
        what = "too many in an aligned window";
    }

    if (what) {
        tap_diag("trace %d, %s: %s", trace, trace_name(rule), what);
        good = 0;
    }

    client_free(&client);

    return good;
}


/* what is counted is held for no longer than this */

static int64_t
slice_life(const sw_rule_t *rule)
{
    return ((rule->slices + 1) * rule->window + rule->slices - 1)
           / rule->slices;
}


static void
strict_every_n(void)
{
    int        i, trace, good, busy, obeys;
    sw_rule_t  rule;

    static const int64_t  windows[] = { 1, 2, 3, 7, 10, 16, 17, 48, 60, 100 };

    good = 1;
    busy = 1;
    obeys = 1;
    rule.algorithm = SW_STRICT;

    for (i = 0; i < 10; i++) {
        rule.window = windows[i];

        for (rule.slices = 1;
             rule.slices <= rule.window;
             rule.slices++)
        {
            for (trace = 0; trace < 5; trace++) {
                rule.limit = tap_rand(1, 30);
                good = good && random_trace(&rule, trace);
            }

            if (rule.window > 60 && rule.slices % 33 > 1) {
                continue;
            }

            rule.limit = tap_rand(1, 9);
            busy = busy && strict_busy(&rule, tap_rand(0, 1000), 0);
            obeys = obeys && strict_busy(&rule, tap_rand(0, 1000), 1);
        }
    }

    tap_ok(good, "strict: never more than the limit in a rolling window, for"
           " every N");
    tap_ok(busy, "strict: a client that tries every ms gets L in every"
           " N + 1 slices, for every N");
    tap_ok(obeys, "strict: and so does one that waits its retry time");
}


/*
 * A client that uses all room has L units in the N + 1 slices that count,
 * at the end of any of them.  So N + 1 whole windows, which are N times N + 1
 * slices, have N * L: L * N / (N + 1) a window, and no slice may be missed.
 * In ms, no stretch as long as a unit can be held for has less than L.
 */

static int
strict_busy(const sw_rule_t *rule, int64_t start, int obeys)
{
    int             good;
    int64_t         now, end, life, span, first, t;
    client_t        client;
    const char     *what;
    sw_verdict_t    v;
    static trace_t  seen;

    life = slice_life(rule);
    span = (rule->slices + 1) * rule->window;
    first = (start / rule->window + 1) * rule->window;
    end = first + span;

    seen.n = 0;
    good = 1;
    what = NULL;

    client_init(&client, rule, start, 0);

    /* some of it is used already */

    now = start;

    if (tap_rand(0, 1) && client_take(&client, now, 1, NULL)) {
        trace_add(&seen, now, 1);
    }

    while (now < end) {
        client_check(&client, now, 1, &v);

        if (v.admitted) {
            (void) client_add(&client, now, 1);
            trace_add(&seen, now, 1);
            continue;
        }

        if (v.retry < 1) {
            what = "rejected, and should not wait";
            break;
        }

        now += obeys ? v.retry : 1;
    }

    if (trace_most(&seen, rule->window) > rule->limit) {
        what = "more than the limit";
    }

    for (t = start + life; t < end; t++) {

        if (trace_units(&seen, t, life) < rule->limit) {
            what = "less than the limit while a unit is held";
        }
    }

    if (trace_units(&seen, end - 1, span) < rule->slices * rule->limit) {
        what = "less than N * L in N + 1 windows";
    }

    if (what) {
        tap_diag("%s start=%" PRId64 ": %s", trace_name(rule), start, what);
        good = 0;
    }

    client_free(&client);

    return good;
}


/* everything a client can do in three windows of a few ms */

static void
exhaustive(void)
{
    int             i;
    int64_t         most, wanted;
    client_t        client;
    sw_rule_t       rule;
    static trace_t  trace;

    static const struct {
        int64_t   limit;
        int64_t   window;
        int64_t   windows;
    } sizes[] = {
        { 1, 2, 4 },
        { 1, 5, 3 },
        { 2, 4, 3 },
        { 2, 5, 3 },
        { 3, 6, 2 },
    };

    for (i = 0; i < 5; i++) {
        rule.limit = sizes[i].limit;
        rule.window = sizes[i].window;

        for (rule.algorithm = SW_COUNTER;
             rule.algorithm <= SW_LOG;
             rule.algorithm++)
        {
            switch (rule.algorithm) {

            case SW_COUNTER:
                wanted = 2 * rule.limit - 1;
                break;

            case SW_FIXED:
                wanted = 2 * rule.limit;
                break;

            default:
                wanted = rule.limit;
                break;
            }

            for (rule.slices = 1;
                 rule.slices <= (rule.algorithm == SW_STRICT
                                   ? rule.window : 1);
                 rule.slices++)
            {
                most = 0;
                trace.n = 0;

                client_init(&client, &rule, 0, 0);
                exhaust(&client, &trace, 0,
                        sizes[i].windows * rule.window, &most);
                client_free(&client);

                tap_ok(most == wanted, "%s: at most %" PRId64 " in a rolling"
                       " window, whatever a client does (%" PRId64 ")",
                       trace_name(&rule), wanted, most);
            }
        }
    }
}


static void
exhaust(const client_t *client, trace_t *trace, int64_t now, int64_t end,
    int64_t *most)
{
    int64_t       cost, units;
    client_t      next;
    sw_verdict_t  v;

    if (now == end) {
        units = trace_most(trace, client->rule.window);
        *most = units > *most ? units : *most;
        return;
    }

    client_copy(&next, client);
    client_check(&next, now, 0, &v);
    client_free(&next);

    for (cost = 0; cost <= v.remaining; cost++) {
        client_copy(&next, client);

        if (cost) {
            (void) client_add(&next, now, cost);
            trace_add(trace, now, cost);
        }

        exhaust(&next, trace, now + 1, end, most);

        trace->n -= (cost != 0);
        client_free(&next);
    }
}


/*
 * The whole limit in the last ms of a window, then whatever decays of it.
 * Where no more than half a unit decays in a ms, this makes 2 * L - 1.
 */

static void
counter_adversary(void)
{
    int        i;
    int64_t    most, wanted;
    sw_rule_t  rule;

    static const int64_t  sizes[][2] = {
        { 1, 2 }, { 1, 1000 }, { 2, 4 }, { 5, 10 }, { 5, 60 }, { 5, 60000 },
        { 10, 1000 }, { 100, 1000 }, { 500, 1000 }
    };

    rule.algorithm = SW_COUNTER;
    rule.slices = 0;

    for (i = 0; i < 9; i++) {
        rule.limit = sizes[i][0];
        rule.window = sizes[i][1];

        most = burst_and_drip(&rule, 7 * rule.window - 1);
        wanted = 2 * rule.limit - 1;

        tap_ok(most == wanted, "%s: burst and drip makes exactly 2 L - 1 ="
               " %" PRId64 " (%" PRId64 ")", trace_name(&rule), wanted,
               most);
    }

    /* where more decays in a ms, the last ms of the next window is missed */

    rule.limit = 1000;
    rule.window = 100;
    most = burst_and_drip(&rule, 7 * rule.window - 1);
    wanted = 2 * rule.limit - 2 * rule.limit / rule.window;

    tap_ok(most == wanted, "%s: burst and drip makes %" PRId64 " (%" PRId64
           ")", trace_name(&rule), wanted, most);
}


/*
 * A client that tries every ms has L - 1 in each window in the long run: the
 * last unit fits only when the previous window has left.  With a limit of 1
 * that is one in two windows.
 */

static void
counter_busy(void)
{
    int64_t    now, units, wanted;
    client_t   client;
    sw_rule_t  rule;

    rule.algorithm = SW_COUNTER;
    rule.window = 1000;
    rule.slices = 0;

    for (rule.limit = 1; rule.limit <= 10; rule.limit++) {
        units = 0;
        client_init(&client, &rule, 5000, 0);

        for (now = 5000; now < 5000 + 100 * rule.window; now++) {

            while (client_take(&client, now, 1, NULL)) {
                units++;
            }
        }

        client_free(&client);

        wanted = (rule.limit == 1) ? 50 : 100 * (rule.limit - 1) + 1;

        tap_ok(units == wanted, "%s: a busy client has %" PRId64 " in 100"
               " windows (%" PRId64 ")", trace_name(&rule), wanted, units);
    }
}


static void
fixed_adversary(void)
{
    int        i;
    int64_t    most;
    sw_rule_t  rule;

    static const int64_t  sizes[][2] = {
        { 1, 2 }, { 5, 60000 }, { 100, 1000 }, { 1000, 100 }
    };

    rule.algorithm = SW_FIXED;
    rule.slices = 0;

    for (i = 0; i < 4; i++) {
        rule.limit = sizes[i][0];
        rule.window = sizes[i][1];

        most = burst_and_drip(&rule, 7 * rule.window - 1);

        tap_ok(most == 2 * rule.limit, "%s: two bursts make exactly 2 L ="
               " %" PRId64 " (%" PRId64 ")", trace_name(&rule),
               2 * rule.limit, most);
    }
}


/* all that can be had, as soon as it can be had; the most in any window */

static int64_t
burst_and_drip(const sw_rule_t *rule, int64_t start)
{
    int64_t         now;
    client_t        client;
    sw_verdict_t    v;
    static trace_t  trace;

    trace.n = 0;
    client_init(&client, rule, start, 0);

    for (now = start;
         now < start + 3 * rule->window && trace.n < TRACE_EVENTS;
         now += v.more)
    {
        client_check(&client, now, 0, &v);

        if (v.remaining) {
            (void) client_add(&client, now, v.remaining);
            trace_add(&trace, now, v.remaining);
            client_check(&client, now, 0, &v);
        }

        if (v.more < 1) {
            tap_diag("%s: more was there already", trace_name(rule));
            client_free(&client);
            return -1;
        }
    }

    client_free(&client);

    return trace_most(&trace, rule->window);
}


static void
worst_cases(void)
{
    int           i;
    int64_t       now, units, most, wait, reset, start, windows;
    client_t      client;
    sw_rule_t     rule;
    sw_verdict_t  v;
    char          name[32];

    static const struct {
        sw_algorithm_e   algorithm;
        int64_t          slices;
        int64_t          most;
        int64_t          busy;
        int64_t          wait;
        int64_t          reset;
    } rows[] = {
        { SW_FIXED,     0, 200, 100 * 100,      1000, 1000 },
        { SW_COUNTER,   0, 199, 100 * 99 + 1,   1010, 2000 },
        { SW_STRICT,    1, 100, 20 * 1 * 100,   2000, 2000 },
        { SW_STRICT,    4, 100, 20 * 4 * 100,   1250, 1250 },
        { SW_STRICT,   16, 100, 20 * 16 * 100,  1063, 1063 },
        { SW_STRICT,  100, 100, 20 * 100 * 100, 1010, 1010 },
        { SW_LOG,       0, 100, 100 * 100,      1000, 1000 },
    };

    tap_diag("worst cases, measured: limit 100, window 1000 ms");
    tap_diag("%-12s %-24s %-24s %-18s %s", "algorithm",
             "most in a rolling window", "busy client, per window",
             "wait for one more", "wait for all");

    for (i = 0; i < 7; i++) {
        rule.algorithm = rows[i].algorithm;
        rule.limit = 100;
        rule.window = 1000;
        rule.slices = rows[i].slices;

        /* most: a busy client that comes at any ms of a window */

        most = 0;

        for (start = 5000; start < 6000; start += start < 5990 ? 110 : 1) {
            units = burst_and_drip(&rule, start);
            most = units > most ? units : most;
        }

        /* waits: the whole limit at any ms of a window */

        wait = 0;
        reset = 0;

        for (start = 5000; start < 6000; start++) {
            client_init(&client, &rule, start, 0);
            (void) client_add(&client, start, rule.limit);
            client_check(&client, start, 1, &v);
            client_free(&client);

            wait = v.retry > wait ? v.retry : wait;
            reset = v.reset > reset ? v.reset : reset;
        }

        /*
         * in the long run: one that takes all it can as soon as it can; for
         * strict, windows of which every N + 1 are alike
         */

        units = 0;
        windows = rule.slices ? 20 * (rule.slices + 1) : 100;
        now = 5000;
        client_init(&client, &rule, now, 0);

        while (now < 5000 + windows * rule.window && v.more > 0) {
            client_check(&client, now, 0, &v);

            if (v.remaining) {
                (void) client_add(&client, now, v.remaining);
                units += v.remaining;
                client_check(&client, now, 0, &v);
            }

            now += v.more;
        }

        client_free(&client);

        snprintf(name, sizeof(name), "%s%s%.0" PRId64,
                 client_algorithms[rule.algorithm],
                 rule.slices ? " N=" : "", rule.slices);

        tap_diag("%-12s %-24" PRId64 " %-24.2f %-18" PRId64 " %" PRId64, name,
                 most, (double) units / (double) windows, wait, reset);

        tap_ok(most == rows[i].most, "%s: %" PRId64 " in a rolling window",
               name, rows[i].most);
        tap_ok(units == rows[i].busy, "%s: a busy client has %.2f a window",
               name, (double) rows[i].busy / (double) windows);
        tap_ok(wait == rows[i].wait, "%s: %" PRId64 " ms for one more at"
               " worst", name, rows[i].wait);
        tap_ok(reset == rows[i].reset, "%s: %" PRId64 " ms for all at worst",
               name, rows[i].reset);
    }
}
