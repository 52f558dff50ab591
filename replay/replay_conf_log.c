
#include <strings.h>

#include "replay_conf_log.h"


static replay_text_t replay_conf_log_name(replay_text_t path);
static int replay_conf_log_is_rotated(replay_text_t suffix);
static size_t replay_conf_log_agrees(replay_text_t one, replay_text_t two);


void
replay_conf_log_init(replay_pool_t *pool, replay_array_t *formats)
{
    replay_conf_format_t  *format;

    format = replay_array_push(pool, formats, sizeof(replay_conf_format_t));

    format->name = replay_text_of("combined");
    format->text = replay_text_of("$remote_addr - $remote_user "
                                  "[$time_local] \"$request\" $status "
                                  "$body_bytes_sent \"$http_referer\" "
                                  "\"$http_user_agent\"");
}


int
replay_conf_log_format(replay_conf_reader_t *reader, replay_array_t *formats)
{
    char                  *text;
    size_t                 i, n, len;
    replay_text_t         *args;
    replay_conf_format_t  *format;

    args = reader->args.elts;
    format = formats->elts;

    for (i = 0; i < formats->nelts; i++) {
        if (replay_text_is(format[i].name, args[1].data)) {
            return replay_conf_error(reader, &reader->ref, "duplicate "
                                     "\"log_format\" name \"%s\"",
                                     args[1].data);
        }
    }

    format = replay_array_push(reader->pool, formats,
                               sizeof(replay_conf_format_t));
    format->name = args[1];
    format->ref = reader->ref;
    format->escape = REPLAY_ESCAPE_DEFAULT;

    i = 2;

    if (replay_text_begins(args[2], "escape=")) {

        if (replay_text_is(args[2], "escape=json")) {
            format->escape = REPLAY_ESCAPE_JSON;

        } else if (replay_text_is(args[2], "escape=none")) {
            format->escape = REPLAY_ESCAPE_NONE;

        } else if (!replay_text_is(args[2], "escape=default")) {
            return replay_conf_error(reader, &reader->ref, "unknown log "
                                     "format escaping \"%s\"",
                                     args[2].data + sizeof("escape=") - 1);
        }

        i++;
    }

    len = 0;

    for (n = i; n < reader->args.nelts; n++) {
        len += args[n].len;
    }

    text = replay_pool_bytes(reader->pool, len + 1);
    format->text.data = text;
    format->text.len = len;

    for (n = i; n < reader->args.nelts; n++) {
        memcpy(text, args[n].data, args[n].len);
        text += args[n].len;
    }

    *text = '\0';

    return 0;
}


int
replay_conf_log_add(replay_conf_reader_t *reader, replay_array_t *logs,
    const replay_array_t *formats, const char **note)
{
    size_t                 i;
    const char            *name;
    replay_text_t         *args;
    replay_conf_log_t     *log;
    replay_conf_format_t  *format;

    args = reader->args.elts;
    *note = NULL;

    if (replay_text_is(args[1], "off")) {
        return 0;
    }

    name = reader->args.nelts > 2 ? args[2].data : "combined";
    format = formats->elts;

    for (i = 0; i < formats->nelts; i++) {
        if (strcasecmp(format[i].name.data, name) == 0) {
            break;
        }
    }

    if (i == formats->nelts) {
        *note = replay_pool_print(reader->pool, "%s:%u: the log_format \"%s\" "
                                  "of access_log is not known",
                                  reader->ref.file, reader->ref.line, name);
    }

    log = replay_array_push(reader->pool, logs, sizeof(replay_conf_log_t));
    log->path = args[1];
    log->format = i;

    return 0;
}


size_t
replay_conf_log_find(const replay_array_t *logs, size_t nformats,
    replay_text_t path)
{
    size_t                    i, found, only, best, agrees;
    const replay_conf_log_t  *log;

    log = logs->elts;
    found = nformats;
    only = logs->nelts ? log[0].format : nformats;
    best = 0;

    for (i = 0; i < logs->nelts; i++) {
        agrees = replay_conf_log_agrees(log[i].path, path);

        if (agrees > best) {
            best = agrees;
            found = log[i].format;

        } else if (agrees == best && best && found != log[i].format) {
            found = nformats;
        }

        if (log[i].format != only) {
            only = nformats;
        }
    }

    return best ? found : only;
}


/* by how much the paths agree at their ends; 0: not even in the names */

static size_t
replay_conf_log_agrees(replay_text_t log, replay_text_t file)
{
    size_t         i, agrees;
    replay_text_t  name, rotated;

    name = replay_conf_log_name(log);
    rotated = replay_conf_log_name(file);

    if (name.len == 0 || rotated.len < name.len
        || memcmp(name.data, rotated.data, name.len) != 0)
    {
        return 0;
    }

    log.len -= name.len;
    file.len -= rotated.len;

    rotated.data += name.len;
    rotated.len -= name.len;

    if (!replay_conf_log_is_rotated(rotated)) {
        return 0;
    }

    agrees = 1;

    for (i = 1; i <= log.len && i <= file.len; i++) {

        if (log.data[log.len - i] != file.data[file.len - i]) {
            break;
        }

        /* directories that agree count, parts of their names do not */

        if ((i == log.len || log.data[log.len - i - 1] == '/')
            && (i == file.len || file.data[file.len - i - 1] == '/'))
        {
            agrees++;
        }
    }

    return agrees;
}


static replay_text_t
replay_conf_log_name(replay_text_t path)
{
    size_t         i;
    replay_text_t  name;

    for (i = path.len; i > 0; i--) {
        if (path.data[i - 1] == '/') {
            break;
        }
    }

    name.data = path.data + i;
    name.len = path.len - i;

    return name;
}


/* what logrotate puts behind a name: ".1", "-20240131", ".2.gz" */

static int
replay_conf_log_is_rotated(replay_text_t suffix)
{
    size_t  i, len;

    static const char  *const compressed[] = { ".gz", ".bz2", ".xz", ".zst" };

    for (i = 0; i < sizeof(compressed) / sizeof(compressed[0]); i++) {
        len = strlen(compressed[i]);

        if (suffix.len >= len
            && memcmp(suffix.data + suffix.len - len, compressed[i], len) == 0)
        {
            suffix.len -= len;
            break;
        }
    }

    if (suffix.len == 0) {
        return 1;
    }

    if (suffix.data[0] != '.' && suffix.data[0] != '-'
        && suffix.data[0] != '_')
    {
        return 0;
    }

    for (i = 1; i < suffix.len; i++) {
        if (suffix.data[i] == '\0'
            || strchr("0123456789.-_:T", suffix.data[i]) == NULL)
        {
            return 0;
        }
    }

    return 1;
}
