
/*
 * Properties of single verdicts and of what must not change them, asked of
 * the implementation alone: copies of a state are sent into the future, and
 * twins that should agree are led through the same trace.
 */


#include "property.h"


static const char *remaining_is_largest(sw_algorithm_e algorithm);
static const char *retry_is_exact(sw_algorithm_e algorithm);
static const char *more_and_reset_are_exact(sw_algorithm_e algorithm);
static const char *too_much_is_never(sw_algorithm_e algorithm);
static const char *rejections_leave_no_trace(sw_algorithm_e algorithm);
static const char *zero_counts_nothing(sw_algorithm_e algorithm);
static const char *give_back_restores(sw_algorithm_e algorithm);
static const char *give_back_is_bounded(sw_algorithm_e algorithm);
static const char *idle_is_as_new(sw_algorithm_e algorithm);
static const char *idle_looks_at_no_entry(sw_algorithm_e algorithm);
static const char *ends_when_nothing_is_used(sw_algorithm_e algorithm);
static const char *new_is_as_empty(sw_algorithm_e algorithm);
static const char *later_is_the_same(sw_algorithm_e algorithm);


static const property_t  properties[] = {
    { remaining_is_largest,
      "remaining is the largest cost admitted", SW_COUNTER },
    { retry_is_exact,
      "retry is the first ms at which the cost is admitted", SW_COUNTER },
    { more_and_reset_are_exact,
      "more and reset are the first ms with more, with all", SW_COUNTER },
    { too_much_is_never,
      "a cost above the limit is never admitted and changes nothing",
      SW_COUNTER },
    { rejections_leave_no_trace,
      "rejections and peeks change no later decision", SW_COUNTER },
    { zero_counts_nothing,
      "counting a cost of 0 changes nothing", SW_COUNTER },
    { give_back_restores,
      "what is given back was never taken", SW_COUNTER },
    { give_back_is_bounded,
      "no stamp gives back more than is there", SW_COUNTER },
    { idle_is_as_new,
      "idle if and only if a new state decides the same", SW_COUNTER },
    { idle_looks_at_no_entry,
      "whether it is idle is found without a look at the entries",
      SW_LOG },
    { ends_when_nothing_is_used,
      "a state ends when nothing of it is used any more", SW_COUNTER },
    { new_is_as_empty,
      "a client never seen is told what an empty state is", SW_COUNTER },
    { later_is_the_same,
      "what is left for later is told as it was", SW_COUNTER },
};


int
main(void)
{
    tap_diag("seed %" PRIu64, tap_seed(19991231));

    property_run(properties,
                 (int) (sizeof(properties) / sizeof(properties[0])));

    return tap_done();
}


static const char *
remaining_is_largest(sw_algorithm_e algorithm)
{
    int64_t       now, cost;
    client_t      client;
    const char   *what;
    sw_verdict_t  v, one;

    what = NULL;
    now = wander(&client, algorithm, STEPS);

    client_check(&client, now, 0, &v);

    for (cost = 0; cost <= client.rule.limit + 1; cost++) {
        client_check(&client, now, cost, &one);

        if (one.admitted != (cost <= v.remaining)
            || client_admits(&client, now, cost) != one.admitted
            || one.remaining != v.remaining)
        {
            what = fail(&client, now, "remaining is not the largest");
        }
    }

    client_free(&client);

    return what;
}


static const char *
retry_is_exact(sw_algorithm_e algorithm)
{
    int64_t       now, cost, ms;
    client_t      client, later;
    const char   *what;
    sw_verdict_t  v, then;

    what = NULL;
    now = wander(&client, algorithm, STEPS);

    for (cost = 0; cost <= client.rule.limit; cost++) {
        client_check(&client, now, cost, &v);

        if (v.admitted) {

            if (v.retry != 0) {
                what = fail(&client, now, "admitted, and should come later");
            }

            continue;
        }

        /* comes once, just then; comes once, just before; comes every ms */

        client_copy(&later, &client);

        if (v.retry < 1 || !client_admits(&later, now + v.retry, cost)) {
            what = fail(&client, now, "came in time, and was rejected");
        }

        client_free(&later);
        client_copy(&later, &client);

        if (client_admits(&later, now + v.retry - 1, cost)) {
            what = fail(&client, now, "came early, and was admitted");
        }

        client_free(&later);
        client_copy(&later, &client);

        for (ms = 0; ms <= 4 * client.rule.window; ms++) {
            client_check(&later, now + ms, cost, &then);

            if (then.admitted) {
                break;
            }

            if (then.retry != v.retry - ms) {
                what = fail(&client, now, "the time to wait wavers");
                break;
            }
        }

        if (ms != v.retry) {
            what = fail(&client, now, "tried every ms, and was told wrong");
        }

        client_free(&later);
    }

    client_free(&client);

    return what;
}


static const char *
more_and_reset_are_exact(sw_algorithm_e algorithm)
{
    int64_t       now, ms, more, reset;
    client_t      client;
    const char   *what;
    sw_verdict_t  v, then;

    what = NULL;
    now = wander(&client, algorithm, STEPS);

    client_check(&client, now, 0, &v);

    more = -1;
    reset = -1;

    for (ms = 0; ms <= 4 * client.rule.window && reset < 0; ms++) {
        client_check(&client, now + ms, 0, &then);

        if (then.remaining > v.remaining && more < 0) {
            more = ms;
        }

        if (then.remaining == client.rule.limit) {
            reset = ms;
        }
    }

    if (v.remaining == client.rule.limit) {
        more = client.rule.window;
    }

    if (v.more != more) {
        what = fail(&client, now, "more is wrong");
    }

    if (v.reset != reset) {
        what = fail(&client, now, "reset is wrong");
    }

    client_free(&client);

    return what;
}


static const char *
too_much_is_never(sw_algorithm_e algorithm)
{
    int           i;
    int64_t       now, cost;
    client_t      client, twin;
    const char   *what;
    sw_verdict_t  v;

    what = NULL;
    now = wander(&client, algorithm, tap_rand(0, STEPS));
    client_copy(&twin, &client);

    for (i = 0; i < 5; i++) {
        now += trace_step(&client.rule);
        cost = client.rule.limit + (i ? tap_rand(1, 1000) : 1);

        client_check(&client, now, cost, &v);

        if (v.admitted || v.retry != SW_NEVER
            || client_admits(&client, now, cost))
        {
            what = fail(&client, now, "more than the limit can be had");
        }
    }

    if (!twins_agree(&client, &twin, now, AHEAD)) {
        what = fail(&client, now, "what could never pass left a trace");
    }

    client_free(&client);
    client_free(&twin);

    return what;
}


static const char *
rejections_leave_no_trace(sw_algorithm_e algorithm)
{
    int           i;
    int64_t       now, cost, step;
    client_t      client, twin;
    const char   *what;
    sw_verdict_t  v;

    what = NULL;
    now = wander(&client, algorithm, tap_rand(0, STEPS));
    client_copy(&twin, &client);

    for (i = 0; i < AHEAD && what == NULL; i++) {

        /* the client asks in between, the twin does not */

        for (step = trace_step(&client.rule); step > 0; step--) {
            now++;

            if (tap_rand(0, 3)) {
                continue;
            }

            client_check(&client, now, 0, &v);

            if (v.remaining < client.rule.limit) {
                cost = tap_rand(v.remaining + 1, client.rule.limit + 1);
                client_check(&client, now, cost, &v);
            }
        }

        if (!twins_agree(&client, &twin, now, 1)) {
            what = fail(&client, now, "asking changed the answer");
        }
    }

    client_free(&client);
    client_free(&twin);

    return what;
}


static const char *
zero_counts_nothing(sw_algorithm_e algorithm)
{
    int          i;
    int64_t      now;
    client_t     client, twin;
    const char  *what;

    what = NULL;
    now = wander(&client, algorithm, tap_rand(0, STEPS));
    client_copy(&twin, &client);

    for (i = 0; i < AHEAD && what == NULL; i++) {
        now += tap_rand(0, 1 + client.rule.window / 8);
        (void) client_add(&client, now, 0);

        if (!twins_agree(&client, &twin, now, 1)) {
            what = fail(&client, now, "a cost of 0 was counted");
        }
    }

    client_free(&client);
    client_free(&twin);

    return what;
}


static const char *
give_back_restores(sw_algorithm_e algorithm)
{
    int           i, n;
    int64_t       now, latest, back, cost, stamp;
    client_t      client, twin;
    const char   *what;
    sw_verdict_t  v;

    what = NULL;
    now = wander(&client, algorithm, tap_rand(0, STEPS));

    client_check(&client, now, 0, &v);

    if (v.remaining == 0) {
        now += v.more;
        client_check(&client, now, 0, &v);
    }

    if (v.remaining == 0) {
        what = fail(&client, now, "there is no more");
        client_free(&client);
        return what;
    }

    client_copy(&twin, &client);

    /* the client takes more than the twin, and gives the difference back */

    cost = tap_rand(1, v.remaining);
    back = tap_rand(0, 1) ? cost : tap_rand(1, cost);

    (void) client_take(&client, now, cost, &stamp);
    (void) client_take(&twin, now, cost - back, NULL);

    latest = now;
    n = (int) tap_rand(0, 8);

    for (i = 0; i < n && what == NULL; i++) {

        if (tap_rand(0, 5)) {
            now = latest + (tap_rand(0, 1) ? trace_step(&client.rule)
                                           : tap_rand(0, 2));
            latest = now;

        } else if (algorithm != SW_LOG) {

            /* a log would count what comes now with what is given back */

            now = latest - tap_rand(0, client.rule.window / 2);
            now = now < 0 ? 0 : now;
        }

        cost = trace_cost(&client.rule);

        if (client_take(&client, now, cost, NULL)) {

            if (!client_take(&twin, now, cost, NULL)) {
                what = fail(&client, now, "less was used, and it was full");
            }

        } else {
            (void) client_admits(&twin, now, 0);
        }
    }

    client_give_back(&client, back, stamp);
    (void) client_admits(&twin, now, 0);

    if (what == NULL && !twins_agree(&client, &twin, now, AHEAD)) {
        what = fail(&client, now, "what was given back is still counted");
    }

    client_free(&client);
    client_free(&twin);

    return what;
}


static const char *
give_back_is_bounded(sw_algorithm_e algorithm)
{
    int           i;
    int64_t       now, stamp, used;
    client_t      client;
    const char   *what;
    sw_verdict_t  before, v;

    what = NULL;
    now = wander(&client, algorithm, STEPS);

    for (i = 0; i < 10; i++) {
        client_check(&client, now, 0, &before);

        stamp = now + tap_rand(-3 * client.rule.window,
                               3 * client.rule.window);
        stamp = stamp < 0 ? 0 : stamp;

        client_give_back(&client, tap_rand(1, 2 * client.rule.limit),
                         stamp);
        client_check(&client, now, 0, &v);

        used = sw_state_used(client.state, now);

        if (v.level < 0 || v.level > before.level || used < 0
            || v.remaining < before.remaining
            || v.remaining > client.rule.limit)
        {
            what = fail(&client, now, "gave back what was not there");
        }

        now += trace_step(&client.rule);
    }

    client_free(&client);

    return what;
}


static const char *
idle_is_as_new(sw_algorithm_e algorithm)
{
    int           idle;
    int64_t       now;
    client_t      client, fresh;
    const char   *what;
    sw_verdict_t  v;

    what = NULL;
    now = wander(&client, algorithm, tap_rand(0, STEPS));
    now += tap_rand(0, 2 * client.rule.window + 1);

    /* asked of a state that was not brought to the time */

    idle = sw_window_idle(client.state, now);
    client_check(&client, now, client.rule.limit, &v);

    if (sw_window_idle(client.state, now) != idle) {
        what = fail(&client, now, "a check made it idle");
    }

    if (!idle) {

        if (v.admitted) {
            what = fail(&client, now, "not idle, and yet as new");
        }

        client_free(&client);
        return what;
    }

    client_init(&fresh, &client.rule, now, 0);

    if (!twins_agree(&client, &fresh, now, AHEAD)) {
        what = fail(&client, now, "idle, and yet not as new");
    }

    client_free(&client);
    client_free(&fresh);

    return what;
}


/* a zone that makes room asks it of several, with its lock held */

static const char *
idle_looks_at_no_entry(sw_algorithm_e algorithm)
{
    int              idle;
    int64_t          now;
    client_t         client;
    const char      *what;
    sw_log_entry_t  *entries;

    what = NULL;
    now = wander(&client, algorithm, STEPS);

    entries = client.state->u.log.entries;
    idle = sw_window_idle(client.state, now);

    client.state->u.log.entries = NULL;

    if (sw_window_idle(client.state, now) != idle) {
        what = fail(&client, now, "idle or not by its entries");
    }

    client.state->u.log.entries = entries;
    client_free(&client);

    return what;
}


static const char *
ends_when_nothing_is_used(sw_algorithm_e algorithm)
{
    int          i;
    int64_t      now, end, then;
    client_t     client;
    const char  *what;

    what = NULL;
    now = wander(&client, algorithm, tap_rand(0, STEPS));
    end = sw_state_end(client.state);

    for (i = -AHEAD; i <= AHEAD && what == NULL; i++) {

        then = (i >= -1 && i <= 1)
                   ? end + i
                   : now + tap_rand(-client.rule.window,
                                    2 * client.rule.window + 1);

        if (then < 0) {
            continue;
        }

        if ((end <= then) != (sw_state_used(client.state, then) == 0)) {
            what = fail(&client, then, "counts on, or has ended before");
        }
    }

    client_free(&client);

    return what;
}


static const char *
new_is_as_empty(sw_algorithm_e algorithm)
{
    int64_t        now, cost;
    client_t       client;
    const char    *what;
    sw_rule_t      rule;
    sw_verdict_t   v, new;

    what = NULL;
    trace_rule(&rule, algorithm);

    now = trace_start();
    cost = trace_cost(&rule) + (tap_rand(0, 3) == 0) * rule.limit;

    client_init(&client, &rule, now, 0);
    client_check(&client, now, cost, &v);
    sw_window_check_new(&rule, now, cost, &new);

    if (!trace_same(&v, &new)) {
        trace_show("empty", &v);
        trace_show("new  ", &new);
        what = fail(&client, now, "an empty state is told something else");
    }

    client_free(&client);

    return what;
}


static const char *
later_is_the_same(sw_algorithm_e algorithm)
{
    int64_t       now, cost;
    client_t      client;
    const char   *what;
    sw_verdict_t  at_once, later;

    what = NULL;
    now = wander(&client, algorithm, STEPS);

    /* also where the state is ahead of the clock, or far ahead */

    if (tap_rand(0, 2) == 0) {
        now -= tap_rand(0, 3 * client.rule.window);
        now = now < 0 ? 0 : now;
    }

    cost = trace_cost(&client.rule)
           + (tap_rand(0, 3) == 0) * client.rule.limit;

    client_check(&client, now, cost, &at_once);

    memset(&later, 0xee, sizeof(later));
    later.admitted = client_admits(&client, now, cost);
    later.stamp = at_once.stamp;
    sw_window_check_later(client.state, &client.rule, now, cost, &later);

    if (later.level != at_once.level || later.scale != at_once.scale) {
        what = fail(&client, now, "the level is told later");
    }

    /* what comes after the check does not change what it says */

    (void) client_take(&client, now + trace_step(&client.rule), 1, NULL);
    sw_verdict_complete(&later, &client.rule);

    if (!trace_same(&at_once, &later)) {
        trace_show("at once", &at_once);
        trace_show("later  ", &later);
        what = fail(&client, now, "what is told later is something else");
    }

    client_free(&client);

    return what;
}
