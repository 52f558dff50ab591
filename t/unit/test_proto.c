
/*
 * The numbers that come back from a script: the verdict they make is that of
 * the window itself, and numbers that cannot be true make none.
 */


#include <string.h>

#include "sw_proto.h"
#include "sw_parse.h"
#include "trace.h"


#define TRACES    2000
#define STEPS     40
#define GARBAGE   200000


/* what a script says of a client, and what it must be understood as */

typedef struct {
    sw_rule_t           rule;
    int64_t             now;
    int64_t             nth;
    sw_proto_request_t  asked;
    sw_proto_taken_t    taken;
    int64_t             numbers[SW_PROTO_NUMBERS_MAX];
    sw_verdict_t        verdict;
} answer_t;


static void texts(void);
static void truths(sw_algorithm_e algorithm);
static void lies(sw_algorithm_e algorithm);
static void garbage(sw_algorithm_e algorithm);
static void limits(void);
static void huge(void);

static void answer(answer_t *a, client_t *client, int64_t now, int64_t cost,
    int64_t times, int64_t prefetch, int count);
static void answer_log(answer_t *a, const client_t *client);
static int  untold;    /* verdicts that change when they are completed */


static int proto_verdict_of(const int64_t *numbers, const sw_rule_t *rule,
    int64_t now, const sw_proto_request_t *asked, int64_t nth,
    sw_proto_taken_t *taken, sw_verdict_t *v);
static int understood(const answer_t *a);
static int refused(const answer_t *a, size_t n, int64_t value);
static int sound(const answer_t *a, const sw_proto_taken_t *taken,
    const sw_verdict_t *v);
static void show(const answer_t *a);


int
main(void)
{
    int  i;

    tap_diag("seed %llu", (unsigned long long) tap_seed(6379));

    texts();

    for (i = SW_COUNTER; i <= SW_LOG; i++) {
        truths((sw_algorithm_e) i);
        lies((sw_algorithm_e) i);
        garbage((sw_algorithm_e) i);
    }

    limits();
    huge();

    tap_ok(untold == 0, "the level of a verdict is told at once");

    return tap_done();
}


static void
texts(void)
{
    int        i, good;
    char       bytes[SW_PROTO_RULE + 1];
    int64_t    number;
    sw_rule_t  rule;

    good = 1;

    for (i = 0; i < 1000; i++) {
        number = tap_rand(0, (1LL << 56) - 1) >> tap_rand(0, 55);
        memset(bytes, 'x', sizeof(bytes));
        good = good
               && sw_proto_put(bytes, number) == bytes + SW_PROTO_NUMBER
               && sw_proto_get(bytes) == number
               && bytes[SW_PROTO_NUMBER] == 'x';
    }

    tap_ok(good, "numbers as bytes");

    rule.algorithm = SW_STRICT;
    rule.limit = 3;
    rule.window = 60000;
    rule.slices = 16;

    tap_ok(sw_proto_put_rule(bytes, &rule, 2) == bytes + SW_PROTO_RULE
           && memcmp(bytes, "s\3\0\0\0\0\0\0\x60\xea\0\0\0\0\0"
                            "\x10\0\0\0\0\0\0\2\0\0\0\0\0\0",
                     SW_PROTO_RULE) == 0,
           "a rule as bytes");

    tap_ok(strcmp(sw_proto_algorithm(SW_COUNTER), "c") == 0
           && strcmp(sw_proto_algorithm(SW_FIXED), "f") == 0
           && strcmp(sw_proto_algorithm(SW_STRICT), "s") == 0
           && strcmp(sw_proto_algorithm(SW_LOG), "l") == 0,
           "the letters of the algorithms");

    memset(&rule, 0, sizeof(rule));
    good = 1;

    rule.algorithm = SW_COUNTER;
    good = good && sw_proto_numbers(&rule) == 5;
    rule.algorithm = SW_FIXED;
    good = good && sw_proto_numbers(&rule) == 5;
    rule.algorithm = SW_LOG;
    good = good && sw_proto_numbers(&rule) == 6;
    rule.algorithm = SW_STRICT;

    for (rule.slices = 1; rule.slices <= SW_SLICES_MAX; rule.slices++) {
        good = good && sw_proto_numbers(&rule)
                       == 4 + (size_t) rule.slices;
    }

    tap_ok(good, "how many numbers an algorithm has");
}


/* random clients, lowered limits, debts and clocks that step back included */

static void
truths(sw_algorithm_e algorithm)
{
    int        i, j, good, taken, several, some, prefetch, refusals, peeks;
    int        never;
    int64_t    now, back;
    answer_t   a;
    client_t   client;
    sw_rule_t  rule;

    good = 1;
    taken = several = some = prefetch = refusals = peeks = never = 0;

    for (i = 0; i < TRACES && good; i++) {
        trace_rule(&rule, algorithm);
        now = trace_start() + 1 + 3 * rule.window;

        client_init(&client, &rule, now, 0);

        for (j = 0; j < STEPS && good; j++) {
            now += trace_step(&rule);

            if (tap_rand(0, 19) == 0) {
                client.rule.limit = tap_rand(1, rule.limit);
            }

            if (tap_rand(0, 19) == 0) {
                (void) client_charge(&client, now,
                                     tap_rand(1, 3 * rule.limit));
            }

            if (tap_rand(0, 19) == 0) {
                back = tap_rand(0, 2 * rule.window);
                now = now - back > 0 ? now - back : now;
            }

            answer(&a, &client, now,
                   tap_rand(0, 9) ? trace_cost(&client.rule)
                                  : client.rule.limit + 1,
                   tap_rand(0, 1) ? 1 : tap_rand(1, 5),
                   tap_rand(0, 1) ? 0 : tap_rand(0, rule.limit),
                   tap_rand(0, 5) != 0);

            taken += (a.taken.counted > 0);
            several += (a.taken.counted > 1);
            some += (a.taken.counted
                     && a.taken.counted < a.asked.times);
            prefetch += (a.taken.prefetch > 0);
            refusals += (a.taken.admitted == 0);
            peeks += (a.asked.cost == 0);
            never += (a.verdict.retry == SW_NEVER);

            good = understood(&a);
        }

        client_free(&client);
    }

    tap_ok(good && taken && several && some && prefetch && refusals && peeks
           && never,
           "%s: the verdict is the window's, %d taken, %d refused, %d of "
           "several some, %d prefetch", client_algorithms[algorithm], taken,
           refusals, some, prefetch);
}


/* each number of a true answer, wrong in every way that shows */

static void
lies(sw_algorithm_e algorithm)
{
    int        i, j, good, found;
    size_t     n, k;
    int64_t    now, value, window;
    answer_t   a;
    client_t   client;
    sw_rule_t  rule;

    static const int64_t  never[] = {
        -1, INT64_MIN, INT64_MAX, SW_PRODUCT_MAX + 1, -SW_PRODUCT_MAX
    };

    good = 1;
    found = 0;

    for (i = 0; i < TRACES && good; i++) {
        trace_rule(&rule, algorithm);
        now = trace_start() + 1 + 3 * rule.window;

        client_init(&client, &rule, now, 0);

        for (j = 0; j < STEPS / 4 && good; j++) {
            now += trace_step(&rule);
            window = rule.window;

            answer(&a, &client, now, trace_cost(&rule),
                   tap_rand(0, 1) ? 1 : tap_rand(1, 5),
                   tap_rand(0, 1) ? 0 : tap_rand(0, rule.limit),
                   tap_rand(0, 3) != 0);
            n = sw_proto_numbers(&rule);

            /* no number is any of these, whatever it stands for */

            for (k = 0; k < n && good; k++) {
                value = never[tap_rand(0, 4)];
                good = refused(&a, k, value);
                found++;
            }

            /* as many are admitted as there was room for */

            good = good && refused(&a, 0, a.taken.admitted + 1)
                   && (a.taken.admitted == 0
                       || refused(&a, 0, a.taken.admitted - 1));

            /* and not more are counted, nor a part of one */

            if (good && a.asked.cost) {
                good = refused(&a, 1, (a.taken.admitted + 1) * a.asked.cost
                                      + a.asked.prefetch)
                       && (a.asked.cost == 1
                           || refused(&a, 1, a.asked.cost - 1));

            } else if (good) {
                good = refused(&a, 1, 1);
            }

            /* and as much prefetch as there was room for */

            if (good && a.taken.prefetch
                && a.taken.prefetch == a.asked.prefetch)
            {
                good = refused(&a, 1, a.numbers[1] + 1)
                       && (a.verdict.remaining
                           == a.numbers[1] - a.nth * a.asked.cost
                           || refused(&a, 1, a.numbers[1] - 1));
            }

            /* a state of another time */

            switch (algorithm) {

            case SW_LOG:
                if (a.numbers[2] == 0) {
                    break;
                }

                good = good
                       && refused(&a, 3, now - window)
                       && refused(&a, 3, a.numbers[4] + 1)
                       && refused(&a, 4, now + window + 1)
                       && refused(&a, 4, a.numbers[3] - 1)
                       && refused(&a, 4, a.numbers[3] + window);

                if (good && !a.verdict.admitted
                    && a.asked.cost <= rule.limit)
                {
                    good = refused(&a, 5, a.numbers[3] - 1)
                           && refused(&a, 5, a.numbers[4] + 1)
                           && refused(&a, 5, 0);
                }

                if (good && a.taken.counted) {
                    good = refused(&a, 2, 0)
                           && refused(&a, 2, a.numbers[1] - 1)
                           && refused(&a, 2, rule.limit + 1);
                }

                break;

            case SW_STRICT:
                good = good
                       && refused(&a, 2, now * rule.slices / window - 1)
                       && refused(&a, 2, now * rule.slices / window
                                         + rule.slices + 1)
                       && refused(&a, 2, 0) == (now * rule.slices
                                                / window > 0);
                break;

            default:
                good = good
                       && refused(&a, 2, now / window - 1)
                       && refused(&a, 2, now / window + 2)
                       && refused(&a, 3, SW_PRODUCT_MAX / window + 1)
                       && refused(&a, 4, SW_PRODUCT_MAX / window + 1);

                if (good && a.taken.counted) {
                    good = refused(&a, 4, rule.limit + 1)
                           && refused(&a, 4, a.numbers[1] - 1);
                }

                break;
            }

            /* a limit that is used up admits nothing more */

            if (good && a.taken.admitted && !a.taken.counted && a.asked.cost
                && algorithm != SW_LOG)
            {
                k = algorithm == SW_STRICT ? 3 : 4;
                good = refused(&a, k, rule.limit);
            }
        }

        client_free(&client);
    }

    tap_ok(good, "%s: a number that is wrong is found out, %d times",
           client_algorithms[algorithm], found);
}


static void
garbage(sw_algorithm_e algorithm)
{
    int               i, good, accepted;
    size_t            k, n;
    int64_t           near[8];
    answer_t          a;
    sw_verdict_t      v;
    sw_proto_taken_t  taken;

    good = 1;
    accepted = 0;

    for (i = 0; i < GARBAGE && good; i++) {
        trace_rule(&a.rule, algorithm);

        a.now = tap_rand(0, 9) ? trace_start() + 1
                               : tap_rand(-5, INT64_MAX / 2);
        a.asked.times = tap_rand(0, 1) ? 1 : tap_rand(1, 1024);
        a.asked.cost = tap_rand(0, 3) ? trace_cost(&a.rule)
                                      : tap_rand(0, SW_PRODUCT_MAX);
        a.asked.prefetch = tap_rand(0, 1) ? 0 : tap_rand(0, a.rule.limit);
        a.nth = tap_rand(1, a.asked.times);

        near[0] = a.now;
        near[1] = a.now / a.rule.window;
        near[2] = a.rule.slices
                  ? a.now % (1LL << 52) * a.rule.slices / a.rule.window
                  : 0;
        near[3] = a.rule.limit;
        near[4] = a.rule.window;
        near[5] = 0;
        near[6] = a.now - a.rule.window;
        near[7] = SW_PRODUCT_MAX;

        n = sw_proto_numbers(&a.rule);
        a.numbers[0] = tap_rand(0, 3) ? tap_rand(0, 1)
                                      : tap_rand(0, a.asked.times);
        a.numbers[1] = tap_rand(0, 3) ? tap_rand(0, 1) * a.asked.cost
                                      : tap_rand(0, a.rule.limit);

        for (k = 2; k < n; k++) {
            a.numbers[k] = tap_rand(0, 15) ? near[tap_rand(0, 7)]
                                             + tap_rand(-2, 2)
                                           : tap_rand(-1, 1LL << 62);

            if (k >= 3 && algorithm != SW_LOG && tap_rand(0, 3)) {
                a.numbers[k] = tap_rand(0, 3);
            }
        }

        memset(&v, 0x5a, sizeof(v));

        if (proto_verdict_of(a.numbers, &a.rule, a.now, &a.asked, a.nth,
                             &taken, &v)
            != SW_OK)
        {
            continue;
        }

        accepted++;
        good = sound(&a, &taken, &v);
    }

    tap_ok(good && accepted, "%s: of %d answers by chance %d could be true",
           client_algorithms[algorithm], i, accepted);
}


static void
limits(void)
{
    sw_rule_t         rule;
    sw_verdict_t      v;
    sw_proto_taken_t  taken;

    static const sw_proto_request_t  one = { 1, 1, 0 };

    static const int64_t  numbers[] = { 1, 1, 0, 0, 1 };
    static const int64_t  late[] = { 1, 1, 1LL << 40, 0, 1 };

    rule.algorithm = SW_COUNTER;
    rule.limit = 1;
    rule.window = 1000;
    rule.slices = 0;

    tap_ok(proto_verdict_of(numbers, &rule, 1, &one, 1, &taken, &v) == SW_OK
           && taken.counted == 1, "time: the first");
    tap_ok(proto_verdict_of(numbers, &rule, 0, &one, 1, &taken, &v)
           == SW_ERROR, "time: none before it");
    tap_ok(proto_verdict_of(numbers, &rule, -1, &one, 1, &taken, &v)
           == SW_ERROR, "time: nor below nothing");
    tap_ok(proto_verdict_of(late, &rule, INT64_MAX, &one, 1, &taken, &v)
           == SW_ERROR, "time: nor the last there is");
    tap_ok(proto_verdict_of(late, &rule, SW_PRODUCT_MAX / SW_SLICES_MAX + 1,
                            &one, 1, &taken, &v) == SW_ERROR,
           "time: nor what cannot be cut into slices");
}


/* rules and costs as large as they can be; a sanitizer sees an overflow */

static void
huge(void)
{
    int               good, yes, i;
    size_t            k;
    int64_t           numbers[SW_PROTO_NUMBERS_MAX], now;
    sw_rule_t         rule;
    sw_verdict_t      v;
    sw_proto_taken_t  taken;

    static const sw_proto_request_t  one = { 1, 1, 0 };
    static const sw_proto_request_t  most = {
        SW_PRODUCT_MAX, SW_PRODUCT_MAX, SW_PRODUCT_MAX
    };

    good = 1;
    now = SW_PRODUCT_MAX / SW_SLICES_MAX;

    for (i = SW_COUNTER; i <= SW_LOG; i++) {
        rule.algorithm = (sw_algorithm_e) i;
        rule.window = SW_WINDOW_MAX;
        rule.limit = SW_PRODUCT_MAX / SW_WINDOW_MAX;
        rule.slices = i == SW_STRICT ? SW_SLICES_MAX : 0;

        for (yes = 0; yes <= 1; yes++) {
            for (k = 2; k < SW_PROTO_NUMBERS_MAX; k++) {
                numbers[k] = SW_PRODUCT_MAX;
            }

            numbers[0] = numbers[1] = yes;

            switch (i) {

            case SW_STRICT:
                numbers[2] = now * rule.slices / rule.window
                             + rule.slices;
                break;

            case SW_LOG:
                numbers[3] = now;
                numbers[4] = now + rule.window - 1;
                numbers[5] = now;
                break;

            default:
                numbers[2] = now / rule.window + 1;
                numbers[3] = numbers[4] = SW_PRODUCT_MAX / rule.window;
                break;
            }

            if (proto_verdict_of(numbers, &rule, now, &one, 1, &taken, &v)
                == SW_OK)
            {
                good = good && taken.counted == yes && v.remaining == 0
                       && (yes ? i == SW_FIXED : v.retry > 0);
            }

            (void) proto_verdict_of(numbers, &rule, now, &most,
                                    SW_PRODUCT_MAX, &taken, &v);

            /* one that says little, and that the cost was counted */

            for (k = 3; k < SW_PROTO_NUMBERS_MAX && i != SW_LOG; k++) {
                numbers[k] = 1;
            }

            numbers[0] = numbers[1] = 1;

            good = good && proto_verdict_of(numbers, &rule, now, &most, 1,
                                            &taken, &v)
                           == SW_ERROR;
        }
    }

    tap_ok(good, "the largest numbers");
}


/* as the take script does it, and as it would go one by one */

static void
answer(answer_t *a, client_t *client, int64_t now, int64_t cost,
    int64_t times, int64_t prefetch, int count)
{
    int64_t            i, room, counted;
    client_t           copy;
    sw_state_t        *state;
    sw_proto_taken_t  *taken;

    a->rule = client->rule;
    a->now = now;
    a->asked.times = times;
    a->asked.cost = cost;
    a->asked.prefetch = prefetch;
    a->nth = tap_rand(1, times);

    client_check(client, now, cost, &a->verdict);

    room = a->verdict.remaining;
    taken = &a->taken;

    taken->admitted = times;
    taken->counted = 0;
    taken->prefetch = 0;

    if (cost) {
        taken->admitted = room / cost < times ? room / cost : times;

        /* others that are asked with it may admit less */

        taken->counted = count ? taken->admitted
                               : tap_rand(0, taken->admitted);

        if (taken->counted == times) {
            room -= taken->counted * cost;
            taken->prefetch = prefetch < room ? prefetch : room;
        }
    }

    client_copy(&copy, client);
    counted = taken->counted < a->nth ? taken->counted : a->nth;

    for (i = 0; i < counted; i++) {
        (void) client_add(&copy, now, cost);
    }

    client_check(&copy, now, a->nth <= taken->counted ? 0 : cost,
                 &a->verdict);
    client_free(&copy);

    a->numbers[0] = taken->admitted;
    a->numbers[1] = taken->counted * cost + taken->prefetch;

    if (a->numbers[1]) {
        (void) client_add(client, now, a->numbers[1]);
    }

    state = client->state;

    switch (a->rule.algorithm) {

    case SW_STRICT:
        a->numbers[2] = state->u.slices.index;

        for (i = 0; i <= a->rule.slices; i++) {
            a->numbers[3 + i] = state->u.slices.units[i];
        }

        break;

    case SW_LOG:
        answer_log(a, client);
        break;

    default:
        a->numbers[2] = state->u.pair.index;
        a->numbers[3] = state->u.pair.prev;
        a->numbers[4] = state->u.pair.curr;
        break;
    }
}


static void
answer_log(answer_t *a, const client_t *client)
{
    int64_t          time, sum, *numbers;
    uint32_t         i;
    sw_log_entry_t  *entry;
    const sw_log_t  *log;

    log = &client->state->u.log;
    numbers = a->numbers + 2;
    memset(numbers, 0, 4 * sizeof(int64_t));

    if (log->count == 0) {
        return;
    }

    numbers[0] = log->total;
    numbers[2] = log->newest;
    sum = 0;

    for (i = 0; i < log->count; i++) {
        entry = &log->entries[(log->first + i) % log->room];
        time = log->newest - (uint32_t) ((uint32_t) log->newest
                                         - entry->time);
        sum += entry->units;

        if (numbers[1] == 0 && sum > log->total - client->rule.limit) {
            numbers[1] = time;
        }

        if (a->taken.admitted < a->asked.times
            && a->taken.admitted == a->taken.counted
            && a->asked.cost <= client->rule.limit && numbers[3] == 0
            && sum >= log->total + a->asked.cost - client->rule.limit)
        {
            numbers[3] = time;
        }
    }
}


/* reads the numbers, and the verdict on one of the requests */

static int
proto_verdict_of(const int64_t *numbers, const sw_rule_t *rule,
    int64_t now, const sw_proto_request_t *asked, int64_t nth,
    sw_proto_taken_t *taken, sw_verdict_t *v)
{
    sw_verdict_t  last, told;

    memset(&last, 0, sizeof(last));

    if (sw_proto_read(numbers, rule, now, asked, taken, &last) != SW_OK) {
        return SW_ERROR;
    }

    sw_proto_verdict(numbers, rule, now, asked, taken, &last, nth, v);

    /* what is told at once is what the whole verdict says */

    told = *v;
    sw_verdict_complete(v, rule);

    if (told.admitted != v->admitted || told.level != v->level
        || told.scale != v->scale || told.stamp != v->stamp)
    {
        tap_diag("at once %d %lld/%lld, later %d %lld/%lld", told.admitted,
                 (long long) told.level, (long long) told.scale, v->admitted,
                 (long long) v->level, (long long) v->scale);
        untold++;
    }

    return SW_OK;
}


static int
understood(const answer_t *a)
{
    answer_t          copy;
    sw_verdict_t      v;
    sw_proto_taken_t  taken;

    copy = *a;
    memset(&v, 0x5a, sizeof(v));

    if (proto_verdict_of(copy.numbers, &a->rule, a->now, &a->asked, a->nth,
                         &taken, &v)
        != SW_OK)
    {
        tap_diag("not accepted");
        show(a);
        return 0;
    }

    if (memcmp(&taken, &a->taken, sizeof(taken)) != 0
        || !trace_same(&v, &a->verdict))
    {
        show(a);
        trace_show("it is ", &v);
        return 0;
    }

    return 1;
}


static int
refused(const answer_t *a, size_t n, int64_t value)
{
    answer_t          lie;
    sw_verdict_t      v;
    sw_proto_taken_t  taken;

    lie = *a;
    lie.numbers[n] = value;

    if (proto_verdict_of(lie.numbers, &lie.rule, lie.now, &lie.asked,
                         lie.nth, &taken, &v)
        == SW_ERROR)
    {
        return 1;
    }

    tap_diag("number %d as %" PRId64 " is believed", (int) n, value);
    show(a);

    return 0;
}


/* no reply admits beyond the limit, or gives a time that is none */

static int
sound(const answer_t *a, const sw_proto_taken_t *taken,
    const sw_verdict_t *v)
{
    int64_t  most, cost, counted;

    most = 3 * a->rule.window + 1;
    counted = (a->nth <= taken->counted);
    cost = counted ? 0 : a->asked.cost;

    if (taken->admitted == a->numbers[0]
        && taken->counted * a->asked.cost + taken->prefetch == a->numbers[1]
        && taken->counted <= taken->admitted
        && taken->admitted <= a->asked.times
        && taken->prefetch >= 0 && taken->prefetch <= a->asked.prefetch
        && (taken->prefetch == 0 || taken->counted == a->asked.times)
        && v->remaining >= 0 && v->remaining <= a->rule.limit
        && v->admitted == (cost <= v->remaining)
        && (!counted || (a->asked.cost > 0
                         && v->level >= a->nth * a->asked.cost * v->scale
                         && v->level <= a->rule.limit * v->scale))
        && (v->admitted ? v->retry == 0
            : cost > a->rule.limit ? v->retry == SW_NEVER
            : v->retry > 0 && v->retry <= most)
        && v->reset >= 0 && v->reset <= most
        && v->more > 0 && v->more <= most
        && v->scale == (a->rule.algorithm == SW_COUNTER ? a->rule.window
                                                          : 1)
        && v->level >= 0
        && v->stamp >= a->now && v->stamp <= a->now + a->rule.window)
    {
        return 1;
    }

    show(a);
    trace_show("unsound", v);

    return 0;
}


static void
show(const answer_t *a)
{
    size_t  i;

    tap_diag("%s now=%" PRId64 " times=%" PRId64 " cost=%" PRId64 " prefetch=%"
             PRId64 " nth=%" PRId64, trace_name(&a->rule), a->now,
             a->asked.times, a->asked.cost, a->asked.prefetch, a->nth);

    for (i = 0; i < sw_proto_numbers(&a->rule); i++) {
        tap_diag("  number %d: %" PRId64, (int) i, a->numbers[i]);
    }

    trace_show("must be", &a->verdict);
}
