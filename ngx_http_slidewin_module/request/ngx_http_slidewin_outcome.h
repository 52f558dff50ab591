
/*
 * What a request gets when all its claims are decided: a status, a log line and
 * the decider, which is the entry that variables and header fields show.
 */


#ifndef _NGX_HTTP_SLIDEWIN_OUTCOME_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_OUTCOME_H_INCLUDED_


#include "ngx_http_slidewin_ctx.h"


/* of a decided entry */
ngx_http_slidewin_status_e ngx_http_slidewin_entry_status(
    ngx_http_slidewin_entry_t *entry);

/* whether the first of two decided entries is the decider */
ngx_uint_t ngx_http_slidewin_outcome_precedes(ngx_http_slidewin_entry_t *one,
    ngx_http_slidewin_entry_t *two);

/* returns what the access handler is to return */
ngx_int_t ngx_http_slidewin_outcome(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx, ngx_http_slidewin_loc_conf_t *slcf);


#endif /* _NGX_HTTP_SLIDEWIN_OUTCOME_H_INCLUDED_ */
