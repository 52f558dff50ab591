
/*
 * The IP addresses of a name, in an order that is the same on all machines:
 * they connect to the first that is there, and so count in the same Redis.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_ADDRESSES_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_ADDRESSES_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


/* further addresses of a name are not tried */
#define NGX_HTTP_SLIDEWIN_REDIS_ADDRESSES_MAX  16


typedef struct {
    u_char                        version;   /* 4 or 6 */
    u_char                        bytes[16];
    u_char                        text[NGX_INET6_ADDRSTRLEN + 1];
} ngx_http_slidewin_redis_ip_t;


/* sorted: IPv4 before IPv6, each by its bytes */

typedef struct {
    ngx_http_slidewin_redis_ip_t  ips[NGX_HTTP_SLIDEWIN_REDIS_ADDRESSES_MAX];
    ngx_uint_t                    n;
} ngx_http_slidewin_redis_addresses_t;


void ngx_http_slidewin_redis_addresses_add(
    ngx_http_slidewin_redis_addresses_t *addresses, struct sockaddr *sockaddr,
    socklen_t socklen);

/* the number of addresses if ip is none of them */
ngx_uint_t ngx_http_slidewin_redis_addresses_index(
    const ngx_http_slidewin_redis_addresses_t *addresses,
    const ngx_http_slidewin_redis_ip_t *ip);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_ADDRESSES_H_INCLUDED_ */
