
/*
 * Whether a rejected request may wait, and for how long.
 */


#ifndef _NGX_HTTP_SLIDEWIN_DELAY_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_DELAY_H_INCLUDED_


#include "ngx_http_slidewin_ctx.h"


/* ms until the requests before it in the queue have passed; 0: none are */
int64_t ngx_http_slidewin_delay_queue_wait(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry);

/* ms that the entry's request may wait from now on */
uint32_t ngx_http_slidewin_delay_left(ngx_http_slidewin_entry_t *entry);

/*
 * Puts a rejected request into a queue; the handler is called when it is to ask
 * again.  NGX_DECLINED: it may not wait that long, or too many wait already.
 */
ngx_int_t ngx_http_slidewin_delay_start(ngx_http_slidewin_ctx_t *ctx,
    ngx_event_handler_pt handler);


#endif /* _NGX_HTTP_SLIDEWIN_DELAY_H_INCLUDED_ */
