
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_redis.h"
#include "ngx_http_slidewin_redis_batch.h"
#include "ngx_http_slidewin_redis_command.h"
#include "ngx_http_slidewin_redis_dispatch.h"
#include "ngx_http_slidewin_redis_timeout.h"


/* checks under way, for each connection that the worker may have */
#define NGX_HTTP_SLIDEWIN_REDIS_CHECKS        16

/* calls sent to a node without a reply: of all workers, of one at least */
#define NGX_HTTP_SLIDEWIN_REDIS_INFLIGHT      1024
#define NGX_HTTP_SLIDEWIN_REDIS_INFLIGHT_MIN  64


static ngx_int_t ngx_http_slidewin_redis_take(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_redis_peek(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_redis_reset(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_redis_give_back(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_redis_charge(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_redis_ask(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call, ngx_http_slidewin_redis_verb_e verb);
static void ngx_http_slidewin_redis_too_many(ngx_http_slidewin_store_t *store,
    ngx_uint_t check);
static void ngx_http_slidewin_redis_cancel(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_redis_reassign(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call,
    ngx_http_slidewin_call_t *replacement);
static ngx_uint_t ngx_http_slidewin_redis_shard(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t *claim);
static void ngx_http_slidewin_redis_status(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_store_status_t *status);
static void ngx_http_slidewin_redis_node_status(
    ngx_http_slidewin_redis_node_t *node,
    ngx_http_slidewin_store_status_t *status);
static ngx_int_t ngx_http_slidewin_redis_init_process(
    ngx_http_slidewin_store_t *store);
static void ngx_http_slidewin_redis_exit_process(
    ngx_http_slidewin_store_t *store);


const ngx_http_slidewin_backend_t  ngx_http_slidewin_redis_backend = {
    ngx_http_slidewin_redis_take,
    ngx_http_slidewin_redis_peek,
    ngx_http_slidewin_redis_reset,
    ngx_http_slidewin_redis_give_back,
    ngx_http_slidewin_redis_charge,
    ngx_http_slidewin_redis_cancel,
    ngx_http_slidewin_redis_reassign,
    ngx_http_slidewin_redis_shard,
    ngx_http_slidewin_redis_status,
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


/*
 * A dry-run claim that can never pass leaves all dry-run claims uncounted.  It
 * is of no zone: a rejection may write what other rates have counted anew.
 */

static ngx_int_t
ngx_http_slidewin_redis_peek(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    ngx_uint_t                  i;
    ngx_http_slidewin_claim_t  *never;

    never = call->claims[call->n];

    *never = *call->claims[0];
    never->name.len = 0;
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


/*
 * The scripts prefetch as many units as there is room for: with the highest
 * limit there may be, a take counts all that the state can hold.  A client that
 * was banned meanwhile is charged as well.
 */

static ngx_int_t
ngx_http_slidewin_redis_charge(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    ngx_http_slidewin_claim_t  *claim;

    claim = call->claims[0];

    claim->rule.limit = sw_rule_most(&claim->rule);
    claim->prefetch = claim->cost - 1;
    claim->cost = 1;
    claim->dry_run = 0;
    claim->ban = NULL;

    return ngx_http_slidewin_redis_ask(store, call,
                                       NGX_HTTP_SLIDEWIN_REDIS_VERB_CHARGE);
}


static ngx_int_t
ngx_http_slidewin_redis_ask(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call, ngx_http_slidewin_redis_verb_e verb)
{
    uint32_t                         hash;
    ngx_str_t                        key;
    ngx_int_t                        rc;
    ngx_uint_t                       check, slot;
    ngx_http_slidewin_redis_t       *redis;
    ngx_http_slidewin_redis_node_t  *node;
    ngx_http_slidewin_redis_call_t  *rcall, *leader;

    redis = store->data;
    check = (verb == NGX_HTTP_SLIDEWIN_REDIS_VERB_TAKE);
    node = &redis->node;
    slot = 0;
    rc = NGX_OK;

    if (redis->cluster) {
        slot = ngx_http_slidewin_redis_command_slot(redis, call->claims[0]);
        rc = ngx_http_slidewin_redis_cluster_route(redis->cluster, slot,
                                                   &node);
    }

    if (check && redis->checks >= redis->checks_max) {
        ngx_http_slidewin_redis_too_many(store, check);
        return NGX_BUSY;
    }

    if (rc == NGX_ERROR
        || !ngx_http_slidewin_redis_dispatch_may_send(redis, node, check))
    {
        return NGX_ERROR;
    }

    /* clients cause these; resets are few, and operators wait for them */

    if (verb >= NGX_HTTP_SLIDEWIN_REDIS_VERB_GIVE_BACK
        && (node ? node->changes : redis->cluster->changes)
           >= NGX_HTTP_SLIDEWIN_REDIS_CHANGES_MAX)
    {
        ngx_http_slidewin_redis_too_many(store, check);
        return NGX_BUSY;
    }

    ngx_str_set(&key, "");
    hash = 0;
    leader = NULL;

    /* a check that probes whether the node is well goes alone */

    if (check
        && (node == NULL || node->breaker.state == SW_BREAKER_CLOSED))
    {
        ngx_http_slidewin_redis_batch_key(call, &key);
    }

    if (key.len) {
        hash = ngx_murmur_hash2(call->claims[0]->key.data,
                                call->claims[0]->key.len);
        leader = ngx_http_slidewin_redis_batch_find(redis, &key, hash);
    }

    rcall = ngx_http_slidewin_redis_call_create(&key, call->log);
    if (rcall == NULL) {
        if (check && node) {
            ngx_http_slidewin_redis_node_probe_lost(node);
        }

        return NGX_ERROR;
    }

    rcall->redis = redis;
    rcall->node = node;
    rcall->call = call;
    rcall->change = !check;
    rcall->verb = verb;
    rcall->slot = slot;
    rcall->number = ++redis->number;
    rcall->batch_hash = hash;

    if (leader) {
        ngx_log_debug2(NGX_LOG_DEBUG_HTTP, call->log, 0,
                       "slidewin redis follow: call %L follows call %L",
                       rcall->number, leader->number);

        ngx_queue_insert_tail(&leader->followers, &rcall->queue);
        rcall->follows = 1;

    } else if (ngx_http_slidewin_redis_dispatch_submit(rcall) != NGX_OK) {
        ngx_http_slidewin_redis_call_free(rcall);
        return NGX_ERROR;

    } else {
        ngx_http_slidewin_redis_batch_open(rcall);
    }

    ngx_http_slidewin_redis_call_begin(rcall);

    /* refunds and charges, which no request waits for, have time for room */

    if (!rcall->sent
        && (rcall->deadline_final
            || verb < NGX_HTTP_SLIDEWIN_REDIS_VERB_GIVE_BACK))
    {
        ngx_http_slidewin_redis_call_set_deadline(rcall,
                                                ngx_http_slidewin_clock_us());
    }

    return NGX_AGAIN;
}


static void
ngx_http_slidewin_redis_too_many(ngx_http_slidewin_store_t *store,
    ngx_uint_t check)
{
    const char                 *what;
    ngx_http_slidewin_redis_t  *redis;

    redis = store->data;
    what = check ? "too many checks wait" : "too many refunds or charges wait";

    ngx_http_slidewin_stats_error(store->counters,
                                  NGX_HTTP_SLIDEWIN_ERROR_OVERLOAD);

    if (redis->cluster) {
        ngx_http_slidewin_redis_cluster_log_error(redis->cluster,
                                             NGX_HTTP_SLIDEWIN_REDIS_TOO_MANY,
                                             what, ngx_strlen(what));
        return;
    }

    ngx_http_slidewin_redis_node_log_error(&redis->node,
                                           NGX_HTTP_SLIDEWIN_REDIS_TOO_MANY,
                                           what, ngx_strlen(what));
}


static void
ngx_http_slidewin_redis_cancel(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    ngx_http_slidewin_redis_call_t  *rcall;

    rcall = call->pending;

    call->pending = NULL;
    rcall->call = NULL;

    if (rcall->ended) {
        ngx_delete_posted_event(&rcall->event);
        ngx_http_slidewin_redis_call_free(rcall);

    } else if (rcall->follows) {
        ngx_http_slidewin_redis_dispatch_unfollow(rcall);

    } else if (!rcall->sent) {
        ngx_http_slidewin_redis_dispatch_fail_unsent(rcall);
    }

    /* a call that is sent keeps its deadline: it watches the connection */
}


static ngx_int_t
ngx_http_slidewin_redis_reassign(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call, ngx_http_slidewin_call_t *replacement)
{
    ngx_http_slidewin_redis_call_t  *rcall;

    rcall = call->pending;

    if (!rcall->sent && !rcall->ended) {
        return NGX_DECLINED;
    }

    rcall->call = replacement;
    replacement->pending = rcall;
    call->pending = NULL;

    return NGX_OK;
}


/* all keys of a script must be in one slot of a cluster */

static ngx_uint_t
ngx_http_slidewin_redis_shard(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim)
{
    ngx_http_slidewin_redis_t  *redis;

    redis = store->data;

    return redis->cluster ? ngx_http_slidewin_redis_command_slot(redis, claim)
                          : 0;
}


static void
ngx_http_slidewin_redis_status(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_store_status_t *status)
{
    ngx_uint_t                               i;
    ngx_http_slidewin_redis_t               *redis;
    ngx_http_slidewin_redis_cluster_t       *cluster;
    ngx_http_slidewin_redis_cluster_node_t  *node;

    redis = store->data;
    cluster = redis->cluster;

    ngx_memzero(status, sizeof(ngx_http_slidewin_store_status_t));

    status->in_flight = redis->checks;
    status->timeout = redis->timeout;
    status->slots = -1;

    if (cluster == NULL) {
        ngx_http_slidewin_redis_node_status(&redis->node, status);

        /* where it was tried last: just then an operator wants to know */

        if (status->connected == 0) {
            (void) ngx_cpystrn(status->address, redis->node.conn.address,
                               sizeof(status->address));
        }

        return;
    }

    status->slots = cluster->slots ? SW_SLOTS - cluster->unassigned : 0;

    for (i = 0; i < cluster->n; i++) {
        node = cluster->nodes[i];

        if (node && node->has_slots) {
            ngx_http_slidewin_redis_node_status(&node->node, status);
        }
    }

    /* the nodes are not known yet, or not any more */

    if (status->needed == 0) {
        status->needed = 1;
    }
}


/* adds one node; addresses are listed as long as there is room */

static void
ngx_http_slidewin_redis_node_status(ngx_http_slidewin_redis_node_t *node,
    ngx_http_slidewin_store_status_t *status)
{
    size_t   len;
    u_char  *p, *last;

    status->needed++;

    status->open += (node->breaker.state == SW_BREAKER_OPEN);
    status->probing += (node->breaker.state == SW_BREAKER_PROBING);

    if (node->conn.state != NGX_HTTP_SLIDEWIN_REDIS_READY) {
        return;
    }

    status->connected++;

    len = ngx_strlen(status->address);
    p = status->address + len;
    last = status->address + sizeof(status->address) - 1;

    (void) ngx_slprintf(p, last, "%s%s", len ? "," : "",
                        node->conn.address);
}


static ngx_int_t
ngx_http_slidewin_redis_init_process(ngx_http_slidewin_store_t *store)
{
    ngx_uint_t                           i;
    ngx_core_conf_t                     *ccf;
    ngx_http_slidewin_redis_t           *redis;
    ngx_http_slidewin_redis_endpoint_t  *endpoint;

    redis = store->data;
    redis->access.counters = store->counters;

    ccf = (ngx_core_conf_t *) ngx_get_conf(ngx_cycle->conf_ctx,
                                           ngx_core_module);

    redis->checks_max = ngx_cycle->connection_n
                        * NGX_HTTP_SLIDEWIN_REDIS_CHECKS;
    redis->inflight_max = ngx_max(NGX_HTTP_SLIDEWIN_REDIS_INFLIGHT
                                  / ccf->worker_processes,
                                  NGX_HTTP_SLIDEWIN_REDIS_INFLIGHT_MIN);

    /*
     * calls of different workers have different numbers, below 2^53: Lua
     * counts no further
     */

    redis->number = (int64_t) (ngx_pid & 0xfffff) << 32;

    ngx_http_slidewin_redis_timeouts_init(redis);

    for (i = 0; i < NGX_HTTP_SLIDEWIN_REDIS_BATCHES; i++) {
        ngx_queue_init(&redis->batches[i]);
    }

    if (redis->cluster) {
        ngx_http_slidewin_redis_cluster_start(redis->cluster, redis->timeout,
                             &ngx_http_slidewin_redis_dispatch_cluster_hooks);
        return NGX_OK;
    }

    endpoint = &redis->host.endpoint;

    if (redis->sentinel) {
        ngx_http_slidewin_redis_sentinel_start(redis->sentinel,
                                               &redis->access);
        endpoint = &redis->sentinel->endpoint;
    }

    ngx_http_slidewin_redis_node_start(&redis->node, endpoint, &redis->access,
                                redis->timeout,
                                &ngx_http_slidewin_redis_dispatch_node_hooks);

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
