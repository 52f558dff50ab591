
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_redis_dispatch.h"
#include "ngx_http_slidewin_redis_conn_io.h"
#include "ngx_http_slidewin_redis_node.h"
#include "ngx_http_slidewin_redis_slots.h"
#include "sw_parse.h"


/* the pauses between two looks at the map grow from here */
#define NGX_HTTP_SLIDEWIN_REDIS_LOOK_PAUSE  250

/* until a node without slots is looked at again that has calls */
#define NGX_HTTP_SLIDEWIN_REDIS_SWEEP       1000


static void ngx_http_slidewin_redis_slots_timer(ngx_event_t *ev);
static void ngx_http_slidewin_redis_slots_ask(
    ngx_http_slidewin_redis_cluster_t *cluster);
static void ngx_http_slidewin_redis_slots_replied(redisAsyncContext *context,
    void *reply, void *data);
static ngx_int_t ngx_http_slidewin_redis_slots_parse(
    ngx_http_slidewin_redis_cluster_t *cluster,
    ngx_http_slidewin_redis_cluster_node_t *asked, redisReply *reply);
static ngx_int_t ngx_http_slidewin_redis_slots_range(redisReply *range);
static void ngx_http_slidewin_redis_slots_reply_bad(
    ngx_http_slidewin_redis_cluster_t *cluster,
    ngx_http_slidewin_redis_cluster_node_t *member, redisReply *reply);
static void ngx_http_slidewin_redis_slots_applied(
    ngx_http_slidewin_redis_cluster_t *cluster);


void
ngx_http_slidewin_redis_slots_start(ngx_http_slidewin_redis_cluster_t *cluster)
{
    cluster->look.handler = ngx_http_slidewin_redis_slots_timer;
    cluster->look.data = cluster;
    cluster->look.log = ngx_cycle->log;
    cluster->look.cancelable = 1;

    cluster->pause = NGX_HTTP_SLIDEWIN_REDIS_LOOK_PAUSE;
    cluster->stale = 1;

    ngx_http_slidewin_redis_cluster_add_seeds(cluster);
}


void
ngx_http_slidewin_redis_slots_stop(ngx_http_slidewin_redis_cluster_t *cluster)
{
    cluster->asking = NULL;

    if (cluster->look.timer_set) {
        ngx_del_timer(&cluster->look);
    }
}


void
ngx_http_slidewin_redis_slots_refresh(
    ngx_http_slidewin_redis_cluster_t *cluster)
{
    int64_t  pause;

    cluster->stale = 1;

    if (cluster->asking) {
        return;
    }

    pause = cluster->next - ngx_http_slidewin_clock_ms();

    ngx_add_timer(&cluster->look, (ngx_msec_t) ngx_max(pause, 0));
}


void
ngx_http_slidewin_redis_slots_fail_waiting(
    ngx_http_slidewin_redis_cluster_t *cluster)
{
    if (cluster->map == NULL
        && ngx_http_slidewin_redis_cluster_all_failed(cluster))
    {
        ngx_http_slidewin_redis_dispatch_fail_waiting(&cluster->redis->node);
    }
}


static void
ngx_http_slidewin_redis_slots_timer(ngx_event_t *ev)
{
    ngx_uint_t                               left;
    ngx_http_slidewin_redis_cluster_node_t  *member;
    ngx_http_slidewin_redis_cluster_t       *cluster;

    cluster = ev->data;
    member = cluster->asking;

    if (member) {
        cluster->asking = NULL;

        if (member->node.conn.replied_at < member->asked_at) {
            ngx_http_slidewin_redis_node_timed_out(&member->node);

        } else {
            ngx_http_slidewin_redis_slots_reply_bad(cluster, member, NULL);
        }
    }

    left = ngx_http_slidewin_redis_cluster_close_unused(cluster);

    if (!cluster->stale) {
        if (left) {
            ngx_add_timer(&cluster->look, NGX_HTTP_SLIDEWIN_REDIS_SWEEP);
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
 * One node at a time, those that have slots before those of the URL.  If none
 * can be asked, the first that can will lead here again.
 */

static void
ngx_http_slidewin_redis_slots_ask(ngx_http_slidewin_redis_cluster_t *cluster)
{
    ngx_http_slidewin_redis_cluster_node_t  *member;

    static const char  *slots[] = { "CLUSTER", "SLOTS" };

    member = ngx_http_slidewin_redis_cluster_pick_node(cluster, 1);

    if (member == NULL) {
        ngx_http_slidewin_redis_cluster_add_seeds(cluster);
        member = ngx_http_slidewin_redis_cluster_pick_node(cluster, 0);
    }

    if (member == NULL) {
        return;
    }

    cluster->last = member->index;
    cluster->next = ngx_http_slidewin_clock_ms()
                    + sw_pause_next(&cluster->pause, (uint32_t) ngx_random());

    if (ngx_http_slidewin_redis_conn_send(&member->node.conn,
                                          ngx_http_slidewin_redis_slots_replied,
                                          member, 2, slots, NULL)
        != NGX_OK)
    {
        ngx_http_slidewin_redis_slots_refresh(cluster);
        return;
    }

    member->asked = 1;
    member->asked_at = ngx_http_slidewin_clock_us();
    cluster->asking = member;

    ngx_add_timer(&cluster->look, cluster->redis->access.connect_timeout);
}


static void
ngx_http_slidewin_redis_slots_replied(redisAsyncContext *context, void *reply,
    void *data)
{
    ngx_uint_t                               current;
    ngx_http_slidewin_redis_cluster_node_t  *member;
    ngx_http_slidewin_redis_cluster_t       *cluster;

    member = data;
    member->asked = 0;
    cluster = member->node.redis->cluster;

    current = (cluster->asking == member);

    if (current) {
        cluster->asking = NULL;
    }

    if (!ngx_http_slidewin_redis_conn_accept_reply(&member->node.conn, context,
                                                   reply))
    {
        if (current) {
            ngx_http_slidewin_redis_slots_refresh(cluster);
        }

        return;
    }

    /* a late answer is one as long as it is wanted */

    if (!cluster->stale) {
        return;
    }

    if (ngx_http_slidewin_redis_slots_parse(cluster, member, reply)
        != NGX_OK)
    {
        ngx_http_slidewin_redis_slots_reply_bad(cluster, member, reply);
        ngx_http_slidewin_redis_slots_refresh(cluster);
        return;
    }

    cluster->asking = NULL;
    member->useless = 0;

    if (cluster->reported) {
        cluster->reported = 0;
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "slidewin redis %V tells the slots of its cluster",
                      &member->host->endpoint.name);
    }

    ngx_http_slidewin_redis_slots_applied(cluster);
    ngx_http_slidewin_redis_dispatch_route(cluster->redis);
}


/*
 * A range is its first and its last slot, its master and the replicas.  All of
 * the map is looked at before any of it is believed.
 */

static ngx_int_t
ngx_http_slidewin_redis_slots_parse(
    ngx_http_slidewin_redis_cluster_t *cluster,
    ngx_http_slidewin_redis_cluster_node_t *asked, redisReply *reply)
{
    size_t                                    i;
    sw_slots_t                               *map;
    redisReply                              **range, *host, *port;
    ngx_http_slidewin_redis_cluster_node_t   *member;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements == 0) {
        return NGX_ERROR;
    }

    map = &cluster->maps[cluster->map == &cluster->maps[0]];

    sw_slots_clear(map);

    for (i = 0; i < reply->elements; i++) {
        if (ngx_http_slidewin_redis_slots_range(reply->element[i]) != NGX_OK) {
            return NGX_ERROR;
        }

        range = reply->element[i]->element;

        if (sw_slots_set(map, range[0]->integer, range[1]->integer, 0)
            != SW_OK)
        {
            return NGX_ERROR;
        }
    }

    sw_slots_clear(map);
    cluster->map = map;

    for (i = 0; i < cluster->n; i++) {
        if (cluster->members[i]) {
            cluster->members[i]->mapped = 0;
        }
    }

    for (i = 0; i < reply->elements; i++) {
        range = reply->element[i]->element;
        host = range[2]->element[0];
        port = range[2]->element[1];

        /* without a host it is that of the node that was asked */

        if (host->type == REDIS_REPLY_NIL || host->len == 0) {
            member = ngx_http_slidewin_redis_cluster_get_node(cluster,
                                              (char *) asked->host->host.data,
                                              asked->host->host.len,
                                              port->integer);
        } else {
            member = ngx_http_slidewin_redis_cluster_get_node(cluster,
                                                              host->str,
                                                              host->len,
                                                              port->integer);
        }

        if (member) {
            ngx_http_slidewin_redis_slots_assign(cluster, member,
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

    /* "?" is a node whose name the other was not told */

    if (host->type != REDIS_REPLY_STRING
        || !(host->len == 0 || (host->len == 1 && host->str[0] == '?')
             || sw_slot_host(host->str, host->len)))
    {
        return NGX_ERROR;
    }

    return NGX_OK;
}


/* reply is NULL if there is none */

static void
ngx_http_slidewin_redis_slots_reply_bad(
    ngx_http_slidewin_redis_cluster_t *cluster,
    ngx_http_slidewin_redis_cluster_node_t *member, redisReply *reply)
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
                  "cluster: \"%*s\"", &member->host->endpoint.name,
                  ngx_min(len, 128), reason);

    cluster->reported = 1;
    member->useless = 1;

    ngx_http_slidewin_redis_slots_fail_waiting(cluster);
}


/* what a new map leaves to do: to look again, to close what it has not */

static void
ngx_http_slidewin_redis_slots_applied(
    ngx_http_slidewin_redis_cluster_t *cluster)
{
    int                                      left;
    ngx_uint_t                               i;
    ngx_http_slidewin_redis_cluster_node_t  *member;

    left = sw_slots_left(cluster->map);

    if (left && cluster->left == 0) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "slidewin redis: %d slots of the cluster of %V have no "
                      "node", left, &cluster->seeds[0].endpoint.name);

    } else if (left == 0 && cluster->left) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "slidewin redis: all slots of the cluster of %V have a "
                      "node", &cluster->seeds[0].endpoint.name);
    }

    cluster->left = left;
    cluster->stale = (left != 0);

    for (i = 0; i < cluster->n; i++) {
        member = cluster->members[i];

        if (member && member->mapped && member->node.conn.failed) {
            cluster->stale = 1;
        }
    }

    if (cluster->stale) {
        ngx_http_slidewin_redis_slots_refresh(cluster);
        return;
    }

    cluster->pause = NGX_HTTP_SLIDEWIN_REDIS_LOOK_PAUSE;

    /* not from here, where a connection may be in use */

    ngx_add_timer(&cluster->look, 0);
}


void
ngx_http_slidewin_redis_slots_assign(ngx_http_slidewin_redis_cluster_t *cluster,
    ngx_http_slidewin_redis_cluster_node_t *member, int64_t first, int64_t last)
{
    (void) sw_slots_set(cluster->map, first, last, (uint16_t) member->index);

    member->mapped = 1;
    member->owned = 1;
}
