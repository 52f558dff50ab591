
/*
 * What must hold when the ground moves: a clock that steps back, a rule
 * that takes over from another, a log that gets no room to grow.
 */


#include "property.h"


static const char *clock_back_admits_no_more(sw_algorithm_e algorithm);
static const char *clock_far_back_locks_none_out(sw_algorithm_e algorithm);
static const char *carry_forgets_nothing(sw_algorithm_e algorithm);
static const char *change_keeps_the_guarantee(sw_algorithm_e algorithm);
static const char *shorter_erases_nothing(sw_algorithm_e algorithm);
static const char *each_window_has_its_limit(sw_algorithm_e algorithm);
static const char *two_windows_are_apart(sw_algorithm_e algorithm);
static const char *left_is_given_back_nowhere(sw_algorithm_e algorithm);
static const char *log_lets_go_of_what_it_merged(sw_algorithm_e algorithm);
static const char *log_grows_exactly(sw_algorithm_e algorithm);
static const char *log_without_room_is_safe(sw_algorithm_e algorithm);


static const property_t  properties[] = {
    { clock_back_admits_no_more,
      "a clock that steps back admits no more", SW_COUNTER },
    { clock_far_back_locks_none_out,
      "a clock that steps back locks none out for longer than a full state",
      SW_COUNTER },
    { carry_forgets_nothing,
      "another rule carries what was used, another algorithm its limit",
      SW_COUNTER },
    { change_keeps_the_guarantee,
      "changing rules keep the smaller guarantee", SW_STRICT },
    { shorter_erases_nothing,
      "a shorter window erases nothing of a longer one", SW_COUNTER },
    { each_window_has_its_limit,
      "rates that change all the time: never more than L in each window",
      SW_STRICT },
    { two_windows_are_apart,
      "two rates in turn decide as two clients that count the same",
      SW_COUNTER },
    { left_is_given_back_nowhere,
      "what has left a window is not given back in another", SW_STRICT },
    { log_lets_go_of_what_it_merged,
      "a log of two windows lets go of what it merged",
      SW_LOG },
    { log_grows_exactly,
      "a ring of at most L entries that grows is exact", SW_LOG },
    { log_without_room_is_safe,
      "a ring that does not grow holds longer, never shorter", SW_LOG },
};


int
main(void)
{
    tap_diag("seed %" PRIu64, tap_seed(20000101));

    property_run(properties,
                 (int) (sizeof(properties) / sizeof(properties[0])));

    return tap_done();
}


/*
 * Time itself goes on while the clock steps back.  What counts is how much
 * is admitted in a window of time, not of the clock.  A step further than a
 * window moves the aligned windows of fixed, which has nothing else to hold
 * on to: there only the smaller steps are asked about.
 */

static const char *
clock_back_admits_no_more(sw_algorithm_e algorithm)
{
    int              i;
    int64_t          now, time, latest, back, cost, bound, stamp;
    client_t         client;
    const char      *what;
    sw_rule_t        rule;
    static trace_t   seen, stamped;

    what = NULL;
    trace_rule(&rule, algorithm);

    time = 1700000000000 + tap_rand(0, rule.window);
    latest = time;
    back = 0;
    seen.n = 0;
    stamped.n = 0;

    client_init(&client, &rule, time, 0);

    for (i = 0; i < 3 * STEPS; i++) {
        time += tap_rand(0, 2) ? tap_rand(0, 2) : trace_step(&rule);

        now = time - back;
        latest = now > latest ? now : latest;

        if (tap_rand(0, 7) == 0) {

            if (algorithm == SW_FIXED || tap_rand(0, 2)) {
                now -= tap_rand(1, rule.window);

            } else {
                now -= tap_rand(1, 10 * rule.window);
            }

            if (algorithm == SW_FIXED && latest - now > rule.window) {
                now = time - back;
            }

            back = time - now;
        }

        cost = trace_cost(&rule);

        if (client_take(&client, now, cost, &stamp) && cost) {
            trace_add(&seen, time, cost);
            trace_add(&stamped, stamp, cost);

            if (stamp < now) {
                what = fail(&client, now, "counted before its time");
            }
        }
    }

    bound = rule.limit;

    if (algorithm == SW_COUNTER) {
        bound = 2 * rule.limit - 1;

    } else if (algorithm == SW_FIXED) {
        bound = 2 * rule.limit;
    }

    if (trace_most(&seen, rule.window) > bound) {
        what = fail(&client, time, "too many in a rolling window");
    }

    if (algorithm == SW_FIXED
        && trace_most_aligned(&stamped, rule.window) > rule.limit)
    {
        what = fail(&client, time, "too many in an aligned window");
    }

    client_free(&client);

    return what;
}


static const char *
clock_far_back_locks_none_out(sw_algorithm_e algorithm)
{
    int           i;
    int64_t       now, then, back, cost, wait;
    client_t      client, full;
    const char   *what;
    sw_verdict_t  v, worst;

    what = NULL;
    now = wander(&client, algorithm, STEPS) + 2000000;

    for (i = 0; i < 2 * STEPS; i++) {
        (void) client_take(&client, now, tap_rand(1, client.rule.limit),
                           NULL);
        now += (tap_rand(0, 15) == 0);
    }

    back = tap_rand(0, 1) ? tap_rand(0, 1000000)
                          : tap_rand(0, 3 * client.rule.window);

    /* what is carried is cut to a limit that was lowered */

    if (back > 3 * client.rule.window && tap_rand(0, 1)) {
        client.rule.limit = tap_rand(1, client.rule.limit);
    }

    then = now - back;
    cost = tap_rand(1, client.rule.limit);

    client_check(&client, then, cost, &v);

    /* a state that has just been filled, and the way back to its time */

    client_init(&full, &client.rule, v.stamp, 0);
    (void) client_add(&full, v.stamp, client.rule.limit);
    client_check(&full, v.stamp, cost, &worst);

    wait = v.stamp - then;

    if (wait < 0 || wait > client.rule.window) {
        what = fail(&client, then, "waits for the clock for too long");
    }

    if (back > 3 * client.rule.window && wait) {
        what = fail(&client, then, "waits for the clock though far back");
    }

    if (v.retry > wait + worst.retry || v.reset > wait + worst.reset
        || v.more > wait + worst.reset)
    {
        what = fail(&client, then, "locked out");
    }

    client_free(&full);
    client_free(&client);

    return what;
}


static const char *
carry_forgets_nothing(sw_algorithm_e algorithm)
{
    int            i, alike;
    int64_t        now, used, held;
    client_t       client, fresh;
    const char    *what;
    sw_rule_t      rule;
    sw_verdict_t   v;

    what = NULL;
    now = wander(&client, algorithm, STEPS);

    for (i = 0; i < 10 && what == NULL; i++) {
        trace_rule(&rule, (sw_algorithm_e) tap_rand(SW_COUNTER, SW_LOG));

        client.state->second = 0;
        now += trace_step(&client.rule);
        client_check(&client, now, 0, &v);

        used = (v.level + v.scale - 1) / v.scale;

        /* a log may be kept for a longer window than it is asked for */

        if (client.state->algorithm == SW_LOG
            && client.state->window != client.rule.window)
        {
            used = sw_state_used(client.state, now);
        }

        if (sw_state_used(client.state, now) != used) {
            what = fail(&client, now, "used is not the estimate rounded up");
        }

        alike = (client.state->algorithm == rule.algorithm
                 && client.state->slices == rule.slices);

        if (!client_change(&client, &rule, now)) {

            if (sw_state_used(client.state, now) != used) {
                what = fail(&client, now, "a state that matches changed");
            }

            continue;
        }

        held = used;

        if (!alike && held > rule.limit) {
            held = rule.limit;
        }

        client_check(&client, now, 1, &v);

        if (!sw_state_matches(client.state, &rule)
            || sw_state_used(client.state, now) != held
            || v.level != held * v.scale
            || v.remaining != (held < rule.limit ? rule.limit - held : 0))
        {
            what = fail(&client, now, "carried something else");
        }

        /* the same as a new client that takes the units now */

        if (what == NULL) {
            client_init(&fresh, &rule, now, 0);

            if (held) {
                (void) client_add(&fresh, now, held);
            }

            if (!twins_agree(&client, &fresh, now, AHEAD / 4)) {
                what = fail(&client, now, "not as though taken now");
            }

            now += AHEAD * rule.window * 3;
            client_free(&fresh);
        }
    }

    client_free(&client);

    return what;
}


/*
 * log and strict admit at most L in W; when one rule takes over from the
 * other, the larger L bounds what is admitted in the smaller W.  (Not so when
 * a third follows at once: what exceeded the second one's limit is gone.)
 */

static const char *
change_keeps_the_guarantee(sw_algorithm_e algorithm)
{
    int              i;
    int64_t          now, limit, window, cost;
    client_t         client;
    const char      *what;
    sw_rule_t        rule;
    static trace_t   seen;

    what = NULL;
    seen.n = 0;
    now = trace_start();

    trace_rule(&rule, algorithm);
    client_init(&client, &rule, now, 0);

    limit = rule.limit;
    window = rule.window;

    for (i = 0; i < 2 * STEPS; i++) {
        now += tap_rand(0, 1) ? tap_rand(0, 2) : trace_step(&client.rule);

        if (i == STEPS) {
            trace_rule(&rule, tap_rand(0, 1) ? SW_STRICT : SW_LOG);
            (void) client_change(&client, &rule, now);

            limit = rule.limit > limit ? rule.limit : limit;
            window = rule.window < window ? rule.window : window;
        }

        cost = trace_cost(&client.rule);

        if (client_take(&client, now, cost, NULL) && cost) {
            trace_add(&seen, now, cost);
        }
    }

    if (trace_most(&seen, window) > limit) {
        what = fail(&client, now, "a change forgot units");
    }

    client_free(&client);

    return what;
}


/*
 * A client goes from one window to shorter ones and back: it has used at least
 * as much as a client that has only ever had the longer one.
 */

static const char *
shorter_erases_nothing(sw_algorithm_e algorithm)
{
    int            i, n;
    int64_t        now, cost;
    client_t       client, alone;
    const char    *what;
    sw_rule_t      rule, shorter;
    sw_verdict_t   v, least;

    what = NULL;
    now = trace_start();

    do {
        trace_rule(&rule, algorithm);
    } while (rule.window < 2 || rule.slices >= rule.window);

    client_init(&client, &rule, now, 0);
    client_init(&alone, &rule, now, 0);

    for (i = 0; i < STEPS && what == NULL; i++) {
        now += trace_step(&rule) / 4;

        /* the longer one is asked for the same by both */

        cost = trace_cost(&rule);

        (void) client_change(&client, &rule, now);

        client_check(&client, now, cost, &v);
        client_check(&alone, now, cost, &least);

        if (v.level < least.level) {
            what = fail(&client, now, "a shorter window has erased units");
            break;
        }

        if (v.admitted && least.admitted && cost) {
            (void) client_add(&client, now, cost);
            (void) client_add(&alone, now, cost);
        }

        /* some come meanwhile with shorter ones */

        shorter = rule;

        for (n = (int) tap_rand(0, 3); n; n--) {
            shorter.window = tap_rand(rule.slices > 1 ? rule.slices : 1,
                                      rule.window - 1);
            shorter.limit = tap_rand(1, 2 * rule.limit);
            now += trace_step(&shorter) / 2;

            (void) client_change(&client, &shorter, now);
            (void) client_take(&client, now, 1, NULL);
        }
    }

    client_free(&client);
    client_free(&alone);

    return what;
}


/*
 * Up to four rates for one client, in any order, with units that are given
 * back.  A window knows of all units since it, or a longer one, was first
 * counted with, or again after nothing was left: of those there are never more
 * than its limit in it.
 */

static const char *
each_window_has_its_limit(sw_algorithm_e algorithm)
{
    int              i, j, k, n, rates;
    int64_t          now, cost, stamp, units, since[4], stamps[TRACE_EVENTS];
    client_t         client, copy;
    const char      *what;
    sw_rule_t        rules[4], *rule;
    static trace_t   seen;

    what = NULL;
    seen.n = 0;
    now = trace_start();
    rates = (int) tap_rand(2, 4);

    trace_rule(&rules[0], algorithm);

    for (i = 0; i < rates; i++) {
        since[i] = INT64_MAX;

        do {
            trace_rule(&rules[i], algorithm);

            if (algorithm == SW_STRICT) {
                rules[i].slices = i ? rules[0].slices
                                       : tap_rand(1, rules[0].window);
            }

        } while (sw_rule_error(&rules[i]));
    }

    client_init(&client, &rules[0], now, 0);

    for (i = 0; i < 2 * STEPS && what == NULL; i++) {
        k = (int) tap_rand(0, rates - 1);
        rule = &rules[k];
        now += tap_rand(0, 2) ? tap_rand(0, 2) : trace_step(rule) / 2;
        cost = trace_cost(rule);

        if (seen.n && tap_rand(0, 5) == 0) {
            n = (int) tap_rand(0, seen.n - 1);
            j = (int) (stamps[n] & 3);

            client.rule = rules[j];
            client_give_back(&client, seen.events[n].units,
                             stamps[n] >> 2);
            seen.events[n].units = 0;
        }

        for (n = 0, units = 0; n < seen.n; n++) {

            for (j = 0; j < rates; j++) {

                if (seen.events[n].time >= since[j]
                    && now - seen.events[n].time < rules[j].window)
                {
                    units += seen.events[n].units;
                }
            }
        }

        for (j = 0; j < rates && units == 0; j++) {
            since[j] = INT64_MAX;
        }

        /* a store writes what it turned also if that refuses */

        client_copy(&copy, &client);
        (void) client_change(&copy, rule, now);

        if (cost == 0) {
            client_free(&copy);
            continue;
        }

        client_free(&client);
        client = copy;

        if (!client_take(&client, now, cost, &stamp)) {
            continue;
        }

        stamps[seen.n] = stamp << 2 | k;
        trace_add(&seen, now, cost);

        for (j = 0; j < rates; j++) {

            if (rules[j].window <= rule->window) {
                since[j] = since[j] < now ? since[j] : now;
            }
        }

        units = 0;

        for (n = 0; n < seen.n; n++) {

            if (seen.events[n].time >= since[k]
                && now - seen.events[n].time < rule->window)
            {
                units += seen.events[n].units;
            }
        }

        if (units > rule->limit) {
            what = fail(&client, now, "more than the limit of this window");
        }
    }

    client_free(&client);

    return what;
}


/*
 * From when on both were counted with, each of two windows knows all units,
 * as a client of its own does that counts whatever is admitted.
 */

static const char *
two_windows_are_apart(sw_algorithm_e algorithm)
{
    int            i, k;
    int64_t        now, cost;
    client_t       client, alone[2];
    const char    *what;
    sw_rule_t      rules[2];
    sw_verdict_t   v, w;

    what = NULL;
    now = trace_start();

    do {
        trace_rule(&rules[0], algorithm);
        trace_rule(&rules[1], algorithm);
        rules[1].slices = rules[0].slices;
    } while (sw_rule_error(&rules[1])
             || rules[0].window == rules[1].window);

    /* with room for all units: a log of one rule has no more than its own */

    client_init(&client, &rules[0], now, 512);

    for (k = 0; k < 2; k++) {
        client_init(&alone[k], &rules[k], now, 512);
        (void) client_add(&alone[k], now, 2);
    }

    (void) client_add(&client, now, 1);
    (void) client_change(&client, &rules[1], now);
    (void) client_add(&client, now, 1);

    for (i = 0; i < STEPS && what == NULL; i++) {
        k = (int) tap_rand(0, 1);
        now += tap_rand(0, 2) ? tap_rand(0, 2) : trace_step(&rules[k]) / 4;
        cost = trace_cost(&rules[k]);

        if (sw_window_idle(client.state, now)) {
            break;
        }

        (void) client_change(&client, &rules[k], now);

        client_check(&client, now, cost, &v);
        client_check(&alone[k], now, cost, &w);

        if (!trace_same(&v, &w)) {
            trace_show("of two", &v);
            trace_show("alone ", &w);
            what = fail(&client, now, "another decision");
        }

        if (v.admitted && cost) {
            (void) client_add(&client, now, cost);
            (void) client_add(&alone[0], now, cost);
            (void) client_add(&alone[1], now, cost);
        }
    }

    client_free(&client);
    client_free(&alone[0]);
    client_free(&alone[1]);

    return what;
}


/*
 * Of two units the first has left when a longer window is asked for, which
 * holds the second alone, and is given back after that.
 */

static const char *
left_is_given_back_nowhere(sw_algorithm_e algorithm)
{
    int64_t      now, gone, stamp;
    client_t     client;
    const char  *what;
    sw_rule_t    rule, longer;

    what = NULL;
    now = trace_start();

    rule.algorithm = algorithm;
    rule.limit = 5;
    rule.window = 1000;
    rule.slices = (algorithm == SW_STRICT) ? tap_rand(1, 100) : 0;

    longer = rule;
    longer.limit = 1;
    longer.window = 60000;

    client_init(&client, &rule, now, 0);

    (void) client_take(&client, now, 1, &stamp);

    /* strict lets go of it a slice later */

    gone = 1000 + (rule.slices ? 1000 / rule.slices : 0) + 1;
    now += gone - 1;

    (void) client_take(&client, now, 1, NULL);
    (void) client_change(&client, &longer, now + 1);

    if (client_take(&client, now + 1, 1, NULL)) {
        what = fail(&client, now, "the second unit was forgotten");
    }

    client.rule = rule;
    client_give_back(&client, 1, stamp);
    (void) client_change(&client, &longer, now + 2);

    if (client_take(&client, now + 2, 1, NULL)) {
        what = fail(&client, now, "the second unit was given back");
    }

    client_free(&client);

    return what;
}


/*
 * A short window that is asked for all the time has little room for entries
 * of the long one: they are merged, and yet leave.  With room for three of them
 * they do after another window.
 */

static const char *
log_lets_go_of_what_it_merged(sw_algorithm_e algorithm)
{
    int              i;
    int64_t          now, pace, held;
    uint32_t         room;
    client_t         client;
    const char      *what;
    sw_rule_t        rule, shorter;
    sw_verdict_t     v;
    static trace_t   seen;

    what = NULL;
    seen.n = 0;
    now = trace_start();

    rule.algorithm = algorithm;
    rule.limit = tap_rand(1, 5000);
    rule.window = tap_rand(64, 5000);
    rule.slices = 0;

    shorter = rule;
    shorter.limit = tap_rand(1, 12);
    shorter.window = tap_rand(1, rule.window / 4);

    pace = tap_rand(1, rule.window / 8);
    room = 0;
    held = rule.window * 17 / 16 + 1;

    if (tap_rand(0, 1)) {
        room = (uint32_t) shorter.limit + 3;
        held = rule.window * 2;
    }

    client_init(&client, &rule, now, room);
    (void) client_take(&client, now, 1, NULL);
    trace_add(&seen, now, 1);

    for (i = 0; i < 5 * STEPS && what == NULL; i++) {
        now += tap_rand(1, pace);

        client.rule = shorter;

        if (client_take(&client, now, 1, NULL)) {
            trace_add(&seen, now, 1);
        }

        client.rule = rule;
        client_check(&client, now, 1, &v);

        if (v.level < trace_units(&seen, now, rule.window)) {
            what = fail(&client, now, "forgot units");
        }

        if (v.level > trace_units(&seen, now, held)) {
            what = fail(&client, now, "does not let go of units");
        }
    }

    client_free(&client);

    return what;
}


static const char *
log_grows_exactly(sw_algorithm_e algorithm)
{
    int              i, admitted;
    int64_t          now, cost;
    client_t         client;
    const char      *what;
    sw_rule_t        rule;
    static trace_t   seen;

    what = NULL;
    seen.n = 0;
    now = trace_start();

    trace_rule(&rule, algorithm);
    client_init(&client, &rule, now, 0);

    /* either from one entry on, or with the room it may ever want */

    if (tap_rand(0, 1)) {
        client_free(&client);
        client_init(&client, &rule, now, (uint32_t) rule.limit);
    }

    for (i = 0; i < 3 * STEPS; i++) {
        now += tap_rand(0, 3) ? tap_rand(0, 2) : trace_step(&rule);
        cost = tap_rand(0, 2) ? 1 : trace_cost(&rule);

        admitted = client_take(&client, now, cost, NULL);

        if (admitted != (cost == 0
                         || trace_units(&seen, now, rule.window) + cost
                            <= rule.limit))
        {
            what = fail(&client, now, "not exact");
        }

        if (admitted && cost) {
            trace_add(&seen, now, cost);
        }

        if (client.state->u.log.room > rule.limit
            || client.state->u.log.count > client.state->u.log.room)
        {
            what = fail(&client, now, "more room than there can be entries");
        }
    }

    client_free(&client);

    return what;
}


static const char *
log_without_room_is_safe(sw_algorithm_e algorithm)
{
    int              i, n;
    int64_t          now, cost, units;
    client_t         client, later;
    const char      *what;
    sw_rule_t        rule;
    sw_verdict_t     v;
    static trace_t   seen;

    what = NULL;
    seen.n = 0;
    now = trace_start();

    trace_rule(&rule, algorithm);
    client_init(&client, &rule, now,
                (uint32_t) tap_rand(1, rule.limit < 6 ? rule.limit : 6));

    for (i = 0; i < 2 * STEPS && what == NULL; i++) {
        now += tap_rand(0, 3) ? tap_rand(0, 2) : trace_step(&rule);
        cost = tap_rand(0, 2) ? 1 : trace_cost(&rule);

        if (seen.n && tap_rand(0, 9) == 0) {
            n = (int) tap_rand(0, seen.n - 1);
            units = tap_rand(0, seen.events[n].units);

            client_give_back(&client, units, seen.events[n].time);
            seen.events[n].units -= units;
        }

        client_check(&client, now, cost, &v);
        units = trace_units(&seen, now, rule.window);

        if (v.level < units) {
            what = fail(&client, now, "forgot units it has no room for");
        }

        if (v.reset > rule.window) {
            what = fail(&client, now, "holds units for more than a window");
        }

        if (v.retry > 0) {
            client_copy(&later, &client);

            if (client_admits(&later, now + v.retry - 1, cost)
                || !client_admits(&later, now + v.retry, cost))
            {
                what = fail(&client, now, "retry is wrong");
            }

            client_free(&later);
        }

        if (v.admitted && cost) {
            (void) client_add(&client, now, cost);
            trace_add(&seen, now, cost);
        }
    }

    if (trace_most(&seen, rule.window) > rule.limit) {
        what = fail(&client, now, "more than the limit");
    }

    client_free(&client);

    return what;
}
