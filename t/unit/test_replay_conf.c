
/*
 * What slidewin-replay reads from an nginx.conf, and which limits apply where.
 * That locations are those of nginx is shown in
 * t/replay/locations-as-nginx.t.
 */


#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay_conf.h"
#include "tap.h"


#define ZONES                                                                \
    "slidewin_zone $slidewin_client zone=login:10m rate=5r/m;\n"             \
    "slidewin_zone $remote_addr zone=all:1m rate=100r/10s;\n"


static replay_pool_t  pool;


typedef struct {
    const char  *conf;
    const char  *error;      /* what comes behind the line */
} bad_t;


static const bad_t  bad[] = {

    /* syntax */

    { "http {", "1: unexpected end of file, expecting \"}\"" },
    { "http { }\n }", "2: unexpected \"}\"" },
    { "worker_processes 1", "1: unexpected end of file, expecting \";\" or "
      "\"}\"" },
    { "a \"b\"c;", "1: unexpected \"c\"" },
    { ";", "1: unexpected \";\"" },
    { "\n{ }", "2: unexpected \"{\"" },
    { "a }", "1: unexpected \"}\"" },
    { "a 'b", "1: unexpected end of file, expecting \";\" or \"}\"" },
    { "http;", "1: directive \"http\" has no opening \"{\"" },
    { "log_format a b { }", "1: directive \"log_format\" is not terminated "
      "by \";\"" },
    { "http {\n content_by_lua_block { '}' ", "2: unexpected end of file, "
      "expecting \"}\"" },

    /* formats */

    { "log_format a x; log_format a y;", "1: duplicate \"log_format\" name "
      "\"a\"" },
    { "log_format combined x;", "1: duplicate \"log_format\" name "
      "\"combined\"" },
    { "log_format a escape=xml x;", "1: unknown log format escaping \"xml\"" },
    { "log_format a;", "1: invalid number of arguments in \"log_format\" "
      "directive" },

    /* zones */

    { "slidewin_zone $x zone=a:1m;", "1: invalid number of arguments in "
      "\"slidewin_zone\" directive" },
    { "slidewin_zone $x zone=a:1m algorithm=log;", "1: \"slidewin_zone\" must "
      "have \"rate\" parameter" },
    { "slidewin_zone $x rate=1r/s algorithm=log;", "1: \"slidewin_zone\" must "
      "have \"zone\" parameter" },
    { "slidewin_zone $x zone=a rate=1r/s;", "1: invalid zone size \"zone=a\" "
      "in \"slidewin_zone\" directive, it must be zone=<name>:<size>, such as "
      "zone=login:10m" },
    { "slidewin_zone $x zone=a:1g rate=1r/s;", "1: invalid zone size "
      "\"zone=a:1g\" in \"slidewin_zone\" directive, it must be "
      "zone=<name>:<size>, such as zone=login:10m" },
    { "slidewin_zone $x zone=a:1k rate=1r/s;", "1: zone \"zone=a:1k\" is too "
      "small, it must be at least 32k" },
    { "slidewin_zone $x zone=a:99999m rate=1r/s;", "1: zone \"zone=a:99999m\" "
      "is too large, it must be at most 32768m" },
    { "slidewin_zone $x zone=a$b:1m rate=1r/s;", "1: invalid zone name "
      "\"zone=a$b:1m\" in \"slidewin_zone\" directive, it must be up to 64 "
      "letters, digits, \"_\", \"-\" and \".\"" },
    { "slidewin_zone $x zone=a:1m\nrate=5/m;", "2: invalid rate \"rate=5/m\" "
      "in \"slidewin_zone\" directive, " },
    { "slidewin_zone $x zone=a:1m rate=999999999999999r/h;", "1: invalid rate "
      "\"rate=999999999999999r/h\" in \"slidewin_zone\" directive, the limit "
      "times the period in ms must be below 2^53" },
    { "slidewin_zone $x zone=a:1m rate=100001r/h algorithm=log;", "1: invalid "
      "rate \"rate=100001r/h\" in \"slidewin_zone\" directive, the limit of a "
      "log must be at most 100000, algorithm=strict has no such bound" },
    { "slidewin_zone $x zone=a:1m rate=1r/s algorithm=gcra;", "1: invalid "
      "algorithm \"algorithm=gcra\" in \"slidewin_zone\" directive, it must "
      "be counter, log, strict or fixed" },
    { "slidewin_zone $x zone=a:1m rate=1r/s slices=4;", "1: invalid parameter "
      "\"slices=4\" in \"slidewin_zone\" directive, only algorithm=strict has "
      "slices" },
    { "slidewin_zone $x zone=a:1m rate=1r/s algorithm=strict slices=0;",
      "1: invalid slices \"slices=0\" in \"slidewin_zone\" directive, it must "
      "be from 1 to 100" },
    { "slidewin_zone $x zone=a:1m rate=1r/s ban=2m..1m;", "1: invalid ban "
      "\"ban=2m..1m\" in \"slidewin_zone\" directive, it must be a time, or "
      "the first and the longest, such as 1m..1d" },
    { "slidewin_zone $x zone=a:1m rate=1r/s ban=1m.;", "1: invalid ban "
      "\"ban=1m.\" in " },
    { "slidewin_zone $x zone=a:1m rate=1r/s burst=5;", "1: invalid parameter "
      "\"burst=5\" in \"slidewin_zone\" directive, it must be one of zone=, "
      "rate=, " },
    { "slidewin_zone $x zone=a:1m rate=1r/s rate=2r/s;", "1: duplicate "
      "parameter \"rate=2r/s\" in \"slidewin_zone\" directive" },
    { "slidewin_zone $x zone=a:1m rate=1r/s; slidewin_zone $y zone=a:1m "
      "rate=1r/s;", "1: slidewin_zone \"a\" is already bound to key \"$x\"" },
    { "server { slidewin_zone $x zone=a:1m rate=1r/s; }", "1: "
      "\"slidewin_zone\" directive is not allowed here" },

    /* limits */

    { ZONES "slidewin;", "3: invalid number of arguments in \"slidewin\" "
      "directive" },
    { ZONES "slidewin cost=1;", "3: \"slidewin\" must have \"zone\" "
      "parameter" },
    { ZONES "slidewin zone=;", "3: invalid zone name \"zone=\" in "
      "\"slidewin\" directive" },
    { ZONES "server {\n slidewin zone=nosuch; }", "4: unknown slidewin zone "
      "\"nosuch\"" },
    { ZONES "slidewin zone=all cost=-1;", "3: invalid cost \"cost=-1\" in "
      "\"slidewin\" directive, it must be a whole number or a variable" },
    { ZONES "slidewin zone=all charge=1;", "3: invalid charge \"charge=1\" in "
      "\"slidewin\" directive, it must have a variable" },
    { ZONES "slidewin zone=all count=40;", "3: invalid statuses \"count=40\" "
      "in \"slidewin\" directive, they must be from 100 to 599 or classes as "
      "4xx, with commas between them" },
    { ZONES "slidewin zone=all count=4xx reset=401;", "3: status 401 is in "
      "both \"count\" and \"reset\" of \"slidewin\" directive" },
    { ZONES "slidewin zone=all delay=2h;", "3: invalid delay \"delay=2h\" in "
      "\"slidewin\" directive, it must be a time from 1ms to 1h" },
    { ZONES "slidewin zone=all if=x;", "3: invalid condition \"if=x\" in "
      "\"slidewin\" directive, it must have a variable" },
    { ZONES "slidewin zone=all headers=on;", "3: invalid headers "
      "\"headers=on\" in \"slidewin\" directive, it must be \"headers=off\"" },
    { ZONES "slidewin zone=all dry_run=1;", "3: invalid parameter "
      "\"dry_run=1\" in \"slidewin\" directive, it must be one of " },
    { ZONES "slidewin zone=all; slidewin zone=all;", "3: \"slidewin\" "
      "directive is duplicate" },
    { ZONES "slidewin zone=all; slidewin off;", "3: \"slidewin\" directive is "
      "duplicate" },
    { ZONES "slidewin off; slidewin zone=all;", "3: \"slidewin\" directive is "
      "duplicate" },
    { ZONES "slidewin off now;", "3: invalid parameter \"now\" after \"off\" "
      "in \"slidewin\" directive" },
    { ZONES "server { if ($x) { slidewin zone=all; } }", "3: \"slidewin\" "
      "directive is not allowed here" },
    { ZONES "server { location / { limit_except GET { slidewin zone=all; } } "
      "}", "3: \"slidewin\" directive is not allowed here" },
    { ZONES "server { location / { if ($x) { slidewin zone=no; } } }",
      "3: unknown slidewin zone \"no\"" },
    { "slidewin_dry_run yes;", "1: invalid value \"yes\" in "
      "\"slidewin_dry_run\" directive, it must be \"on\" or \"off\"" },
    { "slidewin_client_prefix 33 64;", "1: invalid prefix \"33\" in "
      "\"slidewin_client_prefix\" directive, it must be from 0 to 32" },
    { "slidewin_client_prefix 32 129;", "1: invalid prefix \"129\" in "
      "\"slidewin_client_prefix\" directive, it must be from 0 to 128" },

    /* servers and locations */

    { "server { location ~ ( { } }", "1: missing closing parenthesis in "
      "\"(\"" },
    { "server { location ! /x { } }", "1: invalid location modifier \"!\"" },
    { "server { location /a { location /b { } } }", "1: location \"/b\" is "
      "outside location \"/a\"" },
    { "server { location = /a { location /ab { } } }", "1: location \"/ab\" "
      "cannot be inside the exact location \"/a\"" },
    { "server { location @a { location /ab { } } }", "1: location \"/ab\" "
      "cannot be inside the named location \"@a\"" },
    { "server { location /a { location @b { } } }", "1: named location "
      "\"@b\" can be on the server level only" },
    { "server { location /a { } location ^~ /a { } }", "1: duplicate "
      "location \"/a\"" },
    { "server { server_name a..b; }", "1: server name \"a..b\" is invalid" },
    { "server { server_name *; }", "1: server name \"*\" is invalid" },
    { "server { server_name a.*.b; }", "1: server name \"a.*.b\" is "
      "invalid" },
    { "server { server_name ~; }", "1: empty regex in server name \"~\"" }
};


static const char *
said(const char *text)
{
    const char           *error;
    const replay_conf_t  *conf;

    conf = replay_conf_parse(&pool, "f", replay_text_of(text), &error);

    return conf ? "nothing" : error;
}


static const replay_conf_t *
parsed(const char *text)
{
    const char           *error;
    const replay_conf_t  *conf;

    conf = replay_conf_parse(&pool, "f", replay_text_of(text), &error);

    if (conf == NULL) {
        tap_diag("%s", error);
        tap_ok(0, "the configuration is accepted");
        exit(tap_done());
    }

    return conf;
}


static void
test_bad(void)
{
    size_t       i, len;
    const char  *error;

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        error = said(bad[i].conf);
        len = strlen(bad[i].error);

        if (!tap_ok(strncmp(error, "f:", 2) == 0
                    && strncmp(error + 2, bad[i].error, len) == 0,
                    "refused: %.60s", bad[i].error))
        {
            tap_diag("%s", bad[i].conf);
            tap_diag("said     %s", error);
            tap_diag("expected f:%s", bad[i].error);
        }
    }
}


static void
format_is(const replay_conf_t *conf, const char *name, const char *text,
    replay_escape_e escape)
{
    const replay_conf_format_t  *format;

    format = replay_conf_format(conf, replay_text_of(name));

    if (!tap_ok(format && replay_text_is(format->text, text)
                && format->escape == escape, "log_format %s", name)
        && format)
    {
        tap_diag("%.*s", (int) format->text.len, format->text.data);
    }
}


static void
test_formats(void)
{
    const replay_conf_t  *conf;

    conf = parsed(
        "user nginx; # log_format comment x;\n"
        "events { worker_connections 1; }\n"
        "stream { log_format main stream; }\n"
        "http {\n"
        "  log_format main '$remote_addr - \"$request\" '\n"
        "                  \"'${status}' \" $msec;\n"
        "  log_format json escape=json '{\"a\":\"$b\",' '\"c\":${d}}';\n"
        "  log_format raw escape=none a\\tb\\\\c\\\"\\'\\x$n;\n"
        "  log_format d escape=default \"q\\\"q\" 'it\\'s' #c\n a;\n"
        "  log_format brace ${a}}$b;\n"
        "  }");

    format_is(conf, "combined", "$remote_addr - $remote_user [$time_local] "
              "\"$request\" $status $body_bytes_sent \"$http_referer\" "
              "\"$http_user_agent\"", REPLAY_ESCAPE_DEFAULT);
    format_is(conf, "main", "$remote_addr - \"$request\" '${status}' $msec",
              REPLAY_ESCAPE_DEFAULT);
    format_is(conf, "json", "{\"a\":\"$b\",\"c\":${d}}", REPLAY_ESCAPE_JSON);
    format_is(conf, "raw", "a\tb\\c\"'\\x$n", REPLAY_ESCAPE_NONE);
    format_is(conf, "d", "q\"qit'sa", REPLAY_ESCAPE_DEFAULT);
    format_is(conf, "brace", "${a}}$b", REPLAY_ESCAPE_DEFAULT);

    tap_ok(replay_conf_format(conf, replay_text_of("nosuch")) == NULL,
           "no such format");
}


static void
format_of(const replay_conf_t *conf, const char *path, const char *name)
{
    const char                  *got;
    const replay_conf_format_t  *format;

    format = replay_conf_log_format_of(conf, path);
    got = format ? format->name.data : "none";

    if (!tap_ok(strcmp(got, name) == 0, "format of %s", path)) {
        tap_diag("got %s, expected %s", got, name);
    }
}


static void
test_log_formats(void)
{
    const replay_conf_t  *conf;

    conf = parsed(
        "log_format a a; log_format b b; log_format Case c;\n"
        "access_log /var/log/nginx/access.log a;\n"
        "server { access_log /var/log/nginx/shop.log b buffer=4k;\n"
        "  location / { access_log logs/case.log case; }\n"
        "  location /x { if ($y) { access_log /if.log a; }\n"
        "    limit_except GET { access_log /except.log b; } }\n"
        "  location /off { access_log off; }\n"
        "  access_log /srv/one/access.log b;\n"
        "  access_log plain.log;\n"
        "  access_log /two/same.log a; access_log /three/same.log b; }\n");

    format_of(conf, "/var/log/nginx/access.log", "a");
    format_of(conf, "/var/log/nginx/shop.log", "b");
    format_of(conf, "shop.log", "b");
    format_of(conf, "./copy/shop.log.1", "b");
    format_of(conf, "shop.log.2.gz", "b");
    format_of(conf, "shop.log-20240131", "b");
    format_of(conf, "shop.log-20240131-1706659201.xz", "b");
    format_of(conf, "shop.log.gz", "b");
    format_of(conf, "case.log", "Case");
    format_of(conf, "if.log", "a");
    format_of(conf, "except.log", "b");
    format_of(conf, "plain.log", "combined");
    format_of(conf, "/backup/one/access.log.1", "b");
    format_of(conf, "nginx/access.log.1", "a");
    format_of(conf, "access.log", "none");
    format_of(conf, "same.log", "none");
    format_of(conf, "three/same.log", "b");
    format_of(conf, "shop.log.old", "none");
    format_of(conf, "myshop.log", "none");
    format_of(conf, "-", "none");

    conf = parsed("log_format a a; log_format b b;\n"
                  "access_log x.log b; server { access_log y.log b; }");

    format_of(conf, "other.log", "b");

    format_of(parsed("log_format a a; access_log x a; access_log y;"), "z",
              "none");
    format_of(parsed(""), "access.log", "combined");
    format_of(parsed("log_format a a;"), "access.log", "a");
    format_of(parsed("log_format a a; log_format b b;"), "access.log",
              "none");

    conf = parsed("server {\n access_log x.log elsewhere; }");

    format_of(conf, "x.log", "none");
    tap_ok(conf->nnotes == 1
           && strcmp(conf->notes[0], "f:2: the log_format \"elsewhere\" of "
                     "access_log is not known") == 0,
           "a format of another file is noted");
}


static void
test_zones(void)
{
    const replay_conf_t       *conf;
    const replay_conf_zone_t  *zone;

    conf = parsed(
        "http {\n"
        "  slidewin_zone $slidewin_client zone=login:10m rate=5r/m "
        "algorithm=log;\n"
        "  slidewin_zone \"$remote_addr $uri\" zone=a.b:64k rate=100r/10s\n"
        "    algorithm=strict slices=8 ban=10m store=main lease=10%\n"
        "    on_error=open deny_cache=off top=off;\n"
        "  slidewin_zone ${http_x_key}x zone=plan:1M rate=$plan_rate "
        "ban=1m..1d;\n"
        "  slidewin_zone $x zone=short:32k rate=1r/10ms algorithm=strict;\n"
        "}\n");

    tap_ok(conf->nzones == 4, "four zones");

    zone = &conf->zones[0];

    tap_ok(replay_text_is(zone->name, "login")
           && replay_text_is(zone->size, "10m")
           && zone->bytes == 10 * 1024 * 1024
           && replay_text_is(zone->key, "$slidewin_client")
           && replay_text_is(zone->rate, "5r/m") && !zone->rate_varies
           && zone->rule.algorithm == SW_LOG && zone->rule.limit == 5
           && zone->rule.window == 60000 && zone->ban.time == 0
           && zone->ban_text.len == 0 && zone->ref.line == 2
           && strcmp(zone->ref.file, "f") == 0, "a zone");

    zone = replay_conf_zone(conf, replay_text_of("a.b"));

    tap_ok(zone == &conf->zones[1] && zone->bytes == 65536
           && replay_text_is(zone->key, "$remote_addr $uri")
           && zone->rule.algorithm == SW_STRICT && zone->rule.slices == 8
           && zone->slices_set && zone->rule.window == 10000
           && zone->ban.time == 600000 && zone->ban.max == 0
           && replay_text_is(zone->ban_text, "10m"),
           "a zone with all that there is");

    zone = &conf->zones[2];

    tap_ok(replay_text_is(zone->key, "${http_x_key}x") && zone->rate_varies
           && replay_text_is(zone->rate, "$plan_rate")
           && zone->rule.limit == 0 && zone->rule.window == 0
           && zone->rule.algorithm == SW_COUNTER && zone->ban.time == 60000
           && zone->ban.max == 86400000, "a zone with a rate from a variable");

    tap_ok(conf->zones[3].rule.slices == 10,
           "no slice is shorter than a millisecond");

    tap_ok(replay_conf_zone(conf, replay_text_of("nosuch")) == NULL,
           "no such zone");
}


/* "zone zone+..." of the place, a "*" for dry_run */

static void
place_is(const replay_conf_t *conf, const char *host, const char *uri,
    const char *expected)
{
    char                        got[256];
    size_t                      i;
    const replay_conf_zone_t   *zone;
    const replay_conf_place_t  *place;

    place = replay_conf_place(conf, replay_text_of(host), replay_text_of(uri));

    snprintf(got, sizeof(got), "%s:", place->name.data);

    for (i = 0; i < place->nlimits; i++) {
        zone = &conf->zones[place->limits[i].zone];

        strncat(got, " ", sizeof(got) - strlen(got) - 1);
        strncat(got, zone->name.data, sizeof(got) - strlen(got) - 1);

        if (place->dry_run || place->limits[i].dry_run) {
            strncat(got, "*", sizeof(got) - strlen(got) - 1);
        }
    }

    if (!tap_ok(strcmp(got, expected) == 0, "%s%s is in %s", host, uri,
                expected))
    {
        tap_diag("got %s", got);
    }
}


static void
test_limits(void)
{
    const replay_conf_t        *conf;
    const replay_conf_limit_t  *limit;
    const replay_conf_place_t  *place;

    conf = parsed(
        ZONES
        "server {\n"
        "  location / { slidewin zone=login cost=$cost count=401,403\n"
        "    reset=2xx delay=2s if=$ok charge=$bytes_sent headers=off\n"
        "    dry_run; slidewin zone=all cost=0; }\n"
        "}\n"
        "slidewin_client_prefix 24 56;\n");

    place = replay_conf_place(conf, replay_text_of(""), replay_text_of("/"));
    limit = place->limits;

    tap_ok(place->nlimits == 2 && limit[0].zone == 0
           && replay_text_is(limit[0].cost, "$cost") && limit[0].units == -1
           && replay_text_is(limit[0].charge, "$bytes_sent")
           && replay_text_is(limit[0].condition, "$ok")
           && replay_text_is(limit[0].count_text, "401,403")
           && sw_statuses_have(limit[0].count, 403)
           && !sw_statuses_have(limit[0].count, 200)
           && replay_text_is(limit[0].reset_text, "2xx")
           && sw_statuses_have(limit[0].reset, 204)
           && limit[0].delay == 2000 && limit[0].dry_run
           && limit[0].ref.line == 6, "a limit with all that there is");

    tap_ok(limit[1].zone == 1 && limit[1].units == 0
           && replay_text_is(limit[1].cost, "0") && limit[1].count == NULL
           && limit[1].reset == NULL && limit[1].condition.len == 0
           && !limit[1].dry_run, "a limit with a cost");

    tap_ok(place->prefix_v4 == 24 && place->prefix_v6 == 56
           && replay_text_is(place->name, "location /")
           && place->ref.line == 4, "the place of a request");
}


static void
test_inherited(void)
{
    const replay_conf_t  *conf;

    conf = parsed(
        "slidewin zone=all;\n"
        "server { server_name a;\n"
        "  location /own { slidewin zone=login;\n"
        "    location /own/off { slidewin off; location /own/off/x { } }\n"
        "    location /own/in { } }\n"
        "  location /inherits { }\n"
        "  location /api/ { slidewin zone=login; slidewin_api;\n"
        "    location /api/in { } location /api/own { slidewin zone=all; } }\n"
        "  location /dry { slidewin_dry_run on;\n"
        "    location /dry/in { } location /dry/on { slidewin_dry_run off; }\n"
        "    location /dry/one { slidewin zone=login; slidewin zone=all; } }\n"
        "  location /if { if ($a = \"b\") { slidewin zone=login; } }\n"
        "  location @named { slidewin zone=login; }\n"
        "}\n"
        "server { server_name b; slidewin off;\n"
        "  location /on { slidewin zone=login; slidewin zone=all dry_run; }\n"
        "}\n"
        "server { server_name c; location / { slidewin off; } }\n"
        ZONES);

    place_is(conf, "a", "/", "server a: all");
    place_is(conf, "a", "/inherits", "location /inherits: all");
    place_is(conf, "a", "/own", "location /own: login");
    place_is(conf, "a", "/own/in", "location /own/in: login");
    place_is(conf, "a", "/own/off", "location /own/off:");
    place_is(conf, "a", "/own/off/x", "location /own/off/x:");
    place_is(conf, "a", "/api/", "location /api/:");
    place_is(conf, "a", "/api/in", "location /api/in:");
    place_is(conf, "a", "/api/own", "location /api/own: all");
    place_is(conf, "a", "/dry", "location /dry: all*");
    place_is(conf, "a", "/dry/in", "location /dry/in: all*");
    place_is(conf, "a", "/dry/on", "location /dry/on: all");
    place_is(conf, "a", "/dry/one", "location /dry/one: login* all*");
    place_is(conf, "a", "/if", "location /if: all");
    place_is(conf, "a", "@named", "server a: all");
    place_is(conf, "b", "/", "server b:");
    place_is(conf, "b", "/on", "location /on: login all*");
    place_is(conf, "c", "/", "location /:");

    tap_ok(conf->nnotes == 1
           && strcmp(conf->notes[0],
                     "f:12: slidewin inside of if is left out") == 0,
           "a limit in if is noted");
    tap_ok(conf->nservers == 3 && conf->nlimited == 3,
           "three servers, three with limits");

    conf = parsed(ZONES "slidewin zone=all;");

    place_is(conf, "x", "/", "server: all");
    tap_ok(conf->nservers == 0 && conf->nlimited == 1, "no server is told");

    place_is(parsed(ZONES), "", "/", "server:");
}


static void
test_answered(void)
{
    const replay_conf_t  *conf;

    conf = parsed(
        ZONES "slidewin zone=all;\n"
        "server { server_name a;\n"
        "  location /return { return 200; }\n"
        "  location /if { if ($x) { return 403; } }\n"
        "  location /both { if ($x) { return 403; } return 404; }\n"
        "  location /break { break; return 200; }\n"
        "  location /ifbreak { if ($x) { break; } return 200; }\n"
        "  location /last { rewrite ^/x /y last; return 200; }\n"
        "  location /rewrite { rewrite ^ /y; return 200; }\n"
        "  location /internal { internal; location /internal/in { } }\n"
        "  location /proxy/ { proxy_pass http://x; }\n"
        "  location /static/ { }\n"
        "}\n"
        "server { server_name b; return 301 https://a; location / { } }\n");

    place_is(conf, "a", "/return", "location /return:");
    place_is(conf, "a", "/if", "location /if: all");
    place_is(conf, "a", "/both", "location /both:");
    place_is(conf, "a", "/break", "location /break: all");
    place_is(conf, "a", "/ifbreak", "location /ifbreak: all");
    place_is(conf, "a", "/last", "location /last: all");
    place_is(conf, "a", "/rewrite", "location /rewrite:");
    place_is(conf, "a", "/internal", "location /internal:");
    place_is(conf, "a", "/internal/in", "location /internal/in:");
    place_is(conf, "a", "/proxy", "location /proxy/:");
    place_is(conf, "a", "/proxy/", "location /proxy/: all");
    place_is(conf, "a", "/static", "server a: all");
    place_is(conf, "b", "/x", "server b:");

    /* nginx does not look at prefixes in a regular expression */

    place_is(parsed(ZONES "server { location ~ /a { slidewin zone=all;\n"
                    "location /a/b { } location ~ c$ { slidewin off; } } }"),
             "", "/a/b", "location ~ /a: all");

    tap_ok(conf->nlimited == 1, "a server that only redirects has no limit");
}


static void
test_hosts(void)
{
    const replay_conf_t  *conf;

    conf = parsed(
        ZONES
        "server { listen 80; server_name shop.example www.shop.example;\n"
        "  return 301 https://$host$request_uri; }\n"
        "server { listen 443 ssl default_server;\n"
        "  server_name shop.example; location / { slidewin zone=all; } }\n"
        "server { listen 8080; server_name other.example; }\n");

    place_is(conf, "shop.example", "/", "location /: all");
    place_is(conf, "SHOP.example:443", "/", "location /: all");
    place_is(conf, "shop.example.", "/", "location /: all");
    place_is(conf, "www.shop.example", "/", "server shop.example:");
    place_is(conf, "other.example", "/", "server other.example:");
    place_is(conf, "", "/", "location /: all");
    place_is(conf, "-", "/", "location /: all");
    place_is(conf, "unknown.example", "/", "location /: all");

    conf = parsed(
        ZONES
        "server { server_name a; slidewin zone=all; }\n"
        "server { listen *:80 default_server; server_name b;\n"
        "  slidewin zone=login; }\n"
        "server { listen 80; server_name \"\" ~^c(?<n>\\d+)$ .d *.e f.*; }\n"
        "server { listen 1.2.3.4:81; server_name g; slidewin zone=all; }\n");

    place_is(conf, "a", "/", "server a: all");
    place_is(conf, "", "/", "server b: login");
    place_is(conf, "x", "/", "server b: login");
    place_is(conf, "c12", "/", "server :");
    place_is(conf, "~^c(?<n>\\d+)$", "/", "server :");
    place_is(conf, "d", "/", "server :");
    place_is(conf, "x.d", "/", "server :");
    place_is(conf, "e", "/", "server b: login");
    place_is(conf, "x.y.e", "/", "server :");
    place_is(conf, "f.g.h", "/", "server :");
    place_is(conf, "g", "/", "server g: all");
    place_is(conf, "[::1]:80", "/", "server b: login");
}


static void
test_skipped(void)
{
    const replay_conf_t  *conf;

    conf = parsed(
        "map $uri $x { default \"\"; ~*\\.(gif|png)$ \"a{b;\"; \"~^{\" 1;\n"
        "  include /nosuch/map; }\n"
        "upstream u { server 1.2.3.4; server 1.2.3.5 backup; }\n"
        "init_by_lua_block { local t = { a = '}', [\"{\"] = 1 } -- it's }\n"
        "  --[[ } ' ]] s = [==[ }\" ]] ]==] .. '\\'}' }\n"
        "server { access_by_lua_block { if x then y = {} end }\n"
        "  location / { content_by_lua_block { -- }\n }\n"
        "    slidewin zone=all; } }\n"
        "geo $g { ranges; 1.2.3.4-1.2.3.5 a; }\n"
        "unknown { slidewin zone=x; nested { a 'b'; } }\n"
        ZONES);

    place_is(conf, "", "/", "location /: all");

    conf = parsed("server { location \"/a b\" { slidewin zone=all; }\n"
                  "  location ~ \"^/c{2}$\" { slidewin zone=all; }\n"
                  "  if ($request_method !~ \"^(GET|POST)$\") { return 405; }\n"
                  "  location ~*\\.php$ { slidewin zone=login; } }" ZONES);

    place_is(conf, "", "/a b/c", "location /a b: all");
    place_is(conf, "", "/cc", "location ~ ^/c{2}$: all");
    place_is(conf, "", "/x.PHP", "location ~* \\.php$: login");
}


static char  dir[64];


static const char *
file(const char *name, const char *text)
{
    FILE        *out;
    const char  *path;

    path = replay_pool_print(&pool, "%s/%s", dir, name);
    out = fopen(path, "w");

    if (out == NULL || fputs(text, out) < 0 || fclose(out) != 0) {
        perror(path);
        exit(1);
    }

    return path;
}


static void
error_is(const char *path, const char *expected)
{
    const char  *error;

    error = "nothing";
    expected = replay_pool_print(&pool, expected, dir, dir);

    (void) replay_conf_read(&pool, path, &error);

    if (!tap_ok(strcmp(error, expected) == 0, "says %s",
                expected + strlen(dir)))
    {
        tap_diag("got %s", error);
    }
}


static void
test_includes(void)
{
    const char           *path, *error;
    const replay_conf_t  *conf;

    (void) snprintf(dir, sizeof(dir), "/tmp/replay-conf-%d", (int) getpid());

    if (mkdir(dir, 0700) != 0
        || mkdir(replay_pool_print(&pool, "%s/conf.d", dir), 0700) != 0)
    {
        perror(dir);
        exit(1);
    }

    file("zones", ZONES);
    file("conf.d/1.conf", "server { server_name one; include locations; }");
    file("conf.d/2.conf", "include conf.d/2.inc;\n"
         "server { server_name two; slidewin zone=login; }");
    file("conf.d/2.inc", "server { server_name inc; }");
    file("conf.d/3.txt", "}");
    file("locations", "location /x { slidewin zone=all; }");

    path = file("nginx.conf", "http { include zones; include conf.d/*.conf;\n"
                "include none/*; include \"conf.d/[4-9].conf\";\n"
                "server { server_name last; } }");

    conf = replay_conf_read(&pool, path, &error);

    if (tap_ok(conf != NULL, "files are included")) {
        tap_ok(conf->nservers == 4, "in the order of their names");
        tap_ok(strcmp(conf->zones[1].ref.file,
                      replay_pool_print(&pool, "%s/zones", dir)) == 0
               && conf->zones[1].ref.line == 2, "a zone knows its file");
        place_is(conf, "one", "/x", "location /x: all");
        place_is(conf, "two", "/", "server two: login");
        place_is(conf, "unknown", "/x", "location /x: all");

    } else {
        tap_diag("%s", error);
    }

    path = replay_pool_print(&pool, "%s/bad.conf", dir);

    error_is(replay_pool_print(&pool, "%s/nosuch", dir),
             "cannot open \"%s/nosuch\": No such file or directory");

    (void) file("bad.conf", "\ninclude nosuch;");
    error_is(path, "%s/bad.conf:2: cannot open \"%s/nosuch\": No such file or "
             "directory");

    (void) file("bad.conf", "\nhttp { include bad.conf; }");
    error_is(path, "%s/bad.conf:2: files include each other more than 32 "
             "levels deep");

    (void) file("bad.conf", "http { include conf.d/3.txt; }");
    error_is(path, "%s/conf.d/3.txt:1: unexpected \"}\"");

    (void) file("bad.conf", "include open; }");
    (void) file("open", "http {");
    error_is(path, "%s/open:1: unexpected end of file, expecting \"}\"");

    (void) file("bad.conf", "include word; b;");
    (void) file("word", "a");
    error_is(path, "%s/word:1: unexpected end of file, expecting \";\" or "
             "\"}\"");

    (void) file("bad.conf", "include zones zones;");
    error_is(path, "%s/bad.conf:1: invalid number of arguments in \"include\" "
             "directive");

    (void) file("bad.conf", "include conf.d;");
    error_is(path, "%s/bad.conf:1: cannot read \"%s/conf.d\": Is a "
             "directory");

    if (system(replay_pool_print(&pool, "rm -r %s", dir)) != 0) {
        tap_diag("%s is left", dir);
    }
}


/* deep nesting ends with an error, and not with the stack */

static void
test_depth(void)
{
    char    text[65536], *p;
    size_t  i;

    p = text + sprintf(text, "server { location / {");

    for (i = 0; i < 2000; i++) {
        p += sprintf(p, "location / {");
    }

    tap_ok(strstr(said(text), "blocks are more than 64 levels deep") != NULL,
           "locations that are too deep");

    p = text;

    for (i = 0; i < 10000; i++) {
        p += sprintf(p, "a {");
    }

    tap_ok(strstr(said(text), "unexpected end of file") != NULL,
           "blocks that are skipped may be as deep as they are");
}


int
main(void)
{
    test_bad();
    test_formats();
    test_log_formats();
    test_zones();
    test_limits();
    test_inherited();
    test_answered();
    test_hosts();
    test_skipped();
    test_includes();
    test_depth();

    replay_pool_destroy(&pool);

    return tap_done();
}
