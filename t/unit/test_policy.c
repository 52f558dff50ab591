
/*
 * Which policies can be counted, and which state belongs to which.
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
    sw_policy_t  policy;

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
        policy.algorithm = cases[i].algorithm;
        policy.limit = cases[i].limit;
        policy.window = cases[i].window;
        policy.slices = cases[i].slices;

        error = sw_policy_error(&policy);

        tap_ok((error == NULL) == cases[i].good
               && (error == NULL || error[0] != '\0'),
               "%s limit=%lld window=%lld slices=%lld: %s",
               client_algorithms[policy.algorithm], (long long) policy.limit,
               (long long) policy.window, (long long) policy.slices,
               error ? error : "good");
    }
}


/* a state that is one byte too small is seen by the sanitizer, not here */

static void
sizes(void)
{
    int            good;
    size_t         size, last;
    client_t       client;
    sw_policy_t    policy;
    sw_verdict_t   v;

    policy.algorithm = SW_STRICT;
    policy.limit = 5;
    policy.window = 1000;

    good = 1;
    last = 0;

    for (policy.slices = 1; policy.slices <= SW_SLICES_MAX; policy.slices++) {
        size = sw_state_size(&policy);
        good = good && size > last
               && size <= sizeof(sw_state_t)
                          + (size_t) policy.slices * sizeof(int64_t);
        last = size;

        client_init(&client, &policy, 123456, 0);
        client_check(&client, 123456, 1, &v);
        good = good && v.admitted && v.level == 0;

        (void) client_add(&client, 123456, 1);
        client_check(&client, 123456 + 999, 5, &v);
        good = good && !v.admitted && v.level == 1;

        client_free(&client);
    }

    tap_ok(good, "strict: 1 to %d slices fit the size of the state",
           SW_SLICES_MAX);

    policy.slices = 0;
    policy.algorithm = SW_COUNTER;
    size = sw_state_size(&policy);
    policy.limit = 1000000;

    tap_ok(sw_state_size(&policy) == size, "counter: no larger for a larger"
           " limit");
}


static void
matches(void)
{
    int          i, j;
    client_t     client;
    sw_policy_t  policy;

    static const sw_policy_t  policies[] = {
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
        client_init(&client, &policies[i], 123456, 0);

        for (j = 0; j < 8; j++) {
            policy = policies[j];
            policy.limit = 5 + 100 * (i + j);

            tap_ok(sw_state_matches(client.state, &policy) == (i == j),
                   "a state of %s %lld/%lld %s one of %s %lld/%lld",
                   client_algorithms[policies[i].algorithm],
                   (long long) policies[i].window,
                   (long long) policies[i].slices,
                   i == j ? "is" : "is not",
                   client_algorithms[policy.algorithm],
                   (long long) policy.window, (long long) policy.slices);
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

    static const sw_policy_t  hour = { SW_LOG, 5, 3600000, 0 };
    static const sw_policy_t  minute = { SW_LOG, 5, 60000, 0 };

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
