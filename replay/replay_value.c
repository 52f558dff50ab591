
#include <arpa/inet.h>

#include "replay_value.h"
#include "sw_key.h"
#include "sw_text.h"


typedef enum {
    REPLAY_TEXT = 0,                       /* no variable */
    REPLAY_FIELD,
    REPLAY_METHOD,
    REPLAY_TARGET,
    REPLAY_URI,
    REPLAY_ARGS,
    REPLAY_ARG,
    REPLAY_IS_ARGS,
    REPLAY_PROTOCOL,
    REPLAY_CLIENT
} replay_value_e;


/* the field is what it is made of */

struct replay_value_part_s {
    replay_value_e   kind;
    int              field;
    replay_text_t    text;                 /* or the name of an argument */
};


/* made of the first source that the log has, if it has none of the name */

typedef struct {
    const char      *name;
    replay_value_e   kind;
    const char      *sources[2];
} replay_derived_t;


static int replay_value_part(replay_value_part_t *part,
    replay_format_t *format, replay_text_t name, int later);
static int replay_want(replay_format_t *format, const char *name);
static replay_text_t replay_part_get(const replay_value_part_t *part,
    replay_record_t *record);
static void replay_record_target(replay_record_t *record,
    const replay_value_part_t *part);
static replay_text_t replay_record_uri(replay_record_t *record);
static replay_text_t replay_record_arg(replay_record_t *record,
    replay_text_t name);
static replay_text_t replay_record_client(replay_record_t *record,
    replay_text_t address);
static char *replay_record_scratch(replay_record_t *record, size_t size);


static const replay_derived_t  replay_derived[] = {
    { "slidewin_client",    REPLAY_CLIENT,   { "remote_addr", NULL } },
    { "binary_remote_addr", REPLAY_FIELD,    { "remote_addr", NULL } },
    { "request_method",     REPLAY_FIELD,    { "method", NULL } },
    { "request_method",     REPLAY_METHOD,   { "request", NULL } },
    { "method",             REPLAY_METHOD,   { "request", NULL } },
    { "request_uri",        REPLAY_TARGET,   { "request", NULL } },
    { "uri",                REPLAY_URI,      { "request_uri", "request" } },
    { "document_uri",       REPLAY_URI,      { "request_uri", "request" } },
    { "args",               REPLAY_ARGS,     { "request_uri", "request" } },
    { "query_string",       REPLAY_ARGS,     { "request_uri", "request" } },
    { "is_args",            REPLAY_IS_ARGS,  { "request_uri", "request" } },
    { "server_protocol",    REPLAY_PROTOCOL, { "request", NULL } },
    { "host",               REPLAY_FIELD,    { "http_host", "server_name" } },
    { NULL,                 REPLAY_TEXT,     { NULL, NULL } }
};


const char *
replay_value_compile(replay_value_t *value, replay_format_t *format,
    replay_text_t text)
{
    int                   rc;
    size_t                i, n;
    replay_piece_t        piece;
    replay_value_part_t  *part;

    value->text = text;
    value->n = 0;

    n = 1;

    for (i = 0; i < text.len; i++) {
        n += (text.data[i] == '$') ? 2 : 0;
    }

    value->parts = replay_pool_alloc(format->pool,
                                     n * sizeof(replay_value_part_t));

    if (text.len > 1 && text.data[0] == '.') {

        if (format->json == NULL) {
            return "a member of JSON, and the log is not JSON";
        }

        part = &value->parts[value->n++];
        memset(part, 0, sizeof(replay_value_part_t));
        part->kind = REPLAY_FIELD;
        part->field = replay_format_want(format, text);

        return part->field == -1 ? "it is nested too deep" : NULL;
    }

    while ((rc = replay_piece_next(&text, &piece)) == 1) {
        part = &value->parts[value->n++];
        memset(part, 0, sizeof(replay_value_part_t));

        if (piece.name.len == 0) {
            part->text = piece.text;
            continue;
        }

        if (!replay_value_part(part, format, piece.name, 1)) {
            return replay_pool_print(format->pool, "the log has no $%.*s",
                                     (int) piece.name.len, piece.name.data);
        }
    }

    return rc == -1 ? "a \"$\" has no name behind it" : NULL;
}


int
replay_value_exists(replay_format_t *format, const char *name)
{
    return replay_value_part(&(replay_value_part_t) { 0 }, format,
                             replay_text_of(name), 0);
}


/* later: what is neither there nor derived may be in later lines of JSON */

static int
replay_value_part(replay_value_part_t *part, replay_format_t *format,
    replay_text_t name, int later)
{
    int                      i;
    const replay_derived_t  *derived;

    part->kind = REPLAY_FIELD;
    part->field = replay_format_has(format, name);

    for (derived = replay_derived; part->field == -1 && derived->name; ) {

        if (!replay_text_is(name, derived->name)) {
            derived++;
            continue;
        }

        for (i = 0; i < 2 && part->field == -1 && derived->sources[i]; i++) {
            part->field = replay_want(format, derived->sources[i]);
        }

        if (part->field != -1) {
            part->kind = derived->kind;
        }

        derived++;
    }

    if (part->field != -1) {
        return 1;
    }

    if (replay_text_begins(name, "arg_") && name.len > 4) {
        part->kind = REPLAY_ARG;
        part->text.data = name.data + 4;
        part->text.len = name.len - 4;
        part->field = replay_want(format, "request_uri");

        if (part->field == -1) {
            part->field = replay_want(format, "request");
        }
    }

    if (format->json && part->field == -1 && later) {
        part->kind = REPLAY_FIELD;
        part->field = replay_format_want(format, name);
    }

    return part->field != -1;
}


static int
replay_want(replay_format_t *format, const char *name)
{
    return replay_format_has(format, replay_text_of(name));
}


replay_text_t
replay_value_get(const replay_value_t *value, replay_record_t *record)
{
    char          *p, *start;
    size_t         i, len;
    replay_text_t  text;

    record->used = 0;

    if (value->n == 1) {
        return replay_part_get(&value->parts[0], record);
    }

    start = replay_record_scratch(record, REPLAY_VALUE_MAX);
    p = start;

    for (i = 0; i < value->n; i++) {
        text = replay_part_get(&value->parts[i], record);

        len = REPLAY_VALUE_MAX - (size_t) (p - start);
        len = text.len < len ? text.len : len;

        if (len) {
            memcpy(p, text.data, len);
            p += len;
        }
    }

    text.data = start;
    text.len = (size_t) (p - start);

    return text;
}


static replay_text_t
replay_part_get(const replay_value_part_t *part, replay_record_t *record)
{
    replay_text_t  text;

    switch (part->kind) {

    case REPLAY_TEXT:
        return part->text;

    case REPLAY_FIELD:
        return record->line.fields[part->field];

    case REPLAY_CLIENT:
        return replay_record_client(record, record->line.fields[part->field]);

    default:
        break;
    }

    if (!record->have_target) {
        replay_record_target(record, part);
    }

    switch (part->kind) {

    case REPLAY_METHOD:
        return record->method;

    case REPLAY_TARGET:
        return record->target;

    case REPLAY_PROTOCOL:
        return record->protocol;

    case REPLAY_URI:
        return replay_record_uri(record);

    case REPLAY_ARGS:
        return record->args;

    case REPLAY_ARG:
        return replay_record_arg(record, part->text);

    default: /* REPLAY_IS_ARGS */
        text.data = "?";
        text.len = record->args.len ? 1 : 0;
        return text;
    }
}


/* of "GET /path?args HTTP/1.1", or of the target alone */

static void
replay_record_target(replay_record_t *record, const replay_value_part_t *part)
{
    const char     *p, *last, *space;
    replay_text_t   text;

    static const replay_text_t  none = replay_text("");

    text = record->line.fields[part->field];

    record->have_target = 1;
    record->method = none;
    record->protocol = none;
    record->target = none;
    record->path = none;
    record->args = none;

    if (text.len == 0) {
        return;
    }

    p = text.data;
    last = p + text.len;

    if (*p != '/') {
        space = memchr(p, ' ', text.len);

        if (space == NULL) {
            return;
        }

        record->method.data = p;
        record->method.len = (size_t) (space - p);

        p = space + 1;
        space = memrchr(p, ' ', (size_t) (last - p));

        if (space && last - space > 5 && memcmp(space, " HTTP/", 6) == 0) {
            record->protocol.data = space + 1;
            record->protocol.len = (size_t) (last - space - 1);
            last = space;
        }
    }

    record->target.data = p;
    record->target.len = (size_t) (last - p);

    /* http://host/path, as a proxy is asked */

    if (p < last && *p != '/') {
        space = memmem(p, (size_t) (last - p), "://", 3);

        if (space) {
            space = memchr(space + 3, '/', (size_t) (last - space - 3));
            p = space ? space : last;
        }
    }

    record->path.data = p;
    record->path.len = (size_t) (last - p);

    space = record->path.len ? memchr(p, '?', record->path.len) : NULL;

    if (space) {
        record->path.len = (size_t) (space - p);
        record->args.data = space + 1;
        record->args.len = (size_t) (last - space - 1);
    }
}


static replay_text_t
replay_record_uri(replay_record_t *record)
{
    if (!record->have_uri) {
        record->have_uri = 1;
        record->uri.data = record->uri_bytes;
        record->uri.len = replay_uri_normalise(record->uri_bytes,
                                               record->path);
    }

    return record->uri;
}


/* the first of that name, letters of any case, as nginx finds it */

static replay_text_t
replay_record_arg(replay_record_t *record, replay_text_t name)
{
    size_t         len;
    const char    *p, *last, *end;
    replay_text_t  text;

    text.data = NULL;
    text.len = 0;

    p = record->args.data;
    last = p + record->args.len;

    while (p < last) {
        end = memchr(p, '&', (size_t) (last - p));
        end = end ? end : last;

        len = (size_t) (end - p);

        if (len > name.len && p[name.len] == '='
            && strncasecmp(p, name.data, name.len) == 0)
        {
            text.data = p + name.len + 1;
            text.len = len - name.len - 1;
            break;
        }

        p = end + 1;
    }

    return text;
}


/* what is no address stays as it is, such as a name or unix: */

static replay_text_t
replay_record_client(replay_record_t *record, replay_text_t address)
{
    char            name[INET6_ADDRSTRLEN], *out;
    unsigned char   bytes[16];

    if (address.len == 0 || address.len >= sizeof(name)
        || (record->prefix.prefix_v4 == 32
            && memchr(address.data, ':', address.len) == NULL))
    {
        return address;
    }

    memcpy(name, address.data, address.len);
    name[address.len] = '\0';

    if (inet_pton(AF_INET, name, bytes) == 1) {
        out = replay_record_scratch(record, SW_CLIENT_LEN);
        address.len = sw_client_v4(out, bytes, record->prefix.prefix_v4);
        address.data = out;

    } else if (inet_pton(AF_INET6, name, bytes) == 1) {
        out = replay_record_scratch(record, SW_CLIENT_LEN);
        address.len = sw_client_v6(out, bytes, record->prefix.prefix_v4,
                                   record->prefix.prefix_v6);
        address.data = out;
    }

    return address;
}


/* a joined value and the clients in it; more than fit share the last bytes */

static char *
replay_record_scratch(replay_record_t *record, size_t size)
{
    char  *p;

    if (size > sizeof(record->scratch) - record->used) {
        record->used = sizeof(record->scratch) - size;
    }

    p = record->scratch + record->used;
    record->used += size;

    return p;
}


size_t
replay_uri_normalise(char *out, replay_text_t path)
{
    char    *p, *start, *last, *to;
    size_t   len;

    len = path.len < REPLAY_VALUE_MAX ? path.len : REPLAY_VALUE_MAX;

    if (len == 0) {
        return 0;
    }

    if (sw_text_from_uri(out, path.data, len, &len) != 0) {
        memcpy(out, path.data, len);
    }

    /* "//" is "/", "/./" is nothing, "/x/../" is "/" */

    start = out;
    last = out + len;
    to = out;

    for (p = out; p < last; ) {

        if (*p != '/') {
            *to++ = *p++;
            continue;
        }

        if (last - p >= 2 && p[1] == '/') {
            p++;
            continue;
        }

        if (last - p >= 2 && p[1] == '.' && (last - p == 2 || p[2] == '/')) {
            p += 2;

            if (p == last) {
                *to++ = '/';
            }

            continue;
        }

        if (last - p >= 3 && p[1] == '.' && p[2] == '.'
            && (last - p == 3 || p[3] == '/'))
        {
            p += 3;

            while (to > start && *--to != '/') { /* void */ }

            if (p == last) {
                *to++ = '/';
            }

            continue;
        }

        *to++ = *p++;
    }

    return (size_t) (to - out);
}
