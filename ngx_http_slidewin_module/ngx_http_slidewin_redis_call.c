
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_redis_call.h"
#include "ngx_http_slidewin_redis_cluster.h"
#include "ngx_http_slidewin_redis_command.h"
#include "ngx_http_slidewin_redis_group.h"
#include "ngx_http_slidewin_redis_greet.h"
#include "ngx_http_slidewin_redis_node.h"


/* a call that is sent on and on goes round in circles */
#define NGX_HTTP_SLIDEWIN_REDIS_REDIRECTS_MAX  5


/*
 * A call on its way.  It is not the request's: that may leave, or give up at
 * the deadline, and the reply comes all the same.
 *
 * While a check is on its way, those of this worker that ask for the same
 * follow it.  When it is answered, the first of them goes, and takes the others
 * along as passengers: each has a deadline and an answer of its own.
 */

typedef struct {
    ngx_event_t                      event;     /* the deadline, the answer */
    ngx_queue_t                      queue;     /* of one of those below, or
                                                 * of those not yet sent */
    ngx_queue_t                      passengers;
    ngx_queue_t                      followers;
    ngx_str_node_t                   group;     /* an empty name: it is alone */
    ngx_uint_t                       times;     /* with its passengers */
    ngx_http_slidewin_redis_node_t  *node;
    ngx_http_slidewin_call_t        *call;      /* NULL: nobody waits */
    ngx_http_slidewin_redis_verb_e   verb;
    int64_t                          number;
    int64_t                          sent_at;   /* us */
    ngx_int_t                        rc;
    ngx_uint_t                       slot;      /* in a cluster */
    ngx_uint_t                       redirects;
    unsigned                         amends:1;  /* it is no check */
    unsigned                         leads:1;   /* a group */
    unsigned                         follows:1;
    unsigned                         sent:1;
    unsigned                         answered:1;
    unsigned                         retried:1;
    unsigned                         asking:1;
    unsigned                         overdue:1;
    unsigned                         late:1;
} ngx_http_slidewin_redis_call_t;


static ngx_http_slidewin_redis_call_t *ngx_http_slidewin_redis_call_leader(
    ngx_http_slidewin_redis_call_t *rcall);
static void ngx_http_slidewin_redis_call_lead(
    ngx_http_slidewin_redis_call_t *rcall);
static ngx_int_t ngx_http_slidewin_redis_call_submit(
    ngx_http_slidewin_redis_call_t *rcall);
static ngx_int_t ngx_http_slidewin_redis_call_move(
    ngx_http_slidewin_redis_call_t *rcall,
    ngx_http_slidewin_redis_node_t *node);
static void ngx_http_slidewin_redis_call_book(
    ngx_http_slidewin_redis_call_t *rcall,
    ngx_http_slidewin_redis_node_t *node);
static ngx_uint_t *ngx_http_slidewin_redis_call_under_way(
    ngx_http_slidewin_redis_call_t *rcall);
static ngx_int_t ngx_http_slidewin_redis_call_send(
    ngx_http_slidewin_redis_call_t *rcall);
static void ngx_http_slidewin_redis_call_board(
    ngx_http_slidewin_redis_call_t *rcall);
static void ngx_http_slidewin_redis_call_asked(redisAsyncContext *context,
    void *reply, void *data);
static void ngx_http_slidewin_redis_call_alight(
    ngx_http_slidewin_redis_call_t *rcall);
static ngx_http_slidewin_call_t *ngx_http_slidewin_redis_call_anybody(
    ngx_http_slidewin_redis_call_t *rcall);
static ngx_http_slidewin_redis_script_e ngx_http_slidewin_redis_call_script(
    ngx_http_slidewin_redis_verb_e verb, ngx_http_slidewin_call_t *call);
static void ngx_http_slidewin_redis_call_replied(redisAsyncContext *context,
    void *reply, void *data);
static void ngx_http_slidewin_redis_call_finish(
    ngx_http_slidewin_redis_call_t *rcall, ngx_int_t rc);
static void ngx_http_slidewin_redis_calls_proceed(
    ngx_http_slidewin_redis_node_t *node, ngx_queue_t *followers);
static void ngx_http_slidewin_redis_calls_end(ngx_queue_t *calls,
    ngx_int_t rc);
static void ngx_http_slidewin_redis_call_end(
    ngx_http_slidewin_redis_call_t *rcall, ngx_int_t rc);
static void ngx_http_slidewin_redis_call_event(ngx_event_t *ev);
static void ngx_http_slidewin_redis_call_overdue(
    ngx_http_slidewin_redis_call_t *rcall);
static void ngx_http_slidewin_redis_call_stay(
    ngx_http_slidewin_redis_call_t *rcall);
static void ngx_http_slidewin_redis_call_unsent(
    ngx_http_slidewin_redis_call_t *rcall);
static ngx_int_t ngx_http_slidewin_redis_call_understand(
    ngx_http_slidewin_redis_call_t *rcall, redisReply *reply);
static ngx_int_t ngx_http_slidewin_redis_call_verdicts(
    ngx_http_slidewin_redis_call_t *rcall, redisReply *reply);
static ngx_int_t ngx_http_slidewin_redis_call_error(
    ngx_http_slidewin_redis_call_t *rcall, redisReply *reply);
static ngx_int_t ngx_http_slidewin_redis_call_redirect(
    ngx_http_slidewin_redis_call_t *rcall, redisReply *reply);
static void ngx_http_slidewin_redis_call_odd_key(
    ngx_http_slidewin_redis_call_t *rcall, const char *reason, size_t len);
static void ngx_http_slidewin_redis_call_mute(
    ngx_http_slidewin_redis_call_t *rcall);


ngx_int_t
ngx_http_slidewin_redis_call_ask(ngx_http_slidewin_redis_t *redis,
    ngx_http_slidewin_call_t *call, ngx_http_slidewin_redis_verb_e verb)
{
    ngx_str_t                        name;
    ngx_uint_t                       check, slot;
    ngx_http_slidewin_redis_node_t  *node;
    ngx_http_slidewin_redis_call_t  *rcall, *leader;

    check = (verb == NGX_HTTP_SLIDEWIN_REDIS_VERB_TAKE);
    node = &redis->node;
    slot = 0;

    if (redis->cluster) {
        slot = ngx_http_slidewin_redis_slot(redis, call->claims[0]);
        node = ngx_http_slidewin_redis_cluster_node(redis->cluster, slot);
    }

    if (node == NULL || !ngx_http_slidewin_redis_node_open(node, check)) {
        return NGX_ERROR;
    }

    ngx_str_null(&name);

    if (check) {
        ngx_http_slidewin_redis_group_name(call, &name);
    }

    rcall = ngx_calloc(sizeof(ngx_http_slidewin_redis_call_t) + name.len,
                       call->log);
    if (rcall == NULL) {
        if (check) {
            ngx_http_slidewin_redis_node_unheard(node);
        }

        return NGX_ERROR;
    }

    rcall->node = node;
    rcall->call = call;
    rcall->amends = !check;
    rcall->verb = verb;
    rcall->slot = slot;
    rcall->number = ++redis->number;
    rcall->event.handler = ngx_http_slidewin_redis_call_event;
    rcall->event.data = rcall;
    rcall->event.log = ngx_cycle->log;

    ngx_queue_init(&rcall->passengers);
    ngx_queue_init(&rcall->followers);

    leader = NULL;

    if (name.len) {
        rcall->group.str.len = name.len;
        rcall->group.str.data = (u_char *) &rcall[1];
        rcall->group.node.key = ngx_murmur_hash2(name.data, name.len);
        ngx_memcpy(&rcall[1], name.data, name.len);

        leader = ngx_http_slidewin_redis_call_leader(rcall);
    }

    if (leader) {
        ngx_queue_insert_tail(&leader->followers, &rcall->queue);
        rcall->follows = 1;

    } else if (ngx_http_slidewin_redis_call_submit(rcall) != NGX_OK) {
        ngx_free(rcall);
        return NGX_ERROR;

    } else {
        ngx_http_slidewin_redis_call_lead(rcall);
    }

    *ngx_http_slidewin_redis_call_under_way(rcall) += 1;
    call->pending = rcall;

    ngx_add_timer(&rcall->event, redis->timeout);

    return NGX_AGAIN;
}


/* the one on its way that asks for the same */

static ngx_http_slidewin_redis_call_t *
ngx_http_slidewin_redis_call_leader(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_str_node_t  *sn;

    sn = ngx_str_rbtree_lookup(&rcall->node->redis->groups, &rcall->group.str,
                               (uint32_t) rcall->group.node.key);

    return sn ? ngx_rbtree_data(&sn->node, ngx_http_slidewin_redis_call_t,
                                group.node)
              : NULL;
}


static void
ngx_http_slidewin_redis_call_lead(ngx_http_slidewin_redis_call_t *rcall)
{
    if (rcall->group.str.len) {
        rcall->leads = 1;
        ngx_rbtree_insert(&rcall->node->redis->groups, &rcall->group.node);
    }
}


/* sends it, or lets it wait for the connection */

static ngx_int_t
ngx_http_slidewin_redis_call_submit(ngx_http_slidewin_redis_call_t *rcall)
{
    if (!ngx_http_slidewin_redis_conn_open(&rcall->node->conn)) {
        ngx_queue_insert_tail(&rcall->node->waiting, &rcall->queue);
        return NGX_OK;
    }

    if (ngx_http_slidewin_redis_call_send(rcall) != NGX_OK) {
        ngx_http_slidewin_redis_call_mute(rcall);
        return NGX_ERROR;
    }

    return NGX_OK;
}


/* one that did not run where it was goes on to another node */

static ngx_int_t
ngx_http_slidewin_redis_call_move(ngx_http_slidewin_redis_call_t *rcall,
    ngx_http_slidewin_redis_node_t *node)
{
    ngx_queue_t  *q;

    if (node == NULL
        || !ngx_http_slidewin_redis_node_open(node, !rcall->amends))
    {
        return NGX_ERROR;
    }

    ngx_http_slidewin_redis_call_book(rcall, node);

    for (q = ngx_queue_head(&rcall->followers);
         q != ngx_queue_sentinel(&rcall->followers);
         q = ngx_queue_next(q))
    {
        ngx_http_slidewin_redis_call_book(
            ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue), node);
    }

    return ngx_http_slidewin_redis_call_submit(rcall);
}


static void
ngx_http_slidewin_redis_call_book(ngx_http_slidewin_redis_call_t *rcall,
    ngx_http_slidewin_redis_node_t *node)
{
    *ngx_http_slidewin_redis_call_under_way(rcall) -= 1;
    rcall->node = node;
    *ngx_http_slidewin_redis_call_under_way(rcall) += 1;
}


static ngx_uint_t *
ngx_http_slidewin_redis_call_under_way(ngx_http_slidewin_redis_call_t *rcall)
{
    return rcall->amends ? &rcall->node->amends : &rcall->node->calls;
}


static ngx_int_t
ngx_http_slidewin_redis_call_send(ngx_http_slidewin_redis_call_t *rcall)
{
    int64_t                             now;
    ngx_str_t                           text;
    ngx_queue_t                        *q;
    ngx_http_slidewin_call_t           *call;
    ngx_http_slidewin_redis_call_t     *passenger;
    ngx_http_slidewin_redis_node_t     *node;
    ngx_http_slidewin_redis_script_e    script;
    ngx_http_slidewin_redis_command_t   cmd;

    static const char  *asking[] = { "ASKING" };

    ngx_http_slidewin_redis_call_board(rcall);

    call = ngx_http_slidewin_redis_call_anybody(rcall);
    node = rcall->node;
    cmd.argc = 0;

    if (rcall->verb == NGX_HTTP_SLIDEWIN_REDIS_VERB_RESET) {
        ngx_http_slidewin_redis_arg(&cmd, "DEL", 3);
        ngx_http_slidewin_redis_arg_keys(&cmd, node->redis, call, 0);

    } else {

        script = ngx_http_slidewin_redis_call_script(rcall->verb, call);

        if (rcall->retried) {
            text = ngx_http_slidewin_redis_scripts[script];
            ngx_http_slidewin_redis_arg(&cmd, "EVAL", 4);
            ngx_http_slidewin_redis_arg(&cmd, (char *) text.data, text.len);

        } else {
            ngx_http_slidewin_redis_arg(&cmd, "EVALSHA", 7);
            ngx_http_slidewin_redis_arg(&cmd, (char *) node->redis->sha[script],
                                        NGX_HTTP_SLIDEWIN_REDIS_SHA_LEN);
        }

        ngx_http_slidewin_redis_arg_keys(&cmd, node->redis, call, 1);

        now = ngx_http_slidewin_redis_greet_time(&node->conn);

        if (script == NGX_HTTP_SLIDEWIN_REDIS_GIVE_BACK) {
            ngx_http_slidewin_redis_arg_give_back(&cmd, call, rcall->number,
                                                  now);
        } else {
            ngx_http_slidewin_redis_arg_take(&cmd, call, rcall->times,
                                             rcall->number, now);
        }
    }

    /* it is about the next command and no other */

    if (rcall->asking
        && ngx_http_slidewin_redis_conn_send(&node->conn,
                                            ngx_http_slidewin_redis_call_asked,
                                            &node->conn, 1, asking, NULL)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ngx_http_slidewin_redis_command_text(&cmd, &text) != NGX_OK
        || ngx_http_slidewin_redis_conn_write(&node->conn,
                                          ngx_http_slidewin_redis_call_replied,
                                          rcall, &text)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    rcall->sent = 1;
    rcall->sent_at = ngx_http_slidewin_clock_us();

    for (q = ngx_queue_head(&rcall->passengers);
         q != ngx_queue_sentinel(&rcall->passengers);
         q = ngx_queue_next(q))
    {
        passenger = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        passenger->sent = 1;
        passenger->sent_at = rcall->sent_at;
    }

    return NGX_OK;
}


/* those that follow it so far come along */

static void
ngx_http_slidewin_redis_call_board(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_uint_t                       i;
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_call_t  *passenger;

    if (rcall->times) {
        return;
    }

    rcall->times = 1;

    while (!ngx_queue_empty(&rcall->followers)) {
        q = ngx_queue_head(&rcall->followers);
        passenger = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        ngx_queue_remove(q);
        ngx_queue_insert_tail(&rcall->passengers, q);

        passenger->follows = 0;
        rcall->times++;

        /* the first asks for what is ahead, and all know what it asked for */

        for (i = 0; i < rcall->call->n; i++) {
            passenger->call->claims[i]->ahead = rcall->call->claims[i]->ahead;
        }
    }
}


/* it did not run: who has left is let go, the others follow it again */

static void
ngx_http_slidewin_redis_call_alight(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_call_t  *passenger;

    rcall->times = 0;

    while (!ngx_queue_empty(&rcall->passengers)) {
        q = ngx_queue_last(&rcall->passengers);
        passenger = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        ngx_queue_remove(q);

        if (passenger->call == NULL) {
            ngx_http_slidewin_redis_call_end(passenger, NGX_ERROR);
            continue;
        }

        ngx_queue_insert_head(&rcall->followers, q);

        passenger->follows = 1;
        passenger->sent = 0;
    }
}


/* of those it stands for, one that has not left; all ask for the same */

static ngx_http_slidewin_call_t *
ngx_http_slidewin_redis_call_anybody(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_call_t  *passenger;

    if (rcall->call) {
        return rcall->call;
    }

    for (q = ngx_queue_head(&rcall->passengers);
         q != ngx_queue_sentinel(&rcall->passengers);
         q = ngx_queue_next(q))
    {
        passenger = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        if (passenger->call) {
            return passenger->call;
        }
    }

    return NULL;
}


static ngx_http_slidewin_redis_script_e
ngx_http_slidewin_redis_call_script(ngx_http_slidewin_redis_verb_e verb,
    ngx_http_slidewin_call_t *call)
{
    if (verb == NGX_HTTP_SLIDEWIN_REDIS_VERB_GIVE_BACK) {
        return NGX_HTTP_SLIDEWIN_REDIS_GIVE_BACK;
    }

    if (call->n > 1) {
        return NGX_HTTP_SLIDEWIN_REDIS_TAKE_ANY;
    }

    switch (call->claims[0]->policy.algorithm) {

    case SW_LOG:
        return NGX_HTTP_SLIDEWIN_REDIS_TAKE_LOG;

    case SW_STRICT:
        return NGX_HTTP_SLIDEWIN_REDIS_TAKE_ANY;

    default:
        return NGX_HTTP_SLIDEWIN_REDIS_TAKE_PAIR;
    }
}


static void
ngx_http_slidewin_redis_call_asked(redisAsyncContext *context, void *reply,
    void *data)
{
    ngx_http_slidewin_redis_conn_t  *c;

    c = data;

    (void) ngx_http_slidewin_redis_conn_current(c, context, reply);
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

    rcall = data;
    rcall->sent = 0;

    if (reply == NULL) {
        ngx_http_slidewin_redis_call_mute(rcall);
        ngx_http_slidewin_redis_call_finish(rcall, NGX_ERROR);
        return;
    }

    ngx_http_slidewin_redis_conn_received(&rcall->node->conn);

    rc = ngx_http_slidewin_redis_call_understand(rcall, reply);

    if (rc != NGX_AGAIN) {
        ngx_http_slidewin_redis_call_finish(rcall, rc);
    }
}


/* for all it stands for; then those that follow it have their turn */

static void
ngx_http_slidewin_redis_call_finish(ngx_http_slidewin_redis_call_t *rcall,
    ngx_int_t rc)
{
    ngx_queue_t                      passengers, followers;
    ngx_http_slidewin_redis_node_t  *node;

    node = rcall->node;

    if (rcall->leads) {
        ngx_rbtree_delete(&node->redis->groups, &rcall->group.node);
    }

    ngx_queue_init(&passengers);
    ngx_queue_add(&passengers, &rcall->passengers);

    ngx_queue_init(&followers);
    ngx_queue_add(&followers, &rcall->followers);

    ngx_http_slidewin_redis_call_end(rcall, rc);
    ngx_http_slidewin_redis_calls_end(&passengers, rc);
    ngx_http_slidewin_redis_calls_proceed(node, &followers);
}


/* one that has failed meanwhile is not asked, as by whoever comes now */

static void
ngx_http_slidewin_redis_calls_proceed(ngx_http_slidewin_redis_node_t *node,
    ngx_queue_t *followers)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_call_t  *rcall;

    if (ngx_queue_empty(followers)) {
        return;
    }

    if (!ngx_http_slidewin_redis_node_well(node)) {
        ngx_http_slidewin_redis_calls_end(followers, NGX_ERROR);
        return;
    }

    q = ngx_queue_head(followers);
    rcall = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

    ngx_queue_remove(q);
    ngx_queue_add(&rcall->followers, followers);

    rcall->follows = 0;

    if (ngx_http_slidewin_redis_call_submit(rcall) == NGX_OK) {
        ngx_http_slidewin_redis_call_lead(rcall);

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


static void
ngx_http_slidewin_redis_call_end(ngx_http_slidewin_redis_call_t *rcall,
    ngx_int_t rc)
{
    *ngx_http_slidewin_redis_call_under_way(rcall) -= 1;

    rcall->follows = 0;
    rcall->sent = 0;

    if (rcall->event.timer_set) {
        ngx_del_timer(&rcall->event);
    }

    if (rcall->call == NULL) {
        ngx_free(rcall);
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

    if (!rcall->answered) {
        ngx_http_slidewin_redis_call_overdue(rcall);
        return;
    }

    rc = rcall->rc;
    call = rcall->call;

    ngx_free(rcall);

    call->pending = NULL;
    call->done(call, rc);
}


/*
 * The request goes on without an answer.  If no reply at all was complete since
 * the question was sent, the connection is not worth waiting for either, and
 * all others that wait on it are told now.
 */

static void
ngx_http_slidewin_redis_call_overdue(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_http_slidewin_call_t        *call;
    ngx_http_slidewin_redis_node_t  *node;

    static const char  late[] = "no answer within the timeout";

    /*
     * It may be this process that was late: what has come meanwhile is read
     * in the next turn, before its timers.
     */

    if (rcall->sent && !rcall->overdue) {
        rcall->overdue = 1;
        ngx_add_timer(&rcall->event, 1);
        return;
    }

    node = rcall->node;
    call = rcall->call;
    rcall->call = NULL;
    rcall->late = 1;

    if (rcall->follows) {
        ngx_http_slidewin_redis_node_failed(node, late, sizeof(late) - 1);
        ngx_http_slidewin_redis_call_stay(rcall);

    } else if (!rcall->sent) {
        node->conn.failed = 1;
        ngx_http_slidewin_redis_call_unsent(rcall);

    } else if (node->conn.heard < rcall->sent_at) {
        ngx_http_slidewin_redis_node_silent(node);

    } else if (!rcall->amends) {
        ngx_http_slidewin_redis_node_failed(node, late, sizeof(late) - 1);
    }

    if (call) {
        call->pending = NULL;
        call->done(call, NGX_ERROR);
    }
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
        ngx_free(rcall);

    } else if (rcall->follows) {
        ngx_http_slidewin_redis_call_stay(rcall);

    } else if (!rcall->sent) {
        ngx_http_slidewin_redis_call_unsent(rcall);
    }

    /* one that is sent keeps its deadline: it watches the connection */
}


ngx_int_t
ngx_http_slidewin_redis_call_adopt(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call, ngx_http_slidewin_call_t *heir)
{
    ngx_http_slidewin_redis_call_t  *rcall;

    rcall = call->pending;

    if (!rcall->sent && !rcall->answered) {
        return NGX_DECLINED;
    }

    rcall->call = heir;
    heir->pending = rcall;
    call->pending = NULL;

    return NGX_OK;
}


void
ngx_http_slidewin_redis_calls_send(ngx_http_slidewin_redis_node_t *node)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_call_t  *rcall;

    while (!ngx_queue_empty(&node->waiting)) {
        q = ngx_queue_head(&node->waiting);
        rcall = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        if (ngx_http_slidewin_redis_call_send(rcall) != NGX_OK) {
            ngx_http_slidewin_redis_call_unsent(rcall);
            continue;
        }

        ngx_queue_remove(q);
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

        ngx_http_slidewin_redis_call_unsent(rcall);
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

        node = ngx_http_slidewin_redis_cluster_node(redis->cluster,
                                                    rcall->slot);

        if (ngx_http_slidewin_redis_call_move(rcall, node) != NGX_OK) {
            ngx_http_slidewin_redis_calls_end(&rcall->followers, NGX_ERROR);
            ngx_http_slidewin_redis_call_finish(rcall, NGX_ERROR);
        }
    }
}


/* it follows no more, and nobody has counted it */

static void
ngx_http_slidewin_redis_call_stay(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_remove(&rcall->queue);
    ngx_http_slidewin_redis_call_end(rcall, NGX_ERROR);
}


static void
ngx_http_slidewin_redis_call_unsent(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_remove(&rcall->queue);
    ngx_http_slidewin_redis_call_mute(rcall);
    ngx_http_slidewin_redis_call_finish(rcall, NGX_ERROR);
}


/* NGX_OK, NGX_ERROR, or NGX_AGAIN if the call was sent once more */

static ngx_int_t
ngx_http_slidewin_redis_call_understand(ngx_http_slidewin_redis_call_t *rcall,
    redisReply *reply)
{
    ngx_int_t                        rc;
    ngx_http_slidewin_redis_node_t  *node;

    static const char  nonsense[] = "its answer makes no sense";

    node = rcall->node;

    if (reply->type == REDIS_REPLY_ERROR) {
        return ngx_http_slidewin_redis_call_error(rcall, reply);
    }

    switch (rcall->verb) {

    case NGX_HTTP_SLIDEWIN_REDIS_VERB_RESET:
        rc = (reply->type == REDIS_REPLY_INTEGER) ? NGX_OK : NGX_ERROR;
        break;

    case NGX_HTTP_SLIDEWIN_REDIS_VERB_GIVE_BACK:

        /* its number, and no verdicts */

        rc = ngx_http_slidewin_redis_verdicts(NULL, 1, 1, rcall->number,
                                              reply);
        break;

    default: /* NGX_HTTP_SLIDEWIN_REDIS_VERB_TAKE */
        rc = ngx_http_slidewin_redis_call_verdicts(rcall, reply);
        break;
    }

    if (rc == NGX_OK) {

        /* one that was given up has been counted as a failure already */

        if (!rcall->late && !rcall->amends) {
            ngx_http_slidewin_redis_node_worked(node);
        }

        return NGX_OK;
    }

    if (rc == NGX_DECLINED) {
        ngx_http_slidewin_redis_call_odd_key(rcall, nonsense,
                                        sizeof(nonsense) - 1);
        return NGX_ERROR;
    }

    /* it is not known whose answer this is, nor the next one */

    ngx_http_slidewin_redis_node_failed(node, nonsense, sizeof(nonsense) - 1);
    ngx_http_slidewin_redis_conn_drop(&node->conn, nonsense);

    return NGX_ERROR;
}


/* one answer for all it stands for, and a verdict on each */

static ngx_int_t
ngx_http_slidewin_redis_call_verdicts(ngx_http_slidewin_redis_call_t *rcall,
    redisReply *reply)
{
    ngx_int_t                        rc;
    ngx_uint_t                       nth;
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_call_t  *passenger;

    nth = 1;

    rc = ngx_http_slidewin_redis_verdicts(rcall->call, rcall->times, nth,
                                          rcall->number, reply);

    for (q = ngx_queue_head(&rcall->passengers);
         q != ngx_queue_sentinel(&rcall->passengers) && rc == NGX_OK;
         q = ngx_queue_next(q))
    {
        passenger = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        rc = ngx_http_slidewin_redis_verdicts(passenger->call, rcall->times,
                                              ++nth, rcall->number, reply);
    }

    return rc;
}


static ngx_int_t
ngx_http_slidewin_redis_call_error(ngx_http_slidewin_redis_call_t *rcall,
    redisReply *reply)
{
    ngx_int_t                        rc;
    ngx_http_slidewin_redis_node_t  *node;

    node = rcall->node;

    /* it did not run: the script is brought along, once */

    if (ngx_http_slidewin_redis_error_is(reply, "NOSCRIPT")
        && !rcall->retried)
    {
        if (ngx_http_slidewin_redis_call_anybody(rcall) == NULL) {
            ngx_http_slidewin_redis_call_mute(rcall);
            return NGX_ERROR;
        }

        rcall->retried = 1;

        if (ngx_http_slidewin_redis_call_send(rcall) == NGX_OK) {
            return NGX_AGAIN;
        }
    }

    if (node->redis->cluster) {
        rc = ngx_http_slidewin_redis_call_redirect(rcall, reply);

        if (rc != NGX_DECLINED) {
            return rc;
        }
    }

    if (rcall->late) {
        return NGX_ERROR;
    }

    if (ngx_http_slidewin_redis_error_is(reply, "WRONGTYPE")
        || ngx_http_slidewin_redis_error_is(reply, "SLIDEWIN"))
    {
        ngx_http_slidewin_redis_call_odd_key(rcall, reply->str, reply->len);
        return NGX_ERROR;
    }

    if (rcall->amends) {
        ngx_http_slidewin_redis_node_odd(node, "does not change a count",
                                    reply->str, reply->len);
    } else {
        ngx_http_slidewin_redis_node_failed(node, reply->str, reply->len);
    }

    /* a master that has become a replica may be reached elsewhere */

    if (ngx_http_slidewin_redis_error_is(reply, "READONLY")) {
        ngx_http_slidewin_redis_conn_drop(&node->conn, "it is a replica");
    }

    return NGX_ERROR;
}


/*
 * The node is well and did not run it, because the slot is or goes elsewhere:
 * NGX_AGAIN if the call is on its way there.  One that is to be tried again has
 * found a slot that is between two nodes, and begins anew.
 */

static ngx_int_t
ngx_http_slidewin_redis_call_redirect(ngx_http_slidewin_redis_call_t *rcall,
    redisReply *reply)
{
    ngx_uint_t                       asking;
    ngx_http_slidewin_redis_node_t  *node, *next;

    static const char  circles[] = "it was one redirect too many";

    node = rcall->node;

    next = ngx_http_slidewin_redis_cluster_redirect(node, reply, &asking);

    if (next == NULL) {
        return NGX_DECLINED;
    }

    if (!rcall->late && !rcall->amends) {
        ngx_http_slidewin_redis_node_worked(node);
    }

    ngx_http_slidewin_redis_call_alight(rcall);

    if (rcall->call == NULL) {
        return NGX_ERROR;
    }

    if (next == &node->redis->node) {
        rcall->redirects = 0;

    } else if (rcall->redirects++ == NGX_HTTP_SLIDEWIN_REDIS_REDIRECTS_MAX) {
        ngx_http_slidewin_redis_node_odd(node, "does not decide", circles,
                                         sizeof(circles) - 1);
        return NGX_ERROR;
    }

    rcall->asking = asking;

    if (ngx_http_slidewin_redis_call_move(rcall, next) != NGX_OK) {
        return NGX_ERROR;
    }

    return NGX_AGAIN;
}


/* one client's key was written by others; the server is well */

static void
ngx_http_slidewin_redis_call_odd_key(ngx_http_slidewin_redis_call_t *rcall,
    const char *reason, size_t len)
{
    ngx_http_slidewin_redis_node_odd(rcall->node,
                                "has something else under the key of a client",
                                reason, len);

    if (!rcall->amends) {
        ngx_http_slidewin_redis_node_worked(rcall->node);
    }
}


static void
ngx_http_slidewin_redis_call_mute(ngx_http_slidewin_redis_call_t *rcall)
{
    if (!rcall->amends) {
        ngx_http_slidewin_redis_node_unheard(rcall->node);
    }
}
