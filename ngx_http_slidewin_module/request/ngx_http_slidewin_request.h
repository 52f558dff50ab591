
/*
 * What the module file hooks into nginx.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REQUEST_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REQUEST_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


/* the access phase: counts the request, makes it wait or rejects it */
ngx_int_t ngx_http_slidewin_handler(ngx_http_request_t *r);

/* the log phase: refunds, charges and resets by the final status */
ngx_int_t ngx_http_slidewin_log_handler(ngx_http_request_t *r);

/* before a post_action: its upstream is not the one that tells the true cost */
ngx_int_t ngx_http_slidewin_post_action_handler(ngx_http_request_t *r);

/*
 * The fields of responses are set by a header filter, because an error page or
 * a filter may make the response anew after the access phase.
 */
void ngx_http_slidewin_headers_init(void);

ngx_int_t ngx_http_slidewin_variables_add(ngx_conf_t *cf);

/* log lines about requests that were not logged so far: the worker exits */
void ngx_http_slidewin_report_skipped(void);


#endif /* _NGX_HTTP_SLIDEWIN_REQUEST_H_INCLUDED_ */
