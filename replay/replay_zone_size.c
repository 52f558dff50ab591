
#include <stdio.h>

#include "replay_zone_size.h"
#include "sw_log.h"
#include "sw_math.h"
#include "sw_state.h"


/* of ngx_http_slidewin_node_t, before its state */
#define REPLAY_NODE_BYTES   96

/* of ngx_http_slidewin_ban_memo_t, in a node beside the counter */
#define REPLAY_BAN_BYTES    56

#define REPLAY_PAGE         4096LL
#define REPLAY_MB           1048576LL
#define REPLAY_ZONE_MIN     65536LL


static int64_t replay_slab_bytes(int64_t size);


int64_t
replay_zone_size(const sw_rule_t *rule, int64_t clients, int64_t busy,
    int64_t units, int64_t banned)
{
    int64_t  node, need, size;

    node = REPLAY_NODE_BYTES + (int64_t) sw_state_size(rule);
    need = 0;

    if (rule->algorithm == SW_LOG) {
        node += REPLAY_ZONE_LOG_UNITS * (int64_t) sizeof(sw_log_entry_t);
        units = sw_min(units, rule->limit);

        /* a ring is doubled when it is full */

        if (units > REPLAY_ZONE_LOG_UNITS) {
            need = sw_min(busy, clients)
                   * replay_slab_bytes(2 * units
                                       * (int64_t) sizeof(sw_log_entry_t));
        }
    }

    need += clients * replay_slab_bytes(node);
    need += banned * replay_slab_bytes(REPLAY_NODE_BYTES + REPLAY_BAN_BYTES);

    /* the slab's own, and what tomorrow brings */

    need += need / 4 + need / 32 + 2 * REPLAY_PAGE;

    size = REPLAY_ZONE_MIN;

    while (size < need && size < REPLAY_MB) {
        size *= 2;
    }

    if (size < need) {
        size = (need + REPLAY_MB - 1) / REPLAY_MB * REPLAY_MB;
    }

    return size;
}


/* the slab gives powers of two, and whole pages */

static int64_t
replay_slab_bytes(int64_t size)
{
    int64_t  bytes;

    if (size > REPLAY_PAGE / 2) {
        return (size + REPLAY_PAGE - 1) / REPLAY_PAGE * REPLAY_PAGE;
    }

    for (bytes = 8; bytes < size; bytes *= 2) { /* void */ }

    return bytes;
}


const char *
replay_zone_size_text(char buf[REPLAY_ZONE_SIZE_LEN], int64_t size)
{
    int64_t  k;

    k = size / 1024;

    (void) snprintf(buf, REPLAY_ZONE_SIZE_LEN,
                    k % 1024 == 0 ? "%lldm" : "%lldk",
                    (long long) (k % 1024 == 0 ? k / 1024 : k));

    return buf;
}
