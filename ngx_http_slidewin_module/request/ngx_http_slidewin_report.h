
/*
 * Lines about requests that were not simply admitted.  A client that comes
 * without end gets a line a second for each zone and outcome in this worker,
 * which tells how many were left out.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REPORT_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REPORT_H_INCLUDED_


#include "ngx_http_slidewin_ctx.h"


/* what became of the request by this entry; the format goes on from there */
void ngx_http_slidewin_report(ngx_http_request_t *r,
    ngx_http_slidewin_entry_t *entry, ngx_http_slidewin_status_e status,
    const char *fmt, ...);

/* tells what was left out last, before the worker ends */
void ngx_http_slidewin_report_rest(void);


#endif /* _NGX_HTTP_SLIDEWIN_REPORT_H_INCLUDED_ */
