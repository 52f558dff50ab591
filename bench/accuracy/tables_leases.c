
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lease.h"
#include "report.h"
#include "rolling.h"
#include "sw_math.h"
#include "tables.h"
#include "traffic.h"


#define EPOCH     1700000000000LL
#define WINDOW    10000            /* a lease lasts a second, a tenth of it */
#define LIMIT     1000
#define MACHINES  10               /* at most */
#define PHASES    10
#define CLIENTS   16


typedef struct {
    limiter_t   store;
    lease_t     leases[MACHINES];
    int         machines;
    rolling_t   used;
    int64_t     requests;
    int64_t     calls;
    int64_t     wrongly_admitted;
    int64_t     wrongly_rejected;
} edges_t;


static const struct {
    int64_t          percent;
    sw_algorithm_e   algorithm;
    int              machines;
} rows[] = {
    { 1,  SW_COUNTER, 4 },
    { 10, SW_COUNTER, 1 },
    { 10, SW_COUNTER, 4 },
    { 10, SW_COUNTER, 10 },
    { 10, SW_FIXED,   4 },
    { 10, SW_STRICT,  4 },
    { 1,  SW_LOG,     4 },
    { 10, SW_LOG,     1 },
    { 10, SW_LOG,     4 },
    { 10, SW_LOG,     10 },
};

#define ROWS  (sizeof(rows) / sizeof(rows[0]))


static void edges_init(edges_t *edges, const sw_rule_t *rule,
    int64_t percent, int machines, int64_t start);
static void edges_free(edges_t *edges);
static int edges_request(edges_t *edges, int machine, int64_t now);
static void traffic(const tables_run_t *run, edges_t *edges,
    const sw_rule_t *rule, int64_t percent, int machines, traffic_e kind);
static int64_t adversary(const sw_rule_t *rule, int64_t percent,
    int machines);
static int64_t hold_and_use(const sw_rule_t *rule, int64_t percent,
    int machines, int64_t start, int64_t pause);


void
tables_leases(const tables_run_t *run)
{
    char         title[64];
    size_t       i;
    edges_t      poisson, bursty;
    int64_t      most, bound;
    lease_t      lease;
    sw_rule_t    rule;
    const char  *name;

    report_head("leases, 1000r/10s|lease|machines|bound"
                "|most: Poisson|most: bursty|most: adversary"
                "|wrongly admitted|wrongly rejected|calls a request", 2);

    for (i = 0; i < ROWS; i++) {
        limiter_rule(&rule, rows[i].algorithm, LIMIT, WINDOW, SW_SLICES);
        name = limiter_name(&rule);

        traffic(run, &poisson, &rule, rows[i].percent, rows[i].machines,
                TRAFFIC_POISSON);
        traffic(run, &bursty, &rule, rows[i].percent, rows[i].machines,
                TRAFFIC_BURSTY);
        most = adversary(&rule, rows[i].percent, rows[i].machines);

        lease_init(&lease, rows[i].percent);
        bound = limiter_bound(&rule)
                + rows[i].machines * lease_max(&lease, &rule);

        report_bound("leases, Poisson", name, LIMIT, poisson.used.most,
                     bound);
        report_bound("leases, bursty", name, LIMIT, bursty.used.most, bound);
        report_bound("leases, adversary", name, LIMIT, most, bound);

        report_cell("`%s`", name);
        report_cell("%" PRId64 "%%", rows[i].percent);
        report_cell("%d", rows[i].machines);
        report_cell("%" PRId64, bound);
        report_cell("%" PRId64, poisson.used.most);
        report_cell("%" PRId64, bursty.used.most);
        report_cell("%" PRId64, most);
        report_cell("%.3f%%", 100 * (double) poisson.wrongly_admitted
                              / (double) poisson.requests);
        report_cell("%.3f%%", 100 * (double) poisson.wrongly_rejected
                              / (double) poisson.requests);
        report_cell("%.3f", (double) poisson.calls
                            / (double) poisson.requests);
        report_row_end();

        snprintf(title, sizeof(title), "%s lease=%" PRId64 "%% machines=%d",
                 name, rows[i].percent, rows[i].machines);

        report_figure("lease", "Poisson", LIMIT, title, "most",
                      (double) poisson.used.most);
        report_figure("lease", "bursty", LIMIT, title, "most",
                      (double) bursty.used.most);
        report_figure("lease", "adversary", LIMIT, title, "most",
                      (double) most);
        report_figure("lease", "any", LIMIT, title, "bound",
                      (double) bound);
    }
}


static void
edges_init(edges_t *edges, const sw_rule_t *rule, int64_t percent,
    int machines, int64_t start)
{
    int  i;

    limiter_init(&edges->store, rule, start);

    edges->machines = machines;

    for (i = 0; i < machines; i++) {
        lease_init(&edges->leases[i], percent);
    }
}


static void
edges_free(edges_t *edges)
{
    int  i;

    for (i = 0; i < edges->machines; i++) {
        edges->calls += edges->leases[i].calls;
    }

    limiter_free(&edges->store);
}


static int
edges_request(edges_t *edges, int machine, int64_t now)
{
    int      i, admitted;
    int64_t  held;

    for (i = 0; i < edges->machines; i++) {
        lease_expire(&edges->leases[i], &edges->store, now);
    }

    held = rolling_count(&edges->used, now);
    admitted = lease_take(&edges->leases[machine], &edges->store, now);

    edges->requests++;

    if (admitted) {
        edges->wrongly_admitted += (held >= edges->store.rule.limit);
        rolling_add(&edges->used, now);

    } else {
        edges->wrongly_rejected += (held < edges->store.rule.limit);
    }

    return admitted;
}


/*
 * Clients around their limit, each request of which comes to any machine.  The
 * traffic is made for another window: it is played faster.
 */

static void
traffic(const tables_run_t *run, edges_t *edges, const sw_rule_t *rule,
    int64_t percent, int machines, traffic_e kind)
{
    int64_t   i, n, faster;
    trace_t   trace;
    random_t  random;

    memset(edges, 0, sizeof(edges_t));
    memset(&trace, 0, sizeof(trace_t));

    rolling_init(&edges->used, rule->window);

    faster = traffics[kind].window / rule->window;

    for (n = 0; n % traffics[kind].clients || n < CLIENTS / run->part; n++) {
        random_init(&random, run->seed, 1ULL << 48 | (uint64_t) kind << 32
                                        | (uint64_t) n);
        traffic_make(&trace, kind, n, rule->limit, &random);

        edges_init(edges, rule, percent, machines, trace.start / faster);
        rolling_clear(&edges->used);

        for (i = 0; i < trace.n; i++) {
            (void) edges_request(edges, (int) random_below(&random, machines),
                                 trace.times[i] / faster);
        }

        edges_free(edges);
    }

    rolling_free(&edges->used);
    trace_free(&trace);
}


/* begins all over a window, and uses its leases at once, or before they end */

static int64_t
adversary(const sw_rule_t *rule, int64_t percent, int machines)
{
    int64_t  phase, start, ttl, most;

    most = 0;
    ttl = lease_ttl(rule);

    for (phase = 1; phase <= PHASES; phase++) {
        start = EPOCH + phase * rule->window / PHASES - 1;

        most = sw_max(most, hold_and_use(rule, percent, machines, start, 0));
        most = sw_max(most, hold_and_use(rule, percent, machines, start, 1));
        most = sw_max(most, hold_and_use(rule, percent, machines, start,
                                         ttl - 1));
        most = sw_max(most, hold_and_use(rule, percent, machines,
                                         start - ttl + 2, ttl - 1));
    }

    return most;
}


/*
 * At each machine it makes a lease grow until that has all it may have, and
 * leaves it alone.  After the pause it uses them all, and takes what the store
 * has in each ms, for which one machine is enough.
 */

static int64_t
hold_and_use(const sw_rule_t *rule, int64_t percent, int machines,
    int64_t start, int64_t pause)
{
    int       i;
    edges_t   edges;
    lease_t  *lease;
    int64_t   now;

    memset(&edges, 0, sizeof(edges_t));
    rolling_init(&edges.used, rule->window);
    edges_init(&edges, rule, percent, machines, start);

    for (i = 0; i < machines; i++) {
        lease = &edges.leases[i];

        while (lease->left < lease_max(lease, rule)) {

            if (!edges_request(&edges, i, start)) {
                break;
            }
        }
    }

    for (now = start + pause; now < start + pause + 2 * rule->window; now++) {

        for (i = 0; i < (now == start + pause ? machines : 1); i++) {

            while (edges_request(&edges, i, now)) { /* void */ }
        }
    }

    edges_free(&edges);
    rolling_free(&edges.used);

    return edges.used.most;
}
