
/*
 * The statistics of a request, once for each: when its header is sent, because
 * an internal redirect may change what was decided until then, or when it ends
 * without one.
 */


#ifndef _NGX_HTTP_SLIDEWIN_RECORD_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_RECORD_H_INCLUDED_


#include "ngx_http_slidewin_ctx.h"


/* in a worker: where requests are counted, from now on */
void ngx_http_slidewin_record_init(
    ngx_http_slidewin_request_counters_t *counters);

/* for a ctx that is not recorded; without a decision there is nothing to tell,
 * as for a client that left before it */
void ngx_http_slidewin_record(ngx_http_slidewin_ctx_t *ctx);


#endif /* _NGX_HTTP_SLIDEWIN_RECORD_H_INCLUDED_ */
