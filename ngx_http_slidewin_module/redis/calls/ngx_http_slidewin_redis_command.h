
/*
 * What is said to Redis, and what its answer to a take means.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_COMMAND_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_COMMAND_H_INCLUDED_


#include "ngx_http_slidewin_redis_call.h"


/*
 * The call as it is sent, until the next one.  One of those it stands for says
 * what is asked; now is the time there.  NGX_ERROR if it is too long.
 */
ngx_int_t ngx_http_slidewin_redis_command(
    ngx_http_slidewin_redis_call_t *rcall, ngx_http_slidewin_call_t *call,
    int64_t now, ngx_str_t *text);

/* of the claim's key in a cluster */
ngx_uint_t ngx_http_slidewin_redis_slot(ngx_http_slidewin_redis_t *redis,
    ngx_http_slidewin_claim_t *claim);

/* whether it is an error that begins with the code */
ngx_uint_t ngx_http_slidewin_redis_error_is(redisReply *reply,
    const char *code);

/*
 * Reads the answer to the call of that number, which stood for so many requests
 * of the same; call is any of theirs, or NULL if nobody waits for it.
 * NGX_ERROR: it is no answer to this call; NGX_DECLINED: it is one that cannot
 * be true.
 */
ngx_int_t ngx_http_slidewin_redis_read(ngx_http_slidewin_call_t *call,
    ngx_uint_t times, int64_t number, redisReply *reply);

/* the verdicts on the nth of them, the first being 1, by what was read last */
void ngx_http_slidewin_redis_verdicts(ngx_http_slidewin_call_t *call,
    ngx_uint_t nth);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_COMMAND_H_INCLUDED_ */
