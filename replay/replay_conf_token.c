
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "replay_conf_token.h"


#define REPLAY_CONF_INCLUDES   32
#define REPLAY_CONF_FILE_SIZE  67108864
#define REPLAY_CONF_CHUNK      16384


struct replay_conf_file_s {
    const char          *name;
    int                  open;               /* else the text is to be read */
    replay_text_t        text;
    size_t               pos;
    unsigned             line;
    unsigned             blocks;             /* of this file, not yet ended */
    unsigned             includes;           /* above it */
    replay_conf_file_t  *next;
};


/* what a word is in, while it is read */

typedef struct {
    size_t               start;
    unsigned             in_word:1;
    unsigned             escaped:1;
    unsigned             variable:1;         /* a "{" may follow its "$" */
    unsigned             need_space:1;       /* a quoted word has ended */
    char                 quote;
} replay_conf_word_t;


static replay_conf_file_t *replay_conf_push(replay_conf_reader_t *reader,
    const char *name);
static int replay_conf_load(replay_conf_reader_t *reader,
    replay_conf_file_t *file);
static int replay_conf_read_file(replay_conf_reader_t *reader,
    replay_conf_file_t *file, FILE *in);
static int replay_conf_end_of_file(replay_conf_reader_t *reader,
    const replay_conf_word_t *word);
static replay_conf_token_e replay_conf_token(replay_conf_reader_t *reader,
    char ch);
static void replay_conf_word_begins(replay_conf_word_t *word, char ch,
    size_t pos);
static int replay_conf_word_ends(replay_conf_word_t *word, char ch);
static void replay_conf_add_word(replay_conf_reader_t *reader, size_t start,
    size_t end);
static int replay_conf_unexpected(replay_conf_reader_t *reader, char ch);
static int replay_conf_include_all(replay_conf_reader_t *reader,
    const char *pattern);
static int replay_conf_skip_lua(replay_conf_reader_t *reader);
static size_t replay_conf_lua_bracket(replay_text_t text, size_t pos);
static void replay_conf_skip_lua_text(replay_conf_file_t *file,
    size_t equals);
static void replay_conf_skip_lua_string(replay_conf_file_t *file);


int
replay_conf_error(replay_conf_reader_t *reader, const replay_conf_ref_t *ref,
    const char *fmt, ...)
{
    char     text[1024];
    va_list  args;

    va_start(args, fmt);
    (void) vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);

    if (reader->error) {
        return REPLAY_CONF_ERROR;
    }

    /* the first file is named by no line */

    reader->error = ref->line
                    ? replay_pool_print(reader->pool, "%s:%u: %s", ref->file,
                                        ref->line, text)
                    : replay_pool_print(reader->pool, "%s", text);

    return REPLAY_CONF_ERROR;
}


int
replay_conf_open(replay_conf_reader_t *reader, const char *name)
{
    const char  *slash;

    slash = strrchr(name, '/');

    reader->prefix = replay_pool_print(reader->pool, "%.*s",
                                       slash ? (int) (slash - name + 1) : 0,
                                       name);
    reader->ref.file = name;

    return replay_conf_load(reader, replay_conf_push(reader, name));
}


void
replay_conf_open_text(replay_conf_reader_t *reader, const char *name,
    replay_text_t text)
{
    replay_conf_file_t  *file;

    file = replay_conf_push(reader, name);
    file->open = 1;
    file->text = text;

    reader->prefix = NULL;
}


static replay_conf_file_t *
replay_conf_push(replay_conf_reader_t *reader, const char *name)
{
    replay_conf_file_t  *file;

    file = replay_pool_alloc(reader->pool, sizeof(replay_conf_file_t));
    memset(file, 0, sizeof(replay_conf_file_t));

    file->name = name;
    file->line = 1;
    file->next = reader->file;

    reader->file = file;

    return file;
}


static int
replay_conf_load(replay_conf_reader_t *reader, replay_conf_file_t *file)
{
    int    rc;
    FILE  *in;

    in = fopen(file->name, "r");

    if (in == NULL) {
        return replay_conf_error(reader, &reader->ref,
                                 "cannot open \"%s\": %s", file->name,
                                 strerror(errno));
    }

    rc = replay_conf_read_file(reader, file, in);

    (void) fclose(in);

    return rc;
}


/* a pipe tells no size */

static int
replay_conf_read_file(replay_conf_reader_t *reader, replay_conf_file_t *file,
    FILE *in)
{
    char    *text, *larger;
    size_t   n, len, size;

    size = REPLAY_CONF_CHUNK;
    len = 0;
    text = replay_pool_bytes(reader->pool, size);

    for ( ;; ) {
        n = fread(text + len, 1, size - len, in);

        if (n == 0) {
            break;
        }

        len += n;

        if (len < size) {
            continue;
        }

        if (size > REPLAY_CONF_FILE_SIZE) {
            return replay_conf_error(reader, &reader->ref,
                                     "\"%s\" is too large", file->name);
        }

        size *= 2;
        larger = replay_pool_bytes(reader->pool, size);
        memcpy(larger, text, len);
        text = larger;
    }

    if (ferror(in)) {
        return replay_conf_error(reader, &reader->ref,
                                 "cannot read \"%s\": %s", file->name,
                                 strerror(errno));
    }

    file->open = 1;
    file->text.data = text;
    file->text.len = len;

    return 0;
}


/* as ngx_conf_read_token() */

replay_conf_token_e
replay_conf_next(replay_conf_reader_t *reader)
{
    char                 ch;
    replay_conf_file_t  *file;
    replay_conf_word_t   word;

    memset(&word, 0, sizeof(replay_conf_word_t));
    reader->args.nelts = 0;

    while (reader->file) {
        file = reader->file;

        if (!file->open && replay_conf_load(reader, file) != 0) {
            return REPLAY_CONF_ERROR;
        }

        reader->ref.file = file->name;
        reader->ref.line = file->line;

        if (file->pos == file->text.len) {

            if (replay_conf_end_of_file(reader, &word) != 0) {
                return REPLAY_CONF_ERROR;
            }

            reader->file = file->next;
            continue;
        }

        ch = file->text.data[file->pos++];

        if (ch == '\n') {
            file->line++;
        }

        reader->ref.line = file->line;

        if (word.escaped) {
            word.escaped = 0;
            continue;
        }

        if (word.need_space) {
            word.need_space = 0;

            if (ch == ';' || ch == '{') {
                return replay_conf_token(reader, ch);
            }

            if (strchr(" \t\r\n", ch) != NULL && ch != '\0') {
                continue;
            }

            /* a condition of "if" may end with a quoted word */

            if (ch != ')') {
                return replay_conf_unexpected(reader, ch);
            }
        }

        if (!word.in_word) {

            if (ch == '#') {
                while (file->pos < file->text.len
                       && file->text.data[file->pos] != '\n')
                {
                    file->pos++;
                }

            } else if (ch == ';' || ch == '{' || ch == '}') {
                return replay_conf_token(reader, ch);

            } else {
                replay_conf_word_begins(&word, ch, file->pos);
            }

            continue;
        }

        if (!replay_conf_word_ends(&word, ch)) {
            continue;
        }

        replay_conf_add_word(reader, word.start, file->pos - 1);
        word.in_word = 0;

        if (ch == ';' || ch == '{') {
            return replay_conf_token(reader, ch);
        }
    }

    return REPLAY_CONF_DONE;
}


static int
replay_conf_end_of_file(replay_conf_reader_t *reader,
    const replay_conf_word_t *word)
{
    if (word->in_word || word->need_space || reader->args.nelts) {
        return replay_conf_error(reader, &reader->ref, "unexpected end of "
                                 "file, expecting \";\" or \"}\"");
    }

    if (reader->file->blocks) {
        return replay_conf_error(reader, &reader->ref, "unexpected end of "
                                 "file, expecting \"}\"");
    }

    return 0;
}


/* what ends a directive */

static replay_conf_token_e
replay_conf_token(replay_conf_reader_t *reader, char ch)
{
    if (ch == '}') {

        /* a file ends the blocks that it has begun, and no others */

        if (reader->args.nelts || reader->file->blocks == 0) {
            return replay_conf_unexpected(reader, ch);
        }

        reader->file->blocks--;

        return REPLAY_CONF_END;
    }

    if (reader->args.nelts == 0) {
        return replay_conf_unexpected(reader, ch);
    }

    if (ch == ';') {
        return REPLAY_CONF_LINE;
    }

    reader->file->blocks++;

    return REPLAY_CONF_BLOCK;
}


static int
replay_conf_unexpected(replay_conf_reader_t *reader, char ch)
{
    return replay_conf_error(reader, &reader->ref, "unexpected \"%c\"",
                             ch >= ' ' && ch < 0x7f ? ch : '?');
}


/* the position is the one behind the byte */

static void
replay_conf_word_begins(replay_conf_word_t *word, char ch, size_t pos)
{
    switch (ch) {

    case ' ':
    case '\t':
    case '\r':
    case '\n':
        return;

    case '"':
    case '\'':
        word->quote = ch;
        word->start = pos;
        break;

    case '\\':
        word->escaped = 1;
        word->start = pos - 1;
        break;

    case '$':
        word->variable = 1;
        word->start = pos - 1;
        break;

    default:
        word->start = pos - 1;
    }

    word->in_word = 1;
}


static int
replay_conf_word_ends(replay_conf_word_t *word, char ch)
{
    if (ch == '{' && word->variable) {
        return 0;
    }

    word->variable = 0;

    switch (ch) {

    case '\\':
        word->escaped = 1;
        return 0;

    case '$':
        word->variable = 1;
        return 0;

    case '"':
    case '\'':
        if (word->quote != ch) {
            return 0;
        }

        word->quote = '\0';
        word->need_space = 1;
        return 1;

    case ' ':
    case '\t':
    case '\r':
    case '\n':
    case ';':
    case '{':
        return word->quote == '\0';

    default:
        return 0;
    }
}


static void
replay_conf_add_word(replay_conf_reader_t *reader, size_t start, size_t end)
{
    char           *dst;
    const char     *src, *last;
    replay_text_t  *word;

    word = replay_array_push(reader->pool, &reader->args,
                             sizeof(replay_text_t));

    dst = replay_pool_bytes(reader->pool, end - start + 1);
    word->data = dst;

    src = reader->file->text.data + start;
    last = reader->file->text.data + end;

    while (src < last) {

        if (*src == '\\' && src + 1 < last) {

            switch (src[1]) {

            case '"':
            case '\'':
            case '\\':
                src++;
                break;

            case 't':
                *dst++ = '\t';
                src += 2;
                continue;

            case 'r':
                *dst++ = '\r';
                src += 2;
                continue;

            case 'n':
                *dst++ = '\n';
                src += 2;
                continue;
            }
        }

        *dst++ = *src++;
    }

    *dst = '\0';
    word->len = (size_t) (dst - word->data);
}


int
replay_conf_include(replay_conf_reader_t *reader)
{
    const char           *name;
    replay_text_t        *args;
    replay_conf_ref_t     ref;
    replay_conf_file_t   *file;

    if (reader->prefix == NULL) {
        return 0;
    }

    args = reader->args.elts;

    if (reader->args.nelts != 2) {
        return replay_conf_error(reader, &reader->ref, "invalid number of "
                                 "arguments in \"include\" directive");
    }

    name = args[1].data[0] == '/'
           ? args[1].data
           : replay_pool_print(reader->pool, "%s%s", reader->prefix,
                               args[1].data);

    if (reader->file->includes == REPLAY_CONF_INCLUDES) {
        return replay_conf_error(reader, &reader->ref, "files include each "
                                 "other more than %d levels deep",
                                 REPLAY_CONF_INCLUDES);
    }

    if (strpbrk(args[1].data, "*?[")) {
        return replay_conf_include_all(reader, name);
    }

    ref = reader->ref;

    file = replay_conf_push(reader, name);
    file->includes = file->next->includes + 1;

    reader->ref = ref;

    return replay_conf_load(reader, file);
}


/* opened when their turn comes; in the order of their names */

static int
replay_conf_include_all(replay_conf_reader_t *reader, const char *pattern)
{
    int                  rc;
    glob_t               found;
    size_t               i;
    unsigned             includes;
    replay_conf_file_t  *file;

    rc = glob(pattern, 0, NULL, &found);

    if (rc == GLOB_NOMATCH) {
        globfree(&found);
        return 0;
    }

    if (rc != 0) {
        globfree(&found);
        return replay_conf_error(reader, &reader->ref,
                                 "cannot look for \"%s\"", pattern);
    }

    includes = reader->file->includes + 1;

    for (i = found.gl_pathc; i > 0; i--) {
        file = replay_conf_push(reader,
                                replay_pool_print(reader->pool, "%s",
                                                  found.gl_pathv[i - 1]));
        file->includes = includes;
    }

    globfree(&found);

    return 0;
}


int
replay_conf_skip(replay_conf_reader_t *reader)
{
    unsigned        depth;
    replay_text_t  *args;

    static const char  lua[] = "_by_lua_block";

    depth = 1;

    for ( ;; ) {

        args = reader->args.elts;

        if (reader->args.nelts && args[0].len >= sizeof(lua) - 1
            && replay_text_is((replay_text_t) {
                                  args[0].data + args[0].len
                                  - (sizeof(lua) - 1),
                                  sizeof(lua) - 1 }, lua)
            && replay_conf_skip_lua(reader) != 0)
        {
            return REPLAY_CONF_ERROR;
        }

        /* nothing but a block begins the loop anew */

        for ( ;; ) {

            switch (replay_conf_next(reader)) {

            case REPLAY_CONF_LINE:
                continue;

            case REPLAY_CONF_BLOCK:
                depth++;
                break;

            case REPLAY_CONF_END:
                if (--depth == 0) {
                    return 0;
                }

                continue;

            default:
                return REPLAY_CONF_ERROR;
            }

            break;
        }
    }
}


/* up to the "}" of the block: Lua has quotes and comments of its own */

static int
replay_conf_skip_lua(replay_conf_reader_t *reader)
{
    char                 ch;
    size_t               equals;
    unsigned             depth;
    replay_conf_file_t  *file;

    file = reader->file;
    depth = 0;

    while (file->pos < file->text.len) {

        ch = file->text.data[file->pos];

        if (ch == '}' && depth-- == 0) {
            return 0;
        }

        if (ch == '\'' || ch == '"') {
            replay_conf_skip_lua_string(file);
            continue;
        }

        equals = replay_conf_lua_bracket(file->text, file->pos);

        if (equals != SIZE_MAX) {
            replay_conf_skip_lua_text(file, equals);
            continue;
        }

        if (ch == '-' && file->pos + 1 < file->text.len
            && file->text.data[file->pos + 1] == '-'
            && replay_conf_lua_bracket(file->text, file->pos + 2) == SIZE_MAX)
        {
            while (file->pos < file->text.len
                   && file->text.data[file->pos] != '\n')
            {
                file->pos++;
            }

            continue;
        }

        depth += ch == '{';
        file->line += ch == '\n';
        file->pos++;
    }

    reader->ref.line = file->line;

    return replay_conf_error(reader, &reader->ref, "unexpected end of file, "
                             "expecting \"}\"");
}


/* how many "=" are in "[==[", SIZE_MAX if it is something else */

static size_t
replay_conf_lua_bracket(replay_text_t text, size_t pos)
{
    size_t  equals;

    if (pos >= text.len || text.data[pos] != '[') {
        return SIZE_MAX;
    }

    pos++;
    equals = 0;

    while (pos < text.len && text.data[pos] == '=') {
        equals++;
        pos++;
    }

    return pos < text.len && text.data[pos] == '[' ? equals : SIZE_MAX;
}


static void
replay_conf_skip_lua_text(replay_conf_file_t *file, size_t equals)
{
    size_t  i;

    for (file->pos += equals + 2; file->pos < file->text.len; file->pos++) {

        file->line += file->text.data[file->pos] == '\n';

        if (file->text.data[file->pos] != ']') {
            continue;
        }

        i = file->pos + 1;

        while (i < file->text.len && file->text.data[i] == '=') {
            i++;
        }

        if (i - file->pos - 1 == equals && i < file->text.len
            && file->text.data[i] == ']')
        {
            file->pos = i + 1;
            return;
        }
    }
}


static void
replay_conf_skip_lua_string(replay_conf_file_t *file)
{
    char  quote;

    quote = file->text.data[file->pos++];

    while (file->pos < file->text.len) {

        if (file->text.data[file->pos] == quote) {
            file->pos++;
            return;
        }

        if (file->text.data[file->pos] == '\\'
            && file->pos + 1 < file->text.len)
        {
            file->pos++;
        }

        file->line += file->text.data[file->pos] == '\n';
        file->pos++;
    }
}
