
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_delay.h"
#include "ngx_http_slidewin_delay_queue.h"
#include "sw_math.h"


/* units may be refunded by other machines, which do not tell this one */
#define NGX_HTTP_SLIDEWIN_DELAY_ASK    1000    /* ms */

/*
 * A request that was queued is not rejected for the difference of two clocks,
 * or of two readings of one.
 */
#define NGX_HTTP_SLIDEWIN_DELAY_GRACE  100     /* ms */


static ngx_http_slidewin_entry_t *ngx_http_slidewin_delay_longest(
    ngx_http_slidewin_ctx_t *ctx, int64_t *now, int64_t *due);


/*
 * From the time of the head on, a window admits the limit once.  It may take
 * longer; then the request is rejected at its deadline.
 */

int64_t
ngx_http_slidewin_delay_queue_wait(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry)
{
    int64_t                           now, due, span, units;
    sw_rule_t                        *rule;
    ngx_http_slidewin_waiter_t       *head;
    ngx_http_slidewin_delay_queue_t  *queue;

    queue = ngx_http_slidewin_delay_queue_find(entry->policy,
                                               &entry->claim.key);
    if (queue == NULL) {
        return 0;
    }

    head = ngx_http_slidewin_delay_queue_head(queue);

    if (head == ctx->waiter) {
        return 0;
    }

    rule = &entry->claim.rule;
    span = rule->window;

    if (rule->algorithm == SW_STRICT) {
        span += rule->window / rule->slices;
    }

    units = queue->units;

    if (ctx->waiter == NULL || ctx->waiter->queue != queue) {
        units += entry->claim.cost;
    }

    now = ngx_http_slidewin_clock_ms();
    due = ngx_max(head->due, now + 1) + (units - 1) / entry->quota * span;

    return due - now;
}


uint32_t
ngx_http_slidewin_delay_left(ngx_http_slidewin_entry_t *entry)
{
    int64_t  left;

    left = entry->limit->delay;

    if (entry->deadline) {
        left = entry->deadline - ngx_http_slidewin_clock_ms()
               + (entry->delayed ? NGX_HTTP_SLIDEWIN_DELAY_GRACE : 0);
    }

    return (uint32_t) sw_min(sw_max(left, 0), (int64_t) NGX_MAX_UINT32_VALUE);
}


ngx_int_t
ngx_http_slidewin_delay_start(ngx_http_slidewin_ctx_t *ctx,
    ngx_event_handler_pt handler)
{
    int64_t                           now, due, until;
    ngx_http_slidewin_entry_t        *entry;
    ngx_http_slidewin_waiter_t       *waiter;
    ngx_http_slidewin_delay_queue_t  *queue;

    entry = ngx_http_slidewin_delay_longest(ctx, &now, &due);

    if (entry == NULL) {
        return NGX_DECLINED;
    }

    /* in two queues, two requests might wait for each other */

    if (ctx->waiter && ctx->waiter->claim != &entry->claim) {
        ngx_http_slidewin_ctx_dequeue(ctx);
    }

    if (ctx->waiter == NULL) {
        ctx->waiter = ngx_http_slidewin_delay_enqueue(entry->policy,
                                                      &entry->claim,
                                                      ctx->request, handler,
                                                      ctx);
        if (ctx->waiter == NULL) {
            entry->wait_refused = ngx_http_slidewin_delay_queue_full(
                                                        entry->policy,
                                                        &entry->claim.key);
            return NGX_DECLINED;
        }
    }

    waiter = ctx->waiter;
    waiter->due = due;

    queue = waiter->queue;
    until = entry->deadline;

    if (waiter == ngx_http_slidewin_delay_queue_head(queue)) {
        until = ngx_min(until, due);
        until = ngx_min(until, now + NGX_HTTP_SLIDEWIN_DELAY_ASK);

        /* units that wait with the head count earlier than they are used */

        ngx_http_slidewin_delay_revoke_grant(queue);
    }

    entry->delayed = 1;

    ngx_http_slidewin_delay_sleep(waiter, until);

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, ctx->request->connection->log, 0,
                   "slidewin delay: zone:%V queued:%ui due:%Lms timer:%Lms",
                   &entry->policy->name, queue->n, due - now, until - now);

    return NGX_OK;
}


/*
 * The rejecting entry with the longest wait; NULL if there are some whose
 * delay= is shorter than their wait.  The clock is read when a wait must be
 * known.
 */

static ngx_http_slidewin_entry_t *
ngx_http_slidewin_delay_longest(ngx_http_slidewin_ctx_t *ctx, int64_t *now,
    int64_t *due)
{
    int64_t                     time, wait;
    ngx_uint_t                  refused;
    sw_verdict_t               *verdict;
    ngx_http_slidewin_entry_t  *entry, *longest;

    refused = 0;
    longest = NULL;
    *now = 0;
    *due = 0;

    for (entry = *ctx->pass; entry; entry = entry->next) {

        if (!entry->decided || entry->claim.dry_run
            || entry->claim.verdict.admitted)
        {
            continue;
        }

        verdict = ngx_http_slidewin_entry_verdict(entry);

        if (verdict->retry == SW_NEVER || entry->claim.banned) {
            refused = 1;
            continue;
        }

        if (*now == 0) {
            *now = ngx_http_slidewin_clock_ms();
        }

        if (entry->deadline == 0) {
            entry->deadline = *now + entry->limit->delay;
        }

        /* other requests may have been queued while this one asked */

        wait = ngx_http_slidewin_delay_queue_wait(ctx, entry);
        verdict->retry = ngx_max(verdict->retry, wait);
        time = *now + verdict->retry;

        if (time > entry->deadline
                   + (entry->delayed ? NGX_HTTP_SLIDEWIN_DELAY_GRACE : 0))
        {
            entry->wait_refused = 1;
            refused = 1;
            continue;
        }

        if (longest == NULL || time > *due
            || (time == *due && ctx->waiter
                && ctx->waiter->claim == &entry->claim))
        {
            longest = entry;
            *due = time;
        }
    }

    return refused ? NULL : longest;
}
