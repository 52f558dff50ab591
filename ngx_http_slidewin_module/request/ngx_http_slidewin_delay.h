
/*
 * Requests that wait for their turn.  Those of one client and policy stand in
 * a line of this worker.  Only the first of a line asks the store, for itself
 * and for those behind it: as many of them as there is room for go with it, in
 * their order, so that nobody is admitted before who came earlier.
 */


#ifndef _NGX_HTTP_SLIDEWIN_DELAY_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_DELAY_H_INCLUDED_


#include "ngx_http_slidewin_ctx.h"


/* ms until it may be its turn if others stand before it, else 0 */
int64_t ngx_http_slidewin_delay_queue_wait(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry);

/*
 * Lets a refused request stand in line until its timer tells that it may ask
 * again.  NGX_DECLINED: it may not wait that long, or too many wait already.
 */
ngx_int_t ngx_http_slidewin_delay_start(ngx_http_slidewin_ctx_t *ctx,
    ngx_event_handler_pt due);

/*
 * Before a store is asked: the first of a line takes ahead what those behind it
 * will ask for, as far as they ask for the same policies.
 */
void ngx_http_slidewin_delay_prefetch(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_store_t *store);

/* the store's answer: what was taken ahead is for the line, or goes back */
void ngx_http_slidewin_delay_grant(ngx_http_slidewin_ctx_t *ctx);

/*
 * Whether all that the first of a line would ask a distant store for was taken
 * by the one before it: then these claims have their verdicts, and are counted.
 */
ngx_uint_t ngx_http_slidewin_delay_granted(ngx_http_slidewin_ctx_t *ctx);

/* units of this client came back: the first in line need not wait for them */
void ngx_http_slidewin_delay_wake(ngx_http_slidewin_entry_t *entry);

/* whether some of the policy's clients wait */
#define ngx_http_slidewin_delay_queued(policy)                                \
    ((policy)->queues.root != (policy)->queues.sentinel)

void ngx_http_slidewin_delay_dequeue(ngx_http_slidewin_ctx_t *ctx);


/* it was admitted or will not be; hardly any request has waited */

static ngx_inline void
ngx_http_slidewin_delay_cancel(ngx_http_slidewin_ctx_t *ctx)
{
    if (ctx->place) {
        ngx_http_slidewin_delay_dequeue(ctx);
    }
}


#endif /* _NGX_HTTP_SLIDEWIN_DELAY_H_INCLUDED_ */
