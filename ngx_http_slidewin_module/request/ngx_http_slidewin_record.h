
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


/* for a ctx that is not recorded; without a decision there is nothing to tell,
 * as for a client that left before it */
void ngx_http_slidewin_record(ngx_http_slidewin_ctx_t *ctx);


/* if=, or an empty key */

static ngx_inline void
ngx_http_slidewin_record_bypass(ngx_http_slidewin_policy_t *policy)
{
    ngx_http_slidewin_stats_count(&policy->counters->evaluations
                                             [NGX_HTTP_SLIDEWIN_BYPASSED]
                                             [NGX_HTTP_SLIDEWIN_SOURCE_NONE],
                                  1);
}


#endif /* _NGX_HTTP_SLIDEWIN_RECORD_H_INCLUDED_ */
