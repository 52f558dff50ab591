
/*
 * Servers by their names and addresses, and which of them nginx takes for a
 * host.
 */


#ifndef _REPLAY_SERVER_H_INCLUDED_
#define _REPLAY_SERVER_H_INCLUDED_


#include "replay_array.h"
#include "replay_location.h"


typedef struct {
    replay_location_t      location;
    replay_array_t         names;            /* replay_server_name_t */
    unsigned               listens:1;
    unsigned               limited:1;        /* in some place of it */
} replay_server_t;


/* most logs have few hosts: those that were found are kept */

#define REPLAY_SERVER_MEMOS     64
#define REPLAY_SERVER_MEMO_LEN  64

typedef struct {
    const replay_server_t *server;
    size_t                 len;
    char                   host[REPLAY_SERVER_MEMO_LEN];
} replay_server_memo_t;


typedef struct {
    replay_array_t         servers;          /* replay_server_t * */
    replay_array_t         addresses;        /* replay_server_address_t */
    const replay_server_t *unknown;          /* for no host */
    replay_server_memo_t   memos[REPLAY_SERVER_MEMOS];
} replay_servers_t;


replay_server_t *replay_server_add(replay_pool_t *pool,
    replay_servers_t *servers);

/* NULL, or what is wrong with the name */
const char *replay_server_add_name(replay_pool_t *pool,
    replay_server_t *server, replay_text_t name);

/* of "listen": an address, a port or both */
void replay_server_listen(replay_pool_t *pool, replay_servers_t *servers,
    replay_server_t *server, replay_text_t address, int is_default);

/* when all is read, and it is known which servers are limited */
void replay_servers_init(replay_pool_t *pool, replay_servers_t *servers);

/* see replay_conf_place(); NULL: there are no servers */
const replay_server_t *replay_server_find(replay_servers_t *servers,
    replay_text_t host);


#endif /* _REPLAY_SERVER_H_INCLUDED_ */
