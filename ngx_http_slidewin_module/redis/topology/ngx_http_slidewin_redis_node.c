
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_redis_conn_io.h"
#include "ngx_http_slidewin_redis_node.h"


static void ngx_http_slidewin_redis_node_watching(ngx_event_t *ev);
static void ngx_http_slidewin_redis_node_ready(
    ngx_http_slidewin_redis_conn_t *c);
static void ngx_http_slidewin_redis_node_down(
    ngx_http_slidewin_redis_conn_t *c);


void
ngx_http_slidewin_redis_node_start(ngx_http_slidewin_redis_node_t *node,
    ngx_http_slidewin_redis_endpoint_t *endpoint,
    ngx_http_slidewin_redis_access_t *access, ngx_msec_t timeout,
    const ngx_http_slidewin_redis_node_hooks_t *hooks)
{
    ngx_queue_init(&node->waiting);
    ngx_queue_init(&node->waiting_changes);

    node->hooks = hooks;
    node->timeout = timeout;

    node->conn.endpoint = endpoint;
    node->conn.access = access;
    node->conn.ready = ngx_http_slidewin_redis_node_ready;
    node->conn.down = ngx_http_slidewin_redis_node_down;
    node->conn.data = node;

    node->watch.handler = ngx_http_slidewin_redis_node_watching;
    node->watch.data = node;
    node->watch.log = ngx_cycle->log;
    node->watch.cancelable = 1;

    ngx_http_slidewin_redis_conn_start(&node->conn);
}


void
ngx_http_slidewin_redis_node_stop(ngx_http_slidewin_redis_node_t *node)
{
    /* calls that end here have followers: none may wait for a stopped node */

    node->conn.failed = 1;
    ngx_http_slidewin_redis_conn_stop(&node->conn);

    if (node->watch.timer_set) {
        ngx_del_timer(&node->watch);
    }

    /*
     * fails calls that still wait for the connection, such as refunds at
     * worker exit
     */

    node->hooks->unusable(node);
}


/*
 * A connection that is being made is waited for unless it failed before.  A
 * node that failed before has one check at a time until it has answered one.
 * A change is no probe: its reply does not show that checks are answered.
 */

ngx_uint_t
ngx_http_slidewin_redis_node_may_send(ngx_http_slidewin_redis_node_t *node,
    ngx_uint_t check)
{
    if (node->conn.failed
        && node->conn.state != NGX_HTTP_SLIDEWIN_REDIS_READY)
    {
        return 0;
    }

    if (!check) {
        return node->breaker.state == SW_BREAKER_CLOSED;
    }

    return !(node->conn.unhealthy && node->checks)
           && (node->breaker.state == SW_BREAKER_CLOSED
               || sw_breaker_allows(&node->breaker,
                                    ngx_http_slidewin_clock_ms()));
}


ngx_uint_t
ngx_http_slidewin_redis_node_usable(ngx_http_slidewin_redis_node_t *node)
{
    return node->breaker.state == SW_BREAKER_CLOSED
           && (node->conn.state == NGX_HTTP_SLIDEWIN_REDIS_READY
               || !node->conn.failed);
}


static void
ngx_http_slidewin_redis_node_ready(ngx_http_slidewin_redis_conn_t *c)
{
    ngx_http_slidewin_redis_node_t  *node;

    node = c->data;

    node->hooks->ready(node);
}


static void
ngx_http_slidewin_redis_node_down(ngx_http_slidewin_redis_conn_t *c)
{
    ngx_http_slidewin_redis_node_t  *node;

    node = c->data;

    if (c->failed) {
        node->hooks->unusable(node);
    }

    if (node->hooks->down) {
        node->hooks->down(node);
    }
}


/* a probe that will have no reply makes room for the next one */

void
ngx_http_slidewin_redis_node_probe_lost(ngx_http_slidewin_redis_node_t *node)
{
    if (node->breaker.state == SW_BREAKER_PROBING) {
        (void) sw_breaker_failure(&node->breaker,
                                  ngx_http_slidewin_clock_ms(),
                                  (uint32_t) ngx_random());
    }
}


void
ngx_http_slidewin_redis_node_failure(ngx_http_slidewin_redis_node_t *node,
    const char *reason, size_t len)
{
    int64_t  now;

    now = ngx_http_slidewin_clock_ms();
    len = ngx_min(ngx_http_slidewin_redis_error_printable(reason, len), 128);

    if (node->breaker.failures == 0 && node->logged != ngx_time()) {
        node->logged = ngx_time();
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "slidewin redis %V failed: \"%*s\"",
                      &node->conn.endpoint->name, len, reason);
    }

    if (sw_breaker_failure(&node->breaker, now, (uint32_t) ngx_random())) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "slidewin redis %V is not asked for a while, it failed "
                      "%d times in a row: \"%*s\"", &node->conn.endpoint->name,
                      node->breaker.failures, len, reason);

        node->hooks->unusable(node);
    }
}


void
ngx_http_slidewin_redis_node_success(ngx_http_slidewin_redis_node_t *node)
{
    node->successes++;

    ngx_http_slidewin_redis_conn_healthy(&node->conn);

    if (sw_breaker_success(&node->breaker)) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "slidewin redis %V is asked again",
                      &node->conn.endpoint->name);
    }
}


/* replies to other commands do not show that calls have theirs */

ngx_int_t
ngx_http_slidewin_redis_node_watch(ngx_http_slidewin_redis_node_t *node,
    int64_t sent_at)
{
    int64_t  left;

    left = ngx_max(sent_at, node->replied_at)
           + (int64_t) node->timeout * 1000
           - ngx_http_slidewin_clock_us();

    if (left <= 0) {
        ngx_http_slidewin_redis_node_timed_out(node);
        return NGX_DECLINED;
    }

    node->watched = ngx_max(node->watched, sent_at);

    if (!node->watch.timer_set) {
        ngx_add_timer(&node->watch, (ngx_msec_t) (left / 1000) + 1);
    }

    return NGX_OK;
}


static void
ngx_http_slidewin_redis_node_watching(ngx_event_t *ev)
{
    ngx_http_slidewin_redis_node_t  *node;

    node = ev->data;

    ngx_http_slidewin_redis_conn_read(&node->conn);

    if (node->late) {
        (void) ngx_http_slidewin_redis_node_watch(node, node->watched);
    }
}


void
ngx_http_slidewin_redis_node_timed_out(ngx_http_slidewin_redis_node_t *node)
{
    node->conn.failed = 1;
    node->conn.unhealthy = 1;

    ngx_http_slidewin_redis_conn_drop(&node->conn,
                                      "no answer within the timeout");
}


void
ngx_http_slidewin_redis_node_log_error(ngx_http_slidewin_redis_node_t *node,
    const char *what, const char *reason, size_t len)
{
    ngx_http_slidewin_redis_log_error(&node->conn.endpoint->name, &node->logged,
                                      what, reason, len);
}


/* once a second: every request may meet the same error */

void
ngx_http_slidewin_redis_log_error(ngx_str_t *name, time_t *logged,
    const char *what, const char *reason, size_t len)
{
    if (*logged == ngx_time()) {
        return;
    }

    *logged = ngx_time();
    len = ngx_min(ngx_http_slidewin_redis_error_printable(reason, len), 128);

    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                  "slidewin redis %V %s: \"%*s\"", name, what, len, reason);
}


ngx_uint_t
ngx_http_slidewin_redis_error_is(redisReply *reply, const char *code)
{
    size_t  len;

    len = ngx_strlen(code);

    return reply->len >= len && ngx_strncmp(reply->str, code, len) == 0;
}
