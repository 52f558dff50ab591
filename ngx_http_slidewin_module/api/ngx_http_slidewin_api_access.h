
/*
 * Who may use the operator's endpoint, as far as nginx's own access rules do
 * not say it.
 */


#ifndef _NGX_HTTP_SLIDEWIN_API_ACCESS_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_API_ACCESS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


/*
 * A client of this machine, or from=any.  A proxy of this machine that says
 * whom it asks for is no such client.
 */
ngx_uint_t ngx_http_slidewin_api_is_here(ngx_http_request_t *r);

/* a browser says which page asks; other programs say nothing */
ngx_uint_t ngx_http_slidewin_api_is_foreign(ngx_http_request_t *r);


#endif /* _NGX_HTTP_SLIDEWIN_API_ACCESS_H_INCLUDED_ */
