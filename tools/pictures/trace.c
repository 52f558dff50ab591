
/*
 * Plays one script of requests through each algorithm and prints what becomes
 * of it, for the timelines of docs/algorithms.md:
 *
 *   rule,ALGORITHM,LIMIT,WINDOW,SLICES
 *   request,ALGORITHM,MS,ADMITTED,RETRY      a request, and ms to wait
 *   level,ALGORITHM,MS,UNITS                 what it counts, in 1/WINDOW units
 */


#include <inttypes.h>
#include <stdio.h>

#include "sw_window.h"


#define LIMIT   10
#define WINDOW  10000
#define SLICES  4              /* few enough to be seen in a picture */

#define END     36000
#define TICK    20             /* ms between two looks; divides all times */

/* zero of the picture; windows and slices begin there */
#define EPOCH   (1000LL * WINDOW)


/* requests, each EVERY ms from FIRST on; of a burst they share 0.5 s */

static const struct {
    int64_t  first;
    int64_t  every;
    int64_t  requests;
} script[] = {
    {  1000, 1500,  5 },       /* a calm client */
    { 18500,   40, 12 },       /* a burst at the end of a window */
    { 20020,   40, 12 },       /* and one at the start of the next */
    { 21000,  500, 25 },       /* it keeps trying */
};


static void play(const char *name, sw_algorithm_e algorithm);
static int64_t requests_at(int64_t ms);
static void level(const char *name, sw_state_t *state,
    const sw_rule_t *rule, int64_t ms);


int
main(void)
{
    play("counter", SW_COUNTER);
    play("fixed", SW_FIXED);
    play("strict", SW_STRICT);
    play("log", SW_LOG);

    return 0;
}


static void
play(const char *name, sw_algorithm_e algorithm)
{
    int64_t         ms, n;
    sw_rule_t       rule;
    sw_verdict_t    verdict;
    sw_any_state_t  any;
    sw_log_entry_t  ring[LIMIT];

    rule.algorithm = algorithm;
    rule.limit = LIMIT;
    rule.window = WINDOW;
    rule.slices = (algorithm == SW_STRICT) ? SLICES : 0;

    printf("rule,%s,%d,%d,%" PRId64 "\n", name, LIMIT, WINDOW, rule.slices);

    sw_state_init(&any.state, &rule, EPOCH, ring, LIMIT);

    for (ms = 0; ms <= END; ms += TICK) {
        level(name, &any.state, &rule, ms);

        n = requests_at(ms);

        if (n == 0) {
            continue;
        }

        while (n--) {
            sw_window_check(&any.state, &rule, EPOCH + ms, 1, &verdict);

            printf("request,%s,%" PRId64 ",%d,%" PRId64 "\n", name, ms,
                   verdict.admitted, verdict.retry);

            if (verdict.admitted) {
                (void) sw_window_add(&any.state, &rule, EPOCH + ms, 1);
            }
        }

        level(name, &any.state, &rule, ms);
    }
}


static int64_t
requests_at(int64_t ms)
{
    size_t   i;
    int64_t  gone, n;

    n = 0;

    for (i = 0; i < sizeof(script) / sizeof(script[0]); i++) {
        gone = ms - script[i].first;

        if (gone >= 0
            && gone % script[i].every == 0
            && gone / script[i].every < script[i].requests)
        {
            n++;
        }
    }

    return n;
}


static void
level(const char *name, sw_state_t *state, const sw_rule_t *rule, int64_t ms)
{
    sw_verdict_t  verdict;

    sw_window_check(state, rule, EPOCH + ms, 0, &verdict);

    printf("level,%s,%" PRId64 ",%" PRId64 "\n", name, ms,
           verdict.level * (rule->window / verdict.scale));
}
