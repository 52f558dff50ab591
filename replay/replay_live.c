
#include <string.h>

#include "replay_live.h"


static int64_t replay_live_end(const sw_rule_t *rule, int64_t time);


void
replay_live_init(replay_live_t *live, const sw_rule_t *rule)
{
    memset(live, 0, sizeof(replay_live_t));

    live->rule = *rule;
    live->part = rule->window / REPLAY_LIVE_PARTS;

    if (live->part == 0) {
        live->part = 1;
    }
}


void
replay_live_add(replay_live_t *live, int64_t time, int64_t before)
{
    int64_t    now, end;
    uint32_t  *leaving;

    now = time / live->part;

    /* all have left after as many parts as the ring has */

    if (now - live->now >= REPLAY_LIVE_RING) {
        memset(live->leaving, 0, sizeof(live->leaving));
        live->live = 0;
        live->now = now;
    }

    while (live->now < now) {
        leaving = &live->leaving[++live->now % REPLAY_LIVE_RING];
        live->live -= *leaving;
        *leaving = 0;
    }

    if (before >= 0) {
        end = (replay_live_end(&live->rule, before) + live->part - 1)
              / live->part;

        if (end > now) {
            live->leaving[end % REPLAY_LIVE_RING]--;
            live->live--;
        }
    }

    end = (replay_live_end(&live->rule, time) + live->part - 1) / live->part;

    live->leaving[end % REPLAY_LIVE_RING]++;
    live->live++;

    if (live->live > live->most) {
        live->most = live->live;
    }
}


/* as sw_state_end of a client whose last unit was counted then */

static int64_t
replay_live_end(const sw_rule_t *rule, int64_t time)
{
    int64_t  slice;

    switch (rule->algorithm) {

    case SW_COUNTER:
        return (time / rule->window + 2) * rule->window;

    case SW_FIXED:
        return (time / rule->window + 1) * rule->window;

    case SW_STRICT:
        slice = time * rule->slices / rule->window + rule->slices + 1;
        return (slice * rule->window + rule->slices - 1) / rule->slices;

    default: /* SW_LOG */
        return time + rule->window;
    }
}
