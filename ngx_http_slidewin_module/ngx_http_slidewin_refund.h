
/*
 * Detached calls: refunds, charges and resets that no request waits for.  A
 * store may answer them after the request has ended.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REFUND_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REFUND_H_INCLUDED_


#include "ngx_http_slidewin_backend.h"


typedef ngx_int_t (*ngx_http_slidewin_verb_pt)(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call);

/*
 * The result for n requests, at once or when the store has answered; may be
 * NULL.
 */
typedef void (*ngx_http_slidewin_detached_pt)(void *data, ngx_int_t rc,
    ngx_uint_t n);

static ngx_inline void
ngx_http_slidewin_detached_result(ngx_http_slidewin_detached_pt done,
    void *data, ngx_int_t rc, ngx_uint_t n)
{
    if (done) {
        done(data, rc, n);
    }
}


/* a ban that a call begins when its request has gone */
typedef void (*ngx_http_slidewin_ban_began_pt)(void *data,
    ngx_http_slidewin_claim_t *claim);


/* uncounts a claim that was counted; without an answer it stays counted */
void ngx_http_slidewin_refund(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim, ngx_http_slidewin_detached_pt done,
    void *data);

/* asks the store with a copy of the claim; NULL: the result is told already */
ngx_http_slidewin_call_t *ngx_http_slidewin_detached_call(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_verb_pt verb, ngx_http_slidewin_detached_pt done,
    void *data);

/* the store need not do what it has not done yet: no result is told */
void ngx_http_slidewin_detached_cancel(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call);

/* clears the key of a claim, with all units that any request counted for it */
void ngx_http_slidewin_reset_key(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim);

/*
 * The request of a pending call leaves.  Units that the call will have counted
 * are refunded if their claim has refund_if_left; prefetched units always are.
 * If data is not NULL, ban_began() is told of bans, and data is freed in the
 * end.
 */
void ngx_http_slidewin_abandon(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call, ngx_http_slidewin_ban_began_pt ban_began,
    void *data);


#endif /* _NGX_HTTP_SLIDEWIN_REFUND_H_INCLUDED_ */
