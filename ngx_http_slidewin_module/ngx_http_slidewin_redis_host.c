
#include "ngx_http_slidewin_redis_conn.h"
#include "ngx_http_slidewin_redis_host.h"


static ngx_int_t ngx_http_slidewin_redis_host_name(ngx_pool_t *pool,
    ngx_http_slidewin_redis_host_t *host);
static ngx_int_t ngx_http_slidewin_redis_host_resolve(ngx_conf_t *cf,
    ngx_http_slidewin_redis_host_t *host);
static void ngx_http_slidewin_redis_host_find(
    ngx_http_slidewin_redis_place_t *place,
    ngx_http_slidewin_redis_conn_t *c);
static ngx_int_t ngx_http_slidewin_redis_host_copy(ngx_pool_t *pool,
    ngx_str_t *dst, const char *data, size_t len);


/* the next address whenever one was tried in vain */

static void
ngx_http_slidewin_redis_host_find(ngx_http_slidewin_redis_place_t *place,
    ngx_http_slidewin_redis_conn_t *c)
{
    ngx_http_slidewin_redis_host_t     *host;
    ngx_http_slidewin_redis_address_t   address;

    host = (ngx_http_slidewin_redis_host_t *) place;

    if (host->naddresses == 0) {
        ngx_http_slidewin_redis_conn_astray(c, "its name was not resolved");
        return;
    }

    address.host = (char *) host->addresses[c->attempts
                                            % host->naddresses].data;
    address.port = host->port;
    address.name = (char *) host->host.data;

    ngx_http_slidewin_redis_conn_located(c, &address);
}


ngx_int_t
ngx_http_slidewin_redis_host_init(ngx_conf_t *cf,
    ngx_http_slidewin_redis_host_t *host, const char *name, size_t len,
    ngx_uint_t port)
{
    if (ngx_http_slidewin_redis_host_set(cf->pool, host, name, len, port)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (host->naddresses) {
        return NGX_OK;
    }

    return ngx_http_slidewin_redis_host_resolve(cf, host);
}


ngx_int_t
ngx_http_slidewin_redis_host_set(ngx_pool_t *pool,
    ngx_http_slidewin_redis_host_t *host, const char *name, size_t len,
    ngx_uint_t port)
{
    host->port = port;
    host->place.find = ngx_http_slidewin_redis_host_find;

    if (ngx_http_slidewin_redis_host_copy(pool, &host->host, name, len)
        != NGX_OK
        || ngx_http_slidewin_redis_host_name(pool, host) != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (port == 0 || ngx_strchr(host->host.data, ':')
        || ngx_inet_addr(host->host.data, host->host.len) != INADDR_NONE)
    {
        host->addresses = &host->host;
        host->naddresses = 1;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_slidewin_redis_host_name(ngx_pool_t *pool,
    ngx_http_slidewin_redis_host_t *host)
{
    u_char     *p;
    ngx_str_t  *name;

    name = &host->place.name;

    name->data = ngx_pnalloc(pool,
                             sizeof("\"unix:[]:65535\"") + host->host.len);
    if (name->data == NULL) {
        return NGX_ERROR;
    }

    if (host->port == 0) {
        p = ngx_sprintf(name->data, "\"unix:%V\"", &host->host);

    } else if (ngx_strchr(host->host.data, ':')) {
        p = ngx_sprintf(name->data, "\"[%V]:%ui\"", &host->host, host->port);

    } else {
        p = ngx_sprintf(name->data, "\"%V:%ui\"", &host->host, host->port);
    }

    name->len = p - name->data;

    return NGX_OK;
}


/* at run time nothing is resolved: that would block */

static ngx_int_t
ngx_http_slidewin_redis_host_resolve(ngx_conf_t *cf,
    ngx_http_slidewin_redis_host_t *host)
{
    u_char      text[NGX_SOCKADDR_STRLEN];
    size_t      len;
    ngx_url_t   u;
    ngx_uint_t  i;

    ngx_memzero(&u, sizeof(ngx_url_t));

    u.url = host->host;
    u.default_port = (in_port_t) host->port;

    if (ngx_parse_url(cf->pool, &u) != NGX_OK || u.naddrs == 0) {
        ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                           "%s in slidewin_redis %V, its policies go by "
                           "their \"on_error\"",
                           u.err ? u.err : "host not found",
                           &host->place.name);
        return NGX_OK;
    }

    host->addresses = ngx_palloc(cf->pool, u.naddrs * sizeof(ngx_str_t));
    if (host->addresses == NULL) {
        return NGX_ERROR;
    }

    for (i = 0; i < u.naddrs; i++) {
        len = ngx_sock_ntop(u.addrs[i].sockaddr, u.addrs[i].socklen, text,
                            NGX_SOCKADDR_STRLEN, 0);

        if (ngx_http_slidewin_redis_host_copy(cf->pool, &host->addresses[i],
                                              (char *) text, len)
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    host->naddresses = u.naddrs;

    return NGX_OK;
}


static ngx_int_t
ngx_http_slidewin_redis_host_copy(ngx_pool_t *pool, ngx_str_t *dst,
    const char *data, size_t len)
{
    dst->data = ngx_pnalloc(pool, len + 1);
    if (dst->data == NULL) {
        return NGX_ERROR;
    }

    (void) ngx_cpystrn(dst->data, (u_char *) data, len + 1);
    dst->len = len;

    return NGX_OK;
}
