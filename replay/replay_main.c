
/*
 * slidewin-replay: what a limit would have done to the traffic of access logs,
 * by the algorithms of slidewin itself.
 */


#include <errno.h>
#include <inttypes.h>

#include "replay_task.h"


static void replay_handle(void *data, const replay_event_t *event,
    const replay_claim_t *claims, replay_text_t path);
static void replay_handle_ahead(void *data, const replay_event_t *event,
    const replay_claim_t *claims, replay_text_t path);
static void replay_notes(replay_t *replay);
static int replay_answer(replay_t *replay);


int
main(int argc, char **argv)
{
    replay_t  *replay;

    replay = replay_calloc(1, sizeof(replay_t));

    replay->report.pool = &replay->pool;

    replay_options_read(&replay->options, &replay->pool, argc, argv);

    if (replay->options.fail_if) {
        replay_fail_if_read(&replay->fail_if, replay->options.fail_if);
    }

    replay_open(replay);

    if (replay->options.conf) {
        replay_set_conf(replay);

    } else {
        replay_set_limits(replay);
    }

    replay_queue_init(&replay->log.queue, replay_handle, replay_handle_ahead,
                      replay);
    replay_log_read(&replay->log, replay->inputs, replay->options.nfiles);
    replay_bounds_end(&replay->limits.bounds);

    if (replay->log.lines == 0) {
        replay_fatal("there are no lines");
    }

    if (replay->log.bad_lines == replay->log.lines) {
        replay_fatal("all %" PRIu64 " lines are bad; the first is %s:%" PRIu64
                     ": %s: %.*s", replay->log.lines, replay->log.bad_file,
                     replay->log.bad_line, replay->log.bad_why,
                     (int) replay->log.bad_text.len,
                     replay->log.bad_text.data);
    }

    if (replay->log.out_of_order > replay->log.lines / 2) {
        replay_fatal("%" PRIu64 " of %" PRIu64 " lines are more than %d "
                     "seconds older than one before them; is the time of a "
                     "line wrong?", replay->log.out_of_order,
                     replay->log.lines, REPLAY_LATE_SECONDS);
    }

    if (replay->limits.requests == 0) {
        replay_fatal("none of %" PRIu64 " lines is replayed: %" PRIu64
                     " are bad, %" PRIu64 " left out by a filter, %" PRIu64
                     " have an empty key, %" PRIu64 " meet no limit",
                     replay->log.lines, replay->log.bad_lines,
                     replay->log.left_out, replay->log.empty_keys,
                     replay->log.unlimited);
    }

    if (replay->automatic) {
        replay_find_rates(replay);
    }

    if (replay->options.html && replay->report.ladder.n == 0) {
        replay_plot_ladder(replay);
    }

    replay_notes(replay);

    return replay_answer(replay);
}


/* the handler of the queue */

static void
replay_handle(void *data, const replay_event_t *event,
    const replay_claim_t *claims, replay_text_t path)
{
    replay_t  *replay;

    replay = data;

    if (replay->spooled) {
        replay_spool_write(&replay->spool, event, claims, path);
    }

    replay_limits_decide(&replay->limits, event, claims, path);
}


static void
replay_handle_ahead(void *data, const replay_event_t *event,
    const replay_claim_t *claims, replay_text_t path)
{
    replay_t  *replay;

    replay = data;

    replay_limits_prefetch(&replay->limits, claims, event->nclaims);
}


static void
replay_notes(replay_t *replay)
{
    size_t         i;
    replay_log_t  *log;

    log = &replay->log;

    for (i = 0; i < replay->options.nfiles; i++) {

        if (replay->inputs[i].error[0]) {
            replay_note(&replay->report,
                        "%s ends early: %s; what came before is "
                        "replayed", replay->inputs[i].name,
                        replay->inputs[i].error);
        }
    }

    if (log->out_of_order) {
        replay_note(&replay->report,
                    "%" PRIu64 " lines came more than %d seconds out "
                    "of order, and are left out; name the logs of several "
                    "servers one by one", log->out_of_order,
                    REPLAY_LATE_SECONDS);
    }

    if (log->long_requests) {
        replay_note(&replay->report,
                    "%" PRIu64 " requests took more than %d seconds: "
                    "they are replayed as if they had come a minute before "
                    "the newest", log->long_requests, REPLAY_LATE_SECONDS);
    }

    if (log->bad_costs) {
        replay_note(&replay->report,
                    "%" PRIu64 " costs are no numbers; these requests "
                    "are left out", log->bad_costs);
    }

    if (!log->fine) {
        replay_note(&replay->report,
                    "the log tells whole seconds: the order inside of "
                    "one is not known, hence the bounds; with $msec in its "
                    "log_format the result would be exact");

    } else if (log->request_time.n == 0) {
        replay_note(&replay->report,
                    "times are those of the end of each request; with "
                    "$request_time in the log_format they would be those of "
                    "its arrival");
    }

    if (replay->options.prefix_set && replay->log.conf == NULL) {
        replay_note(&replay->report, "addresses are grouped as by "
                    "slidewin_client_prefix %u %u;",
                    replay->options.prefix.prefix_v4,
                    replay->options.prefix.prefix_v6);
    }
}


static int
replay_answer(replay_t *replay)
{
    size_t             i, j;
    replay_group_t    *group;
    replay_report_t   *report;

    report = &replay->report;

    report->options = &replay->options;
    report->log = &replay->log;
    report->limits = &replay->limits;

    if (replay->limits.decisions
        && (ferror(replay->limits.decisions)
            | fclose(replay->limits.decisions)))
    {
        replay_fatal("%s: %s", replay->options.decisions, strerror(errno));
    }

    if (replay->options.html) {
        replay_report_html(report, replay->options.html);
    }

    if (replay->options.json) {
        replay_report_json(report, stdout, 0);

    } else {
        replay_report_text(report, stdout);
    }

    if (ferror(stdout) | fflush(stdout)) {
        replay_fatal("standard output: %s", strerror(errno));
    }

    for (i = 0; replay->options.fail_if && i < replay->limits.ngroups; i++) {
        group = &replay->limits.groups[i];

        for (j = 0; j < group->n; j++) {

            if (replay_fail_if_true(&replay->fail_if, &replay->log, group,
                                    &group->candidates[j]))
            {
                fprintf(stderr, "slidewin-replay: %s is true of %.*s\n",
                        replay->options.fail_if,
                        (int) group->candidates[j].label.len,
                        group->candidates[j].label.data);
                return REPLAY_EXIT_FAIL_IF;
            }
        }
    }

    return 0;
}
