
/*
 * Clients: a number for each key, and what is known of each.
 */


#ifndef _REPLAY_CLIENTS_H_INCLUDED_
#define _REPLAY_CLIENTS_H_INCLUDED_


#include "replay_chunks.h"
#include "replay_pool.h"


/* a longer key is cut, and so two may be one */
#define REPLAY_KEY_MAX  1024


typedef struct {
    const char       *key;                 /* two bytes of length before it */
    uint32_t          requests;
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

replay_text_t replay_client_key(replay_clients_t *clients, uint32_t client);


static inline replay_client_t *
replay_client(replay_clients_t *clients, uint32_t client)
{
    return replay_chunks_get(&clients->clients, client);
}


#endif /* _REPLAY_CLIENTS_H_INCLUDED_ */
