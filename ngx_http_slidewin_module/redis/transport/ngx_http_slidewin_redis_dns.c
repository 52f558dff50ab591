
#include "ngx_http_slidewin_redis_conn.h"
#include "ngx_http_slidewin_redis_dns.h"


#define NGX_HTTP_SLIDEWIN_REDIS_LOOKUP_TIMEOUT  30000     /* as nginx's own */

/* between lookups of a name in use, whatever its time to live */
#define NGX_HTTP_SLIDEWIN_REDIS_LOOKUP_MIN      1000
#define NGX_HTTP_SLIDEWIN_REDIS_LOOKUP_MAX      3600000

/* between looks at an earlier address, half of it by chance */
#define NGX_HTTP_SLIDEWIN_REDIS_SCOUT_PAUSE     5000


static void ngx_http_slidewin_redis_dns_find(
    ngx_http_slidewin_redis_endpoint_t *endpoint,
    ngx_http_slidewin_redis_conn_t *c);
static ngx_uint_t ngx_http_slidewin_redis_dns_leave(
    ngx_http_slidewin_redis_endpoint_t *endpoint, ngx_uint_t vain);
static void ngx_http_slidewin_redis_dns_answer(
    ngx_http_slidewin_redis_dns_t *host);
static void ngx_http_slidewin_redis_dns_timer(ngx_event_t *ev);
static void ngx_http_slidewin_redis_dns_look_up(
    ngx_http_slidewin_redis_dns_t *host);
static void ngx_http_slidewin_redis_dns_looked_up(ngx_resolver_ctx_t *ctx);
static void ngx_http_slidewin_redis_dns_take(
    ngx_http_slidewin_redis_dns_t *host, ngx_resolver_ctx_t *ctx);
static ngx_uint_t ngx_http_slidewin_redis_dns_index(
    ngx_http_slidewin_redis_dns_t *host,
    const ngx_http_slidewin_redis_ip_t *ip);
static void ngx_http_slidewin_redis_dns_add(
    ngx_http_slidewin_redis_dns_t *host, struct sockaddr *sockaddr,
    socklen_t socklen);
static int ngx_http_slidewin_redis_dns_order(
    const ngx_http_slidewin_redis_ip_t *one,
    const ngx_http_slidewin_redis_ip_t *two);

static void ngx_http_slidewin_redis_scout_wait(
    ngx_http_slidewin_redis_dns_t *host);
static void ngx_http_slidewin_redis_scout_start(ngx_event_t *ev);
static void ngx_http_slidewin_redis_scout_find(
    ngx_http_slidewin_redis_endpoint_t *endpoint,
    ngx_http_slidewin_redis_conn_t *c);
static ngx_uint_t ngx_http_slidewin_redis_scout_leave(
    ngx_http_slidewin_redis_endpoint_t *endpoint, ngx_uint_t vain);
static void ngx_http_slidewin_redis_scout_ready(
    ngx_http_slidewin_redis_conn_t *c);
static void ngx_http_slidewin_redis_scout_down(
    ngx_http_slidewin_redis_conn_t *c);
static void ngx_http_slidewin_redis_scout_stop(
    ngx_http_slidewin_redis_dns_t *host);

static ngx_int_t ngx_http_slidewin_redis_dns_name(ngx_pool_t *pool,
    ngx_http_slidewin_redis_dns_t *host);
static void ngx_http_slidewin_redis_dns_resolve(ngx_conf_t *cf,
    ngx_http_slidewin_redis_dns_t *host);


/*
 * What is known of a name is used while it is looked up again: if that says
 * something else the connection moves, and if it says nothing nobody has
 * waited for it.
 */

static void
ngx_http_slidewin_redis_dns_find(ngx_http_slidewin_redis_endpoint_t *endpoint,
    ngx_http_slidewin_redis_conn_t *c)
{
    ngx_http_slidewin_redis_dns_t  *host;

    host = (ngx_http_slidewin_redis_dns_t *) endpoint;

    host->timer.handler = ngx_http_slidewin_redis_dns_timer;
    host->timer.data = host;
    host->timer.log = ngx_cycle->log;
    host->timer.cancelable = 1;

    host->conn = c;
    host->waiting = 1;

    if (!host->literal) {
        ngx_http_slidewin_redis_dns_look_up(host);
    }

    if (host->waiting && (host->naddresses || host->lookup == NULL)) {
        ngx_http_slidewin_redis_dns_answer(host);
    }
}


/* a name is begun with its first address, and is dead when it has no other */

static ngx_uint_t
ngx_http_slidewin_redis_dns_leave(ngx_http_slidewin_redis_endpoint_t *endpoint,
    ngx_uint_t vain)
{
    ngx_http_slidewin_redis_dns_t  *host;

    host = (ngx_http_slidewin_redis_dns_t *) endpoint;

    host->conn = NULL;
    host->waiting = 0;
    host->turn = vain ? host->turn + 1 : 0;

    ngx_http_slidewin_redis_scout_stop(host);

    if (host->timer.timer_set) {
        ngx_del_timer(&host->timer);
    }

    /* a lookup goes on: what it says is for the next connection */

    if (host->literal || host->turn >= host->naddresses) {
        host->turn = 0;
    }

    return host->turn != 0;
}


static void
ngx_http_slidewin_redis_dns_answer(ngx_http_slidewin_redis_dns_t *host)
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
            ngx_http_slidewin_redis_conn_resolve_failed(c, (char *) reason);
            return;
        }

        host->turn %= host->naddresses;
        host->used = host->addresses[host->turn];

        address.host = (char *) host->used.text;

        ngx_http_slidewin_redis_scout_wait(host);
    }

    ngx_http_slidewin_redis_conn_connect_to(c, &address);
}


static void
ngx_http_slidewin_redis_dns_timer(ngx_event_t *ev)
{
    ngx_http_slidewin_redis_dns_look_up(ev->data);
}


/* without a resolver a name has the addresses of the start */

static void
ngx_http_slidewin_redis_dns_look_up(ngx_http_slidewin_redis_dns_t *host)
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
    ctx->handler = ngx_http_slidewin_redis_dns_looked_up;
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
ngx_http_slidewin_redis_dns_looked_up(ngx_resolver_ctx_t *ctx)
{
    int64_t                         pause;
    ngx_http_slidewin_redis_dns_t  *host;

    host = ctx->data;

    ngx_http_slidewin_redis_dns_take(host, ctx);

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
        ngx_http_slidewin_redis_dns_answer(host);
        return;
    }

    if (ngx_http_slidewin_redis_dns_index(host, &host->used)
        == host->naddresses)
    {
        ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                      "slidewin redis %V is no longer at %s",
                      &host->endpoint.name, host->used.text);
        ngx_http_slidewin_redis_conn_reconnect(host->conn);
        return;
    }

    ngx_http_slidewin_redis_scout_wait(host);
}


/*
 * What nobody knows any more may still be there: its last addresses are kept.
 */

static void
ngx_http_slidewin_redis_dns_take(ngx_http_slidewin_redis_dns_t *host,
    ngx_resolver_ctx_t *ctx)
{
    ngx_uint_t  i;

    if (ctx->state != NGX_OK) {

        if (host->error == NGX_OK && host->naddresses) {
            ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                          "slidewin redis %V is where it was last, its name "
                          "was not resolved: %s", &host->endpoint.name,
                          ngx_resolver_strerror(ctx->state));
        }

        host->error = ctx->state;
        return;
    }

    host->error = NGX_OK;
    host->naddresses = 0;

    for (i = 0; i < ctx->naddrs; i++) {
        ngx_http_slidewin_redis_dns_add(host, ctx->addrs[i].sockaddr,
                                        ctx->addrs[i].socklen);
    }
}


/*
 * In one order, however they were told, so that all edges begin with the same
 * and count in the same Redis.
 */

static void
ngx_http_slidewin_redis_dns_add(ngx_http_slidewin_redis_dns_t *host,
    struct sockaddr *sockaddr, socklen_t socklen)
{
    size_t                         len;
    ngx_uint_t                     i, n;
    struct sockaddr_in            *sin;
    ngx_http_slidewin_redis_ip_t   ip;
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

    if (ngx_http_slidewin_redis_dns_index(host, &ip) < host->naddresses) {
        return;
    }

    n = host->naddresses;

    if (n < NGX_HTTP_SLIDEWIN_REDIS_ADDRESSES_MAX) {
        host->naddresses++;

    } else if (ngx_http_slidewin_redis_dns_order(&ip, &host->addresses[--n])
               > 0)
    {
        return;
    }

    for (i = n;
         i && ngx_http_slidewin_redis_dns_order(&ip, &host->addresses[i - 1])
              < 0;
         i--)
    {
        host->addresses[i] = host->addresses[i - 1];
    }

    host->addresses[i] = ip;
}


static int
ngx_http_slidewin_redis_dns_order(const ngx_http_slidewin_redis_ip_t *one,
    const ngx_http_slidewin_redis_ip_t *two)
{
    return one->version != two->version
           ? one->version - two->version
           : ngx_memcmp(one->bytes, two->bytes, sizeof(one->bytes));
}


/* the number of addresses if it is none of them */

static ngx_uint_t
ngx_http_slidewin_redis_dns_index(ngx_http_slidewin_redis_dns_t *host,
    const ngx_http_slidewin_redis_ip_t *ip)
{
    ngx_uint_t  i;

    for (i = 0; i < host->naddresses; i++) {
        if (ngx_http_slidewin_redis_dns_order(&host->addresses[i], ip) == 0) {
            break;
        }
    }

    return i;
}


/*
 * Edges that are at different addresses of a name count in different Redis:
 * one that is not at the first goes back as soon as that has greeted it.  The
 * connection in use is not disturbed before, and sentinels count nothing.
 */

static void
ngx_http_slidewin_redis_scout_wait(ngx_http_slidewin_redis_dns_t *host)
{
    ngx_event_t  *timer;

    timer = &host->scout.timer;

    if (timer->timer_set || host->conn->access->sentinel
        || ngx_http_slidewin_redis_dns_index(host, &host->used) == 0)
    {
        return;
    }

    timer->handler = ngx_http_slidewin_redis_scout_start;
    timer->data = host;
    timer->log = ngx_cycle->log;
    timer->cancelable = 1;

    ngx_add_timer(timer, NGX_HTTP_SLIDEWIN_REDIS_SCOUT_PAUSE / 2
                         + (ngx_msec_t) ngx_random()
                           % (NGX_HTTP_SLIDEWIN_REDIS_SCOUT_PAUSE / 2));
}


/* the earlier addresses in turn */

static void
ngx_http_slidewin_redis_scout_start(ngx_event_t *ev)
{
    ngx_uint_t                        i, used;
    ngx_http_slidewin_redis_dns_t    *host;
    ngx_http_slidewin_redis_scout_t  *scout;

    host = ev->data;
    scout = &host->scout;

    used = ngx_http_slidewin_redis_dns_index(host, &host->used);

    if (used == 0 || host->conn->state != NGX_HTTP_SLIDEWIN_REDIS_READY) {
        ngx_http_slidewin_redis_scout_wait(host);
        return;
    }

    i = ngx_http_slidewin_redis_dns_index(host, &scout->ip) + 1;

    scout->ip = host->addresses[i < used ? i : 0];
    scout->host = host;

    scout->endpoint.name = host->endpoint.name;
    scout->endpoint.find = ngx_http_slidewin_redis_scout_find;
    scout->endpoint.leave = ngx_http_slidewin_redis_scout_leave;

    scout->access = *host->conn->access;
    scout->access.nscripts = 0;
    scout->access.spared = NGX_MAX_UINT32_VALUE;

    ngx_http_slidewin_redis_tls_forget(&scout->conn.session);
    ngx_memzero(&scout->conn, sizeof(ngx_http_slidewin_redis_conn_t));

    scout->conn.endpoint = &scout->endpoint;
    scout->conn.access = &scout->access;
    scout->conn.ready = ngx_http_slidewin_redis_scout_ready;
    scout->conn.down = ngx_http_slidewin_redis_scout_down;
    scout->conn.data = scout;

    ngx_http_slidewin_redis_conn_start(&scout->conn);
}


static void
ngx_http_slidewin_redis_scout_find(ngx_http_slidewin_redis_endpoint_t *endpoint,
    ngx_http_slidewin_redis_conn_t *c)
{
    ngx_http_slidewin_redis_scout_t    *scout;
    ngx_http_slidewin_redis_address_t   address;

    scout = (ngx_http_slidewin_redis_scout_t *) endpoint;

    address.host = (char *) scout->ip.text;
    address.port = scout->host->port;
    address.name = (char *) scout->host->host.data;

    ngx_http_slidewin_redis_conn_connect_to(c, &address);
}


static ngx_uint_t
ngx_http_slidewin_redis_scout_leave(ngx_http_slidewin_redis_endpoint_t *endpoint,
    ngx_uint_t vain)
{
    return 0;
}


static void
ngx_http_slidewin_redis_scout_ready(ngx_http_slidewin_redis_conn_t *c)
{
    ngx_http_slidewin_redis_dns_t    *host;
    ngx_http_slidewin_redis_scout_t  *scout;

    scout = c->data;
    host = scout->host;

    ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                  "slidewin redis %V goes back from %s to %s",
                  &host->endpoint.name, host->used.text, scout->ip.text);

    /* not this connection: what is said there is of the one in use */

    ngx_http_slidewin_redis_conn_reconnect(host->conn);
}


/* what it was about is known: it is not made again */

static void
ngx_http_slidewin_redis_scout_down(ngx_http_slidewin_redis_conn_t *c)
{
    ngx_http_slidewin_redis_scout_t  *scout;

    scout = c->data;

    if (c->timer.timer_set) {
        ngx_del_timer(&c->timer);
    }

    ngx_http_slidewin_redis_scout_wait(scout->host);
}


static void
ngx_http_slidewin_redis_scout_stop(ngx_http_slidewin_redis_dns_t *host)
{
    ngx_http_slidewin_redis_scout_t  *scout;

    scout = &host->scout;

    if (scout->timer.timer_set) {
        ngx_del_timer(&scout->timer);
    }

    /* what has just let it in is where the next connection goes */

    if (scout->conn.state == NGX_HTTP_SLIDEWIN_REDIS_READY) {
        host->turn = ngx_http_slidewin_redis_dns_index(host, &scout->ip);
    }

    if (scout->conn.endpoint) {
        ngx_http_slidewin_redis_conn_stop(&scout->conn);
        scout->conn.endpoint = NULL;
    }
}


void
ngx_http_slidewin_redis_dns_set_name(ngx_http_slidewin_redis_dns_t *host,
    ngx_str_t *name, ngx_uint_t port)
{
    ngx_http_slidewin_redis_dns_forget(host);

    host->host = *name;
    host->port = port;
    host->naddresses = 0;
    host->error = NGX_OK;
    host->endpoint.find = ngx_http_slidewin_redis_dns_find;
    host->endpoint.leave = ngx_http_slidewin_redis_dns_leave;

    /* a path, or an address of IPv6, or one of IPv4 */

    host->literal = (port == 0 || ngx_strchr(name->data, ':') != NULL
                     || ngx_inet_addr(name->data, name->len) != INADDR_NONE);
}


void
ngx_http_slidewin_redis_dns_forget(ngx_http_slidewin_redis_dns_t *host)
{
    if (host->lookup) {
        ngx_resolve_name_done(host->lookup);
        host->lookup = NULL;
    }
}


ngx_int_t
ngx_http_slidewin_redis_dns_make(ngx_pool_t *pool,
    ngx_http_slidewin_redis_dns_t *host, const char *name, size_t len,
    ngx_uint_t port)
{
    ngx_str_t  copy;

    copy.len = len;
    copy.data = ngx_pnalloc(pool, len + 1);
    if (copy.data == NULL) {
        return NGX_ERROR;
    }

    (void) ngx_cpystrn(copy.data, (u_char *) name, len + 1);

    ngx_http_slidewin_redis_dns_set_name(host, &copy, port);

    return ngx_http_slidewin_redis_dns_name(pool, host);
}


ngx_int_t
ngx_http_slidewin_redis_dns_init(ngx_conf_t *cf,
    ngx_http_slidewin_redis_dns_t *host, const char *name, size_t len,
    ngx_uint_t port)
{
    host->clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (ngx_http_slidewin_redis_dns_make(cf->pool, host, name, len, port)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (!host->literal) {
        ngx_http_slidewin_redis_dns_resolve(cf, host);
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_slidewin_redis_dns_name(ngx_pool_t *pool,
    ngx_http_slidewin_redis_dns_t *host)
{
    u_char     *p;
    ngx_str_t  *name;

    name = &host->endpoint.name;

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
ngx_http_slidewin_redis_dns_resolve(ngx_conf_t *cf,
    ngx_http_slidewin_redis_dns_t *host)
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
                           &host->endpoint.name);
        return;
    }

    for (i = 0; i < u.naddrs; i++) {
        ngx_http_slidewin_redis_dns_add(host, u.addrs[i].sockaddr,
                                        u.addrs[i].socklen);
    }
}
