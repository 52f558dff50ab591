
#ifndef _NGX_HTTP_SLIDEWIN_VARIABLES_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_VARIABLES_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


ngx_int_t ngx_http_slidewin_variables_add(ngx_conf_t *cf);


#endif /* _NGX_HTTP_SLIDEWIN_VARIABLES_H_INCLUDED_ */
