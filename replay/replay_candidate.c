
#include "replay.h"
#include "replay_candidate.h"
#include "sw_math.h"


/* longer paths are cut */
#define REPLAY_PATH_SHOWN  120


/*
 * What a candidate keeps of a client; bans and the memory of the runs follow.
 * A client without a rejection has number 0.
 */

typedef struct {
    int64_t       last;                    /* its last request, and one ms */
    uint32_t      rejection;
} replay_entry_t;


static replay_ban_t *replay_entry_bans(const replay_candidate_t *candidate,
    void *entry);
static void *replay_entry_run(const replay_candidate_t *candidate,
    void *entry, replay_run_e which);
static void replay_candidate_bound(replay_candidate_t *candidate,
    const replay_verdict_t *verdict, const replay_outcome_t *outcome);
static void replay_candidate_bans(replay_candidate_t *candidate,
    const replay_verdict_t *verdict, const replay_outcome_t *outcome);
static void replay_candidate_reject(replay_candidate_t *candidate,
    uint32_t client, const replay_verdict_t *verdict,
    const replay_outcome_t *outcome);
static void replay_candidate_reset(replay_candidate_t *candidate,
    const replay_verdict_t *verdict, const replay_outcome_t *outcome);


void
replay_candidate_init(replay_candidate_t *candidate, const sw_rule_t *rule,
    const replay_ban_rule_t *ban, int64_t span, int coupled)
{
    int     i;
    size_t  size;

    memset(candidate, 0, sizeof(replay_candidate_t));

    candidate->rule = *rule;
    candidate->coupled = coupled;

    size = sizeof(replay_entry_t);

    if (ban && ban->time) {
        candidate->ban = *ban;
        candidate->ban_offset = size;
        candidate->coupled = 1;
        size += REPLAY_RUNS * sizeof(replay_ban_t);
    }

    for (i = REPLAY_AS_LOGGED; i <= REPLAY_MOST; i++) {
        replay_run_init(&candidate->runs[i], rule, (replay_run_e) i, span,
                        candidate->coupled);
    }

    for (i = REPLAY_AS_LOGGED; i <= REPLAY_MOST; i++) {
        candidate->run_offsets[i] = size;
        size += candidate->runs[i].size;
    }

    replay_chunks_init(&candidate->clients, size);
    replay_live_init(&candidate->live, rule);
}


void
replay_candidate_free(replay_candidate_t *candidate)
{
    int              run;
    uint32_t         i;
    replay_entry_t  *entry;

    for (i = 0; i < candidate->clients.n << REPLAY_CHUNK_SHIFT; i++) {
        entry = replay_chunks_get(&candidate->clients, i);

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


static replay_ban_t *
replay_entry_bans(const replay_candidate_t *candidate, void *entry)
{
    return (replay_ban_t *) ((char *) entry + candidate->ban_offset);
}


static void *
replay_entry_run(const replay_candidate_t *candidate, void *entry,
    replay_run_e which)
{
    return (char *) entry + candidate->run_offsets[which];
}


void
replay_candidate_check(replay_candidate_t *candidate, uint32_t client,
    int64_t time, int64_t cost, replay_verdict_t *verdict)
{
    int                  i, admits[REPLAY_RUNS];
    int64_t              late;
    replay_ban_t        *bans;
    replay_entry_t      *entry;
    const replay_run_t  *run;

    entry = replay_chunks_get(&candidate->clients, client);

    verdict->memory = entry;
    verdict->banned = 0;

    for (i = 0; i < REPLAY_RUNS; i++) {
        run = &candidate->runs[i];

        if (entry->last == 0) {
            replay_run_start(run, replay_entry_run(candidate, entry,
                                                   (replay_run_e) i), time);
        }

        admits[i] = (run->kind == REPLAY_RUN_SAME)
                    ? admits[REPLAY_AS_LOGGED]
                    : replay_run_admits(run,
                                        replay_entry_run(candidate, entry,
                                                         (replay_run_e) i),
                                        time, cost);
    }

    if (candidate->ban.time) {
        bans = replay_entry_bans(candidate, entry);
        late = time + candidate->runs[REPLAY_AS_LOGGED].span;

        verdict->banned = replay_banned(&bans[REPLAY_AS_LOGGED], time);

        if (verdict->banned) {
            admits[REPLAY_AS_LOGGED] = 0;
        }

        if (replay_banned(&bans[REPLAY_FEWEST], late)) {
            admits[REPLAY_FEWEST] = 0;
        }

        if (replay_banned(&bans[REPLAY_MOST], time)) {
            admits[REPLAY_MOST] = 0;
        }
    }

    verdict->admits = admits[REPLAY_AS_LOGGED];
    verdict->possible = admits[REPLAY_FEWEST];
    verdict->sure = admits[REPLAY_MOST];
}


void
replay_candidate_count(replay_candidate_t *candidate, uint32_t client,
    const replay_verdict_t *verdict, const replay_outcome_t *outcome)
{
    replay_ban_t    *bans;
    replay_entry_t  *entry;

    entry = verdict->memory;

    candidate->requests++;
    replay_series_add(&candidate->requested, outcome->timeline,
                      outcome->time);

    replay_live_add(&candidate->live, outcome->time, entry->last - 1);
    entry->last = outcome->time + 1;

    candidate->rejected_at_least += !verdict->possible;
    candidate->rejected_at_most += !verdict->sure;

    if (!verdict->admits) {
        replay_candidate_reject(candidate, client, verdict, outcome);
    }

    if (candidate->ban.time && !verdict->admits && !verdict->banned) {
        bans = replay_entry_bans(candidate, entry);
        replay_ban_begin(&bans[REPLAY_AS_LOGGED], &candidate->ban,
                         outcome->time);
    }

    if (candidate->ban.time) {
        replay_candidate_bans(candidate, verdict, outcome);
    }

    if (outcome->charged && outcome->cost) {

        if (outcome->admits) {
            replay_run_count(&candidate->runs[REPLAY_AS_LOGGED],
                             replay_entry_run(candidate, entry,
                                              REPLAY_AS_LOGGED),
                             outcome->time, outcome->cost);
        }

        replay_candidate_bound(candidate, verdict, outcome);
    }

    if (outcome->resets) {
        replay_candidate_reset(candidate, verdict, outcome);
    }
}


/*
 * If the bounds are coupled, the run with the fewest units has those that were
 * surely admitted, and that with the most those that were possibly.
 */

static void
replay_candidate_bound(replay_candidate_t *candidate,
    const replay_verdict_t *verdict, const replay_outcome_t *outcome)
{
    int  few, many;

    few = candidate->coupled ? outcome->sure : verdict->possible;
    many = candidate->coupled ? outcome->possible : verdict->sure;

    if (few) {
        replay_run_count(&candidate->runs[REPLAY_FEWEST],
                         replay_entry_run(candidate, verdict->memory,
                                          REPLAY_FEWEST),
                         outcome->time, outcome->cost);
    }

    if (many) {
        replay_run_count(&candidate->runs[REPLAY_MOST],
                         replay_entry_run(candidate, verdict->memory,
                                          REPLAY_MOST),
                         outcome->time, outcome->cost);
    }
}


/*
 * A ban is sure if the client was surely rejected and surely not banned before,
 * which would end earlier.  It is possible, and lasts until the latest possible
 * end, whenever the client may have been rejected without a ban.
 */

static void
replay_candidate_bans(replay_candidate_t *candidate,
    const replay_verdict_t *verdict, const replay_outcome_t *outcome)
{
    int            few_banned, many_banned;
    int64_t        late;
    replay_ban_t  *bans, ban;

    bans = replay_entry_bans(candidate, verdict->memory);
    late = outcome->time + candidate->runs[REPLAY_AS_LOGGED].span;

    few_banned = replay_banned(&bans[REPLAY_FEWEST], late);
    many_banned = replay_banned(&bans[REPLAY_MOST], outcome->time);

    if (!verdict->possible && !few_banned && !many_banned) {
        replay_ban_begin(&bans[REPLAY_FEWEST], &candidate->ban,
                         outcome->time);
    }

    if (!verdict->sure && !few_banned) {
        ban = bans[REPLAY_MOST];
        replay_ban_begin(&ban, &candidate->ban, late);

        bans[REPLAY_MOST].length = sw_max(bans[REPLAY_MOST].length,
                                          ban.length);
        bans[REPLAY_MOST].until = sw_max(bans[REPLAY_MOST].until, ban.until);
    }
}


static void
replay_candidate_reject(replay_candidate_t *candidate, uint32_t client,
    const replay_verdict_t *verdict, const replay_outcome_t *outcome)
{
    replay_text_t       path;
    replay_entry_t     *entry;
    replay_rejected_t  *rejection;

    entry = verdict->memory;

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


/* reset= clears a client that was admitted, its bans too */

static void
replay_candidate_reset(replay_candidate_t *candidate,
    const replay_verdict_t *verdict, const replay_outcome_t *outcome)
{
    int            i, cleared[REPLAY_RUNS];
    replay_ban_t  *bans;

    cleared[REPLAY_AS_LOGGED] = outcome->admits;
    cleared[REPLAY_FEWEST] = outcome->possible;
    cleared[REPLAY_MOST] = outcome->sure;

    for (i = 0; i < REPLAY_RUNS; i++) {

        if (!cleared[i]) {
            continue;
        }

        replay_run_reset(&candidate->runs[i],
                         replay_entry_run(candidate, verdict->memory,
                                          (replay_run_e) i), outcome->time);

        if (candidate->ban.time) {
            bans = replay_entry_bans(candidate, verdict->memory);
            memset(&bans[i], 0, sizeof(replay_ban_t));
        }
    }
}

