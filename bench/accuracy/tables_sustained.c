
#include <inttypes.h>
#include <stdio.h>

#include "limiter.h"
#include "report.h"
#include "rolling.h"
#include "tables.h"


#define EPOCH   1700000000000LL
#define PHASES  16                 /* clients, that begin all over a window */
#define WARM    4                  /* windows that are not counted */


typedef struct {
    const char  *name;
    int64_t      limit;
    int64_t      window;
} rate_t;


static const rate_t  rates[] = {
    { "5r/m",     5,      60000 },
    { "10r/m",    10,     60000 },
    { "100r/m",   100,    60000 },
    { "1000r/m",  1000,   60000 },
    { "10000r/m", 10000,  60000 },
    { "100r/10s", 100,    10000 },
    { "100r/s",   100,    1000 },
};

#define RATES  (sizeof(rates) / sizeof(rates[0]))


static const struct {
    sw_algorithm_e   algorithm;
    int64_t          slices;
} rules[] = {
    { SW_COUNTER, 0 },
    { SW_FIXED,   0 },
    { SW_STRICT,  4 },
    { SW_STRICT,  8 },
    { SW_STRICT,  16 },
    { SW_STRICT,  32 },
    { SW_LOG,     0 },
};

#define RULES  (sizeof(rules) / sizeof(rules[0]))


static void table(const tables_run_t *run, int64_t unit, const char *title,
    const char *measure);
static int64_t sustained(const sw_rule_t *rule, int64_t start, int64_t unit,
    int64_t windows);


void
tables_sustained(const tables_run_t *run)
{
    table(run, 1, "keeps trying, per window, limit = 1|5r/m|10r/m|100r/m"
          "|1000r/m|10000r/m|100r/10s|100r/s", "keeps_trying");

    table(run, 1000, "obeys `Retry-After`, per window, limit = 1|5r/m|10r/m"
          "|100r/m|1000r/m|10000r/m|100r/10s|100r/s", "obeys");
}


/* the unit of the time to wait: header fields have whole seconds */

static void
table(const tables_run_t *run, int64_t unit, const char *title,
    const char *measure)
{
    size_t     i, n;
    double     all;
    int64_t    phase, units, windows;
    sw_rule_t  rule;

    report_head(title, 1);

    for (i = 0; i < RULES; i++) {

        for (n = 0; n < RATES; n++) {
            limiter_rule(&rule, rules[i].algorithm, rates[n].limit,
                         rates[n].window, rules[i].slices);

            /* what strict does repeats after N + 1 windows */

            windows = 2 * (rule.slices + 1);

            if (rule.algorithm != SW_STRICT) {
                windows = run->part > 1 ? 20 : 100;
            }

            units = 0;

            for (phase = 0; phase < PHASES; phase++) {
                units += sustained(&rule, EPOCH + phase * rule.window / PHASES
                                          + phase, unit, windows);
            }

            all = (double) (PHASES * windows * rule.limit);

            if (n == 0) {
                report_cell("`%s`", limiter_name(&rule));
            }

            report_cell("%.3f", (double) units / all);
            report_figure(measure, rates[n].name, rule.limit,
                          limiter_name(&rule), "per_window",
                          (double) units / all);
        }

        report_row_end();
    }
}


/*
 * A client that takes all there is and waits until there is more, its next
 * request being rejected.  It sees every ms at which a unit is free, because a
 * rejection counts nothing.
 */

static int64_t
sustained(const sw_rule_t *rule, int64_t start, int64_t unit,
    int64_t windows)
{
    int64_t       now, from, to, units;
    limiter_t     limiter;
    sw_verdict_t  verdict;

    from = start + WARM * rule->window;
    to = from + windows * rule->window;
    units = 0;

    limiter_init(&limiter, rule, start);

    for (now = start; now < to; /* void */ ) {
        limiter_check(&limiter, now, &verdict);

        if (verdict.remaining) {
            (void) limiter_add(&limiter, now, verdict.remaining);

            if (now >= from) {
                units += verdict.remaining;
            }

            limiter_check(&limiter, now, &verdict);
        }

        now += (verdict.retry + unit - 1) / unit * unit;
    }

    limiter_free(&limiter);

    return units;
}
