
#include "replay_candidate.h"


/* longer paths are cut */
#define REPLAY_PATH_SHOWN  120


static void replay_candidate_reject(replay_candidate_t *candidate,
    uint32_t client, const replay_verdict_t *verdict,
    const replay_outcome_t *outcome);
static void replay_candidate_run(replay_candidate_t *candidate,
    replay_entry_t *entry, replay_run_e which,
    const replay_outcome_t *outcome);


void
replay_candidate_init(replay_candidate_t *candidate, const sw_rule_t *rule,
    const sw_ban_rule_t *ban, int64_t span, int doubt)
{
    int     i;
    size_t  size;

    memset(candidate, 0, sizeof(replay_candidate_t));

    candidate->rule = *rule;
    candidate->span = span;
    candidate->steady = replay_run_steady(rule, span);

    size = sizeof(replay_entry_t);

    if (ban && ban->time) {
        candidate->ban = *ban;
        candidate->ban_offset = size;
        size += REPLAY_RUNS * sizeof(sw_ban_t);
        doubt = 1;
    }

    if (doubt && span) {
        candidate->doubts_offset = size;
        size += sizeof(replay_entry_doubts_t);
    }

    for (i = REPLAY_AS_LOGGED; i <= REPLAY_MOST; i++) {
        replay_run_init(&candidate->runs[i], rule, (replay_run_e) i, span,
                        doubt);

        candidate->run_offsets[i] = size;
        size += candidate->runs[i].size;
    }

    replay_chunks_init(&candidate->clients, size);
    replay_live_init(&candidate->live, rule, span);
}


void
replay_candidate_free(replay_candidate_t *candidate)
{
    int              run;
    uint32_t         i;
    replay_entry_t  *entry;

    for (i = 0; i < candidate->clients.n << REPLAY_CHUNK_SHIFT; i++) {
        entry = replay_candidate_entry(candidate, i);

        for (run = 0; entry->last && run < REPLAY_RUNS; run++) {
            replay_run_free(&candidate->runs[run],
                            replay_entry_run(candidate, entry,
                                             (replay_run_e) run));
        }
    }

    replay_chunks_free(&candidate->clients);
    replay_pool_destroy(&candidate->paths);
    free(candidate->rejections);
}


void
replay_candidate_check(replay_candidate_t *candidate, uint32_t client,
    int64_t time, int64_t cost, replay_verdict_t *verdict)
{
    int                  i;
    void                *memory;
    sw_ban_t            *bans;
    replay_entry_t      *entry;
    const replay_run_t  *run;

    entry = replay_candidate_entry(candidate, client);
    bans = replay_entry_bans(candidate, entry);

    verdict->entry = entry;
    verdict->banned = bans && sw_ban_left(&bans[REPLAY_AS_LOGGED], time);

    for (i = REPLAY_AS_LOGGED; i <= REPLAY_MOST; i++) {
        run = &candidate->runs[i];
        memory = replay_entry_run(candidate, entry, (replay_run_e) i);

        if (entry->last == 0) {
            replay_run_start(run, memory, time);
        }

        if (run->kind == REPLAY_RUN_SAME) {
            verdict->bounds[i] = verdict->bounds[REPLAY_AS_LOGGED];

        } else if (i == REPLAY_AS_LOGGED || candidate->doubts_offset == 0) {
            verdict->bounds[i] = !verdict->banned
                                 && replay_run_admits(run, memory, time,
                                                      cost);
        }
    }

    verdict->admits = verdict->bounds[REPLAY_AS_LOGGED];
}


void
replay_candidate_count(replay_candidate_t *candidate, uint32_t client,
    const replay_verdict_t *verdict, const replay_outcome_t *outcome)
{
    int              i;
    sw_ban_t        *bans;
    replay_entry_t  *entry;

    entry = verdict->entry;
    bans = replay_entry_bans(candidate, entry);

    candidate->requests++;
    replay_series_add(&candidate->requested, outcome->timeline,
                      outcome->time);

    replay_live_add(&candidate->live, outcome->time, entry->last - 1);
    entry->last = outcome->time + 1;

    if (!verdict->admits) {
        replay_candidate_reject(candidate, client, verdict, outcome);

        if (bans && !verdict->banned) {
            (void) sw_ban_begin(&bans[REPLAY_AS_LOGGED], &candidate->ban,
                                outcome->time);
        }
    }

    if (outcome->admits) {
        replay_candidate_run(candidate, entry, REPLAY_AS_LOGGED, outcome);

        if (outcome->resets && bans) {
            memset(&bans[REPLAY_AS_LOGGED], 0, sizeof(sw_ban_t));
        }
    }

    if (candidate->doubts_offset) {
        return;
    }

    candidate->rejected_at_least += !verdict->bounds[REPLAY_FEWEST];
    candidate->rejected_at_most += !verdict->bounds[REPLAY_MOST];

    for (i = REPLAY_FEWEST; i <= REPLAY_MOST; i++) {

        if (verdict->bounds[i]) {
            replay_candidate_run(candidate, entry, (replay_run_e) i, outcome);
        }
    }
}


static void
replay_candidate_run(replay_candidate_t *candidate, replay_entry_t *entry,
    replay_run_e which, const replay_outcome_t *outcome)
{
    void                *memory;
    const replay_run_t  *run;

    run = &candidate->runs[which];
    memory = replay_entry_run(candidate, entry, which);

    if (outcome->charged && outcome->cost) {
        replay_run_count(run, memory, outcome->time, outcome->cost);
    }

    if (outcome->resets) {
        replay_run_reset(run, memory, outcome->time);
    }
}


static void
replay_candidate_reject(replay_candidate_t *candidate, uint32_t client,
    const replay_verdict_t *verdict, const replay_outcome_t *outcome)
{
    replay_text_t       path;
    replay_entry_t     *entry;
    replay_rejected_t  *rejection;

    entry = verdict->entry;

    candidate->rejected++;
    candidate->banned += verdict->banned;
    replay_series_add(&candidate->series, outcome->timeline, outcome->time);

    if (entry->rejection) {
        candidate->rejections[entry->rejection - 1].rejected++;
        return;
    }

    if (candidate->nrejections == candidate->room) {
        candidate->room = candidate->room ? 2 * candidate->room : 16;
        candidate->rejections = replay_realloc(candidate->rejections,
                                               candidate->room
                                               * sizeof(replay_rejected_t));
    }

    path = outcome->path;
    path.len = path.len < REPLAY_PATH_SHOWN ? path.len : REPLAY_PATH_SHOWN;

    rejection = &candidate->rejections[candidate->nrejections++];
    rejection->client = client;
    rejection->time = outcome->time;
    rejection->path = replay_pool_text(&candidate->paths, path).data;
    rejection->rejected = 1;

    entry->rejection = candidate->nrejections;
}
