
/*
 * What sw_window and sw_proto say, for suites that compare it with what the
 * scripts say.  A line of numbers in, a line of numbers out:
 *
 *   T RULE now cost [1]       a take on the one client there is: counted, the
 *                             verdict of this cost before it is counted, and
 *                             of no cost after; with 1 a log has an end, and
 *                             what it held is unknown to a longer window then
 *   C RULE now cost [1]       a charge, counted whatever the limit: as T
 *   G RULE now cost stamp     a give back: nothing
 *   P RULE now times cost prefetch nth n...
 *                             of a script's numbers: whether they are taken
 *                             for true, how many requests were counted, the
 *                             prefetched units, the verdict on the nth request
 *   N                         the client is new again: nothing
 *
 * A rule is algorithm (0 to 3), limit, window, slices.  The client is kept
 * as Redis keeps it: what is not counted leaves no trace in it, unless the
 * clock was set back by more than a window.
 */


#include <inttypes.h>
#include <stdio.h>

#include "client.h"
#include "sw_proto.h"
#include "sw_parse.h"


#define NUMBERS  256

/* a script has room for all entries of a log */
#define ROOM     4096


static client_t  known;
static int       present;
static int64_t   since;            /* when the key of a log got its end */


static void forget(void);
static void expire(int64_t now);
static int stale(const sw_rule_t *rule, int64_t now);
static void take(const sw_rule_t *rule, int64_t now, int64_t cost);
static void charge(const sw_rule_t *rule, int64_t now, int64_t cost);
static void give(const sw_rule_t *rule, int64_t cost, int64_t stamp);
static int renewed(const client_t *client, int64_t time);
static void reply(const sw_rule_t *rule, const int64_t *in, int n);
static void print(const sw_verdict_t *v);


int
main(void)
{
    int         n;
    char       *p, *end;
    int64_t     in[NUMBERS];
    sw_rule_t   rule;

    static char  line[NUMBERS * 24];

    while (fgets(line, sizeof(line), stdin)) {
        p = line + 1;

        for (n = 0; n < NUMBERS; n++) {
            in[n] = strtoll(p, &end, 10);

            if (end == p) {
                break;
            }

            p = end;
        }

        if (line[0] == 'N') {
            forget();
            puts("");
            fflush(stdout);
            continue;
        }

        if (n < 6) {
            return 2;
        }

        rule.algorithm = (sw_algorithm_e) in[0];
        rule.limit = in[1];
        rule.window = in[2];
        rule.slices = in[3];

        if (sw_rule_error(&rule)) {
            fprintf(stderr, "%s\n", sw_rule_error(&rule));
            return 2;
        }

        switch (line[0]) {

        case 'T':
            if (n > 6 && in[6]) {
                expire(in[4]);
            }

            take(&rule, in[4], in[5]);
            break;

        case 'C':
            if (n > 6 && in[6]) {
                expire(in[4]);
            }

            charge(&rule, in[4], in[5]);
            break;

        case 'G':
            give(&rule, in[5], in[6]);
            break;

        case 'P':
            reply(&rule, in + 4, n - 4);
            break;

        default:
            return 2;
        }

        puts("");
        fflush(stdout);
    }

    forget();

    return 0;
}


static void
forget(void)
{
    if (present) {
        client_free(&known);
        present = 0;
    }
}


static void
expire(int64_t now)
{
    if (present && known.state->algorithm == SW_LOG
        && now >= since + 2 * (int64_t) known.state->window)
    {
        forget();
    }
}


/* whether the client's time is more than a window ahead */

static int
stale(const sw_rule_t *rule, int64_t now)
{
    int64_t            window;
    const sw_state_t  *state;

    state = known.state;
    window = state->window;

    switch (state->algorithm) {

    case SW_STRICT:
        return now * state->slices / window
               < state->u.slices.index - state->slices;

    case SW_LOG:
        if (rule->algorithm == SW_LOG) {
            window = rule->window;
        }

        return state->u.log.count && state->u.log.newest - now > window;

    default:
        return now / window < state->u.pair.index - 1;
    }
}


static void
take(const sw_rule_t *rule, int64_t now, int64_t cost)
{
    int           counted, moved, renew;
    client_t      client;
    sw_verdict_t  before, after;

    moved = present && stale(rule, now);

    if (present) {
        client_copy(&client, &known);
        (void) client_change(&client, rule, now);

    } else {
        client_init(&client, rule, now, ROOM);
    }

    client_check(&client, now, cost, &before);
    counted = before.admitted && cost;
    renew = moved || renewed(&client, before.stamp);

    if (present && (!sw_state_matches(known.state, rule)
                    || (rule->algorithm == SW_LOG
                        && rule->window > known.state->window)))
    {
        moved |= !before.admitted;
    }

    if (counted) {
        (void) client_add(&client, now, cost);
    }

    client_check(&client, now, 0, &after);

    printf("%d", counted);
    print(&before);
    print(&after);

    if (counted || moved) {
        if (renew) {
            since = before.stamp;
        }

        forget();
        known = client;
        present = 1;

    } else {
        client_free(&client);
    }
}


/*
 * A take of as much as fits, with the highest limit there may be.  A state of
 * another algorithm that counts anything is left as it is.
 */

static void
charge(const sw_rule_t *rule, int64_t now, int64_t cost)
{
    client_t      client;
    sw_rule_t     most;
    sw_verdict_t  v;

    most = *rule;
    most.limit = sw_rule_most(rule);

    memset(&v, 0, sizeof(sw_verdict_t));
    v.remaining = most.limit;

    if (present && !sw_state_may_charge(known.state, rule, now)) {
        printf("0");
        print(&v);
        print(&v);
        return;
    }

    if (present) {
        client_copy(&client, &known);
        (void) client_change(&client, &most, now);
        client_check(&client, now, 0, &v);
        client_free(&client);
    }

    cost = cost < v.remaining ? cost : v.remaining;

    take(&most, now, cost ? cost : 1);
}


/*
 * Whether the key of a log that is written gets another end: that of one which
 * begins, is kept for longer, or has had its end for half a window.
 */

static int
renewed(const client_t *client, int64_t time)
{
    if (client->rule.algorithm != SW_LOG) {
        return 0;
    }

    return !present || known.state->algorithm != SW_LOG
           || client->rule.window > known.state->window
           || client->state->u.log.count == 0
           || 2 * (time - since) >= known.state->window;
}


static void
give(const sw_rule_t *rule, int64_t cost, int64_t stamp)
{
    if (!present) {
        return;
    }

    sw_window_give_back(known.state, rule, cost, stamp);
}


static void
reply(const sw_rule_t *rule, const int64_t *in, int n)
{
    sw_verdict_t        v, last;
    sw_proto_request_t  asked;
    sw_proto_taken_t    taken;

    asked.times = in[1];
    asked.cost = in[2];
    asked.prefetch = in[3];

    if ((size_t) n != 5 + sw_proto_numbers(rule)
        || sw_proto_read(in + 5, rule, in[0], &asked, &taken, &last)
           != SW_OK)
    {
        printf("0");
        return;
    }

    sw_proto_verdict(in + 5, rule, in[0], &asked, &taken, &last, in[4], &v);
    sw_verdict_complete(&v, rule);

    printf("1 %" PRId64 " %" PRId64, taken.counted, taken.prefetch);
    print(&v);
}


static void
print(const sw_verdict_t *v)
{
    printf(" %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
           " %" PRId64 " %" PRId64, v->admitted, v->remaining, v->retry,
           v->more, v->reset, v->level, v->scale, v->stamp);
}
