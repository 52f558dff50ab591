
/*
 * Outages: requests of a policy that its store did not decide.  Each worker
 * logs the beginning, a line a minute and the end, for each zone.
 */


#ifndef _NGX_HTTP_SLIDEWIN_OUTAGE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_OUTAGE_H_INCLUDED_


#include "ngx_http_slidewin_conf.h"


/* on_error has decided a request */
void ngx_http_slidewin_outage_count(ngx_http_slidewin_policy_t *policy);

void ngx_http_slidewin_outage_end(ngx_http_slidewin_policy_t *policy);


/* the store has decided a request: an outage, which is rare, may be over */

static ngx_inline void
ngx_http_slidewin_outage_decided(ngx_http_slidewin_policy_t *policy)
{
    if (policy->outage.requests) {
        ngx_http_slidewin_outage_end(policy);
    }
}


#endif /* _NGX_HTTP_SLIDEWIN_OUTAGE_H_INCLUDED_ */
