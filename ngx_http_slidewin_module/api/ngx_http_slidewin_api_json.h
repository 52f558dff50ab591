
/*
 * Zones, their most rejected clients and bans, and stores as JSON.  All return
 * what is to be given to ngx_http_finalize_request().
 */


#ifndef _NGX_HTTP_SLIDEWIN_API_JSON_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_API_JSON_H_INCLUDED_


#include "ngx_http_slidewin_conf.h"


ngx_int_t ngx_http_slidewin_api_json_info(ngx_http_request_t *r);
ngx_int_t ngx_http_slidewin_api_json_zones(ngx_http_request_t *r);
ngx_int_t ngx_http_slidewin_api_json_zone(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy);
ngx_int_t ngx_http_slidewin_api_json_top(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy);
ngx_int_t ngx_http_slidewin_api_json_bans(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy);
ngx_int_t ngx_http_slidewin_api_json_stores(ngx_http_request_t *r);


#endif /* _NGX_HTTP_SLIDEWIN_API_JSON_H_INCLUDED_ */
