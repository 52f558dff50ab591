
/*
 * A task of the program, and its steps.
 */


#ifndef _REPLAY_TASK_H_INCLUDED_
#define _REPLAY_TASK_H_INCLUDED_


#include "replay_fail_if.h"
#include "replay_report.h"


/* all of a run */

typedef struct {
    replay_options_t    options;
    replay_pool_t       pool;
    replay_format_t     format;
    replay_log_t        log;
    replay_limits_t     limits;
    replay_report_t     report;
    replay_input_t     *inputs;
    replay_fail_if_t    fail_if;

    replay_spool_t      spool;
    int                 spooled;
    int                 doubt;             /* requests differ */
    int                 automatic;         /* rates are to be found */
} replay_t;


/* the logs, and what is read of a line */
void replay_open(replay_t *replay);

/* limits of the command line, or those of a configuration */
void replay_set_limits(replay_t *replay);
void replay_set_conf(replay_t *replay);

/* a candidate for each algorithm */
void replay_add_candidates(replay_t *replay, replay_rate_t *rate);

/* ends the program if the rule cannot be counted */
void replay_check_rule(const sw_rule_t *rule, replay_text_t rate);

/* finds the rates that are to be found, and replays all requests for them */
void replay_find_rates(replay_t *replay);

/* tries limits around that of the first candidate */
void replay_plot_ladder(replay_t *replay);


#endif /* _REPLAY_TASK_H_INCLUDED_ */
