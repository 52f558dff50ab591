
/*
 * Requests that a store did not decide: an operator is told at once, every
 * minute while it lasts and when it is over, by each worker and for each zone.
 */


#ifndef _NGX_HTTP_SLIDEWIN_OUTAGE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_OUTAGE_H_INCLUDED_


#include "ngx_http_slidewin_conf.h"


/* on_error decides a request */
void ngx_http_slidewin_outage_count(ngx_http_slidewin_policy_t *policy);

void ngx_http_slidewin_outage_end(ngx_http_slidewin_policy_t *policy);


/* the store has decided a request; hardly ever is there anything to end */

static ngx_inline void
ngx_http_slidewin_outage_decided(ngx_http_slidewin_policy_t *policy)
{
    if (policy->outage.requests) {
        ngx_http_slidewin_outage_end(policy);
    }
}


#endif /* _NGX_HTTP_SLIDEWIN_OUTAGE_H_INCLUDED_ */
