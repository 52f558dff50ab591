
/*
 * One client of a zone: how it stands, and its reset.  Both return what is to
 * be given to ngx_http_finalize_request().
 */


#ifndef _NGX_HTTP_SLIDEWIN_API_KEYS_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_API_KEYS_H_INCLUDED_


#include "ngx_http_slidewin_conf.h"


/* rate is the argument of that name, as it came, or empty */
ngx_int_t ngx_http_slidewin_api_key_get(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy, ngx_str_t *key, ngx_str_t *rate);
ngx_int_t ngx_http_slidewin_api_key_delete(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy, ngx_str_t *key);


#endif /* _NGX_HTTP_SLIDEWIN_API_KEYS_H_INCLUDED_ */
