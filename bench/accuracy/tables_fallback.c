
#include <inttypes.h>
#include <stdio.h>

#include "limiter.h"
#include "report.h"
#include "rolling.h"
#include "sw_math.h"
#include "tables.h"


#define EPOCH     1700000000000LL
#define WINDOW    10000LL
#define LIMIT     100
#define MACHINES  4
#define PHASES    10LL
#define TICK      10               /* ms between two tries of a client */


typedef struct {
    limiter_t   store;
    limiter_t   machines[MACHINES];
    rolling_t   admitted;
} fallback_t;


static int64_t outage(const sw_rule_t *rule, const sw_rule_t *part,
    int64_t start, int64_t fails, int64_t length);
static void take_all(limiter_t *limiter, rolling_t *admitted, int64_t now);


void
tables_fallback(void)
{
    int          i;
    char         title[64];
    int64_t      most[2], bound, phase, percent, start, fails;
    sw_rule_t    rule, part;
    const char  *name;

    report_head("Redis fails, 100r/10s, 4 machines|`on_error=`|bound"
                "|most: away for 5 s|most: away for 30 s", 2);

    for (i = 0; i < LIMITER_ALGORITHMS; i++) {
        limiter_rule(&rule, limiter_algorithms[i], LIMIT, WINDOW, SW_SLICES);

        for (percent = 100; percent >= 25; percent -= 75) {
            limiter_rule(&part, limiter_algorithms[i], LIMIT * percent / 100,
                         WINDOW, SW_SLICES);

            most[0] = 0;
            most[1] = 0;

            for (phase = 0; phase < PHASES * PHASES; phase++) {
                start = EPOCH + phase / PHASES * WINDOW / PHASES;
                fails = start + (phase % PHASES + 1) * WINDOW / PHASES;

                most[0] = sw_max(most[0], outage(&rule, &part, start, fails,
                                                 WINDOW / 2));
                most[1] = sw_max(most[1], outage(&rule, &part, start, fails,
                                                 3 * WINDOW));
            }

            bound = limiter_bound(&rule) + MACHINES * limiter_bound(&part);
            name = limiter_name(&rule);

            report_bound("fallback, half a window", name, LIMIT, most[0],
                         bound);
            report_bound("fallback, three windows", name, LIMIT, most[1],
                         bound);

            report_cell("`%s`", name);
            report_cell(percent == 100 ? "`local`" : "`local:%" PRId64 "%%`",
                        percent);
            report_cell("%" PRId64, bound);
            report_cell("%" PRId64, most[0]);
            report_cell("%" PRId64, most[1]);
            report_row_end();

            snprintf(title, sizeof(title), "%s local:%" PRId64 "%%", name,
                     percent);

            report_figure("fallback", "away for 5 s", LIMIT, title, "most",
                          (double) most[0]);
            report_figure("fallback", "away for 30 s", LIMIT, title, "most",
                          (double) most[1]);
            report_figure("fallback", "any", LIMIT, title, "bound",
                          (double) bound);
        }
    }
}


/*
 * A client that takes all it can get, at all machines, begins at most a window
 * before the store fails and goes on for two after it is back.  Each side
 * counts for itself; the machines count only while the store is away.
 */

static int64_t
outage(const sw_rule_t *rule, const sw_rule_t *part, int64_t start,
    int64_t fails, int64_t length)
{
    int         i;
    int64_t     now, returns, end;
    fallback_t  fallback;

    returns = fails + length;
    end = returns + 2 * rule->window;

    limiter_init(&fallback.store, rule, start);
    rolling_init(&fallback.admitted, rule->window);

    for (i = 0; i < MACHINES; i++) {
        limiter_init(&fallback.machines[i], part, start);
    }

    for (now = start - start % TICK + TICK - 1; now < end; now += TICK) {

        if (now < fails || now >= returns) {
            take_all(&fallback.store, &fallback.admitted, now);
            continue;
        }

        for (i = 0; i < MACHINES; i++) {
            take_all(&fallback.machines[i], &fallback.admitted, now);
        }
    }

    for (i = 0; i < MACHINES; i++) {
        limiter_free(&fallback.machines[i]);
    }

    limiter_free(&fallback.store);
    rolling_free(&fallback.admitted);

    return fallback.admitted.most;
}


static void
take_all(limiter_t *limiter, rolling_t *admitted, int64_t now)
{
    while (limiter_take(limiter, now)) {
        rolling_add(admitted, now);
    }
}
