
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_redis_conn_io.h"
#include "ngx_http_slidewin_redis_slots.h"
#include "sw_parse.h"


/* ms: pauses between two requests for the slots grow from here */
#define NGX_HTTP_SLIDEWIN_REDIS_SLOTS_PAUSE   250

/* ms: until a node without slots that has calls may be closed */
#define NGX_HTTP_SLIDEWIN_REDIS_CLOSE_UNUSED  1000


static void ngx_http_slidewin_redis_slots_timer(ngx_event_t *ev);
static void ngx_http_slidewin_redis_slots_ask(
    ngx_http_slidewin_redis_cluster_t *cluster);
static void ngx_http_slidewin_redis_slots_replied(redisAsyncContext *context,
    void *reply, void *data);
static ngx_int_t ngx_http_slidewin_redis_slots_parse(
    ngx_http_slidewin_redis_cluster_t *cluster,
    ngx_http_slidewin_redis_cluster_node_t *from, redisReply *reply);
static ngx_int_t ngx_http_slidewin_redis_slots_range(redisReply *range);
static void ngx_http_slidewin_redis_slots_reply_bad(
    ngx_http_slidewin_redis_cluster_t *cluster,
    ngx_http_slidewin_redis_cluster_node_t *cnode, redisReply *reply);
static void ngx_http_slidewin_redis_slots_applied(
    ngx_http_slidewin_redis_cluster_t *cluster);


void
ngx_http_slidewin_redis_slots_start(ngx_http_slidewin_redis_cluster_t *cluster)
{
    cluster->refresh.handler = ngx_http_slidewin_redis_slots_timer;
    cluster->refresh.data = cluster;
    cluster->refresh.log = ngx_cycle->log;
    cluster->refresh.cancelable = 1;

    cluster->pause = NGX_HTTP_SLIDEWIN_REDIS_SLOTS_PAUSE;
    cluster->stale = 1;

    ngx_http_slidewin_redis_cluster_add_seeds(cluster);
}


void
ngx_http_slidewin_redis_slots_stop(ngx_http_slidewin_redis_cluster_t *cluster)
{
    cluster->slots_from = NULL;

    if (cluster->refresh.timer_set) {
        ngx_del_timer(&cluster->refresh);
    }
}


void
ngx_http_slidewin_redis_slots_refresh(
    ngx_http_slidewin_redis_cluster_t *cluster)
{
    int64_t  pause;

    cluster->stale = 1;

    if (cluster->slots_from) {
        return;
    }

    pause = cluster->next - ngx_http_slidewin_clock_ms();

    ngx_add_timer(&cluster->refresh, (ngx_msec_t) ngx_max(pause, 0));
}


void
ngx_http_slidewin_redis_slots_fail_waiting(
    ngx_http_slidewin_redis_cluster_t *cluster)
{
    if (cluster->slots == NULL
        && ngx_http_slidewin_redis_cluster_all_failed(cluster))
    {
        cluster->hooks->slots_failed(cluster);
    }
}


static void
ngx_http_slidewin_redis_slots_timer(ngx_event_t *ev)
{
    ngx_uint_t                               left;
    ngx_http_slidewin_redis_cluster_node_t  *cnode;
    ngx_http_slidewin_redis_cluster_t       *cluster;

    cluster = ev->data;
    cnode = cluster->slots_from;

    if (cnode) {
        cluster->slots_from = NULL;

        if (cnode->node.conn.replied_at < cnode->asked_at) {
            ngx_http_slidewin_redis_node_timed_out(&cnode->node);

        } else {
            ngx_http_slidewin_redis_slots_reply_bad(cluster, cnode, NULL);
        }
    }

    left = ngx_http_slidewin_redis_cluster_close_unused(cluster);

    if (!cluster->stale) {
        if (left) {
            ngx_add_timer(&cluster->refresh,
                          NGX_HTTP_SLIDEWIN_REDIS_CLOSE_UNUSED);
        }

        return;
    }

    if (ngx_http_slidewin_clock_ms() < cluster->next) {
        ngx_http_slidewin_redis_slots_refresh(cluster);
        return;
    }

    ngx_http_slidewin_redis_slots_ask(cluster);
}


/*
 * One node at a time, nodes with slots before nodes of the URL.  If none can be
 * asked, the next that is ready will be.
 */

static void
ngx_http_slidewin_redis_slots_ask(ngx_http_slidewin_redis_cluster_t *cluster)
{
    ngx_http_slidewin_redis_cluster_node_t  *cnode;

    static const char  *slots[] = { "CLUSTER", "SLOTS" };

    cnode = ngx_http_slidewin_redis_cluster_pick_node(cluster, 1);

    if (cnode == NULL) {
        ngx_http_slidewin_redis_cluster_add_seeds(cluster);
        cnode = ngx_http_slidewin_redis_cluster_pick_node(cluster, 0);
    }

    if (cnode == NULL) {
        return;
    }

    cluster->last_index = cnode->index;
    cluster->next = ngx_http_slidewin_clock_ms()
                    + sw_pause_next(&cluster->pause, (uint32_t) ngx_random());

    if (ngx_http_slidewin_redis_conn_send(&cnode->node.conn,
                                          ngx_http_slidewin_redis_slots_replied,
                                          cnode, 2, slots, NULL)
        != NGX_OK)
    {
        ngx_http_slidewin_redis_slots_refresh(cluster);
        return;
    }

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "slidewin redis slots: asked of %V",
                   &cnode->host->endpoint.name);

    cnode->slots_pending = 1;
    cnode->asked_at = ngx_http_slidewin_clock_us();
    cluster->slots_from = cnode;

    ngx_add_timer(&cluster->refresh, cluster->access->connect_timeout);
}


static void
ngx_http_slidewin_redis_slots_replied(redisAsyncContext *context, void *reply,
    void *data)
{
    ngx_uint_t                               current;
    ngx_http_slidewin_redis_cluster_node_t  *cnode;
    ngx_http_slidewin_redis_cluster_t       *cluster;

    cnode = data;
    cnode->slots_pending = 0;
    cluster = cnode->cluster;

    current = (cluster->slots_from == cnode);

    if (current) {
        cluster->slots_from = NULL;
    }

    if (!ngx_http_slidewin_redis_conn_accept_reply(&cnode->node.conn, context,
                                                   reply))
    {
        if (current) {
            ngx_http_slidewin_redis_slots_refresh(cluster);
        }

        return;
    }

    /* a late reply will do as long as the slots are wanted */

    if (!cluster->stale) {
        return;
    }

    if (ngx_http_slidewin_redis_slots_parse(cluster, cnode, reply)
        != NGX_OK)
    {
        ngx_http_slidewin_redis_slots_reply_bad(cluster, cnode, reply);
        ngx_http_slidewin_redis_slots_refresh(cluster);
        return;
    }

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "slidewin redis slots: known by %V, %ui checks waited",
                   &cnode->host->endpoint.name, cluster->checks);

    cluster->slots_from = NULL;
    cnode->no_slots_reply = 0;

    if (cluster->reported) {
        cluster->reported = 0;
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "slidewin redis %V tells the slots of its cluster",
                      &cnode->host->endpoint.name);
    }

    ngx_http_slidewin_redis_slots_applied(cluster);
    cluster->hooks->slots_known(cluster);
}


/*
 * A range is its first and its last slot, its master and the replicas.  All of
 * the reply is checked before any of it is used.
 */

static ngx_int_t
ngx_http_slidewin_redis_slots_parse(
    ngx_http_slidewin_redis_cluster_t *cluster,
    ngx_http_slidewin_redis_cluster_node_t *from, redisReply *reply)
{
    size_t                                    i;
    sw_slots_t                               *table;
    redisReply                              **range, *host, *port;
    ngx_http_slidewin_redis_cluster_node_t   *cnode;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements == 0) {
        return NGX_ERROR;
    }

    table = &cluster->tables[cluster->slots == &cluster->tables[0]];

    sw_slots_clear(table);

    for (i = 0; i < reply->elements; i++) {
        if (ngx_http_slidewin_redis_slots_range(reply->element[i]) != NGX_OK) {
            return NGX_ERROR;
        }

        range = reply->element[i]->element;

        if (sw_slots_set(table, range[0]->integer, range[1]->integer, 0)
            != SW_OK)
        {
            return NGX_ERROR;
        }
    }

    sw_slots_clear(table);
    cluster->slots = table;

    for (i = 0; i < cluster->n; i++) {
        if (cluster->nodes[i]) {
            cluster->nodes[i]->has_slots = 0;
        }
    }

    for (i = 0; i < reply->elements; i++) {
        range = reply->element[i]->element;
        host = range[2]->element[0];
        port = range[2]->element[1];

        /* a node without a host has that of the node the reply is from */

        if (host->type == REDIS_REPLY_NIL || host->len == 0) {
            cnode = ngx_http_slidewin_redis_cluster_get_node(cluster,
                                              (char *) from->host->host.data,
                                              from->host->host.len,
                                              port->integer);
        } else {
            cnode = ngx_http_slidewin_redis_cluster_get_node(cluster,
                                                              host->str,
                                                              host->len,
                                                              port->integer);
        }

        if (cnode) {
            ngx_http_slidewin_redis_slots_assign(cluster, cnode,
                                                 range[0]->integer,
                                                 range[1]->integer);
        }
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_slidewin_redis_slots_range(redisReply *range)
{
    redisReply  *master, *host, *port;

    if (range->type != REDIS_REPLY_ARRAY || range->elements < 3
        || range->element[0]->type != REDIS_REPLY_INTEGER
        || range->element[1]->type != REDIS_REPLY_INTEGER)
    {
        return NGX_ERROR;
    }

    master = range->element[2];

    if (master->type != REDIS_REPLY_ARRAY || master->elements < 2) {
        return NGX_ERROR;
    }

    host = master->element[0];
    port = master->element[1];

    if (port->type != REDIS_REPLY_INTEGER || port->integer < 1
        || port->integer > 65535)
    {
        return NGX_ERROR;
    }

    if (host->type == REDIS_REPLY_NIL) {
        return NGX_OK;
    }

    /* "?": the node that was asked does not know its name */

    if (host->type != REDIS_REPLY_STRING
        || !(host->len == 0 || (host->len == 1 && host->str[0] == '?')
             || sw_slot_host(host->str, host->len)))
    {
        return NGX_ERROR;
    }

    return NGX_OK;
}


/* reply is NULL if none has come */

static void
ngx_http_slidewin_redis_slots_reply_bad(
    ngx_http_slidewin_redis_cluster_t *cluster,
    ngx_http_slidewin_redis_cluster_node_t *cnode, redisReply *reply)
{
    size_t       len;
    ngx_uint_t   level;
    const char  *reason;

    if (reply == NULL) {
        reason = "no answer in time";
        len = ngx_strlen(reason);

    } else if (reply->type == REDIS_REPLY_ERROR) {
        reason = reply->str;
        len = ngx_http_slidewin_redis_error_printable(reason, reply->len);

    } else {
        reason = "its answer makes no sense";
        len = ngx_strlen(reason);
    }

    level = cluster->reported ? NGX_LOG_INFO : NGX_LOG_ERR;

    ngx_log_error(level, ngx_cycle->log, 0,
                  "slidewin redis %V does not tell the slots of its "
                  "cluster: \"%*s\"", &cnode->host->endpoint.name,
                  ngx_min(len, 128), reason);

    cluster->reported = 1;
    cnode->no_slots_reply = 1;

    ngx_http_slidewin_redis_slots_fail_waiting(cluster);
}


/* asks again if slots have no node, and closes nodes without slots */

static void
ngx_http_slidewin_redis_slots_applied(
    ngx_http_slidewin_redis_cluster_t *cluster)
{
    int                                      unassigned;
    ngx_uint_t                               i;
    ngx_http_slidewin_redis_cluster_node_t  *cnode;

    unassigned = sw_slots_left(cluster->slots);

    if (unassigned && cluster->unassigned == 0) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "slidewin redis: %d slots of the cluster of %V have no "
                      "node", unassigned,
                      &cluster->seeds[0].endpoint.name);

    } else if (unassigned == 0 && cluster->unassigned) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "slidewin redis: all slots of the cluster of %V have a "
                      "node", &cluster->seeds[0].endpoint.name);
    }

    cluster->unassigned = unassigned;
    cluster->stale = (unassigned != 0);

    for (i = 0; i < cluster->n; i++) {
        cnode = cluster->nodes[i];

        if (cnode && cnode->has_slots && cnode->node.conn.failed) {
            cluster->stale = 1;
        }
    }

    if (cluster->stale) {
        ngx_http_slidewin_redis_slots_refresh(cluster);
        return;
    }

    cluster->pause = NGX_HTTP_SLIDEWIN_REDIS_SLOTS_PAUSE;

    /* by a timer: a connection that is to be closed may be in use here */

    ngx_add_timer(&cluster->refresh, 0);
}


void
ngx_http_slidewin_redis_slots_assign(ngx_http_slidewin_redis_cluster_t *cluster,
    ngx_http_slidewin_redis_cluster_node_t *cnode, int64_t first, int64_t last)
{
    (void) sw_slots_set(cluster->slots, first, last, (uint16_t) cnode->index);

    cnode->has_slots = 1;
    cnode->had_slots = 1;
}
