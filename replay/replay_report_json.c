
#include <inttypes.h>

#include "replay_print.h"
#include "replay_report.h"
#include "replay_version.h"


/* above it, peaks that differ by a twentieth are one bar of a plot */
#define REPLAY_HISTOGRAM_EXACT  64


static void replay_json_log(const replay_report_t *report, FILE *file);
static void replay_json_candidate(const replay_report_t *report, FILE *file,
    const replay_group_t *group, const replay_candidate_t *candidate,
    const replay_candidate_t *plain);
static void replay_json_worst(const replay_report_t *report, FILE *file,
    const replay_group_t *group, const replay_candidate_t *candidate);
static void replay_json_series(const replay_report_t *report, FILE *file,
    const replay_candidate_t *candidate);
static void replay_json_counts(FILE *file, const char *name,
    replay_series_t series, const replay_timeline_t *timeline);
static void replay_json_peaks(FILE *file, const replay_group_t *group,
    int64_t window);
static void replay_json_histogram(const replay_report_t *report, FILE *file);
static void replay_json_ladder(const replay_report_t *report, FILE *file);
static void replay_json_recommendation(const replay_report_t *report,
    FILE *file);
static void replay_json_number(FILE *file, const char *name, uint64_t value);
static void replay_json_seconds(FILE *file, const char *name, int64_t ms);
static void replay_json_share(FILE *file, const char *name, uint64_t part,
    uint64_t all);
static void replay_json_text(FILE *file, const char *name, const char *text);


void
replay_report_json(const replay_report_t *report, FILE *file, int plots)
{
    int                    first;
    size_t                 i, j;
    const replay_group_t  *group;

    fputc('{', file);

    replay_json_log(report, file);

    fputs("\"candidates\":[", file);

    first = 1;

    for (i = 0; i < report->limits->ngroups; i++) {
        group = &report->limits->groups[i];

        for (j = 0; j < group->n; j++) {
            fputs(first ? "\n" : ",\n", file);
            first = 0;

            replay_json_candidate(report, file, group, &group->candidates[j],
                                  group->plain ? &group->plain[j] : NULL);
        }
    }

    fputs("],\n", file);

    group = &report->limits->groups[0];

    fputs("\"peaks\":", file);
    replay_json_peaks(file, group, group->n ? group->candidates[0].rule.window
                                            : group->peaks[0].window);

    if (plots) {
        replay_json_histogram(report, file);
    }

    if (report->ladder.n) {
        replay_json_ladder(report, file);
    }

    replay_json_recommendation(report, file);

    fputs(",\n\"notes\":[", file);

    for (i = 0; i < report->nnotes; i++) {
        fputs(i ? "," : "", file);
        replay_print_json_string(file, replay_text_of(report->notes[i]));
    }

    fputs("]}\n", file);
}


static void
replay_json_log(const replay_report_t *report, FILE *file)
{
    uint64_t             clients;
    const replay_log_t  *log;

    log = report->log;
    clients = report->limits->groups[0].clients.n;

    replay_json_text(file, "version", REPLAY_VERSION);
    replay_json_number(file, "lines", log->lines);
    replay_json_number(file, "bad_lines", log->bad_lines);

    fputs("\"first_bad\":", file);

    if (log->bad_lines) {
        fputc('{', file);
        replay_json_text(file, "file", log->bad_file);
        replay_json_number(file, "line", log->bad_line);
        replay_json_text(file, "why", log->bad_why);
        fputs("\"text\":", file);
        replay_print_json_string(file, log->bad_text);
        fputs("},", file);

    } else {
        fputs("null,", file);
    }

    replay_json_number(file, "requests", report->limits->requests);
    replay_json_number(file, "left_out", log->left_out);
    replay_json_number(file, "unlimited", log->unlimited);
    replay_json_number(file, "out_of_order", log->out_of_order);
    replay_json_number(file, "empty_keys", log->empty_keys);
    replay_json_number(file, "bad_costs", log->bad_costs);
    replay_json_number(file, "answered_429", log->answered_429);
    replay_json_text(file, "resolution",
                     log->fine ? "millisecond" : "second");
    replay_json_seconds(file, "from", report->limits->first);
    replay_json_seconds(file, "to", report->limits->last);

    fputs("\"key\":", file);
    replay_print_json_string(file, report->limits->groups[0].key.text);
    fputc(',', file);

    replay_json_text(file, "where", report->options->where);
    replay_json_number(file, "clients", clients);
}


static void
replay_json_candidate(const replay_report_t *report, FILE *file,
    const replay_group_t *group, const replay_candidate_t *candidate,
    const replay_candidate_t *plain)
{
    const replay_options_t  *options;

    options = report->options;

    fputc('{', file);

    if (candidate->name.len) {
        fputs("\"name\":", file);
        replay_print_json_string(file, candidate->name);
        fputs(",\"key\":", file);
        replay_print_json_string(file, group->key.text);
        fputc(',', file);
    }

    fputs("\"rate\":", file);
    replay_print_json_string(file, candidate->rate);
    fputc(',', file);

    replay_json_number(file, "limit", (uint64_t) candidate->rule.limit);
    fprintf(file, "\"window\":%.10g,",
            (double) candidate->rule.window / 1000);
    replay_json_text(file, "algorithm",
                     replay_algorithms[candidate->rule.algorithm]);

    if (candidate->rule.algorithm == SW_STRICT) {
        replay_json_number(file, "slices", (uint64_t) candidate->rule.slices);
    }

    if (report->log->conf == NULL) {
        replay_json_text(file, "count", options->count_text);
        replay_json_text(file, "cost", options->cost);
        replay_json_text(file, "ban", options->ban_text);
    }

    replay_json_number(file, "requests", candidate->requests);
    replay_json_number(file, "rejected", candidate->rejected);
    replay_json_share(file, "rejected_share", candidate->rejected,
                      candidate->requests);
    replay_json_number(file, "rejected_at_least",
                       candidate->rejected_at_least);
    replay_json_number(file, "rejected_at_most", candidate->rejected_at_most);
    replay_json_number(file, "banned", candidate->banned);

    replay_json_number(file, "clients", group->clients.n);
    replay_json_number(file, "clients_rejected", candidate->nrejections);
    replay_json_share(file, "clients_rejected_share", candidate->nrejections,
                      group->clients.n);

    replay_json_worst(report, file, group, candidate);

    fputs("\"peaks\":", file);
    replay_json_peaks(file, group, candidate->rule.window);
    fputc(',', file);

    replay_json_number(file, "live_clients", candidate->live.most);
    replay_json_number(file, "zone_size",
                       (uint64_t) replay_candidate_size(group, candidate));

    if (plain) {
        fputs("\"plain\":{", file);
        replay_json_number(file, "rejected", plain->rejected);
        fprintf(file, "\"clients_rejected\":%" PRIu32 "},",
                plain->nrejections);

    } else {
        fputs("\"plain\":null,", file);
    }

    replay_json_series(report, file, candidate);

    replay_json_text(file, "zone",
                     replay_zone_print(report, group, candidate));

    fputs("\"use\":", file);
    replay_print_json_string(file, replay_text_of(
                                       replay_use_print(report, candidate)));
    fputc('}', file);
}


static void
replay_json_worst(const replay_report_t *report, FILE *file,
    const replay_group_t *group, const replay_candidate_t *candidate)
{
    uint32_t            i;
    replay_text_t       key;
    replay_peaks_t     *peaks;
    replay_clients_t    clients;
    replay_rejected_t  *worst, *one;

    clients = group->clients;

    if (candidate->nrejections) {
        one = &candidate->rejections[0];

        fputs("\"first\":{\"key\":", file);
        replay_print_json_string(file, replay_client_key(&clients,
                                                         one->client));
        fputc(',', file);
        replay_json_seconds(file, "time", one->time);
        fputs("\"path\":", file);
        replay_print_json_string(file, replay_text_of(one->path));
        fputs("},", file);

    } else {
        fputs("\"first\":null,", file);
    }

    worst = replay_worst(candidate);
    peaks = replay_group_peaks(group, candidate->rule.window);

    fputs("\"worst\":[", file);

    for (i = 0; i < candidate->nrejections && i < report->options->top; i++) {
        one = &worst[i];
        key = replay_client_key(&clients, one->client);

        fputs(i ? ",{\"key\":" : "{\"key\":", file);
        replay_print_json_string(file, key);
        fputc(',', file);
        replay_json_number(file, "rejected", one->rejected);
        replay_json_number(file, "requests",
                           replay_client(&clients, one->client)->requests);
        replay_json_seconds(file, "first", one->time);
        fputs("\"path\":", file);
        replay_print_json_string(file, replay_text_of(one->path));
        fprintf(file, ",\"peak\":%" PRId64 "}",
                replay_peak(peaks, one->client));
    }

    fputs("],", file);

    free(worst);
}


static void
replay_json_series(const replay_report_t *report, FILE *file,
    const replay_candidate_t *candidate)
{
    const replay_timeline_t  *timeline;

    timeline = &report->limits->timeline;

    fputs("\"series\":{", file);
    replay_json_seconds(file, "start", timeline->start);
    fprintf(file, "\"step\":%" PRId64 ",", timeline->step / 1000);
    replay_json_counts(file, "requests", candidate->requested, timeline);
    fputc(',', file);
    replay_json_counts(file, "rejected", candidate->series, timeline);
    fputs("},", file);
}


static void
replay_json_counts(FILE *file, const char *name, replay_series_t series,
    const replay_timeline_t *timeline)
{
    unsigned  i;

    replay_series_merge(&series, timeline);

    fprintf(file, "\"%s\":[", name);

    for (i = 0; i < timeline->n; i++) {
        fprintf(file, i ? ",%" PRIu64 : "%" PRIu64, series.counts[i]);
    }

    fputc(']', file);
}


static void
replay_json_peaks(FILE *file, const replay_group_t *group, int64_t window)
{
    int                   i;
    int64_t               percentiles[REPLAY_PERCENTILES];

    static const char *const  names[REPLAY_PERCENTILES] = {
        "p50", "p90", "p99", "p99.9", "max"
    };

    replay_peaks_percentiles(replay_group_peaks(group, window),
                             group->clients.n, percentiles);

    fprintf(file, "{\"window\":%.10g", (double) window / 1000);

    for (i = 0; i < REPLAY_PERCENTILES; i++) {
        fprintf(file, ",\"%s\":%" PRId64, names[i], percentiles[i]);
    }

    fputc('}', file);
}


static void
replay_json_histogram(const replay_report_t *report, FILE *file)
{
    size_t                 n, i;
    int64_t                bound;
    uint64_t               clients;
    const char            *comma;
    const replay_group_t  *group;
    replay_peak_count_t   *counts;

    group = &report->limits->groups[0];

    n = replay_peaks_count(replay_group_peaks(group,
                               group->n ? group->candidates[0].rule.window
                                        : group->peaks[0].window),
                           group->clients.n, &counts);

    fputs(",\n\"histogram\":[", file);

    comma = "";

    for (i = 0; i < n; /* void */ ) {
        bound = counts[i].peak;
        clients = 0;

        if (bound > REPLAY_HISTOGRAM_EXACT) {
            bound += bound / 20;
        }

        while (i < n && counts[i].peak <= bound) {
            clients += counts[i++].clients;
        }

        fprintf(file, "%s{\"peak\":%" PRId64 ",\"clients\":%" PRIu64 "}",
                comma, counts[i - 1].peak, clients);
        comma = ",";
    }

    fputc(']', file);

    free(counts);
}


static void
replay_json_ladder(const replay_report_t *report, FILE *file)
{
    size_t                i;
    const replay_step_t  *step;

    fputs(",\n\"ladder\":[", file);

    for (i = 0; i < report->ladder.n; i++) {
        step = &report->ladder.steps[i];

        fprintf(file, "%s{\"limit\":%" PRId64 ",\"rejected\":%" PRIu64
                ",\"clients_rejected\":%" PRIu64 "}", i ? "," : "",
                step->limit, step->rejected, step->clients);
    }

    fputc(']', file);
}


static void
replay_json_recommendation(const replay_report_t *report, FILE *file)
{
    unsigned                        i;
    uint64_t                        clients;
    const replay_recommendation_t  *recommendation;

    recommendation = &report->recommendation;
    clients = report->limits->groups[0].clients.n;

    fputs(",\n\"recommendation\":", file);

    if (recommendation->rate == NULL) {
        fputs("null", file);
        return;
    }

    fputc('{', file);
    replay_json_text(file, "rate", recommendation->rate);
    replay_json_number(file, "clients_rejected",
                       recommendation->clients_rejected);
    replay_json_number(file, "clients", clients);
    replay_json_share(file, "share", recommendation->clients_rejected,
                      clients);
    fputs("\"reasons\":[", file);

    for (i = 0; i < recommendation->nreasons; i++) {
        fputs(i ? "," : "", file);
        replay_print_json_string(file,
                              replay_text_of(recommendation->reasons[i]));
    }

    fputs("]}", file);
}


static void
replay_json_number(FILE *file, const char *name, uint64_t value)
{
    fprintf(file, "\"%s\":%" PRIu64 ",", name, value);
}


static void
replay_json_seconds(FILE *file, const char *name, int64_t ms)
{
    fprintf(file, "\"%s\":%" PRId64 ".%03d,", name, ms / 1000,
            (int) (ms % 1000));
}


static void
replay_json_share(FILE *file, const char *name, uint64_t part, uint64_t all)
{
    fprintf(file, "\"%s\":%.6g,", name,
            all ? (double) part / (double) all : 0);
}


static void
replay_json_text(FILE *file, const char *name, const char *text)
{
    replay_text_t  value;

    memset(&value, 0, sizeof(replay_text_t));

    if (text) {
        value = replay_text_of(text);
    }

    fprintf(file, "\"%s\":", name);
    replay_print_json_string(file, value);
    fputc(',', file);
}
