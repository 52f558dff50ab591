
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_redis_batch.h"
#include "ngx_http_slidewin_redis_call.h"
#include "ngx_http_slidewin_redis_clock.h"
#include "ngx_http_slidewin_redis_cluster.h"
#include "ngx_http_slidewin_redis_command.h"
#include "ngx_http_slidewin_redis_conn_io.h"
#include "ngx_http_slidewin_redis_node.h"
#include "ngx_http_slidewin_redis_reply.h"
#include "ngx_http_slidewin_redis_timeout.h"


/* room for the name of a check, by one policy or two */
#define NGX_HTTP_SLIDEWIN_REDIS_CALL_NAME   256

/* a Redis that answers as many in time is well: what comes after is a crowd */
#define NGX_HTTP_SLIDEWIN_REDIS_CALL_CROWD  64

/* records kept for the next calls */
#define NGX_HTTP_SLIDEWIN_REDIS_CALL_SPARE  1024


static ngx_http_slidewin_redis_call_t *ngx_http_slidewin_redis_call_create(
    ngx_str_t *name, ngx_log_t *log);
static void ngx_http_slidewin_redis_call_free(
    ngx_http_slidewin_redis_call_t *rcall);
static ngx_int_t ngx_http_slidewin_redis_call_submit(
    ngx_http_slidewin_redis_call_t *rcall);
static ngx_uint_t *ngx_http_slidewin_redis_call_inflight(
    ngx_http_slidewin_redis_call_t *rcall);
static void ngx_http_slidewin_redis_call_sent(
    ngx_http_slidewin_redis_call_t *rcall, int64_t now);
static void ngx_http_slidewin_redis_call_asking_replied(
    redisAsyncContext *context, void *reply, void *data);
static void ngx_http_slidewin_redis_call_replied(redisAsyncContext *context,
    void *reply, void *data);
static void ngx_http_slidewin_redis_call_finish(
    ngx_http_slidewin_redis_call_t *rcall, ngx_int_t rc);
static void ngx_http_slidewin_redis_calls_send_next(ngx_queue_t *followers);
static void ngx_http_slidewin_redis_calls_end(ngx_queue_t *calls, ngx_int_t rc);
static void ngx_http_slidewin_redis_call_event(ngx_event_t *ev);
static ngx_int_t ngx_http_slidewin_redis_call_give_up(
    ngx_http_slidewin_redis_call_t *rcall);
static void ngx_http_slidewin_redis_call_late(
    ngx_http_slidewin_redis_call_t *rcall, ngx_uint_t crowd);
static void ngx_http_slidewin_redis_call_unfollow(
    ngx_http_slidewin_redis_call_t *rcall);
static void ngx_http_slidewin_redis_call_yield(
    ngx_http_slidewin_redis_call_t *rcall);
static void ngx_http_slidewin_redis_call_fail_unsent(
    ngx_http_slidewin_redis_call_t *rcall);


static const char  ngx_http_slidewin_redis_crowded[]
    = "is asked for more than it can answer";

static ngx_uint_t                       ngx_http_slidewin_redis_calls_spared;
static ngx_http_slidewin_redis_call_t  *ngx_http_slidewin_redis_calls_spare;


ngx_int_t
ngx_http_slidewin_redis_call_start(ngx_http_slidewin_redis_t *redis,
    ngx_http_slidewin_call_t *call, ngx_http_slidewin_redis_verb_e verb)
{
    ngx_str_t                        name;
    uint32_t                         hash;
    ngx_uint_t                       check, slot;
    ngx_http_slidewin_redis_node_t  *node;
    ngx_http_slidewin_redis_call_t  *rcall, *leader;

    static const char  many[] = "too many checks wait";

    check = (verb == NGX_HTTP_SLIDEWIN_REDIS_VERB_TAKE);
    node = &redis->node;
    slot = 0;

    if (redis->cluster) {
        slot = ngx_http_slidewin_redis_slot(redis, call->claims[0]);
        node = ngx_http_slidewin_redis_cluster_route(redis->cluster, slot);
    }

    if (check && redis->checks >= redis->checks_max) {
        ngx_http_slidewin_redis_node_log_error(&redis->node,
                                               ngx_http_slidewin_redis_crowded,
                                               many, sizeof(many) - 1);
        return NGX_BUSY;
    }

    if (node == NULL || !ngx_http_slidewin_redis_node_may_send(node, check)) {
        return NGX_ERROR;
    }

    ngx_str_set(&name, "");
    hash = 0;
    leader = NULL;

    /* one that tries out whether the node is well goes by itself */

    if (check && node->breaker.state == SW_BREAKER_CLOSED) {
        ngx_http_slidewin_redis_batch_key(call, &name);
    }

    if (name.len) {
        hash = ngx_murmur_hash2(call->claims[0]->key.data,
                                call->claims[0]->key.len);
        leader = ngx_http_slidewin_redis_batch_find(redis, &name, hash);
    }

    rcall = ngx_http_slidewin_redis_call_create(&name, call->log);
    if (rcall == NULL) {
        if (check) {
            ngx_http_slidewin_redis_node_probe_lost(node);
        }

        return NGX_ERROR;
    }

    rcall->node = node;
    rcall->call = call;
    rcall->amends = !check;
    rcall->verb = verb;
    rcall->slot = slot;
    rcall->number = ++redis->number;
    rcall->hash = hash;

    if (leader) {
        ngx_queue_insert_tail(&leader->followers, &rcall->queue);
        rcall->follows = 1;

    } else if (ngx_http_slidewin_redis_call_submit(rcall) != NGX_OK) {
        ngx_http_slidewin_redis_call_free(rcall);
        return NGX_ERROR;

    } else {
        ngx_http_slidewin_redis_batch_open(rcall);
    }

    *ngx_http_slidewin_redis_call_inflight(rcall) += 1;
    redis->checks += check;
    call->pending = rcall;

    if (!rcall->sent) {
        ngx_http_slidewin_redis_timeout_set(rcall,
                                            ngx_http_slidewin_clock_us());
    }

    return NGX_AGAIN;
}


/* one whose name is not unusually long is kept for the next call */

static ngx_http_slidewin_redis_call_t *
ngx_http_slidewin_redis_call_create(ngx_str_t *name, ngx_log_t *log)
{
    size_t                           room;
    ngx_http_slidewin_redis_call_t  *rcall;

    rcall = ngx_http_slidewin_redis_calls_spare;
    room = ngx_max(name->len, NGX_HTTP_SLIDEWIN_REDIS_CALL_NAME);

    if (rcall && room == NGX_HTTP_SLIDEWIN_REDIS_CALL_NAME) {
        ngx_http_slidewin_redis_calls_spare = rcall->event.data;
        ngx_http_slidewin_redis_calls_spared--;

    } else {
        rcall = ngx_alloc(sizeof(ngx_http_slidewin_redis_call_t) + room, log);
        if (rcall == NULL) {
            return NULL;
        }
    }

    ngx_memzero(rcall, sizeof(ngx_http_slidewin_redis_call_t));

    rcall->event.handler = ngx_http_slidewin_redis_call_event;
    rcall->event.data = rcall;
    rcall->event.log = ngx_cycle->log;

    ngx_queue_init(&rcall->passengers);
    ngx_queue_init(&rcall->followers);

    rcall->name.len = name->len;
    rcall->name.data = (u_char *) &rcall[1];
    ngx_memcpy(rcall->name.data, name->data, name->len);

    return rcall;
}


static void
ngx_http_slidewin_redis_call_free(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_http_slidewin_redis_batch_close(rcall);

#if !(NGX_DEBUG_PALLOC)

    if (rcall->name.len <= NGX_HTTP_SLIDEWIN_REDIS_CALL_NAME
        && ngx_http_slidewin_redis_calls_spared
           < NGX_HTTP_SLIDEWIN_REDIS_CALL_SPARE)
    {
        ngx_http_slidewin_redis_calls_spared++;
        rcall->event.data = ngx_http_slidewin_redis_calls_spare;
        ngx_http_slidewin_redis_calls_spare = rcall;
        return;
    }

#endif

    ngx_free(rcall);
}


void
ngx_http_slidewin_redis_calls_free_spare(void)
{
    ngx_http_slidewin_redis_call_t  *rcall;

    while (ngx_http_slidewin_redis_calls_spare) {
        rcall = ngx_http_slidewin_redis_calls_spare;
        ngx_http_slidewin_redis_calls_spare = rcall->event.data;
        ngx_http_slidewin_redis_calls_spared--;

        ngx_free(rcall);
    }
}


/*
 * Sends it, or lets it wait in line, for the connection or for those before it:
 * more at once than Redis can answer within the timeout would look as if Redis
 * had failed.  That there is no connection is Redis' own time.  One that tries
 * out a Redis that has failed waits for nobody.
 */

static ngx_int_t
ngx_http_slidewin_redis_call_submit(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_http_slidewin_redis_node_t  *node;

    node = rcall->node;

    if (!ngx_http_slidewin_redis_conn_open(&node->conn)) {
        rcall->dated = 1;
        ngx_queue_insert_tail(&node->waiting, &rcall->queue);
        return NGX_OK;
    }

    if (node->breaker.state == SW_BREAKER_CLOSED
        && (node->flight >= node->redis->flight_max
            || !ngx_queue_empty(&node->waiting)))
    {
        ngx_queue_insert_tail(&node->waiting, &rcall->queue);
        return NGX_OK;
    }

    if (ngx_http_slidewin_redis_call_send(rcall) != NGX_OK) {
        ngx_http_slidewin_redis_call_probe_lost(rcall);
        return NGX_ERROR;
    }

    return NGX_OK;
}


ngx_int_t
ngx_http_slidewin_redis_call_redirect(ngx_http_slidewin_redis_call_t *rcall,
    ngx_http_slidewin_redis_node_t *node)
{
    ngx_queue_t  *q;

    if (node == NULL
        || !ngx_http_slidewin_redis_node_may_send(node, !rcall->amends))
    {
        return NGX_ERROR;
    }

    rcall->moved = 1;

    ngx_http_slidewin_redis_call_set_node(rcall, node);

    for (q = ngx_queue_head(&rcall->followers);
         q != ngx_queue_sentinel(&rcall->followers);
         q = ngx_queue_next(q))
    {
        ngx_http_slidewin_redis_call_set_node(
            ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue), node);
    }

    return ngx_http_slidewin_redis_call_submit(rcall);
}


void
ngx_http_slidewin_redis_call_set_node(ngx_http_slidewin_redis_call_t *rcall,
    ngx_http_slidewin_redis_node_t *node)
{
    *ngx_http_slidewin_redis_call_inflight(rcall) -= 1;
    rcall->node = node;
    *ngx_http_slidewin_redis_call_inflight(rcall) += 1;
}


static ngx_uint_t *
ngx_http_slidewin_redis_call_inflight(ngx_http_slidewin_redis_call_t *rcall)
{
    return rcall->amends ? &rcall->node->amends : &rcall->node->calls;
}


ngx_int_t
ngx_http_slidewin_redis_call_send(ngx_http_slidewin_redis_call_t *rcall)
{
    int64_t                          now, theirs, window;
    ngx_str_t                        text;
    ngx_uint_t                       i, exact;
    ngx_queue_t                     *q;
    sw_rule_t                       *rule;
    ngx_http_slidewin_call_t        *call;
    ngx_http_slidewin_redis_call_t  *passenger;
    ngx_http_slidewin_redis_node_t  *node;

    static const char  *asking[] = { "ASKING" };

    ngx_http_slidewin_redis_batch_fill(rcall);

    call = ngx_http_slidewin_redis_batch_any(rcall);
    node = rcall->node;
    now = ngx_http_slidewin_clock_us();

    window = SW_WINDOW_MAX;
    exact = 0;

    for (i = 0; i < call->n; i++) {
        rule = &call->claims[i]->rule;
        window = ngx_min(window, rule->window);
        exact |= (rule->algorithm == SW_LOG
                  || rule->algorithm == SW_STRICT);
    }

    /* those go by no other clock than that of Redis */

    theirs = exact ? 0 : ngx_http_slidewin_redis_clock_now(&node->conn, now,
                                                           window);

    /* it is about the next command and no other */

    if (rcall->asking
        && ngx_http_slidewin_redis_conn_send(&node->conn,
                                   ngx_http_slidewin_redis_call_asking_replied,
                                   &node->conn, 1, asking, NULL)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ngx_http_slidewin_redis_command(rcall, call, theirs, &text) != NGX_OK
        || ngx_http_slidewin_redis_conn_write(&node->conn,
                                          ngx_http_slidewin_redis_call_replied,
                                          rcall, &text)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    node->flight++;
    ngx_http_slidewin_redis_call_sent(rcall, now);

    /* for those with it that came later, as it was not run */

    if (rcall->late) {
        node->late++;
        (void) ngx_http_slidewin_redis_node_watch(node, now);
    }

    node->redis->amended += rcall->amends;
    rcall->amended = node->redis->amended;

    for (q = ngx_queue_head(&rcall->passengers);
         q != ngx_queue_sentinel(&rcall->passengers);
         q = ngx_queue_next(q))
    {
        passenger = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        ngx_http_slidewin_redis_call_sent(passenger, now);
    }

    return NGX_OK;
}


/* one that is sent once more, or elsewhere, has no more time than it had */

static void
ngx_http_slidewin_redis_call_sent(ngx_http_slidewin_redis_call_t *rcall,
    int64_t now)
{
    rcall->sent = 1;
    rcall->sent_at = now;
    rcall->worked = rcall->node->worked;

    if (!rcall->dated) {
        rcall->dated = 1;
        ngx_http_slidewin_redis_timeout_set(rcall, now);
    }
}


static void
ngx_http_slidewin_redis_call_asking_replied(redisAsyncContext *context,
    void *reply, void *data)
{
    ngx_http_slidewin_redis_conn_t  *c;

    c = data;

    (void) ngx_http_slidewin_redis_conn_accept_reply(c, context, reply);
}


/*
 * Runs inside hiredis, perhaps while another request's call frees it: it only
 * takes down what was said and lets an event of its own do the rest.
 */

static void
ngx_http_slidewin_redis_call_replied(redisAsyncContext *context, void *reply,
    void *data)
{
    ngx_int_t                        rc;
    ngx_http_slidewin_redis_call_t  *rcall;
    ngx_http_slidewin_redis_node_t  *node;

    rcall = data;
    rcall->sent = 0;

    node = rcall->node;
    node->flight--;
    node->late -= rcall->late;

    if (reply == NULL) {
        ngx_http_slidewin_redis_call_probe_lost(rcall);
        ngx_http_slidewin_redis_call_finish(rcall, NGX_ERROR);
        return;
    }

    node->answered = node->conn.read_at;
    ngx_http_slidewin_redis_conn_received(&node->conn);

    rc = ngx_http_slidewin_redis_reply(rcall, reply);

    if (rc != NGX_AGAIN) {
        ngx_http_slidewin_redis_call_finish(rcall, rc);
    }

    /* there is room for the next in line */

    ngx_http_slidewin_redis_calls_send(node);
}


/* for all it stands for; then those that follow it have their turn */

static void
ngx_http_slidewin_redis_call_finish(ngx_http_slidewin_redis_call_t *rcall,
    ngx_int_t rc)
{
    ngx_uint_t   refused;
    ngx_queue_t  passengers, followers;

    refused = (rc == NGX_OK && rcall->leads
               && ngx_http_slidewin_redis_batch_reject(rcall));

    ngx_http_slidewin_redis_batch_close(rcall);

    ngx_queue_init(&passengers);
    ngx_queue_add(&passengers, &rcall->passengers);

    ngx_queue_init(&followers);
    ngx_queue_add(&followers, &rcall->followers);

    ngx_http_slidewin_redis_call_end(rcall, rc);
    ngx_http_slidewin_redis_calls_end(&passengers, rc);

    if (refused) {
        ngx_http_slidewin_redis_calls_end(&followers, rc);

    } else {
        ngx_http_slidewin_redis_calls_send_next(&followers);
    }
}


/* one that has failed meanwhile is not asked, as by whoever comes now */

static void
ngx_http_slidewin_redis_calls_send_next(ngx_queue_t *followers)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_call_t  *rcall;

    if (ngx_queue_empty(followers)) {
        return;
    }

    q = ngx_queue_head(followers);
    rcall = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

    if (!ngx_http_slidewin_redis_node_usable(rcall->node)) {
        ngx_http_slidewin_redis_calls_end(followers, NGX_ERROR);
        return;
    }

    ngx_queue_remove(q);
    ngx_queue_add(&rcall->followers, followers);

    rcall->follows = 0;

    if (ngx_http_slidewin_redis_call_submit(rcall) == NGX_OK) {
        ngx_http_slidewin_redis_batch_open(rcall);

    } else {
        ngx_http_slidewin_redis_calls_end(&rcall->passengers, NGX_ERROR);
        ngx_http_slidewin_redis_call_end(rcall, NGX_ERROR);
    }
}


static void
ngx_http_slidewin_redis_calls_end(ngx_queue_t *calls, ngx_int_t rc)
{
    ngx_queue_t  *q;

    while (!ngx_queue_empty(calls)) {
        q = ngx_queue_head(calls);
        ngx_queue_remove(q);

        ngx_http_slidewin_redis_call_end(
            ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue), rc);
    }
}


void
ngx_http_slidewin_redis_call_end(ngx_http_slidewin_redis_call_t *rcall,
    ngx_int_t rc)
{
    *ngx_http_slidewin_redis_call_inflight(rcall) -= 1;
    rcall->node->redis->checks -= !rcall->amends;

    rcall->follows = 0;
    rcall->sent = 0;

    ngx_http_slidewin_redis_timeout_clear(rcall);

    if (rcall->call == NULL) {
        ngx_http_slidewin_redis_call_free(rcall);
        return;
    }

    rcall->rc = rc;
    rcall->answered = 1;

    ngx_post_event(&rcall->event, &ngx_posted_events);
}


static void
ngx_http_slidewin_redis_call_event(ngx_event_t *ev)
{
    ngx_int_t                        rc;
    ngx_http_slidewin_call_t        *call;
    ngx_http_slidewin_redis_call_t  *rcall;

    rcall = ev->data;
    rc = rcall->rc;
    call = rcall->call;

    ngx_http_slidewin_redis_call_free(rcall);

    call->pending = NULL;
    call->done(call, rc);
}


/* the request goes on without an answer */

void
ngx_http_slidewin_redis_call_overdue(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_int_t                  rc;
    ngx_http_slidewin_call_t  *call;

    call = rcall->call;
    rcall->call = NULL;

    rc = ngx_http_slidewin_redis_call_give_up(rcall);

    if (call) {
        call->pending = NULL;
        call->done(call, rc);
    }
}


/*
 * Redis is judged by what was sent, and by the one that was: those that go with
 * it, that follow it or that stand in line say nothing about Redis.  Answers
 * come in order: what was answered since stood before it, and if that is a
 * crowd that was answered in time, Redis is well.
 */

static ngx_int_t
ngx_http_slidewin_redis_call_give_up(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_uint_t                       crowd;
    ngx_http_slidewin_redis_node_t  *node;

    static const char  late[] = "a check was not answered within the timeout";
    static const char  unsent[] = "a check was not sent within the timeout";

    node = rcall->node;

    if (rcall->follows) {
        ngx_http_slidewin_redis_call_unfollow(rcall);
        return NGX_ERROR;
    }

    if (rcall->sent) {
        crowd = (node->worked - rcall->worked
                 >= NGX_HTTP_SLIDEWIN_REDIS_CALL_CROWD);

        if (rcall->times) {
            ngx_http_slidewin_redis_call_late(rcall, crowd);
        }

        if (!crowd) {
            return NGX_ERROR;
        }

        ngx_http_slidewin_redis_node_log_error(node,
                                               ngx_http_slidewin_redis_crowded,
                                               late, sizeof(late) - 1);
        return NGX_BUSY;
    }

    if (!ngx_http_slidewin_redis_conn_open(&node->conn)) {
        node->conn.failed |= !rcall->moved;
        ngx_http_slidewin_redis_call_fail_unsent(rcall);
        return NGX_ERROR;
    }

    ngx_http_slidewin_redis_call_fail_unsent(rcall);
    ngx_http_slidewin_redis_node_log_error(node,
                                           ngx_http_slidewin_redis_crowded,
                                           unsent, sizeof(unsent) - 1);
    return NGX_BUSY;
}


/*
 * If no call was answered for a whole timeout since this one was sent, the
 * connection is not worth waiting for either, and all others that wait on it
 * are told now.  Otherwise those that follow go without it.
 */

static void
ngx_http_slidewin_redis_call_late(ngx_http_slidewin_redis_call_t *rcall,
    ngx_uint_t crowd)
{
    int64_t                          timeout;
    ngx_queue_t                      followers;
    ngx_http_slidewin_redis_node_t  *node;

    static const char  late[] = "no answer within the timeout";

    node = rcall->node;

    rcall->late = 1;
    node->late++;

    if (ngx_http_slidewin_redis_node_watch(node, rcall->sent_at) != NGX_OK) {
        return;
    }

    /* one that was sent again, or elsewhere, is not there for so long */

    timeout = (int64_t) node->redis->timeout * 1000;

    if (!rcall->amends && !crowd
        && ngx_http_slidewin_clock_us() - rcall->sent_at >= timeout)
    {
        ngx_http_slidewin_redis_node_failure(node, late, sizeof(late) - 1);
    }

    ngx_http_slidewin_redis_batch_close(rcall);

    ngx_queue_init(&followers);
    ngx_queue_add(&followers, &rcall->followers);
    ngx_queue_init(&rcall->followers);

    ngx_http_slidewin_redis_calls_send_next(&followers);
}


void
ngx_http_slidewin_redis_call_cancel(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    ngx_http_slidewin_redis_call_t  *rcall;

    rcall = call->pending;

    call->pending = NULL;
    rcall->call = NULL;

    if (rcall->answered) {
        ngx_delete_posted_event(&rcall->event);
        ngx_http_slidewin_redis_call_free(rcall);

    } else if (rcall->follows) {
        ngx_http_slidewin_redis_call_unfollow(rcall);

    } else if (!rcall->sent) {
        ngx_http_slidewin_redis_call_fail_unsent(rcall);
    }

    /* one that is sent keeps its deadline: it watches the connection */
}


ngx_int_t
ngx_http_slidewin_redis_call_reassign(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call, ngx_http_slidewin_call_t *replacement)
{
    ngx_http_slidewin_redis_call_t  *rcall;

    rcall = call->pending;

    if (!rcall->sent && !rcall->answered) {
        return NGX_DECLINED;
    }

    rcall->call = replacement;
    replacement->pending = rcall;
    call->pending = NULL;

    return NGX_OK;
}


void
ngx_http_slidewin_redis_calls_send(ngx_http_slidewin_redis_node_t *node)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_call_t  *rcall;

    while (!ngx_queue_empty(&node->waiting)
           && node->flight < node->redis->flight_max
           && ngx_http_slidewin_redis_conn_open(&node->conn))
    {
        q = ngx_queue_head(&node->waiting);
        rcall = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        ngx_queue_remove(q);

        if (ngx_http_slidewin_redis_call_send(rcall) != NGX_OK) {
            ngx_http_slidewin_redis_call_probe_lost(rcall);
            ngx_http_slidewin_redis_call_finish(rcall, NGX_ERROR);
        }
    }
}


void
ngx_http_slidewin_redis_calls_fail(ngx_http_slidewin_redis_node_t *node)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_call_t  *rcall;

    while (!ngx_queue_empty(&node->waiting)) {
        q = ngx_queue_head(&node->waiting);
        rcall = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        ngx_http_slidewin_redis_call_fail_unsent(rcall);
    }
}


void
ngx_http_slidewin_redis_calls_route(ngx_http_slidewin_redis_t *redis)
{
    ngx_queue_t                      waiting, *q;
    ngx_http_slidewin_redis_call_t  *rcall;
    ngx_http_slidewin_redis_node_t  *node;

    ngx_queue_init(&waiting);
    ngx_queue_add(&waiting, &redis->node.waiting);
    ngx_queue_init(&redis->node.waiting);

    while (!ngx_queue_empty(&waiting)) {
        q = ngx_queue_head(&waiting);
        rcall = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        ngx_queue_remove(q);

        node = ngx_http_slidewin_redis_cluster_route(redis->cluster,
                                                     rcall->slot);

        if (ngx_http_slidewin_redis_call_redirect(rcall, node) != NGX_OK) {
            ngx_http_slidewin_redis_calls_end(&rcall->followers, NGX_ERROR);
            ngx_http_slidewin_redis_call_finish(rcall, NGX_ERROR);
        }
    }
}


/* it follows no more, and nobody has counted it */

static void
ngx_http_slidewin_redis_call_unfollow(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_remove(&rcall->queue);
    ngx_http_slidewin_redis_call_end(rcall, NGX_ERROR);
}


static void
ngx_http_slidewin_redis_call_fail_unsent(ngx_http_slidewin_redis_call_t *rcall)
{
    if (!ngx_queue_empty(&rcall->followers)
        && ngx_http_slidewin_redis_node_usable(rcall->node))
    {
        ngx_http_slidewin_redis_call_yield(rcall);
    }

    ngx_queue_remove(&rcall->queue);
    ngx_http_slidewin_redis_call_probe_lost(rcall);
    ngx_http_slidewin_redis_call_finish(rcall, NGX_ERROR);
}


/* the first of those that follow it has its place in the line */

static void
ngx_http_slidewin_redis_call_yield(ngx_http_slidewin_redis_call_t *rcall)
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
    next->moved = rcall->moved;
    ngx_http_slidewin_redis_call_set_node(next, rcall->node);

    ngx_http_slidewin_redis_batch_close(rcall);
    ngx_http_slidewin_redis_batch_open(next);
}


void
ngx_http_slidewin_redis_call_probe_lost(ngx_http_slidewin_redis_call_t *rcall)
{
    if (!rcall->amends) {
        ngx_http_slidewin_redis_node_probe_lost(rcall->node);
    }
}
