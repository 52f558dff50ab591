
/*
 * The way back to an earlier address of a name.  Machines that are connected to
 * different addresses count in different Redis: a connection that is not to the
 * first address is made again as soon as an earlier one answers.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_FAILBACK_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_FAILBACK_H_INCLUDED_


#include "ngx_http_slidewin_redis_addresses.h"
#include "ngx_http_slidewin_redis_conn.h"
#include "ngx_http_slidewin_redis_endpoint.h"


typedef struct {

    /* a second connection, which tries an earlier address */

    ngx_http_slidewin_redis_endpoint_t          endpoint;
    ngx_http_slidewin_redis_conn_t              conn;
    ngx_http_slidewin_redis_access_t            access;
    ngx_http_slidewin_redis_ip_t                ip;
    ngx_event_t                                 timer; /* for the next try */

    /* the owner's: the connection in use, and its addresses */

    ngx_http_slidewin_redis_conn_t             *used;
    const ngx_http_slidewin_redis_addresses_t  *addresses;
    const ngx_http_slidewin_redis_ip_t         *used_ip;
    const char                                 *host;
    ngx_uint_t                                  port;
} ngx_http_slidewin_redis_failback_t;


/* the used connection goes to used_ip: tries earlier addresses from now on */
void ngx_http_slidewin_redis_failback_wait(
    ngx_http_slidewin_redis_failback_t *fb);

/* the used connection ended; whether the next one should go to fb->ip */
ngx_uint_t ngx_http_slidewin_redis_failback_stop(
    ngx_http_slidewin_redis_failback_t *fb);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_FAILBACK_H_INCLUDED_ */
