
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_slidewin_redis_cluster_nodes.h"
#include "ngx_http_slidewin_redis_node.h"


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
    ngx_http_slidewin_redis_cluster_node_t *member);


ngx_http_slidewin_redis_cluster_node_t *
ngx_http_slidewin_redis_cluster_get_node(
    ngx_http_slidewin_redis_cluster_t *cluster, const char *host, size_t len,
    ngx_uint_t port)
{
    ngx_uint_t                               i, place;
    ngx_http_slidewin_redis_cluster_node_t  *member;

    endpoint = cluster->n;

    for (i = 0; i < cluster->n; i++) {
        member = cluster->members[i];

        if (member == NULL) {
            place = i;

        } else if (member->host->port == port
                   && ngx_http_slidewin_redis_cluster_node_is(member->host,
                                                              host, len))
        {
            return member;
        }
    }

    if (place == NGX_HTTP_SLIDEWIN_REDIS_NODES_MAX
        || !sw_slot_host(host, len))
    {
        return NULL;
    }

    member = ngx_http_slidewin_redis_cluster_node_create(cluster, host, len,
                                                         port);

    if (member) {
        cluster->members[place] = member;
        cluster->n = ngx_max(cluster->n, place + 1);
        member->index = place;

        ngx_http_slidewin_redis_node_start(&member->node, cluster->redis,
                                           &member->host->endpoint);
    }

    return member;
}


static ngx_http_slidewin_redis_cluster_node_t *
ngx_http_slidewin_redis_cluster_node_create(
    ngx_http_slidewin_redis_cluster_t *cluster, const char *host, size_t len,
    ngx_uint_t port)
{
    ngx_pool_t                              *pool;
    ngx_http_slidewin_redis_cluster_node_t  *member;

    pool = ngx_create_pool(2048, ngx_cycle->log);
    if (pool == NULL) {
        return NULL;
    }

    member = ngx_pcalloc(pool, sizeof(ngx_http_slidewin_redis_cluster_node_t));

    if (member) {
        member->pool = pool;
        member->host = ngx_http_slidewin_redis_cluster_node_dns(cluster, pool,
                                                                host, len,
                                                                port);
    }

    if (member == NULL || member->host == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    return member;
}


/* without a resolver a name is known if the URL has it, with any port */

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


/* nobody twice who has not answered */

ngx_http_slidewin_redis_cluster_node_t *
ngx_http_slidewin_redis_cluster_pick_node(
    ngx_http_slidewin_redis_cluster_t *cluster, ngx_uint_t mapped)
{
    ngx_uint_t                               i;
    ngx_http_slidewin_redis_cluster_node_t  *member;

    for (i = 1; i <= cluster->n; i++) {
        member = cluster->members[(cluster->last + i) % cluster->n];

        if (member && !member->asked && (member->mapped || !mapped)
            && member->node.conn.state == NGX_HTTP_SLIDEWIN_REDIS_READY)
        {
            return member;
        }
    }

    return NULL;
}


ngx_uint_t
ngx_http_slidewin_redis_cluster_all_failed(
    ngx_http_slidewin_redis_cluster_t *cluster)
{
    ngx_uint_t                               i;
    ngx_http_slidewin_redis_cluster_node_t  *member;

    for (i = 0; i < cluster->n; i++) {
        member = cluster->members[i];

        if (member && !member->node.conn.failed && !member->useless) {
            return 0;
        }
    }

    return 1;
}


/*
 * Nodes without slots and without calls; while no other can be asked they are
 * kept to tell who has the slots.
 */

ngx_uint_t
ngx_http_slidewin_redis_cluster_close_unused(
    ngx_http_slidewin_redis_cluster_t *cluster)
{
    ngx_uint_t                               i, keep, left;
    ngx_http_slidewin_redis_cluster_node_t  *member;

    keep = (ngx_http_slidewin_redis_cluster_pick_node(cluster, 1) == NULL);
    left = 0;

    for (i = 0; i < cluster->n; i++) {
        member = cluster->members[i];

        if (member == NULL || member->mapped) {
            continue;
        }

        if (keep || member->asked || member->node.checks
            || member->node.changes)
        {
            left = 1;
            continue;
        }

        if (member->owned) {
            ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                          "slidewin redis %V has no slots any more",
                          &member->host->endpoint.name);
        }

        ngx_http_slidewin_redis_cluster_node_close(cluster, member);
    }

    return left;
}


void
ngx_http_slidewin_redis_cluster_close_all(
    ngx_http_slidewin_redis_cluster_t *cluster)
{
    ngx_uint_t  i;

    /* the calls of one may be booked on another: all end before any is freed */

    for (i = 0; i < cluster->n; i++) {
        if (cluster->members[i]) {
            ngx_http_slidewin_redis_node_stop(&cluster->members[i]->node);
        }
    }

    for (i = 0; i < cluster->n; i++) {
        if (cluster->members[i]) {
            ngx_http_slidewin_redis_cluster_node_close(cluster,
                                                       cluster->members[i]);
        }
    }
}


static void
ngx_http_slidewin_redis_cluster_node_close(
    ngx_http_slidewin_redis_cluster_t *cluster,
    ngx_http_slidewin_redis_cluster_node_t *member)
{
    ngx_http_slidewin_redis_node_stop(&member->node);
    ngx_http_slidewin_redis_dns_forget(member->host);

    cluster->members[member->index] = NULL;
    ngx_destroy_pool(member->pool);
}
