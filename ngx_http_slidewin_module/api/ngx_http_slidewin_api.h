
/*
 * The operator's endpoint: what its files share.
 *
 *     api           the directive, routes, the dashboard
 *     api_access    who may ask, who may reset
 *     api_send      responses, in parts
 *     api_keys      one client: look at it, reset it
 *     api_json      zones, the most rejected clients, stores
 *     api_metrics   the same for Prometheus
 *     api_snapshot  figures of one moment, and those that workers publish
 */


#ifndef _NGX_HTTP_SLIDEWIN_API_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_API_H_INCLUDED_


#include "ngx_http_slidewin_conf.h"


/* slidewin_api */
char *ngx_http_slidewin_api_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);


#endif /* _NGX_HTTP_SLIDEWIN_API_H_INCLUDED_ */
