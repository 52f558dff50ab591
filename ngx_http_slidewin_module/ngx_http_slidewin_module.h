
#ifndef _NGX_HTTP_SLIDEWIN_MODULE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_MODULE_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


/* the only place that has it: "./build.sh version" reads this line */

#define NGX_HTTP_SLIDEWIN_VERSION  "0.1.0"


extern ngx_module_t  ngx_http_slidewin_module;


#endif /* _NGX_HTTP_SLIDEWIN_MODULE_H_INCLUDED_ */
