
/*
 * A stream of bytes is a rule and what happens to one of its clients: time
 * passes, the clock steps back, costs are taken and given back, the rule
 * changes.  Every verdict must be the model's; a log that may not grow must
 * hold no less than the model does.
 */


#define MODEL_STEPS  16            /* many inputs are worth more than steps */

#include "client.h"
#include "fuzz.h"
#include "model.h"
#include "stream.h"


#define OPS     200
#define TOKENS  32


typedef struct {
    int64_t   cost;
    int64_t   stamp;
} token_t;


static void change(client_t *client, model_t *model,
    const sw_rule_t *rule, int64_t now, int *ntokens);
static void check(client_t *client, model_t *model, int64_t now,
    int64_t cost, sw_verdict_t *v);


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int             i, n, ntokens;
    int64_t         now, back, cost;
    token_t         tokens[TOKENS];
    uint32_t        room;
    client_t        client;
    stream_t        s;
    sw_rule_t       rule;
    sw_verdict_t    v;
    static model_t  model;

    s.p = data;
    s.left = size;

    next_rule(&s, &rule, 7);

    now = next(&s, 0, 7);
    now = (now < 4) ? now * rule.window
                    : (next(&s, 0, 1000) << 32) + next(&s, 0, 1 << 20);

    room = 0;

    if (rule.algorithm == SW_LOG && next(&s, 0, 3) == 0) {
        room = (uint32_t) next(&s, 1, 5);
    }

    client_init(&client, &rule, now, room);
    model_init(&model, &rule, now);

    ntokens = 0;

    for (i = 0; i < OPS && s.left; i++) {

        switch (next(&s, 0, 15)) {

        case 0:
        case 1:
            now += next(&s, 0, 3);
            break;

        case 2:
            now += next(&s, 0, 2 * rule.window);
            break;

        case 3:
            now += rule.window - 1 + next(&s, 0, 2);
            break;

        case 4:
            now += next(&s, 0, 1 << 30);
            break;

        case 5:

            /* a log that merged has other own times than the model */

            if (client.room) {
                break;
            }

            back = next(&s, 0, 1) ? next(&s, 0, 3 * rule.window)
                                  : next(&s, 0, INT64_MAX - 1);
            now -= back < now ? back : now;
            break;

        case 6:
        case 7:

            if (ntokens == 0 || model_astray(&model, now)) {
                break;
            }

            n = (int) next(&s, 0, ntokens - 1);
            cost = next(&s, 1, tokens[n].cost);

            client_give_back(&client, cost, tokens[n].stamp);
            model_give_back(&model, cost, tokens[n].stamp);

            tokens[n].cost -= cost;

            if (tokens[n].cost == 0) {
                tokens[n] = tokens[--ntokens];
            }

            break;

        case 8:
            rule.limit = next(&s, 1, 2 * rule.limit);

            if (sw_rule_error(&rule)) {
                rule.limit = 1;
            }

            change(&client, &model, &rule, now, &ntokens);
            break;

        case 9:

            if (client.room) {
                break;
            }

            next_rule(&s, &rule, 7);
            change(&client, &model, &rule, now, &ntokens);
            break;

        default:
            break;
        }

        if (model_astray(&model, now)) {
            ntokens = 0;
        }

        cost = next(&s, 0, 1) ? 1 : next(&s, 0, rule.limit + 1);
        check(&client, &model, now, cost, &v);

        if (v.admitted && cost && next(&s, 0, 7)) {
            v.stamp = client_add(&client, now, cost);
            fuzz_check(model_add(&model, now, cost) == v.stamp);

            if (ntokens < TOKENS) {
                tokens[ntokens].cost = cost;
                tokens[ntokens].stamp = v.stamp;
                ntokens++;
            }

            check(&client, &model, now, 0, &v);
        }
    }

    client_free(&client);

    return 0;
}


static void
change(client_t *client, model_t *model, const sw_rule_t *rule,
    int64_t now, int *ntokens)
{
    int64_t  used, most;

    used = model_used(model, now);
    most = rule->limit;

    if (client->state->algorithm == rule->algorithm
        && client->state->slices == rule->slices)
    {
        most = SW_PRODUCT_MAX / rule->window;
    }

    if (client_change(client, rule, now)) {
        *ntokens = 0;
        used = used < most ? used : most;

        /* the model knows of one window alone */

        client->state->second = 0;

        model_init(model, rule, now);
        (void) model_add(model, now, used);

        fuzz_check(sw_state_used(client->state, now) == used);
        return;
    }

    fuzz_check(rule->algorithm == model->rule.algorithm);

    if (model_astray(model, now)) {
        *ntokens = 0;
    }

    model->rule = *rule;

    /* what a log keeps for a longer window than it is asked for may merge */

    if (rule->algorithm == SW_LOG
        && rule->window != client->state->window)
    {
        client->room = client->state->u.log.room;
    }

    (void) client_admits(client, now, 0);
    (void) model_bring(model, now);
}


static void
check(client_t *client, model_t *model, int64_t now, int64_t cost,
    sw_verdict_t *v)
{
    sw_verdict_t  wanted;

    if (client->room == 0) {
        fuzz_check(sw_state_used(client->state, now)
                   == model_used(model, now));
        fuzz_check(sw_window_idle(client->state, now)
                   == (model_used(model, now) == 0));
    }

    client_check(client, now, cost, v);
    model_check(model, now, cost, &wanted);

    fuzz_check(client_admits(client, now, cost) == v->admitted);
    fuzz_check(v->stamp == wanted.stamp);
    fuzz_check(v->scale == wanted.scale);

    if (client->room) {
        fuzz_check(v->level >= wanted.level);
        fuzz_check(v->remaining <= wanted.remaining);
        fuzz_check(v->admitted <= wanted.admitted);
        fuzz_check(v->retry == SW_NEVER || v->retry >= wanted.retry);
        fuzz_check(v->reset <= client->rule.window + v->stamp - now);
        fuzz_check(client->state->u.log.count <= client->room);
        return;
    }

    fuzz_check(v->admitted == wanted.admitted);
    fuzz_check(v->remaining == wanted.remaining);
    fuzz_check(v->retry == wanted.retry);
    fuzz_check(v->more == wanted.more);
    fuzz_check(v->reset == wanted.reset);
    fuzz_check(v->level == wanted.level);
}
