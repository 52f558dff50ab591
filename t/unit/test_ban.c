
/*
 * Bans: when they begin, how long they are, when they end, and what a verdict
 * says while they last.
 */


#include <inttypes.h>
#include <string.h>

#include "sw_ban.h"
#include "sw_math.h"
#include "tap.h"


#define SECOND  1000LL
#define MINUTE  (60 * SECOND)
#define DAY     (1440 * MINUTE)


static void left(void);
static void fixed_length(void);
static void doubling(void);
static void changed_rule(void);
static void clock_stepped_back(void);
static void kept_until(void);
static void verdict(void);
static void as_a_history_says(void);

static int64_t history_ban(const sw_ban_rule_t *rule, int64_t begin,
    int64_t end, int64_t length, int64_t now);


int
main(void)
{
    left();
    fixed_length();
    doubling();
    changed_rule();
    clock_stepped_back();
    kept_until();
    verdict();
    as_a_history_says();

    return tap_done();
}


static void
left(void)
{
    sw_ban_t  ban, before;

    static const sw_ban_rule_t  rule = { 10 * SECOND, 0 };

    memset(&ban, 0, sizeof(sw_ban_t));

    tap_ok(sw_ban_left(&ban, 5) == 0, "nothing is left of no ban");
    tap_ok(sw_ban_left(&ban, 0) == 0, "nor at the very first ms");

    tap_ok(sw_ban_begin(&ban, &rule, 5000) == 10000, "a ban of that time");

    before = ban;

    tap_ok(sw_ban_left(&ban, 5000) == 10000, "all is left when it begins");
    tap_ok(sw_ban_left(&ban, 5001) == 9999, "a ms less after one");
    tap_ok(sw_ban_left(&ban, 14999) == 1, "the last ms");
    tap_ok(sw_ban_left(&ban, 15000) == 0, "it ends when it says");
    tap_ok(sw_ban_left(&ban, 15000 + DAY) == 0, "and stays ended");
    tap_ok(memcmp(&ban, &before, sizeof(sw_ban_t)) == 0,
           "to look at it does not prolong it");
}


static void
fixed_length(void)
{
    int       i;
    int64_t   now;
    sw_ban_t  ban;

    static const sw_ban_rule_t  rule = { MINUTE, 0 };

    memset(&ban, 0, sizeof(sw_ban_t));

    for (i = 0, now = 1; i < 4; i++, now = ban.until) {
        if (sw_ban_begin(&ban, &rule, now) != MINUTE) {
            break;
        }
    }

    tap_ok(i == 4, "without a longest one all are of that time");
}


static void
doubling(void)
{
    sw_ban_t  ban;

    static const sw_ban_rule_t  rule = { MINUTE, 5 * MINUTE };
    static const sw_ban_rule_t  same = { MINUTE, MINUTE };

    memset(&ban, 0, sizeof(sw_ban_t));

    tap_ok(sw_ban_begin(&ban, &rule, 1000) == MINUTE, "the first one");
    tap_ok(sw_ban_begin(&ban, &rule, ban.until) == 2 * MINUTE,
           "twice as long at once behind it");
    tap_ok(sw_ban_begin(&ban, &rule, ban.until + 5 * MINUTE) == 4 * MINUTE,
           "and at the last ms of MAX after its end");
    tap_ok(sw_ban_begin(&ban, &rule, ban.until + 1) == 5 * MINUTE,
           "never above MAX");
    tap_ok(sw_ban_begin(&ban, &rule, ban.until + 1) == 5 * MINUTE,
           "then always MAX");
    tap_ok(sw_ban_begin(&ban, &rule, ban.until + 5 * MINUTE + 1) == MINUTE,
           "a ms later than MAX after the end it is the first one again");

    memset(&ban, 0, sizeof(sw_ban_t));

    tap_ok(sw_ban_begin(&ban, &rule, 1) == MINUTE,
           "a client without a ban has none to double, early as it is");

    sw_ban_begin(&ban, &same, ban.until);

    tap_ok(ban.length == MINUTE, "TIME as MAX does not double");
}


static void
changed_rule(void)
{
    sw_ban_t  ban, begun;

    static const sw_ban_rule_t  seconds = { SECOND, DAY };
    static const sw_ban_rule_t  raised = { 10 * MINUTE, DAY };
    static const sw_ban_rule_t  lowered = { SECOND, 30 * SECOND };
    static const sw_ban_rule_t  flat = { 2 * SECOND, 0 };

    memset(&ban, 0, sizeof(sw_ban_t));

    sw_ban_begin(&ban, &seconds, 1000);

    tap_ok(sw_ban_left(&ban, 1500) == 500, "a running ban keeps its end");

    begun = ban;

    tap_ok(sw_ban_begin(&ban, &raised, 2000) == 10 * MINUTE,
           "a doubled ban is never shorter than a raised TIME");
    tap_ok(sw_ban_begin(&ban, &lowered, ban.until) == 30 * SECOND,
           "nor longer than a lowered MAX");

    ban = begun;

    tap_ok(sw_ban_begin(&ban, &flat, 2000) == 2 * SECOND,
           "without a longest one nothing is doubled any more");
}


static void
clock_stepped_back(void)
{
    sw_ban_t  ban;

    static const sw_ban_rule_t  rule = { MINUTE, DAY };

    memset(&ban, 0, sizeof(sw_ban_t));

    sw_ban_begin(&ban, &rule, 10 * DAY);

    tap_ok(sw_ban_left(&ban, 9 * DAY) == MINUTE,
           "the clock stepped back a day: the ban has its length left");
    tap_ok(sw_ban_left(&ban, 9 * DAY + MINUTE - 1) == 1, "and goes on");
    tap_ok(sw_ban_left(&ban, 9 * DAY + MINUTE) == 0, "to its end");
    tap_ok(sw_ban_begin(&ban, &rule, 9 * DAY + MINUTE) == 2 * MINUTE,
           "and is known to the next one");

    /* a process was killed between the end and the length of a first ban */

    ban.until = 10 * DAY;
    ban.length = 0;

    tap_ok(sw_ban_left(&ban, 10 * DAY - 1) == 0, "without a length it is none");
}


static void
kept_until(void)
{
    int64_t   end;
    sw_ban_t  ban;

    static const sw_ban_rule_t  rule = { MINUTE, DAY };
    static const sw_ban_rule_t  flat = { MINUTE, 0 };

    memset(&ban, 0, sizeof(sw_ban_t));

    sw_ban_begin(&ban, &rule, 1000);
    end = sw_ban_kept_until(&ban, &rule);

    tap_ok(end == 1000 + MINUTE + DAY, "a ban is kept for MAX after its end");
    tap_ok(sw_ban_begin(&ban, &rule, end) == 2 * MINUTE,
           "as long as it could be doubled");
    tap_ok(sw_ban_kept_until(&ban, &flat) == ban.until,
           "one that does not double is kept until it ends");
}


static void
verdict(void)
{
    sw_verdict_t  v;

    memset(&v, 0, sizeof(sw_verdict_t));

    v.admitted = 1;
    v.remaining = 7;
    v.reset = 100;

    sw_ban_verdict(&v, 5000);

    tap_ok(!v.admitted && v.remaining == 0, "a banned client has no room");
    tap_ok(v.retry == 5000 && v.more == 5000 && v.reset == 5000,
           "and waits until the ban is over");

    v.retry = 9000;
    v.more = 8000;
    v.reset = 60000;

    sw_ban_verdict(&v, 5000);

    tap_ok(v.retry == 9000 && v.more == 8000 && v.reset == 60000,
           "or longer, if the window has no room before");

    v.retry = SW_NEVER;
    v.more = 0;

    sw_ban_verdict(&v, 5000);

    tap_ok(v.retry == SW_NEVER && v.more == 5000,
           "what can never pass has no time to wait");
}


/*
 * Random rejections: each ban against the contract, written once more from the
 * times of the last one.
 */

static void
as_a_history_says(void)
{
    int            i, j, good;
    int64_t        now, begin, end, length, wanted;
    sw_ban_t       ban;
    sw_ban_rule_t  rule;

    good = 1;
    tap_seed(14);

    for (i = 0; i < 2000 && good; i++) {
        memset(&ban, 0, sizeof(sw_ban_t));

        rule.time = tap_rand(1, 50);
        rule.max = tap_rand(0, 2) ? tap_rand(rule.time, 400) : 0;

        begin = 0;
        end = 0;
        length = 0;
        now = 1;

        for (j = 0; j < 40 && good; j++) {
            now += tap_rand(0, 1) ? tap_rand(0, 60) : tap_rand(0, 500);

            if (length && now < end) {
                good = sw_ban_left(&ban, now) == end - now;
                continue;
            }

            wanted = history_ban(&rule, begin, end, length, now);

            good = sw_ban_left(&ban, now) == 0
                   && sw_ban_begin(&ban, &rule, now) == wanted
                   && sw_ban_left(&ban, now) == wanted;

            begin = now;
            length = wanted;
            end = begin + length;
        }

        if (!good) {
            tap_diag("ban=%" PRId64 "..%" PRId64 ", at %" PRId64, rule.time,
                     rule.max, now);
        }
    }

    tap_ok(good, "random bans are as long as they should be");
}


static int64_t
history_ban(const sw_ban_rule_t *rule, int64_t begin, int64_t end,
    int64_t length, int64_t now)
{
    if (length == 0 || rule->max == 0 || now > end + rule->max) {
        return rule->time;
    }

    return sw_min(2 * (end - begin), rule->max);
}
