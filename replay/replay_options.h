
/*
 * What slidewin-replay is asked to do.
 */


#ifndef _REPLAY_OPTIONS_H_INCLUDED_
#define _REPLAY_OPTIONS_H_INCLUDED_


#include "replay.h"
#include "sw_ban.h"
#include "replay_pool.h"
#include "replay_value.h"
#include "sw_rule.h"
#include "sw_status.h"


#define REPLAY_RATES_MAX       32
#define REPLAY_ALGORITHMS      4


typedef struct {
    replay_text_t           text;          /* "5r/m" */
    int64_t                 limit;         /* 0: to be found */
    int64_t                 window;
} replay_rate_t;


typedef struct {
    const char            **files;
    size_t                  nfiles;

    const char             *key;
    replay_rate_t           rates[REPLAY_RATES_MAX];
    size_t                  nrates;
    sw_algorithm_e          algorithms[REPLAY_ALGORITHMS];
    size_t                  nalgorithms;
    int64_t                 slices;

    const char             *count_text;    /* NULL: none, as those below */
    sw_statuses_t           count;
    const char             *cost;
    const char             *ban_text;
    sw_ban_rule_t           ban;

    const char             *where;
    const char             *format;
    const char             *conf;
    const char             *zone;
    const char             *time;
    replay_client_prefix_t  prefix;
    int                     prefix_set;

    const char             *fail_if;
    const char             *html;
    const char             *decisions;
    int                     json;
    unsigned                top;
} replay_options_t;


extern const char *const  replay_algorithms[REPLAY_ALGORITHMS];


/* ends the program if something is wrong, or only help is asked for */
void replay_options_read(replay_options_t *options, replay_pool_t *pool,
    int argc, char **argv);


#endif /* _REPLAY_OPTIONS_H_INCLUDED_ */
