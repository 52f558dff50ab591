
/*
 * Rejections that are remembered for a moment: a client that comes again before
 * its time is rejected without asking the store.
 */


#ifndef _NGX_HTTP_SLIDEWIN_DENY_CACHE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_DENY_CACHE_H_INCLUDED_


#include "ngx_http_slidewin_backend.h"


/*
 * Whether this cost was rejected and still is for certain; then the verdict is
 * set.  Of a claim with a rule for bans: whether its client is banned, so that
 * a rejection that is to begin a ban is asked for.
 */
ngx_uint_t ngx_http_slidewin_deny_cache_lookup(
    ngx_http_slidewin_claim_t *claim);

/*
 * For a peek: whether the verdict could be set from what is remembered of the
 * client.  If not, the caller is to ask the store: for the next pause ms this
 * returns 1 to all others.
 */
ngx_uint_t ngx_http_slidewin_deny_cache_known(ngx_http_slidewin_claim_t *claim,
    int64_t pause);

/*
 * Whether a claim that the store was asked at that time, in us, and rejected,
 * may be admitted by now.
 */
ngx_uint_t ngx_http_slidewin_deny_cache_invalidated(
    ngx_http_slidewin_claim_t *claim, int64_t asked_at);

/*
 * Remembers the verdict of a claim that the store was asked at that time, in
 * us, and that was rejected or peeked at; it rejects for at most max ms.
 */
void ngx_http_slidewin_deny_cache_insert(ngx_http_slidewin_claim_t *claim,
    int64_t asked_at, int64_t max);

/* forgets the client's rejections, and those of replies still to come */
void ngx_http_slidewin_deny_cache_invalidate(ngx_http_slidewin_claim_t *claim);


#endif /* _NGX_HTTP_SLIDEWIN_DENY_CACHE_H_INCLUDED_ */
