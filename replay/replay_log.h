
/*
 * Access logs, as requests for the limits.
 */


#ifndef _REPLAY_LOG_H_INCLUDED_
#define _REPLAY_LOG_H_INCLUDED_


#include "replay_conf.h"
#include "replay_input.h"
#include "replay_limits.h"
#include "replay_progress.h"
#include "replay_value.h"
#include "replay_where.h"


/* of a bad line, what is shown */
#define REPLAY_BAD_SHOWN  200


typedef struct {
    replay_format_t        *format;
    replay_value_t          time;
    replay_value_t          request_time;  /* of no parts: there is none */
    replay_value_t          status;
    replay_value_t          target;
    replay_where_t         *where;
    replay_client_prefix_t  prefix;
    int                     fine;          /* times have milliseconds */

    /* with a configuration; else all requests meet the first limit */

    const replay_conf_t    *conf;
    replay_value_t          host;
    replay_value_t          uri;
    uint32_t               *places;        /* in limits, and one, of those of
                                            * the configuration; 0: none */

    replay_limits_t        *limits;
    replay_queue_t          queue;
    replay_progress_t       progress;

    int64_t                 last_time;     /* and the text that tells it */
    size_t                  last_time_len;
    char                    last_time_text[40];

    uint64_t                lines;
    uint64_t                bad_lines;
    uint64_t                left_out;      /* by a filter */
    uint64_t                unlimited;     /* meet no limit */
    uint64_t                out_of_order;
    uint64_t                long_requests; /* longer than is sorted */
    uint64_t                empty_keys;
    uint64_t                bad_costs;
    uint64_t                answered_429;

    const char             *bad_file;      /* of the first bad line */
    uint64_t                bad_line;
    const char             *bad_why;
    replay_text_t           bad_text;
    replay_pool_t           pool;
} replay_log_t;


/*
 * Compiles what is read of each line; samples are the first ones.  NULL, or
 * what the format lacks.  A field for the time may be named.
 */
const char *replay_log_prepare(replay_log_t *log,
    const replay_text_t *samples, size_t n, const char *time);

/* all lines of all inputs, by time, into the queue; closes the inputs */
void replay_log_read(replay_log_t *log, replay_input_t *inputs, size_t n);


#endif /* _REPLAY_LOG_H_INCLUDED_ */
