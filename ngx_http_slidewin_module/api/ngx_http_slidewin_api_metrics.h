
#ifndef _NGX_HTTP_SLIDEWIN_API_METRICS_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_API_METRICS_H_INCLUDED_


#include "ngx_http_slidewin_conf.h"


/* the text format of Prometheus, 0.0.4 */
ngx_int_t ngx_http_slidewin_api_metrics(ngx_http_request_t *r);


#endif /* _NGX_HTTP_SLIDEWIN_API_METRICS_H_INCLUDED_ */
