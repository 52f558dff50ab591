
#include "replay_bounds.h"
#include "sw_math.h"


typedef void (*replay_doubt_pt)(const replay_doubt_t *doubt,
    replay_entry_t *entry, int possible, int sure, int64_t time);


static void replay_bounds_decide(replay_bounds_t *bounds);
static void replay_bounds_gather(replay_bounds_t *bounds);
static uint32_t replay_doubt_fit(replay_bounds_t *bounds,
    const replay_doubt_t *doubt, replay_run_e which);
static int replay_ban_lasts(const sw_ban_t *ban, int64_t time);
static int replay_doubt_banned(const replay_bounds_t *bounds,
    const replay_doubt_t *doubt, replay_run_e which);
static replay_entry_doubts_t *replay_doubts_of(const replay_doubt_t *doubt);
static void replay_bounds_possible(replay_bounds_t *bounds);
static void replay_bounds_sure(replay_bounds_t *bounds);
static void replay_bounds_each(replay_bounds_t *bounds,
    replay_doubt_pt handler);
static void replay_doubt_sum(const replay_doubt_t *doubt,
    replay_entry_t *entry, int possible, int sure, int64_t time);
static void replay_doubt_count(const replay_doubt_t *doubt,
    replay_entry_t *entry, int possible, int sure, int64_t time);
static void replay_doubt_reset(const replay_doubt_t *doubt,
    replay_entry_t *entry, int possible, int sure, int64_t time);
static void replay_doubt_ban(const replay_doubt_t *doubt,
    replay_entry_t *entry, int possible, int sure, int64_t time);
static void replay_doubt_clear(const replay_doubt_t *doubt,
    replay_entry_t *entry, int possible, int sure, int64_t time);


void
replay_bounds_request(replay_bounds_t *bounds, int64_t time)
{
    if (time != bounds->time) {
        replay_bounds_decide(bounds);
        bounds->time = time;
    }

    bounds->requests++;
}


void
replay_bounds_add(replay_bounds_t *bounds, replay_candidate_t *candidate,
    uint32_t client, const replay_outcome_t *outcome)
{
    replay_doubt_t  *doubt;

    if (bounds->n == bounds->room) {
        bounds->room = bounds->room ? 2 * bounds->room : 64;
        bounds->doubts = replay_realloc(bounds->doubts,
                                        bounds->room
                                        * sizeof(replay_doubt_t));
    }

    doubt = &bounds->doubts[bounds->n++];

    doubt->candidate = candidate;
    doubt->client = client;
    doubt->request = bounds->requests;
    doubt->cost = outcome->cost;
    doubt->charged = outcome->charged;
    doubt->resets = outcome->resets;
    doubt->dry_run = outcome->dry_run;
}


void
replay_bounds_end(replay_bounds_t *bounds)
{
    replay_bounds_decide(bounds);

    free(bounds->doubts);
    bounds->doubts = NULL;
    bounds->room = 0;
}


static void
replay_bounds_decide(replay_bounds_t *bounds)
{
    replay_bounds_gather(bounds);
    replay_bounds_possible(bounds);
    replay_bounds_each(bounds, replay_doubt_sum);

    replay_bounds_sure(bounds);

    replay_bounds_each(bounds, replay_doubt_ban);
    replay_bounds_each(bounds, replay_doubt_reset);
    replay_bounds_each(bounds, replay_doubt_count);
    replay_bounds_each(bounds, replay_doubt_clear);

    bounds->n = 0;
    bounds->requests = 0;
}


/* which requests of a client are alike */

static void
replay_bounds_gather(replay_bounds_t *bounds)
{
    size_t                  i;
    replay_doubt_t         *doubt;
    replay_entry_doubts_t  *doubts;

    for (i = 0; i < bounds->n; i++) {
        memset(replay_doubts_of(&bounds->doubts[i]), 0,
               sizeof(replay_entry_doubts_t));
    }

    for (i = 0; i < bounds->n; i++) {
        doubt = &bounds->doubts[i];
        doubts = replay_doubts_of(doubt);

        if (doubt->resets) {
            doubts->resets = 1;
            doubts->mixed = 1;
        }

        if (!doubt->charged) {
            continue;
        }

        if (!doubt->candidate->steady
            || (doubts->n && doubt->cost != doubts->cost))
        {
            doubts->mixed = 1;
        }

        doubts->cost = doubt->cost;
        doubts->n++;
    }

    for (i = 0; i < bounds->n; i++) {
        doubts = replay_doubts_of(&bounds->doubts[i]);

        if (doubts->n && !doubts->mixed) {
            doubts->possible = replay_doubt_fit(bounds, &bounds->doubts[i],
                                                REPLAY_FEWEST);
            doubts->sure = replay_doubt_fit(bounds, &bounds->doubts[i],
                                            REPLAY_MOST);
        }
    }
}


/*
 * Of requests that cost the same, which were admitted does not matter, only how
 * many: other requests do not count.
 */

static uint32_t
replay_doubt_fit(replay_bounds_t *bounds, const replay_doubt_t *doubt,
    replay_run_e which)
{
    replay_entry_t         *entry;
    replay_candidate_t     *candidate;
    replay_entry_doubts_t  *doubts;

    candidate = doubt->candidate;
    entry = replay_candidate_entry(candidate, doubt->client);
    doubts = replay_entry_doubts(candidate, entry);

    if (replay_doubt_banned(bounds, doubt, which)) {
        return 0;
    }

    return replay_run_fit(&candidate->runs[which],
                          replay_entry_run(candidate, entry, which),
                          bounds->time, doubts->cost, doubts->n);
}


static int
replay_doubt_banned(const replay_bounds_t *bounds,
    const replay_doubt_t *doubt, replay_run_e which)
{
    int64_t              time;
    sw_ban_t            *bans;
    replay_candidate_t  *candidate;

    candidate = doubt->candidate;
    bans = replay_entry_bans(candidate,
                             replay_candidate_entry(candidate,
                                                    doubt->client));
    time = bounds->time;

    if (which == REPLAY_FEWEST) {
        time += candidate->span;
    }

    return bans && replay_ban_lasts(&bans[which], time);
}


/* a bound is looked at before the time that it begins at, and stays as it is */

static int
replay_ban_lasts(const sw_ban_t *ban, int64_t time)
{
    sw_ban_t  copy;

    copy = *ban;

    return sw_ban_left(&copy, time) > 0;
}


static replay_entry_doubts_t *
replay_doubts_of(const replay_doubt_t *doubt)
{
    replay_candidate_t  *candidate;

    candidate = doubt->candidate;

    return replay_entry_doubts(candidate,
                               replay_candidate_entry(candidate,
                                                      doubt->client));
}


/* each request may have been the first of its second, or behind a reset */

static void
replay_bounds_possible(replay_bounds_t *bounds)
{
    size_t                  i;
    replay_doubt_t         *doubt;
    replay_entry_t         *entry;
    replay_candidate_t     *candidate;
    replay_entry_doubts_t  *doubts;

    for (i = 0; i < bounds->n; i++) {
        doubt = &bounds->doubts[i];
        candidate = doubt->candidate;
        entry = replay_candidate_entry(candidate, doubt->client);
        doubts = replay_entry_doubts(candidate, entry);

        if (doubt->charged && !doubts->mixed) {
            doubt->possible = doubts->possible > 0;
            doubts->possible -= doubt->possible;

        } else {
            doubt->possible =
                !replay_doubt_banned(bounds, doubt, REPLAY_FEWEST)
                && ((doubts->resets && doubt->cost <= candidate->rule.limit)
                    || replay_run_admits(&candidate->runs[REPLAY_FEWEST],
                                         replay_entry_run(candidate, entry,
                                                          REPLAY_FEWEST),
                                         bounds->time, doubt->cost));
        }

        candidate->rejected_at_least += !doubt->possible;
    }
}


/*
 * Each request may have been the last of its second: behind all units that were
 * possibly admitted, and behind a rejection that bans.
 */

static void
replay_bounds_sure(replay_bounds_t *bounds)
{
    size_t                  i;
    int64_t                 others;
    replay_doubt_t         *doubt;
    replay_entry_t         *entry;
    replay_candidate_t     *candidate;
    replay_entry_doubts_t  *doubts;

    for (i = 0; i < bounds->n; i++) {
        doubt = &bounds->doubts[i];
        candidate = doubt->candidate;
        entry = replay_candidate_entry(candidate, doubt->client);
        doubts = replay_entry_doubts(candidate, entry);

        /* its own units are among them if it may count */

        others = doubts->units - doubt->sure * doubt->cost;

        if (doubt->charged && !doubts->mixed) {
            doubt->sure = doubts->sure > 0;
            doubts->sure -= doubt->sure;

        } else {
            doubt->sure =
                !replay_doubt_banned(bounds, doubt, REPLAY_MOST)
                && (doubt->cost == 0
                    || replay_run_admits(&candidate->runs[REPLAY_MOST],
                                         replay_entry_run(candidate, entry,
                                                          REPLAY_MOST),
                                         bounds->time, others + doubt->cost));
        }

        doubts->unsure += !doubt->sure;
    }

    for (i = 0; i < bounds->n; i++) {
        doubt = &bounds->doubts[i];
        candidate = doubt->candidate;
        doubts = replay_doubts_of(doubt);

        if (candidate->ban.time && doubts->unsure
            && (!doubt->charged || doubts->mixed))
        {
            doubt->sure = 0;
        }

        candidate->rejected_at_most += !doubt->sure;
    }
}


/* hands on each limit, with what all limits of its request say */

static void
replay_bounds_each(replay_bounds_t *bounds, replay_doubt_pt handler)
{
    int              possible, sure;
    size_t           i, j, next;
    replay_doubt_t  *doubt;

    for (i = 0; i < bounds->n; i = next) {
        possible = 1;
        sure = 1;

        for (next = i; next < bounds->n; next++) {
            doubt = &bounds->doubts[next];

            if (doubt->request != bounds->doubts[i].request) {
                break;
            }

            possible &= doubt->possible || doubt->dry_run;
            sure &= doubt->sure || doubt->dry_run;
        }

        for (j = i; j < next; j++) {
            doubt = &bounds->doubts[j];

            handler(doubt, replay_candidate_entry(doubt->candidate,
                                                  doubt->client),
                    possible && doubt->possible, sure && doubt->sure,
                    bounds->time);

            /* whether its units are among those of its second */

            if (handler == replay_doubt_sum) {
                doubt->sure = possible && doubt->possible && doubt->charged;
            }
        }
    }
}


static void
replay_doubt_sum(const replay_doubt_t *doubt, replay_entry_t *entry,
    int possible, int sure, int64_t time)
{
    int64_t                 full;
    replay_entry_doubts_t  *doubts;

    /* more than the limit is as much as one more: the sum does not overflow */

    full = doubt->candidate->rule.limit + 1;
    doubts = replay_entry_doubts(doubt->candidate, entry);

    if (possible && doubt->charged) {
        doubts->units = sw_min(doubts->units + sw_min(doubt->cost, full),
                               full);
    }
}


/*
 * A ban is sure if the client was surely rejected and surely not banned before,
 * which would end earlier.  It is possible, and lasts until the latest possible
 * end, whenever the client may have been rejected without a ban.
 */

static void
replay_doubt_ban(const replay_doubt_t *doubt, replay_entry_t *entry,
    int possible, int sure, int64_t time)
{
    int                  few_banned, many_banned;
    int64_t              late;
    sw_ban_t            *bans, ban;
    replay_candidate_t  *candidate;

    candidate = doubt->candidate;
    bans = replay_entry_bans(candidate, entry);

    if (bans == NULL) {
        return;
    }

    late = time + candidate->span;
    few_banned = replay_ban_lasts(&bans[REPLAY_FEWEST], late);
    many_banned = replay_ban_lasts(&bans[REPLAY_MOST], time);

    if (!doubt->possible && !few_banned && !many_banned) {
        (void) sw_ban_begin(&bans[REPLAY_FEWEST], &candidate->ban, time);
    }

    /* one that began in this second is the same */

    if (!doubt->sure && !few_banned
        && bans[REPLAY_MOST].until - bans[REPLAY_MOST].length != late)
    {
        ban = bans[REPLAY_MOST];
        (void) sw_ban_begin(&ban, &candidate->ban, late);

        bans[REPLAY_MOST].length = sw_max(bans[REPLAY_MOST].length,
                                          ban.length);
        bans[REPLAY_MOST].until = sw_max(bans[REPLAY_MOST].until, ban.until);
    }
}


/* a sure reset clears the most, but other units may have come after it */

static void
replay_doubt_reset(const replay_doubt_t *doubt, replay_entry_t *entry,
    int possible, int sure, int64_t time)
{
    replay_candidate_t  *candidate;

    candidate = doubt->candidate;

    if (doubt->resets && sure) {
        replay_run_reset(&candidate->runs[REPLAY_MOST],
                         replay_entry_run(candidate, entry, REPLAY_MOST),
                         time);
    }
}


static void
replay_doubt_count(const replay_doubt_t *doubt, replay_entry_t *entry,
    int possible, int sure, int64_t time)
{
    replay_candidate_t  *candidate;

    candidate = doubt->candidate;

    if (doubt->charged && doubt->cost && possible) {
        replay_run_count(&candidate->runs[REPLAY_MOST],
                         replay_entry_run(candidate, entry, REPLAY_MOST),
                         time, doubt->cost);
    }

    if (doubt->charged && doubt->cost && sure) {
        replay_run_count(&candidate->runs[REPLAY_FEWEST],
                         replay_entry_run(candidate, entry, REPLAY_FEWEST),
                         time, doubt->cost);
    }
}


/* a possible reset clears the fewest, and all bans but possible ones */

static void
replay_doubt_clear(const replay_doubt_t *doubt, replay_entry_t *entry,
    int possible, int sure, int64_t time)
{
    sw_ban_t            *bans;
    replay_candidate_t  *candidate;

    candidate = doubt->candidate;

    if (!doubt->resets || !possible) {
        return;
    }

    replay_run_reset(&candidate->runs[REPLAY_FEWEST],
                     replay_entry_run(candidate, entry, REPLAY_FEWEST), time);

    bans = replay_entry_bans(candidate, entry);

    if (bans) {
        memset(&bans[REPLAY_FEWEST], 0, sizeof(sw_ban_t));
    }
}
