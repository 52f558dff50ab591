
#include <string.h>

#include "replay_live.h"


static int64_t replay_live_tick(const replay_live_t *live, int64_t time);
static int64_t replay_live_end(const replay_live_t *live, int64_t time);


void
replay_live_init(replay_live_t *live, const sw_rule_t *rule, int64_t span)
{
    int64_t  unit;

    memset(live, 0, sizeof(replay_live_t));

    /* of whole seconds, clients leave as others come: a part ends there, too */

    unit = (rule->window % (span + 1) == 0) ? span + 1 : 1;

    live->rule = *rule;
    live->part = (rule->window / unit + REPLAY_LIVE_PARTS - 1)
                 / REPLAY_LIVE_PARTS * unit;
}


void
replay_live_add(replay_live_t *live, int64_t time, int64_t before)
{
    int64_t    now, end;
    uint32_t  *leaving;

    now = replay_live_tick(live, time);

    /* all have left after as many ticks as the ring has */

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
        end = replay_live_end(live, before);

        if (end > now) {
            live->leaving[end % REPLAY_LIVE_RING]--;
            live->live--;
        }
    }

    end = replay_live_end(live, time);

    live->leaving[end % REPLAY_LIVE_RING]++;
    live->live++;

    if (live->live > live->most) {
        live->most = live->live;
    }
}


static int64_t
replay_live_tick(const replay_live_t *live, int64_t time)
{
    switch (live->rule.algorithm) {

    case SW_STRICT:
        return time * live->rule.slices / live->rule.window;

    case SW_LOG:
        return time / live->part;

    default:
        return time / live->rule.window;
    }
}


/* the tick with which sw_state_end comes, of a unit that was counted then */

static int64_t
replay_live_end(const replay_live_t *live, int64_t time)
{
    switch (live->rule.algorithm) {

    case SW_COUNTER:
        return replay_live_tick(live, time) + 2;

    case SW_FIXED:
        return replay_live_tick(live, time) + 1;

    case SW_STRICT:
        return replay_live_tick(live, time) + live->rule.slices + 1;

    default: /* SW_LOG */
        return (time + live->rule.window + live->part - 1) / live->part;
    }
}
