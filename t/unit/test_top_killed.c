
/*
 * A process may be killed at any step of a change to the most rejected
 * clients: whatever it leaves, the next one finds every rejection that was
 * added before, and keeps within the bounds.
 */


#include "kill.h"
#include "top.h"


#define NOW      1700000000LL
#define TRACES   40
#define OPS      60
#define REPAIRS  3


static const char *trace(uint32_t counters, long *kills);
static int64_t later(int64_t now);
static int add_killed(top_t *t, int key, int64_t n, int64_t now, int steps);
static void list_killed(top_t *t, int64_t now, int steps);


int
main(void)
{
    tap_diag("seed %" PRIu64, tap_seed(20260110));

    kill_traces("counters", "an add", TRACES, (long) OPS * TRACES, trace);

    return tap_done();
}


/*
 * Each add is killed at every step it has, on a copy, and what is then left is
 * repaired, which is killed as well, and looked at.  The trace goes on with one
 * of the copies.
 */

static const char *
trace(uint32_t counters, long *kills)
{
    int             i, key, steps, keep, repair;
    void           *before, *kept;
    int64_t         now, n;
    const char     *wrong;
    static top_t    t;

    top_init(&t, counters, (int) tap_rand(1, 3 * counters + 2),
             (top_kind_e) tap_rand(0, TOP_KINDS - 1),
             tap_rand(0, 1) ? UINT32_MAX : 2, NOW);

    before = malloc(t.size);
    kept = malloc(t.size);
    wrong = NULL;
    now = NOW;

    for (i = 0; i < OPS && wrong == NULL; i++) {
        now = later(now);
        key = (int) tap_rand(0, tap_rand(0, 2) ? t.keys - 1 : 0);
        n = tap_rand(0, 2) ? 1 : tap_rand(1, 9);
        keep = (int) tap_rand(1, 60);

        memcpy(before, t.top, t.size);

        /* of a step that an add does not have it is not killed */

        top_note(&t, key, 0, n, now);

        for (steps = 1; add_killed(&t, key, n, now, steps); steps++) {
            (*kills)++;

            if (steps == keep) {
                memcpy(kept, t.top, t.size);
            }

            for (repair = (int) tap_rand(0, REPAIRS); repair; repair--) {
                list_killed(&t, now, (int) tap_rand(1, 40));
            }

            wrong = top_wrong(&t, now - tap_rand(0, 50));

            if (wrong) {
                tap_diag("add %d killed at step %d: %s", i, steps, wrong);
                break;
            }

            memcpy(t.top, before, t.size);
        }

        if (wrong) {
            break;
        }

        if (keep < steps) {
            memcpy(t.top, kept, t.size);

        } else {
            t.add[t.adds - 1].least = n;

            /* by what no process has repaired before the next one adds */

            wrong = tap_rand(0, 1) ? top_wrong(&t, now) : NULL;
        }
    }

    if (wrong == NULL) {
        wrong = top_wrong(&t, now);
    }

    free(before);
    free(kept);
    top_free(&t);

    return wrong;
}


static int64_t
later(int64_t now)
{
    switch (tap_rand(0, 20)) {

    case 0:
        return now + tap_rand(0, 3 * SW_TOP_EPOCH);

    case 1:
        return now + SW_TOP_EPOCH;

    default:
        return now + tap_rand(0, 100);
    }
}


/* returns whether it was, or has come to its end before */

static int
add_killed(top_t *t, int key, int64_t n, int64_t now, int steps)
{
    if (setjmp(kill_point)) {
        return 1;
    }

    kill_steps_left = steps;
    sw_top_add(t->top, &t->key[key], n, now);
    kill_steps_left = 0;

    return 0;
}


static void
list_killed(top_t *t, int64_t now, int steps)
{
    sw_top_entry_t  entry;

    if (setjmp(kill_point)) {
        return;
    }

    kill_steps_left = steps;
    (void) sw_top_list(t->top, now, &entry, 1);
    kill_steps_left = 0;
}
