
#include "replay_task.h"
#include "sw_math.h"
#include "sw_parse.h"


static void replay_compile(replay_t *replay, const char *option,
    replay_value_t *value, replay_text_t text);
static void replay_check_zones(replay_t *replay);
static int replay_zone_wanted(const replay_options_t *options,
    replay_text_t name);
static int replay_set_key(replay_t *replay, const replay_conf_zone_t *zone,
    replay_group_t *group);
static void replay_set_zone(replay_t *replay, const replay_conf_zone_t *zone,
    replay_group_t *group);
static int replay_set_use(replay_t *replay, const replay_conf_limit_t *use,
    replay_limit_t *limit);


static void
replay_compile(replay_t *replay, const char *option, replay_value_t *value,
    replay_text_t text)
{
    const char  *error;

    error = replay_value_compile(value, &replay->format, text);

    if (error) {
        replay_fatal("%s %.*s: %s", option, (int) text.len, text.data, error);
    }
}


/* of the command line: candidates that are compared with each other */

void
replay_set_limits(replay_t *replay)
{
    size_t             i;
    replay_rate_t     *rate;
    replay_limit_t    *limit;
    replay_group_t    *group;
    replay_limits_t   *limits;
    replay_options_t  *options;

    limits = &replay->limits;
    options = &replay->options;

    limits->limits = replay_calloc(1, sizeof(replay_limit_t));
    limits->nlimits = 1;
    limits->groups = replay_calloc(1, sizeof(replay_group_t));
    limits->ngroups = 1;

    limit = limits->limits;
    group = limits->groups;

    limit->group = group;
    limit->units = 1;

    replay_clients_init(&group->clients);
    replay_compile(replay, "--key", &group->key,
                   replay_text_of(options->key));

    if (strchr(options->key, '$') == NULL && options->key[0] != '.') {
        replay_fatal("--key: \"%s\" has no $variable%s: all clients would be "
                     "one", options->key,
                     replay->format.json ? " and is no .member" : "");
    }

    if (options->count_text) {

        if (replay->log.status.n == 0) {
            replay_fatal("--count: the log has no $status");
        }

        limit->count = &options->count;
    }

    if (options->cost
        && sw_parse_cost(options->cost, strlen(options->cost), &limit->units)
           != SW_OK)
    {
        if (strchr(options->cost, '$') == NULL && options->cost[0] != '.') {
            replay_fatal("--cost: \"%s\": expected a number, a $variable or "
                         "a .member", options->cost);
        }

        replay_compile(replay, "--cost", &limit->cost,
                       replay_text_of(options->cost));
    }

    replay->doubt = options->cost || options->count_text;

    group->candidates = replay_calloc(options->nrates * options->nalgorithms,
                                      sizeof(replay_candidate_t));

    if (replay->doubt || options->ban_text) {
        group->plain = replay_calloc(options->nrates * options->nalgorithms,
                                     sizeof(replay_candidate_t));
    }

    for (i = 0; i < options->nrates; i++) {
        rate = &options->rates[i];

        replay_group_window(group, rate->window);

        if (rate->limit) {
            replay_add_candidates(replay, rate);

        } else {
            replay->automatic = 1;
        }
    }

    if (replay->automatic || options->html) {
        replay->spooled = 1;
        replay_spool_open(&replay->spool, replay->automatic);
    }
}


void
replay_add_candidates(replay_t *replay, replay_rate_t *rate)
{
    size_t               i;
    int64_t              span;
    sw_rule_t            rule;
    replay_text_t        text;
    replay_group_t      *group;
    replay_options_t    *options;
    replay_candidate_t  *candidate;

    options = &replay->options;
    group = replay->limits.groups;
    span = replay->log.fine ? 0 : 999;

    for (i = 0; i < options->nalgorithms; i++) {
        rule.algorithm = options->algorithms[i];
        rule.limit = rate->limit;
        rule.window = rate->window;
        rule.slices = (rule.algorithm == SW_STRICT)
                      ? sw_min(options->slices, rule.window) : 0;

        replay_check_rule(&rule, rate->text);

        candidate = &group->candidates[group->n];

        replay_candidate_init(candidate, &rule, &options->ban, span,
                              replay->doubt);

        candidate->rate = rate->text;
        candidate->ban_text = options->ban_text;

        text.data = replay_pool_print(&replay->pool, "%.*s/%s",
                                      (int) rate->text.len, rate->text.data,
                                      replay_algorithms[rule.algorithm]);
        text.len = strlen(text.data);
        candidate->label = text;

        if (group->plain) {
            replay_candidate_init(&group->plain[group->n], &rule, NULL, 0,
                                  0);
        }

        group->n++;
    }
}


void
replay_check_rule(const sw_rule_t *rule, replay_text_t rate)
{
    const char  *error;

    error = sw_rule_error(rule);

    if (error) {
        replay_fatal("%.*s as %s: %s", (int) rate.len, rate.data,
                     replay_algorithms[rule->algorithm], error);
    }
}


/* of nginx.conf: a group for each zone, and all limits of a location */

void
replay_set_conf(replay_t *replay)
{
    size_t                 i, n;
    replay_log_t          *log;
    replay_limit_t        *limit;
    replay_limits_t       *limits;
    replay_group_t        *group, **groups;
    const replay_conf_t   *conf;

    log = &replay->log;
    conf = log->conf;
    limits = &replay->limits;

    limits->joint = 1;
    limits->groups = replay_calloc(conf->nzones + 1, sizeof(replay_group_t));
    limits->limits = replay_calloc(conf->nlimits + 1, sizeof(replay_limit_t));
    log->places = replay_calloc(conf->nlimits + 1, sizeof(uint32_t));

    groups = replay_calloc(conf->nzones + 1, sizeof(replay_group_t *));
    n = 0;

    for (i = 0; i < conf->nzones; i++) {

        if (replay_zone_wanted(&replay->options, conf->zones[i].name)
            && replay_set_key(replay, &conf->zones[i], &limits->groups[n]))
        {
            groups[i] = &limits->groups[n++];
        }
    }

    limits->ngroups = n;

    replay_check_zones(replay);

    for (i = 0; i < conf->nlimits; i++) {
        group = groups[conf->limits[i]->zone];
        limit = &limits->limits[limits->nlimits];

        if (group == NULL) {
            continue;
        }

        limit->group = group;

        if (replay_set_use(replay, conf->limits[i], limit)) {
            log->places[i] = (uint32_t) ++limits->nlimits;
        }
    }

    for (i = 0; i < conf->nzones; i++) {

        if (groups[i]) {
            replay_set_zone(replay, &conf->zones[i], groups[i]);
        }
    }

    free(groups);

    if (limits->nlimits == 0) {
        replay_fatal("%s: no limit of it can be replayed%s%s",
                     replay->options.conf, replay->report.nnotes ? ": " : "",
                     replay->report.nnotes ? replay->report.notes[0] : "");
    }

    for (i = 0; i < conf->nnotes; i++) {
        replay_note(&replay->report, "%s", conf->notes[i]);
    }
}


static void
replay_check_zones(replay_t *replay)
{
    size_t         len;
    const char    *p;
    replay_text_t  name;

    for (p = replay->options.zone; p; p = p[len] ? p + len + 1 : NULL) {
        len = strcspn(p, ",");
        name.data = p;
        name.len = len;

        if (replay_conf_zone(replay->log.conf, name) == NULL) {
            replay_fatal("--zone: there is no zone \"%.*s\" in %s", (int) len,
                         p, replay->options.conf);
        }
    }
}


/* --zone a,b */

static int
replay_zone_wanted(const replay_options_t *options, replay_text_t name)
{
    size_t       len;
    const char  *p;

    if (options->zone == NULL) {
        return 1;
    }

    for (p = options->zone; ; p += len + 1) {
        len = strcspn(p, ",");

        if (len == name.len && memcmp(p, name.data, len) == 0) {
            return 1;
        }

        if (p[len] == '\0') {
            return 0;
        }
    }
}


/* whether the log has what the key is made of */

static int
replay_set_key(replay_t *replay, const replay_conf_zone_t *zone,
    replay_group_t *group)
{
    const char  *error;

    error = zone->rate_varies ? "its rate is a variable; try rates by --rate"
            : replay_value_compile(&group->key, &replay->format, zone->key);

    if (error) {
        replay_note(&replay->report, "zone \"%.*s\" is left out: %s",
                    (int) zone->name.len, zone->name.data, error);
        return 0;
    }

    replay_clients_init(&group->clients);

    return 1;
}


static void
replay_set_zone(replay_t *replay, const replay_conf_zone_t *zone,
    replay_group_t *group)
{
    int                  doubt, joint;
    size_t               i;
    replay_limit_t      *limit;
    replay_candidate_t  *candidate;

    doubt = 0;
    joint = 0;

    for (i = 0; i < replay->limits.nlimits; i++) {
        limit = &replay->limits.limits[i];

        if (limit->group == group) {
            joint |= limit->joint;
            doubt |= limit->cost.n || limit->units != 1 || limit->count
                     || limit->reset;
        }
    }

    candidate = replay_calloc(1, sizeof(replay_candidate_t));

    replay_candidate_init(candidate, &zone->rule, &zone->ban,
                          replay->log.fine ? 0 : 999, doubt || joint);

    /* what another limit rejects counts for none */

    if (joint) {
        candidate->steady = 0;
    }

    candidate->rate = zone->rate;
    candidate->ban_text = zone->ban_text.data;
    candidate->name = zone->name;
    candidate->label = zone->name;

    group->candidates = candidate;
    group->n = 1;

    replay_group_window(group, zone->rule.window);
}


/* whether the log has what decides if the limit applies, and how */

static int
replay_set_use(replay_t *replay, const replay_conf_limit_t *use,
    replay_limit_t *limit)
{
    const char  *error;

    limit->units = use->units;
    limit->count = use->count;
    limit->reset = use->reset;
    limit->dry_run = use->dry_run;
    limit->joint = use->joint;

    if ((use->count || use->reset) && replay->log.status.n == 0) {
        replay_note(&replay->report,
                    "%s:%u: the limit is left out: the log has no "
                    "$status for its count= or reset=", use->ref.file,
                    use->ref.line);
        return 0;
    }

    if (use->units == -1) {
        error = replay_value_compile(&limit->cost, &replay->format,
                                     use->cost);

        if (error) {
            replay_note(&replay->report,
                        "%s:%u: the limit is left out: cost=%.*s: %s",
                        use->ref.file, use->ref.line, (int) use->cost.len,
                        use->cost.data, error);
            return 0;
        }
    }

    if (use->condition.len) {
        error = replay_value_compile(&limit->condition, &replay->format,
                                     use->condition);

        if (error) {
            limit->condition.n = 0;
            replay_note(&replay->report, "%s:%u: if=%.*s is taken as true: %s",
                        use->ref.file, use->ref.line,
                        (int) use->condition.len, use->condition.data, error);
        }
    }

    if (use->charge.len) {
        replay_note(&replay->report,
                    "%s:%u: charge= is not replayed, the cost is what "
                    "cost= says", use->ref.file, use->ref.line);
    }

    if (use->delay) {
        replay_note(&replay->report,
                    "%s:%u: what delay= would let wait is told as "
                    "rejected", use->ref.file, use->ref.line);
    }

    return 1;
}
