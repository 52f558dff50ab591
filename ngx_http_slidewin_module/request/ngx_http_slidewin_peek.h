
/*
 * A request that was refused is told when it would be admitted by all of its
 * limits.  Those that were not asked any more are looked at, and nothing is
 * counted.
 */


#ifndef _NGX_HTTP_SLIDEWIN_PEEK_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_PEEK_H_INCLUDED_


#include "ngx_http_slidewin_ctx.h"


/* NGX_AGAIN: ctx->waiting is asked, then look_done is to be called */
ngx_int_t ngx_http_slidewin_peek(ngx_http_slidewin_ctx_t *ctx);
void ngx_http_slidewin_peek_done(ngx_http_slidewin_ctx_t *ctx, ngx_int_t rc);


/* whether there are others than those that were asked */

static ngx_inline ngx_uint_t
ngx_http_slidewin_peek_needed(ngx_http_slidewin_ctx_t *ctx)
{
    return ctx->undecided || ctx->pass != &ctx->entries;
}


#endif /* _NGX_HTTP_SLIDEWIN_PEEK_H_INCLUDED_ */
