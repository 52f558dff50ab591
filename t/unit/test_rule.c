
/*
 * Which rules can be counted, and which state belongs to which.
 */


#include <string.h>

#include "client.h"
#include "tap.h"


static void bounds(void);
static void sizes(void);
static void matches(void);
static void matching_is_without_loss(void);


int
main(void)
{
    bounds();
    sizes();
    matches();
    matching_is_without_loss();

    return tap_done();
}


static void
bounds(void)
{
    int          i;
    const char  *error;
    sw_rule_t    rule;

    static const struct {
        sw_algorithm_e   algorithm;
        int64_t          limit;
        int64_t          window;
        int64_t          slices;
        int              good;
    } cases[] = {
        { SW_COUNTER, 1, 1, 0, 1 },
        { SW_COUNTER, 0, 1000, 0, 0 },
        { SW_COUNTER, -1, 1000, 0, 0 },
        { SW_COUNTER, INT64_MIN, 1000, 0, 0 },
        { SW_COUNTER, 1, 0, 0, 0 },
        { SW_COUNTER, 1, -1, 0, 0 },
        { SW_COUNTER, 1, INT64_MIN, 0, 0 },
        { SW_COUNTER, 1, SW_WINDOW_MAX, 0, 1 },
        { SW_COUNTER, 1, SW_WINDOW_MAX + 1, 0, 0 },
        { SW_COUNTER, 1, INT64_MAX, 0, 0 },
        { SW_COUNTER, SW_PRODUCT_MAX, 1, 0, 1 },
        { SW_COUNTER, SW_PRODUCT_MAX + 1, 1, 0, 0 },
        { SW_COUNTER, SW_PRODUCT_MAX, 2, 0, 0 },
        { SW_COUNTER, INT64_MAX, 1, 0, 0 },
        { SW_COUNTER, INT64_MAX, SW_WINDOW_MAX, 0, 0 },
        { SW_COUNTER, 129728784761, 69431, 0, 1 },
        { SW_COUNTER, 129728784762, 69431, 0, 0 },
        { SW_COUNTER, 129728784761, 69432, 0, 0 },
        { SW_COUNTER, 5, 1000, 0, 1 },
        { SW_COUNTER, 5, 1000, 1000, 1 },
        { SW_FIXED, SW_PRODUCT_MAX, 1, 0, 1 },
        { SW_FIXED, SW_PRODUCT_MAX + 1, 1, 0, 0 },
        { SW_FIXED, 0, 1, 0, 0 },
        { SW_FIXED, 1, 0, 0, 0 },
        { SW_STRICT, 5, 1000, 1, 1 },
        { SW_STRICT, 5, 1000, SW_SLICES, 1 },
        { SW_STRICT, 5, 1000, SW_SLICES_MAX, 1 },
        { SW_STRICT, 5, 1000, SW_SLICES_MAX + 1, 0 },
        { SW_STRICT, 5, 1000, 0, 0 },
        { SW_STRICT, 5, 1000, -1, 0 },
        { SW_STRICT, 5, 1000, INT64_MAX, 0 },
        { SW_STRICT, 5, 16, 16, 1 },
        { SW_STRICT, 5, 15, 16, 0 },
        { SW_STRICT, 5, 1, 1, 1 },
        { SW_STRICT, 5, 1, 2, 0 },
        { SW_STRICT, SW_PRODUCT_MAX, 1, 1, 1 },
        { SW_STRICT, SW_PRODUCT_MAX + 1, 1, 1, 0 },
        { SW_LOG, SW_LOG_LIMIT_MAX, 1, 0, 1 },
        { SW_LOG, SW_LOG_LIMIT_MAX + 1, 1, 0, 0 },
        { SW_LOG, 100000, 1000, 0, 1 },
        { SW_LOG, 100001, 1000, 0, 0 },
        { SW_LOG, SW_LOG_LIMIT_MAX, SW_WINDOW_MAX, 0, 1 },
        { SW_LOG, 0, 1000, 0, 0 },
        { SW_LOG, 1, SW_WINDOW_MAX, 0, 1 },
    };

    for (i = 0; i < (int) (sizeof(cases) / sizeof(cases[0])); i++) {
        rule.algorithm = cases[i].algorithm;
        rule.limit = cases[i].limit;
        rule.window = cases[i].window;
        rule.slices = cases[i].slices;

        error = sw_rule_error(&rule);

        tap_ok((error == NULL) == cases[i].good
               && (error == NULL || error[0] != '\0'),
               "%s limit=%lld window=%lld slices=%lld: %s",
               client_algorithms[rule.algorithm], (long long) rule.limit,
               (long long) rule.window, (long long) rule.slices,
               error ? error : "good");
    }
}


/* a state that is one byte too small is seen by the sanitizer, not here */

static void
sizes(void)
{
    int           good;
    size_t        size, last;
    client_t      client;
    sw_rule_t     rule;
    sw_verdict_t  v;

    rule.algorithm = SW_STRICT;
    rule.limit = 5;
    rule.window = 1000;

    good = 1;
    last = 0;

    for (rule.slices = 1; rule.slices <= SW_SLICES_MAX; rule.slices++) {
        size = sw_state_size(&rule);
        good = good && size > last
               && size <= sizeof(sw_state_t)
                          + (size_t) rule.slices * sizeof(int64_t);
        last = size;

        client_init(&client, &rule, 123456, 0);
        client_check(&client, 123456, 1, &v);
        good = good && v.admitted && v.level == 0;

        (void) client_add(&client, 123456, 1);
        client_check(&client, 123456 + 999, 5, &v);
        good = good && !v.admitted && v.level == 1;

        client_free(&client);
    }

    tap_ok(good, "strict: 1 to %d slices fit the size of the state",
           SW_SLICES_MAX);

    rule.slices = 0;
    rule.algorithm = SW_COUNTER;
    size = sw_state_size(&rule);
    rule.limit = 1000000;

    tap_ok(sw_state_size(&rule) == size, "counter: no larger for a larger"
           " limit");
}


static void
matches(void)
{
    int        i, j;
    client_t   client;
    sw_rule_t  rule;

    static const sw_rule_t  rules[] = {
        { SW_COUNTER, 5, 1000, 0 },
        { SW_COUNTER, 5, 2000, 0 },
        { SW_FIXED, 5, 1000, 0 },
        { SW_FIXED, 5, 2000, 0 },
        { SW_STRICT, 5, 1000, 16 },
        { SW_STRICT, 5, 1000, 8 },
        { SW_STRICT, 5, 2000, 16 },
        { SW_LOG, 5, 1000, 0 },
    };

    for (i = 0; i < 8; i++) {
        client_init(&client, &rules[i], 123456, 0);

        for (j = 0; j < 8; j++) {
            rule = rules[j];
            rule.limit = 5 + 100 * (i + j);

            tap_ok(sw_state_matches(client.state, &rule) == (i == j),
                   "a state of %s %lld/%lld %s one of %s %lld/%lld",
                   client_algorithms[rules[i].algorithm],
                   (long long) rules[i].window,
                   (long long) rules[i].slices,
                   i == j ? "is" : "is not",
                   client_algorithms[rule.algorithm],
                   (long long) rule.window, (long long) rule.slices);
        }

        client_free(&client);
    }
}


/* a log goes on with another window: it has the times themselves */

static void
matching_is_without_loss(void)
{
    client_t      client;
    sw_verdict_t  v;

    static const sw_rule_t  hour = { SW_LOG, 5, 3600000, 0 };
    static const sw_rule_t  minute = { SW_LOG, 5, 60000, 0 };

    client_init(&client, &hour, 1000000, 0);

    (void) client_add(&client, 1000000, 1);
    (void) client_add(&client, 1030000, 2);

    tap_ok(client_change(&client, &minute, 1050000) == 0,
           "log: another window carries nothing");

    client_check(&client, 1050000, 3, &v);
    tap_ok(v.level == 3 && v.retry == 10000 && v.reset == 40000,
           "log: each leaves by its own time");

    client_check(&client, 1060000, 3, &v);
    tap_ok(v.level == 2 && v.admitted && v.reset == 30000,
           "log: the older has left the shorter window");

    (void) client_change(&client, &hour, 1070000);
    client_check(&client, 1070000, 4, &v);
    tap_ok(v.level == 3 && v.retry == 1030000 + 3600000 - 1070000,
           "log: and nothing has left the longer one");

    client_free(&client);

    /* the clock behind, the window shorter: it cannot wait a time below 0 */

    client_init(&client, &hour, 1000000, 0);

    (void) client_add(&client, 1000000, 4);
    (void) client_add(&client, 1090000, 1);
    (void) client_change(&client, &minute, 1085000);

    client_check(&client, 1085000, 5, &v);
    tap_ok(v.level == 1 && v.remaining == 4 && v.retry == 65000
           && v.more == 65000 && v.reset == 65000,
           "log: a shorter window while the clock is behind (level %lld,"
           " retry %lld, more %lld)", (long long) v.level,
           (long long) v.retry, (long long) v.more);

    client_free(&client);
}
