
#ifndef _NGX_HTTP_SLIDEWIN_LOG_HANDLER_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_LOG_HANDLER_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


/* the log phase: what the final status makes of what was counted */
ngx_int_t ngx_http_slidewin_log_handler(ngx_http_request_t *r);


#endif /* _NGX_HTTP_SLIDEWIN_LOG_HANDLER_H_INCLUDED_ */
