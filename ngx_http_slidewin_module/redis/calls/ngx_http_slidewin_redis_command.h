
/*
 * The commands that calls are sent as.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_COMMAND_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_COMMAND_H_INCLUDED_


#include "ngx_http_slidewin_redis_call.h"


/*
 * The call as it is sent, valid until the next one is written.  call is that of
 * any request of its batch; now is the time of the node, ms, or 0 if the
 * script is to ask for it.  NGX_ERROR if it is too long.
 */
ngx_int_t ngx_http_slidewin_redis_command(
    ngx_http_slidewin_redis_call_t *rcall, ngx_http_slidewin_call_t *call,
    int64_t now, ngx_str_t *text);

/* of the claim's key in a cluster */
ngx_uint_t ngx_http_slidewin_redis_command_slot(
    ngx_http_slidewin_redis_t *redis, ngx_http_slidewin_claim_t *claim);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_COMMAND_H_INCLUDED_ */
