
/*
 * One of the sentinels: asks it where the master is, every few seconds and on
 * each message about a failover.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_PEER_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_PEER_H_INCLUDED_


#include "ngx_http_slidewin_redis_conn.h"
#include "ngx_http_slidewin_redis_dns.h"
#include "ngx_http_slidewin_redis_sentinel_proto.h"


typedef struct ngx_http_slidewin_redis_sentinel_peer_s
    ngx_http_slidewin_redis_sentinel_peer_t;


/* the reply that comes next */

typedef enum {
    NGX_HTTP_SLIDEWIN_REDIS_AWAIT_NONE = 0,
    NGX_HTTP_SLIDEWIN_REDIS_AWAIT_PONG,
    NGX_HTTP_SLIDEWIN_REDIS_AWAIT_ADDRESS,
    NGX_HTTP_SLIDEWIN_REDIS_AWAIT_EPOCH
} ngx_http_slidewin_redis_await_e;


/* all but dns is a worker's */

struct ngx_http_slidewin_redis_sentinel_peer_s {
    ngx_http_slidewin_redis_dns_t              dns;
    ngx_http_slidewin_redis_conn_t             conn;
    ngx_event_t                                timer; /* to ask, or timeout */
    ngx_http_slidewin_redis_await_e            await;

    ngx_http_slidewin_redis_master_t           master;
    int64_t                                    epoch;

    unsigned                known:1;   /* master and epoch are */
    unsigned                fresh:1;   /* and newer than the last find() */
    unsigned                silent:1;  /* lost before the last answer */
    unsigned                no_messages:1; /* may not SUBSCRIBE: is logged */

    /* the owner's: what the peer says has changed; a promotion begins */

    const ngx_http_slidewin_redis_sentinel_query_t  *query;
    void                  (*changed)(
                               ngx_http_slidewin_redis_sentinel_peer_t *peer);
    void                  (*promotion)(
                               ngx_http_slidewin_redis_sentinel_peer_t *peer,
                               const ngx_http_slidewin_redis_master_t *replica);
    void                   *data;
};


void ngx_http_slidewin_redis_sentinel_peer_start(
    ngx_http_slidewin_redis_sentinel_peer_t *peer,
    ngx_http_slidewin_redis_access_t *access);
void ngx_http_slidewin_redis_sentinel_peer_stop(
    ngx_http_slidewin_redis_sentinel_peer_t *peer);

/* does nothing if an answer is pending, or without a connection */
void ngx_http_slidewin_redis_sentinel_peer_ask(
    ngx_http_slidewin_redis_sentinel_peer_t *peer);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_PEER_H_INCLUDED_ */
