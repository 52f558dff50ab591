
/*
 * The commonest mistake: nginx is behind a proxy, the key is the address that
 * nginx sees, and so all clients share one limit.  A part of the requests is
 * looked at.  If nearly all have one key, which is the address of a private
 * peer, and were forwarded, the operator is told.
 */


#ifndef _NGX_HTTP_SLIDEWIN_SHARED_KEY_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_SHARED_KEY_H_INCLUDED_


#include "ngx_http_slidewin_conf.h"


/* of so many requests of an outcome and source, one is looked at */
#define NGX_HTTP_SLIDEWIN_SHARED_KEY_EVERY   16


void ngx_http_slidewin_shared_key_sample(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy, ngx_str_t *key);

/* whether a proxy says that the request is another client's */
ngx_uint_t ngx_http_slidewin_is_forwarded(ngx_http_request_t *r);


#endif /* _NGX_HTTP_SLIDEWIN_SHARED_KEY_H_INCLUDED_ */
