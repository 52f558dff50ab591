
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_slidewin_redis_cluster_nodes.h"


static ngx_http_slidewin_redis_cluster_node_t *
    ngx_http_slidewin_redis_cluster_node_create(
    ngx_http_slidewin_redis_cluster_t *cluster, const char *host, size_t len,
    ngx_uint_t port);
static ngx_http_slidewin_redis_dns_t *ngx_http_slidewin_redis_cluster_node_dns(
    ngx_http_slidewin_redis_cluster_t *cluster, ngx_pool_t *pool,
    const char *name, size_t len, ngx_uint_t port);
static ngx_uint_t ngx_http_slidewin_redis_cluster_node_is(
    ngx_http_slidewin_redis_dns_t *host, const char *name, size_t len);
static void ngx_http_slidewin_redis_cluster_node_close(
    ngx_http_slidewin_redis_cluster_t *cluster,
    ngx_http_slidewin_redis_cluster_node_t *cnode);


ngx_http_slidewin_redis_cluster_node_t *
ngx_http_slidewin_redis_cluster_get_node(
    ngx_http_slidewin_redis_cluster_t *cluster, const char *host, size_t len,
    ngx_uint_t port)
{
    ngx_uint_t                               i, index;
    ngx_http_slidewin_redis_cluster_node_t  *cnode;

    index = cluster->n;

    for (i = 0; i < cluster->n; i++) {
        cnode = cluster->nodes[i];

        if (cnode == NULL) {
            index = i;

        } else if (cnode->host->port == port
                   && ngx_http_slidewin_redis_cluster_node_is(cnode->host,
                                                              host, len))
        {
            return cnode;
        }
    }

    if (index == NGX_HTTP_SLIDEWIN_REDIS_NODES_MAX
        || !sw_slot_host(host, len))
    {
        return NULL;
    }

    cnode = ngx_http_slidewin_redis_cluster_node_create(cluster, host, len,
                                                        port);

    if (cnode) {
        cluster->nodes[index] = cnode;
        cluster->n = ngx_max(cluster->n, index + 1);
        cnode->index = index;

        ngx_http_slidewin_redis_node_start(&cnode->node, &cnode->host->endpoint,
                                           cluster->access, cluster->timeout,
                                           cluster->node_hooks);
    }

    return cnode;
}


static ngx_http_slidewin_redis_cluster_node_t *
ngx_http_slidewin_redis_cluster_node_create(
    ngx_http_slidewin_redis_cluster_t *cluster, const char *host, size_t len,
    ngx_uint_t port)
{
    ngx_pool_t                              *pool;
    ngx_http_slidewin_redis_cluster_node_t  *cnode;

    pool = ngx_create_pool(2048, ngx_cycle->log);
    if (pool == NULL) {
        return NULL;
    }

    cnode = ngx_pcalloc(pool, sizeof(ngx_http_slidewin_redis_cluster_node_t));

    if (cnode) {
        cnode->pool = pool;
        cnode->cluster = cluster;
        cnode->host = ngx_http_slidewin_redis_cluster_node_dns(cluster, pool,
                                                                host, len,
                                                                port);
    }

    if (cnode == NULL || cnode->host == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    return cnode;
}


/* without a resolver a name is known if the URL has it, whatever the port */

static ngx_http_slidewin_redis_dns_t *
ngx_http_slidewin_redis_cluster_node_dns(
    ngx_http_slidewin_redis_cluster_t *cluster, ngx_pool_t *pool,
    const char *name, size_t len, ngx_uint_t port)
{
    ngx_uint_t                      i;
    ngx_http_slidewin_redis_dns_t  *host, *seed, *known;

    known = NULL;

    for (i = 0; i < cluster->nseeds; i++) {
        seed = &cluster->seeds[i];

        if (ngx_http_slidewin_redis_cluster_node_is(seed, name, len)) {

            if (seed->port == port) {
                return seed;
            }

            known = seed;
        }
    }

    host = ngx_pcalloc(pool, sizeof(ngx_http_slidewin_redis_dns_t));

    if (host == NULL
        || ngx_http_slidewin_redis_dns_make(pool, host, name, len, port)
           != NGX_OK)
    {
        return NULL;
    }

    host->clcf = cluster->seeds->clcf;

    if (known) {
        host->addresses = known->addresses;
    }

    return host;
}


static ngx_uint_t
ngx_http_slidewin_redis_cluster_node_is(ngx_http_slidewin_redis_dns_t *host,
    const char *name, size_t len)
{
    return host->host.len == len
           && ngx_strncmp(host->host.data, name, len) == 0;
}


void
ngx_http_slidewin_redis_cluster_add_seeds(
    ngx_http_slidewin_redis_cluster_t *cluster)
{
    ngx_uint_t                      i;
    ngx_http_slidewin_redis_dns_t  *seed;

    for (i = 0; i < cluster->nseeds; i++) {
        seed = &cluster->seeds[i];

        (void) ngx_http_slidewin_redis_cluster_get_node(
            cluster, (char *) seed->host.data, seed->host.len, seed->port);
    }
}


/* not a node that has yet to reply to an earlier request */

ngx_http_slidewin_redis_cluster_node_t *
ngx_http_slidewin_redis_cluster_pick_node(
    ngx_http_slidewin_redis_cluster_t *cluster, ngx_uint_t has_slots)
{
    ngx_uint_t                               i;
    ngx_http_slidewin_redis_cluster_node_t  *cnode;

    for (i = 1; i <= cluster->n; i++) {
        cnode = cluster->nodes[(cluster->last_index + i) % cluster->n];

        if (cnode && !cnode->slots_pending && (cnode->has_slots || !has_slots)
            && cnode->node.conn.state == NGX_HTTP_SLIDEWIN_REDIS_READY)
        {
            return cnode;
        }
    }

    return NULL;
}


ngx_uint_t
ngx_http_slidewin_redis_cluster_all_failed(
    ngx_http_slidewin_redis_cluster_t *cluster)
{
    ngx_uint_t                               i;
    ngx_http_slidewin_redis_cluster_node_t  *cnode;

    for (i = 0; i < cluster->n; i++) {
        cnode = cluster->nodes[i];

        if (cnode && !cnode->node.conn.failed && !cnode->no_slots_reply) {
            return 0;
        }
    }

    return 1;
}


/*
 * Nodes without slots and without calls are closed, unless no other can be
 * asked for the slots.
 */

ngx_uint_t
ngx_http_slidewin_redis_cluster_close_unused(
    ngx_http_slidewin_redis_cluster_t *cluster)
{
    ngx_uint_t                               i, keep, left;
    ngx_http_slidewin_redis_cluster_node_t  *cnode;

    keep = (ngx_http_slidewin_redis_cluster_pick_node(cluster, 1) == NULL);
    left = 0;

    for (i = 0; i < cluster->n; i++) {
        cnode = cluster->nodes[i];

        if (cnode == NULL || cnode->has_slots) {
            continue;
        }

        if (keep || cnode->slots_pending || cnode->node.checks
            || cnode->node.changes)
        {
            left = 1;
            continue;
        }

        if (cnode->had_slots) {
            ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                          "slidewin redis %V has no slots any more",
                          &cnode->host->endpoint.name);
        }

        ngx_http_slidewin_redis_cluster_node_close(cluster, cnode);
    }

    return left;
}


void
ngx_http_slidewin_redis_cluster_close_all(
    ngx_http_slidewin_redis_cluster_t *cluster)
{
    ngx_uint_t  i;

    /* a call to one node may go to another: all stop before any is freed */

    for (i = 0; i < cluster->n; i++) {
        if (cluster->nodes[i]) {
            ngx_http_slidewin_redis_node_stop(&cluster->nodes[i]->node);
        }
    }

    for (i = 0; i < cluster->n; i++) {
        if (cluster->nodes[i]) {
            ngx_http_slidewin_redis_cluster_node_close(cluster,
                                                       cluster->nodes[i]);
        }
    }
}


static void
ngx_http_slidewin_redis_cluster_node_close(
    ngx_http_slidewin_redis_cluster_t *cluster,
    ngx_http_slidewin_redis_cluster_node_t *cnode)
{
    ngx_http_slidewin_redis_node_stop(&cnode->node);
    ngx_http_slidewin_redis_dns_forget(cnode->host);

    cluster->nodes[cnode->index] = NULL;
    ngx_destroy_pool(cnode->pool);
}
