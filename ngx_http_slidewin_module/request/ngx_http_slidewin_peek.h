
/*
 * Peeks at the limits that were not asked, because another one had rejected the
 * request already: Retry-After is the longest wait of all of them.
 */


#ifndef _NGX_HTTP_SLIDEWIN_PEEK_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_PEEK_H_INCLUDED_


#include "ngx_http_slidewin_ctx.h"


/* NGX_AGAIN: a call is pending, and peek_done() is to get its result */
ngx_int_t ngx_http_slidewin_peek(ngx_http_slidewin_ctx_t *ctx);
void ngx_http_slidewin_peek_done(ngx_http_slidewin_ctx_t *ctx, ngx_int_t rc);


/* whether there are limits that were not asked, or not for the whole cost */

static ngx_inline ngx_uint_t
ngx_http_slidewin_peek_needed(ngx_http_slidewin_ctx_t *ctx)
{
    return ctx->undecided || ctx->pass != &ctx->entries;
}


#endif /* _NGX_HTTP_SLIDEWIN_PEEK_H_INCLUDED_ */
