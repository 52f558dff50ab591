
#include "ngx_http_slidewin_redis_failback.h"


/* ms between two tries at most; half of the pause is random */
#define NGX_HTTP_SLIDEWIN_REDIS_FAILBACK_PAUSE  5000


static void ngx_http_slidewin_redis_failback_start(ngx_event_t *ev);
static void ngx_http_slidewin_redis_failback_find(
    ngx_http_slidewin_redis_endpoint_t *endpoint,
    ngx_http_slidewin_redis_conn_t *c);
static ngx_uint_t ngx_http_slidewin_redis_failback_leave(
    ngx_http_slidewin_redis_endpoint_t *endpoint, ngx_uint_t failed);
static void ngx_http_slidewin_redis_failback_ready(
    ngx_http_slidewin_redis_conn_t *c);
static void ngx_http_slidewin_redis_failback_down(
    ngx_http_slidewin_redis_conn_t *c);


/* sentinels count nothing: any of their addresses will do */

void
ngx_http_slidewin_redis_failback_wait(ngx_http_slidewin_redis_failback_t *fb)
{
    ngx_event_t  *timer;

    timer = &fb->timer;

    if (timer->timer_set || fb->used->access->sentinel
        || ngx_http_slidewin_redis_addresses_index(fb->addresses, fb->used_ip)
           == 0)
    {
        return;
    }

    timer->handler = ngx_http_slidewin_redis_failback_start;
    timer->data = fb;
    timer->log = ngx_cycle->log;
    timer->cancelable = 1;

    ngx_add_timer(timer, NGX_HTTP_SLIDEWIN_REDIS_FAILBACK_PAUSE / 2
                         + (ngx_msec_t) ngx_random()
                           % (NGX_HTTP_SLIDEWIN_REDIS_FAILBACK_PAUSE / 2));
}


/* the earlier addresses in turn */

static void
ngx_http_slidewin_redis_failback_start(ngx_event_t *ev)
{
    ngx_uint_t                           i, used;
    ngx_http_slidewin_redis_failback_t  *fb;

    fb = ev->data;

    used = ngx_http_slidewin_redis_addresses_index(fb->addresses, fb->used_ip);

    if (used == 0 || fb->used->state != NGX_HTTP_SLIDEWIN_REDIS_READY) {
        ngx_http_slidewin_redis_failback_wait(fb);
        return;
    }

    i = ngx_http_slidewin_redis_addresses_index(fb->addresses, &fb->ip) + 1;

    fb->ip = fb->addresses->ips[i < used ? i : 0];

    fb->endpoint.name = fb->used->endpoint->name;
    fb->endpoint.find = ngx_http_slidewin_redis_failback_find;
    fb->endpoint.leave = ngx_http_slidewin_redis_failback_leave;

    fb->access = *fb->used->access;
    fb->access.nscripts = 0;
    fb->access.quiet_losses = NGX_MAX_UINT32_VALUE;

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "slidewin redis failback: %V tries %s",
                   &fb->endpoint.name, fb->ip.text);

    ngx_http_slidewin_redis_tls_forget(&fb->conn.session);
    ngx_memzero(&fb->conn, sizeof(ngx_http_slidewin_redis_conn_t));

    fb->conn.endpoint = &fb->endpoint;
    fb->conn.access = &fb->access;
    fb->conn.ready = ngx_http_slidewin_redis_failback_ready;
    fb->conn.down = ngx_http_slidewin_redis_failback_down;
    fb->conn.data = fb;

    ngx_http_slidewin_redis_conn_start(&fb->conn);
}


static void
ngx_http_slidewin_redis_failback_find(
    ngx_http_slidewin_redis_endpoint_t *endpoint,
    ngx_http_slidewin_redis_conn_t *c)
{
    ngx_http_slidewin_redis_address_t    address;
    ngx_http_slidewin_redis_failback_t  *fb;

    fb = (ngx_http_slidewin_redis_failback_t *) endpoint;

    address.host = (char *) fb->ip.text;
    address.port = fb->port;
    address.name = fb->host;

    ngx_http_slidewin_redis_conn_connect_to(c, &address);
}


static ngx_uint_t
ngx_http_slidewin_redis_failback_leave(
    ngx_http_slidewin_redis_endpoint_t *endpoint, ngx_uint_t failed)
{
    return 0;
}


static void
ngx_http_slidewin_redis_failback_ready(ngx_http_slidewin_redis_conn_t *c)
{
    ngx_http_slidewin_redis_failback_t  *fb;

    fb = c->data;

    ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                  "slidewin redis %V goes back from %s to %s",
                  &fb->used->endpoint->name, fb->used_ip->text, fb->ip.text);

    /*
     * This connection is not handed over: the replies that the used one still
     * owes are awaited there.
     */

    ngx_http_slidewin_redis_conn_reconnect(fb->used);
}


/* without its timer the connection is not made again: the next try makes it */

static void
ngx_http_slidewin_redis_failback_down(ngx_http_slidewin_redis_conn_t *c)
{
    if (c->timer.timer_set) {
        ngx_del_timer(&c->timer);
    }

    ngx_http_slidewin_redis_failback_wait(c->data);
}


ngx_uint_t
ngx_http_slidewin_redis_failback_stop(ngx_http_slidewin_redis_failback_t *fb)
{
    ngx_uint_t  ready;

    if (fb->timer.timer_set) {
        ngx_del_timer(&fb->timer);
    }

    ready = (fb->conn.state == NGX_HTTP_SLIDEWIN_REDIS_READY);

    if (fb->conn.endpoint) {
        ngx_http_slidewin_redis_conn_stop(&fb->conn);
        fb->conn.endpoint = NULL;
    }

    return ready;
}
