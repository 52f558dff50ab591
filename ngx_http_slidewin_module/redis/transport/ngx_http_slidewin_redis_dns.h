
/*
 * An endpoint that is known by its host name, IP address or path.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_DNS_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_DNS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_redis_addresses.h"
#include "ngx_http_slidewin_redis_conn.h"
#include "ngx_http_slidewin_redis_endpoint.h"
#include "ngx_http_slidewin_redis_failback.h"


typedef struct {
    ngx_http_slidewin_redis_endpoint_t   endpoint;
    ngx_str_t                            host;     /* terminated */
    ngx_uint_t                           port;     /* 0: host is a path */
    ngx_http_core_loc_conf_t            *clcf;     /* has the resolver */
    ngx_http_slidewin_redis_addresses_t  addresses;
    unsigned                             literal:1; /* host is no name */

    /* a worker's */

    ngx_http_slidewin_redis_conn_t      *conn;     /* NULL: no connection */
    ngx_uint_t                           next;     /* address to try */
    ngx_http_slidewin_redis_ip_t         used_ip;  /* of the connection */
    ngx_http_slidewin_redis_failback_t   failback;
    ngx_resolver_ctx_t                  *lookup;   /* NULL: none is pending */
    ngx_int_t                            error;    /* of the last lookup */
    ngx_event_t                          timer;    /* for the next lookup */
    unsigned                             waiting:1; /* conn, for an address */
} ngx_http_slidewin_redis_dns_t;


/* in a worker; the name is not copied, and is terminated */
void ngx_http_slidewin_redis_dns_set_name(ngx_http_slidewin_redis_dns_t *dns,
    ngx_str_t *name, ngx_uint_t port);

/* the same with a copy of the name, and the name of the endpoint for the log */
ngx_int_t ngx_http_slidewin_redis_dns_make(ngx_pool_t *pool,
    ngx_http_slidewin_redis_dns_t *dns, const char *name, size_t len,
    ngx_uint_t port);

/* ends a lookup: to be called before the memory of dns is freed */
void ngx_http_slidewin_redis_dns_forget(ngx_http_slidewin_redis_dns_t *dns);

/* from the configuration: a name that cannot be resolved is a warning */
ngx_int_t ngx_http_slidewin_redis_dns_init(ngx_conf_t *cf,
    ngx_http_slidewin_redis_dns_t *dns, const char *name, size_t len,
    ngx_uint_t port);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_DNS_H_INCLUDED_ */
