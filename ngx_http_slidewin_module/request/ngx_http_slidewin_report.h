
/*
 * Log lines about requests that were delayed, rejected or not counted.  In a
 * flood, a client has a line a second for each zone and status in this worker,
 * with the number of requests that were skipped.
 *
 * The line about a rejection begins as that of limit_req does, up to the
 * client, so that the filter of fail2ban for it finds this one.  What limit_req
 * does not tell comes after the client.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REPORT_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REPORT_H_INCLUDED_


#include "ngx_http_slidewin_ctx.h"


/*
 * The line of the status, if report_enabled(); the formatted text is for after
 * the client.
 */
void ngx_http_slidewin_report(ngx_http_request_t *r,
    ngx_http_slidewin_entry_t *entry, ngx_http_slidewin_status_e status,
    const char *fmt, ...);


/*
 * What a line needs of a request that will have gone, on the heap; NULL if
 * there is no memory.
 */
typedef struct ngx_http_slidewin_report_left_s
    ngx_http_slidewin_report_left_t;

ngx_http_slidewin_report_left_t *ngx_http_slidewin_report_leave(
    ngx_http_request_t *r);

/* the line about a ban that the claim of such a request has begun */
void ngx_http_slidewin_report_left(ngx_http_slidewin_report_left_t *left,
    ngx_http_slidewin_policy_t *policy, ngx_http_slidewin_claim_t *claim);


/* a line of less than a rejection is one level lower */

static ngx_inline ngx_uint_t
ngx_http_slidewin_report_level(ngx_http_slidewin_loc_conf_t *slcf,
    ngx_http_slidewin_status_e status)
{
    return slcf->log_level + (status < NGX_HTTP_SLIDEWIN_REJECTED);
}


static ngx_inline ngx_uint_t
ngx_http_slidewin_report_enabled(ngx_http_request_t *r,
    ngx_http_slidewin_loc_conf_t *slcf, ngx_http_slidewin_status_e status)
{
    return slcf->log_level != NGX_HTTP_SLIDEWIN_LOG_OFF
           && r->connection->log->log_level
              >= ngx_http_slidewin_report_level(slcf, status);
}


#endif /* _NGX_HTTP_SLIDEWIN_REPORT_H_INCLUDED_ */
