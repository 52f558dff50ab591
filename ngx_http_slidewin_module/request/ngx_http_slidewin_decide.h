
/*
 * The decision: which store is asked for which claims, and what becomes of them
 * by its answer or without one.
 */


#ifndef _NGX_HTTP_SLIDEWIN_DECIDE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_DECIDE_H_INCLUDED_


#include "ngx_http_slidewin_ctx.h"


/* all claims of this pass are undecided, for the first time or after a delay */
void ngx_http_slidewin_decide_begin(ngx_http_slidewin_ctx_t *ctx);

/*
 * Asks one store after the other until all have admitted or one has rejected.
 * NGX_AGAIN: a call is pending, and decide_result() is to get its result.
 */
ngx_int_t ngx_http_slidewin_decide(ngx_http_slidewin_ctx_t *ctx);
void ngx_http_slidewin_decide_result(ngx_http_slidewin_ctx_t *ctx,
    ngx_int_t rc);

/* whether the rejection of a pending call holds for calls like it, too */
ngx_uint_t ngx_http_slidewin_decide_on_reject(ngx_http_slidewin_call_t *call);


#endif /* _NGX_HTTP_SLIDEWIN_DECIDE_H_INCLUDED_ */
