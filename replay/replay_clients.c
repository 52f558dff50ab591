
#include "replay_clients.h"


#define REPLAY_SLOTS  1024


static uint32_t replay_hash(const char *p, size_t len);
static void replay_clients_grow(replay_clients_t *clients);


void
replay_clients_init(replay_clients_t *clients)
{
    memset(clients, 0, sizeof(replay_clients_t));

    replay_chunks_init(&clients->clients, sizeof(replay_client_t));

    clients->mask = REPLAY_SLOTS - 1;
    clients->slots = replay_calloc(REPLAY_SLOTS,
                                   sizeof(replay_client_slot_t));
}


uint32_t
replay_clients_find(replay_clients_t *clients, replay_text_t key)
{
    size_t                 i;
    uint32_t               hash;
    replay_text_t          copy;
    replay_client_t       *client;
    replay_client_slot_t  *slot;

    if (key.len > REPLAY_KEY_MAX) {
        key.len = REPLAY_KEY_MAX;
    }

    hash = replay_hash(key.data, key.len);

    for (i = hash & clients->mask; ; i = (i + 1) & clients->mask) {
        slot = &clients->slots[i];

        if (slot->client == 0) {
            break;
        }

        if (slot->hash != hash) {
            continue;
        }

        client = replay_client(clients, slot->client - 1);

        if (client->len == key.len
            && memcmp(replay_client_bytes(client), key.data, key.len) == 0)
        {
            return slot->client - 1;
        }
    }

    if (clients->n == UINT32_MAX - 1) {
        replay_fatal("more than %u clients", UINT32_MAX - 1);
    }

    client = replay_client(clients, clients->n);
    client->len = (uint16_t) key.len;

    if (key.len <= REPLAY_KEY_SHORT) {
        memcpy(client->key.bytes, key.data, key.len);

    } else {
        copy = replay_pool_text(&clients->keys, key);
        memcpy(client->key.pointer, &copy.data, sizeof(copy.data));
    }

    slot->hash = hash;
    slot->client = ++clients->n;

    /* not fuller than seven eighths */

    if ((size_t) clients->n * 8 > clients->mask * 7) {
        replay_clients_grow(clients);
    }

    return clients->n - 1;
}


static void
replay_clients_grow(replay_clients_t *clients)
{
    size_t                 i, j, n;
    replay_client_slot_t  *slots;

    n = 2 * (clients->mask + 1);
    slots = replay_calloc(n, sizeof(replay_client_slot_t));

    for (i = 0; i <= clients->mask; i++) {

        if (clients->slots[i].client == 0) {
            continue;
        }

        for (j = clients->slots[i].hash & (n - 1); slots[j].client; ) {
            j = (j + 1) & (n - 1);
        }

        slots[j] = clients->slots[i];
    }

    free(clients->slots);
    clients->slots = slots;
    clients->mask = n - 1;
}


/* eight bytes at a time, mixed by multiplications */

static uint32_t
replay_hash(const char *p, size_t len)
{
    uint64_t  hash, part;

    hash = 0x9e3779b97f4a7c15ULL ^ len;

    for ( /* void */ ; len >= sizeof(part); len -= sizeof(part)) {
        memcpy(&part, p, sizeof(part));
        p += sizeof(part);

        hash = (hash ^ part) * 0xbf58476d1ce4e5b9ULL;
        hash ^= hash >> 32;
    }

    part = 0;
    memcpy(&part, p, len);

    hash = (hash ^ part) * 0xbf58476d1ce4e5b9ULL;
    hash ^= hash >> 32;
    hash *= 0x94d049bb133111ebULL;

    return (uint32_t) (hash >> 32);
}
