
#include <inttypes.h>
#include <stdarg.h>

#include "replay_report.h"
#include "replay_zone_size.h"


/* longer ones are cut */
#define REPLAY_NOTE_LEN  1024


static const char *replay_word_print(replay_pool_t *pool,
    replay_text_t text);
static int replay_worst_compare(const void *one, const void *two);


void
replay_note(replay_report_t *report, const char *fmt, ...)
{
    char      text[REPLAY_NOTE_LEN];
    va_list   args;

    if (report->nnotes == REPLAY_NOTES_MAX) {
        return;
    }

    va_start(args, fmt);
    (void) vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);

    report->notes[report->nnotes++] =
        replay_pool_text(report->pool, replay_text_of(text)).data;
}


const char *
replay_rate_print(replay_pool_t *pool, int64_t limit, int64_t window)
{
    size_t  i;

    static const struct {
        int64_t      ms;
        const char  *name;
    } units[] = {
        { 604800000, "w" }, { 86400000, "d" }, { 3600000, "h" },
        { 60000, "m" }, { 1000, "s" }, { 1, "ms" }
    };

    for (i = 0; window % units[i].ms; i++) { /* void */ }

    window /= units[i].ms;

    if (window == 1) {
        return replay_pool_print(pool, "%" PRId64 "r/%s", limit,
                                 units[i].name);
    }

    return replay_pool_print(pool, "%" PRId64 "r/%" PRId64 "%s", limit,
                             window, units[i].name);
}


const char *
replay_zone_print(const replay_report_t *report, const replay_group_t *group,
    const replay_candidate_t *candidate)
{
    char               size[REPLAY_ZONE_SIZE_LEN], slices[32];
    replay_text_t      key;
    replay_pool_t     *pool;
    const sw_rule_t   *rule;

    rule = &candidate->rule;
    pool = report->pool;
    key = group->key.text;
    slices[0] = '\0';

    if (rule->algorithm == SW_STRICT && rule->slices != SW_SLICES) {
        (void) snprintf(slices, sizeof(slices), " slices=%d",
                        (int) rule->slices);
    }

    return replay_pool_print(pool, "slidewin_zone %s zone=%.*s:%s "
                    "rate=%.*s%s%s%s%s%s;", replay_word_print(pool, key),
                    candidate->name.len ? (int) candidate->name.len : 5,
                    candidate->name.len ? candidate->name.data : "limit",
                    replay_zone_size_text(size,
                                      replay_candidate_size(group, candidate)),
                    (int) candidate->rate.len, candidate->rate.data,
                    rule->algorithm == SW_COUNTER ? "" : " algorithm=",
                    rule->algorithm == SW_COUNTER ? ""
                    : replay_algorithms[rule->algorithm], slices,
                    candidate->ban_text ? " ban=" : "",
                    candidate->ban_text ? candidate->ban_text : "");
}


const char *
replay_use_print(const replay_report_t *report,
    const replay_candidate_t *candidate)
{
    const replay_options_t  *options;

    options = report->options;

    return replay_pool_print(report->pool, "slidewin zone=%.*s%s%s%s%s;",
                    candidate->name.len ? (int) candidate->name.len : 5,
                    candidate->name.len ? candidate->name.data : "limit",
                    options->cost ? " cost=" : "",
                    options->cost
                    ? replay_word_print(report->pool,
                                        replay_text_of(options->cost)) : "",
                    options->count_text ? " count=" : "",
                    options->count_text ? options->count_text : "");
}


/*
 * As nginx reads it: in quotes if it must be.  A member of JSON has no variable
 * in nginx; its name is a guess.
 */

static const char *
replay_word_print(replay_pool_t *pool, replay_text_t text)
{
    int      quoted;
    char    *word, *p;
    size_t   i;

    word = replay_pool_bytes(pool, 2 * text.len + 4);
    p = word;
    quoted = text.len == 0;

    for (i = 0; i < text.len; i++) {
        quoted |= strchr(" \t;{}\"'#\\", text.data[i]) != NULL;
    }

    if (quoted) {
        *p++ = '"';
    }

    for (i = 0; i < text.len; i++) {

        if (text.data[0] == '.' && text.data[i] == '.') {
            *p++ = i ? '_' : '$';
            continue;
        }

        if (quoted && (text.data[i] == '"' || text.data[i] == '\\')) {
            *p++ = '\\';
        }

        *p++ = text.data[i];
    }

    if (quoted) {
        *p++ = '"';
    }

    *p = '\0';

    return word;
}


int64_t
replay_candidate_size(const replay_group_t *group,
    const replay_candidate_t *candidate)
{
    int64_t          peak, busy, most;
    uint32_t         i;
    replay_peaks_t  *peaks;

    peaks = replay_group_peaks(group, candidate->rule.window);
    busy = 0;
    most = 0;

    for (i = 0; candidate->rule.algorithm == SW_LOG && i < group->clients.n;
         i++)
    {
        peak = replay_peak(peaks, i);
        busy += (peak > REPLAY_ZONE_LOG_UNITS);
        most = peak > most ? peak : most;
    }

    return replay_zone_size(&candidate->rule,
                            (int64_t) candidate->live.most, busy, most,
                            candidate->ban.time ? candidate->nrejections : 0);
}


replay_rejected_t *
replay_worst(const replay_candidate_t *candidate)
{
    size_t              size;
    replay_rejected_t  *worst;

    size = candidate->nrejections * sizeof(replay_rejected_t);
    worst = replay_alloc(size + 1);

    if (size) {
        memcpy(worst, candidate->rejections, size);
        qsort(worst, candidate->nrejections, sizeof(replay_rejected_t),
              replay_worst_compare);
    }

    return worst;
}


/* of two that were rejected as often, the first one */

static int
replay_worst_compare(const void *one, const void *two)
{
    const replay_rejected_t  *a, *b;

    a = one;
    b = two;

    if (a->rejected != b->rejected) {
        return a->rejected > b->rejected ? -1 : 1;
    }

    if (a->time != b->time) {
        return a->time < b->time ? -1 : 1;
    }

    return (a->client > b->client) - (a->client < b->client);
}
