
/*
 * Clients: a number for each key, and what is known of each.
 */


#ifndef _REPLAY_CLIENTS_H_INCLUDED_
#define _REPLAY_CLIENTS_H_INCLUDED_


#include "replay_chunks.h"
#include "replay_pool.h"


/* a longer key is cut, and so two may be one; none of nginx is longer */
#define REPLAY_KEY_MAX  65535


/* most keys fit in here: one place of memory less to be read */
#define REPLAY_KEY_SHORT  26

typedef struct {
    uint32_t          requests;
    uint16_t          len;
    union {
        char          bytes[REPLAY_KEY_SHORT];
        char          pointer[sizeof(char *)];    /* not aligned */
    } key;
} replay_client_t;


typedef struct {
    uint32_t          hash;
    uint32_t          client;              /* and one, 0: free */
} replay_client_slot_t;


typedef struct {
    replay_chunks_t         clients;
    uint32_t               n;
    replay_client_slot_t  *slots;
    size_t                 mask;
    replay_pool_t          keys;
} replay_clients_t;


void replay_clients_init(replay_clients_t *clients);

/* the number of a key, which may be a new one */
uint32_t replay_clients_find(replay_clients_t *clients, replay_text_t key);

static inline replay_client_t *
replay_client(replay_clients_t *clients, uint32_t client)
{
    return replay_chunks_get(&clients->clients, client);
}


static inline const char *
replay_client_bytes(const replay_client_t *client)
{
    const char  *p;

    if (client->len <= REPLAY_KEY_SHORT) {
        return client->key.bytes;
    }

    memcpy(&p, client->key.pointer, sizeof(p));

    return p;
}


static inline replay_text_t
replay_client_key(replay_clients_t *clients, uint32_t client)
{
    replay_text_t     key;
    replay_client_t  *entry;

    entry = replay_client(clients, client);

    key.data = replay_client_bytes(entry);
    key.len = entry->len;

    return key;
}


#endif /* _REPLAY_CLIENTS_H_INCLUDED_ */
