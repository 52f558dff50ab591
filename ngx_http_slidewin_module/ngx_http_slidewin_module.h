
#ifndef _NGX_HTTP_SLIDEWIN_MODULE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_MODULE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


extern ngx_module_t  ngx_http_slidewin_module;


#endif /* _NGX_HTTP_SLIDEWIN_MODULE_H_INCLUDED_ */
