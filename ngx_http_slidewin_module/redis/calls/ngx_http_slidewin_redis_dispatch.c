
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_redis_batch.h"
#include "ngx_http_slidewin_redis_clock.h"
#include "ngx_http_slidewin_redis_command.h"
#include "ngx_http_slidewin_redis_conn_io.h"
#include "ngx_http_slidewin_redis_dispatch.h"
#include "ngx_http_slidewin_redis_reply.h"


/* a call that is redirected more often goes round in circles */
#define NGX_HTTP_SLIDEWIN_REDIS_REDIRECTS_MAX  5

/* of so many calls that wait for room one is a change, if there is any */
#define NGX_HTTP_SLIDEWIN_REDIS_TURNS          8


static void ngx_http_slidewin_redis_dispatch_send_waiting(
    ngx_http_slidewin_redis_node_t *node);
static ngx_queue_t *ngx_http_slidewin_redis_dispatch_waiting(
    ngx_http_slidewin_redis_node_t *node);
static void ngx_http_slidewin_redis_dispatch_node_unusable(
    ngx_http_slidewin_redis_node_t *node);
static void ngx_http_slidewin_redis_dispatch_slots_known(
    ngx_http_slidewin_redis_cluster_t *cluster);
static void ngx_http_slidewin_redis_dispatch_slots_failed(
    ngx_http_slidewin_redis_cluster_t *cluster);
static void ngx_http_slidewin_redis_dispatch_fail_queue(ngx_queue_t *waiting);
static ngx_uint_t ngx_http_slidewin_redis_dispatch_may_still_send(
    ngx_http_slidewin_redis_call_t *rcall);
static ngx_int_t ngx_http_slidewin_redis_dispatch_send(
    ngx_http_slidewin_redis_call_t *rcall);
static int64_t ngx_http_slidewin_redis_dispatch_node_time(
    ngx_http_slidewin_redis_node_t *node, ngx_http_slidewin_call_t *call,
    int64_t now);
static ngx_uint_t ngx_http_slidewin_redis_dispatch_sent(
    ngx_http_slidewin_redis_call_t *rcall, int64_t now);
static void ngx_http_slidewin_redis_dispatch_asking_replied(
    redisAsyncContext *context, void *reply, void *data);
static void ngx_http_slidewin_redis_dispatch_replied(
    redisAsyncContext *context, void *reply, void *data);
static ngx_int_t ngx_http_slidewin_redis_dispatch_reply(
    ngx_http_slidewin_redis_call_t *rcall, redisReply *reply);
static ngx_int_t ngx_http_slidewin_redis_dispatch_redirect(
    ngx_http_slidewin_redis_call_t *rcall,
    ngx_http_slidewin_redis_node_t *next);
static ngx_int_t ngx_http_slidewin_redis_dispatch_move(
    ngx_http_slidewin_redis_call_t *rcall,
    ngx_http_slidewin_redis_node_t *node);
static void ngx_http_slidewin_redis_dispatch_finish(
    ngx_http_slidewin_redis_call_t *rcall, ngx_int_t rc);
static void ngx_http_slidewin_redis_dispatch_promote_follower(
    ngx_http_slidewin_redis_call_t *rcall);


const ngx_http_slidewin_redis_node_hooks_t
    ngx_http_slidewin_redis_dispatch_node_hooks =
{
    ngx_http_slidewin_redis_dispatch_send_waiting,
    ngx_http_slidewin_redis_dispatch_node_unusable,
    NULL
};

const ngx_http_slidewin_redis_cluster_hooks_t
    ngx_http_slidewin_redis_dispatch_cluster_hooks =
{
    ngx_http_slidewin_redis_dispatch_send_waiting,
    ngx_http_slidewin_redis_dispatch_node_unusable,
    ngx_http_slidewin_redis_dispatch_slots_known,
    ngx_http_slidewin_redis_dispatch_slots_failed
};


ngx_uint_t
ngx_http_slidewin_redis_dispatch_may_send(ngx_http_slidewin_redis_t *redis,
    ngx_http_slidewin_redis_node_t *node, ngx_uint_t check)
{
    return node ? ngx_http_slidewin_redis_node_may_send(node, check)
                : ngx_http_slidewin_redis_cluster_may_wait(redis->cluster);
}


/* whether a check that was accepted but not sent may still be sent */

static ngx_uint_t
ngx_http_slidewin_redis_dispatch_may_still_send(
    ngx_http_slidewin_redis_call_t *rcall)
{
    return rcall->node ? ngx_http_slidewin_redis_node_usable(rcall->node)
                       : ngx_http_slidewin_redis_cluster_may_wait(
                                                     rcall->redis->cluster);
}


/*
 * More calls at once than Redis can answer within the timeout would look as if
 * Redis had failed: they wait.  A wait for the slots or the connection counts
 * against Redis' timeout, a wait for other calls does not.  A check that probes
 * a Redis that has failed waits for no other.  Refunds and charges, which no
 * request waits for, wait apart.
 */

ngx_int_t
ngx_http_slidewin_redis_dispatch_submit(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_t                     *waiting;
    ngx_http_slidewin_redis_node_t  *node;

    node = rcall->node;

    if (node == NULL) {
        ngx_log_debug1(NGX_LOG_DEBUG_HTTP,
                       ngx_http_slidewin_redis_call_log(rcall), 0,
                       "slidewin redis wait: call %L for the slots",
                       rcall->number);

        rcall->deadline_final = 1;
        ngx_queue_insert_tail(&rcall->redis->cluster->waiting, &rcall->queue);
        return NGX_OK;
    }

    waiting = (rcall->verb >= NGX_HTTP_SLIDEWIN_REDIS_VERB_GIVE_BACK)
                  ? &node->waiting_changes : &node->waiting;

    if (!ngx_http_slidewin_redis_conn_can_send(&node->conn)) {
        ngx_log_debug2(NGX_LOG_DEBUG_HTTP,
                       ngx_http_slidewin_redis_call_log(rcall), 0,
                       "slidewin redis wait: call %L for a connection to %V",
                       rcall->number, &node->conn.endpoint->name);

        rcall->deadline_final = 1;
        ngx_queue_insert_tail(waiting, &rcall->queue);
        return NGX_OK;
    }

    if (node->breaker.state == SW_BREAKER_CLOSED
        && (node->inflight >= rcall->redis->inflight_max
            || !ngx_queue_empty(waiting)))
    {
        ngx_log_debug3(NGX_LOG_DEBUG_HTTP,
                       ngx_http_slidewin_redis_call_log(rcall), 0,
                       "slidewin redis wait: call %L for room, %ui are sent "
                       "to %V", rcall->number, node->inflight,
                       &node->conn.endpoint->name);

        ngx_queue_insert_tail(waiting, &rcall->queue);
        return NGX_OK;
    }

    if (ngx_http_slidewin_redis_dispatch_send(rcall) != NGX_OK) {
        ngx_http_slidewin_redis_call_probe_lost(rcall);
        return NGX_ERROR;
    }

    return NGX_OK;
}


/* sends the call for all requests of its batch */

static ngx_int_t
ngx_http_slidewin_redis_dispatch_send(ngx_http_slidewin_redis_call_t *rcall)
{
    int64_t                              now, node_time;
    ngx_str_t                            text;
    ngx_uint_t                           checks;
    ngx_queue_t                         *q;
    ngx_http_slidewin_call_t            *call;
    ngx_http_slidewin_redis_call_t      *member;
    ngx_http_slidewin_redis_node_t      *node;
    ngx_http_slidewin_store_counters_t  *counters;

    static const char  *asking[] = { "ASKING" };

    ngx_http_slidewin_redis_batch_fill(rcall);

    call = ngx_http_slidewin_redis_batch_any(rcall);
    node = rcall->node;
    now = ngx_http_slidewin_clock_us();

    node_time = ngx_http_slidewin_redis_dispatch_node_time(node, call, now);

    /* ASKING is about the next command and no other */

    if (rcall->asking
        && ngx_http_slidewin_redis_conn_send(&node->conn,
                               ngx_http_slidewin_redis_dispatch_asking_replied,
                               &node->conn, 1, asking, NULL)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ngx_http_slidewin_redis_command(rcall, call, node_time, &text)
        != NGX_OK
        || ngx_http_slidewin_redis_conn_write(&node->conn,
                                      ngx_http_slidewin_redis_dispatch_replied,
                                      rcall, &text)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, call->log, 0,
                   "slidewin redis send: call %L, %s, to %V, requests:%ui",
                   rcall->number, ngx_http_slidewin_redis_call_verb(rcall),
                   &node->conn.endpoint->name, rcall->times);

    node->inflight++;
    checks = ngx_http_slidewin_redis_dispatch_sent(rcall, now);

    rcall->redis->changes += rcall->change;
    rcall->changes = rcall->redis->changes;

    for (q = ngx_queue_head(&rcall->members);
         q != ngx_queue_sentinel(&rcall->members);
         q = ngx_queue_next(q))
    {
        member = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        checks += ngx_http_slidewin_redis_dispatch_sent(member, now);
    }

    if (!rcall->change) {
        counters = rcall->redis->access.counters;

        ngx_http_slidewin_stats_count(&counters->calls, 1);
        ngx_http_slidewin_stats_count(&counters->checks,
                                      (ngx_atomic_int_t) checks);
    }

    /* the call was given up, and is sent once more for members it has */

    if (rcall->late) {
        node->late++;
        (void) ngx_http_slidewin_redis_node_watch(node, now);
    }

    return NGX_OK;
}


/* 0, so that the script asks Redis, if an estimate would not be exact enough */

static int64_t
ngx_http_slidewin_redis_dispatch_node_time(
    ngx_http_slidewin_redis_node_t *node, ngx_http_slidewin_call_t *call,
    int64_t now)
{
    int64_t      window;
    sw_rule_t   *rule;
    ngx_uint_t   i;

    window = SW_WINDOW_MAX;

    for (i = 0; i < call->n; i++) {
        rule = &call->claims[i]->rule;

        if (rule->algorithm == SW_LOG || rule->algorithm == SW_STRICT) {
            return 0;
        }

        window = ngx_min(window, rule->window);
    }

    return ngx_http_slidewin_redis_clock_now(&node->conn, now, window);
}


/*
 * A call that is sent once more, or elsewhere, has no more time than it had.
 * Returns whether the call was not sent before: each request is counted once,
 * also if a redirect or a missing script sends it again.
 */

static ngx_uint_t
ngx_http_slidewin_redis_dispatch_sent(ngx_http_slidewin_redis_call_t *rcall,
    int64_t now)
{
    ngx_uint_t  first;

    rcall->sent = 1;
    rcall->sent_at = now;
    rcall->successes = rcall->node->successes;

    if (!rcall->deadline_final) {
        rcall->deadline_final = 1;
        ngx_http_slidewin_redis_call_set_deadline(rcall, now);
    }

    first = !rcall->sent_before;
    rcall->sent_before = 1;

    return first;
}


static void
ngx_http_slidewin_redis_dispatch_asking_replied(redisAsyncContext *context,
    void *reply, void *data)
{
    ngx_http_slidewin_redis_conn_t  *c;

    c = data;

    (void) ngx_http_slidewin_redis_conn_accept_reply(c, context, reply);
}


/*
 * Runs inside hiredis, perhaps while another request's call frees the
 * connection: no request may go on from here, ngx_http_slidewin_redis_call_end
 * posts an event for each.
 */

static void
ngx_http_slidewin_redis_dispatch_replied(redisAsyncContext *context,
    void *reply, void *data)
{
    ngx_int_t                        rc;
    ngx_http_slidewin_redis_call_t  *rcall;
    ngx_http_slidewin_redis_node_t  *node;

    rcall = data;
    rcall->sent = 0;

    node = rcall->node;
    node->inflight--;
    node->late -= rcall->late;

    if (reply == NULL) {
        ngx_log_debug1(NGX_LOG_DEBUG_HTTP,
                       ngx_http_slidewin_redis_call_log(rcall), 0,
                       "slidewin redis reply: call %L, its connection is lost",
                       rcall->number);

        ngx_http_slidewin_redis_call_probe_lost(rcall);
        ngx_http_slidewin_redis_dispatch_finish(rcall, NGX_ERROR);
        return;
    }

    node->replied_at = node->conn.read_at;
    ngx_http_slidewin_redis_conn_received(&node->conn);

    ngx_http_slidewin_stats_latency(rcall->redis->access.counters,
                                    node->replied_at - rcall->sent_at);

    rc = ngx_http_slidewin_redis_dispatch_reply(rcall, reply);

    if (rc != NGX_AGAIN) {
        ngx_log_debug4(NGX_LOG_DEBUG_HTTP,
                       ngx_http_slidewin_redis_call_log(rcall), 0,
                       "slidewin redis reply: call %L, rc:%i after %Lus%s",
                       rcall->number, rc, node->replied_at - rcall->sent_at,
                       rcall->late ? ", late" : "");

        ngx_http_slidewin_redis_dispatch_finish(rcall, rc);
    }

    /* there is room for the next call that waits */

    ngx_http_slidewin_redis_dispatch_send_waiting(node);
}


/* NGX_AGAIN if the call is on its way once more */

static ngx_int_t
ngx_http_slidewin_redis_dispatch_reply(ngx_http_slidewin_redis_call_t *rcall,
    redisReply *reply)
{
    ngx_int_t                        rc;
    ngx_http_slidewin_redis_node_t  *next;

    rc = ngx_http_slidewin_redis_reply(rcall, reply, &next);

    if (rc == NGX_AGAIN) {
        ngx_log_debug1(NGX_LOG_DEBUG_HTTP,
                       ngx_http_slidewin_redis_call_log(rcall), 0,
                       "slidewin redis retry: call %L with its script",
                       rcall->number);

        rcall->retried = 1;

        ngx_http_slidewin_stats_count(
                           &rcall->redis->access.counters->scripts_loaded, 1);

        if (ngx_http_slidewin_redis_dispatch_send(rcall) == NGX_OK) {
            return NGX_AGAIN;
        }

        /* that the script is not there is an error as any other now */

        rc = ngx_http_slidewin_redis_reply(rcall, reply, &next);
    }

    if (rc == NGX_DECLINED) {
        return ngx_http_slidewin_redis_dispatch_redirect(rcall, next);
    }

    return rc;
}


/*
 * Without a next node the call has found a slot that is between two nodes; its
 * redirects are counted anew.
 */

static ngx_int_t
ngx_http_slidewin_redis_dispatch_redirect(
    ngx_http_slidewin_redis_call_t *rcall,
    ngx_http_slidewin_redis_node_t *next)
{
    ngx_queue_t  left;

    static const char  too_many[] = "it was one redirect too many";

    ngx_queue_init(&left);

    ngx_http_slidewin_redis_batch_unfill(rcall, &left);
    ngx_http_slidewin_redis_calls_end(&left, NGX_ERROR);

    if (rcall->call == NULL) {
        return NGX_ERROR;
    }

    if (next == NULL) {
        rcall->redirects = 0;

    } else if (rcall->redirects++ == NGX_HTTP_SLIDEWIN_REDIS_REDIRECTS_MAX) {
        ngx_http_slidewin_redis_node_log_error(rcall->node, "does not decide",
                                               too_many, sizeof(too_many) - 1);
        return NGX_ERROR;
    }

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP,
                   ngx_http_slidewin_redis_call_log(rcall), 0,
                   "slidewin redis redirect: call %L away from %V%s",
                   rcall->number, &rcall->node->conn.endpoint->name,
                   rcall->asking ? ", asking" : "");

    if (ngx_http_slidewin_redis_dispatch_move(rcall, next) != NGX_OK) {
        return NGX_ERROR;
    }

    return NGX_AGAIN;
}


/*
 * A call that did not run goes to another node, or waits for the slots, and its
 * followers with it.
 */

static ngx_int_t
ngx_http_slidewin_redis_dispatch_move(ngx_http_slidewin_redis_call_t *rcall,
    ngx_http_slidewin_redis_node_t *node)
{
    ngx_queue_t  *q;

    if (!ngx_http_slidewin_redis_dispatch_may_send(rcall->redis, node,
                                                   !rcall->change))
    {
        return NGX_ERROR;
    }

    rcall->redirected = 1;

    ngx_http_slidewin_redis_call_set_node(rcall, node);

    for (q = ngx_queue_head(&rcall->followers);
         q != ngx_queue_sentinel(&rcall->followers);
         q = ngx_queue_next(q))
    {
        ngx_http_slidewin_redis_call_set_node(
            ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue), node);
    }

    return ngx_http_slidewin_redis_dispatch_submit(rcall);
}


/* ends a call with its members; then its followers have their turn */

static void
ngx_http_slidewin_redis_dispatch_finish(ngx_http_slidewin_redis_call_t *rcall,
    ngx_int_t rc)
{
    ngx_uint_t   rejected;
    ngx_queue_t  members, followers;

    rejected = (rc == NGX_OK && rcall->leads
                && ngx_http_slidewin_redis_batch_reject(rcall));

    ngx_http_slidewin_redis_batch_close(rcall);

    ngx_queue_init(&members);
    ngx_queue_add(&members, &rcall->members);

    ngx_queue_init(&followers);
    ngx_queue_add(&followers, &rcall->followers);

    ngx_http_slidewin_redis_call_end(rcall, rc);
    ngx_http_slidewin_redis_calls_end(&members, rc);

    if (rejected) {
        ngx_http_slidewin_redis_calls_end(&followers, rc);

    } else {
        ngx_http_slidewin_redis_dispatch_followers(&followers);
    }
}


/* a node that has failed meanwhile is not asked, as for any new check */

void
ngx_http_slidewin_redis_dispatch_followers(ngx_queue_t *followers)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_call_t  *rcall;

    if (ngx_queue_empty(followers)) {
        return;
    }

    q = ngx_queue_head(followers);
    rcall = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

    if (!ngx_http_slidewin_redis_dispatch_may_still_send(rcall)) {
        ngx_http_slidewin_redis_calls_end(followers, NGX_ERROR);
        return;
    }

    ngx_queue_remove(q);
    ngx_queue_add(&rcall->followers, followers);

    rcall->follows = 0;

    if (ngx_http_slidewin_redis_dispatch_submit(rcall) == NGX_OK) {
        ngx_http_slidewin_redis_batch_open(rcall);

    } else {
        ngx_http_slidewin_redis_calls_end(&rcall->members, NGX_ERROR);
        ngx_http_slidewin_redis_call_end(rcall, NGX_ERROR);
    }
}


static void
ngx_http_slidewin_redis_dispatch_send_waiting(
    ngx_http_slidewin_redis_node_t *node)
{
    ngx_queue_t                     *q, *waiting;
    ngx_http_slidewin_redis_call_t  *rcall;

    for ( ;; ) {
        waiting = ngx_http_slidewin_redis_dispatch_waiting(node);

        if (ngx_queue_empty(waiting)
            || !ngx_http_slidewin_redis_conn_can_send(&node->conn))
        {
            break;
        }

        q = ngx_queue_head(waiting);
        rcall = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        if (node->inflight >= rcall->redis->inflight_max) {
            break;
        }

        node->turns++;
        ngx_queue_remove(q);

        if (ngx_http_slidewin_redis_dispatch_send(rcall) != NGX_OK) {
            ngx_http_slidewin_redis_call_probe_lost(rcall);
            ngx_http_slidewin_redis_dispatch_finish(rcall, NGX_ERROR);
        }
    }
}


/* refunds and charges come last, but have their turn while checks never end */

static ngx_queue_t *
ngx_http_slidewin_redis_dispatch_waiting(ngx_http_slidewin_redis_node_t *node)
{
    if (ngx_queue_empty(&node->waiting_changes)) {
        return &node->waiting;
    }

    if (ngx_queue_empty(&node->waiting)
        || node->turns % NGX_HTTP_SLIDEWIN_REDIS_TURNS == 0)
    {
        return &node->waiting_changes;
    }

    return &node->waiting;
}


static void
ngx_http_slidewin_redis_dispatch_node_unusable(
    ngx_http_slidewin_redis_node_t *node)
{
    ngx_http_slidewin_redis_dispatch_fail_queue(&node->waiting);
    ngx_http_slidewin_redis_dispatch_fail_queue(&node->waiting_changes);
}


static void
ngx_http_slidewin_redis_dispatch_slots_failed(
    ngx_http_slidewin_redis_cluster_t *cluster)
{
    ngx_http_slidewin_redis_dispatch_fail_queue(&cluster->waiting);
}


static void
ngx_http_slidewin_redis_dispatch_fail_queue(ngx_queue_t *waiting)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_call_t  *rcall;

    while (!ngx_queue_empty(waiting)) {
        q = ngx_queue_head(waiting);
        rcall = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        ngx_http_slidewin_redis_dispatch_fail_unsent(rcall);
    }
}


static void
ngx_http_slidewin_redis_dispatch_slots_known(
    ngx_http_slidewin_redis_cluster_t *cluster)
{
    ngx_int_t                        rc;
    ngx_queue_t                      waiting, *q;
    ngx_http_slidewin_redis_call_t  *rcall;
    ngx_http_slidewin_redis_node_t  *node;

    ngx_queue_init(&waiting);
    ngx_queue_add(&waiting, &cluster->waiting);
    ngx_queue_init(&cluster->waiting);

    while (!ngx_queue_empty(&waiting)) {
        q = ngx_queue_head(&waiting);
        rcall = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        ngx_queue_remove(q);

        rc = ngx_http_slidewin_redis_cluster_route(cluster, rcall->slot,
                                                   &node);

        if (rc == NGX_ERROR
            || ngx_http_slidewin_redis_dispatch_move(rcall, node) != NGX_OK)
        {
            ngx_http_slidewin_redis_calls_end(&rcall->followers, NGX_ERROR);
            ngx_http_slidewin_redis_dispatch_finish(rcall, NGX_ERROR);
        }
    }
}


void
ngx_http_slidewin_redis_dispatch_unfollow(
    ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_remove(&rcall->queue);
    ngx_http_slidewin_redis_call_end(rcall, NGX_ERROR);
}


void
ngx_http_slidewin_redis_dispatch_fail_unsent(
    ngx_http_slidewin_redis_call_t *rcall)
{
    if (!ngx_queue_empty(&rcall->followers)
        && ngx_http_slidewin_redis_dispatch_may_still_send(rcall))
    {
        ngx_http_slidewin_redis_dispatch_promote_follower(rcall);
    }

    ngx_queue_remove(&rcall->queue);
    ngx_http_slidewin_redis_call_probe_lost(rcall);
    ngx_http_slidewin_redis_dispatch_finish(rcall, NGX_ERROR);
}


/* the first follower waits in place of the call that it followed */

static void
ngx_http_slidewin_redis_dispatch_promote_follower(
    ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_call_t  *next;

    q = ngx_queue_head(&rcall->followers);
    next = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

    ngx_queue_remove(q);
    ngx_queue_insert_after(&rcall->queue, q);

    ngx_queue_add(&next->followers, &rcall->followers);
    ngx_queue_init(&rcall->followers);

    next->follows = 0;
    next->redirected = rcall->redirected;
    ngx_http_slidewin_redis_call_set_node(next, rcall->node);

    ngx_http_slidewin_redis_batch_close(rcall);
    ngx_http_slidewin_redis_batch_open(next);
}
