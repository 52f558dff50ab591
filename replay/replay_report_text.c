
#include <inttypes.h>
#include <stdarg.h>
#include <unistd.h>

#include "replay_print.h"
#include "replay_report.h"
#include "replay_time.h"
#include "replay_zone_size.h"


/* groups of three digits */
#define REPLAY_COUNT_LEN  32


/* as a terminal shows them, or nothing */

typedef struct {
    const char  *strong;
    const char  *bad;
    const char  *good;
    const char  *soft;
    const char  *plain;
} replay_paint_t;


static void replay_text_log(const replay_report_t *report, FILE *file,
    const replay_paint_t *paint);
static void replay_text_left_out(FILE *file, uint64_t n, const char *what);
static void replay_text_candidates(const replay_report_t *report, FILE *file,
    const replay_paint_t *paint);
static void replay_text_candidate(const replay_report_t *report, FILE *file,
    const replay_paint_t *paint, const replay_group_t *group,
    const replay_candidate_t *candidate, const replay_candidate_t *plain);
static void replay_text_peaks(const replay_report_t *report, FILE *file,
    const replay_paint_t *paint, const replay_group_t *group,
    int64_t window);
static void replay_text_recommendation(const replay_report_t *report,
    FILE *file, const replay_paint_t *paint);
static void replay_text_worst(const replay_report_t *report, FILE *file,
    const replay_paint_t *paint, const replay_group_t *group,
    const replay_candidate_t *candidate);
static void replay_text_paste(const replay_report_t *report, FILE *file,
    const replay_paint_t *paint);
static const char *replay_count_text(char buf[REPLAY_COUNT_LEN], uint64_t n);


static const replay_paint_t  replay_paints[] = {
    { "", "", "", "", "" },
    { "\033[1m", "\033[31m", "\033[32m", "\033[2m", "\033[0m" }
};


void
replay_report_text(const replay_report_t *report, FILE *file)
{
    size_t                     i, j, k;
    const char                *terminal;
    const replay_group_t      *group;
    const replay_paint_t      *paint;
    const replay_candidate_t  *candidate;

    terminal = getenv("TERM");

    paint = &replay_paints[isatty(fileno(file)) && getenv("NO_COLOR") == NULL
                           && terminal && strcmp(terminal, "dumb") != 0];

    replay_text_log(report, file, paint);
    replay_text_recommendation(report, file, paint);
    replay_text_candidates(report, file, paint);

    for (i = 0; i < report->limits->ngroups; i++) {
        group = &report->limits->groups[i];

        for (j = 0; j < group->npeaks; j++) {
            replay_text_peaks(report, file, paint, group,
                              group->peaks[j].window);
        }
    }

    for (i = 0; i < report->limits->ngroups; i++) {
        group = &report->limits->groups[i];

        for (k = 0; k < group->n; k++) {
            candidate = &group->candidates[k];

            if (candidate->nrejections && report->options->top) {
                replay_text_worst(report, file, paint, group, candidate);
            }
        }
    }

    replay_text_paste(report, file, paint);

    for (i = 0; i < report->nnotes; i++) {
        fprintf(file, "%sNote: ", i ? "" : "\n");
        replay_print_plain(file, replay_text_of(report->notes[i]));
        fputc('\n', file);
    }
}


static void
replay_text_log(const replay_report_t *report, FILE *file,
    const replay_paint_t *paint)
{
    char                 from[REPLAY_TIME_LEN], to[REPLAY_TIME_LEN];
    char                 lines[REPLAY_COUNT_LEN], requests[REPLAY_COUNT_LEN];
    char                 bad[REPLAY_COUNT_LEN];
    size_t               i;
    const replay_log_t  *log;
    replay_group_t      *group;

    log = report->log;

    fprintf(file, "%s%s lines, %s requests", paint->strong,
            replay_count_text(lines, log->lines),
            replay_count_text(requests, report->limits->requests));

    for (i = 0; i < report->limits->ngroups; i++) {
        group = &report->limits->groups[i];

        fprintf(file, "%s %s client%s by ", i ? "," : " of",
                replay_count_text(bad, group->clients.n),
                group->clients.n == 1 ? "" : "s");
        replay_print_plain(file, group->key.text);

        if (log->conf) {
            fprintf(file, " in %.*s", (int) group->candidates->name.len,
                    group->candidates->name.data);
        }
    }

    fprintf(file, "%s\n%s to %s\n", paint->plain,
            replay_time_text(from, report->limits->first, log->fine),
            replay_time_text(to, report->limits->last, log->fine));

    replay_text_left_out(file, log->left_out, "requests are left out by a "
                         "filter");
    replay_text_left_out(file, log->unlimited, "requests meet no limit");
    replay_text_left_out(file, log->empty_keys, "empty keys are not counted");
    replay_text_left_out(file, log->out_of_order, "lines came more than a "
                         "minute out of order, and are left out");
    replay_text_left_out(file, log->answered_429, "requests were answered "
                         "429 when they came; here they are decided anew");

    if (log->bad_lines) {
        fprintf(file, "%s%s bad line%s%s; the first is ", paint->bad,
                replay_count_text(bad, log->bad_lines),
                log->bad_lines == 1 ? "" : "s", paint->plain);
        replay_print_plain(file, replay_text_of(log->bad_file));
        fprintf(file, ":%" PRIu64 ", %s: ", log->bad_line, log->bad_why);
        replay_print_plain(file, log->bad_text);
        fputc('\n', file);
    }
}


static void
replay_text_left_out(FILE *file, uint64_t n, const char *what)
{
    char  count[REPLAY_COUNT_LEN];

    if (n) {
        fprintf(file, "%s %s\n", replay_count_text(count, n), what);
    }
}


static void
replay_text_candidates(const replay_report_t *report, FILE *file,
    const replay_paint_t *paint)
{
    size_t                 i, j;
    const replay_group_t  *group;

    fprintf(file, "\n%s%-22s %-9s %22s %18s %9s %7s%s\n", paint->soft,
            "LIMIT", "ALGORITHM", "REQUESTS REJECTED", "CLIENTS", "AT ONCE",
            "ZONE", paint->plain);

    for (i = 0; i < report->limits->ngroups; i++) {
        group = &report->limits->groups[i];

        for (j = 0; j < group->n; j++) {
            replay_text_candidate(report, file, paint, group,
                                  &group->candidates[j],
                                  group->plain ? &group->plain[j] : NULL);
        }
    }
}


static void
replay_text_candidate(const replay_report_t *report, FILE *file,
    const replay_paint_t *paint, const replay_group_t *group,
    const replay_candidate_t *candidate, const replay_candidate_t *plain)
{
    char           limit[64], rejected[96], clients[64];
    char           a[REPLAY_COUNT_LEN], b[REPLAY_COUNT_LEN];
    char           size[REPLAY_ZONE_SIZE_LEN];

    (void) snprintf(limit, sizeof(limit), "%.*s%s%.*s",
                    (int) candidate->name.len, candidate->name.data
                                               ? candidate->name.data : "",
                    candidate->name.len ? " " : "",
                    (int) candidate->rate.len, candidate->rate.data);
    (void) snprintf(rejected, sizeof(rejected), "%s (%.3g%%)",
                    replay_count_text(a, candidate->rejected),
                    candidate->requests ? 100 * (double) candidate->rejected
                                          / (double) candidate->requests : 0);

    (void) snprintf(clients, sizeof(clients), "%s (%.3g%%)",
                    replay_count_text(a, candidate->nrejections),
                    group->clients.n ? 100 * (double) candidate->nrejections
                                       / (double) group->clients.n : 0);

    fprintf(file, "%-22s %-9s %s%22s %18s%s %9s %7s\n", limit,
            replay_algorithms[candidate->rule.algorithm],
            candidate->rejected ? paint->bad : paint->good, rejected,
            clients, paint->plain,
            replay_count_text(a, candidate->live.most),
            replay_zone_size_text(size,
                                  replay_candidate_size(group, candidate)));

    if (candidate->rejected_at_least != candidate->rejected
        || candidate->rejected_at_most != candidate->rejected)
    {
        (void) snprintf(rejected, sizeof(rejected), "%s to %s",
                        replay_count_text(a, candidate->rejected_at_least),
                        replay_count_text(b, candidate->rejected_at_most));
        fprintf(file, "%s%-32s %22s%s\n", paint->soft,
                "  by the order inside of seconds", rejected, paint->plain);
    }

    if (candidate->banned) {
        fprintf(file, "%s%-32s %22s%s\n", paint->soft, "  of these, banned",
                replay_count_text(a, candidate->banned), paint->plain);
    }

    if (plain) {
        (void) snprintf(clients, sizeof(clients), "%" PRIu32,
                        plain->nrejections);
        fprintf(file, "%s%-32s %22s %18s%s\n", paint->soft,
                "  if each request cost one", replay_count_text(a,
                                                         plain->rejected),
                clients, paint->plain);
    }
}


static void
replay_text_peaks(const replay_report_t *report, FILE *file,
    const replay_paint_t *paint, const replay_group_t *group, int64_t window)
{
    int                   i;
    char                  count[REPLAY_COUNT_LEN];
    int64_t               percentiles[REPLAY_PERCENTILES];
    const char           *rate;

    static const char *const  names[REPLAY_PERCENTILES] = {
        "half of the clients at most", "90%", "99%", "99.9%", "the busiest"
    };

    replay_peaks_percentiles(replay_group_peaks(group, window),
                             group->clients.n, percentiles);

    rate = replay_rate_print(report->pool, 1, window);

    fprintf(file, "\n%sPeaks%s, units of a client in any %s%s", paint->strong,
            paint->plain, rate[3] >= '0' && rate[3] <= '9' ? "" : "1",
            rate + sizeof("1r/") - 1);

    if (report->log->conf) {
        fprintf(file, " in %.*s", (int) group->candidates->name.len,
                group->candidates->name.data);
    }

    for (i = 0; i < REPLAY_PERCENTILES; i++) {
        fprintf(file, "%s %s %s", i ? "," : ":", names[i],
                replay_count_text(count, (uint64_t) percentiles[i]));
    }

    fputc('\n', file);
}


static void
replay_text_recommendation(const replay_report_t *report, FILE *file,
    const replay_paint_t *paint)
{
    unsigned                        i;
    const replay_recommendation_t  *recommendation;

    recommendation = &report->recommendation;

    if (recommendation->rate == NULL) {
        return;
    }

    fprintf(file, "\n%sTry %s%s\n", paint->strong, recommendation->rate,
            paint->plain);

    for (i = 0; i < recommendation->nreasons; i++) {
        fprintf(file, "  - %s\n", recommendation->reasons[i]);
    }
}


static void
replay_text_worst(const replay_report_t *report, FILE *file,
    const replay_paint_t *paint, const replay_group_t *group,
    const replay_candidate_t *candidate)
{
    char                a[REPLAY_COUNT_LEN], b[REPLAY_COUNT_LEN];
    char                c[REPLAY_COUNT_LEN], time[REPLAY_TIME_LEN];
    uint32_t            i;
    replay_peaks_t     *peaks;
    replay_clients_t    clients;
    replay_rejected_t  *worst;

    clients = group->clients;
    peaks = replay_group_peaks(group, candidate->rule.window);
    worst = replay_worst(candidate);

    fprintf(file, "\n%sRejected by %.*s %s%s", paint->strong,
            (int) candidate->rate.len, candidate->rate.data,
            replay_algorithms[candidate->rule.algorithm], paint->plain);

    if (candidate->name.len) {
        fprintf(file, " (%.*s)", (int) candidate->name.len,
                candidate->name.data);
    }

    fprintf(file, ", first %s ",
            replay_time_text(time, candidate->rejections[0].time,
                             report->log->fine));
    replay_print_plain(file,
                       replay_client_key(&clients,
                                         candidate->rejections[0].client));
    fputc(' ', file);
    replay_print_plain(file, replay_text_of(candidate->rejections[0].path));

    fprintf(file, "\n%s%12s %12s %10s  %-24s  %s%s\n", paint->soft,
            "REJECTED", "REQUESTS", "PEAK", "FIRST", "CLIENT, PATH",
            paint->plain);

    for (i = 0; i < candidate->nrejections && i < report->options->top; i++) {
        fprintf(file, "%12s %12s %10s  %-24s  ",
                replay_count_text(a, worst[i].rejected),
                replay_count_text(b, replay_client(&clients,
                                                 worst[i].client)->requests),
                replay_count_text(c, (uint64_t) replay_peak(peaks,
                                                       worst[i].client)),
                replay_time_text(time, worst[i].time, report->log->fine));

        replay_print_plain(file, replay_client_key(&clients,
                                                   worst[i].client));
        fputs("  ", file);
        replay_print_plain(file, replay_text_of(worst[i].path));
        fputc('\n', file);
    }

    if (candidate->nrejections > report->options->top) {
        fprintf(file, "%12s more clients\n",
                replay_count_text(a, candidate->nrejections
                                     - report->options->top));
    }

    free(worst);
}


static void
replay_text_paste(const replay_report_t *report, FILE *file,
    const replay_paint_t *paint)
{
    size_t                 j;
    const replay_group_t  *group;

    if (report->log->conf) {
        return;
    }

    group = &report->limits->groups[0];

    fprintf(file, "\n%sFor nginx.conf%s%s\n", paint->strong,
            paint->plain, group->n > 1 ? ", one of" : "");

    for (j = 0; j < group->n; j++) {
        fprintf(file, "  %s\n",
                replay_zone_print(report, group, &group->candidates[j]));
    }

    if (group->n) {
        fprintf(file, "and in its location\n  %s\n",
                replay_use_print(report, &group->candidates[0]));
    }
}


static const char *
replay_count_text(char buf[REPLAY_COUNT_LEN], uint64_t n)
{
    int    i, len;
    char   digits[REPLAY_COUNT_LEN], *p;

    len = snprintf(digits, sizeof(digits), "%" PRIu64, n);
    p = buf;

    for (i = 0; i < len; i++) {

        if (i && (len - i) % 3 == 0) {
            *p++ = ',';
        }

        *p++ = digits[i];
    }

    *p = '\0';

    return buf;
}
