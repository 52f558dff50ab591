
#include "replay_regex.h"
#include "replay_time.h"
#include "replay_where.h"


#define REPLAY_WHERE_SPACE  " \t\r\n"

/* a bound for parentheses and "not" */
#define REPLAY_WHERE_DEPTH  50


typedef enum {
    REPLAY_AND = 0,
    REPLAY_OR,
    REPLAY_NOT,
    REPLAY_EQUAL,
    REPLAY_PREFIX,
    REPLAY_REGEX,
    REPLAY_LESS,
    REPLAY_GREATER
} replay_where_e;


/* a term, or what joins or turns terms */

struct replay_where_s {
    replay_where_e      kind;
    int                 negative;          /* != and !~; <= is not >, >= */
    int                 is_time;
    replay_where_t     *left;
    replay_where_t     *right;
    replay_value_t      value;
    replay_text_t       text;
    double              number;
    replay_regex_t     *regex;
};


typedef struct {
    const char         *p;
    replay_format_t    *format;
    const char         *key;
    const char         *error;
    unsigned            depth;
} replay_where_parser_t;


static replay_where_t *replay_where_or(replay_where_parser_t *parser);
static replay_where_t *replay_where_and(replay_where_parser_t *parser);
static replay_where_t *replay_where_not(replay_where_parser_t *parser);
static replay_where_t *replay_where_term(replay_where_parser_t *parser);
static int replay_where_field(replay_where_parser_t *parser,
    replay_where_t *term, replay_text_t name);
static int replay_where_operator(replay_where_parser_t *parser,
    replay_where_t *term, int *caseless);
static int replay_where_operand(replay_where_parser_t *parser,
    replay_where_t *term, int caseless);
static replay_where_t *replay_where_join(replay_where_parser_t *parser,
    replay_where_e kind, replay_where_t *left, replay_where_t *right);
static int replay_where_word(replay_where_parser_t *parser,
    const char *word);
static replay_text_t replay_where_take(replay_where_parser_t *parser,
    const char *ends);
static const char *replay_where_place(const replay_where_parser_t *parser);
static void replay_where_space(replay_where_parser_t *parser);
static int replay_where_term_matches(const replay_where_t *term,
    replay_record_t *record, int64_t time);
static int replay_where_compare(const replay_where_t *term, double number);
static int replay_number(replay_text_t text, double *number);


static const char *const  replay_where_names[][2] = {
    { "method", "$request_method" },
    { "host",   "$host" },
    { NULL, NULL }
};


replay_where_t *
replay_where_compile(replay_format_t *format, const char *text,
    const char *key, const char **error)
{
    replay_where_t         *where;
    replay_where_parser_t   parser;

    memset(&parser, 0, sizeof(replay_where_parser_t));

    parser.p = text;
    parser.format = format;
    parser.key = key;

    where = replay_where_or(&parser);

    replay_where_space(&parser);

    if (where && *parser.p) {
        parser.error = replay_pool_print(format->pool,
                                "expected \"and\" or \"or\" %s",
                                replay_where_place(&parser));
        where = NULL;
    }

    *error = parser.error;

    return where;
}


static replay_where_t *
replay_where_or(replay_where_parser_t *parser)
{
    replay_where_t  *left;

    left = replay_where_and(parser);

    while (left && replay_where_word(parser, "or")) {
        left = replay_where_join(parser, REPLAY_OR, left,
                                 replay_where_and(parser));
    }

    return left;
}


static replay_where_t *
replay_where_and(replay_where_parser_t *parser)
{
    replay_where_t  *left;

    left = replay_where_not(parser);

    while (left && replay_where_word(parser, "and")) {
        left = replay_where_join(parser, REPLAY_AND, left,
                                 replay_where_not(parser));
    }

    return left;
}


static replay_where_t *
replay_where_not(replay_where_parser_t *parser)
{
    replay_where_t  *inner;

    if (parser->depth == REPLAY_WHERE_DEPTH) {
        parser->error = "too many parentheses";
        return NULL;
    }

    if (replay_where_word(parser, "not")) {
        parser->depth++;
        inner = replay_where_not(parser);
        parser->depth--;

        return inner ? replay_where_join(parser, REPLAY_NOT, inner, inner)
                     : NULL;
    }

    replay_where_space(parser);

    if (*parser->p != '(') {
        return replay_where_term(parser);
    }

    parser->p++;
    parser->depth++;
    inner = replay_where_or(parser);
    parser->depth--;

    replay_where_space(parser);

    if (inner && *parser->p != ')') {
        parser->error = "a \")\" is missing";
        return NULL;
    }

    parser->p += (inner != NULL);

    return inner;
}


static replay_where_t *
replay_where_join(replay_where_parser_t *parser, replay_where_e kind,
    replay_where_t *left, replay_where_t *right)
{
    replay_where_t  *where;

    if (right == NULL) {
        return NULL;
    }

    where = replay_pool_alloc(parser->format->pool, sizeof(replay_where_t));
    memset(where, 0, sizeof(replay_where_t));

    where->kind = kind;
    where->left = left;
    where->right = (kind == REPLAY_NOT) ? NULL : right;

    return where;
}


static replay_where_t *
replay_where_term(replay_where_parser_t *parser)
{
    int              caseless;
    replay_text_t    name;
    replay_where_t  *term;

    replay_where_space(parser);

    name = replay_where_take(parser, "=!~^<>()'\"");

    if (name.len == 0) {
        parser->error = replay_pool_print(parser->format->pool,
                                "expected a field such as uri, method, "
                                "status or $host %s",
                                replay_where_place(parser));
        return NULL;
    }

    term = replay_pool_alloc(parser->format->pool, sizeof(replay_where_t));
    memset(term, 0, sizeof(replay_where_t));

    if (!replay_where_field(parser, term, name)
        || !replay_where_operator(parser, term, &caseless)
        || !replay_where_operand(parser, term, caseless))
    {
        return NULL;
    }

    return term;
}


/* "uri" is $uri, ".user" is of JSON */

static int
replay_where_field(replay_where_parser_t *parser, replay_where_t *term,
    replay_text_t name)
{
    int          i;
    const char  *text, *error;

    text = NULL;

    if (replay_text_is(name, "time")) {
        term->is_time = 1;
        return 1;
    }

    if (replay_text_is(name, "client")) {
        text = parser->key;
    }

    for (i = 0; replay_where_names[i][0]; i++) {

        if (replay_text_is(name, replay_where_names[i][0])) {
            text = replay_where_names[i][1];
        }
    }

    if (text == NULL) {
        text = replay_pool_print(parser->format->pool, "%s%.*s",
                                 name.data[0] == '$' || name.data[0] == '.'
                                 ? "" : "$", (int) name.len, name.data);
    }

    error = replay_value_compile(&term->value, parser->format,
                                 replay_text_of(text));

    if (error) {
        parser->error = replay_pool_print(parser->format->pool,
                                          "%.*s: %s", (int) name.len,
                                          name.data, error);
        return 0;
    }

    return 1;
}


static int
replay_where_operator(replay_where_parser_t *parser, replay_where_t *term,
    int *caseless)
{
    size_t          i;
    replay_text_t   text;

    static const struct {
        const char      *text;
        replay_where_e   kind;
        int              negative;
        int              caseless;
    } operators[] = {
        { "=",   REPLAY_EQUAL,   0, 0 },
        { "!=",  REPLAY_EQUAL,   1, 0 },
        { "^~",  REPLAY_PREFIX,  0, 0 },
        { "!^~", REPLAY_PREFIX,  1, 0 },
        { "~",   REPLAY_REGEX,   0, 0 },
        { "~*",  REPLAY_REGEX,   0, 1 },
        { "!~",  REPLAY_REGEX,   1, 0 },
        { "!~*", REPLAY_REGEX,   1, 1 },
        { "<",   REPLAY_LESS,    0, 0 },
        { "<=",  REPLAY_GREATER, 1, 0 },
        { ">",   REPLAY_GREATER, 0, 0 },
        { ">=",  REPLAY_LESS,    1, 0 }
    };

    replay_where_space(parser);

    text.data = parser->p;
    text.len = strspn(parser->p, "=!~^<>*");

    for (i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {

        if (replay_text_is(text, operators[i].text)) {
            parser->p += text.len;
            term->kind = operators[i].kind;
            term->negative = operators[i].negative;
            *caseless = operators[i].caseless;
            return 1;
        }
    }

    parser->error = replay_pool_print(parser->format->pool,
                                "expected one of = != ^~ ~ ~* !~ !~* < <= > "
                                ">= %s", replay_where_place(parser));
    return 0;
}


static int
replay_where_operand(replay_where_parser_t *parser, replay_where_t *term,
    int caseless)
{
    char            quote;
    int64_t         time;
    const char     *error;
    replay_text_t   text;

    replay_where_space(parser);

    quote = *parser->p;

    if (quote == '"' || quote == '\'') {
        text.data = parser->p + 1;
        text.len = strcspn(text.data, quote == '"' ? "\"" : "'");

        if (text.data[text.len] == '\0') {
            parser->error = "a quote is not closed";
            return 0;
        }

        parser->p = text.data + text.len + 1;

    } else {
        text = replay_where_take(parser, "");

        if (text.len == 0) {
            parser->error = replay_pool_print(parser->format->pool,
                                              "expected a value %s",
                                              replay_where_place(parser));
            return 0;
        }
    }

    term->text = replay_pool_text(parser->format->pool, text);

    if (term->is_time) {
        time = replay_time_parse(text);

        if (time == REPLAY_TIME_BAD || term->kind == REPLAY_PREFIX
            || term->kind == REPLAY_REGEX)
        {
            parser->error = replay_pool_print(parser->format->pool,
                                "expected a time such as "
                                "2015-05-17T10:00:00 or 1431857103, compared "
                                "by = != < <= > >=: \"%s\"", term->text.data);
            return 0;
        }

        term->number = (double) time;
        return 1;
    }

    if (term->kind == REPLAY_LESS || term->kind == REPLAY_GREATER) {

        if (replay_number(text, &term->number)) {
            return 1;
        }

        parser->error = replay_pool_print(parser->format->pool,
                                          "expected a number: \"%s\"",
                                          term->text.data);
        return 0;
    }

    if (term->kind != REPLAY_REGEX) {
        return 1;
    }

    term->regex = replay_regex_compile(parser->format->pool, term->text,
                                       caseless, &error);

    if (term->regex == NULL) {
        parser->error = replay_pool_print(parser->format->pool,
                                          "bad regular expression \"%s\": %s",
                                          term->text.data, error);
        return 0;
    }

    return 1;
}


/* up to a space, or one of the ends; parentheses in it come in pairs */

static replay_text_t
replay_where_take(replay_where_parser_t *parser, const char *ends)
{
    unsigned        open;
    const char     *p;
    replay_text_t   text;

    p = parser->p;
    open = 0;

    while (*p && strchr(REPLAY_WHERE_SPACE, *p) == NULL
           && strchr(ends, *p) == NULL)
    {
        if (*p == ')' && open-- == 0) {
            break;
        }

        open += (*p++ == '(');
    }

    text.data = parser->p;
    text.len = (size_t) (p - parser->p);
    parser->p = p;

    return text;
}


static const char *
replay_where_place(const replay_where_parser_t *parser)
{
    if (*parser->p == '\0') {
        return "at its end";
    }

    return replay_pool_print(parser->format->pool, "at \"%s\"", parser->p);
}


static int
replay_where_word(replay_where_parser_t *parser, const char *word)
{
    size_t  len;

    replay_where_space(parser);

    len = strlen(word);

    if (strncmp(parser->p, word, len) != 0
        || (parser->p[len] != '('
            && strspn(parser->p + len, REPLAY_WHERE_SPACE) == 0))
    {
        return 0;
    }

    parser->p += len;

    return 1;
}


static void
replay_where_space(replay_where_parser_t *parser)
{
    parser->p += strspn(parser->p, REPLAY_WHERE_SPACE);
}


int
replay_where_matches(const replay_where_t *where, replay_record_t *record,
    int64_t time)
{
    switch (where->kind) {

    case REPLAY_AND:
        return replay_where_matches(where->left, record, time)
               && replay_where_matches(where->right, record, time);

    case REPLAY_OR:
        return replay_where_matches(where->left, record, time)
               || replay_where_matches(where->right, record, time);

    case REPLAY_NOT:
        return !replay_where_matches(where->left, record, time);

    default:
        return replay_where_term_matches(where, record, time);
    }
}


/* what is no number is neither less nor greater, nor either of them or equal */

static int
replay_where_term_matches(const replay_where_t *term, replay_record_t *record,
    int64_t time)
{
    int            yes;
    double         number;
    replay_text_t  text;

    if (term->is_time) {
        return replay_where_compare(term, (double) time);
    }

    text = replay_value_get(&term->value, record);

    switch (term->kind) {

    case REPLAY_LESS:
    case REPLAY_GREATER:
        return replay_number(text, &number)
               && replay_where_compare(term, number);

    case REPLAY_PREFIX:
        yes = text.len && text.len >= term->text.len
              && memcmp(text.data, term->text.data, term->text.len) == 0;
        break;

    case REPLAY_REGEX:
        text.data = text.data ? text.data : "";
        yes = replay_regex_match(term->regex, text);
        break;

    default: /* REPLAY_EQUAL */
        yes = text.len == term->text.len
              && (text.len == 0
                  || memcmp(text.data, term->text.data, text.len) == 0);
        break;
    }

    return yes != term->negative;
}


static int
replay_where_compare(const replay_where_t *term, double number)
{
    int  yes;

    switch (term->kind) {

    case REPLAY_LESS:
        yes = number < term->number;
        break;

    case REPLAY_GREATER:
        yes = number > term->number;
        break;

    default: /* REPLAY_EQUAL */
        yes = number == term->number;
        break;
    }

    return yes != term->negative;
}


/* digits, and a fraction */

static int
replay_number(replay_text_t text, double *number)
{
    char   buf[32], *end;

    if (text.len == 0 || text.len >= sizeof(buf)
        || text.data[0] < '0' || text.data[0] > '9')
    {
        return 0;
    }

    memcpy(buf, text.data, text.len);
    buf[text.len] = '\0';

    *number = strtod(buf, &end);

    return *end == '\0';
}
