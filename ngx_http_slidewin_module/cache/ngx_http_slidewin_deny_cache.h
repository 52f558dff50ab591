
/*
 * Refusals that are remembered for a moment: whoever comes again before its
 * time is refused without a question.
 */


#ifndef _NGX_HTTP_SLIDEWIN_DENY_CACHE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_DENY_CACHE_H_INCLUDED_


#include "ngx_http_slidewin_backend.h"


/* whether this cost was refused, and is for certain; the verdict is its own */
ngx_uint_t ngx_http_slidewin_deny_cache_lookup(
    ngx_http_slidewin_claim_t *claim);

/*
 * For a claim that is only looked at: whether what is remembered of the client
 * is to be told.  The one who is told that it is not is to ask, and nobody else
 * for so many ms.
 */
ngx_uint_t ngx_http_slidewin_deny_cache_known(ngx_http_slidewin_claim_t *claim,
    int64_t pause);

/* whether what was refused, asked then, in us, may not be so any more */
ngx_uint_t ngx_http_slidewin_deny_cache_invalidated(
    ngx_http_slidewin_claim_t *claim, int64_t asked);

/*
 * Of a claim that was asked then, in us, and refused, or looked at; it refuses
 * for so many ms at most.
 */
void ngx_http_slidewin_deny_cache_insert(ngx_http_slidewin_claim_t *claim,
    int64_t asked, int64_t most);

/* also one that is under way */
void ngx_http_slidewin_deny_cache_invalidate(ngx_http_slidewin_claim_t *claim);


#endif /* _NGX_HTTP_SLIDEWIN_DENY_CACHE_H_INCLUDED_ */
