
#include <getopt.h>
#include <stdio.h>

#include "replay_options.h"
#include "replay_version.h"
#include "sw_math.h"
#include "sw_parse.h"


#define REPLAY_AUTO_WINDOW  60000


typedef void (*replay_option_pt)(replay_options_t *options,
    replay_pool_t *pool, const char *value);


/* an option stores its text, or has it read */

typedef struct {
    const char        *name;
    int                argument;
    size_t             offset;
    replay_option_pt   read;
} replay_option_t;


static void replay_option_rates(replay_options_t *options,
    replay_pool_t *pool, const char *value);
static void replay_option_rate(replay_options_t *options, replay_text_t text);
static void replay_option_algorithms(replay_options_t *options,
    replay_pool_t *pool, const char *value);
static void replay_option_slices(replay_options_t *options,
    replay_pool_t *pool, const char *value);
static void replay_option_count(replay_options_t *options,
    replay_pool_t *pool, const char *value);
static void replay_option_ban(replay_options_t *options, replay_pool_t *pool,
    const char *value);
static void replay_option_prefix(replay_options_t *options,
    replay_pool_t *pool, const char *value);
static void replay_option_top(replay_options_t *options, replay_pool_t *pool,
    const char *value);
static void replay_option_json(replay_options_t *options,
    replay_pool_t *pool, const char *value);
static void replay_option_help(replay_options_t *options,
    replay_pool_t *pool, const char *value);
static void replay_option_version(replay_options_t *options,
    replay_pool_t *pool, const char *value);
static replay_text_t replay_list_next(replay_text_t *list);
static void replay_options_check(replay_options_t *options);


const char *const  replay_algorithms[REPLAY_ALGORITHMS] = {
    "counter", "fixed", "strict", "log"
};


#define replay_offset(field)  offsetof(replay_options_t, field)

static const replay_option_t  replay_options[] = {
    { "key",           1, replay_offset(key),       NULL },
    { "rate",          1, 0,                        replay_option_rates },
    { "algorithm",     1, 0,                        replay_option_algorithms },
    { "slices",        1, 0,                        replay_option_slices },
    { "count",         1, 0,                        replay_option_count },
    { "cost",          1, replay_offset(cost),      NULL },
    { "ban",           1, 0,                        replay_option_ban },
    { "where",         1, replay_offset(where),     NULL },
    { "format",        1, replay_offset(format),    NULL },
    { "conf",          1, replay_offset(conf),      NULL },
    { "zone",          1, replay_offset(zone),      NULL },
    { "time",          1, replay_offset(time),      NULL },
    { "client-prefix", 1, 0,                        replay_option_prefix },
    { "fail-if",       1, replay_offset(fail_if),   NULL },
    { "json",          0, 0,                        replay_option_json },
    { "html",          1, replay_offset(html),      NULL },
    { "decisions",     1, replay_offset(decisions), NULL },
    { "top",           1, 0,                        replay_option_top },
    { "help",          0, 0,                        replay_option_help },
    { "version",       0, 0,                        replay_option_version }
};

#define REPLAY_OPTIONS  (sizeof(replay_options) / sizeof(replay_options[0]))


static const char  replay_help[] =
"Usage: slidewin-replay [OPTION]... LOG...\n"
"Tells what a limit would have done to the traffic of access logs, by the\n"
"algorithms of slidewin itself. A LOG is plain or gzip; - is standard input.\n"
"\n"
"The limits to try:\n"
"  --rate RATE,...      5r/m, 100r/10s; auto, or auto/10s, finds one (auto)\n"
"  --algorithm NAME,... counter, fixed, strict, log, or all (counter)\n"
"  --slices N           of strict (16)\n"
"  --key KEY            who is a client ($slidewin_client); .name of JSON\n"
"  --count STATUS,...   only these statuses are charged: 401,403 or 4xx\n"
"  --cost COST          what a request costs: a number, $variable or .name\n"
"  --ban TIME[..MAX]    a rejection bans for that time; growing up to MAX\n"
"  --conf FILE          the limits, keys and log_format of an nginx.conf\n"
"  --zone NAME,...      only these zones of it\n"
"\n"
"The log:\n"
"  --where EXPRESSION   which requests: 'uri ^~ /login and method = POST'\n"
"  --format FORMAT      combined, common, json, a name in --conf, or the text\n"
"                       of a log_format (found by the first line)\n"
"  --time FIELD         which is the time (the finest that there is)\n"
"  --client-prefix V4,V6  how $slidewin_client groups addresses (32,64)\n"
"\n"
"The answer:\n"
"  --json               as JSON\n"
"  --html FILE          as a page with plots, too\n"
"  --decisions FILE     of each request, too\n"
"  --top N              how many of the worst clients to list (10)\n"
"  --fail-if CONDITION  exit with 1 if it is true of any limit:\n"
"                       'rejected > 0.5%', 'clients_rejected > 3'\n"
"  --help, --version\n"
"\n"
"Examples:\n"
"  slidewin-replay access.log\n"
"  slidewin-replay access.log.1.gz access.log --key '$remote_addr' \\\n"
"      --where 'uri ^~ /login and method = POST' --rate 5r/m,10r/m,20r/m\n"
"  slidewin-replay --conf /etc/nginx/nginx.conf /var/log/nginx/access.log\n"
"  zcat *.gz | slidewin-replay - --format json --key .user --rate 100r/10s \\\n"
"      --algorithm all --html report.html\n"
"\n"
"Exit status: 0; 1 if --fail-if is true; 2 if there is nothing to replay.\n"
"The manual is slidewin-replay(1).\n";


void
replay_options_read(replay_options_t *options, replay_pool_t *pool, int argc,
    char **argv)
{
    int                     code, index;
    size_t                  i;
    unsigned                seen;
    struct option           names[REPLAY_OPTIONS + 1];
    const replay_option_t  *option;

    memset(options, 0, sizeof(replay_options_t));

    options->key = "$slidewin_client";
    options->slices = SW_SLICES;
    options->prefix.prefix_v4 = 32;
    options->prefix.prefix_v6 = 64;
    options->top = 10;

    memset(names, 0, sizeof(names));

    for (i = 0; i < REPLAY_OPTIONS; i++) {
        names[i].name = replay_options[i].name;
        names[i].has_arg = replay_options[i].argument;
    }

    opterr = 0;
    seen = 0;

    while ((code = getopt_long(argc, argv, ":h", names, &index)) != -1) {

        if (code == 'h') {
            replay_option_help(options, pool, NULL);
        }

        if (code == ':') {
            replay_fatal("%s lacks its value; try 'slidewin-replay --help'",
                         argv[optind - 1]);
        }

        if (code == '?') {
            replay_fatal("%s is no option; try 'slidewin-replay --help'",
                         argv[optind - 1]);
        }

        option = &replay_options[index];

        if (option->read) {
            option->read(options, pool, optarg);

        } else if (seen & (1U << index)) {
            replay_fatal("--%s is named twice", option->name);

        } else {
            seen |= 1U << index;
            *(const char **) ((char *) options + option->offset) = optarg;
        }
    }

    options->files = (const char **) argv + optind;
    options->nfiles = (size_t) (argc - optind);

    replay_options_check(options);
}


static void
replay_options_check(replay_options_t *options)
{
    size_t  i, n;

    if (options->nfiles == 0) {
        replay_fatal("no log is named; try 'slidewin-replay --help'");
    }

    for (i = 0, n = 0; i < options->nfiles; i++) {
        n += strcmp(options->files[i], "-") == 0;
    }

    if (n > 1) {
        replay_fatal("- is named twice, and there is one standard input");
    }

    if (options->conf
        && (options->nrates || options->nalgorithms || options->count_text
            || options->cost || options->ban_text))
    {
        replay_fatal("--conf has the limits: it goes without --rate, "
                     "--algorithm, --count, --cost and --ban");
    }

    if (options->zone && options->conf == NULL) {
        replay_fatal("--zone names a zone of a configuration: --conf FILE");
    }

    if (options->nrates == 0 && options->conf == NULL) {
        replay_option_rate(options, replay_text_of("auto"));
    }

    if (options->nalgorithms == 0) {
        options->algorithms[options->nalgorithms++] = SW_COUNTER;
    }
}


static replay_text_t
replay_list_next(replay_text_t *list)
{
    const char     *comma;
    replay_text_t   item;

    item = *list;
    comma = memchr(list->data, ',', list->len);

    if (comma == NULL) {
        list->len = 0;
        return item;
    }

    item.len = (size_t) (comma - list->data);

    list->data += item.len + 1;
    list->len -= item.len + 1;

    return item;
}


static void
replay_option_rates(replay_options_t *options, replay_pool_t *pool,
    const char *value)
{
    replay_text_t  list;

    list = replay_text_of(value);

    do {
        replay_option_rate(options, replay_list_next(&list));
    } while (list.len);
}


static void
replay_option_rate(replay_options_t *options, replay_text_t text)
{
    replay_rate_t  *rate;

    if (options->nrates == REPLAY_RATES_MAX) {
        replay_fatal("--rate: more than %d rates", REPLAY_RATES_MAX);
    }

    rate = &options->rates[options->nrates++];
    rate->text = text;
    rate->limit = 0;
    rate->window = REPLAY_AUTO_WINDOW;

    if (replay_text_is(text, "auto")) {
        return;
    }

    if (replay_text_begins(text, "auto/")
        && sw_parse_period(text.data + 5, text.len - 5, &rate->window)
           == SW_OK)
    {
        return;
    }

    if (sw_parse_rate(text.data, text.len, &rate->limit, &rate->window)
        != SW_OK)
    {
        replay_fatal("--rate: \"%.*s\": %s", (int) text.len, text.data,
                     sw_rate_error(text.data, text.len));
    }
}


static void
replay_option_algorithms(replay_options_t *options, replay_pool_t *pool,
    const char *value)
{
    int            i;
    replay_text_t  list, name;

    list = replay_text_of(value);
    options->nalgorithms = 0;

    if (replay_text_is(list, "all")) {
        list = replay_text_of("counter,fixed,strict,log");
    }

    do {
        name = replay_list_next(&list);

        for (i = 0; i < REPLAY_ALGORITHMS; i++) {

            if (replay_text_is(name, replay_algorithms[i])) {
                break;
            }
        }

        if (i == REPLAY_ALGORITHMS
            || options->nalgorithms == REPLAY_ALGORITHMS)
        {
            replay_fatal("--algorithm: \"%s\": expected counter, fixed, "
                         "strict and log, with commas, or all", value);
        }

        options->algorithms[options->nalgorithms++] = (sw_algorithm_e) i;

    } while (list.len);
}


static void
replay_option_slices(replay_options_t *options, replay_pool_t *pool,
    const char *value)
{
    if (sw_parse_count(value, strlen(value), SW_SLICES_MAX, &options->slices)
        != SW_OK || options->slices == 0)
    {
        replay_fatal("--slices: \"%s\": expected a number from 1 to %d",
                     value, SW_SLICES_MAX);
    }
}


static void
replay_option_count(replay_options_t *options, replay_pool_t *pool,
    const char *value)
{
    if (sw_parse_statuses(value, strlen(value), &options->count) != SW_OK) {
        replay_fatal("--count: \"%s\": expected statuses such as 401,403 or "
                     "4xx", value);
    }

    options->count_text = value;
}


/* 10m, or 1m..1d */

static void
replay_option_ban(replay_options_t *options, replay_pool_t *pool,
    const char *value)
{
    if (sw_parse_ban(value, strlen(value), &options->ban.time,
                     &options->ban.max)
        != SW_OK)
    {
        replay_fatal("--ban: \"%s\": expected a time such as 10m, or a "
                     "smaller and a larger one such as 1m..1d", value);
    }

    options->ban_text = value;
}


static void
replay_option_prefix(replay_options_t *options, replay_pool_t *pool,
    const char *value)
{
    int64_t        v4, v6;
    replay_text_t  list, first;

    list = replay_text_of(value);
    first = replay_list_next(&list);

    if (sw_parse_count(first.data, first.len, 32, &v4) != SW_OK
        || sw_parse_count(list.data, list.len, 128, &v6) != SW_OK)
    {
        replay_fatal("--client-prefix: \"%s\": expected lengths of prefixes "
                     "for IPv4 and IPv6, such as 32,64", value);
    }

    options->prefix.prefix_v4 = (unsigned) v4;
    options->prefix.prefix_v6 = (unsigned) v6;
    options->prefix_set = 1;
}


static void
replay_option_top(replay_options_t *options, replay_pool_t *pool,
    const char *value)
{
    int64_t  top;

    if (sw_parse_count(value, strlen(value), 1000000, &top) != SW_OK) {
        replay_fatal("--top: \"%s\": expected a number", value);
    }

    options->top = (unsigned) top;
}


static void
replay_option_json(replay_options_t *options, replay_pool_t *pool,
    const char *value)
{
    options->json = 1;
}


static void
replay_option_help(replay_options_t *options, replay_pool_t *pool,
    const char *value)
{
    fputs(replay_help, stdout);
    exit(0);
}


static void
replay_option_version(replay_options_t *options, replay_pool_t *pool,
    const char *value)
{
    puts("slidewin-replay " REPLAY_VERSION);
    exit(0);
}
