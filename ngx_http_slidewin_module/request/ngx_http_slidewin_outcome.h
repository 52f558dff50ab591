
/*
 * What a request gets when all its limits have been asked: the status, one of
 * them that speaks for it, a line in the log.
 */


#ifndef _NGX_HTTP_SLIDEWIN_OUTCOME_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_OUTCOME_H_INCLUDED_


#include "ngx_http_slidewin_ctx.h"


/* which of two limits that were decided speaks for the request */
ngx_uint_t ngx_http_slidewin_outcome_precedes(ngx_http_slidewin_entry_t *one,
    ngx_http_slidewin_entry_t *two);

/* returns what the access handler is to return */
ngx_int_t ngx_http_slidewin_outcome(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx, ngx_http_slidewin_loc_conf_t *slcf);

/* gives back what this pass has counted: all of it, or by dry runs */
void ngx_http_slidewin_outcome_refund(ngx_http_slidewin_ctx_t *ctx,
    ngx_uint_t all);


#endif /* _NGX_HTTP_SLIDEWIN_OUTCOME_H_INCLUDED_ */
