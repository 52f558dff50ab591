
/*
 * The endpoint that sentinels know by a name: the master, wherever it is now.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_H_INCLUDED_


#include "ngx_http_slidewin_redis_conn.h"
#include "ngx_http_slidewin_redis_dns.h"
#include "ngx_http_slidewin_redis_sentinel_peer.h"
#include "ngx_http_slidewin_redis_sentinel_promotion.h"
#include "ngx_http_slidewin_redis_sentinel_proto.h"
#include "sw_url.h"


typedef struct {
    ngx_http_slidewin_redis_endpoint_t            endpoint; /* the master's */
    ngx_http_slidewin_redis_sentinel_peer_t      *peers;
    ngx_uint_t                                    npeers;
    ngx_http_slidewin_redis_sentinel_query_t      query;
    ngx_str_t                                     user;     /* terminated */
    ngx_str_t                                     password; /* terminated */

    /* a worker's */

    ngx_http_slidewin_redis_access_t              access;   /* to a sentinel */
    ngx_http_slidewin_redis_conn_t               *conn;     /* to the master */
    ngx_event_t                                   timer;    /* for the peers */
    ngx_http_slidewin_redis_master_t              used;     /* by conn */
    ngx_http_slidewin_redis_master_t              failed;   /* conn, the last */
    ngx_http_slidewin_redis_dns_t                 dns;      /* of used */
    ngx_http_slidewin_redis_sentinel_promotion_t  promotion;

    unsigned                                      waiting:1; /* for a master */
    unsigned                                      disputed:1; /* no majority */
    unsigned                                      reported:1; /* none answers */
} ngx_http_slidewin_redis_sentinel_t;


ngx_http_slidewin_redis_sentinel_t *ngx_http_slidewin_redis_sentinel_create(
    ngx_conf_t *cf, const sw_url_t *url);

/* in a worker; access is that of the master, sentinels have another user */
void ngx_http_slidewin_redis_sentinel_start(
    ngx_http_slidewin_redis_sentinel_t *s,
    const ngx_http_slidewin_redis_access_t *access);
void ngx_http_slidewin_redis_sentinel_stop(
    ngx_http_slidewin_redis_sentinel_t *s);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_H_INCLUDED_ */
