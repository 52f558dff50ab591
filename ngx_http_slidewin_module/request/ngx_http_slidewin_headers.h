
/*
 * Retry-After on rejections, and the RateLimit fields where they are asked
 * for.  A header filter, because a response may be made anew after the access
 * phase, by an error page or a filter that gives up.
 */


#ifndef _NGX_HTTP_SLIDEWIN_HEADERS_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_HEADERS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


void ngx_http_slidewin_headers_init(void);


#endif /* _NGX_HTTP_SLIDEWIN_HEADERS_H_INCLUDED_ */
