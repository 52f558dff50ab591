
/*
 * Bans: what a request that may begin one asks of the store.
 */


#ifndef _NGX_HTTP_SLIDEWIN_BAN_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_BAN_H_INCLUDED_


#include "ngx_http_slidewin_ctx.h"


void ngx_http_slidewin_ban_init(void);

/* a new entry of a policy that has ban= */
void ngx_http_slidewin_ban_claim(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry);

/*
 * Whether the client is known to be banned without asking a remote store: then
 * the verdict of the entry is set.
 */
ngx_uint_t ngx_http_slidewin_ban_known(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry);

/* this pass is decided: what this machine does about bans that it knows now */
void ngx_http_slidewin_ban_outcome(ngx_http_slidewin_ctx_t *ctx);

/* the list for operators: what the store, asked then, in us, has said */
void ngx_http_slidewin_ban_list(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_claim_t *claim,
    int64_t asked_at);

/*
 * The request is rejected for good: begins bans that no store has begun,
 * because only a queue was too long.  NGX_AGAIN: a call is pending, and
 * ban_done() is to get its result.
 */
ngx_int_t ngx_http_slidewin_ban_begin(ngx_http_slidewin_ctx_t *ctx);
void ngx_http_slidewin_ban_done(ngx_http_slidewin_ctx_t *ctx, ngx_int_t rc);


#endif /* _NGX_HTTP_SLIDEWIN_BAN_H_INCLUDED_ */
