
#include <inttypes.h>

#include "replay_task.h"
#include "sw_math.h"


static void replay_recommend(replay_t *replay, replay_rate_t *rate);
static void replay_reasons(replay_t *replay, const replay_step_t *step,
    int64_t window);


/* rates that were to be found are, and all requests are replayed for them */

void
replay_find_rates(replay_t *replay)
{
    size_t             i, known;
    replay_group_t     all, *group;
    replay_limit_t     limit;
    replay_limits_t    again;
    replay_options_t  *options;

    options = &replay->options;
    group = replay->limits.groups;
    known = group->n;

    for (i = 0; i < options->nrates; i++) {

        if (options->rates[i].limit == 0) {
            replay_recommend(replay, &options->rates[i]);
            replay_add_candidates(replay, &options->rates[i]);
        }
    }

    all = *group;
    all.candidates += known;
    all.n -= known;
    all.plain = group->plain ? group->plain + known : NULL;
    all.npeaks = 0;

    limit = replay->limits.limits[0];
    limit.group = &all;

    again = replay->limits;
    again.limits = &limit;

    memset(&again.bounds, 0, sizeof(replay_bounds_t));

    replay_spool_read(&replay->spool, replay_limits_decide, &again);
    replay_bounds_end(&again.bounds);
}


static void
replay_recommend(replay_t *replay, replay_rate_t *rate)
{
    int64_t                   most, wanted;
    sw_rule_t                 rule;
    replay_group_t           *group;
    replay_options_t         *options;
    const replay_step_t      *step;
    int64_t                   percentiles[REPLAY_PERCENTILES];

    options = &replay->options;
    group = replay->limits.groups;

    replay_peaks_percentiles(replay_group_peaks(group, rate->window),
                             group->clients.n, percentiles);

    rule.algorithm = options->algorithms[0];
    rule.limit = 1;
    rule.window = rate->window;
    rule.slices = (rule.algorithm == SW_STRICT)
                  ? sw_min(options->slices, rule.window) : 0;

    replay_check_rule(&rule, rate->text);

    wanted = replay_round_limit(sw_max(percentiles[3], 1));

    replay_ladder_run(&replay->report.ladder, &rule, &options->ban,
                      &replay->limits, &replay->spool, wanted);

    step = replay_ladder_choose(&replay->report.ladder, &options->ban,
                                &replay->limits, &replay->spool);

    if (step == NULL) {
        most = percentiles[REPLAY_PERCENTILES - 1];
        replay_fatal("no limit in %s rejects less than a client of 1,000: the "
                     "busiest asked for %" PRId64 " units; name a rate",
                     replay_algorithms[rule.algorithm], most);
    }

    rate->limit = step->limit;
    rate->text = replay_text_of(replay_rate_print(&replay->pool, rate->limit,
                                                  rate->window));

    /* of several, the first is explained */

    if (replay->report.recommendation.rate == NULL) {
        replay->report.recommendation.rate = rate->text.data;
        replay->report.recommendation.clients_rejected = step->clients;
        replay_reasons(replay, step, rate->window);
    }
}


static void
replay_reasons(replay_t *replay, const replay_step_t *step, int64_t window)
{
    int64_t                   percentiles[REPLAY_PERCENTILES];
    replay_group_t           *group;
    replay_pool_t            *pool;
    const replay_ladder_t    *ladder;
    replay_recommendation_t  *recommendation;

    group = replay->limits.groups;
    pool = &replay->pool;
    ladder = &replay->report.ladder;
    recommendation = &replay->report.recommendation;

    replay_peaks_percentiles(replay_group_peaks(group, window),
                             group->clients.n, percentiles);

    recommendation->reasons[recommendation->nreasons++] =
        replay_pool_print(pool, "99.9%% of %" PRIu32 " clients never had more "
                          "than %" PRId64 " in a window, the busiest had %"
                          PRId64, group->clients.n, percentiles[3],
                          percentiles[4]);

    recommendation->reasons[recommendation->nreasons++] =
        replay_pool_print(pool, "it would have rejected %" PRIu64 " of %"
                          PRIu64 " requests, of %" PRIu64 " client%s",
                          step->rejected, replay->limits.requests,
                          step->clients, step->clients == 1 ? "" : "s");

    if (step != ladder->steps) {
        recommendation->reasons[recommendation->nreasons++] =
            replay_pool_print(pool, "%s would have rejected %" PRIu64
                              " requests, of %" PRIu64 " client%s",
                              replay_rate_print(pool, step[-1].limit, window),
                              step[-1].rejected, step[-1].clients,
                              step[-1].clients == 1 ? "" : "s");
    }
}


/* limits around that of the first candidate */

void
replay_plot_ladder(replay_t *replay)
{
    replay_candidate_t  *candidate;

    if (!replay->spooled) {
        return;
    }

    candidate = &replay->limits.groups[0].candidates[0];

    replay_ladder_run(&replay->report.ladder, &candidate->rule,
                      &replay->options.ban, &replay->limits, &replay->spool,
                      candidate->rule.limit);
}
