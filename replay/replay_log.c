
#include "replay_log.h"
#include "replay_time.h"
#include "sw_parse.h"


/* between two looks at the clock */
#define REPLAY_PROGRESS_LINES  8192


/* an input, and its next request */

typedef struct {
    replay_input_t    *input;
    uint32_t           number;
    int64_t            logged;             /* ms, when it ended */
    int64_t            time;               /* when it came, if that is told */
    uint16_t           status;
    replay_record_t   *record;
} replay_source_t;


static const char *replay_log_time(replay_log_t *log,
    const replay_text_t *samples, size_t n, const char *name);
static int replay_log_try_time(replay_log_t *log,
    const replay_text_t *samples, size_t n, int is_msec);
static const char *replay_log_compile(replay_log_t *log,
    replay_value_t *value, const char *text);
static int replay_log_next(replay_log_t *log, replay_source_t *source);
static const char *replay_log_parse(replay_log_t *log,
    replay_source_t *source, replay_text_t line);
static int64_t replay_log_time_of(replay_log_t *log,
    replay_record_t *record);
static void replay_log_bad(replay_log_t *log, replay_source_t *source,
    replay_text_t line, const char *why);
static void replay_log_request(replay_log_t *log, replay_source_t *source);
static unsigned replay_log_places(replay_log_t *log, replay_record_t *record,
    uint32_t limits[REPLAY_CLAIMS_MAX]);
static int replay_log_claim(replay_log_t *log, replay_record_t *record,
    uint32_t limit, replay_claim_t *claim);
static uint16_t replay_log_status(replay_log_t *log,
    replay_record_t *record);


const char *
replay_log_prepare(replay_log_t *log, const replay_text_t *samples, size_t n,
    const char *time)
{
    const char  *error;

    error = replay_log_time(log, samples, n, time);

    if (error) {
        return error;
    }

    if (replay_value_exists(log->format, "status")) {
        (void) replay_log_compile(log, &log->status, "$status");
    }

    if (replay_value_exists(log->format, "request_uri")) {
        (void) replay_log_compile(log, &log->target, "$request_uri");

    } else if (replay_value_exists(log->format, "uri")) {
        (void) replay_log_compile(log, &log->target, "$uri");
    }

    if (log->conf == NULL) {
        return NULL;
    }

    error = replay_log_compile(log, &log->uri, "$uri");

    if (error) {
        return error;
    }

    if (replay_value_exists(log->format, "host")) {
        (void) replay_log_compile(log, &log->host, "$host");
    }

    return NULL;
}


/* which variable is the time: the finest that there is */

static const char *
replay_log_time(replay_log_t *log, const replay_text_t *samples, size_t n,
    const char *name)
{
    int          i, is_msec;
    const char  *error;

    static const char *const  variables[] = {
        "$msec", "$time_iso8601", "$time_local", NULL
    };

    static const char *const  members[] = {
        ".msec", ".time", ".timestamp", ".@timestamp", ".ts",
        ".time_iso8601", ".time_local", ".datetime", ".date", NULL
    };

    const char *const  *names;

    const char *const   named[] = { name, NULL };

    names = name ? named : log->format->json ? members : variables;

    for (i = 0; names[i]; i++) {
        error = replay_log_compile(log, &log->time, names[i]);

        is_msec = strcmp(names[i] + 1, "msec") == 0;

        if (error == NULL && (replay_log_try_time(log, samples, n, is_msec)
                              || (name == NULL && !log->format->json)))
        {
            break;
        }

        if (name) {
            return error ? error : "--time: it is no time in the first lines";
        }
    }

    if (names[i] == NULL) {
        return log->format->json
               ? "no time is found in it; name its member by --time .MEMBER"
               : "it has none of $msec, $time_iso8601 and $time_local";
    }

    if (log->fine && replay_value_exists(log->format, "request_time")) {
        (void) replay_log_compile(log, &log->request_time, "$request_time");
    }

    return NULL;
}


/* whether some sample has that time, and how fine it is */

static int
replay_log_try_time(replay_log_t *log, const replay_text_t *samples, size_t n,
    int is_msec)
{
    int               found;
    size_t            i;
    int64_t           time;
    replay_text_t     text;
    replay_record_t  *record;

    record = replay_calloc(1, sizeof(replay_record_t));
    found = 0;

    for (i = 0; i < n; i++) {

        if (replay_format_read(log->format, samples[i], &record->line)) {
            continue;
        }

        text = replay_value_get(&log->time, record);
        time = text.len ? replay_time_parse(text) : REPLAY_TIME_BAD;

        if (time == REPLAY_TIME_BAD) {
            continue;
        }

        found = 1;

        /* others write ".000", or leave it out, whatever they know */

        log->fine |= replay_time_is_fine(text)
                     && (is_msec || time % 1000 != 0);
    }

    free(record);

    return found;
}


static const char *
replay_log_compile(replay_log_t *log, replay_value_t *value,
    const char *text)
{
    return replay_value_compile(value, log->format, replay_text_of(text));
}


/* the input with the earliest line is read next */

void
replay_log_read(replay_log_t *log, replay_input_t *inputs, size_t n)
{
    size_t            i, left;
    int64_t           until;
    uint64_t          drawn;
    replay_source_t  *sources, *source, *other;

    sources = replay_calloc(n, sizeof(replay_source_t));
    drawn = 0;
    left = 0;

    replay_progress_init(&log->progress, inputs, n);

    for (i = 0; i < n; i++) {
        source = &sources[left];

        source->input = &inputs[i];
        source->number = (uint32_t) i;
        source->record = replay_alloc(sizeof(replay_record_t));
        source->record->prefix = log->prefix;

        if (replay_log_next(log, source)) {
            left++;

        } else {
            free(source->record);
        }
    }

    while (left) {
        source = &sources[0];
        until = INT64_MAX;

        for (i = 1; i < left; i++) {
            other = &sources[i];

            if (other->logged < source->logged) {
                until = source->logged;
                source = other;

            } else if (other->logged < until) {
                until = other->logged;
            }
        }

        do {
            replay_log_request(log, source);

            if (log->lines - drawn >= REPLAY_PROGRESS_LINES) {
                drawn = log->lines;
                replay_progress_draw(&log->progress, inputs, n, log->lines);
            }

            if (!replay_log_next(log, source)) {
                free(source->record);
                *source = sources[--left];
                break;
            }

        } while (source->logged <= until);
    }

    replay_progress_end(&log->progress);
    replay_queue_flush(&log->queue);

    free(sources);
}


/* the next line of it that is a request */

static int
replay_log_next(replay_log_t *log, replay_source_t *source)
{
    const char     *why;
    replay_text_t   line;

    while (replay_input_line(source->input, &line)) {

        if (line.data && line.len == 0) {
            continue;
        }

        log->lines++;

        why = replay_log_parse(log, source, line);

        if (why == NULL) {
            return 1;
        }

        replay_log_bad(log, source, line, why);
    }

    log->progress.done += replay_input_offset(source->input);
    replay_input_close(source->input);

    return 0;
}


static const char *
replay_log_parse(replay_log_t *log, replay_source_t *source,
    replay_text_t line)
{
    int64_t           spent;
    const char       *why;
    replay_text_t     text;
    replay_record_t  *record;

    if (line.data == NULL) {
        return "it is longer than 1 MB";
    }

    record = source->record;
    replay_record_reset(record);

    why = replay_format_read(log->format, line, &record->line);

    if (why) {
        return why;
    }

    source->time = replay_log_time_of(log, record);

    if (source->time == REPLAY_TIME_BAD || source->time < 0) {
        return "it has no time";
    }

    if (!log->fine) {
        source->time -= source->time % 1000;

    }

    source->logged = source->time;

    if (log->fine && log->request_time.n) {

        /* it was decided when it came, not when it was logged */

        text = replay_value_get(&log->request_time, record);
        spent = text.len ? replay_time_seconds(text) : 0;

        if (spent > 0 && spent <= source->time) {
            source->time -= spent;
        }
    }

    source->status = log->status.n ? replay_log_status(log, record) : 0;

    return log->status.n && source->status == 0 ? "it has no status" : NULL;
}


/* many lines have the time of the one before */

static int64_t
replay_log_time_of(replay_log_t *log, replay_record_t *record)
{
    replay_text_t  text;

    text = replay_value_get(&log->time, record);

    if (text.len == 0) {
        return REPLAY_TIME_BAD;
    }

    if (text.len != log->last_time_len
        || memcmp(text.data, log->last_time_text, text.len) != 0)
    {
        log->last_time = replay_time_parse(text);
        log->last_time_len = 0;

        if (text.len <= sizeof(log->last_time_text)) {
            log->last_time_len = text.len;
            memcpy(log->last_time_text, text.data, text.len);
        }
    }

    return log->last_time;
}


static uint16_t
replay_log_status(replay_log_t *log, replay_record_t *record)
{
    int64_t        status;
    replay_text_t  text;

    text = replay_value_get(&log->status, record);

    if (sw_parse_count(text.data, text.len, 999, &status) != SW_OK) {
        return 0;
    }

    /* 000: the client left before there was one */

    return status == 0 ? 999 : (uint16_t) status;
}


static void
replay_log_bad(replay_log_t *log, replay_source_t *source,
    replay_text_t line, const char *why)
{
    if (log->bad_lines++) {
        return;
    }

    if (line.data == NULL || line.len > REPLAY_BAD_SHOWN) {
        line.len = line.data ? REPLAY_BAD_SHOWN : 0;
    }

    log->bad_file = source->input->name;
    log->bad_line = source->input->lines;
    log->bad_why = why;
    log->bad_text = replay_pool_text(&log->pool, line);
}


static void
replay_log_request(replay_log_t *log, replay_source_t *source)
{
    unsigned          i, n;
    uint32_t          limits[REPLAY_CLAIMS_MAX];
    const char       *args;
    replay_text_t     path;
    replay_event_t    event;
    replay_claim_t    claims[REPLAY_CLAIMS_MAX];
    replay_record_t  *record;

    record = source->record;

    if (log->where
        && !replay_where_matches(log->where, record, source->time))
    {
        log->left_out++;
        return;
    }

    if (replay_queue_is_late(&log->queue, source->logged)) {
        log->out_of_order++;
        return;
    }

    /* a request that took so long is replayed as if it had come later */

    if (replay_queue_is_late(&log->queue, source->time)) {
        log->long_requests++;
        source->time = replay_queue_oldest(&log->queue);
    }

    n = 1;
    limits[0] = 0;

    if (log->conf) {
        n = replay_log_places(log, record, limits);

        if (n == 0) {
            log->unlimited++;
            return;
        }
    }

    event.time = source->time;
    event.file = source->number;
    event.line = source->input->lines;
    event.status = source->status;
    event.nclaims = 0;

    for (i = 0; i < n; i++) {

        if (!replay_log_claim(log, record, limits[i],
                              &claims[event.nclaims]))
        {
            continue;
        }

        event.nclaims++;
    }

    if (event.nclaims == 0) {
        return;
    }

    log->answered_429 += (event.status == 429);

    memset(&path, 0, sizeof(replay_text_t));

    if (log->target.n) {
        path = replay_value_get(&log->target, record);
        args = path.len ? memchr(path.data, '?', path.len) : NULL;
        path.len = args ? (size_t) (args - path.data) : path.len;
    }

    replay_queue_add(&log->queue, &event, claims, path);
}


/* limits of the location that the request comes to */

static unsigned
replay_log_places(replay_log_t *log, replay_record_t *record,
    uint32_t limits[REPLAY_CLAIMS_MAX])
{
    size_t                      i;
    unsigned                    n;
    uint32_t                    number;
    replay_text_t               host, uri;
    const replay_conf_place_t  *place;

    memset(&host, 0, sizeof(replay_text_t));

    uri = replay_value_get(&log->uri, record);

    if (log->host.n) {
        host = replay_value_get(&log->host, record);
    }

    place = replay_conf_place(log->conf, host, uri);
    n = 0;

    if (place == NULL) {
        return 0;
    }

    record->prefix.prefix_v4 = place->prefix_v4;
    record->prefix.prefix_v6 = place->prefix_v6;

    for (i = 0; i < place->nlimits; i++) {
        number = log->places[place->limits[i].number];

        if (number && n < REPLAY_CLAIMS_MAX) {
            limits[n++] = number - 1;
        }
    }

    return n;
}


/* whether the request counts for the limit */

static int
replay_log_claim(replay_log_t *log, replay_record_t *record, uint32_t number,
    replay_claim_t *claim)
{
    replay_text_t    text;
    replay_limit_t  *limit;

    limit = &log->limits->limits[number];

    if (limit->condition.n) {
        text = replay_value_get(&limit->condition, record);

        if (text.len == 0 || replay_text_is(text, "0")) {
            log->left_out++;
            return 0;
        }
    }

    claim->limit = number;
    claim->cost = limit->units;

    if (limit->cost.n) {
        text = replay_value_get(&limit->cost, record);

        if (sw_parse_cost(text.data, text.len, &claim->cost) != SW_OK) {
            log->bad_costs++;
            return 0;
        }
    }

    text = replay_value_get(&limit->group->key, record);

    if (text.len == 0) {
        log->empty_keys++;
        return 0;
    }

    claim->client = replay_clients_find(&limit->group->clients, text);

    return 1;
}
