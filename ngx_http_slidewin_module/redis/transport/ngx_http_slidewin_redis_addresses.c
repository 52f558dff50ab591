
#include "ngx_http_slidewin_redis_addresses.h"


static int ngx_http_slidewin_redis_addresses_compare(
    const ngx_http_slidewin_redis_ip_t *one,
    const ngx_http_slidewin_redis_ip_t *two);


void
ngx_http_slidewin_redis_addresses_add(
    ngx_http_slidewin_redis_addresses_t *addresses, struct sockaddr *sockaddr,
    socklen_t socklen)
{
    size_t                         len;
    ngx_uint_t                     i, n;
    struct sockaddr_in            *sin;
    ngx_http_slidewin_redis_ip_t   ip, *ips;
#if (NGX_HAVE_INET6)
    struct sockaddr_in6           *sin6;
#endif

    ngx_memzero(&ip, sizeof(ngx_http_slidewin_redis_ip_t));

    switch (sockaddr->sa_family) {

#if (NGX_HAVE_INET6)
    case AF_INET6:
        sin6 = (struct sockaddr_in6 *) sockaddr;
        ip.version = 6;
        ngx_memcpy(ip.bytes, &sin6->sin6_addr, 16);
        break;
#endif

    default: /* AF_INET */
        sin = (struct sockaddr_in *) sockaddr;
        ip.version = 4;
        ngx_memcpy(ip.bytes, &sin->sin_addr, 4);
        break;
    }

    len = ngx_sock_ntop(sockaddr, socklen, ip.text, NGX_INET6_ADDRSTRLEN, 0);
    ip.text[len] = '\0';

    if (ngx_http_slidewin_redis_addresses_index(addresses, &ip)
        < addresses->n)
    {
        return;
    }

    ips = addresses->ips;
    n = addresses->n;

    if (n < NGX_HTTP_SLIDEWIN_REDIS_ADDRESSES_MAX) {
        addresses->n++;

    } else if (ngx_http_slidewin_redis_addresses_compare(&ip, &ips[--n]) > 0) {
        return;
    }

    for (i = n;
         i && ngx_http_slidewin_redis_addresses_compare(&ip, &ips[i - 1]) < 0;
         i--)
    {
        ips[i] = ips[i - 1];
    }

    ips[i] = ip;
}


static int
ngx_http_slidewin_redis_addresses_compare(
    const ngx_http_slidewin_redis_ip_t *one,
    const ngx_http_slidewin_redis_ip_t *two)
{
    return one->version != two->version
           ? one->version - two->version
           : ngx_memcmp(one->bytes, two->bytes, sizeof(one->bytes));
}


ngx_uint_t
ngx_http_slidewin_redis_addresses_index(
    const ngx_http_slidewin_redis_addresses_t *addresses,
    const ngx_http_slidewin_redis_ip_t *ip)
{
    ngx_uint_t  i;

    for (i = 0; i < addresses->n; i++) {
        if (ngx_http_slidewin_redis_addresses_compare(&addresses->ips[i], ip)
            == 0)
        {
            break;
        }
    }

    return i;
}
