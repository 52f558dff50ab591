
/*
 * One call for a whole queue.  With a call for each request, a queue would move
 * at the pace of round trips, which may be slower than it grows: the head takes
 * units for the requests behind it as well, and these use them in their order.
 */


#ifndef _NGX_HTTP_SLIDEWIN_DELAY_PREFETCH_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_DELAY_PREFETCH_H_INCLUDED_


#include "ngx_http_slidewin_ctx.h"


/* sets the prefetch of the call's claims, before the store is asked */
void ngx_http_slidewin_delay_prefetch(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_store_t *store);

/* the call is done: prefetched units become a grant, or are refunded */
void ngx_http_slidewin_delay_grant(ngx_http_slidewin_ctx_t *ctx);

/*
 * Whether the grant covers all claims that the head of a queue would ask a
 * remote store for; then these have their verdicts, and are counted.
 */
ngx_uint_t ngx_http_slidewin_delay_granted(ngx_http_slidewin_ctx_t *ctx);


#endif /* _NGX_HTTP_SLIDEWIN_DELAY_PREFETCH_H_INCLUDED_ */
