
/*
 * A endpoint known by its name, address or path.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_DNS_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_DNS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_redis_conn.h"
#include "ngx_http_slidewin_redis_endpoint.h"


/* of a name; what it has beyond is not tried */
#define NGX_HTTP_SLIDEWIN_REDIS_ADDRESSES_MAX  16


typedef struct ngx_http_slidewin_redis_dns_s  ngx_http_slidewin_redis_dns_t;


/* compared as they stand: IPv4 before IPv6, each by its bytes */

typedef struct {
    u_char                            version;
    u_char                            bytes[16];
    u_char                            text[NGX_INET6_ADDRSTRLEN + 1];
} ngx_http_slidewin_redis_ip_t;


/* looks whether an earlier address than that in use is there again */

typedef struct {
    ngx_http_slidewin_redis_endpoint_t   endpoint;       /* that address */
    ngx_http_slidewin_redis_conn_t       conn;
    ngx_http_slidewin_redis_access_t     access;
    ngx_http_slidewin_redis_dns_t       *host;
    ngx_http_slidewin_redis_ip_t         ip;
    ngx_event_t                          timer;    /* for the next look */
} ngx_http_slidewin_redis_scout_t;


struct ngx_http_slidewin_redis_dns_s {
    ngx_http_slidewin_redis_endpoint_t   endpoint;
    ngx_str_t                            host;     /* terminated */
    ngx_uint_t                           port;     /* 0: it is a path */
    ngx_http_core_loc_conf_t            *clcf;     /* where the resolver is */

    ngx_http_slidewin_redis_ip_t      addresses
                                      [NGX_HTTP_SLIDEWIN_REDIS_ADDRESSES_MAX];
    ngx_uint_t                           naddresses;
    unsigned                             literal:1; /* it has no name */

    /* a worker's */

    ngx_http_slidewin_redis_conn_t      *conn;     /* who looked for it */
    ngx_uint_t                           turn;     /* of the addresses */
    ngx_http_slidewin_redis_ip_t         used;     /* what it was told */
    ngx_http_slidewin_redis_scout_t      scout;
    ngx_resolver_ctx_t                  *lookup;   /* under way */
    ngx_int_t                            error;    /* of the last one */
    ngx_event_t                          timer;    /* for the next one */
    unsigned                             waiting:1; /* it was told nothing */
};


/* at run time; the name is terminated, and stays where it is */
void ngx_http_slidewin_redis_dns_set_name(ngx_http_slidewin_redis_dns_t *host,
    ngx_str_t *name, ngx_uint_t port);

/* the same with a copy of the name, and a name for the log */
ngx_int_t ngx_http_slidewin_redis_dns_make(ngx_pool_t *pool,
    ngx_http_slidewin_redis_dns_t *host, const char *name, size_t len,
    ngx_uint_t port);

/* its name is not looked up any more: whoever frees it calls this first */
void ngx_http_slidewin_redis_dns_forget(
    ngx_http_slidewin_redis_dns_t *host);

/* a name that cannot be resolved is a warning */
ngx_int_t ngx_http_slidewin_redis_dns_init(ngx_conf_t *cf,
    ngx_http_slidewin_redis_dns_t *host, const char *name, size_t len,
    ngx_uint_t port);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_DNS_H_INCLUDED_ */
