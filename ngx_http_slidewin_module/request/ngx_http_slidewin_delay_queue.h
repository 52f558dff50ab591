
/*
 * Queues of delayed requests: one for each client and policy that has some in
 * this worker, in the order in which they came.  Only the head of a queue asks
 * the store, so that no request is admitted before one that came earlier.
 */


#ifndef _NGX_HTTP_SLIDEWIN_DELAY_QUEUE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_DELAY_QUEUE_H_INCLUDED_


#include "ngx_http_slidewin_conf.h"


/*
 * Units that were counted with the head of a queue for the requests behind it:
 * the prefetch of each claim is what is left of them.  The claims, and the
 * bytes of their keys, follow.
 */

typedef struct {
    ngx_http_slidewin_store_t   *store;
    ngx_uint_t                   n;
    ngx_http_slidewin_claim_t  **claims;
} ngx_http_slidewin_grant_t;


/* never empty: the last request to leave frees it */

typedef struct {
    ngx_str_node_t               sn;
    ngx_http_slidewin_policy_t  *policy;
    ngx_queue_t                  waiters;
    ngx_uint_t                   n;
    int64_t                      units;
    ngx_http_slidewin_grant_t   *grant;        /* for the head; NULL: none */
} ngx_http_slidewin_delay_queue_t;


/* a request in a queue; its timer is set while it sleeps, not while it asks */

typedef struct {
    ngx_queue_t                       link;
    ngx_http_slidewin_delay_queue_t  *queue;
    ngx_http_slidewin_claim_t        *claim;
    ngx_event_t                       timer;
    int64_t                           due;     /* ms, as the store has it */
} ngx_http_slidewin_waiter_t;


/* whether some clients of the policy have a queue */
#define ngx_http_slidewin_delay_queued(policy)                                \
    ((policy)->queues.root != (policy)->queues.sentinel)

#define ngx_http_slidewin_delay_queue_head(q)                                 \
    ngx_queue_data(ngx_queue_head(&(q)->waiters),                             \
                   ngx_http_slidewin_waiter_t, link)


/* NULL: no request of the client waits */
ngx_http_slidewin_delay_queue_t *ngx_http_slidewin_delay_queue_find(
    ngx_http_slidewin_policy_t *policy, ngx_str_t *key);

/* whether as many requests of the client wait as may */
ngx_uint_t ngx_http_slidewin_delay_queue_full(
    ngx_http_slidewin_policy_t *policy, ngx_str_t *key);

/*
 * The timer of the waiter calls the handler with data.  NULL: too many requests
 * wait already, or there is no memory.
 */
ngx_http_slidewin_waiter_t *ngx_http_slidewin_delay_enqueue(
    ngx_http_slidewin_policy_t *policy, ngx_http_slidewin_claim_t *claim,
    ngx_http_request_t *r, ngx_event_handler_pt handler, void *data);
void ngx_http_slidewin_delay_dequeue(ngx_http_slidewin_waiter_t *waiter);

/* until then, in ms, the waiter sleeps */
void ngx_http_slidewin_delay_sleep(ngx_http_slidewin_waiter_t *waiter,
    int64_t until);

/* units of the client were refunded: the head of its queue asks now */
void ngx_http_slidewin_delay_wake(ngx_http_slidewin_policy_t *policy,
    ngx_str_t *key);
void ngx_http_slidewin_delay_wake_head(ngx_http_slidewin_delay_queue_t *queue);

/* keeps the prefetched units of a call; NULL: no memory */
ngx_http_slidewin_grant_t *ngx_http_slidewin_delay_create_grant(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call);

/* refunds what is left of the grant, if there is one */
void ngx_http_slidewin_delay_revoke_grant(
    ngx_http_slidewin_delay_queue_t *queue);

void ngx_http_slidewin_delay_refund_prefetch(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim);


/* requests that wait in this worker */
extern ngx_uint_t  ngx_http_slidewin_delayed;


#endif /* _NGX_HTTP_SLIDEWIN_DELAY_QUEUE_H_INCLUDED_ */
