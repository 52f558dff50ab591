
/*
 * A limit that is tried: what it would have done to each client.
 */


#ifndef _REPLAY_CANDIDATE_H_INCLUDED_
#define _REPLAY_CANDIDATE_H_INCLUDED_


#include <stdio.h>

#include "replay.h"
#include "sw_ban.h"
#include "replay_chunks.h"
#include "replay_live.h"
#include "replay_pool.h"
#include "replay_run.h"
#include "replay_series.h"
#include "sw_status.h"


/* a client that was rejected */

typedef struct {
    uint32_t               client;
    int64_t                time;           /* when it was rejected first */
    const char            *path;           /* what it asked for then */
    uint64_t               rejected;
} replay_rejected_t;


/* which of the runs, by replay_run_e */
#define REPLAY_RUNS  3


/*
 * What a candidate keeps of a client; doubts, bans and the memory of the runs
 * follow.
 */

typedef struct {
    int64_t                last;           /* its last request, and one ms */
    uint32_t               rejection;      /* and one; 0: none */
} replay_entry_t;


/* of the requests of a second */

typedef struct {
    int64_t                units;          /* that were possibly admitted */
    uint64_t               unsure;         /* requests */
    int64_t                cost;           /* of each that is charged */
    uint32_t               n;              /* requests that are charged */
    uint32_t               possible;       /* of these, at most admitted */
    uint32_t               sure;           /* at least */
    int                    mixed;          /* costs differ */
    int                    resets;         /* a request may clear the client */
} replay_entry_doubts_t;


typedef struct {
    sw_rule_t              rule;
    sw_ban_rule_t          ban;
    const char            *ban_text;       /* as it was said; NULL: none */
    replay_text_t          rate;           /* as it was said */
    replay_text_t          name;           /* of a zone, or empty */
    replay_text_t          label;          /* what --decisions calls it */

    replay_run_t           runs[REPLAY_RUNS];
    size_t                 run_offsets[REPLAY_RUNS];
    size_t                 ban_offset;     /* 0: none */
    size_t                 doubts_offset;  /* 0: none */
    int64_t                span;           /* ms that the log cannot tell */
    int                    steady;         /* what is admitted in a second
                                            * counts until its end */
    replay_chunks_t        clients;

    replay_live_t          live;
    replay_series_t        requested;
    replay_series_t        series;
    replay_pool_t          paths;

    replay_rejected_t     *rejections;     /* in the order of the first */
    uint32_t               nrejections;
    uint32_t               room;

    uint64_t               requests;
    uint64_t               rejected;
    uint64_t               banned;         /* of these, during a ban */
    uint64_t               rejected_at_least;
    uint64_t               rejected_at_most;
} replay_candidate_t;


typedef struct {
    replay_entry_t        *entry;
    int                    banned;
    int                    admits;
    int                    bounds[REPLAY_RUNS];  /* if there are no doubts */
} replay_verdict_t;


/* what is known of a request when all its limits have looked at it */

typedef struct {
    int64_t                time;
    int64_t                cost;
    replay_text_t          path;
    const replay_timeline_t  *timeline;
    int                    charged;
    int                    resets;
    int                    dry_run;
    int                    admits;         /* it does, and all limits do */
} replay_outcome_t;


/*
 * span: ms that the log cannot tell.  In doubt, its bounds are left to
 * replay_bounds.h.
 */
void replay_candidate_init(replay_candidate_t *candidate,
    const sw_rule_t *rule, const sw_ban_rule_t *ban, int64_t span,
    int doubt);
void replay_candidate_free(replay_candidate_t *candidate);

/* counts nothing */
void replay_candidate_check(replay_candidate_t *candidate, uint32_t client,
    int64_t time, int64_t cost, replay_verdict_t *verdict);

void replay_candidate_count(replay_candidate_t *candidate, uint32_t client,
    const replay_verdict_t *verdict, const replay_outcome_t *outcome);


static inline replay_entry_t *
replay_candidate_entry(replay_candidate_t *candidate, uint32_t client)
{
    return replay_chunks_get(&candidate->clients, client);
}


static inline void *
replay_entry_run(const replay_candidate_t *candidate, replay_entry_t *entry,
    replay_run_e which)
{
    return (char *) entry + candidate->run_offsets[which];
}


/* by replay_run_e; NULL: there are none */

static inline sw_ban_t *
replay_entry_bans(const replay_candidate_t *candidate, replay_entry_t *entry)
{
    return candidate->ban_offset
           ? (sw_ban_t *) ((char *) entry + candidate->ban_offset) : NULL;
}


static inline replay_entry_doubts_t *
replay_entry_doubts(const replay_candidate_t *candidate,
    replay_entry_t *entry)
{
    return (replay_entry_doubts_t *) ((char *) entry
                                      + candidate->doubts_offset);
}


#endif /* _REPLAY_CANDIDATE_H_INCLUDED_ */
