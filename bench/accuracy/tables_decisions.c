
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "decisions.h"
#include "report.h"
#include "tables.h"


/* Cloudflare, 2017: so many of their requests were judged wrongly, percent */
#define PUBLISHED    0.003

/* a part of the requests has no larger limit than that */
#define QUICK_LIMIT  100


typedef struct {
    tally_t  rules[LIMITER_ALGORITHMS];
    tally_t  offered[TRAFFIC_GROUPS];       /* of a mix, by counter */
} cell_t;

typedef void (*counter_cell_pt)(const tally_t *tally, int64_t limit);


static const char *const  names[TABLES_LIMITS] = {
    "5", "10", "100", "1,000", "10,000"
};

static const char *const  groups[] = { "far below", "around", "far above" };

static cell_t  cells[TABLES_LIMITS][TRAFFIC_KINDS];


static void measure(const tables_run_t *run, int limit, traffic_e kind);
static void all_rules(int limit);
static void counter_by_limit(const char *title, counter_cell_pt cell);
static void cell_wrong(const tally_t *tally, int64_t limit);
static void cell_most(const tally_t *tally, int64_t limit);
static void cell_error(const tally_t *tally, int64_t limit);
static void cell_admitted(const tally_t *tally, int64_t limit);
static void as_published(traffic_e kind);
static void figures(const char *measured, const char *traffic,
    int64_t limit, const char *rule, const tally_t *tally);
static double share(int64_t part, int64_t whole);


void
tables_decisions(const tables_run_t *run)
{
    int  i, kind;

    for (i = 0; i < TABLES_LIMITS; i++) {

        /* a few clients with a large limit are many requests */

        if (run->part > 1 && tables_limits[i] > QUICK_LIMIT) {
            continue;
        }

        for (kind = 0; kind < TRAFFIC_KINDS; kind++) {
            measure(run, i, (traffic_e) kind);
        }

        all_rules(i);
    }

    counter_by_limit("wrongly admitted + rejected", cell_wrong);
    counter_by_limit("most in a window, limit = 1", cell_most);
    counter_by_limit("mean error of the estimate", cell_error);
    counter_by_limit("admitted, `log` = 1", cell_admitted);

    as_published(TRAFFIC_MIX);
    as_published(TRAFFIC_MIX_BURSTY);
}


static void
measure(const tables_run_t *run, int limit, traffic_e kind)
{
    int               i;
    cell_t           *cell;
    int64_t           n;
    trace_t           trace;
    random_t          random;
    sw_rule_t         rule;
    const traffic_t  *traffic;

    cell = &cells[limit][kind];
    traffic = &traffics[kind];

    memset(cell, 0, sizeof(cell_t));
    memset(&trace, 0, sizeof(trace_t));

    for (n = 0;
         n % traffic->clients
         || cell->rules[0].requests < traffic->requests / run->part;
         n++)
    {
        random_init(&random, run->seed,
                    ((uint64_t) limit * TRAFFIC_KINDS + kind) << 32
                    | (uint64_t) n);

        traffic_make(&trace, kind, n, tables_limits[limit], &random);

        for (i = 0; i < LIMITER_ALGORITHMS; i++) {
            limiter_rule(&rule, limiter_algorithms[i], tables_limits[limit],
                         traffic->window, SW_SLICES);
            decisions_limited(&trace, &rule, &cell->rules[i]);
        }

        if (kind == TRAFFIC_MIX || kind == TRAFFIC_MIX_BURSTY) {
            limiter_rule(&rule, SW_COUNTER, tables_limits[limit],
                         traffic->window, 0);
            decisions_offered(&trace, &rule,
                              &cell->offered[traffic_group(n)]);
        }
    }

    trace_free(&trace);
}


/* log is exact, or else its row is not left out */

static void
all_rules(int limit)
{
    int             i, kind;
    char            title[256];
    int64_t         log;
    sw_rule_t       rule;
    const tally_t  *tally;

    snprintf(title, sizeof(title), "limit %s|algorithm"
             "|wrongly admitted|wrongly rejected|units left then"
             "|most in a window|mean error|admitted, `log` = 1",
             names[limit]);

    report_head(title, 2);

    for (kind = 0; kind < TRAFFIC_KINDS; kind++) {
        log = cells[limit][kind].rules[LIMITER_ALGORITHMS - 1].admitted;

        for (i = 0; i < LIMITER_ALGORITHMS; i++) {
            tally = &cells[limit][kind].rules[i];

            limiter_rule(&rule, limiter_algorithms[i], tables_limits[limit],
                         traffics[kind].window, SW_SLICES);

            report_bound(traffics[kind].name, limiter_name(&rule),
                         rule.limit, tally->most, limiter_bound(&rule));

            figures("limited", traffics[kind].name, rule.limit,
                    limiter_name(&rule), tally);

            if (rule.algorithm == SW_LOG
                && tally->wrongly_admitted + tally->wrongly_rejected == 0
                && tally->error <= 0)
            {
                continue;
            }

            report_cell("%s", traffics[kind].name);
            report_cell("`%s`", limiter_name(&rule));
            report_cell("%.2f%%", share(tally->wrongly_admitted,
                                        tally->requests));
            report_cell("%.2f%%", share(tally->wrongly_rejected,
                                        tally->requests));

            if (tally->wrongly_rejected) {
                report_cell("%.1f", (double) tally->room
                                    / (double) tally->wrongly_rejected);

            } else {
                report_cell("–");
            }

            report_cell("%" PRId64, tally->most);
            report_cell("%.1f%%", 100 * tally->error
                                  / (double) tally->estimates);
            report_cell("%.3f", (double) tally->admitted / (double) log);
            report_row_end();
        }
    }
}


static void
counter_by_limit(const char *title, counter_cell_pt cell)
{
    int   i, kind;
    char  columns[256];

    snprintf(columns, sizeof(columns), "`counter`, %s|limit 5|10|100|1,000"
             "|10,000", title);

    report_head(columns, 1);

    for (kind = 0; kind < TRAFFIC_KINDS; kind++) {
        report_cell("%s", traffics[kind].name);

        for (i = 0; i < TABLES_LIMITS; i++) {

            if (cells[i][kind].rules[0].requests) {
                cell(&cells[i][kind].rules[0], tables_limits[i]);

            } else {
                report_cell("–");
            }
        }

        report_row_end();
    }
}


static void
cell_wrong(const tally_t *tally, int64_t limit)
{
    (void) limit;

    report_cell("%.2f%% + %.2f%%",
                share(tally->wrongly_admitted, tally->requests),
                share(tally->wrongly_rejected, tally->requests));
}


static void
cell_most(const tally_t *tally, int64_t limit)
{
    report_cell("%.2f", (double) tally->most / (double) limit);
}


static void
cell_error(const tally_t *tally, int64_t limit)
{
    (void) limit;

    report_cell("%.1f%%", 100 * tally->error / (double) tally->estimates);
}


static void
cell_admitted(const tally_t *tally, int64_t limit)
{
    (void) limit;

    /* those of log are in the same cell */

    report_cell("%.3f", (double) tally->admitted
                        / (double) tally[LIMITER_ALGORITHMS - 1].admitted);
}


/*
 * An estimate of the rate that a client asks for, rejections included, beside
 * that rate: what was published of counter was measured so.  The last column
 * has how many of all requests may come from clients around their limit if no
 * more than 0.003% shall be judged wrongly.
 */

static void
as_published(traffic_e kind)
{
    int       i, group;
    char      title[256];
    double    error, wrong[TRAFFIC_GROUPS];
    int64_t   all, requests, estimates;
    tally_t  *tally;

    snprintf(title, sizeof(title), "%s, every request counts|mean error"
             "|judged wrongly|of clients far below|of those around the limit"
             "|of those far above|0.003%% if around are", traffics[kind].name);

    report_head(title, 1);

    for (i = 0; i < TABLES_LIMITS; i++) {
        error = 0;
        all = 0;
        requests = 0;
        estimates = 0;

        for (group = 0; group < TRAFFIC_GROUPS; group++) {
            tally = &cells[i][kind].offered[group];

            error += tally->error;
            all += tally->wrongly_admitted + tally->wrongly_rejected;
            requests += tally->requests;
            estimates += tally->estimates;
            wrong[group] = share(tally->wrongly_admitted
                                 + tally->wrongly_rejected, tally->requests);

            if (tally->requests) {
                figures("offered", traffics[kind].name, tables_limits[i],
                        groups[group], tally);
            }
        }

        if (requests == 0) {
            continue;
        }

        report_cell("limit %s", names[i]);
        report_cell("%.1f%%", 100 * error / (double) estimates);
        report_cell("%.3f%%", share(all, requests));

        for (group = 0; group < TRAFFIC_GROUPS; group++) {
            report_cell("%.3f%%", wrong[group]);
        }

        if (wrong[TRAFFIC_BELOW] < PUBLISHED && wrong[TRAFFIC_AROUND] > 0) {
            report_cell("%.2f%%", 100 * PUBLISHED / wrong[TRAFFIC_AROUND]);

        } else {
            report_cell("never");
        }

        report_row_end();
    }
}


static void
figures(const char *measured, const char *traffic, int64_t limit,
    const char *rule, const tally_t *tally)
{
    report_figure(measured, traffic, limit, rule, "requests",
                  (double) tally->requests);
    report_figure(measured, traffic, limit, rule, "admitted",
                  (double) tally->admitted);
    report_figure(measured, traffic, limit, rule, "wrongly_admitted",
                  (double) tally->wrongly_admitted);
    report_figure(measured, traffic, limit, rule, "wrongly_rejected",
                  (double) tally->wrongly_rejected);
    report_figure(measured, traffic, limit, rule, "units_left",
                  (double) tally->room);
    report_figure(measured, traffic, limit, rule, "most",
                  (double) tally->most);
    report_figure(measured, traffic, limit, rule, "mean_error",
                  tally->error / (double) tally->estimates);
}


static double
share(int64_t part, int64_t whole)
{
    return whole ? 100 * (double) part / (double) whole : 0;
}
