
/*
 * What a request gets when all its claims are decided: a status, a log line and
 * the decider, which is the entry that variables and header fields show.
 */


#ifndef _NGX_HTTP_SLIDEWIN_OUTCOME_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_OUTCOME_H_INCLUDED_


#include "ngx_http_slidewin_ctx.h"


/* whether the first of two decided entries is the decider */
ngx_uint_t ngx_http_slidewin_outcome_precedes(ngx_http_slidewin_entry_t *one,
    ngx_http_slidewin_entry_t *two);

/* returns what the access handler is to return */
ngx_int_t ngx_http_slidewin_outcome(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx, ngx_http_slidewin_loc_conf_t *slcf);


/* of a decided entry */

static ngx_inline ngx_http_slidewin_status_e
ngx_http_slidewin_entry_status(ngx_http_slidewin_entry_t *entry)
{
    switch (entry->source) {

    case NGX_HTTP_SLIDEWIN_SOURCE_FAIL_OPEN:
        return NGX_HTTP_SLIDEWIN_ERROR_PASSED;

    case NGX_HTTP_SLIDEWIN_SOURCE_FAIL_CLOSED:
        return entry->claim.dry_run ? NGX_HTTP_SLIDEWIN_REJECTED_DRY_RUN
                                    : NGX_HTTP_SLIDEWIN_ERROR_REJECTED;

    default:
        break;
    }

    if (entry->claim.verdict.admitted) {
        return entry->delayed ? NGX_HTTP_SLIDEWIN_DELAYED
                              : NGX_HTTP_SLIDEWIN_PASSED;
    }

    if (entry->claim.dry_run) {
        return NGX_HTTP_SLIDEWIN_REJECTED_DRY_RUN;
    }

    /* the rejection that begins a ban is not one by the ban */

    return (entry->claim.banned && !entry->claim.ban_began)
               ? NGX_HTTP_SLIDEWIN_BANNED : NGX_HTTP_SLIDEWIN_REJECTED;
}


#endif /* _NGX_HTTP_SLIDEWIN_OUTCOME_H_INCLUDED_ */
