
/*
 * A reply made of bytes: whatever numbers they are, the verdict is sound or
 * there is none, and it is the window's own on the same state.
 */


#include "client.h"
#include "fuzz.h"
#include "stream.h"
#include "sw_proto.h"


static void next_numbers(stream_t *s, const sw_rule_t *rule, int64_t now,
    const sw_proto_request_t *asked, int64_t *numbers);
static void same_as_window(const int64_t *numbers, const sw_rule_t *rule,
    int64_t now, int64_t cost, int64_t back, const sw_verdict_t *v);


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t             now, nth, cost, back, most, *numbers;
    stream_t            s;
    sw_rule_t           rule;
    sw_verdict_t        v, last;
    sw_proto_request_t  asked;
    sw_proto_taken_t    taken;

    s.p = data;
    s.left = size;

    next_rule(&s, &rule, 3);

    now = next(&s, 0, 3) ? next(&s, 1, SW_PRODUCT_MAX / SW_SLICES_MAX)
                         : next(&s, INT64_MIN / 2, INT64_MAX / 2 - 1);
    asked.times = next(&s, 0, 1) ? 1 : next(&s, 1, 1024);
    asked.cost = next(&s, 0, 3) ? next(&s, 0, rule.limit + 1)
                                : next(&s, 0, SW_PRODUCT_MAX);
    asked.prefetch = next(&s, 0, 1) ? 0 : next(&s, 0, rule.limit);
    nth = next(&s, 1, asked.times);

    /* no more than it may look at */

    numbers = malloc(sw_proto_numbers(&rule) * sizeof(int64_t));
    next_numbers(&s, &rule, now, &asked, numbers);

    memset(&v, 0x5a, sizeof(v));

    memset(&last, 0x5a, sizeof(last));

    if (sw_proto_read(numbers, &rule, now, &asked, &taken, &last) != SW_OK) {
        free(numbers);
        return 0;
    }

    sw_proto_verdict(numbers, &rule, now, &asked, &taken, &last, nth, &v);
    sw_verdict_complete(&v, &rule);

    most = 3 * rule.window + 1;
    back = 0;
    cost = asked.cost;

    fuzz_check(now > 0);
    fuzz_check(taken.admitted == numbers[0]);
    fuzz_check(taken.admitted <= asked.times);
    fuzz_check(taken.counted <= taken.admitted);
    fuzz_check(taken.prefetch >= 0 && taken.prefetch <= asked.prefetch);
    fuzz_check(taken.prefetch == 0 || taken.counted == asked.times);
    fuzz_check(taken.counted * cost + taken.prefetch == numbers[1]);

    if (nth <= taken.counted) {
        fuzz_check(cost > 0 && cost <= rule.limit);
        fuzz_check(v.level >= nth * cost * v.scale);
        fuzz_check(v.level <= rule.limit * v.scale);

        back = numbers[1] - nth * cost;
        cost = 0;
    }

    fuzz_check(v.remaining >= 0 && v.remaining <= rule.limit);
    fuzz_check(v.admitted == (cost <= v.remaining));
    fuzz_check(v.level >= 0);
    fuzz_check(v.stamp >= now && v.stamp <= now + rule.window);
    fuzz_check(v.reset >= 0 && v.reset <= most);
    fuzz_check(v.more > 0 && v.more <= most);

    if (v.admitted) {
        fuzz_check(v.retry == 0);

    } else if (cost > rule.limit) {
        fuzz_check(v.retry == SW_NEVER);

    } else {
        fuzz_check(v.retry > 0 && v.retry <= most);
    }

    same_as_window(numbers, &rule, now, cost, back, &v);

    free(numbers);

    return 0;
}


/* anything, or something near what would be true */

static void
next_numbers(stream_t *s, const sw_rule_t *rule, int64_t now,
    const sw_proto_request_t *asked, int64_t *numbers)
{
    size_t   i, n;
    int64_t  near;

    n = sw_proto_numbers(rule);
    numbers[0] = next(s, 0, 1) ? next(s, 0, 1) : next(s, 0, asked->times);
    numbers[1] = next(s, 0, 1) ? next(s, 0, 1) * asked->cost
                               : next(s, 0, rule->limit);

    for (i = 2; i < n; i++) {
        near = 0;

        if (rule->algorithm == SW_LOG) {
            near = i == 2 ? 0 : now;

        } else if (i == 2 && now > 0 && now <= SW_PRODUCT_MAX / SW_SLICES_MAX)
        {
            near = now * (rule->slices ? rule->slices : 1)
                   / rule->window;
        }

        switch (next(s, 0, 7)) {

        case 0:
            numbers[i] = next(s, INT64_MIN, INT64_MAX - 1);
            break;

        case 1:
            numbers[i] = next(s, 0, SW_PRODUCT_MAX + 1);
            break;

        case 2:
            numbers[i] = near + next(s, -rule->window - 1,
                                     rule->window + 1);
            break;

        default:
            numbers[i] = near + next(s, -2, rule->limit < 1000
                                            ? rule->limit + 2 : 1002);
            break;
        }
    }
}


/* a log tells too little of itself to be made again */

static void
same_as_window(const int64_t *numbers, const sw_rule_t *rule, int64_t now,
    int64_t cost, int64_t back, const sw_verdict_t *v)
{
    int64_t       i;
    client_t      client;
    sw_state_t   *state;
    sw_verdict_t  wanted;

    if (rule->algorithm == SW_LOG) {
        fuzz_check(v->level == numbers[2] - back && v->scale == 1);
        return;
    }

    client_init(&client, rule, now, 0);
    state = client.state;

    if (rule->algorithm == SW_STRICT) {
        state->u.slices.index = numbers[2];

        for (i = 0; i <= rule->slices; i++) {
            state->u.slices.units[i] = numbers[3 + i];
        }

        state->u.slices.units[numbers[2] % (rule->slices + 1)] -= back;

    } else {
        state->u.pair.index = numbers[2];
        state->u.pair.prev = numbers[3];
        state->u.pair.curr = numbers[4] - back;
    }

    client_check(&client, now, cost, &wanted);

    fuzz_check(v->admitted == wanted.admitted);
    fuzz_check(v->remaining == wanted.remaining);
    fuzz_check(v->retry == wanted.retry);
    fuzz_check(v->more == wanted.more);
    fuzz_check(v->reset == wanted.reset);
    fuzz_check(v->level == wanted.level);
    fuzz_check(v->scale == wanted.scale);
    fuzz_check(v->stamp == wanted.stamp);

    client_free(&client);
}
