
/*
 * Questions on their way to a node: deadline, answer, and what it means.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_CALL_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_CALL_H_INCLUDED_


#include "ngx_http_slidewin_redis_store.h"


typedef enum {
    NGX_HTTP_SLIDEWIN_REDIS_VERB_TAKE = 0,
    NGX_HTTP_SLIDEWIN_REDIS_VERB_RESET,
    NGX_HTTP_SLIDEWIN_REDIS_VERB_GIVE_BACK
} ngx_http_slidewin_redis_verb_e;


/* as the backend's take, reset and give_back; never NGX_OK */
ngx_int_t ngx_http_slidewin_redis_call_ask(
    ngx_http_slidewin_redis_t *redis, ngx_http_slidewin_call_t *call,
    ngx_http_slidewin_redis_verb_e verb);

/* the backend's cancel and adopt */
void ngx_http_slidewin_redis_call_cancel(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call);
ngx_int_t ngx_http_slidewin_redis_call_adopt(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call, ngx_http_slidewin_call_t *heir);

/* those that wait for the node's connection: it is there, it will not be */
void ngx_http_slidewin_redis_calls_send(ngx_http_slidewin_redis_node_t *node);
void ngx_http_slidewin_redis_calls_fail(ngx_http_slidewin_redis_node_t *node);

/* those that wait for a node of a cluster: look for it again */
void ngx_http_slidewin_redis_calls_route(ngx_http_slidewin_redis_t *redis);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_CALL_H_INCLUDED_ */
