
#include "replay_json.h"


#define REPLAY_JSON_DEPTH   64
#define REPLAY_JSON_LEVELS  8


typedef struct {
    replay_text_t      levels[REPLAY_JSON_LEVELS];
    unsigned           n;
} replay_json_path_t;


struct replay_json_s {
    replay_json_path_t   paths[REPLAY_FIELDS_MAX];
    unsigned             n;

    /* of the line that is read */

    const char          *p;
    const char          *last;
    replay_text_t       *fields;
    char                *decoded;          /* strings with escapes */
    size_t               used;
    size_t               room;
};


static int replay_json_object(replay_json_t *json, uint64_t wanted,
    unsigned level, unsigned depth);
static int replay_json_array(replay_json_t *json, unsigned depth);
static int replay_json_value(replay_json_t *json, uint64_t wanted,
    unsigned level, unsigned depth);
static uint64_t replay_json_wanted(const replay_json_t *json,
    replay_text_t name, uint64_t wanted, unsigned level);
static int replay_json_string(replay_json_t *json, replay_text_t *text);
static size_t replay_json_decode(char *out, const char *p, const char *last);
static int32_t replay_json_hex(const char *p);
static char *replay_json_utf8(char *out, uint32_t code);
static int replay_json_literal(replay_json_t *json, replay_text_t *text);
static int replay_json_skip(replay_json_t *json, char ch);
static void replay_json_space(replay_json_t *json);


replay_json_t *
replay_json_create(replay_pool_t *pool)
{
    replay_json_t  *json;

    json = replay_pool_alloc(pool, sizeof(replay_json_t));
    memset(json, 0, sizeof(replay_json_t));

    return json;
}


void
replay_json_free(replay_json_t *json)
{
    free(json->decoded);
}


int
replay_json_want(replay_json_t *json, replay_text_t text, unsigned *fields)
{
    unsigned             i, j;
    const char          *p, *last;
    replay_text_t       *level;
    replay_json_path_t   path;

    memset(&path, 0, sizeof(replay_json_path_t));

    p = text.data;
    last = p + text.len;

    if (p < last && *p == '.') {
        p++;
    }

    for ( ;; ) {

        if (path.n == REPLAY_JSON_LEVELS) {
            return -1;
        }

        level = &path.levels[path.n++];
        level->data = p;

        while (p < last && *p != '.') {
            p++;
        }

        level->len = (size_t) (p - level->data);

        if (p == last) {
            break;
        }

        p++;
    }

    for (i = 0; i < json->n; i++) {

        if (json->paths[i].n != path.n) {
            continue;
        }

        for (j = 0; j < path.n; j++) {

            if (json->paths[i].levels[j].len != path.levels[j].len
                || memcmp(json->paths[i].levels[j].data, path.levels[j].data,
                          path.levels[j].len) != 0)
            {
                break;
            }
        }

        if (j == path.n) {
            return (int) i;
        }
    }

    json->paths[json->n++] = path;
    *fields = json->n;

    return (int) i;
}


const char *
replay_json_read(replay_json_t *json, replay_text_t text,
    replay_text_t *fields)
{
    uint64_t  wanted;

    json->p = text.data;
    json->last = text.data + text.len;
    json->fields = fields;
    json->used = 0;

    /* decoded strings are shorter; fields point into the buffer */

    if (json->room < text.len) {
        json->room = 2 * text.len;
        free(json->decoded);
        json->decoded = replay_alloc(json->room);
    }

    wanted = (json->n == 64) ? UINT64_MAX : ((uint64_t) 1 << json->n) - 1;

    replay_json_space(json);

    if (json->p == json->last || *json->p != '{') {
        return "it is no object of JSON";
    }

    if (!replay_json_object(json, wanted, 0, 0)) {
        return "it is not JSON";
    }

    replay_json_space(json);

    return json->p == json->last ? NULL : "there is more behind the JSON";
}


/* wanted are the paths that lead here */

static int
replay_json_object(replay_json_t *json, uint64_t wanted, unsigned level,
    unsigned depth)
{
    uint64_t       mine;
    replay_text_t  name;

    if (depth == REPLAY_JSON_DEPTH || !replay_json_skip(json, '{')) {
        return 0;
    }

    if (replay_json_skip(json, '}')) {
        return 1;
    }

    do {
        replay_json_space(json);

        if (!replay_json_string(json, &name)) {
            return 0;
        }

        mine = wanted ? replay_json_wanted(json, name, wanted, level) : 0;

        if (!replay_json_skip(json, ':')
            || !replay_json_value(json, mine, level + 1, depth + 1))
        {
            return 0;
        }

    } while (replay_json_skip(json, ','));

    return replay_json_skip(json, '}');
}


static uint64_t
replay_json_wanted(const replay_json_t *json, replay_text_t name,
    uint64_t wanted, unsigned level)
{
    unsigned                   i;
    uint64_t                   mine;
    const replay_json_path_t  *path;

    mine = 0;

    for (i = 0; i < json->n; i++) {
        path = &json->paths[i];

        if ((wanted & ((uint64_t) 1 << i)) && path->n > level
            && path->levels[level].len == name.len
            && memcmp(path->levels[level].data, name.data, name.len) == 0)
        {
            mine |= (uint64_t) 1 << i;
        }
    }

    return mine;
}


static int
replay_json_array(replay_json_t *json, unsigned depth)
{
    if (depth == REPLAY_JSON_DEPTH || !replay_json_skip(json, '[')) {
        return 0;
    }

    if (replay_json_skip(json, ']')) {
        return 1;
    }

    do {
        if (!replay_json_value(json, 0, 0, depth + 1)) {
            return 0;
        }

    } while (replay_json_skip(json, ','));

    return replay_json_skip(json, ']');
}


static int
replay_json_value(replay_json_t *json, uint64_t wanted, unsigned level,
    unsigned depth)
{
    int            null;
    unsigned       i;
    replay_text_t  text;

    replay_json_space(json);

    if (json->p == json->last) {
        return 0;
    }

    null = 0;

    switch (*json->p) {

    case '{':
        return replay_json_object(json, wanted, level, depth);

    case '[':
        return replay_json_array(json, depth);

    case '"':

        if (!replay_json_string(json, &text)) {
            return 0;
        }

        break;

    default:

        if (!replay_json_literal(json, &text)) {
            return 0;
        }

        null = replay_text_is(text, "null");
    }

    for (i = 0; wanted && i < json->n; i++) {

        if ((wanted & ((uint64_t) 1 << i)) && json->paths[i].n == level
            && !null)
        {
            json->fields[i] = text;
        }
    }

    return 1;
}


static int
replay_json_string(replay_json_t *json, replay_text_t *text)
{
    int          escapes;
    const char  *start;

    if (json->p == json->last || *json->p != '"') {
        return 0;
    }

    start = ++json->p;
    escapes = 0;

    for ( ;; ) {

        if (json->p == json->last) {
            return 0;
        }

        if (*json->p == '"') {
            break;
        }

        if (*json->p == '\\') {
            escapes = 1;
            json->p++;

            if (json->p == json->last) {
                return 0;
            }
        }

        json->p++;
    }

    text->data = start;
    text->len = (size_t) (json->p - start);

    if (escapes) {
        text->data = json->decoded + json->used;
        text->len = replay_json_decode(json->decoded + json->used, start,
                                       json->p);
        json->used += text->len;
    }

    json->p++;

    return 1;
}


/* an escape that is none stays as it is */

static size_t
replay_json_decode(char *out, const char *p, const char *last)
{
    char        *start;
    int32_t      code, low;
    const char  *found;

    static const char  names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";

    start = out;

    while (p < last) {

        if (*p != '\\' || p + 1 == last) {
            *out++ = *p++;
            continue;
        }

        found = p[1] ? strchr(names, p[1]) : NULL;

        if (found) {
            *out++ = bytes[found - names];
            p += 2;
            continue;
        }

        code = (p[1] == 'u' && last - p >= 6) ? replay_json_hex(p + 2) : -1;

        if (code < 0) {
            *out++ = *p++;
            continue;
        }

        p += 6;

        if (code >= 0xd800 && code < 0xdc00 && last - p >= 6
            && p[0] == '\\' && p[1] == 'u')
        {
            low = replay_json_hex(p + 2);

            if (low >= 0xdc00 && low < 0xe000) {
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                p += 6;
            }
        }

        out = replay_json_utf8(out, (uint32_t) code);
    }

    return (size_t) (out - start);
}


static int32_t
replay_json_hex(const char *p)
{
    int      i;
    char     ch;
    int32_t  code;

    code = 0;

    for (i = 0; i < 4; i++) {
        ch = p[i];

        if (ch >= '0' && ch <= '9') {
            code = code * 16 + (ch - '0');
            continue;
        }

        ch = (char) (ch | 0x20);

        if (ch < 'a' || ch > 'f') {
            return -1;
        }

        code = code * 16 + (ch - 'a' + 10);
    }

    return code;
}


static char *
replay_json_utf8(char *out, uint32_t code)
{
    if (code < 0x80) {
        *out++ = (char) code;
        return out;
    }

    if (code < 0x800) {
        *out++ = (char) (0xc0 | (code >> 6));
        *out++ = (char) (0x80 | (code & 0x3f));
        return out;
    }

    if (code < 0x10000) {
        *out++ = (char) (0xe0 | (code >> 12));

    } else {
        *out++ = (char) (0xf0 | (code >> 18));
        *out++ = (char) (0x80 | ((code >> 12) & 0x3f));
    }

    *out++ = (char) (0x80 | ((code >> 6) & 0x3f));
    *out++ = (char) (0x80 | (code & 0x3f));

    return out;
}


/* a number, true, false or null: what it is does not matter here */

static int
replay_json_literal(replay_json_t *json, replay_text_t *text)
{
    char         ch;
    const char  *start;

    start = json->p;

    while (json->p < json->last) {
        ch = *json->p;

        if (!((ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z')
              || ch == '-' || ch == '+' || ch == '.' || ch == 'E'))
        {
            break;
        }

        json->p++;
    }

    text->data = start;
    text->len = (size_t) (json->p - start);

    return text->len > 0;
}


static int
replay_json_skip(replay_json_t *json, char ch)
{
    replay_json_space(json);

    if (json->p == json->last || *json->p != ch) {
        return 0;
    }

    json->p++;

    return 1;
}


static void
replay_json_space(replay_json_t *json)
{
    while (json->p < json->last
           && (*json->p == ' ' || *json->p == '\t' || *json->p == '\n'
               || *json->p == '\r'))
    {
        json->p++;
    }
}
