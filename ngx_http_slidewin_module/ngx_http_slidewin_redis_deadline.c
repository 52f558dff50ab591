
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_slidewin_redis_deadline.h"


static void ngx_http_slidewin_redis_deadlines_due(ngx_event_t *ev);
static void ngx_http_slidewin_redis_deadline_leave(
    ngx_http_slidewin_redis_call_t *rcall);


void
ngx_http_slidewin_redis_deadlines_init(ngx_http_slidewin_redis_t *redis)
{
    ngx_queue_init(&redis->deadlines);

    redis->due.handler = ngx_http_slidewin_redis_deadlines_due;
    redis->due.data = redis;
    redis->due.log = ngx_cycle->log;
}


void
ngx_http_slidewin_redis_deadline_set(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_http_slidewin_redis_t  *redis;

    redis = rcall->node->redis;

    if (ngx_queue_empty(&redis->deadlines)) {
        ngx_add_timer(&redis->due, redis->timeout);
    }

    rcall->due = ngx_current_msec + redis->timeout;
    rcall->timed = 1;

    ngx_queue_insert_tail(&redis->deadlines, &rcall->deadline);
}


void
ngx_http_slidewin_redis_deadline_again(ngx_http_slidewin_redis_call_t *rcall,
    ngx_msec_t pause)
{
    ngx_add_timer(&rcall->event, pause);
}


void
ngx_http_slidewin_redis_deadline_clear(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_http_slidewin_redis_t  *redis;

    if (rcall->event.timer_set) {
        ngx_del_timer(&rcall->event);
    }

    if (!rcall->timed) {
        return;
    }

    ngx_http_slidewin_redis_deadline_leave(rcall);

    /* a worker that exits waits for no timer that nobody needs */

    redis = rcall->node->redis;

    if (ngx_queue_empty(&redis->deadlines) && redis->due.timer_set) {
        ngx_del_timer(&redis->due);
    }
}


static void
ngx_http_slidewin_redis_deadline_leave(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_remove(&rcall->deadline);
    rcall->timed = 0;
}


/* one that is given up may end others, and let new ones be asked */

static void
ngx_http_slidewin_redis_deadlines_due(ngx_event_t *ev)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_t       *redis;
    ngx_http_slidewin_redis_call_t  *rcall;

    redis = ev->data;

    while (!ngx_queue_empty(&redis->deadlines)) {
        q = ngx_queue_head(&redis->deadlines);
        rcall = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, deadline);

        if ((ngx_msec_int_t) (rcall->due - ngx_current_msec) > 0) {
            ngx_add_timer(ev, rcall->due - ngx_current_msec);
            return;
        }

        ngx_http_slidewin_redis_deadline_leave(rcall);
        ngx_http_slidewin_redis_call_overdue(rcall);
    }
}
