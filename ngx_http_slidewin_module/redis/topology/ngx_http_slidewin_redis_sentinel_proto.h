
/*
 * What sentinels are asked, and what they say.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_PROTO_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_PROTO_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include <hiredis/hiredis.h>


#define NGX_HTTP_SLIDEWIN_REDIS_HOST_LEN  255


/* where a sentinel says that the master is; the host is terminated */

typedef struct {
    ngx_uint_t                        port;        /* 0: no master */
    u_char                            host[NGX_HTTP_SLIDEWIN_REDIS_HOST_LEN
                                           + 1];
} ngx_http_slidewin_redis_master_t;


/*
 * PING, the address of the master, its epoch, and SUBSCRIBE, as they are sent.
 * A subscriber may send no other command: it unsubscribes first, all in one
 * write, so that no message is missed.
 */

typedef struct {
    ngx_str_t                         master;      /* its name, terminated */
    ngx_str_t                         first;
    ngx_str_t                         again;       /* to a subscriber */
} ngx_http_slidewin_redis_sentinel_query_t;


/* makes the texts, when the master's name is set */
ngx_int_t ngx_http_slidewin_redis_sentinel_query_init(ngx_pool_t *pool,
    ngx_http_slidewin_redis_sentinel_query_t *query);

/* the second reply; NGX_ERROR if it is neither an address nor nil */
ngx_int_t ngx_http_slidewin_redis_sentinel_parse_master(redisReply *reply,
    ngx_http_slidewin_redis_master_t *master);

/* the third reply; 0 if the user may not ask for the epoch */
int64_t ngx_http_slidewin_redis_sentinel_parse_epoch(redisReply *reply);

/* whether the reply is a message about the master of the query */
ngx_uint_t ngx_http_slidewin_redis_sentinel_is_message(
    const ngx_http_slidewin_redis_sentinel_query_t *query, redisReply *reply);

/* NGX_OK if that message says that this replica is about to be the master */
ngx_int_t ngx_http_slidewin_redis_sentinel_parse_promotion(
    const ngx_http_slidewin_redis_sentinel_query_t *query, redisReply *message,
    ngx_http_slidewin_redis_master_t *replica);

ngx_uint_t ngx_http_slidewin_redis_master_same(
    const ngx_http_slidewin_redis_master_t *one,
    const ngx_http_slidewin_redis_master_t *two);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_PROTO_H_INCLUDED_ */
