
#include "replay_ladder.h"
#include "sw_math.h"


static int64_t replay_next_limit(int64_t limit);
static void replay_ladder_limits(replay_ladder_t *ladder,
    replay_limits_t *limits, int64_t wanted);
static void replay_ladder_step(replay_step_t *step, const sw_rule_t *rule,
    const sw_ban_rule_t *ban, replay_limits_t *limits,
    replay_spool_t *spool);


int64_t
replay_round_limit(int64_t at_least)
{
    int64_t  limit;

    for (limit = 1; limit < at_least; limit = replay_next_limit(limit)) {
        /* void */
    }

    return limit;
}


static int64_t
replay_next_limit(int64_t limit)
{
    size_t   i;
    int64_t  ten;

    static const int64_t  tenths[] = {
        10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100
    };

    for (ten = 1; limit >= 10 * ten; ten *= 10) { /* void */ }

    for (i = 0; tenths[i] * ten <= limit * 10 || tenths[i] * ten % 10; i++) {
        /* void */
    }

    return tenths[i] * ten / 10;
}


void
replay_ladder_run(replay_ladder_t *ladder, const sw_rule_t *rule,
    const sw_ban_rule_t *ban, replay_limits_t *limits,
    replay_spool_t *spool, int64_t wanted)
{
    size_t     i, n;
    sw_rule_t  tried;

    memset(ladder, 0, sizeof(replay_ladder_t));

    ladder->rule = *rule;

    replay_ladder_limits(ladder, limits, wanted);

    for (i = 0, n = 0; i < ladder->n; i++) {
        tried = *rule;
        tried.limit = ladder->steps[i].limit;

        /* a log, or a long window, has a largest limit */

        if (sw_rule_error(&tried) != NULL) {
            break;
        }

        replay_ladder_step(&ladder->steps[n++], &tried, ban, limits, spool);
    }

    ladder->n = n;
}


/* from half of the median peak to above the highest one */

static void
replay_ladder_limits(replay_ladder_t *ladder, replay_limits_t *limits,
    int64_t wanted)
{
    size_t                n, every, i;
    int64_t               limit, last, most, percentiles[REPLAY_PERCENTILES];
    replay_peaks_t       *peaks;
    replay_group_t       *group;

    group = &limits->groups[0];
    peaks = replay_group_peaks(group, ladder->rule.window);

    replay_peaks_percentiles(peaks, group->clients.n, percentiles);

    limit = replay_round_limit(sw_max(1, percentiles[0] / 2));
    most = percentiles[REPLAY_PERCENTILES - 1];

    /* these count what has left the window already, up to as much again */

    if (ladder->rule.algorithm == SW_COUNTER
        || ladder->rule.algorithm == SW_STRICT)
    {
        most *= 2;
    }

    last = replay_round_limit(sw_max(most, wanted));

    n = 1;

    while (limit < last) {
        limit = replay_next_limit(limit);
        n++;
    }

    every = (n + REPLAY_LADDER_MAX - 3) / (REPLAY_LADDER_MAX - 2);
    limit = replay_round_limit(sw_max(1, percentiles[0] / 2));

    for (i = 0; i < n; i++) {

        if (wanted > 0 && wanted <= limit) {

            if (wanted < limit) {
                ladder->steps[ladder->n++].limit = wanted;
            }

            wanted = 0;

            if (ladder->n == 0
                || ladder->steps[ladder->n - 1].limit != limit)
            {
                ladder->steps[ladder->n++].limit = limit;
            }

        } else if (i % every == 0 || i == n - 1) {
            ladder->steps[ladder->n++].limit = limit;
        }

        limit = replay_next_limit(limit);
    }
}


/* the same limits, but with one candidate, and without what is measured once */

static void
replay_ladder_step(replay_step_t *step, const sw_rule_t *rule,
    const sw_ban_rule_t *ban, replay_limits_t *limits,
    replay_spool_t *spool)
{
    replay_limit_t       limit;
    replay_group_t       group;
    replay_limits_t      again;
    replay_candidate_t   candidate;

    replay_candidate_init(&candidate, rule, ban, 0, 0);

    group = limits->groups[0];
    group.candidates = &candidate;
    group.n = 1;
    group.plain = NULL;
    group.npeaks = 0;

    limit = limits->limits[0];
    limit.group = &group;

    again = *limits;
    again.limits = &limit;
    again.joint = 0;
    again.decisions = NULL;

    replay_spool_read(spool, replay_limits_decide, &again);

    step->limit = rule->limit;
    step->rejected = candidate.rejected;
    step->clients = candidate.nrejections;

    replay_candidate_free(&candidate);
}


const replay_step_t *
replay_ladder_choose(replay_ladder_t *ladder, const sw_ban_rule_t *ban,
    replay_limits_t *limits, replay_spool_t *spool)
{
    size_t         i;
    int64_t        limit;
    uint64_t       few;
    sw_rule_t      rule;
    replay_step_t  step;

    few = limits->groups[0].clients.n / 1000;

    for (i = 0; i < ladder->n && ladder->steps[i].clients > few; i++) {
        /* void */
    }

    if (i == ladder->n) {
        return NULL;
    }

    if (i == 0) {
        return &ladder->steps[0];
    }

    /* round limits between two steps */

    rule = ladder->rule;

    for (limit = replay_next_limit(ladder->steps[i - 1].limit);
         limit < ladder->steps[i].limit;
         limit = replay_next_limit(limit))
    {
        rule.limit = limit;
        replay_ladder_step(&step, &rule, ban, limits, spool);

        if (step.clients <= few) {
            memmove(&ladder->steps[i + 1], &ladder->steps[i],
                    (ladder->n - i) * sizeof(replay_step_t));
            ladder->steps[i] = step;
            ladder->n++;
            break;
        }
    }

    return &ladder->steps[i];
}
