
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_slidewin_redis_call.h"


/* room for the batch key of a check by one policy or two */
#define NGX_HTTP_SLIDEWIN_REDIS_CALL_KEY    256

/* records kept for the next calls */
#define NGX_HTTP_SLIDEWIN_REDIS_CALL_SPARE  1024


static ngx_uint_t *ngx_http_slidewin_redis_call_counter(
    ngx_http_slidewin_redis_call_t *rcall);
static void ngx_http_slidewin_redis_call_event(ngx_event_t *ev);
static void ngx_http_slidewin_redis_call_clear_deadline(
    ngx_http_slidewin_redis_call_t *rcall);


static ngx_uint_t                       ngx_http_slidewin_redis_calls_nspare;
static ngx_http_slidewin_redis_call_t  *ngx_http_slidewin_redis_calls_spare;


ngx_http_slidewin_redis_call_t *
ngx_http_slidewin_redis_call_create(ngx_str_t *batch_key, ngx_log_t *log)
{
    size_t                           room;
    ngx_http_slidewin_redis_call_t  *rcall;

    rcall = ngx_http_slidewin_redis_calls_spare;
    room = ngx_max(batch_key->len, NGX_HTTP_SLIDEWIN_REDIS_CALL_KEY);

    if (rcall && room == NGX_HTTP_SLIDEWIN_REDIS_CALL_KEY) {
        ngx_http_slidewin_redis_calls_spare = rcall->event.data;
        ngx_http_slidewin_redis_calls_nspare--;

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

    ngx_queue_init(&rcall->members);
    ngx_queue_init(&rcall->followers);

    rcall->batch_key.len = batch_key->len;
    rcall->batch_key.data = (u_char *) &rcall[1];
    ngx_memcpy(rcall->batch_key.data, batch_key->data, batch_key->len);

    return rcall;
}


/* a record that leads a batch is never freed: its batch is closed first */

void
ngx_http_slidewin_redis_call_free(ngx_http_slidewin_redis_call_t *rcall)
{
#if !(NGX_DEBUG_PALLOC)

    if (rcall->batch_key.len <= NGX_HTTP_SLIDEWIN_REDIS_CALL_KEY
        && ngx_http_slidewin_redis_calls_nspare
           < NGX_HTTP_SLIDEWIN_REDIS_CALL_SPARE)
    {
        ngx_http_slidewin_redis_calls_nspare++;
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
        ngx_http_slidewin_redis_calls_nspare--;

        ngx_free(rcall);
    }
}


void
ngx_http_slidewin_redis_call_begin(ngx_http_slidewin_redis_call_t *rcall)
{
    *ngx_http_slidewin_redis_call_counter(rcall) += 1;
    rcall->redis->checks += !rcall->change;

    rcall->call->pending = rcall;
}


void
ngx_http_slidewin_redis_call_set_node(ngx_http_slidewin_redis_call_t *rcall,
    ngx_http_slidewin_redis_node_t *node)
{
    *ngx_http_slidewin_redis_call_counter(rcall) -= 1;
    rcall->node = node;
    *ngx_http_slidewin_redis_call_counter(rcall) += 1;
}


static ngx_uint_t *
ngx_http_slidewin_redis_call_counter(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_http_slidewin_redis_node_t     *node;
    ngx_http_slidewin_redis_cluster_t  *cluster;

    node = rcall->node;

    if (node == NULL) {
        cluster = rcall->redis->cluster;
        return rcall->change ? &cluster->changes : &cluster->checks;
    }

    return rcall->change ? &node->changes : &node->checks;
}


void
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
    *ngx_http_slidewin_redis_call_counter(rcall) -= 1;
    rcall->redis->checks -= !rcall->change;

    rcall->follows = 0;
    rcall->sent = 0;

    ngx_http_slidewin_redis_call_clear_deadline(rcall);

    if (rcall->call == NULL) {
        ngx_http_slidewin_redis_call_free(rcall);
        return;
    }

    rcall->rc = rc;
    rcall->ended = 1;

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


void
ngx_http_slidewin_redis_call_set_deadline(
    ngx_http_slidewin_redis_call_t *rcall, int64_t now)
{
    ngx_http_slidewin_redis_t  *redis;

    redis = rcall->redis;

    if (rcall->deadline_set) {
        ngx_http_slidewin_redis_call_remove_deadline(rcall);
    }

    if (ngx_queue_empty(&redis->deadlines)
        && !redis->deadline_timer.timer_set)
    {
        ngx_add_timer(&redis->deadline_timer, redis->timeout);
    }

    rcall->due = now + (int64_t) redis->timeout * 1000;
    rcall->deadline_set = 1;

    ngx_queue_insert_tail(&redis->deadlines, &rcall->deadline);

    if (!redis->turn_end.posted) {
        redis->turn_start = now;

    } else if (rcall->sent) {
        ngx_delete_posted_event(&redis->turn_end);
    }

    /* after the event that writes the connection, which is posted already */

    ngx_post_event(&redis->turn_end, &ngx_posted_events);
}


void
ngx_http_slidewin_redis_call_remove_deadline(
    ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_remove(&rcall->deadline);
    rcall->deadline_set = 0;
}


static void
ngx_http_slidewin_redis_call_clear_deadline(
    ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_http_slidewin_redis_t  *redis;

    if (!rcall->deadline_set) {
        return;
    }

    ngx_http_slidewin_redis_call_remove_deadline(rcall);

    /* the timer is not cancelable: a worker that exits would wait for it */

    redis = rcall->redis;

    if (ngx_queue_empty(&redis->deadlines) && redis->deadline_timer.timer_set) {
        ngx_del_timer(&redis->deadline_timer);
    }
}


void
ngx_http_slidewin_redis_call_probe_lost(ngx_http_slidewin_redis_call_t *rcall)
{
    if (!rcall->change && rcall->node) {
        ngx_http_slidewin_redis_node_probe_lost(rcall->node);
    }
}


#if (NGX_DEBUG)

const char *
ngx_http_slidewin_redis_call_verb(ngx_http_slidewin_redis_call_t *rcall)
{
    switch (rcall->verb) {

    case NGX_HTTP_SLIDEWIN_REDIS_VERB_RESET:
        return "reset";

    case NGX_HTTP_SLIDEWIN_REDIS_VERB_GIVE_BACK:
        return "give_back";

    case NGX_HTTP_SLIDEWIN_REDIS_VERB_CHARGE:
        return "charge";

    default: /* NGX_HTTP_SLIDEWIN_REDIS_VERB_TAKE */
        return "take";
    }
}

#endif
