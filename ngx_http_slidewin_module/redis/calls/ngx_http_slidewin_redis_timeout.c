
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_redis_batch.h"
#include "ngx_http_slidewin_redis_conn_io.h"
#include "ngx_http_slidewin_redis_dispatch.h"
#include "ngx_http_slidewin_redis_timeout.h"


/* a turn of the event loop that takes longer has kept back what it sent */
#define NGX_HTTP_SLIDEWIN_REDIS_TURN_US    1000

/* a Redis that answers so many calls in time is well, and only busy */
#define NGX_HTTP_SLIDEWIN_REDIS_BUSY_MIN   64


static void ngx_http_slidewin_redis_timeouts_expired(ngx_event_t *ev);
static void ngx_http_slidewin_redis_timeouts_turn_end(ngx_event_t *ev);
static void ngx_http_slidewin_redis_timeout_overdue(
    ngx_http_slidewin_redis_call_t *rcall);
static ngx_int_t ngx_http_slidewin_redis_timeout_give_up(
    ngx_http_slidewin_redis_call_t *rcall);
static void ngx_http_slidewin_redis_timeout_late(
    ngx_http_slidewin_redis_call_t *rcall, ngx_uint_t busy);


void
ngx_http_slidewin_redis_timeouts_init(ngx_http_slidewin_redis_t *redis)
{
    ngx_queue_init(&redis->deadlines);

    redis->deadline_timer.handler = ngx_http_slidewin_redis_timeouts_expired;
    redis->deadline_timer.data = redis;
    redis->deadline_timer.log = ngx_cycle->log;

    redis->turn_end.handler = ngx_http_slidewin_redis_timeouts_turn_end;
    redis->turn_end.data = redis;
    redis->turn_end.log = ngx_cycle->log;
}


/*
 * A call that is given up may end others, and let new ones be asked.  The time
 * is read: the one nginx caches is as old as the turn.  This worker may be the
 * late one: what has arrived is read before a call is given up, and may make
 * room for a call that waits to be sent.
 */

static void
ngx_http_slidewin_redis_timeouts_expired(ngx_event_t *ev)
{
    int64_t                          left;
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_t       *redis;
    ngx_http_slidewin_redis_call_t  *rcall;

    redis = ev->data;

    while (!ngx_queue_empty(&redis->deadlines)) {
        q = ngx_queue_head(&redis->deadlines);
        rcall = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, deadline);

        left = rcall->due - ngx_http_slidewin_clock_us();

        if (left > 0) {
            ngx_add_timer(ev, (ngx_msec_t) (left / 1000) + 1);
            return;
        }

        if (rcall->node && rcall->node->conn.drained_at < rcall->due) {
            ngx_http_slidewin_redis_conn_read(&rcall->node->conn);
            continue;
        }

        ngx_http_slidewin_redis_call_remove_deadline(rcall);
        ngx_http_slidewin_redis_timeout_overdue(rcall);
    }
}


/*
 * What was sent in a turn of the event loop leaves at its end.  If other work
 * made that late, the time of Redis begins now.
 */

static void
ngx_http_slidewin_redis_timeouts_turn_end(ngx_event_t *ev)
{
    int64_t                          now, timeout;
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_t       *redis;
    ngx_http_slidewin_redis_call_t  *rcall;

    redis = ev->data;
    now = ngx_http_slidewin_clock_us();

    if (now - redis->turn_start < NGX_HTTP_SLIDEWIN_REDIS_TURN_US) {
        return;
    }

    timeout = (int64_t) redis->timeout * 1000;

    for (q = ngx_queue_last(&redis->deadlines);
         q != ngx_queue_sentinel(&redis->deadlines);
         q = ngx_queue_prev(q))
    {
        rcall = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, deadline);

        if (rcall->due < redis->turn_start + timeout) {
            break;
        }

        rcall->due = now + timeout;

        if (rcall->sent) {
            rcall->sent_at = now;
        }
    }
}


/* the request goes on without a verdict; the record waits for a late reply */

static void
ngx_http_slidewin_redis_timeout_overdue(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_int_t                            rc;
    ngx_http_slidewin_call_t            *call;
    ngx_http_slidewin_store_counters_t  *counters;

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_http_slidewin_redis_call_log(rcall),
                   0, "slidewin redis timeout: call %L %s", rcall->number,
                   rcall->sent ? "is sent" : rcall->follows ? "follows another"
                                                            : "waits");

    call = rcall->call;
    rcall->call = NULL;

    counters = rcall->redis->access.counters;

    rc = ngx_http_slidewin_redis_timeout_give_up(rcall);

    ngx_http_slidewin_stats_error(counters,
                                  rc == NGX_BUSY
                                      ? NGX_HTTP_SLIDEWIN_ERROR_OVERLOAD
                                      : NGX_HTTP_SLIDEWIN_ERROR_TIMEOUT);

    if (call) {
        call->pending = NULL;
        call->done(call, rc);
    }
}


/*
 * Redis is judged by calls that were sent: members, followers and calls that
 * wait to be sent say nothing about Redis.  Replies come in order: calls that
 * had a reply since this one was sent were sent before it, and if many of them
 * were in time, Redis is well and only busy.
 */

static ngx_int_t
ngx_http_slidewin_redis_timeout_give_up(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_uint_t                       busy;
    ngx_http_slidewin_redis_node_t  *node;

    static const char  late[] = "a check was not answered within the timeout";
    static const char  unsent[] = "a check was not sent within the timeout";

    node = rcall->node;

    if (rcall->follows) {
        ngx_http_slidewin_redis_dispatch_unfollow(rcall);
        return NGX_ERROR;
    }

    if (rcall->sent) {
        busy = (node->successes - rcall->successes
                >= NGX_HTTP_SLIDEWIN_REDIS_BUSY_MIN);

        if (rcall->times) {
            ngx_http_slidewin_redis_timeout_late(rcall, busy);
        }

        if (!busy) {
            return NGX_ERROR;
        }

        ngx_http_slidewin_redis_node_log_error(node,
                                             NGX_HTTP_SLIDEWIN_REDIS_TOO_MANY,
                                             late, sizeof(late) - 1);
        return NGX_BUSY;
    }

    if (node == NULL) {
        rcall->redis->cluster->wait_failed |= !rcall->redirected;
        ngx_http_slidewin_redis_dispatch_fail_unsent(rcall);
        return NGX_ERROR;
    }

    if (!ngx_http_slidewin_redis_conn_can_send(&node->conn)) {
        node->conn.failed |= !rcall->redirected;
        ngx_http_slidewin_redis_dispatch_fail_unsent(rcall);
        return NGX_ERROR;
    }

    ngx_http_slidewin_redis_dispatch_fail_unsent(rcall);
    ngx_http_slidewin_redis_node_log_error(node,
                                           NGX_HTTP_SLIDEWIN_REDIS_TOO_MANY,
                                           unsent, sizeof(unsent) - 1);
    return NGX_BUSY;
}


/*
 * If no call had a reply for a whole timeout since this one was sent, the
 * connection is not worth waiting for either, and all others that wait on it
 * end now.  Otherwise the followers go without this one.
 */

static void
ngx_http_slidewin_redis_timeout_late(ngx_http_slidewin_redis_call_t *rcall,
    ngx_uint_t busy)
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

    /* a call that was sent again, or elsewhere, is not there for so long */

    timeout = (int64_t) rcall->redis->timeout * 1000;

    if (!rcall->change && !busy
        && ngx_http_slidewin_clock_us() - rcall->sent_at >= timeout)
    {
        ngx_http_slidewin_redis_node_failure(node, late, sizeof(late) - 1);
    }

    ngx_http_slidewin_redis_batch_close(rcall);

    ngx_queue_init(&followers);
    ngx_queue_add(&followers, &rcall->followers);
    ngx_queue_init(&rcall->followers);

    ngx_http_slidewin_redis_dispatch_followers(&followers);
}
