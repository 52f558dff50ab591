
#include "ngx_http_slidewin_redis_dns.h"


#define NGX_HTTP_SLIDEWIN_REDIS_LOOKUP_TIMEOUT  30000     /* as nginx's own */

/* bounds of the pause between lookups, whatever the TTL of the answer */
#define NGX_HTTP_SLIDEWIN_REDIS_LOOKUP_MIN      1000
#define NGX_HTTP_SLIDEWIN_REDIS_LOOKUP_MAX      3600000


static void ngx_http_slidewin_redis_dns_find(
    ngx_http_slidewin_redis_endpoint_t *endpoint,
    ngx_http_slidewin_redis_conn_t *c);
static ngx_uint_t ngx_http_slidewin_redis_dns_leave(
    ngx_http_slidewin_redis_endpoint_t *endpoint, ngx_uint_t failed);
static void ngx_http_slidewin_redis_dns_answer(
    ngx_http_slidewin_redis_dns_t *dns);
static void ngx_http_slidewin_redis_dns_timer(ngx_event_t *ev);
static void ngx_http_slidewin_redis_dns_lookup(
    ngx_http_slidewin_redis_dns_t *dns);
static void ngx_http_slidewin_redis_dns_resolved(ngx_resolver_ctx_t *ctx);
static void ngx_http_slidewin_redis_dns_update(
    ngx_http_slidewin_redis_dns_t *dns, ngx_resolver_ctx_t *ctx);
static ngx_int_t ngx_http_slidewin_redis_dns_name(ngx_pool_t *pool,
    ngx_http_slidewin_redis_dns_t *dns);
static void ngx_http_slidewin_redis_dns_resolve(ngx_conf_t *cf,
    ngx_http_slidewin_redis_dns_t *dns);


/*
 * The known addresses are used while the name is looked up again, so that no
 * connection waits for a resolver that does not answer.  If the answer has
 * other addresses, the connection moves.
 */

static void
ngx_http_slidewin_redis_dns_find(ngx_http_slidewin_redis_endpoint_t *endpoint,
    ngx_http_slidewin_redis_conn_t *c)
{
    ngx_http_slidewin_redis_dns_t  *dns;

    dns = (ngx_http_slidewin_redis_dns_t *) endpoint;

    dns->timer.handler = ngx_http_slidewin_redis_dns_timer;
    dns->timer.data = dns;
    dns->timer.log = ngx_cycle->log;
    dns->timer.cancelable = 1;

    dns->failback.used = c;
    dns->failback.addresses = &dns->addresses;
    dns->failback.used_ip = &dns->used_ip;
    dns->failback.host = (char *) dns->host.data;
    dns->failback.port = dns->port;

    dns->conn = c;
    dns->waiting = 1;

    if (!dns->literal) {
        ngx_http_slidewin_redis_dns_lookup(dns);
    }

    if (dns->waiting && (dns->addresses.n || dns->lookup == NULL)) {
        ngx_http_slidewin_redis_dns_answer(dns);
    }
}


/*
 * After a failure the next address is tried, after the last one none; a new
 * series begins with the first.
 */

static ngx_uint_t
ngx_http_slidewin_redis_dns_leave(ngx_http_slidewin_redis_endpoint_t *endpoint,
    ngx_uint_t failed)
{
    ngx_http_slidewin_redis_dns_t  *dns;

    dns = (ngx_http_slidewin_redis_dns_t *) endpoint;

    dns->conn = NULL;
    dns->waiting = 0;
    dns->next = failed ? dns->next + 1 : 0;

    if (ngx_http_slidewin_redis_failback_stop(&dns->failback)) {
        dns->next = ngx_http_slidewin_redis_addresses_index(&dns->addresses,
                                                            &dns->failback.ip);
    }

    if (dns->timer.timer_set) {
        ngx_del_timer(&dns->timer);
    }

    /* a lookup goes on: its answer is for the next connection */

    if (dns->literal || dns->next >= dns->addresses.n) {
        dns->next = 0;
    }

    return dns->next != 0;
}


static void
ngx_http_slidewin_redis_dns_answer(ngx_http_slidewin_redis_dns_t *dns)
{
    u_char                              reason[128];
    ngx_http_slidewin_redis_conn_t     *c;
    ngx_http_slidewin_redis_address_t   address;

    c = dns->conn;
    dns->waiting = 0;

    address.host = (char *) dns->host.data;
    address.port = dns->port;
    address.name = (char *) dns->host.data;

    if (!dns->literal) {

        if (dns->addresses.n == 0) {
            (void) ngx_sprintf(reason, "its name was not resolved%s%s%Z",
                               dns->error ? ": " : "",
                               dns->error ? ngx_resolver_strerror(dns->error)
                                          : "");
            ngx_http_slidewin_redis_conn_resolve_failed(c, (char *) reason);
            return;
        }

        dns->next %= dns->addresses.n;
        dns->used_ip = dns->addresses.ips[dns->next];

        address.host = (char *) dns->used_ip.text;

        ngx_http_slidewin_redis_failback_wait(&dns->failback);
    }

    ngx_http_slidewin_redis_conn_connect_to(c, &address);
}


static void
ngx_http_slidewin_redis_dns_timer(ngx_event_t *ev)
{
    ngx_http_slidewin_redis_dns_lookup(ev->data);
}


/* without a resolver a name keeps the addresses it had at start */

static void
ngx_http_slidewin_redis_dns_lookup(ngx_http_slidewin_redis_dns_t *dns)
{
    ngx_resolver_ctx_t        *ctx;
    ngx_http_core_loc_conf_t  *clcf;

    clcf = dns->clcf;

    if (dns->lookup || clcf->resolver == NULL) {
        return;
    }

    ctx = ngx_resolve_start(clcf->resolver, NULL);

    if (ctx == NGX_NO_RESOLVER) {
        return;
    }

    if (ctx == NULL) {
        goto failed;
    }

    ctx->name = dns->host;
    ctx->handler = ngx_http_slidewin_redis_dns_resolved;
    ctx->data = dns;
    ctx->timeout = (clcf->resolver_timeout == NGX_CONF_UNSET_MSEC)
                   ? NGX_HTTP_SLIDEWIN_REDIS_LOOKUP_TIMEOUT
                   : clcf->resolver_timeout;
    ctx->cancelable = 1;

    dns->lookup = ctx;

    /*
     * ngx_resolve_name() may call the handler before it returns, and has freed
     * ctx if it fails
     */

    if (ngx_resolve_name(ctx) == NGX_OK) {
        return;
    }

    dns->lookup = NULL;

failed:

    ngx_add_timer(&dns->timer, NGX_HTTP_SLIDEWIN_REDIS_LOOKUP_MIN);
}


static void
ngx_http_slidewin_redis_dns_resolved(ngx_resolver_ctx_t *ctx)
{
    int64_t                         pause;
    ngx_http_slidewin_redis_dns_t  *dns;

    dns = ctx->data;

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "slidewin redis dns: %V state:%i addresses:%ui valid:%T",
                   &dns->endpoint.name, ctx->state, ctx->naddrs, ctx->valid);

    ngx_http_slidewin_redis_dns_update(dns, ctx);

    pause = ((int64_t) ctx->valid - ngx_time() + 1) * 1000;
    pause = ngx_max(pause, NGX_HTTP_SLIDEWIN_REDIS_LOOKUP_MIN);
    pause = ngx_min(pause, NGX_HTTP_SLIDEWIN_REDIS_LOOKUP_MAX);

    ngx_resolve_name_done(ctx);
    dns->lookup = NULL;

    if (dns->conn == NULL) {
        return;
    }

    ngx_add_timer(&dns->timer, (ngx_msec_t) pause);

    if (dns->waiting) {
        ngx_http_slidewin_redis_dns_answer(dns);
        return;
    }

    if (ngx_http_slidewin_redis_addresses_index(&dns->addresses,
                                                &dns->used_ip)
        == dns->addresses.n)
    {
        ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                      "slidewin redis %V is no longer at %s",
                      &dns->endpoint.name, dns->used_ip.text);
        ngx_http_slidewin_redis_conn_reconnect(dns->conn);
        return;
    }

    ngx_http_slidewin_redis_failback_wait(&dns->failback);
}


/* a name that is not resolved any more keeps its last addresses */

static void
ngx_http_slidewin_redis_dns_update(ngx_http_slidewin_redis_dns_t *dns,
    ngx_resolver_ctx_t *ctx)
{
    ngx_uint_t  i;

    if (ctx->state != NGX_OK) {

        if (dns->error == NGX_OK && dns->addresses.n) {
            ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                          "slidewin redis %V is where it was last, its name "
                          "was not resolved: %s", &dns->endpoint.name,
                          ngx_resolver_strerror(ctx->state));
        }

        dns->error = ctx->state;
        return;
    }

    dns->error = NGX_OK;
    dns->addresses.n = 0;

    for (i = 0; i < ctx->naddrs; i++) {
        ngx_http_slidewin_redis_addresses_add(&dns->addresses,
                                              ctx->addrs[i].sockaddr,
                                              ctx->addrs[i].socklen);
    }
}


void
ngx_http_slidewin_redis_dns_set_name(ngx_http_slidewin_redis_dns_t *dns,
    ngx_str_t *name, ngx_uint_t port)
{
    ngx_http_slidewin_redis_dns_forget(dns);

    dns->host = *name;
    dns->port = port;
    dns->addresses.n = 0;
    dns->error = NGX_OK;
    dns->endpoint.find = ngx_http_slidewin_redis_dns_find;
    dns->endpoint.leave = ngx_http_slidewin_redis_dns_leave;

    /* a path, an IPv6 address, an IPv4 address */

    dns->literal = (port == 0 || ngx_strchr(name->data, ':') != NULL
                    || ngx_inet_addr(name->data, name->len) != INADDR_NONE);
}


void
ngx_http_slidewin_redis_dns_forget(ngx_http_slidewin_redis_dns_t *dns)
{
    if (dns->lookup) {
        ngx_resolve_name_done(dns->lookup);
        dns->lookup = NULL;
    }
}


ngx_int_t
ngx_http_slidewin_redis_dns_make(ngx_pool_t *pool,
    ngx_http_slidewin_redis_dns_t *dns, const char *name, size_t len,
    ngx_uint_t port)
{
    ngx_str_t  copy;

    copy.len = len;
    copy.data = ngx_pnalloc(pool, len + 1);
    if (copy.data == NULL) {
        return NGX_ERROR;
    }

    (void) ngx_cpystrn(copy.data, (u_char *) name, len + 1);

    ngx_http_slidewin_redis_dns_set_name(dns, &copy, port);

    return ngx_http_slidewin_redis_dns_name(pool, dns);
}


ngx_int_t
ngx_http_slidewin_redis_dns_init(ngx_conf_t *cf,
    ngx_http_slidewin_redis_dns_t *dns, const char *name, size_t len,
    ngx_uint_t port)
{
    dns->clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (ngx_http_slidewin_redis_dns_make(cf->pool, dns, name, len, port)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (!dns->literal) {
        ngx_http_slidewin_redis_dns_resolve(cf, dns);
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_slidewin_redis_dns_name(ngx_pool_t *pool,
    ngx_http_slidewin_redis_dns_t *dns)
{
    u_char     *p;
    ngx_str_t  *name;

    name = &dns->endpoint.name;

    name->data = ngx_pnalloc(pool,
                             sizeof("\"unix:[]:65535\"") + dns->host.len);
    if (name->data == NULL) {
        return NGX_ERROR;
    }

    if (dns->port == 0) {
        p = ngx_sprintf(name->data, "\"unix:%V\"", &dns->host);

    } else if (ngx_strchr(dns->host.data, ':')) {
        p = ngx_sprintf(name->data, "\"[%V]:%ui\"", &dns->host, dns->port);

    } else {
        p = ngx_sprintf(name->data, "\"%V:%ui\"", &dns->host, dns->port);
    }

    name->len = p - name->data;

    return NGX_OK;
}


/* ngx_parse_url() may block: a worker asks nginx's resolver instead */

static void
ngx_http_slidewin_redis_dns_resolve(ngx_conf_t *cf,
    ngx_http_slidewin_redis_dns_t *dns)
{
    ngx_url_t   u;
    ngx_uint_t  i;

    ngx_memzero(&u, sizeof(ngx_url_t));

    u.url = dns->host;
    u.default_port = (in_port_t) dns->port;

    if (ngx_parse_url(cf->pool, &u) != NGX_OK || u.naddrs == 0) {
        ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                           "%s in slidewin_redis %V, its policies go by "
                           "their \"on_error\"",
                           u.err ? u.err : "host not found",
                           &dns->endpoint.name);
        return;
    }

    for (i = 0; i < u.naddrs; i++) {
        ngx_http_slidewin_redis_addresses_add(&dns->addresses,
                                              u.addrs[i].sockaddr,
                                              u.addrs[i].socklen);
    }
}
