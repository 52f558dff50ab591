
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_slidewin_redis_cluster.h"
#include "ngx_http_slidewin_redis_slots.h"
#include "sw_parse.h"


/* arrays in arrays: the ranges, a range, a node, what is known of a node */
#define NGX_HTTP_SLIDEWIN_REDIS_SLOTS_DEPTH   4

/* enough for each slot as a range of its own, with a replica */
#define NGX_HTTP_SLIDEWIN_REDIS_SLOTS_MEMORY  33554432

/* ms: until a call is routed again that found a slot between two nodes */
#define NGX_HTTP_SLIDEWIN_REDIS_TRY_AGAIN     5


static void ngx_http_slidewin_redis_cluster_node_ready(
    ngx_http_slidewin_redis_node_t *node);
static void ngx_http_slidewin_redis_cluster_node_unusable(
    ngx_http_slidewin_redis_node_t *node);
static void ngx_http_slidewin_redis_cluster_node_down(
    ngx_http_slidewin_redis_node_t *node);
static void ngx_http_slidewin_redis_cluster_try_again(ngx_event_t *ev);


static const ngx_http_slidewin_redis_node_hooks_t
    ngx_http_slidewin_redis_cluster_node_hooks =
{
    ngx_http_slidewin_redis_cluster_node_ready,
    ngx_http_slidewin_redis_cluster_node_unusable,
    ngx_http_slidewin_redis_cluster_node_down
};


ngx_int_t
ngx_http_slidewin_redis_cluster_route(
    ngx_http_slidewin_redis_cluster_t *cluster, ngx_uint_t slot,
    ngx_http_slidewin_redis_node_t **node)
{
    ngx_uint_t  owner;

    *node = NULL;

    if (cluster->slots == NULL) {
        return ngx_http_slidewin_redis_cluster_all_failed(cluster) ? NGX_ERROR
                                                                   : NGX_AGAIN;
    }

    owner = cluster->slots->owner[slot];

    if (owner == SW_SLOT_UNOWNED) {
        return NGX_ERROR;
    }

    *node = &cluster->nodes[owner]->node;

    return NGX_OK;
}


ngx_int_t
ngx_http_slidewin_redis_cluster_redirect(
    ngx_http_slidewin_redis_cluster_t *cluster,
    ngx_http_slidewin_redis_node_t *node, redisReply *reply,
    ngx_http_slidewin_redis_node_t **next, ngx_uint_t *asking)
{
    sw_redirect_t                            redirect;
    ngx_http_slidewin_redis_cluster_node_t  *cnode;

    *next = NULL;
    *asking = 0;

    if (ngx_http_slidewin_redis_error_is(reply, "TRYAGAIN")) {

        if (!cluster->try_again.timer_set) {
            ngx_add_timer(&cluster->try_again,
                          NGX_HTTP_SLIDEWIN_REDIS_TRY_AGAIN);
        }

        cluster->wait_failed = 0;

        return NGX_AGAIN;
    }

    if (ngx_http_slidewin_redis_error_is(reply, "MOVED")
        || ngx_http_slidewin_redis_error_is(reply, "CLUSTERDOWN")
        || ngx_http_slidewin_redis_error_is(reply, "READONLY"))
    {
        ngx_http_slidewin_redis_slots_refresh(cluster);
    }

    if (sw_redirect_parse(&redirect, reply->str, reply->len) != SW_OK) {
        return NGX_DECLINED;
    }

    if (redirect.host.len == 0) {
        cnode = (ngx_http_slidewin_redis_cluster_node_t *) node;
        redirect.host.data = (char *) cnode->host->host.data;
        redirect.host.len = cnode->host->host.len;
    }

    cnode = ngx_http_slidewin_redis_cluster_get_node(cluster,
                                                     redirect.host.data,
                                                     redirect.host.len,
                                                     redirect.port);
    if (cnode == NULL) {
        return NGX_DECLINED;
    }

    if (!redirect.ask) {
        cluster->slots->owner[redirect.slot] = SW_SLOT_UNOWNED;
        ngx_http_slidewin_redis_slots_assign(cluster, cnode, redirect.slot,
                                             redirect.slot);
    }

    *next = &cnode->node;
    *asking = redirect.ask;

    return NGX_OK;
}


ngx_uint_t
ngx_http_slidewin_redis_cluster_may_wait(
    ngx_http_slidewin_redis_cluster_t *cluster)
{
    return !cluster->wait_failed;
}


void
ngx_http_slidewin_redis_cluster_log_error(
    ngx_http_slidewin_redis_cluster_t *cluster, const char *what,
    const char *reason, size_t len)
{
    ngx_http_slidewin_redis_log_error(&cluster->seeds->endpoint.name,
                                      &cluster->logged, what, reason, len);
}


static void
ngx_http_slidewin_redis_cluster_try_again(ngx_event_t *ev)
{
    ngx_http_slidewin_redis_cluster_t  *cluster;

    cluster = ev->data;

    cluster->hooks->slots_known(cluster);
}


static void
ngx_http_slidewin_redis_cluster_node_ready(
    ngx_http_slidewin_redis_node_t *node)
{
    ngx_http_slidewin_redis_cluster_t  *cluster;

    cluster = ((ngx_http_slidewin_redis_cluster_node_t *) node)->cluster;

    cluster->hooks->node_ready(node);

    cluster->wait_failed = 0;

    if (cluster->stale) {
        ngx_http_slidewin_redis_slots_refresh(cluster);
    }
}


static void
ngx_http_slidewin_redis_cluster_node_unusable(
    ngx_http_slidewin_redis_node_t *node)
{
    ngx_http_slidewin_redis_cluster_t  *cluster;

    cluster = ((ngx_http_slidewin_redis_cluster_node_t *) node)->cluster;

    cluster->hooks->node_unusable(node);
}


static void
ngx_http_slidewin_redis_cluster_node_down(ngx_http_slidewin_redis_node_t *node)
{
    ngx_http_slidewin_redis_cluster_t  *cluster;

    cluster = ((ngx_http_slidewin_redis_cluster_node_t *) node)->cluster;

    ngx_http_slidewin_redis_slots_refresh(cluster);
    ngx_http_slidewin_redis_slots_fail_waiting(cluster);
}


void
ngx_http_slidewin_redis_cluster_start(
    ngx_http_slidewin_redis_cluster_t *cluster, ngx_msec_t timeout,
    const ngx_http_slidewin_redis_cluster_hooks_t *hooks)
{
    cluster->hooks = hooks;
    cluster->node_hooks = &ngx_http_slidewin_redis_cluster_node_hooks;
    cluster->timeout = timeout;

    ngx_queue_init(&cluster->waiting);

    cluster->try_again.handler = ngx_http_slidewin_redis_cluster_try_again;
    cluster->try_again.data = cluster;
    cluster->try_again.log = ngx_cycle->log;
    cluster->try_again.cancelable = 1;

    ngx_http_slidewin_redis_slots_start(cluster);
}


void
ngx_http_slidewin_redis_cluster_stop(
    ngx_http_slidewin_redis_cluster_t *cluster)
{
    ngx_http_slidewin_redis_slots_stop(cluster);

    if (cluster->try_again.timer_set) {
        ngx_del_timer(&cluster->try_again);
    }

    cluster->hooks->slots_failed(cluster);
    ngx_http_slidewin_redis_cluster_close_all(cluster);
}


ngx_http_slidewin_redis_cluster_t *
ngx_http_slidewin_redis_cluster_create(ngx_conf_t *cf,
    ngx_http_slidewin_redis_access_t *access, sw_url_t *url)
{
    sw_url_t                            hosts;
    ngx_http_slidewin_redis_cluster_t  *cluster;

    cluster = ngx_pcalloc(cf->pool, sizeof(ngx_http_slidewin_redis_cluster_t));
    if (cluster == NULL) {
        return NULL;
    }

    hosts = *url;

    do {
        cluster->nseeds++;
    } while (sw_url_next(&hosts));

    cluster->seeds = ngx_pcalloc(cf->pool, cluster->nseeds
                                 * sizeof(ngx_http_slidewin_redis_dns_t));
    if (cluster->seeds == NULL) {
        return NULL;
    }

    cluster->nseeds = 0;

    do {
        if (ngx_http_slidewin_redis_dns_init(cf,
                                            &cluster->seeds[cluster->nseeds],
                                            url->host.data, url->host.len,
                                            url->port)
            != NGX_OK)
        {
            return NULL;
        }

        cluster->nseeds++;

    } while (sw_url_next(url));

    cluster->access = access;

    access->reply_depth = NGX_HTTP_SLIDEWIN_REDIS_SLOTS_DEPTH;
    access->reply_memory = NGX_HTTP_SLIDEWIN_REDIS_SLOTS_MEMORY;
    access->reply_elements = SW_SLOTS;

    return cluster;
}
