
/*
 * A process that is killed at a step of a change: the test goes on where
 * kill_point was set.
 */


#ifndef _KILL_H_INCLUDED_
#define _KILL_H_INCLUDED_


#include <setjmp.h>

#include "sw_step.h"
#include "tap.h"


static int      kill_steps_left;               /* 0: it is not killed */
static jmp_buf  kill_point;


static void
kill_step(void)
{
    if (kill_steps_left && --kill_steps_left == 0) {
        longjmp(kill_point, 1);
    }
}


/*
 * Runs traces of structures of 1 to 12 things.  A trace adds to kills, and says
 * what was wrong after one of them, or NULL.
 */

static inline void
kill_traces(const char *things, const char *change, int traces, long least,
    const char *(*trace)(uint32_t size, long *kills))
{
    int          i;
    long         kills;
    uint32_t     size;
    const char  *wrong;

    sw_stepped = kill_step;

    for (size = 1; size <= 12; size += 1 + size / 2) {
        wrong = NULL;
        kills = 0;

        for (i = 0; i < traces && wrong == NULL; i++) {
            wrong = trace(size, &kills);
        }

        tap_ok(wrong == NULL && kills > least, "%u %s: killed at every step of "
               "%s, %ld times%s%s", size, things, change, kills,
               wrong ? ": " : "", wrong ? wrong : "");
    }
}


#endif /* _KILL_H_INCLUDED_ */
