
#include <strings.h>

#include "replay_conf.h"
#include "replay_conf_limit.h"
#include "replay_conf_log.h"
#include "replay_conf_param.h"
#include "replay_conf_token.h"
#include "replay_conf_zone.h"
#include "replay_server.h"
#include "sw_parse.h"


/* what may stand where */

#define REPLAY_CONF_HTTP          0x01
#define REPLAY_CONF_SERVER        0x02
#define REPLAY_CONF_LOCATION      0x04
#define REPLAY_CONF_SERVER_IF     0x08
#define REPLAY_CONF_LOCATION_IF   0x10
#define REPLAY_CONF_LIMIT_EXCEPT  0x20
#define REPLAY_CONF_ANYWHERE      0x3f

#define REPLAY_CONF_TAKES_BLOCK   0x40
#define REPLAY_CONF_OURS          0x80       /* what is wrong is an error */

#define REPLAY_CONF_BLOCKS_MAX    64

#define REPLAY_CONF_UNSET         (-1)


/* http, a server, or a location: what is said there */

typedef struct replay_conf_level_s  replay_conf_level_t;

struct replay_conf_level_s {
    replay_location_t           *location;   /* NULL: http */
    replay_server_t             *server;
    replay_conf_limits_t         limits;
    int                          dry_run;
    int                          prefix_v4;
    int                          prefix_v6;
    int                          api;
    replay_conf_level_t         *levels;     /* in it */
    replay_conf_level_t        **last;
    replay_conf_level_t         *next;
};


struct replay_conf_internal_s {
    replay_servers_t             servers;
    replay_array_t               logs;       /* replay_conf_log_t */
};


typedef struct {
    replay_pool_t               *pool;
    replay_conf_reader_t         reader;
    replay_conf_level_t          http;
    replay_array_t               zones;
    replay_array_t               formats;
    replay_array_t               notes;      /* char * */
    replay_array_t               lines;      /* of all levels */
    replay_array_t               limits;     /* of all places, pointers */
    replay_conf_internal_t      *internal;
    unsigned                     blocks;
} replay_conf_parser_t;


typedef struct {
    const char                  *name;
    unsigned                     flags;
    size_t                       min;        /* arguments */
    size_t                       max;
    int                        (*set)(replay_conf_parser_t *parser,
                                      replay_conf_level_t *level,
                                      unsigned context);
} replay_conf_command_t;


static const replay_conf_t *replay_conf_make(replay_conf_parser_t *parser,
    const char **error);
static int replay_conf_block(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context);
static int replay_conf_command(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context, replay_conf_token_e token);
static int replay_conf_check_command(replay_conf_parser_t *parser,
    const replay_conf_command_t *command, replay_conf_token_e token);
static replay_conf_level_t *replay_conf_level(replay_conf_parser_t *parser,
    replay_conf_level_t *parent);
static void replay_conf_level_init(replay_conf_level_t *level);
static void replay_conf_note(replay_conf_parser_t *parser, const char *note);

static int replay_conf_cmd_include(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context);
static int replay_conf_cmd_http(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context);
static int replay_conf_cmd_server(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context);
static replay_conf_level_t *replay_conf_server(replay_conf_parser_t *parser,
    replay_conf_level_t *parent);
static int replay_conf_cmd_location(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context);
static int replay_conf_cmd_if(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context);
static int replay_conf_cmd_limit_except(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context);
static int replay_conf_cmd_listen(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context);
static int replay_conf_cmd_server_name(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context);
static int replay_conf_cmd_return(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context);
static int replay_conf_cmd_rewrite(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context);
static int replay_conf_cmd_break(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context);
static int replay_conf_cmd_internal(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context);
static int replay_conf_cmd_pass(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context);
static int replay_conf_cmd_log_format(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context);
static int replay_conf_cmd_access_log(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context);
static int replay_conf_cmd_zone(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context);
static int replay_conf_cmd_limit(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context);
static int replay_conf_cmd_dry_run(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context);
static int replay_conf_cmd_client_prefix(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context);
static int replay_conf_cmd_api(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context);

static int replay_conf_resolve(replay_conf_parser_t *parser);
static void replay_conf_merge(replay_conf_parser_t *parser,
    const replay_conf_level_t *parent, replay_conf_level_t *level);
static void replay_conf_merge_limits(replay_conf_parser_t *parser,
    replay_conf_level_t *level);


static const replay_conf_command_t  replay_conf_commands[] = {

    { "include", REPLAY_CONF_ANYWHERE, 1, 1, replay_conf_cmd_include },

    { "http", REPLAY_CONF_HTTP|REPLAY_CONF_TAKES_BLOCK, 0, 0,
      replay_conf_cmd_http },

    { "server", REPLAY_CONF_HTTP|REPLAY_CONF_TAKES_BLOCK, 0, 0,
      replay_conf_cmd_server },

    { "location",
      REPLAY_CONF_SERVER|REPLAY_CONF_LOCATION|REPLAY_CONF_TAKES_BLOCK, 1, 2,
      replay_conf_cmd_location },

    { "if",
      REPLAY_CONF_SERVER|REPLAY_CONF_LOCATION|REPLAY_CONF_TAKES_BLOCK, 1, 99,
      replay_conf_cmd_if },

    { "limit_except", REPLAY_CONF_LOCATION|REPLAY_CONF_TAKES_BLOCK, 1, 99,
      replay_conf_cmd_limit_except },

    { "listen", REPLAY_CONF_SERVER, 1, 99, replay_conf_cmd_listen },

    { "server_name", REPLAY_CONF_SERVER, 1, SIZE_MAX,
      replay_conf_cmd_server_name },

    { "return", REPLAY_CONF_SERVER|REPLAY_CONF_LOCATION, 1, 2,
      replay_conf_cmd_return },

    { "rewrite",
      REPLAY_CONF_SERVER|REPLAY_CONF_SERVER_IF
                        |REPLAY_CONF_LOCATION|REPLAY_CONF_LOCATION_IF, 2, 3,
      replay_conf_cmd_rewrite },

    { "break",
      REPLAY_CONF_SERVER|REPLAY_CONF_SERVER_IF
                        |REPLAY_CONF_LOCATION|REPLAY_CONF_LOCATION_IF, 0, 0,
      replay_conf_cmd_break },

    { "internal", REPLAY_CONF_LOCATION, 0, 0, replay_conf_cmd_internal },

    { "proxy_pass", REPLAY_CONF_LOCATION, 1, 1, replay_conf_cmd_pass },

    { "fastcgi_pass", REPLAY_CONF_LOCATION, 1, 1, replay_conf_cmd_pass },

    { "uwsgi_pass", REPLAY_CONF_LOCATION, 1, 1, replay_conf_cmd_pass },

    { "scgi_pass", REPLAY_CONF_LOCATION, 1, 1, replay_conf_cmd_pass },

    { "grpc_pass", REPLAY_CONF_LOCATION, 1, 1, replay_conf_cmd_pass },

    { "memcached_pass", REPLAY_CONF_LOCATION, 1, 1, replay_conf_cmd_pass },

    { "log_format", REPLAY_CONF_HTTP, 2, SIZE_MAX,
      replay_conf_cmd_log_format },

    { "access_log", REPLAY_CONF_ANYWHERE, 1, 99, replay_conf_cmd_access_log },

    { "slidewin_zone", REPLAY_CONF_HTTP|REPLAY_CONF_OURS, 3, 99,
      replay_conf_cmd_zone },

    { "slidewin",
      REPLAY_CONF_HTTP|REPLAY_CONF_SERVER|REPLAY_CONF_LOCATION
                      |REPLAY_CONF_LOCATION_IF|REPLAY_CONF_OURS, 1, 99,
      replay_conf_cmd_limit },

    { "slidewin_dry_run",
      REPLAY_CONF_HTTP|REPLAY_CONF_SERVER|REPLAY_CONF_LOCATION
                      |REPLAY_CONF_OURS, 1, 1,
      replay_conf_cmd_dry_run },

    { "slidewin_client_prefix",
      REPLAY_CONF_HTTP|REPLAY_CONF_SERVER|REPLAY_CONF_OURS, 2, 2,
      replay_conf_cmd_client_prefix },

    { "slidewin_api", REPLAY_CONF_LOCATION|REPLAY_CONF_OURS, 0, 2,
      replay_conf_cmd_api },

    { NULL, 0, 0, 0, NULL }
};


const replay_conf_t *
replay_conf_read(replay_pool_t *pool, const char *file, const char **error)
{
    replay_conf_parser_t  parser;

    memset(&parser, 0, sizeof(replay_conf_parser_t));

    parser.pool = pool;
    parser.reader.pool = pool;

    (void) replay_conf_open(&parser.reader, file);

    return replay_conf_make(&parser, error);
}


const replay_conf_t *
replay_conf_parse(replay_pool_t *pool, const char *name, replay_text_t text,
    const char **error)
{
    replay_conf_parser_t  parser;

    memset(&parser, 0, sizeof(replay_conf_parser_t));

    parser.pool = pool;
    parser.reader.pool = pool;

    replay_conf_open_text(&parser.reader, name, text);

    return replay_conf_make(&parser, error);
}


static const replay_conf_t *
replay_conf_make(replay_conf_parser_t *parser, const char **error)
{
    size_t                    i, nservers;
    replay_conf_t            *conf;
    replay_server_t         **server;
    replay_servers_t         *servers;
    replay_conf_internal_t   *internal;

    *error = parser->reader.error;

    if (*error) {
        return NULL;
    }

    internal = replay_pool_alloc(parser->pool, sizeof(replay_conf_internal_t));
    memset(internal, 0, sizeof(replay_conf_internal_t));

    parser->internal = internal;

    replay_conf_level_init(&parser->http);
    replay_conf_log_init(parser->pool, &parser->formats);

    if (replay_conf_block(parser, &parser->http, REPLAY_CONF_HTTP) != 0
        || replay_conf_resolve(parser) != 0)
    {
        *error = parser->reader.error;
        return NULL;
    }

    servers = &internal->servers;
    nservers = servers->servers.nelts;

    /* limits of "http" apply to all requests, also if no server is told */

    if (nservers == 0) {
        (void) replay_conf_server(parser, &parser->http);
    }

    replay_conf_merge(parser, NULL, &parser->http);
    replay_servers_init(parser->pool, servers);

    conf = replay_pool_alloc(parser->pool, sizeof(replay_conf_t));
    memset(conf, 0, sizeof(replay_conf_t));

    conf->zones = parser->zones.elts;
    conf->nzones = parser->zones.nelts;
    conf->limits = parser->limits.elts;
    conf->nlimits = parser->limits.nelts;
    conf->formats = parser->formats.elts;
    conf->nformats = parser->formats.nelts;
    conf->notes = parser->notes.elts;
    conf->nnotes = parser->notes.nelts;
    conf->nservers = nservers;
    conf->internal = internal;

    server = servers->servers.elts;

    for (i = 0; i < servers->servers.nelts; i++) {
        conf->nlimited += server[i]->limited;
    }

    return conf;
}


static void
replay_conf_level_init(replay_conf_level_t *level)
{
    memset(level, 0, sizeof(replay_conf_level_t));

    level->dry_run = REPLAY_CONF_UNSET;
    level->prefix_v4 = REPLAY_CONF_UNSET;
    level->prefix_v6 = REPLAY_CONF_UNSET;
    level->last = &level->levels;
}


static replay_conf_level_t *
replay_conf_level(replay_conf_parser_t *parser, replay_conf_level_t *parent)
{
    replay_conf_level_t  *level;

    level = replay_pool_alloc(parser->pool, sizeof(replay_conf_level_t));
    replay_conf_level_init(level);

    level->server = parent->server;

    *parent->last = level;
    parent->last = &level->next;

    return level;
}


static void
replay_conf_note(replay_conf_parser_t *parser, const char *note)
{
    const char  **elt;

    elt = replay_array_push(parser->pool, &parser->notes, sizeof(char *));
    *elt = note;
}


/* up to the end of a block, or of all files */

static int
replay_conf_block(replay_conf_parser_t *parser, replay_conf_level_t *level,
    unsigned context)
{
    int                  rc;
    replay_conf_token_e  token;

    if (parser->blocks == REPLAY_CONF_BLOCKS_MAX) {
        return replay_conf_error(&parser->reader, &parser->reader.ref,
                                 "blocks are more than %d levels deep",
                                 REPLAY_CONF_BLOCKS_MAX);
    }

    parser->blocks++;

    for ( ;; ) {
        token = replay_conf_next(&parser->reader);

        if (token != REPLAY_CONF_LINE && token != REPLAY_CONF_BLOCK) {
            parser->blocks--;
            return token == REPLAY_CONF_ERROR ? REPLAY_CONF_ERROR : 0;
        }

        rc = replay_conf_command(parser, level, context, token);

        if (rc != 0) {
            return rc;
        }
    }
}


static int
replay_conf_command(replay_conf_parser_t *parser, replay_conf_level_t *level,
    unsigned context, replay_conf_token_e token)
{
    replay_text_t                *args;
    const replay_conf_command_t  *command;

    args = parser->reader.args.elts;

    for (command = replay_conf_commands; command->name; command++) {
        if (replay_text_is(args[0], command->name)) {
            break;
        }
    }

    /* "server" is also a directive of "upstream", and "map" may have any */

    if (command->name && (command->flags & context)) {

        if (replay_conf_check_command(parser, command, token) != 0) {
            return REPLAY_CONF_ERROR;
        }

        return command->set(parser, level, context);
    }

    if (command->name && (command->flags & REPLAY_CONF_OURS)) {
        return replay_conf_error(&parser->reader, &parser->reader.ref,
                                 "\"%s\" directive is not allowed here",
                                 command->name);
    }

    return token == REPLAY_CONF_BLOCK ? replay_conf_skip(&parser->reader) : 0;
}


static int
replay_conf_check_command(replay_conf_parser_t *parser,
    const replay_conf_command_t *command, replay_conf_token_e token)
{
    int     block;
    size_t  n;

    block = (command->flags & REPLAY_CONF_TAKES_BLOCK) != 0;
    n = parser->reader.args.nelts - 1;

    if (block && token != REPLAY_CONF_BLOCK) {
        return replay_conf_error(&parser->reader, &parser->reader.ref,
                                 "directive \"%s\" has no opening \"{\"",
                                 command->name);
    }

    if (!block && token == REPLAY_CONF_BLOCK) {
        return replay_conf_error(&parser->reader, &parser->reader.ref,
                                 "directive \"%s\" is not terminated by \";\"",
                                 command->name);
    }

    if (n < command->min || n > command->max) {
        return replay_conf_error(&parser->reader, &parser->reader.ref,
                                 "invalid number of arguments in \"%s\" "
                                 "directive", command->name);
    }

    return 0;
}


static int
replay_conf_cmd_include(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context)
{
    (void) level;
    (void) context;

    return replay_conf_include(&parser->reader);
}


/* what stands outside of it is taken for a part of it */

static int
replay_conf_cmd_http(replay_conf_parser_t *parser, replay_conf_level_t *level,
    unsigned context)
{
    return replay_conf_block(parser, level, context);
}


static int
replay_conf_cmd_server(replay_conf_parser_t *parser,
    replay_conf_level_t *parent, unsigned context)
{
    replay_conf_level_t  *level;

    (void) context;

    level = replay_conf_server(parser, parent);
    level->location->place.ref = parser->reader.ref;

    return replay_conf_block(parser, level, REPLAY_CONF_SERVER);
}


static replay_conf_level_t *
replay_conf_server(replay_conf_parser_t *parser, replay_conf_level_t *parent)
{
    replay_server_t      *server;
    replay_conf_level_t  *level;

    server = replay_server_add(parser->pool, &parser->internal->servers);
    server->location.place.name = replay_text_of("server");

    level = replay_conf_level(parser, parent);
    level->server = server;
    level->location = &server->location;

    return level;
}


static int
replay_conf_cmd_location(replay_conf_parser_t *parser,
    replay_conf_level_t *parent, unsigned context)
{
    size_t                n;
    const char           *error;
    replay_text_t        *args;
    replay_location_t    *location;
    replay_conf_level_t  *level;

    (void) context;

    args = parser->reader.args.elts;
    n = parser->reader.args.nelts;

    location = replay_location_add(parser->pool, parent->location, args + 1,
                                   n - 1, &error);
    if (location == NULL) {
        return replay_conf_error(&parser->reader, &parser->reader.ref, "%s",
                                 error);
    }

    location->place.ref = parser->reader.ref;

    level = replay_conf_level(parser, parent);
    level->location = location;

    return replay_conf_block(parser, level, REPLAY_CONF_LOCATION);
}


static int
replay_conf_cmd_if(replay_conf_parser_t *parser, replay_conf_level_t *level,
    unsigned context)
{
    replay_conf_level_t  inner;

    /* it has limits of its own, and ends "return" for its location as well */

    inner = *level;
    memset(&inner.limits, 0, sizeof(replay_conf_limits_t));

    return replay_conf_block(parser, &inner,
                             context == REPLAY_CONF_SERVER
                                 ? REPLAY_CONF_SERVER_IF
                                 : REPLAY_CONF_LOCATION_IF);
}


static int
replay_conf_cmd_limit_except(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context)
{
    (void) context;

    return replay_conf_block(parser, level, REPLAY_CONF_LIMIT_EXCEPT);
}


static int
replay_conf_cmd_listen(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context)
{
    int             is_default;
    size_t          i;
    replay_text_t  *args;

    (void) context;

    args = parser->reader.args.elts;
    is_default = 0;

    for (i = 2; i < parser->reader.args.nelts; i++) {
        is_default |= replay_text_is(args[i], "default_server")
                      || replay_text_is(args[i], "default");
    }

    replay_server_listen(parser->pool, &parser->internal->servers,
                         level->server, args[1], is_default);

    return 0;
}


static int
replay_conf_cmd_server_name(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context)
{
    size_t               i;
    const char          *error;
    replay_text_t       *args;
    replay_conf_place_t *place;

    (void) context;

    args = parser->reader.args.elts;
    place = &level->location->place;

    if (replay_text_is(place->name, "server")) {
        place->name = replay_text_of(replay_pool_print(parser->pool,
                                                       "server %s",
                                                       args[1].data));
    }

    for (i = 1; i < parser->reader.args.nelts; i++) {
        error = replay_server_add_name(parser->pool, level->server, args[i]);

        if (error) {
            return replay_conf_error(&parser->reader, &parser->reader.ref,
                                     "%s", error);
        }
    }

    return 0;
}


static int
replay_conf_cmd_return(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context)
{
    (void) parser;
    (void) context;

    if (!level->location->settled) {
        level->location->returns = 1;
    }

    return 0;
}


/* others change the URI and go on, or answer at once */

static int
replay_conf_cmd_rewrite(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context)
{
    replay_text_t  *args;

    args = parser->reader.args.elts;

    if (parser->reader.args.nelts == 4
        && (replay_text_is(args[3], "last")
            || replay_text_is(args[3], "break")))
    {
        return replay_conf_cmd_break(parser, level, context);
    }

    return 0;
}


static int
replay_conf_cmd_break(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context)
{
    (void) parser;
    (void) context;

    level->location->settled = 1;

    return 0;
}


static int
replay_conf_cmd_internal(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context)
{
    (void) parser;
    (void) context;

    level->location->internal = 1;

    return 0;
}


static int
replay_conf_cmd_pass(replay_conf_parser_t *parser, replay_conf_level_t *level,
    unsigned context)
{
    replay_text_t  name;

    (void) parser;
    (void) context;

    name = level->location->name;

    level->location->redirects = name.len && name.data[name.len - 1] == '/';

    return 0;
}


static int
replay_conf_cmd_log_format(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context)
{
    (void) level;
    (void) context;

    return replay_conf_log_format(&parser->reader, &parser->formats);
}


static int
replay_conf_cmd_access_log(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context)
{
    int          rc;
    const char  *note;

    (void) level;
    (void) context;

    rc = replay_conf_log_add(&parser->reader, &parser->internal->logs,
                             &parser->formats, &note);
    if (note) {
        replay_conf_note(parser, note);
    }

    return rc;
}


static int
replay_conf_cmd_zone(replay_conf_parser_t *parser, replay_conf_level_t *level,
    unsigned context)
{
    (void) level;
    (void) context;

    return replay_conf_zone_add(&parser->reader, &parser->zones);
}


static int
replay_conf_cmd_limit(replay_conf_parser_t *parser, replay_conf_level_t *level,
    unsigned context)
{
    if (context == REPLAY_CONF_LOCATION_IF) {
        replay_conf_note(parser,
                         replay_pool_print(parser->pool, "%s:%u: slidewin "
                                           "inside of if is left out",
                                           parser->reader.ref.file,
                                           parser->reader.ref.line));
    }

    return replay_conf_limit_add(&parser->reader, &level->limits,
                                 &parser->lines);
}


static int
replay_conf_cmd_dry_run(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context)
{
    replay_text_t  *args;

    (void) context;

    args = parser->reader.args.elts;

    if (level->dry_run != REPLAY_CONF_UNSET) {
        return replay_conf_error(&parser->reader, &parser->reader.ref,
                                 "\"slidewin_dry_run\" directive is "
                                 "duplicate");
    }

    if (strcasecmp(args[1].data, "on") == 0) {
        level->dry_run = 1;
        return 0;
    }

    if (strcasecmp(args[1].data, "off") == 0) {
        level->dry_run = 0;
        return 0;
    }

    return replay_conf_error(&parser->reader, &parser->reader.ref, "invalid "
                             "value \"%s\" in \"slidewin_dry_run\" directive, "
                             "it must be \"on\" or \"off\"", args[1].data);
}


static int
replay_conf_cmd_client_prefix(replay_conf_parser_t *parser,
    replay_conf_level_t *level, unsigned context)
{
    int             max;
    size_t          i;
    int64_t         prefix[2];
    replay_text_t  *args;

    (void) context;

    args = parser->reader.args.elts;

    if (level->prefix_v4 != REPLAY_CONF_UNSET) {
        return replay_conf_error(&parser->reader, &parser->reader.ref,
                                 "\"slidewin_client_prefix\" directive is "
                                 "duplicate");
    }

    for (i = 0; i < 2; i++) {
        max = i == 0 ? 32 : 128;

        if (sw_parse_count(args[i + 1].data, args[i + 1].len, max, &prefix[i])
            != SW_OK)
        {
            return replay_conf_error(&parser->reader, &parser->reader.ref,
                                     "invalid prefix \"%s\" in "
                                     "\"slidewin_client_prefix\" directive, "
                                     "it must be from 0 to %d",
                                     args[i + 1].data, max);
        }
    }

    level->prefix_v4 = (int) prefix[0];
    level->prefix_v6 = (int) prefix[1];

    return 0;
}


static int
replay_conf_cmd_api(replay_conf_parser_t *parser, replay_conf_level_t *level,
    unsigned context)
{
    (void) parser;
    (void) context;

    level->api = 1;

    return 0;
}


/* a limit may name a zone that is defined further down */

static int
replay_conf_resolve(replay_conf_parser_t *parser)
{
    size_t                      i, k;
    replay_conf_zone_t         *zone;
    replay_conf_limit_line_t  **line;

    line = parser->lines.elts;
    zone = parser->zones.elts;

    for (i = 0; i < parser->lines.nelts; i++) {

        for (k = 0; k < parser->zones.nelts; k++) {
            if (replay_text_is(zone[k].name, line[i]->zone.data)) {
                break;
            }
        }

        if (k == parser->zones.nelts) {
            return replay_conf_error(&parser->reader, &line[i]->limit.ref,
                                     "unknown slidewin zone \"%s\"",
                                     line[i]->zone.data);
        }

        line[i]->limit.zone = k;
    }

    return 0;
}


/* from the outside in, as ngx_http_slidewin_merge_loc_conf() */

static void
replay_conf_merge(replay_conf_parser_t *parser,
    const replay_conf_level_t *parent, replay_conf_level_t *level)
{
    replay_location_t    *location;
    replay_conf_level_t  *inner;

    if (parent) {

        if (level->limits.lines.nelts == 0 && !level->limits.is_off) {
            level->limits = parent->limits;
        }

        if (level->dry_run == REPLAY_CONF_UNSET) {
            level->dry_run = parent->dry_run;
        }

        if (level->prefix_v4 == REPLAY_CONF_UNSET) {
            level->prefix_v4 = parent->prefix_v4;
            level->prefix_v6 = parent->prefix_v6;
        }

        if (parent->location && parent->location->internal) {
            level->location->internal = 1;
        }
    }

    /* the endpoint is never limited, nor are locations that inherit this */

    if (level->api) {
        level->limits.lines.nelts = 0;
        level->limits.is_off = 1;
    }

    location = level->location;

    if (location) {
        location->place.dry_run = level->dry_run == 1;
        location->place.prefix_v4 = level->prefix_v4 == REPLAY_CONF_UNSET
                                    ? 32 : (unsigned) level->prefix_v4;
        location->place.prefix_v6 = level->prefix_v6 == REPLAY_CONF_UNSET
                                    ? 64 : (unsigned) level->prefix_v6;

        location->answered = location->place;

        replay_conf_merge_limits(parser, level);
    }

    for (inner = level->levels; inner; inner = inner->next) {
        replay_conf_merge(parser, level, inner);
    }
}


static void
replay_conf_merge_limits(replay_conf_parser_t *parser,
    replay_conf_level_t *level)
{
    size_t                       i, n;
    replay_conf_limit_t         *limits;
    const replay_conf_limit_t  **limit;
    replay_conf_limit_line_t   **line;

    n = level->limits.lines.nelts;
    line = level->limits.lines.elts;

    if (n == 0) {
        return;
    }

    limits = replay_pool_alloc(parser->pool, n * sizeof(replay_conf_limit_t));

    for (i = 0; i < n; i++) {
        limits[i] = line[i]->limit;
        limits[i].number = parser->limits.nelts;
        limits[i].dry_run |= level->location->place.dry_run;
        limits[i].joint = n > 1;

        limit = replay_array_push(parser->pool, &parser->limits,
                                  sizeof(replay_conf_limit_t *));
        *limit = &limits[i];
    }

    level->location->place.limits = limits;
    level->location->place.nlimits = n;

    if (level->location->type != REPLAY_LOCATION_NAMED
        && !level->location->returns && !level->location->internal
        && !level->server->location.returns)
    {
        level->server->limited = 1;
    }
}


const replay_conf_format_t *
replay_conf_format(const replay_conf_t *conf, replay_text_t name)
{
    size_t  i;

    for (i = 0; i < conf->nformats; i++) {
        if (conf->formats[i].name.len == name.len
            && memcmp(conf->formats[i].name.data, name.data, name.len) == 0)
        {
            return &conf->formats[i];
        }
    }

    return NULL;
}


const replay_conf_zone_t *
replay_conf_zone(const replay_conf_t *conf, replay_text_t name)
{
    size_t  i;

    for (i = 0; i < conf->nzones; i++) {
        if (conf->zones[i].name.len == name.len
            && memcmp(conf->zones[i].name.data, name.data, name.len) == 0)
        {
            return &conf->zones[i];
        }
    }

    return NULL;
}


const replay_conf_format_t *
replay_conf_log_format_of(const replay_conf_t *conf, const char *path)
{
    size_t                 i;
    const replay_array_t  *logs;

    logs = &conf->internal->logs;

    /* without an access_log nginx writes "combined"; but a part of an
     * nginx.conf may have a format and leave the rest to others */

    if (logs->nelts == 0) {
        return conf->nformats > 2 ? NULL : &conf->formats[conf->nformats - 1];
    }

    i = replay_conf_log_find(logs, conf->nformats, replay_text_of(path));

    return i < conf->nformats ? &conf->formats[i] : NULL;
}


const replay_conf_place_t *
replay_conf_place(const replay_conf_t *conf, replay_text_t host,
    replay_text_t uri)
{
    const replay_server_t  *server;

    server = replay_server_find(&conf->internal->servers, host);

    return server ? replay_location_find(&server->location, uri) : NULL;
}
