
/*
 * One client of one rule, kept as a store would keep it: memory of exactly
 * the size that was asked for, a log that grows when it wants to.
 */


#ifndef _CLIENT_H_INCLUDED_
#define _CLIENT_H_INCLUDED_


#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sw_window.h"


typedef struct {
    sw_rule_t     rule;
    sw_state_t   *state;
    uint32_t      room;            /* a log never gets more; 0: all it wants */
} client_t;


static const char *const  client_algorithms[] = {
    "counter", "fixed", "strict", "log"
};


static inline void *
client_alloc(size_t size)
{
    void  *p;

    p = malloc(size);

    if (p == NULL) {
        abort();
    }

    /* nothing may rely on zeroed memory */

    return memset(p, 0xa5, size);
}


static inline void
client_init(client_t *client, const sw_rule_t *rule, int64_t now,
    uint32_t room)
{
    uint32_t         first;
    sw_log_entry_t  *ring;

    client->rule = *rule;
    client->state = client_alloc(sw_state_size(rule));
    client->room = room;

    first = room ? room : 1;
    ring = NULL;

    if (rule->algorithm == SW_LOG) {
        ring = client_alloc(first * sizeof(sw_log_entry_t));
    }

    sw_state_init(client->state, rule, now, ring, first);
}


static inline void
client_free(client_t *client)
{
    if (client->state->algorithm == SW_LOG) {
        free(client->state->u.log.entries);
    }

    free(client->state);
}


static inline void
client_copy(client_t *to, const client_t *from)
{
    size_t     size;
    sw_log_t  *log;
    void      *ring;

    *to = *from;

    size = sw_state_bytes(from->state);
    to->state = client_alloc(size);
    memcpy(to->state, from->state, size);

    if (from->rule.algorithm == SW_LOG) {
        log = &to->state->u.log;
        ring = client_alloc(log->room * sizeof(sw_log_entry_t));
        memcpy(ring, log->entries, log->room * sizeof(sw_log_entry_t));
        log->entries = ring;
    }
}


static inline void
client_check(client_t *client, int64_t now, int64_t cost, sw_verdict_t *v)
{
    sw_window_check(client->state, &client->rule, now, cost, v);
}


static inline int
client_admits(client_t *client, int64_t now, int64_t cost)
{
    return sw_window_admits(client->state, &client->rule, now, cost);
}


static inline int64_t
client_add(client_t *client, int64_t now, int64_t cost)
{
    uint32_t   room;
    sw_log_t  *log;

    if (client->rule.algorithm == SW_LOG && client->room == 0) {
        log = &client->state->u.log;
        room = sw_log_next_room(log, client->state->window, &client->rule);

        if (room) {
            free(sw_log_move(log,
                             client_alloc(room * sizeof(sw_log_entry_t)),
                             room));
        }
    }

    return sw_window_add(client->state, &client->rule, now, cost);
}


/* as a store does: a reservation and its charge may each have an entry */

static inline int64_t
client_charge(client_t *client, int64_t now, int64_t cost)
{
    uint32_t    room;
    sw_log_t   *log;
    sw_rule_t   rule;

    rule = client->rule;

    if (rule.algorithm == SW_LOG && client->room == 0) {
        rule.limit *= 2;

        log = &client->state->u.log;
        room = sw_log_next_room(log, client->state->window, &rule);

        if (room) {
            free(sw_log_move(log,
                             client_alloc(room * sizeof(sw_log_entry_t)),
                             room));
        }
    }

    return sw_window_charge(client->state, &client->rule, now, cost);
}


static inline int
client_take(client_t *client, int64_t now, int64_t cost, int64_t *stamp)
{
    int64_t  when;

    if (!client_admits(client, now, cost)) {
        return 0;
    }

    when = cost ? client_add(client, now, cost) : now;

    if (stamp) {
        *stamp = when;
    }

    return 1;
}


static inline void
client_give_back(client_t *client, int64_t cost, int64_t stamp)
{
    sw_window_give_back(client->state, &client->rule, cost, stamp);
}


/* as a store does when it meets a state of another rule; 1 if it carried */

static inline int
client_change(client_t *client, const sw_rule_t *rule, int64_t now)
{
    uint32_t        room;
    sw_any_state_t  any;

    if (sw_state_matches(client->state, rule)) {
        client->rule = *rule;
        return 0;
    }

    memcpy(&any, client->state, sw_state_bytes(client->state));
    sw_state_convert(&any, rule, now);

    room = client->room;
    client_free(client);

    client_init(client, rule, now, room);

    if (rule->algorithm == SW_LOG) {
        sw_state_carry(client->state, rule, now, any.state.u.log.total);

    } else {
        free(client->state);
        client->state = client_alloc(sw_state_bytes(&any.state));
        memcpy(client->state, &any, sw_state_bytes(&any.state));
    }

    return 1;
}


#endif /* _CLIENT_H_INCLUDED_ */
