
/*
 * The statistics of a request, once for each: when its header is sent, because
 * an internal redirect may change what was decided until then, or when it ends
 * without one.
 */


#ifndef _NGX_HTTP_SLIDEWIN_RECORD_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_RECORD_H_INCLUDED_


#include "ngx_http_slidewin_ctx.h"


/* of this worker */
extern ngx_http_slidewin_request_counters_t
    *ngx_http_slidewin_record_requests;


void ngx_http_slidewin_record_decided(ngx_http_slidewin_ctx_t *ctx);


/* a request without a decision, such as that of a client that left, has none */

static ngx_inline void
ngx_http_slidewin_record(ngx_http_slidewin_ctx_t *ctx)
{
    if (!ctx->recorded && ctx->status != NGX_HTTP_SLIDEWIN_UNDECIDED) {
        ctx->recorded = 1;
        ngx_http_slidewin_record_decided(ctx);
    }
}


#endif /* _NGX_HTTP_SLIDEWIN_RECORD_H_INCLUDED_ */
