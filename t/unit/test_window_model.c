
/*
 * Every verdict of random traces against the model, which finds times to wait
 * by asking at later times: with costs, give backs, clocks that step back and
 * forth, limits that change.
 */


#include "model.h"
#include "trace.h"


#define TRACES  3000
#define STEPS   70
#define TOKENS  64


typedef struct {
    int64_t   cost;
    int64_t   stamp;
} token_t;


static int run(sw_algorithm_e algorithm, int large, int trace);
static void rule_large(sw_rule_t *rule, sw_algorithm_e algorithm);
static int64_t step_back(const sw_rule_t *rule, int64_t now);


int
main(void)
{
    int  i, trace, good;

    tap_diag("seed %" PRIu64, tap_seed(20240229));

    for (i = SW_COUNTER; i <= SW_LOG; i++) {
        good = 1;

        for (trace = 0; trace < TRACES && good; trace++) {
            good = run((sw_algorithm_e) i, 0, trace);
        }

        tap_ok(good, "%s: %d traces as the model says", client_algorithms[i],
               trace);

        good = 1;

        for (trace = 0; trace < TRACES / 2 && good; trace++) {
            good = run((sw_algorithm_e) i, 1, trace);
        }

        tap_ok(good, "%s: %d traces up to the largest numbers",
               client_algorithms[i], trace);
    }

    return tap_done();
}


static int
run(sw_algorithm_e algorithm, int large, int trace)
{
    int             i, n, ntokens, good, taken, room;
    int64_t         now, cost;
    token_t         tokens[TOKENS];
    client_t        client;
    sw_rule_t       rule;
    sw_verdict_t    v, wanted, given, left;
    static model_t  model;

    if (large) {
        rule_large(&rule, algorithm);

    } else {
        trace_rule(&rule, algorithm);
    }

    now = trace_start();
    ntokens = 0;
    good = 1;

    /* with room for all, a longer window finds what a shorter one has left */

    room = (algorithm == SW_LOG && tap_rand(0, 1)) ? STEPS : 0;

    client_init(&client, &rule, now, (uint32_t) room);
    model_init(&model, &rule, now);

    for (i = 0; i < STEPS && good; i++) {
        n = (int) tap_rand(0, 99);

        if (n < 8) {
            now = step_back(&rule, now);

        } else {
            now += trace_step(&rule);
        }

        if (n >= 94) {
            rule.limit = tap_rand(1, 2 * rule.limit);

            if (room && n == 99) {
                rule.window = tap_rand(1, 2 * rule.window);
            }

            if (sw_rule_error(&rule) || !sw_state_matches(client.state,
                                                              &rule))
            {
                rule = model.rule;
            }

            client.rule = rule;
            model.rule = rule;

        }

        /* what a carried state does with older stamps is not exact */

        if (model_astray(&model, now)) {
            ntokens = 0;
        }

        if (n >= 94) {
            (void) client_admits(&client, now, 0);
            (void) model_bring(&model, now);
        }

        if (sw_state_used(client.state, now) != model_used(&model, now)
            || sw_window_idle(client.state, now)
               != (model_used(&model, now) == 0))
        {
            tap_diag("trace %d step %d now %" PRId64 ", %s: used %" PRId64
                     ", must be %" PRId64, trace, i, now, trace_name(&rule),
                     sw_state_used(client.state, now),
                     model_used(&model, now));
            good = 0;
        }

        if (n >= 8 && n < 20 && ntokens) {
            n = (int) tap_rand(0, ntokens - 1);
            cost = tap_rand(1, tokens[n].cost);

            client_give_back(&client, cost, tokens[n].stamp);
            model_give_back(&model, cost, tokens[n].stamp);

            tokens[n].cost -= cost;

            if (tokens[n].cost == 0) {
                tokens[n] = tokens[--ntokens];
            }
        }

        cost = trace_cost(&rule) + (tap_rand(0, 30) == 0) * rule.limit;

        client_check(&client, now, cost, &v);
        model_check(&model, now, cost, &wanted);

        if (!trace_same(&v, &wanted)
            || client_admits(&client, now, cost) != wanted.admitted)
        {
            tap_diag("trace %d step %d now %" PRId64 " cost %" PRId64 ", %s",
                     trace, i, now, cost, trace_name(&rule));
            trace_show("says", &v);
            trace_show("must", &wanted);
            good = 0;
            break;
        }

        /* one by one, or all in one */

        if (algorithm != SW_LOG && tap_rand(0, 1)) {
            taken = sw_window_take(client.state, &rule, now, cost, &v);
            given = v;

            sw_verdict_complete(&given, &rule);

        } else {
            taken = wanted.admitted;

            if (wanted.admitted && cost) {
                v.stamp = client_add(&client, now, cost);
            }

            client_check(&client, now, taken ? 0 : cost, &given);
        }

        if (wanted.admitted && cost) {
            if (v.stamp != model_add(&model, now, cost)) {
                tap_diag("trace %d step %d now %" PRId64 ", %s: stamp %"
                         PRId64, trace, i, now, trace_name(&rule), v.stamp);
                good = 0;
            }

            if (ntokens < TOKENS) {
                tokens[ntokens].cost = cost;
                tokens[ntokens].stamp = v.stamp;
                ntokens++;
            }
        }

        model_check(&model, now, taken ? 0 : cost, &left);

        if (taken != wanted.admitted || !trace_same(&given, &left)) {
            tap_diag("trace %d step %d now %" PRId64 " cost %" PRId64
                     ", %s: taken %d", trace, i, now, cost,
                     trace_name(&rule), taken);
            trace_show("says", &given);
            trace_show("must", &left);
            good = 0;
        }
    }

    client_free(&client);

    return good;
}


static void
rule_large(sw_rule_t *rule, sw_algorithm_e algorithm)
{
    static const int64_t  windows[] = {
        1, 513, 1000, 60000, 69431, 86400000, 4294967294, SW_WINDOW_MAX
    };

    rule->algorithm = algorithm;
    rule->window = windows[tap_rand(0, 7)];
    rule->limit = SW_PRODUCT_MAX / rule->window;
    rule->slices = 0;

    if (algorithm == SW_STRICT) {
        rule->slices = tap_rand(1, rule->window < 100 ? rule->window
                                                          : 100);
    }

    if (algorithm == SW_LOG && rule->limit > SW_LOG_LIMIT_MAX) {
        rule->limit = SW_LOG_LIMIT_MAX;
    }

    if (tap_rand(0, 2) == 0) {
        rule->limit = tap_rand(1, rule->limit);
    }

    assert(sw_rule_error(rule) == NULL);
}


static int64_t
step_back(const sw_rule_t *rule, int64_t now)
{
    int64_t  back;

    switch (tap_rand(0, 5)) {

    case 0:
        back = 1;
        break;

    case 1:
        back = rule->window;
        break;

    case 2:
        back = rule->window + 1;
        break;

    case 3:
        back = tap_rand(1, 5 * rule->window);
        break;

    case 4:
        back = tap_rand(0, 3) ? 2 * rule->window + 1 : now;
        break;

    default:
        back = tap_rand(1, rule->window);
        break;
    }

    return back < now ? now - back : 0;
}
