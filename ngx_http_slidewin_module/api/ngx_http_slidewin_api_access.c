
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_api_access.h"
#include "ngx_http_slidewin_conf.h"
#include "ngx_http_slidewin_module.h"
#include "ngx_http_slidewin_shared_key.h"


static ngx_uint_t ngx_http_slidewin_api_is_replaced(ngx_http_request_t *r);
static ngx_uint_t ngx_http_slidewin_api_is_own_name(ngx_http_request_t *r);
static ngx_str_t *ngx_http_slidewin_api_header(ngx_http_request_t *r,
    const char *name);


ngx_uint_t
ngx_http_slidewin_api_is_here(ngx_http_request_t *r)
{
    struct sockaddr               *sa;
    ngx_http_slidewin_loc_conf_t  *slcf;
#if (NGX_HAVE_INET6)
    u_char                        *p;
    struct in6_addr               *addr;
#endif

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_slidewin_module);

    if (slcf->api_from_any) {
        return 1;
    }

    if (ngx_http_slidewin_is_forwarded(r)
        || ngx_http_slidewin_api_header(r, "x-real-ip")
        || r->connection->proxy_protocol
        || ngx_http_slidewin_api_is_replaced(r)
        || !ngx_http_slidewin_api_is_own_name(r))
    {
        return 0;
    }

    sa = r->connection->sockaddr;

    switch (sa->sa_family) {

#if (NGX_HAVE_INET6)
    case AF_INET6:
        addr = &((struct sockaddr_in6 *) sa)->sin6_addr;
        p = addr->s6_addr;

        return IN6_IS_ADDR_LOOPBACK(addr)
               || (IN6_IS_ADDR_V4MAPPED(addr) && p[12] == 127);
#endif

#if (NGX_HAVE_UNIX_DOMAIN)
    case AF_UNIX:
        return 1;
#endif

    case AF_INET:
        return ntohl(((struct sockaddr_in *) sa)->sin_addr.s_addr) >> 24
               == 127;

    default:
        return 0;
    }
}


/*
 * The realip module has put an address of a header field in place of that of
 * the connection: a client may have written the field.
 */

static ngx_uint_t
ngx_http_slidewin_api_is_replaced(ngx_http_request_t *r)
{
    ngx_str_t                  *addr;
    ngx_http_variable_value_t  *vv;

    static ngx_str_t  name = ngx_string("realip_remote_addr");

    vv = ngx_http_get_variable(r, &name,
                               ngx_hash_key(name.data, name.len));

    if (vv == NULL || vv->not_found) {
        return 0;
    }

    addr = &r->connection->addr_text;

    return vv->len != addr->len
           || ngx_memcmp(vv->data, addr->data, addr->len) != 0;
}


/*
 * A page of another site may let its own name resolve to this machine, and ask
 * from a browser here: such a request has that name.
 */

static ngx_uint_t
ngx_http_slidewin_api_is_own_name(ngx_http_request_t *r)
{
    ngx_str_t                  host;
    ngx_http_core_srv_conf_t  *cscf;

    static ngx_str_t  localhost = ngx_string("localhost");

    host = r->headers_in.server;
    cscf = ngx_http_get_module_srv_conf(r, ngx_http_core_module);

    return host.len == 0 || host.data[0] == '['
           || ngx_inet_addr(host.data, host.len) != INADDR_NONE
           || ngx_http_slidewin_str_eq(&host, &localhost)
           || ngx_http_slidewin_str_eq(&host, &cscf->server_name);
}


ngx_uint_t
ngx_http_slidewin_api_is_foreign(ngx_http_request_t *r)
{
    u_char     *p;
    ngx_str_t  *site, *origin, *host;

    site = ngx_http_slidewin_api_header(r, "sec-fetch-site");

    if (site && (site->len != sizeof("same-origin") - 1
                 || ngx_strncmp(site->data, "same-origin", site->len) != 0))
    {
        return 1;
    }

    origin = ngx_http_slidewin_api_header(r, "origin");

    if (origin == NULL) {
        return 0;
    }

    /* HTTP/3 may have none; a browser that speaks it tells the site */

    if (r->headers_in.host == NULL) {
        return site == NULL;
    }

    host = &r->headers_in.host->value;
    p = ngx_strnstr(origin->data, "://", origin->len);

    if (p == NULL) {
        return 1;
    }

    p += sizeof("://") - 1;

    return (size_t) (origin->data + origin->len - p) != host->len
           || ngx_strncasecmp(p, host->data, host->len) != 0;
}


/* NULL: there is none; an empty value, which no browser sends, for several */

static ngx_str_t *
ngx_http_slidewin_api_header(ngx_http_request_t *r, const char *name)
{
    size_t            len;
    ngx_str_t        *value;
    ngx_uint_t        i;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h;

    static ngx_str_t  several = ngx_string("");

    value = NULL;
    len = ngx_strlen(name);

    for (part = &r->headers_in.headers.part; part; part = part->next) {
        h = part->elts;

        for (i = 0; i < part->nelts; i++) {
            if (h[i].key.len == len
                && ngx_strncmp(h[i].lowcase_key, name, len) == 0)
            {
                if (value) {
                    return &several;
                }

                value = &h[i].value;
            }
        }
    }

    return value;
}
