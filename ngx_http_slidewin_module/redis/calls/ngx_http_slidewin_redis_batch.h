
/*
 * Checks that ask for the same, so that one call will do for them.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_BATCH_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_BATCH_H_INCLUDED_


#include "ngx_http_slidewin_redis_call.h"


/*
 * The key of the batch that a check may be in: the same bytes for checks that
 * ask for the same, valid until the next call; empty if the check goes alone.
 */
void ngx_http_slidewin_redis_batch_key(ngx_http_slidewin_call_t *call,
    ngx_str_t *key);

/* the call on its way that has this key, or NULL */
ngx_http_slidewin_redis_call_t *ngx_http_slidewin_redis_batch_find(
    ngx_http_slidewin_redis_t *redis, ngx_str_t *key, uint32_t hash);

/* from now on checks with its key follow the call, or do not any more */
void ngx_http_slidewin_redis_batch_open(
    ngx_http_slidewin_redis_call_t *rcall);
void ngx_http_slidewin_redis_batch_close(
    ngx_http_slidewin_redis_call_t *rcall);

/* the followers so far become members, which are sent with the call */
void ngx_http_slidewin_redis_batch_fill(
    ngx_http_slidewin_redis_call_t *rcall);

/*
 * The call did not run: members are followers again.  Members whose request has
 * left go into left, for the caller to end.
 */
void ngx_http_slidewin_redis_batch_unfill(
    ngx_http_slidewin_redis_call_t *rcall, ngx_queue_t *left);

/*
 * Followers of a call that was rejected would be rejected, too, unless its
 * retry time has come meanwhile or units were refunded.  Returns whether the
 * followers have its verdict now.
 */
ngx_uint_t ngx_http_slidewin_redis_batch_reject(
    ngx_http_slidewin_redis_call_t *rcall);

/*
 * The first request of the batch that has not left, or NULL; all requests of a
 * batch ask for the same.
 */
ngx_http_slidewin_call_t *ngx_http_slidewin_redis_batch_any(
    ngx_http_slidewin_redis_call_t *rcall);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_BATCH_H_INCLUDED_ */
