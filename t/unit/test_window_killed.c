
/*
 * A process may be killed at any step of a change to a state: whatever it
 * leaves, the next one counts every unit that was answered for, stays inside
 * the ring of a log, and forgets them when they have left the window.
 */


#include <inttypes.h>

#include "client.h"
#include "kill.h"
#include "sw_math.h"


#define WINDOW   1000LL
#define LIMIT    12
#define TRACES   300
#define OPS      60
#define STATES   20000


typedef struct {
    int64_t   time;
    int64_t   units;
} unit_t;


const char *__asan_default_options(void);
static int traces(sw_algorithm_e algorithm, uint32_t room);
static int trace(sw_algorithm_e algorithm, uint32_t room);
static int written(void);


int
main(void)
{
    int       i, good;
    uint32_t  room;

    tap_diag("seed %" PRIu64, tap_seed(20010911));

    sw_stepped = kill_step;

    for (i = SW_COUNTER; i < SW_LOG; i++) {
        tap_ok(traces((sw_algorithm_e) i, 0), "%s: %d traces killed at some "
               "steps", client_algorithms[i], TRACES);
    }

    tap_ok(traces(SW_LOG, 0), "log: %d traces killed at some steps, a ring "
           "that grows", TRACES);

    for (room = 1; room <= LIMIT; room += 1 + room / 2) {
        tap_ok(traces(SW_LOG, room), "log: %d traces killed at some steps, a "
               "ring of %u", TRACES, room);
    }

    good = 1;

    for (i = 0; i < STATES && good; i++) {
        good = written();
    }

    tap_ok(good, "%d logs with anything in them", i);

    return tap_done();
}


/* a process that is killed while a ring grows frees neither ring */

const char *
__asan_default_options(void)
{
    return "detect_leaks=0";
}


static int
traces(sw_algorithm_e algorithm, uint32_t room)
{
    int  i;

    for (i = 0; i < TRACES; i++) {
        if (!trace(algorithm, room)) {
            return 0;
        }
    }

    return 1;
}


/*
 * Beside the client another that lives without kills and counts what was
 * answered: a take that was killed was not, and may be counted or not.
 */

static int
trace(sw_algorithm_e algorithm, uint32_t room)
{
    /* as they are at the kill */
    volatile int      i, n, back;
    volatile int64_t  now, cost;
    static unit_t     units[OPS];
    static client_t   client, answered;
    sw_rule_t       rule, shorter;
    sw_verdict_t      v;
    int64_t           used, least, end;

    rule.algorithm = algorithm;
    rule.limit = LIMIT;
    rule.window = WINDOW;
    rule.slices = (algorithm == SW_STRICT) ? 4 : 0;

    now = ((int64_t) 1 << 32) - tap_rand(0, 5 * WINDOW);
    n = 0;

    /* a log may be asked for a shorter window than it is kept for */

    shorter = rule;

    if (algorithm == SW_LOG) {
        shorter.window = WINDOW / 4;
    }

    client_init(&client, &rule, now, room);
    client_init(&answered, &rule, now, algorithm == SW_LOG ? OPS : 0);

    for (i = 0; i < OPS; i++) {
        client.rule = tap_rand(0, 1) ? rule : shorter;
        answered.rule = client.rule;

        now += tap_rand(0, 3) ? tap_rand(0, 30) : tap_rand(0, WINDOW / 2);
        cost = tap_rand(1, 3);
        back = -1;

        if (n && tap_rand(0, 3) == 0) {
            back = (int) tap_rand(0, n - 1);
        }

        kill_steps_left = tap_rand(0, 1) ? (int) tap_rand(1, 30) : 0;

        if (setjmp(kill_point) == 0) {

            if (back >= 0) {
                client_give_back(&client, units[back].units,
                                 units[back].time);

            } else if (client_admits(&client, now, cost)) {
                units[n].time = client_add(&client, now, cost);
                units[n].units = cost;

                kill_steps_left = 0;
                (void) client_add(&answered, now, cost);
                n++;
            }
        }

        kill_steps_left = 0;

        if (back >= 0) {
            client_give_back(&answered, units[back].units,
                             units[back].time);
            units[back].units = 0;
        }

        least = sw_state_used(answered.state, now);
        used = sw_state_used(client.state, now);

        if (used < least) {
            tap_diag("operation %d: %" PRId64 " of %" PRId64 " units", i,
                     used, least);
            return 0;
        }

        client_check(&answered, now, 0, &v);

        least = (v.level + v.scale - 1) / v.scale;

        if (client_admits(&client, now, sw_max(LIMIT - least, 0) + 1)) {
            tap_diag("operation %d: admits more than %" PRId64, i,
                     LIMIT - least);
            return 0;
        }

        end = sw_state_end(client.state);

        if (end < sw_state_end(answered.state)
            || (end > now && sw_state_used(client.state, end - 1) == 0))
        {
            tap_diag("operation %d: ends at another time", i);
            return 0;
        }
    }

    /* nothing stays for longer than it may */

    now += 2 * WINDOW;

    if (!sw_window_idle(client.state, now)
        || !client_admits(&client, now, LIMIT))
    {
        tap_diag("not forgotten");
        return 0;
    }

    client_free(&client);
    client_free(&answered);

    return 1;
}


/* all fields but the room, and a total that is wrong only during a change */

static int
written(void)
{
    uint32_t       i;
    int64_t        now;
    client_t       client;
    sw_log_t      *log;
    sw_rule_t      rule;
    sw_verdict_t   v;

    rule.algorithm = SW_LOG;
    rule.limit = tap_rand(1, LIMIT);
    rule.window = tap_rand(1, WINDOW);
    rule.slices = 0;

    now = tap_rand(0, 10 * WINDOW);

    client_init(&client, &rule, now, (uint32_t) tap_rand(1, LIMIT));

    log = &client.state->u.log;
    log->newest = now + tap_rand(-2 * WINDOW, 2 * WINDOW);
    log->first = (uint32_t) tap_rand(0, log->room - 1);
    log->count = (uint32_t) tap_rand(0, log->room);
    log->changing = (uint32_t) tap_rand(0, 1);
    log->total = log->changing ? tap_rand(-LIMIT, LIMIT) : 0;

    for (i = 0; i < log->room; i++) {
        log->entries[i].time = (uint32_t) (now + tap_rand(-3 * WINDOW,
                                                          3 * WINDOW));
        log->entries[i].units = (uint32_t) tap_rand(0, LIMIT);

        if ((i + log->room - log->first) % log->room >= log->count) {
            log->entries[i].units = 0;

        } else if (!log->changing) {
            log->total += log->entries[i].units;
        }
    }

    (void) sw_state_used(client.state, now);
    (void) sw_window_idle(client.state, now);
    client_check(&client, now, 1, &v);
    client_give_back(&client, 1, now - tap_rand(0, WINDOW));

    for (i = 0; i < 5; i++) {
        (void) client_take(&client, now + i, 1, NULL);
    }

    now += 5 * WINDOW;

    if (!client_admits(&client, now, rule.limit)) {
        tap_diag("not forgotten");
        return 0;
    }

    client_free(&client);

    return 1;
}
