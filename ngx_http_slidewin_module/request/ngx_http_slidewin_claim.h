
/*
 * What a request asks of the limits of its location: keys, rates, costs.
 */


#ifndef _NGX_HTTP_SLIDEWIN_CLAIM_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_CLAIM_H_INCLUDED_


#include "ngx_http_slidewin_ctx.h"


/*
 * Begins a pass, with an entry for each limit of the location that applies.
 * NGX_DECLINED: there is nothing to ask for.  A claim whose rate or cost is bad
 * has a limit of 0.
 */
ngx_int_t ngx_http_slidewin_claim(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx, ngx_http_slidewin_loc_conf_t *slcf);

/*
 * Logs a bad value of a variable.  fmt takes the value, the name of the zone,
 * the error, and how many more there were, as "%V", "%V" and "%s%*s".
 */
void ngx_http_slidewin_claim_bad(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy, const char *fmt, ngx_str_t *value,
    const char *error);


#endif /* _NGX_HTTP_SLIDEWIN_CLAIM_H_INCLUDED_ */
