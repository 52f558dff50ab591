
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_redis_conn_io.h"
#include "ngx_http_slidewin_redis_timeout.h"


/* a turn of the event loop that takes longer has kept back what it sent */
#define NGX_HTTP_SLIDEWIN_REDIS_TURN_US  1000


static void ngx_http_slidewin_redis_timeouts_expired(ngx_event_t *ev);
static void ngx_http_slidewin_redis_timeouts_written(ngx_event_t *ev);
static void ngx_http_slidewin_redis_timeout_remove(
    ngx_http_slidewin_redis_call_t *rcall);


void
ngx_http_slidewin_redis_timeouts_init(ngx_http_slidewin_redis_t *redis)
{
    ngx_queue_init(&redis->deadlines);

    redis->due.handler = ngx_http_slidewin_redis_timeouts_expired;
    redis->due.data = redis;
    redis->due.log = ngx_cycle->log;

    redis->written.handler = ngx_http_slidewin_redis_timeouts_written;
    redis->written.data = redis;
    redis->written.log = ngx_cycle->log;
}


void
ngx_http_slidewin_redis_timeout_set(ngx_http_slidewin_redis_call_t *rcall,
    int64_t now)
{
    ngx_http_slidewin_redis_t  *redis;

    redis = rcall->node->redis;

    if (rcall->timed) {
        ngx_http_slidewin_redis_timeout_remove(rcall);
    }

    if (ngx_queue_empty(&redis->deadlines) && !redis->due.timer_set) {
        ngx_add_timer(&redis->due, redis->timeout);
    }

    rcall->due = now + (int64_t) redis->timeout * 1000;
    rcall->timed = 1;

    ngx_queue_insert_tail(&redis->deadlines, &rcall->deadline);

    if (!redis->written.posted) {
        redis->writing = now;

    } else if (rcall->sent) {
        ngx_delete_posted_event(&redis->written);
    }

    /* behind what writes the connection, which was posted before */

    ngx_post_event(&redis->written, &ngx_posted_events);
}


void
ngx_http_slidewin_redis_timeout_clear(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_http_slidewin_redis_t  *redis;

    if (!rcall->timed) {
        return;
    }

    ngx_http_slidewin_redis_timeout_remove(rcall);

    /* a worker that exits waits for no timer that nobody needs */

    redis = rcall->node->redis;

    if (ngx_queue_empty(&redis->deadlines) && redis->due.timer_set) {
        ngx_del_timer(&redis->due);
    }
}


static void
ngx_http_slidewin_redis_timeout_remove(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_remove(&rcall->deadline);
    rcall->timed = 0;
}


/*
 * One that is given up may end others, and let new ones be asked.  The time is
 * read: the one nginx caches is as old as the turn.  It may be this worker that
 * was late: what has arrived is read before a call is given up, and may make
 * room for one that stands in line.
 */

static void
ngx_http_slidewin_redis_timeouts_expired(ngx_event_t *ev)
{
    int64_t                          left;
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_t       *redis;
    ngx_http_slidewin_redis_conn_t  *c;
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

        c = &rcall->node->conn;

        if (c->drained_at < rcall->due) {
            ngx_http_slidewin_redis_conn_read(c);
            continue;
        }

        ngx_http_slidewin_redis_timeout_remove(rcall);
        ngx_http_slidewin_redis_call_overdue(rcall);
    }
}


/*
 * What was sent in a turn of the event loop leaves at its end.  If other work
 * made that late, the time of Redis begins now.
 */

static void
ngx_http_slidewin_redis_timeouts_written(ngx_event_t *ev)
{
    int64_t                          now, timeout;
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_t       *redis;
    ngx_http_slidewin_redis_call_t  *rcall;

    redis = ev->data;
    now = ngx_http_slidewin_clock_us();

    if (now - redis->writing < NGX_HTTP_SLIDEWIN_REDIS_TURN_US) {
        return;
    }

    timeout = (int64_t) redis->timeout * 1000;

    for (q = ngx_queue_last(&redis->deadlines);
         q != ngx_queue_sentinel(&redis->deadlines);
         q = ngx_queue_prev(q))
    {
        rcall = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, deadline);

        if (rcall->due < redis->writing + timeout) {
            break;
        }

        rcall->due = now + timeout;

        if (rcall->sent) {
            rcall->sent_at = now;
        }
    }
}
