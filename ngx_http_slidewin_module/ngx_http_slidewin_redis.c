
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_redis_command.h"


/* checks under way; beyond it on_error decides at once */
#define NGX_HTTP_SLIDEWIN_REDIS_CALLS_MAX   1024

/* and changes to what was counted, which nobody waits for */
#define NGX_HTTP_SLIDEWIN_REDIS_AMENDS_MAX  4096


typedef enum {
    NGX_HTTP_SLIDEWIN_REDIS_VERB_TAKE = 0,
    NGX_HTTP_SLIDEWIN_REDIS_VERB_RESET,
    NGX_HTTP_SLIDEWIN_REDIS_VERB_GIVE_BACK
} ngx_http_slidewin_redis_verb_e;


/*
 * A call on its way.  It is not the request's: that may leave, or give up at
 * the deadline, and the reply comes all the same.
 */

typedef struct {
    ngx_event_t                      event;     /* the deadline, the answer */
    ngx_queue_t                      queue;     /* of those not yet sent */
    ngx_http_slidewin_redis_t       *redis;
    ngx_http_slidewin_call_t        *call;      /* NULL: nobody waits */
    ngx_http_slidewin_redis_verb_e   verb;
    int64_t                          number;
    int64_t                          sent_at;   /* us */
    ngx_int_t                        rc;
    unsigned                         amends:1;  /* it is no check */
    unsigned                         sent:1;
    unsigned                         answered:1;
    unsigned                         retried:1;
    unsigned                         overdue:1;
    unsigned                         late:1;
} ngx_http_slidewin_redis_call_t;


static ngx_int_t ngx_http_slidewin_redis_take(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_redis_reset(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_redis_give_back(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call);
static void ngx_http_slidewin_redis_cancel(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_redis_adopt(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call,
    ngx_http_slidewin_call_t *heir);

static ngx_int_t ngx_http_slidewin_redis_ask(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call, ngx_http_slidewin_redis_verb_e verb);
static ngx_uint_t ngx_http_slidewin_redis_open(
    ngx_http_slidewin_redis_t *redis, ngx_http_slidewin_redis_verb_e verb);
static ngx_uint_t *ngx_http_slidewin_redis_under_way(
    ngx_http_slidewin_redis_call_t *rcall);
static ngx_int_t ngx_http_slidewin_redis_send(
    ngx_http_slidewin_redis_call_t *rcall);
static ngx_http_slidewin_redis_script_e ngx_http_slidewin_redis_script(
    ngx_http_slidewin_redis_call_t *rcall);
static void ngx_http_slidewin_redis_replied(redisAsyncContext *context,
    void *reply, void *data);
static void ngx_http_slidewin_redis_finish(
    ngx_http_slidewin_redis_call_t *rcall, ngx_int_t rc);
static void ngx_http_slidewin_redis_event(ngx_event_t *ev);
static void ngx_http_slidewin_redis_overdue(
    ngx_http_slidewin_redis_call_t *rcall);
static void ngx_http_slidewin_redis_ready(ngx_http_slidewin_redis_conn_t *c);
static void ngx_http_slidewin_redis_down(ngx_http_slidewin_redis_conn_t *c);
static void ngx_http_slidewin_redis_unsent(
    ngx_http_slidewin_redis_call_t *rcall);

static ngx_int_t ngx_http_slidewin_redis_understand(
    ngx_http_slidewin_redis_call_t *rcall, redisReply *reply);
static ngx_int_t ngx_http_slidewin_redis_error(
    ngx_http_slidewin_redis_call_t *rcall, redisReply *reply);
static void ngx_http_slidewin_redis_odd_key(
    ngx_http_slidewin_redis_call_t *rcall, const char *reason, size_t len);
static void ngx_http_slidewin_redis_odd(ngx_http_slidewin_redis_t *redis,
    const char *what, const char *reason, size_t len);
static void ngx_http_slidewin_redis_mute(
    ngx_http_slidewin_redis_call_t *rcall);
static void ngx_http_slidewin_redis_unheard(ngx_http_slidewin_redis_t *redis);
static void ngx_http_slidewin_redis_failed(ngx_http_slidewin_redis_t *redis,
    const char *reason, size_t len);
static void ngx_http_slidewin_redis_worked(ngx_http_slidewin_redis_t *redis);
static ngx_uint_t ngx_http_slidewin_redis_error_is(redisReply *reply,
    const char *code);


static ngx_int_t ngx_http_slidewin_redis_init_process(
    ngx_http_slidewin_store_t *store);
static void ngx_http_slidewin_redis_exit_process(
    ngx_http_slidewin_store_t *store);


const ngx_http_slidewin_backend_t  ngx_http_slidewin_redis_backend = {
    ngx_http_slidewin_redis_take,
    ngx_http_slidewin_redis_reset,
    ngx_http_slidewin_redis_give_back,
    ngx_http_slidewin_redis_cancel,
    ngx_http_slidewin_redis_adopt,
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
    ngx_http_slidewin_redis_t       *redis;
    ngx_http_slidewin_redis_call_t  *rcall;

    redis = store->data;

    if (!ngx_http_slidewin_redis_open(redis, verb)) {
        return NGX_ERROR;
    }

    rcall = ngx_calloc(sizeof(ngx_http_slidewin_redis_call_t), call->log);
    if (rcall == NULL) {
        if (verb == NGX_HTTP_SLIDEWIN_REDIS_VERB_TAKE) {
            ngx_http_slidewin_redis_unheard(redis);
        }

        return NGX_ERROR;
    }

    rcall->redis = redis;
    rcall->call = call;
    rcall->amends = (verb != NGX_HTTP_SLIDEWIN_REDIS_VERB_TAKE);
    rcall->verb = verb;
    rcall->number = ++redis->number;
    rcall->event.handler = ngx_http_slidewin_redis_event;
    rcall->event.data = rcall;
    rcall->event.log = ngx_cycle->log;

    if (redis->conn.state != NGX_HTTP_SLIDEWIN_REDIS_READY) {
        ngx_queue_insert_tail(&redis->waiting, &rcall->queue);

    } else if (ngx_http_slidewin_redis_send(rcall) != NGX_OK) {
        ngx_http_slidewin_redis_mute(rcall);
        ngx_free(rcall);
        return NGX_ERROR;
    }

    *ngx_http_slidewin_redis_under_way(rcall) += 1;
    call->pending = rcall;

    ngx_add_timer(&rcall->event, redis->timeout);

    return NGX_AGAIN;
}


/*
 * A connection that is being made is waited for unless it failed before.  One
 * that failed before is asked by one at a time until it has answered.  What
 * changes a count is no way to find out whether checks are answered.
 */

static ngx_uint_t
ngx_http_slidewin_redis_open(ngx_http_slidewin_redis_t *redis,
    ngx_http_slidewin_redis_verb_e verb)
{
    if (redis->conn.failed
        && redis->conn.state != NGX_HTTP_SLIDEWIN_REDIS_READY)
    {
        return 0;
    }

    if (verb != NGX_HTTP_SLIDEWIN_REDIS_VERB_TAKE) {
        return redis->breaker.state == SW_BREAKER_CLOSED
               && redis->amends < NGX_HTTP_SLIDEWIN_REDIS_AMENDS_MAX;
    }

    return redis->calls < NGX_HTTP_SLIDEWIN_REDIS_CALLS_MAX
           && !(redis->conn.doubtful && redis->calls)
           && sw_breaker_allows(&redis->breaker,
                                ngx_http_slidewin_clock_ms());
}


static ngx_uint_t *
ngx_http_slidewin_redis_under_way(ngx_http_slidewin_redis_call_t *rcall)
{
    return rcall->amends ? &rcall->redis->amends : &rcall->redis->calls;
}


static ngx_int_t
ngx_http_slidewin_redis_send(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_int_t                           rc;
    ngx_str_t                          *text;
    ngx_uint_t                          i;
    ngx_http_slidewin_call_t           *call;
    ngx_http_slidewin_claim_t          *claim;
    ngx_http_slidewin_redis_t          *redis;
    ngx_http_slidewin_redis_script_e    script;
    ngx_http_slidewin_redis_command_t   cmd;

    call = rcall->call;
    redis = rcall->redis;
    cmd.argc = 0;

    if (rcall->verb == NGX_HTTP_SLIDEWIN_REDIS_VERB_RESET) {
        ngx_http_slidewin_redis_arg(&cmd, "DEL", 3);
        ngx_http_slidewin_redis_arg_keys(&cmd, redis, call);

    } else {

        script = ngx_http_slidewin_redis_script(rcall);

        if (rcall->retried) {
            text = &ngx_http_slidewin_redis_scripts[script];
            ngx_http_slidewin_redis_arg(&cmd, "EVAL", 4);
            ngx_http_slidewin_redis_arg(&cmd, (char *) text->data, text->len);

        } else {
            ngx_http_slidewin_redis_arg(&cmd, "EVALSHA", 7);
            ngx_http_slidewin_redis_arg(&cmd, (char *) redis->sha[script],
                                        NGX_HTTP_SLIDEWIN_REDIS_SHA_LEN);
        }

        ngx_http_slidewin_redis_arg_number(&cmd, (int64_t) call->n);
        ngx_http_slidewin_redis_arg_keys(&cmd, redis, call);
        ngx_http_slidewin_redis_arg_number(&cmd, rcall->number);
        ngx_http_slidewin_redis_arg_number(&cmd,
                             ngx_http_slidewin_redis_conn_time(&redis->conn));

        for (i = 0; i < call->n; i++) {
            claim = call->claims[i];

            ngx_http_slidewin_redis_arg_policy(&cmd, claim,
                script == NGX_HTTP_SLIDEWIN_REDIS_GIVE_BACK
                    ? claim->verdict.stamp
                    : claim->dry_run);
        }
    }

    rc = ngx_http_slidewin_redis_conn_send(&redis->conn,
                                           ngx_http_slidewin_redis_replied,
                                           rcall, cmd.argc, cmd.argv,
                                           cmd.lens);
    if (rc == NGX_OK) {
        rcall->sent = 1;
        rcall->sent_at = ngx_http_slidewin_clock_us();
    }

    return rc;
}


static ngx_http_slidewin_redis_script_e
ngx_http_slidewin_redis_script(ngx_http_slidewin_redis_call_t *rcall)
{
    if (rcall->verb == NGX_HTTP_SLIDEWIN_REDIS_VERB_GIVE_BACK) {
        return NGX_HTTP_SLIDEWIN_REDIS_GIVE_BACK;
    }

    if (rcall->call->n > 1) {
        return NGX_HTTP_SLIDEWIN_REDIS_TAKE_ANY;
    }

    switch (rcall->call->claims[0]->policy.algorithm) {

    case SW_LOG:
        return NGX_HTTP_SLIDEWIN_REDIS_TAKE_LOG;

    case SW_STRICT:
        return NGX_HTTP_SLIDEWIN_REDIS_TAKE_ANY;

    default:
        return NGX_HTTP_SLIDEWIN_REDIS_TAKE_PAIR;
    }
}


/*
 * Runs inside hiredis, perhaps while another request's call frees it: it only
 * takes down what was said and lets an event of its own do the rest.
 */

static void
ngx_http_slidewin_redis_replied(redisAsyncContext *context, void *reply,
    void *data)
{
    ngx_int_t                        rc;
    ngx_http_slidewin_redis_call_t  *rcall;

    rcall = data;
    rcall->sent = 0;

    if (reply == NULL) {
        ngx_http_slidewin_redis_mute(rcall);
        ngx_http_slidewin_redis_finish(rcall, NGX_ERROR);
        return;
    }

    ngx_http_slidewin_redis_conn_received(&rcall->redis->conn);

    rc = ngx_http_slidewin_redis_understand(rcall, reply);

    if (rc != NGX_AGAIN) {
        ngx_http_slidewin_redis_finish(rcall, rc);
    }
}


static void
ngx_http_slidewin_redis_finish(ngx_http_slidewin_redis_call_t *rcall,
    ngx_int_t rc)
{
    *ngx_http_slidewin_redis_under_way(rcall) -= 1;

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
ngx_http_slidewin_redis_event(ngx_event_t *ev)
{
    ngx_int_t                        rc;
    ngx_http_slidewin_call_t        *call;
    ngx_http_slidewin_redis_call_t  *rcall;

    rcall = ev->data;

    if (!rcall->answered) {
        ngx_http_slidewin_redis_overdue(rcall);
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
ngx_http_slidewin_redis_overdue(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_http_slidewin_call_t   *call;
    ngx_http_slidewin_redis_t  *redis;

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

    redis = rcall->redis;
    call = rcall->call;
    rcall->call = NULL;
    rcall->late = 1;

    if (!rcall->sent) {
        redis->conn.failed = 1;
        ngx_http_slidewin_redis_unsent(rcall);

    } else if (redis->conn.heard < rcall->sent_at) {
        redis->conn.failed = 1;
        redis->conn.doubtful = 1;
        ngx_http_slidewin_redis_conn_drop(&redis->conn, late);

    } else if (!rcall->amends) {
        ngx_http_slidewin_redis_failed(redis, late, sizeof(late) - 1);
    }

    if (call) {
        call->pending = NULL;
        call->done(call, NGX_ERROR);
    }
}


static void
ngx_http_slidewin_redis_cancel(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    ngx_http_slidewin_redis_call_t  *rcall;

    rcall = call->pending;

    call->pending = NULL;
    rcall->call = NULL;

    if (rcall->answered) {
        ngx_delete_posted_event(&rcall->event);
        ngx_free(rcall);

    } else if (!rcall->sent) {
        ngx_http_slidewin_redis_unsent(rcall);
    }

    /* one that is sent keeps its deadline: it watches the connection */
}


static ngx_int_t
ngx_http_slidewin_redis_adopt(ngx_http_slidewin_store_t *store,
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


static void
ngx_http_slidewin_redis_ready(ngx_http_slidewin_redis_conn_t *c)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_t       *redis;
    ngx_http_slidewin_redis_call_t  *rcall;

    redis = c->data;

    while (!ngx_queue_empty(&redis->waiting)) {
        q = ngx_queue_head(&redis->waiting);
        rcall = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        if (ngx_http_slidewin_redis_send(rcall) != NGX_OK) {
            ngx_http_slidewin_redis_unsent(rcall);
            continue;
        }

        ngx_queue_remove(q);
    }
}


static void
ngx_http_slidewin_redis_down(ngx_http_slidewin_redis_conn_t *c)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_t       *redis;
    ngx_http_slidewin_redis_call_t  *rcall;

    redis = c->data;

    if (!c->failed) {
        return;
    }

    while (!ngx_queue_empty(&redis->waiting)) {
        q = ngx_queue_head(&redis->waiting);
        rcall = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        ngx_http_slidewin_redis_unsent(rcall);
    }
}


static void
ngx_http_slidewin_redis_unsent(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_remove(&rcall->queue);
    ngx_http_slidewin_redis_mute(rcall);
    ngx_http_slidewin_redis_finish(rcall, NGX_ERROR);
}


/* NGX_OK, NGX_ERROR, or NGX_AGAIN if the call was sent once more */

static ngx_int_t
ngx_http_slidewin_redis_understand(ngx_http_slidewin_redis_call_t *rcall,
    redisReply *reply)
{
    ngx_int_t                   rc;
    ngx_uint_t                  i;
    ngx_http_slidewin_redis_t  *redis;

    static const char  nonsense[] = "its answer makes no sense";

    redis = rcall->redis;

    if (reply->type == REDIS_REPLY_ERROR) {
        return ngx_http_slidewin_redis_error(rcall, reply);
    }

    switch (rcall->verb) {

    case NGX_HTTP_SLIDEWIN_REDIS_VERB_RESET:
        rc = (reply->type == REDIS_REPLY_INTEGER) ? NGX_OK : NGX_ERROR;
        break;

    case NGX_HTTP_SLIDEWIN_REDIS_VERB_GIVE_BACK:

        /* its number, and no verdicts */

        rc = ngx_http_slidewin_redis_verdicts(NULL, rcall->number, reply);
        break;

    default: /* NGX_HTTP_SLIDEWIN_REDIS_VERB_TAKE */
        rc = ngx_http_slidewin_redis_verdicts(rcall->call, rcall->number,
                                              reply);
        break;
    }

    if (rc == NGX_OK) {

        /* one that was given up has been counted as a failure already */

        if (!rcall->late && !rcall->amends) {
            ngx_http_slidewin_redis_worked(redis);
        }

        return NGX_OK;
    }

    for (i = 0; rcall->call && i < rcall->call->n; i++) {
        rcall->call->claims[i]->counted = 0;
    }

    if (rc == NGX_DECLINED) {
        ngx_http_slidewin_redis_odd_key(rcall, nonsense,
                                        sizeof(nonsense) - 1);
        return NGX_ERROR;
    }

    /* it is not known whose answer this is, nor the next one */

    ngx_http_slidewin_redis_failed(redis, nonsense, sizeof(nonsense) - 1);
    ngx_http_slidewin_redis_conn_drop(&redis->conn, nonsense);

    return NGX_ERROR;
}


static ngx_int_t
ngx_http_slidewin_redis_error(ngx_http_slidewin_redis_call_t *rcall,
    redisReply *reply)
{
    ngx_http_slidewin_redis_t  *redis;

    redis = rcall->redis;

    /* it did not run: the script is brought along, once */

    if (ngx_http_slidewin_redis_error_is(reply, "NOSCRIPT")
        && !rcall->retried)
    {
        if (rcall->call == NULL) {
            ngx_http_slidewin_redis_mute(rcall);
            return NGX_ERROR;
        }

        rcall->retried = 1;

        if (ngx_http_slidewin_redis_send(rcall) == NGX_OK) {
            return NGX_AGAIN;
        }
    }

    if (rcall->late) {
        return NGX_ERROR;
    }

    if (ngx_http_slidewin_redis_error_is(reply, "WRONGTYPE")
        || ngx_http_slidewin_redis_error_is(reply, "SLIDEWIN"))
    {
        ngx_http_slidewin_redis_odd_key(rcall, reply->str, reply->len);
        return NGX_ERROR;
    }

    if (rcall->amends) {
        ngx_http_slidewin_redis_odd(redis, "does not change a count",
                                    reply->str, reply->len);
    } else {
        ngx_http_slidewin_redis_failed(redis, reply->str, reply->len);
    }

    /* a master that has become a replica may be reached elsewhere */

    if (ngx_http_slidewin_redis_error_is(reply, "READONLY")) {
        ngx_http_slidewin_redis_conn_drop(&redis->conn, "it is a replica");
    }

    return NGX_ERROR;
}


/* one client's key was written by others; the server is well */

static void
ngx_http_slidewin_redis_odd_key(ngx_http_slidewin_redis_call_t *rcall,
    const char *reason, size_t len)
{
    ngx_http_slidewin_redis_odd(rcall->redis,
                                "has something else under the key of a client",
                                reason, len);

    if (!rcall->amends) {
        ngx_http_slidewin_redis_worked(rcall->redis);
    }
}


/* once a second: it may be so for every request */

static void
ngx_http_slidewin_redis_odd(ngx_http_slidewin_redis_t *redis,
    const char *what, const char *reason, size_t len)
{
    if (redis->logged == ngx_time()) {
        return;
    }

    redis->logged = ngx_time();
    len = ngx_min(ngx_http_slidewin_redis_conn_reason(reason, len), 128);

    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                  "slidewin redis %V %s: \"%*s\"", &redis->server.name, what,
                  len, reason);
}


static void
ngx_http_slidewin_redis_mute(ngx_http_slidewin_redis_call_t *rcall)
{
    if (!rcall->amends) {
        ngx_http_slidewin_redis_unheard(rcall->redis);
    }
}


/* a probe that will not be answered makes room for the next one */

static void
ngx_http_slidewin_redis_unheard(ngx_http_slidewin_redis_t *redis)
{
    if (redis->breaker.state == SW_BREAKER_PROBING) {
        (void) sw_breaker_failure(&redis->breaker,
                                  ngx_http_slidewin_clock_ms(),
                                  (uint32_t) ngx_random());
    }
}


static void
ngx_http_slidewin_redis_failed(ngx_http_slidewin_redis_t *redis,
    const char *reason, size_t len)
{
    int64_t  now;

    now = ngx_http_slidewin_clock_ms();
    len = ngx_min(ngx_http_slidewin_redis_conn_reason(reason, len), 128);

    if (redis->breaker.failures == 0 && redis->logged != ngx_time()) {
        redis->logged = ngx_time();
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "slidewin redis %V failed: \"%*s\"",
                      &redis->server.name, len, reason);
    }

    if (sw_breaker_failure(&redis->breaker, now, (uint32_t) ngx_random())) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "slidewin redis %V is not asked for a while, it failed "
                      "%d times in a row: \"%*s\"", &redis->server.name,
                      redis->breaker.failures, len, reason);
    }
}


static void
ngx_http_slidewin_redis_worked(ngx_http_slidewin_redis_t *redis)
{
    ngx_http_slidewin_redis_conn_proven(&redis->conn);

    if (sw_breaker_success(&redis->breaker)) {
        ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                      "slidewin redis %V is asked again",
                      &redis->server.name);
    }
}


static ngx_uint_t
ngx_http_slidewin_redis_error_is(redisReply *reply, const char *code)
{
    size_t  len;

    len = ngx_strlen(code);

    return reply->len >= len && ngx_strncmp(reply->str, code, len) == 0;
}


static ngx_int_t
ngx_http_slidewin_redis_init_process(ngx_http_slidewin_store_t *store)
{
    ngx_http_slidewin_redis_t  *redis;

    redis = store->data;

    ngx_queue_init(&redis->waiting);

    redis->conn.server = &redis->server;
    redis->conn.ready = ngx_http_slidewin_redis_ready;
    redis->conn.down = ngx_http_slidewin_redis_down;
    redis->conn.data = redis;

    /*
     * so that calls of different workers do not bear the same number; below
     * 2^53, which is as far as Lua counts
     */

    redis->number = (int64_t) (ngx_pid & 0xfffff) << 32;

    ngx_http_slidewin_redis_conn_start(&redis->conn);

    return NGX_OK;
}


static void
ngx_http_slidewin_redis_exit_process(ngx_http_slidewin_store_t *store)
{
    ngx_http_slidewin_redis_t  *redis;

    redis = store->data;

    ngx_http_slidewin_redis_conn_stop(&redis->conn);
}
