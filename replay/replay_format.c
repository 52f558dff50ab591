
#include "replay_format.h"
#include "replay_json.h"


static const char *replay_format_end(const replay_format_part_t *part,
    replay_text_t next, const char *p, const char *last);
static int replay_name_byte(char ch);


static const replay_text_t  replay_time_local_name =
    replay_text("time_local");


const char *
replay_format_compile(replay_format_t *format, replay_pool_t *pool,
    const char *string)
{
    int                    rc;
    size_t                 i;
    replay_text_t          text;
    replay_piece_t         piece;
    replay_format_part_t  *part;

    memset(format, 0, sizeof(replay_format_t));
    format->pool = pool;

    text = replay_text_of(string);

    if (replay_text_is(text, "json")) {
        format->json = replay_json_create(pool);
        return NULL;
    }

    text = replay_pool_text(pool, text);

    /* no more parts than "$", and one */

    format->n = 1;

    for (i = 0; i < text.len; i++) {
        format->n += (text.data[i] == '$');
    }

    format->parts = replay_pool_alloc(pool,
                                      format->n * sizeof(*format->parts));
    memset(format->parts, 0, format->n * sizeof(*format->parts));

    part = format->parts;

    while ((rc = replay_piece_next(&text, &piece)) == 1) {

        if (piece.name.len == 0) {
            part->text = piece.text;
            continue;
        }

        if (part != format->parts && part->text.len == 0) {
            return replay_pool_print(pool, "there is nothing between $%.*s "
                                     "and $%.*s: where one ends cannot be "
                                     "seen", (int) part[-1].name.len,
                                     part[-1].name.data, (int) piece.name.len,
                                     piece.name.data);
        }

        part->name = piece.name;
        part->field = -1;
        part++;
    }

    if (rc == -1) {
        return replay_pool_print(pool, "a \"$\" has no name behind it: %.*s",
                                 (int) text.len, text.data);
    }

    if (part == format->parts) {
        return "it has no variables";
    }

    part->field = -1;
    format->n = (size_t) (part - format->parts) + 1;

    return NULL;
}


void
replay_format_free(replay_format_t *format)
{
    if (format->json) {
        replay_json_free(format->json);
    }
}


int
replay_format_want(replay_format_t *format, replay_text_t name)
{
    size_t                 i;
    replay_format_part_t  *part;

    if (format->fields == REPLAY_FIELDS_MAX) {
        return -1;
    }

    if (format->json) {
        return replay_json_want(format->json, name, &format->fields);
    }

    for (i = 0; i < format->n; i++) {
        part = &format->parts[i];

        if (part->name.len != name.len || name.len == 0
            || memcmp(part->name.data, name.data, name.len) != 0)
        {
            continue;
        }

        if (part->field == -1) {
            part->field = (int) format->fields++;
        }

        if (format->used <= i) {
            format->used = i + 1;
        }

        return part->field;
    }

    return -1;
}


int
replay_format_has(replay_format_t *format, replay_text_t name)
{
    int             field;
    replay_line_t   line;

    field = replay_format_want(format, name);

    if (field == -1 || format->json == NULL) {
        return field;
    }

    memset(&line, 0, sizeof(replay_line_t));

    (void) replay_json_read(format->json, format->sample, line.fields);

    return line.fields[field].data ? field : -1;
}


const char *
replay_format_read(const replay_format_t *format, replay_text_t text,
    replay_line_t *line)
{
    size_t                       i;
    const char                  *p, *last, *end;
    replay_text_t               *field;
    const replay_format_part_t  *part;

    if (format->json) {
        memset(line->fields, 0, format->fields * sizeof(replay_text_t));
        return replay_json_read(format->json, text, line->fields);
    }

    p = text.data;
    last = p + text.len;

    for (i = 0; i < format->used; i++) {
        part = &format->parts[i];

        if ((size_t) (last - p) < part->text.len
            || (part->text.len
                && memcmp(p, part->text.data, part->text.len) != 0))
        {
            return "it is not of this format";
        }

        p += part->text.len;

        end = replay_format_end(part, part[1].text, p, last);

        if (end == NULL) {
            return "it is not of this format";
        }

        if (part->field != -1) {
            field = &line->fields[part->field];
            field->data = p;
            field->len = (size_t) (end - p);

            /* what nginx writes for a variable without a value */

            if (field->len == 1 && *p == '-') {
                field->data = NULL;
                field->len = 0;
            }
        }

        p = end;
    }

    return NULL;
}


/*
 * The next text ends a variable.  Between quotes a quote behind a backslash
 * does not: Apache writes it so, and nginx with escape=json.
 */

static const char *
replay_format_end(const replay_format_part_t *part, replay_text_t next,
    const char *p, const char *last)
{
    int          quoted;
    const char  *start, *back;

    if (next.len == 0) {
        return last;
    }

    start = p;

    quoted = next.data[0] == '"' && part->text.len
             && part->text.data[part->text.len - 1] == '"';

    /* it has a space, and a fixed length */

    if (part->name.len == replay_time_local_name.len
        && memcmp(part->name.data, replay_time_local_name.data,
                  part->name.len) == 0
        && last - p >= 26)
    {
        p += 26;
    }

    for ( ;; ) {
        p = memchr(p, next.data[0], (size_t) (last - p));

        if (p == NULL || (size_t) (last - p) < next.len) {
            return NULL;
        }

        if (next.len == 1 || memcmp(p, next.data, next.len) == 0) {

            for (back = p; quoted && back > start && back[-1] == '\\'; ) {
                back--;
            }

            if ((p - back) % 2 == 0) {
                return p;
            }
        }

        p++;
    }
}


int
replay_piece_next(replay_text_t *text, replay_piece_t *piece)
{
    int          braces;
    size_t       len;
    const char  *p, *last;

    p = text->data;
    last = p + text->len;

    piece->text.data = p;
    piece->text.len = 0;
    piece->name.data = NULL;
    piece->name.len = 0;

    if (p == last) {
        return 0;
    }

    if (*p != '$') {
        p = memchr(p, '$', text->len);
        len = p ? (size_t) (p - text->data) : text->len;
        piece->text.len = len;

        text->data += len;
        text->len -= len;

        return 1;
    }

    p++;
    braces = (p < last && *p == '{');
    p += braces;

    piece->name.data = p;

    while (p < last && replay_name_byte(*p)) {
        p++;
    }

    piece->name.len = (size_t) (p - piece->name.data);

    if (piece->name.len == 0 || (braces && (p == last || *p != '}'))) {
        return -1;
    }

    p += braces;

    text->data = p;
    text->len = (size_t) (last - p);

    return 1;
}


static int
replay_name_byte(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z')
           || (ch >= '0' && ch <= '9') || ch == '_';
}
