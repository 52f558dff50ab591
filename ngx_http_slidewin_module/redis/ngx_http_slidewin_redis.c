
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_slidewin_redis_call.h"
#include "ngx_http_slidewin_redis_cluster.h"
#include "ngx_http_slidewin_redis_command.h"
#include "ngx_http_slidewin_redis_node.h"
#include "ngx_http_slidewin_redis_timeout.h"


/* checks that wait, for each connection that the worker may have */
#define NGX_HTTP_SLIDEWIN_REDIS_CROWD       16

/* what is sent to a node and not answered: by all workers, by one at least */
#define NGX_HTTP_SLIDEWIN_REDIS_FLIGHT      1024
#define NGX_HTTP_SLIDEWIN_REDIS_FLIGHT_MIN  64


static ngx_int_t ngx_http_slidewin_redis_take(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_redis_peek(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_redis_reset(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_redis_give_back(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_redis_ask(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call, ngx_http_slidewin_redis_verb_e verb);
static ngx_uint_t ngx_http_slidewin_redis_shard(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t *claim);
static ngx_int_t ngx_http_slidewin_redis_init_process(
    ngx_http_slidewin_store_t *store);
static void ngx_http_slidewin_redis_exit_process(
    ngx_http_slidewin_store_t *store);


const ngx_http_slidewin_backend_t  ngx_http_slidewin_redis_backend = {
    ngx_http_slidewin_redis_take,
    ngx_http_slidewin_redis_peek,
    ngx_http_slidewin_redis_reset,
    ngx_http_slidewin_redis_give_back,
    ngx_http_slidewin_redis_call_cancel,
    ngx_http_slidewin_redis_call_reassign,
    ngx_http_slidewin_redis_shard,
    ngx_http_slidewin_redis_init_process,
    ngx_http_slidewin_redis_exit_process
};


static ngx_int_t
ngx_http_slidewin_redis_take(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    return ngx_http_slidewin_redis_ask(store, call,
                                       NGX_HTTP_SLIDEWIN_REDIS_VERB_TAKE);
}


/* one in dry run that can never pass leaves all in dry run uncounted */

static ngx_int_t
ngx_http_slidewin_redis_peek(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    ngx_uint_t                  i;
    ngx_http_slidewin_claim_t  *never;

    never = call->claims[call->n];

    *never = *call->claims[0];
    never->cost = never->rule.limit + 1;

    call->n++;

    for (i = 0; i < call->n; i++) {
        call->claims[i]->dry_run = 1;
        call->claims[i]->prefetch = 0;
    }

    return ngx_http_slidewin_redis_ask(store, call,
                                       NGX_HTTP_SLIDEWIN_REDIS_VERB_TAKE);
}


static ngx_int_t
ngx_http_slidewin_redis_reset(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    return ngx_http_slidewin_redis_ask(store, call,
                                       NGX_HTTP_SLIDEWIN_REDIS_VERB_RESET);
}


static ngx_int_t
ngx_http_slidewin_redis_give_back(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    return ngx_http_slidewin_redis_ask(store, call,
                                     NGX_HTTP_SLIDEWIN_REDIS_VERB_GIVE_BACK);
}


static ngx_int_t
ngx_http_slidewin_redis_ask(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call, ngx_http_slidewin_redis_verb_e verb)
{
    return ngx_http_slidewin_redis_call_start(store->data, call, verb);
}


/* a script of a cluster has its keys in one slot */

static ngx_uint_t
ngx_http_slidewin_redis_shard(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim)
{
    ngx_http_slidewin_redis_t  *redis;

    redis = store->data;

    return redis->cluster ? ngx_http_slidewin_redis_slot(redis, claim) : 0;
}


static ngx_int_t
ngx_http_slidewin_redis_init_process(ngx_http_slidewin_store_t *store)
{
    ngx_uint_t                           i;
    ngx_core_conf_t                     *ccf;
    ngx_http_slidewin_redis_t           *redis;
    ngx_http_slidewin_redis_endpoint_t  *endpoint;

    redis = store->data;

    ccf = (ngx_core_conf_t *) ngx_get_conf(ngx_cycle->conf_ctx,
                                           ngx_core_module);

    redis->checks_max = ngx_cycle->connection_n
                        * NGX_HTTP_SLIDEWIN_REDIS_CROWD;
    redis->flight_max = ngx_max(NGX_HTTP_SLIDEWIN_REDIS_FLIGHT
                                / ccf->worker_processes,
                                NGX_HTTP_SLIDEWIN_REDIS_FLIGHT_MIN);

    /*
     * so that calls of different workers do not bear the same number; below
     * 2^53, which is as far as Lua counts
     */

    redis->number = (int64_t) (ngx_pid & 0xfffff) << 32;

    ngx_http_slidewin_redis_timeouts_init(redis);

    for (i = 0; i < NGX_HTTP_SLIDEWIN_REDIS_GROUPS; i++) {
        ngx_queue_init(&redis->groups[i]);
    }

    if (redis->cluster) {
        ngx_http_slidewin_redis_cluster_start(redis->cluster);
        return NGX_OK;
    }

    endpoint = &redis->host.endpoint;

    if (redis->sentinel) {
        ngx_http_slidewin_redis_sentinel_start(redis->sentinel,
                                               &redis->access);
        endpoint = &redis->sentinel->endpoint;
    }

    ngx_http_slidewin_redis_node_start(&redis->node, redis, endpoint);

    return NGX_OK;
}


static void
ngx_http_slidewin_redis_exit_process(ngx_http_slidewin_store_t *store)
{
    ngx_http_slidewin_redis_t  *redis;

    redis = store->data;

    if (redis->cluster) {
        ngx_http_slidewin_redis_cluster_stop(redis->cluster);

    } else {
        ngx_http_slidewin_redis_node_stop(&redis->node);
    }

    if (redis->sentinel) {
        ngx_http_slidewin_redis_sentinel_stop(redis->sentinel);
    }

    ngx_http_slidewin_redis_calls_free_spare();
}
