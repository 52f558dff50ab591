
#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_redis_sentinel_promotion.h"


/*
 * ms until a replica that is no master is given up, and until a promotion that
 * no sentinel knows of is not believed any more
 */
#define NGX_HTTP_SLIDEWIN_REDIS_PROMOTION_MAX  10000


static void ngx_http_slidewin_redis_sentinel_promotion_ready(
    ngx_http_slidewin_redis_conn_t *c);
static void ngx_http_slidewin_redis_sentinel_promotion_down(
    ngx_http_slidewin_redis_conn_t *c);
static void ngx_http_slidewin_redis_sentinel_promotion_end(ngx_event_t *ev);


void
ngx_http_slidewin_redis_sentinel_promotion_init(
    ngx_http_slidewin_redis_sentinel_promotion_t *p,
    const ngx_http_slidewin_redis_access_t *access)
{
    p->access = *access;
    p->access.nscripts = 0;
    p->access.quiet_losses = NGX_MAX_UINT32_VALUE;

    p->timer.handler = ngx_http_slidewin_redis_sentinel_promotion_end;
    p->timer.data = p;
    p->timer.log = ngx_cycle->log;
    p->timer.cancelable = 1;
}


/* the connection is lost at once, and made again, until ROLE says master */

void
ngx_http_slidewin_redis_sentinel_promotion_expect(
    ngx_http_slidewin_redis_sentinel_promotion_t *p,
    const ngx_http_slidewin_redis_master_t *replica, ngx_str_t *name,
    ngx_http_core_loc_conf_t *clcf)
{
    ngx_str_t  host;

    if (p->timer.timer_set) {
        return;
    }

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "slidewin redis sentinel: %V expects promotion of %s:%ui",
                   name, replica->host, replica->port);

    p->replica = *replica;
    p->confirmed = 0;

    host.data = p->replica.host;
    host.len = ngx_strlen(host.data);

    p->dns.clcf = clcf;
    p->dns.endpoint.name = *name;

    ngx_http_slidewin_redis_dns_set_name(&p->dns, &host, p->replica.port);

    ngx_memzero(&p->conn, sizeof(ngx_http_slidewin_redis_conn_t));

    p->conn.endpoint = &p->dns.endpoint;
    p->conn.access = &p->access;
    p->conn.ready = ngx_http_slidewin_redis_sentinel_promotion_ready;
    p->conn.down = ngx_http_slidewin_redis_sentinel_promotion_down;
    p->conn.data = p;

    ngx_add_timer(&p->timer, NGX_HTTP_SLIDEWIN_REDIS_PROMOTION_MAX);

    ngx_http_slidewin_redis_conn_start(&p->conn);
}


static void
ngx_http_slidewin_redis_sentinel_promotion_ready(
    ngx_http_slidewin_redis_conn_t *c)
{
    ngx_http_slidewin_redis_sentinel_promotion_t  *p;

    p = c->data;

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "slidewin redis sentinel: %s:%ui is promoted",
                   p->replica.host, p->replica.port);

    p->confirmed = 1;
    p->confirmed_until = ngx_http_slidewin_clock_ms()
                         + NGX_HTTP_SLIDEWIN_REDIS_PROMOTION_MAX;

    p->changed(p);

    /* the connection cannot be freed here, in its own callback */

    ngx_add_timer(&p->timer, 0);
}


static void
ngx_http_slidewin_redis_sentinel_promotion_down(
    ngx_http_slidewin_redis_conn_t *c)
{
    /* void */
}


static void
ngx_http_slidewin_redis_sentinel_promotion_end(ngx_event_t *ev)
{
    ngx_http_slidewin_redis_sentinel_promotion_t  *p;

    p = ev->data;

    ngx_http_slidewin_redis_conn_stop(&p->conn);
    ngx_http_slidewin_redis_dns_forget(&p->dns);
}


void
ngx_http_slidewin_redis_sentinel_promotion_stop(
    ngx_http_slidewin_redis_sentinel_promotion_t *p)
{
    if (p->timer.timer_set) {
        ngx_del_timer(&p->timer);
        ngx_http_slidewin_redis_sentinel_promotion_end(&p->timer);
    }
}
