
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_slidewin_redis_dispatch.h"
#include "ngx_http_slidewin_redis_cluster.h"
#include "ngx_http_slidewin_redis_node.h"
#include "ngx_http_slidewin_redis_slots.h"
#include "sw_parse.h"


/* a map: of ranges, of nodes, of what there is to say of a node */
#define NGX_HTTP_SLIDEWIN_REDIS_MAP_DEPTH   4

/* enough for each slot as a range of its own, with a replica */
#define NGX_HTTP_SLIDEWIN_REDIS_MAP_MEMORY  33554432

/* until a call is tried again that found a slot between two nodes */
#define NGX_HTTP_SLIDEWIN_REDIS_TRY_AGAIN   5


static void ngx_http_slidewin_redis_cluster_again(ngx_event_t *ev);


ngx_http_slidewin_redis_node_t *
ngx_http_slidewin_redis_cluster_route(
    ngx_http_slidewin_redis_cluster_t *cluster, ngx_uint_t slot)
{
    ngx_uint_t  owner;

    if (cluster->map == NULL) {
        return ngx_http_slidewin_redis_cluster_all_failed(cluster)
                   ? NULL
                   : &cluster->redis->node;
    }

    owner = cluster->map->owner[slot];

    return owner == SW_SLOT_UNOWNED ? NULL : &cluster->members[owner]->node;
}


ngx_http_slidewin_redis_node_t *
ngx_http_slidewin_redis_cluster_redirect(ngx_http_slidewin_redis_node_t *node,
    redisReply *reply, ngx_uint_t *asking)
{
    sw_redirect_t                            redirect;
    ngx_http_slidewin_redis_t               *redis;
    ngx_http_slidewin_redis_cluster_node_t  *member;
    ngx_http_slidewin_redis_cluster_t       *cluster;

    redis = node->redis;
    cluster = redis->cluster;
    *asking = 0;

    if (ngx_http_slidewin_redis_error_is(reply, "TRYAGAIN")) {

        if (!cluster->again.timer_set) {
            ngx_add_timer(&cluster->again, NGX_HTTP_SLIDEWIN_REDIS_TRY_AGAIN);
        }

        /* that a map was waited for in vain is over */

        redis->node.conn.failed = 0;

        return &redis->node;
    }

    if (ngx_http_slidewin_redis_error_is(reply, "MOVED")
        || ngx_http_slidewin_redis_error_is(reply, "CLUSTERDOWN")
        || ngx_http_slidewin_redis_error_is(reply, "READONLY"))
    {
        ngx_http_slidewin_redis_slots_refresh(cluster);
    }

    if (sw_redirect_parse(&redirect, reply->str, reply->len) != SW_OK) {
        return NULL;
    }

    if (redirect.host.len == 0) {
        member = (ngx_http_slidewin_redis_cluster_node_t *) node;
        redirect.host.data = (char *) member->host->host.data;
        redirect.host.len = member->host->host.len;
    }

    member = ngx_http_slidewin_redis_cluster_get_node(cluster,
                                                      redirect.host.data,
                                                      redirect.host.len,
                                                      redirect.port);
    if (member == NULL) {
        return NULL;
    }

    if (!redirect.ask) {
        cluster->map->owner[redirect.slot] = SW_SLOT_UNOWNED;
        ngx_http_slidewin_redis_slots_assign(cluster, member, redirect.slot,
                                             redirect.slot);
    }

    *asking = redirect.ask;

    return &member->node;
}


static void
ngx_http_slidewin_redis_cluster_again(ngx_event_t *ev)
{
    ngx_http_slidewin_redis_cluster_t  *cluster;

    cluster = ev->data;

    ngx_http_slidewin_redis_dispatch_route(cluster->redis);
}


void
ngx_http_slidewin_redis_cluster_ready(
    ngx_http_slidewin_redis_cluster_t *cluster)
{
    cluster->redis->node.conn.failed = 0;

    if (cluster->stale) {
        ngx_http_slidewin_redis_slots_refresh(cluster);
    }
}


void
ngx_http_slidewin_redis_cluster_down(
    ngx_http_slidewin_redis_cluster_t *cluster)
{
    ngx_http_slidewin_redis_slots_refresh(cluster);
    ngx_http_slidewin_redis_slots_fail_waiting(cluster);
}


void
ngx_http_slidewin_redis_cluster_start(
    ngx_http_slidewin_redis_cluster_t *cluster)
{
    cluster->redis->node.redis = cluster->redis;
    cluster->redis->node.conn.endpoint = &cluster->seeds->endpoint;
    ngx_queue_init(&cluster->redis->node.waiting);

    cluster->again.handler = ngx_http_slidewin_redis_cluster_again;
    cluster->again.data = cluster;
    cluster->again.log = ngx_cycle->log;
    cluster->again.cancelable = 1;

    ngx_http_slidewin_redis_slots_start(cluster);
}


void
ngx_http_slidewin_redis_cluster_stop(
    ngx_http_slidewin_redis_cluster_t *cluster)
{
    ngx_http_slidewin_redis_slots_stop(cluster);

    if (cluster->again.timer_set) {
        ngx_del_timer(&cluster->again);
    }

    ngx_http_slidewin_redis_cluster_close_all(cluster);
}


char *
ngx_http_slidewin_redis_cluster_create(ngx_conf_t *cf,
    ngx_http_slidewin_redis_t *redis, sw_url_t *url)
{
    sw_url_t                            hosts;
    ngx_http_slidewin_redis_cluster_t  *cluster;

    cluster = ngx_pcalloc(cf->pool, sizeof(ngx_http_slidewin_redis_cluster_t));
    if (cluster == NULL) {
        return NGX_CONF_ERROR;
    }

    hosts = *url;

    do {
        cluster->nseeds++;
    } while (sw_url_next(&hosts));

    cluster->seeds = ngx_pcalloc(cf->pool, cluster->nseeds
                                 * sizeof(ngx_http_slidewin_redis_dns_t));
    if (cluster->seeds == NULL) {
        return NGX_CONF_ERROR;
    }

    cluster->nseeds = 0;

    do {
        if (ngx_http_slidewin_redis_dns_init(cf,
                                            &cluster->seeds[cluster->nseeds],
                                            url->host.data, url->host.len,
                                            url->port)
            != NGX_OK)
        {
            return NGX_CONF_ERROR;
        }

        cluster->nseeds++;

    } while (sw_url_next(url));

    cluster->redis = redis;

    redis->cluster = cluster;
    redis->access.reply_depth = NGX_HTTP_SLIDEWIN_REDIS_MAP_DEPTH;
    redis->access.reply_memory = NGX_HTTP_SLIDEWIN_REDIS_MAP_MEMORY;
    redis->access.reply_elements = SW_SLOTS;

    return NGX_CONF_OK;
}
