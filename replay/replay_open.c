
#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "replay_task.h"


/* lines that are looked at to see what a log has */
#define REPLAY_SAMPLES  64


static void replay_check_output(replay_t *replay, const char *path);
static const char *replay_choose_format(replay_t *replay,
    const replay_text_t *samples, size_t n);
static const char *replay_guess_format(replay_text_t line);
static const char *replay_conf_choose_format(replay_t *replay);


/* inputs, and what is read of a line */

void
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
