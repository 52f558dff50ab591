
#include "replay_conf_param.h"
#include "replay_conf_zone.h"
#include "sw_parse.h"


#define REPLAY_ZONE_NAME_MAX  64
#define REPLAY_ZONE_SIZE_MIN  (32 * 1024LL)
#define REPLAY_ZONE_SIZE_MAX  (32768LL * 1024 * 1024)


static int replay_conf_zone_name(replay_conf_reader_t *reader,
    replay_text_t arg, replay_text_t value, void *data);
static int replay_conf_zone_name_is_good(replay_text_t name);
static int64_t replay_conf_zone_size(replay_text_t size);
static int replay_conf_zone_rate(replay_conf_reader_t *reader,
    replay_text_t arg, replay_text_t value, void *data);
static int replay_conf_zone_algorithm(replay_conf_reader_t *reader,
    replay_text_t arg, replay_text_t value, void *data);
static int replay_conf_zone_slices(replay_conf_reader_t *reader,
    replay_text_t arg, replay_text_t value, void *data);
static int replay_conf_zone_ban(replay_conf_reader_t *reader,
    replay_text_t arg, replay_text_t value, void *data);
static int replay_conf_zone_check(replay_conf_reader_t *reader,
    replay_conf_zone_t *zone);


/* those without a function do not matter to a replay */

static const replay_conf_param_t  replay_conf_zone_params[] = {
    { "zone=", replay_conf_zone_name },
    { "rate=", replay_conf_zone_rate },
    { "algorithm=", replay_conf_zone_algorithm },
    { "slices=", replay_conf_zone_slices },
    { "ban=", replay_conf_zone_ban },
    { "store=", NULL },
    { "on_error=", NULL },
    { "lease=", NULL },
    { "deny_cache=", NULL },
    { "top=", NULL },
    { NULL, NULL }
};


int
replay_conf_zone_add(replay_conf_reader_t *reader, replay_array_t *zones)
{
    size_t               i;
    replay_text_t       *args;
    replay_conf_zone_t  *zone, *other;

    args = reader->args.elts;

    zone = replay_array_push(reader->pool, zones, sizeof(replay_conf_zone_t));

    zone->key = args[1];
    zone->ref = reader->ref;
    zone->rule.algorithm = SW_COUNTER;
    zone->rule.slices = SW_SLICES;

    if (replay_conf_params_set(reader, 2, replay_conf_zone_params, zone) != 0
        || replay_conf_zone_check(reader, zone) != 0)
    {
        return REPLAY_CONF_ERROR;
    }

    other = zones->elts;

    for (i = 0; i < zones->nelts - 1; i++) {
        if (replay_text_is(other[i].name, zone->name.data)) {
            return replay_conf_error(reader, &reader->ref, "slidewin_zone "
                                     "\"%s\" is already bound to key \"%s\"",
                                     zone->name.data, other[i].key.data);
        }
    }

    return 0;
}


static int
replay_conf_zone_name(replay_conf_reader_t *reader, replay_text_t arg,
    replay_text_t value, void *data)
{
    replay_conf_zone_t  *zone = data;

    int64_t      bytes;
    const char  *colon;

    colon = memchr(value.data, ':', value.len);
    bytes = -1;

    if (colon) {
        zone->name.data = value.data;
        zone->name.len = (size_t) (colon - value.data);
        zone->name = replay_pool_text(reader->pool, zone->name);

        zone->size.data = colon + 1;
        zone->size.len = value.len - zone->name.len - 1;

        bytes = replay_conf_zone_size(zone->size);
    }

    if (colon && !replay_conf_zone_name_is_good(zone->name)) {
        return replay_conf_error(reader, &reader->ref, "invalid zone name "
                                 "\"%s\" in \"slidewin_zone\" directive, it "
                                 "must be up to %d letters, digits, \"_\", "
                                 "\"-\" and \".\"", arg.data,
                                 REPLAY_ZONE_NAME_MAX);
    }

    if (bytes == -1) {
        return replay_conf_error(reader, &reader->ref, "invalid zone size "
                                 "\"%s\" in \"slidewin_zone\" directive, it "
                                 "must be zone=<name>:<size>, such as "
                                 "zone=login:10m", arg.data);
    }

    if (bytes < REPLAY_ZONE_SIZE_MIN || bytes > REPLAY_ZONE_SIZE_MAX) {
        return replay_conf_error(reader, &reader->ref, "zone \"%s\" is too "
                                 "%s", arg.data,
                                 bytes < REPLAY_ZONE_SIZE_MIN
                                     ? "small, it must be at least 32k"
                                     : "large, it must be at most 32768m");
    }

    zone->bytes = (size_t) bytes;

    return 0;
}


static int
replay_conf_zone_name_is_good(replay_text_t name)
{
    size_t  i;

    for (i = 0; i < name.len; i++) {

        if (strchr("0123456789_-."
                   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
                   name.data[i])
            == NULL || name.data[i] == '\0')
        {
            return 0;
        }
    }

    return name.len && name.len <= REPLAY_ZONE_NAME_MAX;
}


/* as ngx_parse_size(); -1 if it is none */

static int64_t
replay_conf_zone_size(replay_text_t size)
{
    char     unit;
    int64_t  bytes, scale;

    unit = size.len ? size.data[size.len - 1] : '0';
    scale = 1;

    if (unit == 'k' || unit == 'K') {
        scale = 1024;

    } else if (unit == 'm' || unit == 'M') {
        scale = 1024 * 1024LL;
    }

    size.len -= scale > 1;

    if (sw_parse_count(size.data, size.len, INT64_MAX / scale, &bytes)
        != SW_OK)
    {
        return -1;
    }

    return bytes * scale;
}


static int
replay_conf_zone_rate(replay_conf_reader_t *reader, replay_text_t arg,
    replay_text_t value, void *data)
{
    replay_conf_zone_t  *zone = data;

    zone->rate = value;
    zone->rate_varies = replay_conf_varies(value);

    if (zone->rate_varies
        || sw_parse_rate(value.data, value.len, &zone->rule.limit,
                         &zone->rule.window)
           == SW_OK)
    {
        return 0;
    }

    return replay_conf_error(reader, &reader->ref, "invalid rate \"%s\" in "
                             "\"slidewin_zone\" directive, %s", arg.data,
                             sw_rate_error(value.data, value.len));
}


static int
replay_conf_zone_algorithm(replay_conf_reader_t *reader, replay_text_t arg,
    replay_text_t value, void *data)
{
    replay_conf_zone_t  *zone = data;

    size_t  i;

    static const struct {
        const char      *name;
        sw_algorithm_e   algorithm;
    } algorithms[] = {
        { "counter", SW_COUNTER },
        { "fixed", SW_FIXED },
        { "strict", SW_STRICT },
        { "log", SW_LOG }
    };

    for (i = 0; i < sizeof(algorithms) / sizeof(algorithms[0]); i++) {
        if (replay_text_is(value, algorithms[i].name)) {
            zone->rule.algorithm = algorithms[i].algorithm;
            return 0;
        }
    }

    return replay_conf_error(reader, &reader->ref, "invalid algorithm \"%s\" "
                             "in \"slidewin_zone\" directive, it must be "
                             "counter, log, strict or fixed", arg.data);
}


static int
replay_conf_zone_slices(replay_conf_reader_t *reader, replay_text_t arg,
    replay_text_t value, void *data)
{
    replay_conf_zone_t  *zone = data;

    zone->slices_set = 1;

    if (sw_parse_count(value.data, value.len, SW_SLICES_MAX,
                       &zone->rule.slices)
        == SW_OK && zone->rule.slices)
    {
        return 0;
    }

    return replay_conf_error(reader, &reader->ref, "invalid slices \"%s\" in "
                             "\"slidewin_zone\" directive, it must be from 1 "
                             "to %d", arg.data, SW_SLICES_MAX);
}


static int
replay_conf_zone_ban(replay_conf_reader_t *reader, replay_text_t arg,
    replay_text_t value, void *data)
{
    replay_conf_zone_t  *zone = data;

    zone->ban_text = value;

    if (sw_parse_ban(value.data, value.len, &zone->ban.time, &zone->ban.max)
        == SW_OK)
    {
        return 0;
    }

    return replay_conf_error(reader, &reader->ref, "invalid ban \"%s\" in "
                             "\"slidewin_zone\" directive, it must be a time, "
                             "or the first and the longest, such as 1m..1d",
                             arg.data);
}


static int
replay_conf_zone_check(replay_conf_reader_t *reader, replay_conf_zone_t *zone)
{
    const char  *error;

    if (zone->bytes == 0 || zone->rate.data == NULL) {
        return replay_conf_error(reader, &reader->ref, "\"slidewin_zone\" "
                                 "must have \"%s\" parameter",
                                 zone->bytes ? "rate" : "zone");
    }

    if (zone->slices_set && zone->rule.algorithm != SW_STRICT) {
        return replay_conf_error(reader, &reader->ref, "invalid parameter "
                                 "\"slices=%lld\" in \"slidewin_zone\" "
                                 "directive, only algorithm=strict has "
                                 "slices", (long long) zone->rule.slices);
    }

    if (zone->rate_varies) {
        return 0;
    }

    if (!zone->slices_set && zone->rule.slices > zone->rule.window) {
        zone->rule.slices = zone->rule.window;
    }

    error = sw_rule_error(&zone->rule);

    if (error == NULL) {
        return 0;
    }

    return replay_conf_error(reader, &reader->ref, "invalid rate \"rate=%s\" "
                             "in \"slidewin_zone\" directive, %s",
                             zone->rate.data, error);
}
