
/*
 * What is said to Redis, and what its answer to a take means.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_COMMAND_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_COMMAND_H_INCLUDED_


#include "ngx_http_slidewin_redis_store.h"
#include "sw_key.h"
#include "sw_proto.h"


/* a script, the keys and the numbers */
#define NGX_HTTP_SLIDEWIN_REDIS_COMMAND_MAX  65536

#define NGX_HTTP_SLIDEWIN_REDIS_KEY                                           \
    (SW_REDIS_KEY_LEN + NGX_HTTP_SLIDEWIN_NAME_MAX                            \
     + NGX_HTTP_SLIDEWIN_NAME_MAX)


/* a command while it is written out, where the last one was */

typedef struct {
    u_char                          *data;
    u_char                          *pos;
    u_char                          *last;
    unsigned                         too_long:1;
} ngx_http_slidewin_redis_command_t;


/* begins one of so many arguments, its name included */
void ngx_http_slidewin_redis_command(ngx_http_slidewin_redis_command_t *cmd,
    ngx_uint_t argc);

void ngx_http_slidewin_redis_arg(ngx_http_slidewin_redis_command_t *cmd,
    const void *arg, size_t len);

/* the script is the one of this digest */
void ngx_http_slidewin_redis_arg_evalsha(
    ngx_http_slidewin_redis_command_t *cmd, ngx_http_slidewin_redis_t *redis,
    ngx_http_slidewin_redis_script_e script);

/* of a script: how many keys it has */
void ngx_http_slidewin_redis_arg_count(ngx_http_slidewin_redis_command_t *cmd,
    ngx_uint_t n);

/* the keys of the call */
void ngx_http_slidewin_redis_arg_keys(ngx_http_slidewin_redis_command_t *cmd,
    ngx_http_slidewin_redis_t *redis, ngx_http_slidewin_call_t *call);

/* the call is that of each of so many requests; now is the time there */
void ngx_http_slidewin_redis_arg_take(ngx_http_slidewin_redis_command_t *cmd,
    ngx_http_slidewin_call_t *call, ngx_uint_t times, int64_t number,
    int64_t now);
void ngx_http_slidewin_redis_arg_give_back(
    ngx_http_slidewin_redis_command_t *cmd, ngx_http_slidewin_call_t *call,
    int64_t number, int64_t now);

/* as it is sent, until the next one; NGX_ERROR if it is too long */
ngx_int_t ngx_http_slidewin_redis_command_text(
    ngx_http_slidewin_redis_command_t *cmd, ngx_str_t *text);

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
