
/*
 * A process may be killed at any step of a change to the list of bans: the
 * next one finds the ban that was changed as it was or as it should be, and all
 * others as they were.
 */


#include "bans.h"
#include "kill.h"


#define NOW      1700000000LL
#define TRACES   20
#define OPS      80
#define REPAIRS  3


/* left 0: remove */

typedef struct {
    int             key;
    int64_t         now;
    int64_t         left;
} op_t;


static const char *trace(uint32_t places, long *kills);
static int run_killed(bans_t *b, const op_t *op, int steps);
static void run_model(bans_t *b, const op_t *op);
static const char *wrong_after_kill(bans_t *b, const bans_model_t *before,
    const bans_model_t *after, const op_t *op);


int
main(void)
{
    tap_diag("seed %" PRIu64, tap_seed(20260215));

    kill_traces("places", "a change", TRACES, (long) OPS * TRACES, trace);

    return tap_done();
}


/*
 * Each change is killed at every step it has, on a copy, and what is then left
 * is looked at, and again after a repair, which is killed as well.
 */

static const char *
trace(uint32_t places, long *kills)
{
    int            i, steps, repair;
    op_t           op, remove;
    void          *memory;
    const char    *wrong;
    bans_model_t   before, after, old, new;
    static bans_t  b;

    bans_init(&b, places, (int) tap_rand(1, 3 * places + 2),
              (bans_kind_e) tap_rand(0, BANS_KINDS - 1),
              tap_rand(0, 1) ? UINT32_MAX : 2);

    memory = malloc(b.size);
    wrong = NULL;
    op.now = NOW;

    for (i = 0; i < OPS && wrong == NULL; i++) {
        op.now += tap_rand(0, 9) ? tap_rand(1, 100) : tap_rand(1, 30000);
        op.key = (int) tap_rand(0, b.keys - 1);
        op.left = 0;

        if (tap_rand(0, 3)) {
            op.left = tap_rand(1, 20) * 1000;
            op.left += op.key - (op.now + op.left) % BANS_KEYS + BANS_KEYS;
        }

        memcpy(memory, b.bans, b.size);
        before = b.model;
        run_model(&b, &op);
        after = b.model;

        for (steps = 1; run_killed(&b, &op, steps); steps++) {
            (*kills)++;

            wrong = wrong_after_kill(&b, &before, &after, &op);

            /* the next change repairs, and only then does its own */

            remove = op;
            remove.left = 0;

            for (repair = (int) tap_rand(0, REPAIRS); repair; repair--) {
                (void) run_killed(&b, &remove, (int) tap_rand(1, 40));
            }

            (void) run_killed(&b, &remove, 0);

            old = before;
            new = after;
            old.ban[op.key].listed = 0;
            old.ban[op.key].end = 0;
            new.ban[op.key].listed = 0;
            new.ban[op.key].end = 0;

            if (wrong == NULL) {
                wrong = wrong_after_kill(&b, &old, &new, &remove);
            }

            if (wrong) {
                tap_diag("change %d killed at step %d: %s", i, steps, wrong);
                break;
            }

            memcpy(b.bans, memory, b.size);
        }

        b.model = after;

        if (wrong) {
            break;
        }

        wrong = bans_wrong(&b, op.now);
    }

    free(memory);
    bans_free(&b);

    return wrong;
}


/* returns whether it was, or has come to its end before */

static int
run_killed(bans_t *b, const op_t *op, int steps)
{
    if (setjmp(kill_point)) {
        return 1;
    }

    kill_steps_left = steps;

    if (op->left) {
        sw_bans_insert(b->bans, &b->key[op->key], op->now, op->now, op->left,
                       2 * op->left);
    } else {
        sw_bans_remove(b->bans, &b->key[op->key], op->now);
    }

    kill_steps_left = 0;

    return 0;
}


static void
run_model(bans_t *b, const op_t *op)
{
    if (op->left) {
        bans_model_insert(b, op->key, op->now, op->left, 2 * op->left);
    } else {
        bans_model_remove(b, op->key);
    }
}


/* every key is as before or as after */

static const char *
wrong_after_kill(bans_t *b, const bans_model_t *before,
    const bans_model_t *after, const op_t *op)
{
    int                     k;
    uint32_t                i, n, listed, overflow, old_listed, new_listed,
                            old_overflow, new_overflow;
    const bans_ban_t       *old, *new;
    static sw_bans_entry_t  list[BANS_PLACES + 1];

    n = sw_bans_list(b->bans, op->now, list, b->places + 1);

    if (n != sw_bans_count(b->bans, op->now)) {
        return "count";
    }

    for (k = 0; k < b->keys; k++) {
        old = &before->ban[k];
        new = &after->ban[k];

        for (i = 0; i < n; i++) {
            if (bans_is(b, &list[i], k)
                && ((old->listed && list[i].left == old->end - op->now
                     && list[i].length == old->length)
                    || (new->listed && list[i].left == new->end - op->now
                        && list[i].length == new->length)))
            {
                break;
            }
        }

        if (i == n) {
            if (old->listed && old->end > op->now
                && new->listed && new->end > op->now)
            {
                return "a ban is lost";
            }

            continue;
        }

        list[i] = list[--n];
    }

    if (n) {
        return "a ban is listed twice, or is another's";
    }

    /*
     * The one that makes room, or comes in, may count both in the list and as
     * left out, but none is missing from both.
     */

    listed = sw_bans_count(b->bans, op->now);
    overflow = sw_bans_overflow(b->bans, op->now);

    b->model = *before;
    old_overflow = bans_model_overflow(b, op->now);
    old_listed = bans_model_count(b, op->now);
    b->model = *after;
    new_overflow = bans_model_overflow(b, op->now);
    new_listed = bans_model_count(b, op->now);

    if (overflow > sw_max(old_overflow, new_overflow) + 1) {
        return "overflow";
    }

    if (!b->collide
        && (overflow < sw_min(old_overflow, new_overflow)
            || listed + overflow < sw_min(old_listed + old_overflow,
                                          new_listed + new_overflow)))
    {
        return "a ban that is neither listed nor left out";
    }

    return NULL;
}
