
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_memo.h"
#include "ngx_http_slidewin_zone_expiry.h"


/* a zone that is being repaired may say anything: this is only a hint */

ngx_uint_t
ngx_http_slidewin_memo_may_deny(ngx_http_slidewin_zone_t *zone, int64_t now)
{
    ngx_http_slidewin_shctx_t  *sh;

    sh = zone->shpool->data;

    return (ngx_atomic_int_t) (sh->denied_until - (ngx_atomic_uint_t) now) > 0;
}


void *
ngx_http_slidewin_memo_lookup(ngx_http_slidewin_zone_op_t *op)
{
    ngx_http_slidewin_node_t  *node;

    node = ngx_http_slidewin_zone_lookup(op);

    if (node == NULL) {
        return NULL;
    }

    ngx_http_slidewin_zone_touch(op, node);

    return ngx_http_slidewin_node_memo(node);
}


void
ngx_http_slidewin_memo_delete(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_memo_t *memo)
{
    ngx_http_slidewin_zone_remove(op, ngx_http_slidewin_node_of_memo(memo));
}


void
ngx_http_slidewin_memo_keep_until(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_memo_t *memo, int64_t until)
{
    memo->until = until;

    ngx_http_slidewin_zone_expiry_update_memo(op, memo);
}


void
ngx_http_slidewin_memo_deny_until(ngx_http_slidewin_zone_op_t *op,
    int64_t until)
{
    if (!ngx_http_slidewin_memo_may_deny(op->zone, until - 1)) {
        op->sh->denied_until = (ngx_atomic_uint_t) until;
    }
}


void
ngx_http_slidewin_memo_invalidate(ngx_http_slidewin_zone_op_t *op, int64_t now)
{
    op->sh->invalidated[op->hash % NGX_HTTP_SLIDEWIN_INVALIDATED] = now;
}


ngx_uint_t
ngx_http_slidewin_memo_invalidated_since(ngx_http_slidewin_zone_op_t *op,
    int64_t since)
{
    return op->sh->invalidated[op->hash % NGX_HTTP_SLIDEWIN_INVALIDATED]
           >= since;
}


void
ngx_http_slidewin_memo_schedule(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_memo_t *memo)
{
    if (memo->queue.next) {
        ngx_queue_remove(&memo->queue);
        sw_step();
    }

    ngx_queue_insert_tail(&op->sh->schedule, &memo->queue);
    sw_step();

    ngx_http_slidewin_zone_expiry_update_memo(op, memo);
}


void
ngx_http_slidewin_memo_unschedule(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_memo_t *memo)
{
    if (memo->queue.next == NULL) {
        return;
    }

    ngx_queue_remove(&memo->queue);
    sw_step();
    memo->queue.next = NULL;
    sw_step();

    ngx_http_slidewin_zone_expiry_update_memo(op, memo);
}


void *
ngx_http_slidewin_memo_next_due(ngx_http_slidewin_zone_op_t *op)
{
    ngx_queue_t  *q;

    if (ngx_queue_empty(&op->sh->schedule)) {
        return NULL;
    }

    q = ngx_queue_head(&op->sh->schedule);

    return ngx_queue_data(q, ngx_http_slidewin_memo_t, queue);
}
