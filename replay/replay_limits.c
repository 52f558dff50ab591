
#include <inttypes.h>

#include "replay_limits.h"
#include "replay_print.h"


static void replay_limits_each(replay_limits_t *limits,
    const replay_event_t *event, const replay_claim_t *claim,
    replay_text_t path);
static void replay_limits_all(replay_limits_t *limits,
    const replay_event_t *event, const replay_claim_t *claims,
    replay_text_t path);
static void replay_candidate_decide(replay_limits_t *limits,
    replay_candidate_t *candidate, const replay_event_t *event,
    const replay_claim_t *claim, replay_outcome_t *outcome);
static void replay_outcome_init(replay_outcome_t *outcome,
    replay_limits_t *limits, const replay_event_t *event,
    const replay_claim_t *claim, replay_text_t path);
static void replay_limits_peaks(replay_limits_t *limits,
    const replay_event_t *event, const replay_claim_t *claim);
static void replay_limits_print(replay_limits_t *limits,
    const replay_candidate_t *candidate, const replay_event_t *event,
    const replay_claim_t *claim, const replay_verdict_t *verdict);


void
replay_group_window(replay_group_t *group, int64_t window)
{
    if (replay_group_peaks(group, window)) {
        return;
    }

    group->peaks = replay_realloc(group->peaks, (group->npeaks + 1)
                                                * sizeof(replay_peaks_t));

    replay_peaks_init(&group->peaks[group->npeaks++], window);
}


replay_peaks_t *
replay_group_peaks(const replay_group_t *group, int64_t window)
{
    size_t  i;

    for (i = 0; i < group->npeaks; i++) {

        if (group->peaks[i].window == window) {
            return &group->peaks[i];
        }
    }

    return NULL;
}


void
replay_limits_decide(void *data, const replay_event_t *event,
    const replay_claim_t *claims, replay_text_t path)
{
    size_t            i;
    replay_limits_t  *limits;

    limits = data;

    replay_timeline_add(&limits->timeline, event->time);

    if (limits->requests++ == 0) {
        limits->first = event->time;
    }

    limits->last = event->time;

    for (i = 0; i < event->nclaims; i++) {
        replay_limits_peaks(limits, event, &claims[i]);
    }

    if (limits->joint) {
        replay_limits_all(limits, event, claims, path);

    } else if (event->nclaims) {
        replay_limits_each(limits, event, &claims[0], path);
    }
}


void
replay_limits_prefetch(const replay_limits_t *limits,
    const replay_claim_t *claims, unsigned n)
{
    size_t           i;
    uint32_t         client;
    replay_group_t  *group;

    for ( /* void */ ; n; n--, claims++) {
        group = limits->limits[claims->limit].group;
        client = claims->client;

        __builtin_prefetch(replay_client(&group->clients, client), 1);

        for (i = 0; i < group->n; i++) {
            __builtin_prefetch(replay_chunks_get(&group->candidates[i].clients,
                                                 client), 1);
        }

        for (i = 0; i < group->npeaks; i++) {
            __builtin_prefetch(replay_chunks_get(&group->peaks[i].clients,
                                                 client), 1);
        }
    }
}


/* candidates that are compared: each admits and rejects by itself */

static void
replay_limits_each(replay_limits_t *limits, const replay_event_t *event,
    const replay_claim_t *claim, replay_text_t path)
{
    size_t             i;
    replay_claim_t     unit;
    replay_group_t    *group;
    replay_outcome_t   outcome, plain;

    group = limits->limits[claim->limit].group;

    replay_outcome_init(&outcome, limits, event, claim, path);

    plain = outcome;
    plain.cost = 1;
    plain.charged = 1;
    plain.resets = 0;

    unit = *claim;
    unit.cost = 1;

    for (i = 0; i < group->n; i++) {
        replay_candidate_decide(limits, &group->candidates[i], event, claim,
                                &outcome);

        if (group->plain) {
            replay_candidate_decide(NULL, &group->plain[i], event, &unit,
                                    &plain);
        }
    }
}


/* without limits nothing is printed */

static void
replay_candidate_decide(replay_limits_t *limits,
    replay_candidate_t *candidate, const replay_event_t *event,
    const replay_claim_t *claim, replay_outcome_t *outcome)
{
    replay_verdict_t  verdict;

    replay_candidate_check(candidate, claim->client, event->time,
                           claim->cost, &verdict);

    outcome->admits = verdict.admits;

    replay_candidate_count(candidate, claim->client, &verdict, outcome);

    if (candidate->doubts_offset) {
        replay_bounds_request(&limits->bounds, event->time);
        replay_bounds_add(&limits->bounds, candidate, claim->client, outcome);
    }

    if (limits && limits->decisions) {
        replay_limits_print(limits, candidate, event, claim, &verdict);
    }
}


/* limits of a configuration: all admit the request, or none counts it */

static void
replay_limits_all(replay_limits_t *limits, const replay_event_t *event,
    const replay_claim_t *claims, replay_text_t path)
{
    int                  admits;
    size_t               i;
    replay_group_t      *group;
    replay_verdict_t     verdicts[REPLAY_CLAIMS_MAX];
    replay_outcome_t     outcome;

    admits = 1;

    for (i = 0; i < event->nclaims; i++) {
        group = limits->limits[claims[i].limit].group;

        replay_candidate_check(group->candidates, claims[i].client,
                               event->time, claims[i].cost, &verdicts[i]);

        admits &= verdicts[i].admits
                  || limits->limits[claims[i].limit].dry_run;
    }

    limits->rejected += !admits;

    replay_bounds_request(&limits->bounds, event->time);

    for (i = 0; i < event->nclaims; i++) {
        group = limits->limits[claims[i].limit].group;

        replay_outcome_init(&outcome, limits, event, &claims[i], path);

        outcome.admits = admits && verdicts[i].admits;

        replay_candidate_count(group->candidates, claims[i].client,
                               &verdicts[i], &outcome);

        if (group->candidates->doubts_offset) {
            replay_bounds_add(&limits->bounds, group->candidates,
                              claims[i].client, &outcome);
        }

        if (limits->decisions) {
            replay_limits_print(limits, group->candidates, event, &claims[i],
                                &verdicts[i]);
        }
    }
}


static void
replay_outcome_init(replay_outcome_t *outcome, replay_limits_t *limits,
    const replay_event_t *event, const replay_claim_t *claim,
    replay_text_t path)
{
    const replay_limit_t  *limit;

    limit = &limits->limits[claim->limit];

    outcome->time = event->time;
    outcome->cost = claim->cost;
    outcome->path = path;
    outcome->timeline = &limits->timeline;
    outcome->charged = limit->count == NULL
                       || sw_statuses_have(limit->count, event->status);
    outcome->dry_run = limit->dry_run;
    outcome->resets = limit->reset
                      && sw_statuses_have(limit->reset, event->status);
}


/* of what would be charged; when it is replayed again, there are none */

static void
replay_limits_peaks(replay_limits_t *limits, const replay_event_t *event,
    const replay_claim_t *claim)
{
    size_t                 i;
    int64_t                cost;
    const replay_limit_t  *limit;

    limit = &limits->limits[claim->limit];

    cost = (limit->count == NULL
            || sw_statuses_have(limit->count, event->status))
           ? claim->cost : 0;

    if (limit->group->npeaks) {
        replay_client(&limit->group->clients, claim->client)->requests++;
    }

    for (i = 0; i < limit->group->npeaks; i++) {
        replay_peaks_add(&limit->group->peaks[i], claim->client, event->time,
                         cost);
    }
}


static void
replay_limits_print(replay_limits_t *limits,
    const replay_candidate_t *candidate, const replay_event_t *event,
    const replay_claim_t *claim, const replay_verdict_t *verdict)
{
    replay_group_t  *group;

    group = limits->limits[claim->limit].group;

    replay_print_json_text(limits->decisions,
                           replay_text_of(limits->files[event->file]));

    fprintf(limits->decisions, ":%" PRIu64 "\t%" PRId64 "\t", event->line,
            event->time);

    replay_print_json_text(limits->decisions,
                           replay_client_key(&group->clients, claim->client));

    fprintf(limits->decisions, "\t%.*s\t%s\n", (int) candidate->label.len,
            candidate->label.data,
            verdict->admits ? "PASSED"
                            : verdict->banned ? "BANNED" : "REJECTED");
}
