
/*
 * What an answer means, and what is done about one that is none.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_REPLY_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_REPLY_H_INCLUDED_


#include "ngx_http_slidewin_redis_call.h"


/* NGX_OK, NGX_ERROR, or NGX_AGAIN if the call was sent once more */
ngx_int_t ngx_http_slidewin_redis_reply(ngx_http_slidewin_redis_call_t *rcall,
    redisReply *reply);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_REPLY_H_INCLUDED_ */
