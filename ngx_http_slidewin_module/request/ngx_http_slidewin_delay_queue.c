
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_delay_queue.h"
#include "ngx_http_slidewin_deny_cache.h"
#include "ngx_http_slidewin_refund.h"


/*
 * A quarter of a worker's connections may belong to waiting requests, and a
 * quarter of these to one client.
 */
#define NGX_HTTP_SLIDEWIN_DELAY_SHARE  4

#define ngx_http_slidewin_delay_max()                                         \
    (ngx_cycle->connection_n / NGX_HTTP_SLIDEWIN_DELAY_SHARE)


static ngx_http_slidewin_delay_queue_t *ngx_http_slidewin_delay_queue_create(
    ngx_http_slidewin_policy_t *policy, ngx_str_t *key);
static void ngx_http_slidewin_delay_set_timer(
    ngx_http_slidewin_waiter_t *waiter, ngx_msec_t wait);


ngx_uint_t  ngx_http_slidewin_delayed;


ngx_http_slidewin_delay_queue_t *
ngx_http_slidewin_delay_queue_find(ngx_http_slidewin_policy_t *policy,
    ngx_str_t *key)
{
    if (!ngx_http_slidewin_delay_queued(policy)) {
        return NULL;
    }

    return (ngx_http_slidewin_delay_queue_t *)
               ngx_str_rbtree_lookup(&policy->queues, key,
                                     ngx_murmur_hash2(key->data, key->len));
}


static ngx_http_slidewin_delay_queue_t *
ngx_http_slidewin_delay_queue_create(ngx_http_slidewin_policy_t *policy,
    ngx_str_t *key)
{
    ngx_http_slidewin_delay_queue_t  *queue;

    queue = ngx_alloc(sizeof(ngx_http_slidewin_delay_queue_t) + key->len,
                      ngx_cycle->log);
    if (queue == NULL) {
        return NULL;
    }

    ngx_queue_init(&queue->waiters);
    queue->policy = policy;
    queue->n = 0;
    queue->units = 0;
    queue->grant = NULL;

    queue->sn.node.key = ngx_murmur_hash2(key->data, key->len);
    queue->sn.str.len = key->len;
    queue->sn.str.data = (u_char *) &queue[1];
    ngx_memcpy(queue->sn.str.data, key->data, key->len);

    ngx_rbtree_insert(&policy->queues, &queue->sn.node);

    return queue;
}


ngx_uint_t
ngx_http_slidewin_delay_queue_full(ngx_http_slidewin_policy_t *policy,
    ngx_str_t *key)
{
    ngx_http_slidewin_delay_queue_t  *queue;

    queue = ngx_http_slidewin_delay_queue_find(policy, key);

    return queue && queue->n >= ngx_http_slidewin_delay_max()
                                / NGX_HTTP_SLIDEWIN_DELAY_SHARE;
}


ngx_http_slidewin_waiter_t *
ngx_http_slidewin_delay_enqueue(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_claim_t *claim, ngx_http_request_t *r,
    ngx_event_handler_pt handler, void *data)
{
    ngx_http_slidewin_waiter_t       *waiter;
    ngx_http_slidewin_delay_queue_t  *queue;

    if (ngx_http_slidewin_delayed >= ngx_http_slidewin_delay_max()
        || ngx_http_slidewin_delay_queue_full(policy, &claim->key))
    {
        return NULL;
    }

    waiter = ngx_pcalloc(r->pool, sizeof(ngx_http_slidewin_waiter_t));
    if (waiter == NULL) {
        return NULL;
    }

    queue = ngx_http_slidewin_delay_queue_find(policy, &claim->key);

    if (queue == NULL) {
        queue = ngx_http_slidewin_delay_queue_create(policy, &claim->key);
        if (queue == NULL) {
            return NULL;
        }
    }

    waiter->queue = queue;
    waiter->claim = claim;

    waiter->timer.log = r->connection->log;
    waiter->timer.handler = handler;
    waiter->timer.data = data;

    ngx_queue_insert_tail(&queue->waiters, &waiter->link);
    queue->n++;
    queue->units += claim->cost;

    ngx_http_slidewin_delayed++;

    return waiter;
}


void
ngx_http_slidewin_delay_dequeue(ngx_http_slidewin_waiter_t *waiter)
{
    ngx_http_slidewin_delay_queue_t  *queue;

    queue = waiter->queue;

    if (waiter->timer.timer_set) {
        ngx_del_timer(&waiter->timer);
    }

    ngx_queue_remove(&waiter->link);
    queue->n--;
    queue->units -= waiter->claim->cost;

    ngx_http_slidewin_delayed--;

    if (queue->n == 0) {
        ngx_http_slidewin_delay_revoke_grant(queue);
        ngx_rbtree_delete(&queue->policy->queues, &queue->sn.node);
        ngx_free(queue);
        return;
    }

    ngx_http_slidewin_delay_wake_head(queue);
}


/*
 * The time was computed by a clock that was read now, and nginx adds the wait
 * to that of this turn of the event loop, which is behind: the timer would be
 * early by the difference.
 */

void
ngx_http_slidewin_delay_sleep(ngx_http_slidewin_waiter_t *waiter,
    int64_t until)
{
    ngx_msec_int_t  wait;

    wait = (ngx_msec_int_t) ((ngx_msec_t) until - ngx_current_msec);

    ngx_http_slidewin_delay_set_timer(waiter, (ngx_msec_t) ngx_max(wait, 0));
}


void
ngx_http_slidewin_delay_wake(ngx_http_slidewin_policy_t *policy,
    ngx_str_t *key)
{
    ngx_http_slidewin_delay_queue_t  *queue;

    queue = ngx_http_slidewin_delay_queue_find(policy, key);

    if (queue) {
        ngx_http_slidewin_delay_wake_head(queue);
    }
}


void
ngx_http_slidewin_delay_wake_head(ngx_http_slidewin_delay_queue_t *queue)
{
    ngx_http_slidewin_waiter_t  *head;

    head = ngx_http_slidewin_delay_queue_head(queue);

    if (head->timer.timer_set) {
        ngx_http_slidewin_delay_set_timer(head, 0);
    }
}


/* ngx_add_timer() leaves a timer as it is that is set to a time near by */

static void
ngx_http_slidewin_delay_set_timer(ngx_http_slidewin_waiter_t *waiter,
    ngx_msec_t wait)
{
    if (waiter->timer.timer_set) {
        ngx_del_timer(&waiter->timer);
    }

    ngx_add_timer(&waiter->timer, wait);
}


ngx_http_slidewin_grant_t *
ngx_http_slidewin_delay_create_grant(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    size_t                      size;
    u_char                     *key;
    ngx_uint_t                  i;
    ngx_http_slidewin_claim_t  *claim;
    ngx_http_slidewin_grant_t  *grant;

    size = sizeof(ngx_http_slidewin_grant_t)
           + call->n * (sizeof(ngx_http_slidewin_claim_t)
                        + sizeof(ngx_http_slidewin_claim_t *));

    for (i = 0; i < call->n; i++) {
        size += call->claims[i]->key.len;
    }

    grant = ngx_alloc(size, ngx_cycle->log);
    if (grant == NULL) {
        return NULL;
    }

    claim = (ngx_http_slidewin_claim_t *) &grant[1];

    grant->store = store;
    grant->n = call->n;
    grant->claims = (ngx_http_slidewin_claim_t **) &claim[call->n];

    key = (u_char *) &grant->claims[call->n];

    for (i = 0; i < call->n; i++) {
        claim[i] = *call->claims[i];
        claim[i].key.data = key;
        key = ngx_cpymem(key, call->claims[i]->key.data, claim[i].key.len);
        grant->claims[i] = &claim[i];
    }

    return grant;
}


void
ngx_http_slidewin_delay_revoke_grant(ngx_http_slidewin_delay_queue_t *queue)
{
    ngx_uint_t                  i;
    ngx_http_slidewin_grant_t  *grant;

    grant = queue->grant;

    if (grant == NULL) {
        return;
    }

    queue->grant = NULL;

    for (i = 0; i < grant->n; i++) {
        ngx_http_slidewin_delay_refund_prefetch(grant->store,
                                                grant->claims[i]);
    }

    ngx_free(grant);
}


void
ngx_http_slidewin_delay_refund_prefetch(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim)
{
    ngx_http_slidewin_claim_t  rest;

    if (claim->prefetch == 0) {
        return;
    }

    rest = *claim;
    rest.cost = claim->prefetch;
    rest.prefetch = 0;

    ngx_http_slidewin_deny_cache_invalidate(&rest);
    ngx_http_slidewin_refund(store, &rest, NULL, NULL);
}
