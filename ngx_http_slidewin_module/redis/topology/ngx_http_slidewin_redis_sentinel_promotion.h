
/*
 * A replica that sentinels are about to make the master.  Whatever the old
 * master counts after the promotion is lost, and it does not know that for
 * seconds: the replica itself is asked, over a connection of its own, until it
 * says that it is the master.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_PROMOTION_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_PROMOTION_H_INCLUDED_


#include "ngx_http_slidewin_redis_conn.h"
#include "ngx_http_slidewin_redis_dns.h"
#include "ngx_http_slidewin_redis_sentinel_proto.h"


typedef struct ngx_http_slidewin_redis_sentinel_promotion_s
    ngx_http_slidewin_redis_sentinel_promotion_t;


struct ngx_http_slidewin_redis_sentinel_promotion_s {
    ngx_http_slidewin_redis_master_t     replica;
    ngx_http_slidewin_redis_dns_t        dns;      /* of the replica */
    ngx_http_slidewin_redis_conn_t       conn;
    ngx_http_slidewin_redis_access_t     access;
    ngx_event_t                          timer;    /* set while conn is used */
    int64_t                              confirmed_until; /* ms */
    unsigned                             confirmed:1; /* by the replica */

    /* the owner's: the promotion was confirmed */

    void                               (*changed)(
                             ngx_http_slidewin_redis_sentinel_promotion_t *p);
    void                                *data;
};


/* in a worker; the replica is reached as the master is */
void ngx_http_slidewin_redis_sentinel_promotion_init(
    ngx_http_slidewin_redis_sentinel_promotion_t *p,
    const ngx_http_slidewin_redis_access_t *access);

/*
 * Does nothing if a promotion is expected already.  The name is for the log,
 * clcf has the resolver.
 */
void ngx_http_slidewin_redis_sentinel_promotion_expect(
    ngx_http_slidewin_redis_sentinel_promotion_t *p,
    const ngx_http_slidewin_redis_master_t *replica, ngx_str_t *name,
    ngx_http_core_loc_conf_t *clcf);

void ngx_http_slidewin_redis_sentinel_promotion_stop(
    ngx_http_slidewin_redis_sentinel_promotion_t *p);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_PROMOTION_H_INCLUDED_ */
