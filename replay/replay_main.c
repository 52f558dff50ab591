
/*
 * slidewin-replay: what a limit would have done to the traffic of access logs,
 * by the algorithms of slidewin itself.
 */


#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "replay_fail_if.h"
#include "replay_report.h"
#include "sw_math.h"
#include "sw_parse.h"


/* lines that are looked at to see what a log has */
#define REPLAY_SAMPLES  64


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


static void replay_open(replay_t *replay);
static void replay_check_output(replay_t *replay, const char *path);
static const char *replay_choose_format(replay_t *replay,
    const replay_text_t *samples, size_t n);
static const char *replay_guess_format(replay_text_t line);
static const char *replay_conf_choose_format(replay_t *replay);
static void replay_compile(replay_t *replay, const char *option,
    replay_value_t *value, replay_text_t text);
static void replay_set_limits(replay_t *replay);
static void replay_set_conf(replay_t *replay);
static void replay_check_zones(replay_t *replay);
static int replay_zone_wanted(const replay_options_t *options,
    replay_text_t name);
static int replay_set_key(replay_t *replay, const replay_conf_zone_t *zone,
    replay_group_t *group);
static void replay_set_zone(replay_t *replay, const replay_conf_zone_t *zone,
    replay_group_t *group);
static int replay_set_use(replay_t *replay, const replay_conf_limit_t *use,
    replay_limit_t *limit);
static void replay_add_candidates(replay_t *replay, replay_rate_t *rate);
static void replay_check_rule(const sw_rule_t *rule, replay_text_t rate);
static void replay_handle(void *data, const replay_event_t *event,
    const replay_claim_t *claims, replay_text_t path);
static void replay_handle_ahead(void *data, const replay_event_t *event,
    const replay_claim_t *claims, replay_text_t path);
static void replay_find_rates(replay_t *replay);
static void replay_recommend(replay_t *replay, replay_rate_t *rate);
static void replay_reasons(replay_t *replay, const replay_step_t *step,
    int64_t window);
static void replay_plot_ladder(replay_t *replay);
static void replay_notes(replay_t *replay);
__attribute__((format(printf, 2, 3)))
static void replay_note(replay_t *replay, const char *fmt, ...);
static int replay_answer(replay_t *replay);


int
main(int argc, char **argv)
{
    replay_t  *replay;

    replay = replay_calloc(1, sizeof(replay_t));

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


/* inputs, and what is read of a line */

static void
replay_open(replay_t *replay)
{
    size_t             i, n;
    const char        *error, *format;
    replay_log_t      *log;
    struct rlimit      files;
    replay_text_t      samples[REPLAY_SAMPLES];
    replay_options_t  *options;

    log = &replay->log;
    options = &replay->options;

    if (options->conf) {
        log->conf = replay_conf_read(&replay->pool, options->conf, &error);

        if (log->conf == NULL) {
            replay_fatal("%s", error);
        }
    }

    /* all logs are open at once, to be merged */

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void) setrlimit(RLIMIT_NOFILE, &files);
    }

    replay->inputs = replay_calloc(options->nfiles, sizeof(replay_input_t));
    n = 0;

    for (i = 0; i < options->nfiles; i++) {
        replay_input_open(&replay->inputs[i], options->files[i]);

        options->files[i] = replay->inputs[i].name;

        if (n == 0) {
            n = replay_input_peek(&replay->inputs[i], samples,
                                  REPLAY_SAMPLES);
        }
    }

    /* they move when more is read */

    for (i = 0; i < n; i++) {
        samples[i] = replay_pool_text(&replay->pool, samples[i]);
    }

    format = replay_choose_format(replay, samples, n);

    error = replay_format_compile(&replay->format, &replay->pool, format);

    if (error) {
        replay_fatal("the format of the log: %s", error);
    }

    for (i = 0; i < n && replay->format.sample.len == 0; i++) {

        if (samples[i].len && samples[i].data[0] == '{') {
            replay->format.sample = samples[i];
        }
    }

    log->format = &replay->format;
    log->limits = &replay->limits;
    log->prefix = options->prefix;

    error = replay_log_prepare(log, samples, n, options->time);

    if (error) {
        replay_fatal("the format of the log: %s", error);
    }

    if (options->where) {
        log->where = replay_where_compile(&replay->format, options->where,
                                          options->key, &error);

        if (error) {
            replay_fatal("--where: %s", error);
        }
    }

    replay_check_output(replay, options->html);
    replay_check_output(replay, options->decisions);

    if (options->decisions) {
        replay->limits.decisions = fopen(options->decisions, "w");

        if (replay->limits.decisions == NULL) {
            replay_fatal("%s: %s", options->decisions, strerror(errno));
        }

        replay->limits.files = options->files;
    }
}


/* a log that is named there by mistake would be gone */

static void
replay_check_output(replay_t *replay, const char *path)
{
    size_t       i;
    struct stat  output, log;

    if (path == NULL || stat(path, &output) == -1) {
        return;
    }

    for (i = 0; i < replay->options.nfiles; i++) {

        if (stat(replay->options.files[i], &log) == 0
            && log.st_dev == output.st_dev && log.st_ino == output.st_ino)
        {
            replay_fatal("%s is a log that is read", path);
        }
    }
}


static const char *
replay_choose_format(replay_t *replay, const replay_text_t *samples,
    size_t n)
{
    size_t                       i;
    const char                  *format;
    replay_text_t                name;
    const replay_conf_format_t  *found;

    format = replay->options.format;

    if (format == NULL && replay->options.conf) {
        return replay_conf_choose_format(replay);
    }

    if (format) {
        name = replay_text_of(format);

        if (replay->log.conf) {
            found = replay_conf_format(replay->log.conf, name);

            if (found) {
                return replay_pool_text(&replay->pool, found->text).data;
            }
        }

        if (replay_text_is(name, "combined")) {
            return REPLAY_COMBINED;
        }

        if (replay_text_is(name, "common")) {
            return REPLAY_COMMON;
        }

        if (!replay_text_is(name, "json") && strchr(format, '$') == NULL) {
            replay_fatal("--format: \"%s\": expected combined, common, json, "
                         "%sor the text of a log_format", format,
                         replay->log.conf ? "a log_format of --conf, " : "");
        }

        return format;
    }

    for (i = 0; i < n && format == NULL; i++) {
        format = replay_guess_format(samples[i]);
    }

    return format ? format : REPLAY_COMBINED;
}


/* by its first byte, or by its quotes; NULL: by neither */

static const char *
replay_guess_format(replay_text_t line)
{
    size_t  i, quotes;

    if (line.len && line.data[0] == '{') {
        return "json";
    }

    quotes = 0;

    for (i = 0; i < line.len; i++) {
        quotes += (line.data[i] == '"');
    }

    return quotes == 0 ? NULL : quotes == 2 ? REPLAY_COMMON : REPLAY_COMBINED;
}


/* all logs must have been written by one log_format */

static const char *
replay_conf_choose_format(replay_t *replay)
{
    size_t                       i;
    replay_options_t            *options;
    const replay_conf_format_t  *format, *other;

    options = &replay->options;
    format = NULL;

    for (i = 0; i < options->nfiles; i++) {
        other = replay_conf_log_format_of(replay->log.conf,
                                          options->files[i]);

        if (other == NULL || (format && other != format)) {
            replay_fatal("%s: %s does not tell which log_format it has; "
                         "name it by --format", options->files[i],
                         options->conf);
        }

        format = other;
    }

    /* at least one log is named */

    return format ? replay_pool_text(&replay->pool, format->text).data : NULL;
}


static void
replay_compile(replay_t *replay, const char *option, replay_value_t *value,
    replay_text_t text)
{
    const char  *error;

    error = replay_value_compile(value, &replay->format, text);

    if (error) {
        replay_fatal("%s %.*s: %s", option, (int) text.len, text.data, error);
    }
}


/* of the command line: candidates that are compared with each other */

static void
replay_set_limits(replay_t *replay)
{
    size_t             i;
    replay_rate_t     *rate;
    replay_limit_t    *limit;
    replay_group_t    *group;
    replay_limits_t   *limits;
    replay_options_t  *options;

    limits = &replay->limits;
    options = &replay->options;

    limits->limits = replay_calloc(1, sizeof(replay_limit_t));
    limits->nlimits = 1;
    limits->groups = replay_calloc(1, sizeof(replay_group_t));
    limits->ngroups = 1;

    limit = limits->limits;
    group = limits->groups;

    limit->group = group;
    limit->units = 1;

    replay_clients_init(&group->clients);
    replay_compile(replay, "--key", &group->key,
                   replay_text_of(options->key));

    if (strchr(options->key, '$') == NULL && options->key[0] != '.') {
        replay_fatal("--key: \"%s\" has no $variable%s: all clients would be "
                     "one", options->key,
                     replay->format.json ? " and is no .member" : "");
    }

    if (options->count_text) {

        if (replay->log.status.n == 0) {
            replay_fatal("--count: the log has no $status");
        }

        limit->count = &options->count;
    }

    if (options->cost
        && sw_parse_cost(options->cost, strlen(options->cost), &limit->units)
           != SW_OK)
    {
        if (strchr(options->cost, '$') == NULL && options->cost[0] != '.') {
            replay_fatal("--cost: \"%s\": expected a number, a $variable or "
                         "a .member", options->cost);
        }

        replay_compile(replay, "--cost", &limit->cost,
                       replay_text_of(options->cost));
    }

    replay->doubt = options->cost || options->count_text;

    group->candidates = replay_calloc(options->nrates * options->nalgorithms,
                                      sizeof(replay_candidate_t));

    if (replay->doubt || options->ban_text) {
        group->plain = replay_calloc(options->nrates * options->nalgorithms,
                                     sizeof(replay_candidate_t));
    }

    for (i = 0; i < options->nrates; i++) {
        rate = &options->rates[i];

        replay_group_window(group, rate->window);

        if (rate->limit) {
            replay_add_candidates(replay, rate);

        } else {
            replay->automatic = 1;
        }
    }

    if (replay->automatic || options->html) {
        replay->spooled = 1;
        replay_spool_open(&replay->spool, replay->automatic);
    }
}


static void
replay_add_candidates(replay_t *replay, replay_rate_t *rate)
{
    size_t               i;
    int64_t              span;
    sw_rule_t            rule;
    replay_text_t        text;
    replay_group_t      *group;
    replay_options_t    *options;
    replay_candidate_t  *candidate;

    options = &replay->options;
    group = replay->limits.groups;
    span = replay->log.fine ? 0 : 999;

    for (i = 0; i < options->nalgorithms; i++) {
        rule.algorithm = options->algorithms[i];
        rule.limit = rate->limit;
        rule.window = rate->window;
        rule.slices = (rule.algorithm == SW_STRICT)
                      ? sw_min(options->slices, rule.window) : 0;

        replay_check_rule(&rule, rate->text);

        candidate = &group->candidates[group->n];

        replay_candidate_init(candidate, &rule, &options->ban, span,
                              replay->doubt);

        candidate->rate = rate->text;

        text.data = replay_pool_print(&replay->pool, "%.*s/%s",
                                      (int) rate->text.len, rate->text.data,
                                      replay_algorithms[rule.algorithm]);
        text.len = strlen(text.data);
        candidate->label = text;

        if (group->plain) {
            replay_candidate_init(&group->plain[group->n], &rule, NULL, 0,
                                  0);
        }

        group->n++;
    }
}


static void
replay_check_rule(const sw_rule_t *rule, replay_text_t rate)
{
    const char  *error;

    error = sw_rule_error(rule);

    if (error) {
        replay_fatal("%.*s as %s: %s", (int) rate.len, rate.data,
                     replay_algorithms[rule->algorithm], error);
    }
}


/* of nginx.conf: a group for each zone, and all limits of a location */

static void
replay_set_conf(replay_t *replay)
{
    size_t                 i, n;
    replay_log_t          *log;
    replay_limit_t        *limit;
    replay_limits_t       *limits;
    replay_group_t        *group, **groups;
    const replay_conf_t   *conf;

    log = &replay->log;
    conf = log->conf;
    limits = &replay->limits;

    limits->joint = 1;
    limits->groups = replay_calloc(conf->nzones + 1, sizeof(replay_group_t));
    limits->limits = replay_calloc(conf->nlimits + 1, sizeof(replay_limit_t));
    log->places = replay_calloc(conf->nlimits + 1, sizeof(uint32_t));

    groups = replay_calloc(conf->nzones + 1, sizeof(replay_group_t *));
    n = 0;

    for (i = 0; i < conf->nzones; i++) {

        if (replay_zone_wanted(&replay->options, conf->zones[i].name)
            && replay_set_key(replay, &conf->zones[i], &limits->groups[n]))
        {
            groups[i] = &limits->groups[n++];
        }
    }

    limits->ngroups = n;

    replay_check_zones(replay);

    for (i = 0; i < conf->nlimits; i++) {
        group = groups[conf->limits[i]->zone];
        limit = &limits->limits[limits->nlimits];

        if (group == NULL) {
            continue;
        }

        limit->group = group;

        if (replay_set_use(replay, conf->limits[i], limit)) {
            log->places[i] = (uint32_t) ++limits->nlimits;
        }
    }

    for (i = 0; i < conf->nzones; i++) {

        if (groups[i]) {
            replay_set_zone(replay, &conf->zones[i], groups[i]);
        }
    }

    free(groups);

    if (limits->nlimits == 0) {
        replay_fatal("%s: no limit of it can be replayed%s%s",
                     replay->options.conf, replay->report.nnotes ? ": " : "",
                     replay->report.nnotes ? replay->report.notes[0] : "");
    }

    for (i = 0; i < conf->nnotes; i++) {
        replay_note(replay, "%s", conf->notes[i]);
    }

    for (i = 0; i < conf->nzones; i++) {

        if (conf->zones[i].ban) {
            replay_note(replay, "zone \"%.*s\": ban= is decided here alone: "
                        "slidewin_zone of this version has no such "
                        "parameter", (int) conf->zones[i].name.len,
                        conf->zones[i].name.data);
        }
    }
}


static void
replay_check_zones(replay_t *replay)
{
    size_t         len;
    const char    *p;
    replay_text_t  name;

    for (p = replay->options.zone; p; p = p[len] ? p + len + 1 : NULL) {
        len = strcspn(p, ",");
        name.data = p;
        name.len = len;

        if (replay_conf_zone(replay->log.conf, name) == NULL) {
            replay_fatal("--zone: there is no zone \"%.*s\" in %s", (int) len,
                         p, replay->options.conf);
        }
    }
}


/* --zone a,b */

static int
replay_zone_wanted(const replay_options_t *options, replay_text_t name)
{
    size_t       len;
    const char  *p;

    if (options->zone == NULL) {
        return 1;
    }

    for (p = options->zone; ; p += len + 1) {
        len = strcspn(p, ",");

        if (len == name.len && memcmp(p, name.data, len) == 0) {
            return 1;
        }

        if (p[len] == '\0') {
            return 0;
        }
    }
}


/* whether the log has what the key is made of */

static int
replay_set_key(replay_t *replay, const replay_conf_zone_t *zone,
    replay_group_t *group)
{
    const char  *error;

    error = zone->rate_varies ? "its rate is a variable; try rates by --rate"
            : replay_value_compile(&group->key, &replay->format, zone->key);

    if (error) {
        replay_note(replay, "zone \"%.*s\" is left out: %s",
                    (int) zone->name.len, zone->name.data, error);
        return 0;
    }

    replay_clients_init(&group->clients);

    return 1;
}


static void
replay_set_zone(replay_t *replay, const replay_conf_zone_t *zone,
    replay_group_t *group)
{
    int                  doubt, joint;
    size_t               i;
    replay_limit_t      *limit;
    replay_ban_rule_t    ban;
    replay_candidate_t  *candidate;

    ban.time = zone->ban;
    ban.max = zone->ban_max;

    doubt = 0;
    joint = 0;

    for (i = 0; i < replay->limits.nlimits; i++) {
        limit = &replay->limits.limits[i];

        if (limit->group == group) {
            joint |= limit->joint;
            doubt |= limit->cost.n || limit->units != 1 || limit->count
                     || limit->reset;
        }
    }

    candidate = replay_calloc(1, sizeof(replay_candidate_t));

    replay_candidate_init(candidate, &zone->rule, &ban,
                          replay->log.fine ? 0 : 999, doubt || joint);

    /* what another limit rejects counts for none */

    if (joint) {
        candidate->steady = 0;
    }

    candidate->rate = zone->rate;
    candidate->name = zone->name;
    candidate->label = zone->name;

    group->candidates = candidate;
    group->n = 1;

    replay_group_window(group, zone->rule.window);
}


/* whether the log has what decides if the limit applies, and how */

static int
replay_set_use(replay_t *replay, const replay_conf_limit_t *use,
    replay_limit_t *limit)
{
    const char  *error;

    limit->units = use->units;
    limit->count = use->count;
    limit->reset = use->reset;
    limit->dry_run = use->dry_run;
    limit->joint = use->joint;

    if ((use->count || use->reset) && replay->log.status.n == 0) {
        replay_note(replay, "%s:%u: the limit is left out: the log has no "
                    "$status for its count= or reset=", use->ref.file,
                    use->ref.line);
        return 0;
    }

    if (use->units == -1) {
        error = replay_value_compile(&limit->cost, &replay->format,
                                     use->cost);

        if (error) {
            replay_note(replay, "%s:%u: the limit is left out: cost=%.*s: %s",
                        use->ref.file, use->ref.line, (int) use->cost.len,
                        use->cost.data, error);
            return 0;
        }
    }

    if (use->condition.len) {
        error = replay_value_compile(&limit->condition, &replay->format,
                                     use->condition);

        if (error) {
            limit->condition.n = 0;
            replay_note(replay, "%s:%u: if=%.*s is taken as true: %s",
                        use->ref.file, use->ref.line,
                        (int) use->condition.len, use->condition.data, error);
        }
    }

    if (use->charge.len) {
        replay_note(replay, "%s:%u: charge= is not replayed, the cost is what "
                    "cost= says", use->ref.file, use->ref.line);
    }

    if (use->delay) {
        replay_note(replay, "%s:%u: what delay= would let wait is told as "
                    "rejected", use->ref.file, use->ref.line);
    }

    return 1;
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


/* rates that were to be found are, and all requests are replayed for them */

static void
replay_find_rates(replay_t *replay)
{
    size_t             i, known;
    replay_group_t     all, *group;
    replay_limit_t     limit;
    replay_limits_t    again;
    replay_options_t  *options;

    options = &replay->options;
    group = replay->limits.groups;
    known = group->n;

    for (i = 0; i < options->nrates; i++) {

        if (options->rates[i].limit == 0) {
            replay_recommend(replay, &options->rates[i]);
            replay_add_candidates(replay, &options->rates[i]);
        }
    }

    all = *group;
    all.candidates += known;
    all.n -= known;
    all.plain = group->plain ? group->plain + known : NULL;
    all.npeaks = 0;

    limit = replay->limits.limits[0];
    limit.group = &all;

    again = replay->limits;
    again.limits = &limit;

    memset(&again.bounds, 0, sizeof(replay_bounds_t));

    replay_spool_read(&replay->spool, replay_limits_decide, &again);
    replay_bounds_end(&again.bounds);
}


static void
replay_recommend(replay_t *replay, replay_rate_t *rate)
{
    int64_t                   most, wanted;
    sw_rule_t                 rule;
    replay_group_t           *group;
    replay_options_t         *options;
    const replay_step_t      *step;
    int64_t                   percentiles[REPLAY_PERCENTILES];
    replay_peak_count_t      *counts;
    size_t                    n;

    options = &replay->options;
    group = replay->limits.groups;

    n = replay_peaks_count(replay_group_peaks(group, rate->window),
                           group->clients.n, &counts);
    replay_peaks_percentiles(counts, n, percentiles);
    free(counts);

    rule.algorithm = options->algorithms[0];
    rule.limit = 1;
    rule.window = rate->window;
    rule.slices = (rule.algorithm == SW_STRICT)
                  ? sw_min(options->slices, rule.window) : 0;

    replay_check_rule(&rule, rate->text);

    wanted = replay_round_limit(sw_max(percentiles[3], 1));

    replay_ladder_run(&replay->report.ladder, &rule, &options->ban,
                      &replay->limits, &replay->spool, wanted);

    step = replay_ladder_choose(&replay->report.ladder, &options->ban,
                                &replay->limits, &replay->spool);

    if (step == NULL) {
        most = percentiles[REPLAY_PERCENTILES - 1];
        replay_fatal("no limit in %s rejects less than a client of 1,000: the "
                     "busiest asked for %" PRId64 " units; name a rate",
                     replay_algorithms[rule.algorithm], most);
    }

    rate->limit = step->limit;
    rate->text = replay_text_of(replay_rate_print(&replay->pool, rate->limit,
                                                  rate->window));

    /* of several, the first is explained */

    if (replay->report.recommendation.rate == NULL) {
        replay->report.recommendation.rate = rate->text.data;
        replay->report.recommendation.clients_rejected = step->clients;
        replay_reasons(replay, step, rate->window);
    }
}


static void
replay_reasons(replay_t *replay, const replay_step_t *step, int64_t window)
{
    size_t                    n;
    int64_t                   percentiles[REPLAY_PERCENTILES];
    replay_group_t           *group;
    replay_pool_t            *pool;
    const replay_ladder_t    *ladder;
    replay_peak_count_t      *counts;
    replay_recommendation_t  *recommendation;

    group = replay->limits.groups;
    pool = &replay->pool;
    ladder = &replay->report.ladder;
    recommendation = &replay->report.recommendation;

    n = replay_peaks_count(replay_group_peaks(group, window),
                           group->clients.n, &counts);
    replay_peaks_percentiles(counts, n, percentiles);
    free(counts);

    recommendation->reasons[recommendation->nreasons++] =
        replay_pool_print(pool, "99.9%% of %" PRIu32 " clients never had more "
                          "than %" PRId64 " in a window, the busiest had %"
                          PRId64, group->clients.n, percentiles[3],
                          percentiles[4]);

    recommendation->reasons[recommendation->nreasons++] =
        replay_pool_print(pool, "it would have rejected %" PRIu64 " of %"
                          PRIu64 " requests, of %" PRIu64 " client%s",
                          step->rejected, replay->limits.requests,
                          step->clients, step->clients == 1 ? "" : "s");

    if (step != ladder->steps) {
        recommendation->reasons[recommendation->nreasons++] =
            replay_pool_print(pool, "%s would have rejected %" PRIu64
                              " requests, of %" PRIu64 " client%s",
                              replay_rate_print(pool, step[-1].limit, window),
                              step[-1].rejected, step[-1].clients,
                              step[-1].clients == 1 ? "" : "s");
    }
}


/* limits around that of the first candidate */

static void
replay_plot_ladder(replay_t *replay)
{
    replay_candidate_t  *candidate;

    if (!replay->spooled) {
        return;
    }

    candidate = &replay->limits.groups[0].candidates[0];

    replay_ladder_run(&replay->report.ladder, &candidate->rule,
                      &replay->options.ban, &replay->limits, &replay->spool,
                      candidate->rule.limit);
}


static void
replay_notes(replay_t *replay)
{
    size_t         i;
    replay_log_t  *log;

    log = &replay->log;

    for (i = 0; i < replay->options.nfiles; i++) {

        if (replay->inputs[i].error[0]) {
            replay_note(replay, "%s ends early: %s; what came before is "
                        "replayed", replay->inputs[i].name,
                        replay->inputs[i].error);
        }
    }

    if (log->out_of_order) {
        replay_note(replay, "%" PRIu64 " lines came more than %d seconds out "
                    "of order, and are left out; name the logs of several "
                    "servers one by one", log->out_of_order,
                    REPLAY_LATE_SECONDS);
    }

    if (log->long_requests) {
        replay_note(replay, "%" PRIu64 " requests took more than %d seconds: "
                    "they are replayed as if they had come a minute before "
                    "the newest", log->long_requests, REPLAY_LATE_SECONDS);
    }

    if (log->bad_costs) {
        replay_note(replay, "%" PRIu64 " costs are no numbers; these requests "
                    "are left out", log->bad_costs);
    }

    if (!log->fine) {
        replay_note(replay, "the log tells whole seconds: the order inside of "
                    "one is not known, hence the bounds; with $msec in its "
                    "log_format the result would be exact");

    } else if (log->request_time.n == 0) {
        replay_note(replay, "times are those of the end of each request; with "
                    "$request_time in the log_format they would be those of "
                    "its arrival");
    }

    if (replay->options.prefix_set && replay->log.conf == NULL) {
        replay_note(replay, "addresses are grouped as by "
                    "slidewin_client_prefix %u %u;",
                    replay->options.prefix.prefix_v4,
                    replay->options.prefix.prefix_v6);
    }

    if (replay->options.ban_text) {
        replay_note(replay, "ban= is decided here alone: slidewin_zone of "
                    "this version has no such parameter");
    }
}


static void
replay_note(replay_t *replay, const char *fmt, ...)
{
    char      text[1024];
    va_list   args;

    if (replay->report.nnotes == REPLAY_NOTES_MAX) {
        return;
    }

    va_start(args, fmt);
    (void) vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);

    replay->report.notes[replay->report.nnotes++] =
        replay_pool_text(&replay->pool, replay_text_of(text)).data;
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
    report->pool = &replay->pool;

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
