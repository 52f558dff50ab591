
/*
 * The eight tests of the graded exercise in SEEDS (source 004), on every
 * algorithm, and the examples the other sources give.
 */


#include <pthread.h>

#include "client.h"
#include "tap.h"


#define NOW      1700000000000LL
#define THREADS  4
#define TRIES    500


typedef struct {
    client_t         *client;
    pthread_mutex_t  *lock;
    int64_t           admitted;
} thread_t;


static void within_limit(const sw_rule_t *rule);
static void over_limit(const sw_rule_t *rule);
static void expiry(const sw_rule_t *rule);
static void remaining_decreases(const sw_rule_t *rule);
static void reset_restores(const sw_rule_t *rule);
static void threads_never_exceed(const sw_rule_t *rule);
static void reconfigure_applies(const sw_rule_t *rule);
static void users_are_isolated(const sw_rule_t *rule);
static void search_and_login(void);

static void *try_often(void *data);


static const char  *name;


int
main(void)
{
    int  i;

    static const sw_rule_t  rules[] = {
        { SW_COUNTER, 5, 60000, 0 },
        { SW_FIXED, 5, 60000, 0 },
        { SW_STRICT, 5, 60000, 16 },
        { SW_LOG, 5, 60000, 0 },
    };

    for (i = 0; i < 4; i++) {
        name = client_algorithms[rules[i].algorithm];

        within_limit(&rules[i]);
        over_limit(&rules[i]);
        expiry(&rules[i]);
        remaining_decreases(&rules[i]);
        reset_restores(&rules[i]);
        threads_never_exceed(&rules[i]);
        reconfigure_applies(&rules[i]);
        users_are_isolated(&rules[i]);
    }

    search_and_login();

    return tap_done();
}


static void
within_limit(const sw_rule_t *rule)
{
    int       i, n;
    client_t  user;

    client_init(&user, rule, NOW, 0);

    for (i = 0, n = 0; i < 5; i++) {
        n += client_take(&user, NOW + i * 10, 1, NULL);
    }

    tap_ok(n == 5, "%s: all within the limit pass", name);

    client_free(&user);
}


static void
over_limit(const sw_rule_t *rule)
{
    int           i, n;
    client_t      user;
    sw_verdict_t  v;

    client_init(&user, rule, NOW, 0);

    for (i = 0, n = 0; i < 8; i++) {
        n += client_take(&user, NOW + i * 10, 1, NULL);
    }

    client_check(&user, NOW + 80, 1, &v);

    tap_ok(n == 5 && !v.admitted && v.remaining == 0 && v.retry > 0,
           "%s: what is over the limit is rejected", name);

    client_free(&user);
}


static void
expiry(const sw_rule_t *rule)
{
    client_t      user;
    sw_verdict_t  v;

    client_init(&user, rule, NOW, 0);
    (void) client_take(&user, NOW, 5, NULL);
    client_check(&user, NOW, 1, &v);

    tap_ok(!client_admits(&user, NOW + v.retry - 1, 1)
           && client_admits(&user, NOW + v.retry, 1)
           && client_admits(&user, NOW + v.reset, 5)
           && v.reset <= 2 * rule->window,
           "%s: what has expired blocks no request", name);

    client_free(&user);
}


static void
remaining_decreases(const sw_rule_t *rule)
{
    int           i, good;
    client_t      user;
    sw_verdict_t  v;

    client_init(&user, rule, NOW, 0);
    good = 1;

    for (i = 0; i <= 5; i++) {
        client_check(&user, NOW + i, 0, &v);
        good = good && v.remaining == 5 - i;

        (void) client_take(&user, NOW + i, 1, NULL);
    }

    tap_ok(good, "%s: remaining goes from 5 to 0", name);

    client_free(&user);
}


/* an operator's reset is a state begun anew in the same memory */

static void
reset_restores(const sw_rule_t *rule)
{
    client_t      user;
    sw_verdict_t  v;

    client_init(&user, rule, NOW, 0);
    (void) client_take(&user, NOW, 5, NULL);

    sw_state_carry(user.state, rule, NOW + 1, 0);
    client_check(&user, NOW + 1, 5, &v);

    tap_ok(v.admitted && v.remaining == 5 && v.level == 0,
           "%s: a reset restores the quota", name);

    client_free(&user);
}


static void
threads_never_exceed(const sw_rule_t *rule)
{
    int              i;
    int64_t          admitted;
    client_t         user;
    thread_t         threads[THREADS];
    pthread_t        tids[THREADS];
    sw_rule_t        many;
    pthread_mutex_t  lock;

    many = *rule;
    many.limit = 100;
    admitted = 0;

    client_init(&user, &many, NOW, 0);
    pthread_mutex_init(&lock, NULL);

    for (i = 0; i < THREADS; i++) {
        threads[i].client = &user;
        threads[i].lock = &lock;
        threads[i].admitted = 0;

        if (pthread_create(&tids[i], NULL, try_often, &threads[i]) != 0) {
            abort();
        }
    }

    for (i = 0; i < THREADS; i++) {
        pthread_join(tids[i], NULL);
        admitted += threads[i].admitted;
    }

    tap_ok(admitted == 100, "%s: %d threads get 100 of 100 together", name,
           THREADS);

    pthread_mutex_destroy(&lock);
    client_free(&user);
}


static void *
try_often(void *data)
{
    int        i;
    thread_t  *thread;

    thread = data;

    for (i = 0; i < TRIES; i++) {
        pthread_mutex_lock(thread->lock);
        thread->admitted += client_take(thread->client, NOW + i / 100, 1,
                                        NULL);
        pthread_mutex_unlock(thread->lock);
    }

    return NULL;
}


static void
reconfigure_applies(const sw_rule_t *rule)
{
    int           i, good;
    client_t      user;
    sw_rule_t     other;
    sw_verdict_t  v;

    client_init(&user, rule, NOW, 0);
    (void) client_take(&user, NOW, 4, NULL);

    other = *rule;
    other.limit = 3;
    (void) client_change(&user, &other, NOW + 1);
    client_check(&user, NOW + 1, 1, &v);

    tap_ok(!v.admitted && v.remaining == 0, "%s: a lower limit applies to a"
           " known user at once", name);

    other.limit = 10;
    (void) client_change(&user, &other, NOW + 2);
    client_check(&user, NOW + 2, 6, &v);

    tap_ok(v.admitted && v.remaining == 6, "%s: and a higher one", name);

    other.window = 1000;
    (void) client_change(&user, &other, NOW + 3);
    client_check(&user, NOW + 3, 6, &v);
    good = v.admitted && v.remaining == 6;

    client_check(&user, NOW + 2003, 10, &v);

    tap_ok(good && v.admitted, "%s: and another window, counts kept", name);

    for (i = SW_COUNTER; i <= SW_LOG; i++) {
        other.algorithm = (sw_algorithm_e) i;
        other.slices = (i == SW_STRICT) ? 16 : 0;
        other.limit = 20;
        other.window = 60000;

        client_free(&user);
        client_init(&user, rule, NOW, 0);
        (void) client_take(&user, NOW, 4, NULL);
        (void) client_change(&user, &other, NOW + 1);
        client_check(&user, NOW + 1, 17, &v);

        tap_ok(!v.admitted && v.remaining == 16, "%s: and %s instead, counts"
               " kept", name, client_algorithms[i]);
    }

    client_free(&user);
}


static void
users_are_isolated(const sw_rule_t *rule)
{
    client_t      one, two;
    sw_verdict_t  v;

    client_init(&one, rule, NOW, 0);
    client_init(&two, rule, NOW, 0);

    while (client_take(&one, NOW, 1, NULL)) { /* void */ }

    client_check(&two, NOW, 5, &v);

    tap_ok(!client_admits(&one, NOW, 1) && v.admitted && v.remaining == 5,
           "%s: one user's limit is not another's", name);

    client_free(&one);
    client_free(&two);
}


/* sources 002 and 003: fine for /search, not for /login */

static void
search_and_login(void)
{
    int64_t   end;
    client_t  user;

    static const sw_rule_t  search = { SW_FIXED, 5, 60000, 0 };
    static const sw_rule_t  login = { SW_LOG, 5, 60000, 0 };
    static const sw_rule_t  counter = { SW_COUNTER, 5, 60000, 0 };

    end = 28333334LL * 60000;

    client_init(&user, &search, end - 1, 0);
    tap_ok(client_take(&user, end - 1, 5, NULL)
           && client_take(&user, end, 5, NULL),
           "002: fixed passes 10 in 2 ms at the boundary");
    client_free(&user);

    client_init(&user, &login, end - 1, 0);
    tap_ok(client_take(&user, end - 1, 5, NULL)
           && !client_take(&user, end, 1, NULL)
           && !client_take(&user, end + 59998, 1, NULL)
           && client_take(&user, end + 59999, 5, NULL),
           "002: log does not");
    client_free(&user);

    client_init(&user, &counter, end - 1, 0);
    tap_ok(client_take(&user, end - 1, 5, NULL)
           && !client_take(&user, end, 1, NULL)
           && client_take(&user, end + 12000, 1, NULL)
           && !client_take(&user, end + 12000, 1, NULL),
           "003: counter lets a fifth pass after a fifth of the window");
    client_free(&user);
}
