
/*
 * What this machine knows of a client whose units are counted elsewhere, in the
 * zone of the policy: that it was refused a moment ago, and units that were
 * taken ahead.  Either spares a question.
 */


#ifndef _NGX_HTTP_SLIDEWIN_CACHE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_CACHE_H_INCLUDED_


#include "ngx_http_slidewin_ctx.h"


/* both leave the verdict in the claim; a lease has counted it as well */
ngx_uint_t ngx_http_slidewin_cache_denies(ngx_http_slidewin_entry_t *entry);
ngx_uint_t ngx_http_slidewin_cache_take_lease(ngx_http_slidewin_entry_t *entry);

/* a lease that came while the store refused the claim, maybe because of it */
ngx_uint_t ngx_http_slidewin_cache_take_open_lease(
    ngx_http_slidewin_entry_t *entry);

/*
 * The store has refused what was asked at that time, in us: whether it would
 * still do so, as far as is known here.
 */
ngx_uint_t ngx_http_slidewin_cache_confirm_reject(
    ngx_http_slidewin_entry_t *entry, int64_t asked);

/*
 * Of a look at the entry, with a claim of its own: whether what it would tell
 * is known here, and what it told when it was asked at that time, in us.
 */
ngx_uint_t ngx_http_slidewin_cache_peek(ngx_http_slidewin_entry_t *entry,
    ngx_http_slidewin_claim_t *claim);
void ngx_http_slidewin_cache_update_peek(ngx_http_slidewin_entry_t *entry,
    ngx_http_slidewin_claim_t *claim, int64_t asked);

/* the store's answer to what was asked at that time, in us */
void ngx_http_slidewin_cache_update(ngx_http_slidewin_entry_t *entry,
    int64_t asked);

/* gives back what was counted, to the lease it is from or to the store */
void ngx_http_slidewin_cache_refund(ngx_http_slidewin_entry_t *entry);

/* the client's count begins anew */
void ngx_http_slidewin_cache_purge(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_claim_t *claim);


#endif /* _NGX_HTTP_SLIDEWIN_CACHE_H_INCLUDED_ */
