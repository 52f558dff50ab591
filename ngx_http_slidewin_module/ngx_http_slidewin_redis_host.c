
#include "ngx_http_slidewin_redis_conn.h"
#include "ngx_http_slidewin_redis_host.h"


#define NGX_HTTP_SLIDEWIN_REDIS_LOOKUP_TIMEOUT  30000     /* as nginx's own */

/* between lookups of a name in use, whatever its time to live */
#define NGX_HTTP_SLIDEWIN_REDIS_LOOKUP_MIN      1000
#define NGX_HTTP_SLIDEWIN_REDIS_LOOKUP_MAX      3600000


static void ngx_http_slidewin_redis_host_find(
    ngx_http_slidewin_redis_place_t *place,
    ngx_http_slidewin_redis_conn_t *c);
static void ngx_http_slidewin_redis_host_leave(
    ngx_http_slidewin_redis_place_t *place);
static void ngx_http_slidewin_redis_host_tell(
    ngx_http_slidewin_redis_host_t *host);
static void ngx_http_slidewin_redis_host_timer(ngx_event_t *ev);
static void ngx_http_slidewin_redis_host_look_up(
    ngx_http_slidewin_redis_host_t *host);
static void ngx_http_slidewin_redis_host_looked_up(ngx_resolver_ctx_t *ctx);
static void ngx_http_slidewin_redis_host_take(
    ngx_http_slidewin_redis_host_t *host, ngx_resolver_ctx_t *ctx);
static ngx_uint_t ngx_http_slidewin_redis_host_knows(
    ngx_http_slidewin_redis_host_t *host, u_char *address);
static ngx_int_t ngx_http_slidewin_redis_host_order(const void *one,
    const void *two);
static void ngx_http_slidewin_redis_host_add(
    ngx_http_slidewin_redis_host_t *host, struct sockaddr *sockaddr,
    socklen_t socklen);

static ngx_int_t ngx_http_slidewin_redis_host_name(ngx_pool_t *pool,
    ngx_http_slidewin_redis_host_t *host);
static void ngx_http_slidewin_redis_host_resolve(ngx_conf_t *cf,
    ngx_http_slidewin_redis_host_t *host);


/*
 * What is known of a name is used while it is looked up again: if that says
 * something else the connection moves, and if it says nothing nobody has
 * waited for it.
 */

static void
ngx_http_slidewin_redis_host_find(ngx_http_slidewin_redis_place_t *place,
    ngx_http_slidewin_redis_conn_t *c)
{
    ngx_http_slidewin_redis_host_t  *host;

    host = (ngx_http_slidewin_redis_host_t *) place;

    host->timer.handler = ngx_http_slidewin_redis_host_timer;
    host->timer.data = host;
    host->timer.log = ngx_cycle->log;
    host->timer.cancelable = 1;

    host->conn = c;
    host->waiting = 1;

    if (!host->literal) {
        ngx_http_slidewin_redis_host_look_up(host);
    }

    if (host->waiting && (host->naddresses || host->lookup == NULL)) {
        ngx_http_slidewin_redis_host_tell(host);
    }
}


static void
ngx_http_slidewin_redis_host_leave(ngx_http_slidewin_redis_place_t *place)
{
    ngx_http_slidewin_redis_host_t  *host;

    host = (ngx_http_slidewin_redis_host_t *) place;

    host->conn = NULL;
    host->waiting = 0;

    if (host->timer.timer_set) {
        ngx_del_timer(&host->timer);
    }

    /* a lookup goes on: what it says is for the next connection */
}


/* the next address whenever one was tried in vain */

static void
ngx_http_slidewin_redis_host_tell(ngx_http_slidewin_redis_host_t *host)
{
    u_char                              reason[128];
    ngx_http_slidewin_redis_conn_t     *c;
    ngx_http_slidewin_redis_address_t   address;

    c = host->conn;
    host->waiting = 0;

    address.host = (char *) host->host.data;
    address.port = host->port;
    address.name = (char *) host->host.data;

    if (!host->literal) {

        if (host->naddresses == 0) {
            (void) ngx_sprintf(reason, "its name was not resolved%s%s%Z",
                               host->error ? ": " : "",
                               host->error ? ngx_resolver_strerror(host->error)
                                           : "");
            ngx_http_slidewin_redis_conn_astray(c, (char *) reason);
            return;
        }

        if (host->attempts != c->attempts) {
            host->attempts = c->attempts;
            host->turn++;
        }

        ngx_memcpy(host->used, host->addresses[host->turn % host->naddresses],
                   sizeof(ngx_http_slidewin_redis_ip_t));

        address.host = (char *) host->used;
    }

    ngx_http_slidewin_redis_conn_located(c, &address);
}


static void
ngx_http_slidewin_redis_host_timer(ngx_event_t *ev)
{
    ngx_http_slidewin_redis_host_look_up(ev->data);
}


/* without a resolver a name has the addresses of the start */

static void
ngx_http_slidewin_redis_host_look_up(ngx_http_slidewin_redis_host_t *host)
{
    ngx_resolver_ctx_t        *ctx;
    ngx_http_core_loc_conf_t  *clcf;

    clcf = host->clcf;

    if (host->lookup || clcf->resolver == NULL) {
        return;
    }

    ctx = ngx_resolve_start(clcf->resolver, NULL);

    if (ctx == NGX_NO_RESOLVER) {
        return;
    }

    if (ctx == NULL) {
        goto failed;
    }

    ctx->name = host->host;
    ctx->handler = ngx_http_slidewin_redis_host_looked_up;
    ctx->data = host;
    ctx->timeout = (clcf->resolver_timeout == NGX_CONF_UNSET_MSEC)
                   ? NGX_HTTP_SLIDEWIN_REDIS_LOOKUP_TIMEOUT
                   : clcf->resolver_timeout;
    ctx->cancelable = 1;

    host->lookup = ctx;

    /* it may answer at once, and has freed what it was given if it fails */

    if (ngx_resolve_name(ctx) == NGX_OK) {
        return;
    }

    host->lookup = NULL;

failed:

    ngx_add_timer(&host->timer, NGX_HTTP_SLIDEWIN_REDIS_LOOKUP_MIN);
}


static void
ngx_http_slidewin_redis_host_looked_up(ngx_resolver_ctx_t *ctx)
{
    int64_t                          pause;
    ngx_http_slidewin_redis_host_t  *host;

    host = ctx->data;

    ngx_http_slidewin_redis_host_take(host, ctx);

    pause = ((int64_t) ctx->valid - ngx_time() + 1) * 1000;
    pause = ngx_max(pause, NGX_HTTP_SLIDEWIN_REDIS_LOOKUP_MIN);
    pause = ngx_min(pause, NGX_HTTP_SLIDEWIN_REDIS_LOOKUP_MAX);

    ngx_resolve_name_done(ctx);
    host->lookup = NULL;

    if (host->conn == NULL) {
        return;
    }

    ngx_add_timer(&host->timer, (ngx_msec_t) pause);

    if (host->waiting) {
        ngx_http_slidewin_redis_host_tell(host);
        return;
    }

    if (!ngx_http_slidewin_redis_host_knows(host, host->used)) {
        ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                      "slidewin redis %V is no longer at %s",
                      &host->place.name, host->used);
        ngx_http_slidewin_redis_conn_move(host->conn);
    }
}


/*
 * In one order, so that all edges begin with the same.  What nobody knows any
 * more may still be there: its last addresses are kept.
 */

static void
ngx_http_slidewin_redis_host_take(ngx_http_slidewin_redis_host_t *host,
    ngx_resolver_ctx_t *ctx)
{
    ngx_uint_t  i;

    if (ctx->state != NGX_OK) {

        if (host->error == NGX_OK && host->naddresses) {
            ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                          "slidewin redis %V is where it was last, its name "
                          "was not resolved: %s", &host->place.name,
                          ngx_resolver_strerror(ctx->state));
        }

        host->error = ctx->state;
        return;
    }

    host->error = NGX_OK;
    host->naddresses = 0;

    for (i = 0; i < ctx->naddrs; i++) {
        ngx_http_slidewin_redis_host_add(host, ctx->addrs[i].sockaddr,
                                         ctx->addrs[i].socklen);
    }

    ngx_sort(host->addresses, host->naddresses,
             sizeof(ngx_http_slidewin_redis_ip_t),
             ngx_http_slidewin_redis_host_order);
}


static ngx_int_t
ngx_http_slidewin_redis_host_order(const void *one, const void *two)
{
    return ngx_strcmp(one, two);
}


static void
ngx_http_slidewin_redis_host_add(ngx_http_slidewin_redis_host_t *host,
    struct sockaddr *sockaddr, socklen_t socklen)
{
    size_t   len;
    u_char  *text;

    if (host->naddresses == NGX_HTTP_SLIDEWIN_REDIS_ADDRESSES_MAX) {
        return;
    }

    text = host->addresses[host->naddresses++];
    len = ngx_sock_ntop(sockaddr, socklen, text, NGX_INET6_ADDRSTRLEN, 0);
    text[len] = '\0';
}


static ngx_uint_t
ngx_http_slidewin_redis_host_knows(ngx_http_slidewin_redis_host_t *host,
    u_char *address)
{
    ngx_uint_t  i;

    for (i = 0; i < host->naddresses; i++) {
        if (ngx_strcmp(host->addresses[i], address) == 0) {
            return 1;
        }
    }

    return 0;
}


void
ngx_http_slidewin_redis_host_become(ngx_http_slidewin_redis_host_t *host,
    ngx_str_t *name, ngx_uint_t port)
{
    ngx_http_slidewin_redis_host_forget(host);

    host->host = *name;
    host->port = port;
    host->naddresses = 0;
    host->error = NGX_OK;
    host->place.find = ngx_http_slidewin_redis_host_find;
    host->place.leave = ngx_http_slidewin_redis_host_leave;

    /* a path, or an address of IPv6, or one of IPv4 */

    host->literal = (port == 0 || ngx_strchr(name->data, ':') != NULL
                     || ngx_inet_addr(name->data, name->len) != INADDR_NONE);
}


void
ngx_http_slidewin_redis_host_forget(ngx_http_slidewin_redis_host_t *host)
{
    if (host->lookup) {
        ngx_resolve_name_done(host->lookup);
        host->lookup = NULL;
    }
}


ngx_int_t
ngx_http_slidewin_redis_host_make(ngx_pool_t *pool,
    ngx_http_slidewin_redis_host_t *host, const char *name, size_t len,
    ngx_uint_t port)
{
    ngx_str_t  copy;

    copy.len = len;
    copy.data = ngx_pnalloc(pool, len + 1);
    if (copy.data == NULL) {
        return NGX_ERROR;
    }

    (void) ngx_cpystrn(copy.data, (u_char *) name, len + 1);

    ngx_http_slidewin_redis_host_become(host, &copy, port);

    return ngx_http_slidewin_redis_host_name(pool, host);
}


ngx_int_t
ngx_http_slidewin_redis_host_init(ngx_conf_t *cf,
    ngx_http_slidewin_redis_host_t *host, const char *name, size_t len,
    ngx_uint_t port)
{
    host->clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (ngx_http_slidewin_redis_host_make(cf->pool, host, name, len, port)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (!host->literal) {
        ngx_http_slidewin_redis_host_resolve(cf, host);
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


/* this may block, which is why at run time the resolver is asked */

static void
ngx_http_slidewin_redis_host_resolve(ngx_conf_t *cf,
    ngx_http_slidewin_redis_host_t *host)
{
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
        return;
    }

    for (i = 0; i < u.naddrs; i++) {
        ngx_http_slidewin_redis_host_add(host, u.addrs[i].sockaddr,
                                         u.addrs[i].socklen);
    }
}
