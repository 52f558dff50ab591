
#include <stdio.h>
#include <stdlib.h>

#include "decisions.h"
#include "rolling.h"


/* the estimate is looked at for one request in so many: that takes longer */
#define DECISIONS_SAMPLE  7


static void decide(const trace_t *trace, const sw_rule_t *rule, int all,
    tally_t *tally);
static void estimate(limiter_t *limiter, int64_t now, int64_t held,
    tally_t *tally);


void
decisions_limited(const trace_t *trace, const sw_rule_t *rule,
    tally_t *tally)
{
    decide(trace, rule, 0, tally);
}


void
decisions_offered(const trace_t *trace, const sw_rule_t *rule,
    tally_t *tally)
{
    decide(trace, rule, 1, tally);
}


/*
 * The truth is the module's own log, filled with the units that were counted.
 * Their times are counted beside it: the two must agree at each request.
 */

static void
decide(const trace_t *trace, const sw_rule_t *rule, int all, tally_t *tally)
{
    int           admitted;
    int64_t       i, now, held;
    limiter_t     limiter, exact;
    rolling_t     rolling;
    sw_rule_t     truth, most;

    limiter_rule(&truth, SW_LOG, rule->limit, rule->window, 0);

    /* it has to hold what is above the limit, too */

    limiter_rule(&most, SW_LOG, SW_LOG_LIMIT_MAX, rule->window, 0);

    limiter_init(&limiter, rule, trace->start);
    limiter_init(&exact, &most, trace->start);
    rolling_init(&rolling, rule->window);

    for (i = 0; i < trace->n; i++) {
        now = trace->times[i];

        held = rolling_count(&rolling, now);

        if ((held < rule->limit)
            != sw_window_admits(exact.state, &truth, now, 1))
        {
            fprintf(stderr, "accuracy: the log has not counted what it was"
                    " given\n");
            exit(1);
        }

        if (tally->requests++ % DECISIONS_SAMPLE == 0) {
            estimate(&limiter, now, held, tally);
        }

        admitted = sw_window_admits(limiter.state, rule, now, 1);

        tally->admitted += admitted;

        if (admitted && held >= rule->limit) {
            tally->wrongly_admitted++;
        }

        if (!admitted && held < rule->limit) {
            tally->wrongly_rejected++;
            tally->room += rule->limit - held;
        }

        if (admitted || all) {
            (void) limiter_add(&limiter, now, 1);
            (void) limiter_add(&exact, now, 1);
            rolling_add(&rolling, now);
        }
    }

    if (rolling.most > tally->most) {
        tally->most = rolling.most;
    }

    limiter_free(&limiter);
    limiter_free(&exact);
    rolling_free(&rolling);
}


/* both with the request itself, as they are compared with the limit */

static void
estimate(limiter_t *limiter, int64_t now, int64_t held, tally_t *tally)
{
    double        error;
    sw_verdict_t  verdict;

    limiter_check(limiter, now, &verdict);

    error = (double) verdict.level / (double) verdict.scale - (double) held;

    tally->error += (error < 0 ? -error : error) / (double) (held + 1);
    tally->estimates++;
}
