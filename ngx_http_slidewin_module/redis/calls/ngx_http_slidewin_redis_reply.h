
/*
 * What the reply to a call means.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_REPLY_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_REPLY_H_INCLUDED_


#include "ngx_http_slidewin_redis_call.h"


/*
 * NGX_OK: the verdicts of its requests are set.  NGX_ERROR: there is none; that
 * is logged, and counted as a failure of the node if it is one.  NGX_AGAIN: the
 * script was not there, the call is to be sent with it.  NGX_DECLINED: the call
 * is to go to the next node, or, if next is NULL, to wait for the slots.
 */
ngx_int_t ngx_http_slidewin_redis_reply(ngx_http_slidewin_redis_call_t *rcall,
    redisReply *reply, ngx_http_slidewin_redis_node_t **next);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_REPLY_H_INCLUDED_ */
