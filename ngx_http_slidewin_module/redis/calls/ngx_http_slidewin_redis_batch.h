
/*
 * Checks that ask for the same, so that one question will do for them.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_BATCH_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_BATCH_H_INCLUDED_


#include "ngx_http_slidewin_redis_call.h"


/*
 * What a check asks for, the same bytes for the same, until the next one is
 * named; empty if it goes alone.
 */
void ngx_http_slidewin_redis_batch_key(ngx_http_slidewin_call_t *call,
    ngx_str_t *name);

/* the one on its way that asks for what the name says, or NULL */
ngx_http_slidewin_redis_call_t *ngx_http_slidewin_redis_batch_find(
    ngx_http_slidewin_redis_t *redis, ngx_str_t *name, uint32_t hash);

/* from now on those that ask for the same follow it, or do not any more */
void ngx_http_slidewin_redis_batch_open(
    ngx_http_slidewin_redis_call_t *rcall);
void ngx_http_slidewin_redis_batch_close(
    ngx_http_slidewin_redis_call_t *rcall);

/* those that follow it so far come along */
void ngx_http_slidewin_redis_batch_fill(
    ngx_http_slidewin_redis_call_t *rcall);

/* it did not run: who has left is let go, the others follow it again */
void ngx_http_slidewin_redis_batch_unfill(
    ngx_http_slidewin_redis_call_t *rcall);

/*
 * Those that follow one that was refused would be refused, too, unless its time
 * has come meanwhile or something was given back: whether they have got its
 * verdict.
 */
ngx_uint_t ngx_http_slidewin_redis_batch_reject(
    ngx_http_slidewin_redis_call_t *rcall);

/* of those it stands for, one that has not left; all ask for the same */
ngx_http_slidewin_call_t *ngx_http_slidewin_redis_batch_any(
    ngx_http_slidewin_redis_call_t *rcall);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_BATCH_H_INCLUDED_ */
