
#include "replay_conf_limit.h"
#include "replay_conf_param.h"
#include "sw_parse.h"


#define REPLAY_LIMITS_MAX  32
#define REPLAY_DELAY_MAX   3600000           /* ms */


static int replay_conf_limit_zone(replay_conf_reader_t *reader,
    replay_text_t arg, replay_text_t value, void *data);
static int replay_conf_limit_cost(replay_conf_reader_t *reader,
    replay_text_t arg, replay_text_t value, void *data);
static int replay_conf_limit_charge(replay_conf_reader_t *reader,
    replay_text_t arg, replay_text_t value, void *data);
static int replay_conf_limit_count(replay_conf_reader_t *reader,
    replay_text_t arg, replay_text_t value, void *data);
static int replay_conf_limit_reset(replay_conf_reader_t *reader,
    replay_text_t arg, replay_text_t value, void *data);
static const sw_statuses_t *replay_conf_limit_statuses(
    replay_conf_reader_t *reader, replay_text_t arg, replay_text_t value);
static int replay_conf_limit_delay(replay_conf_reader_t *reader,
    replay_text_t arg, replay_text_t value, void *data);
static int replay_conf_limit_if(replay_conf_reader_t *reader,
    replay_text_t arg, replay_text_t value, void *data);
static int replay_conf_limit_headers(replay_conf_reader_t *reader,
    replay_text_t arg, replay_text_t value, void *data);
static int replay_conf_limit_dry_run(replay_conf_reader_t *reader,
    replay_text_t arg, replay_text_t value, void *data);
static int replay_conf_limit_check(replay_conf_reader_t *reader,
    const replay_conf_limit_line_t *line, const replay_conf_limits_t *limits);


static const replay_conf_param_t  replay_conf_limit_params[] = {
    { "zone=", replay_conf_limit_zone },
    { "cost=", replay_conf_limit_cost },
    { "charge=", replay_conf_limit_charge },
    { "count=", replay_conf_limit_count },
    { "reset=", replay_conf_limit_reset },
    { "delay=", replay_conf_limit_delay },
    { "if=", replay_conf_limit_if },
    { "headers=", replay_conf_limit_headers },
    { "dry_run", replay_conf_limit_dry_run },
    { NULL, NULL }
};


int
replay_conf_limit_add(replay_conf_reader_t *reader,
    replay_conf_limits_t *limits, replay_array_t *all)
{
    replay_text_t              *args;
    replay_conf_limit_line_t   *line, **elt;

    args = reader->args.elts;

    if (replay_text_is(args[1], "off")) {

        if (limits->is_off || limits->lines.nelts) {
            return replay_conf_error(reader, &reader->ref, "\"slidewin\" "
                                     "directive is duplicate");
        }

        if (reader->args.nelts > 2) {
            return replay_conf_error(reader, &reader->ref, "invalid parameter "
                                     "\"%s\" after \"off\" in \"slidewin\" "
                                     "directive", args[2].data);
        }

        limits->is_off = 1;

        return 0;
    }

    line = replay_pool_alloc(reader->pool, sizeof(replay_conf_limit_line_t));
    memset(line, 0, sizeof(replay_conf_limit_line_t));

    line->limit.ref = reader->ref;
    line->limit.cost = replay_text_of("1");
    line->limit.units = 1;
    line->limit.charge = replay_text_of("");
    line->limit.condition = replay_text_of("");
    line->limit.count_text = replay_text_of("");
    line->limit.reset_text = replay_text_of("");

    if (replay_conf_params_set(reader, 1, replay_conf_limit_params, line) != 0
        || replay_conf_limit_check(reader, line, limits) != 0)
    {
        return REPLAY_CONF_ERROR;
    }

    elt = replay_array_push(reader->pool, &limits->lines,
                            sizeof(replay_conf_limit_line_t *));
    *elt = line;

    elt = replay_array_push(reader->pool, all,
                            sizeof(replay_conf_limit_line_t *));
    *elt = line;

    return 0;
}


static int
replay_conf_limit_check(replay_conf_reader_t *reader,
    const replay_conf_limit_line_t *line, const replay_conf_limits_t *limits)
{
    size_t                     i;
    int64_t                    status;
    replay_conf_limit_line_t  *const *other;

    if (line->zone.len == 0) {
        return replay_conf_error(reader, &reader->ref, "\"slidewin\" must "
                                 "have \"zone\" parameter");
    }

    if (line->limit.count && line->limit.reset) {
        status = sw_statuses_common(line->limit.count, line->limit.reset);

        if (status) {
            return replay_conf_error(reader, &reader->ref, "status %lld is "
                                     "in both \"count\" and \"reset\" of "
                                     "\"slidewin\" directive",
                                     (long long) status);
        }
    }

    other = limits->lines.elts;

    for (i = 0; i < limits->lines.nelts; i++) {
        if (replay_text_is(other[i]->zone, line->zone.data)) {
            break;
        }
    }

    if (limits->is_off || i < limits->lines.nelts) {
        return replay_conf_error(reader, &reader->ref, "\"slidewin\" "
                                 "directive is duplicate");
    }

    if (limits->lines.nelts == REPLAY_LIMITS_MAX) {
        return replay_conf_error(reader, &reader->ref, "too many \"slidewin\" "
                                 "directives, at most %d may apply together",
                                 REPLAY_LIMITS_MAX);
    }

    return 0;
}


static int
replay_conf_limit_zone(replay_conf_reader_t *reader, replay_text_t arg,
    replay_text_t value, void *data)
{
    replay_conf_limit_line_t  *line = data;

    line->zone = value;

    if (value.len) {
        return 0;
    }

    return replay_conf_error(reader, &reader->ref, "invalid zone name \"%s\" "
                             "in \"slidewin\" directive", arg.data);
}


static int
replay_conf_limit_cost(replay_conf_reader_t *reader, replay_text_t arg,
    replay_text_t value, void *data)
{
    replay_conf_limit_line_t  *line = data;

    line->limit.cost = value;

    if (replay_conf_varies(value)) {
        line->limit.units = -1;
        return 0;
    }

    if (sw_parse_count(value.data, value.len, SW_PRODUCT_MAX,
                       &line->limit.units)
        == SW_OK)
    {
        return 0;
    }

    return replay_conf_error(reader, &reader->ref, "invalid cost \"%s\" in "
                             "\"slidewin\" directive, it must be a whole "
                             "number or a variable", arg.data);
}


static int
replay_conf_limit_charge(replay_conf_reader_t *reader, replay_text_t arg,
    replay_text_t value, void *data)
{
    replay_conf_limit_line_t  *line = data;

    line->limit.charge = value;

    if (replay_conf_varies(value)) {
        return 0;
    }

    return replay_conf_error(reader, &reader->ref, "invalid charge \"%s\" in "
                             "\"slidewin\" directive, it must have a "
                             "variable", arg.data);
}


static int
replay_conf_limit_count(replay_conf_reader_t *reader, replay_text_t arg,
    replay_text_t value, void *data)
{
    replay_conf_limit_line_t  *line = data;

    line->limit.count_text = value;
    line->limit.count = replay_conf_limit_statuses(reader, arg, value);

    return line->limit.count ? 0 : REPLAY_CONF_ERROR;
}


static int
replay_conf_limit_reset(replay_conf_reader_t *reader, replay_text_t arg,
    replay_text_t value, void *data)
{
    replay_conf_limit_line_t  *line = data;

    line->limit.reset_text = value;
    line->limit.reset = replay_conf_limit_statuses(reader, arg, value);

    return line->limit.reset ? 0 : REPLAY_CONF_ERROR;
}


static const sw_statuses_t *
replay_conf_limit_statuses(replay_conf_reader_t *reader, replay_text_t arg,
    replay_text_t value)
{
    sw_statuses_t  *set;

    set = replay_pool_alloc(reader->pool, sizeof(sw_statuses_t));

    if (sw_parse_statuses(value.data, value.len, set) == SW_OK) {
        return set;
    }

    (void) replay_conf_error(reader, &reader->ref, "invalid statuses \"%s\" "
                             "in \"slidewin\" directive, they must be from "
                             "%d to %d or classes as 4xx, with commas between "
                             "them", arg.data, SW_STATUS_MIN, SW_STATUS_MAX);
    return NULL;
}


static int
replay_conf_limit_delay(replay_conf_reader_t *reader, replay_text_t arg,
    replay_text_t value, void *data)
{
    replay_conf_limit_line_t  *line = data;

    if (sw_parse_period(value.data, value.len, &line->limit.delay) == SW_OK
        && line->limit.delay <= REPLAY_DELAY_MAX)
    {
        return 0;
    }

    return replay_conf_error(reader, &reader->ref, "invalid delay \"%s\" in "
                             "\"slidewin\" directive, it must be a time from "
                             "1ms to 1h", arg.data);
}


static int
replay_conf_limit_if(replay_conf_reader_t *reader, replay_text_t arg,
    replay_text_t value, void *data)
{
    replay_conf_limit_line_t  *line = data;

    line->limit.condition = value;

    if (replay_conf_varies(value)) {
        return 0;
    }

    return replay_conf_error(reader, &reader->ref, "invalid condition \"%s\" "
                             "in \"slidewin\" directive, it must have a "
                             "variable", arg.data);
}


static int
replay_conf_limit_headers(replay_conf_reader_t *reader, replay_text_t arg,
    replay_text_t value, void *data)
{
    (void) data;

    if (replay_text_is(value, "off")) {
        return 0;
    }

    return replay_conf_error(reader, &reader->ref, "invalid headers \"%s\" "
                             "in \"slidewin\" directive, it must be "
                             "\"headers=off\"", arg.data);
}


static int
replay_conf_limit_dry_run(replay_conf_reader_t *reader, replay_text_t arg,
    replay_text_t value, void *data)
{
    replay_conf_limit_line_t  *line = data;

    (void) reader;
    (void) arg;
    (void) value;

    line->limit.dry_run = 1;

    return 0;
}
