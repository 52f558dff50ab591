
/*
 * What came out, for people and for programs.
 */


#ifndef _REPLAY_REPORT_H_INCLUDED_
#define _REPLAY_REPORT_H_INCLUDED_


#include "replay_ladder.h"
#include "replay_log.h"
#include "replay_options.h"


#define REPLAY_NOTES_MAX  64


/* a rate that was to be found */

typedef struct {
    const char              *rate;
    uint64_t                 clients_rejected;
    const char              *reasons[4];
    unsigned                 nreasons;
} replay_recommendation_t;


typedef struct {
    const replay_options_t  *options;
    const replay_log_t      *log;
    replay_limits_t         *limits;
    replay_ladder_t          ladder;       /* may have no steps */
    replay_recommendation_t  recommendation;
    const char              *notes[REPLAY_NOTES_MAX];
    size_t                   nnotes;
    replay_pool_t           *pool;
} replay_report_t;


/* adds a sentence at its end */
__attribute__((format(printf, 2, 3)))
void replay_note(replay_report_t *report, const char *fmt, ...);

/* "5r/m", "100r/10s" */
const char *replay_rate_print(replay_pool_t *pool, int64_t limit,
    int64_t window);

/* lines for nginx.conf */
const char *replay_zone_print(const replay_report_t *report,
    const replay_group_t *group, const replay_candidate_t *candidate);
const char *replay_use_print(const replay_report_t *report,
    const replay_candidate_t *candidate);

/* shared memory for the candidate's clients, bytes */
int64_t replay_candidate_size(const replay_group_t *group,
    const replay_candidate_t *candidate);

/* the worst clients of a candidate first; to be freed */
replay_rejected_t *replay_worst(const replay_candidate_t *candidate);

void replay_report_text(const replay_report_t *report, FILE *file);

/* with what only plots need, or without */
void replay_report_json(const replay_report_t *report, FILE *file,
    int plots);

void replay_report_html(const replay_report_t *report, const char *path);


#endif /* _REPLAY_REPORT_H_INCLUDED_ */
