
/*
 * A clock that wall time does not move, read afresh: the one nginx caches is
 * as old as the turn of the event loop, and another worker may be ahead.
 */


#ifndef _NGX_HTTP_SLIDEWIN_CLOCK_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_CLOCK_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


static ngx_inline int64_t
ngx_http_slidewin_clock_us(void)
{
    struct timespec  ts;

    (void) clock_gettime(CLOCK_MONOTONIC, &ts);

    return (int64_t) ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}


static ngx_inline int64_t
ngx_http_slidewin_clock_ms(void)
{
    return ngx_http_slidewin_clock_us() / 1000;
}


/* by how much UTC is ahead of it now, ms */

static ngx_inline int64_t
ngx_http_slidewin_clock_utc(void)
{
    struct timeval  tv;

    ngx_gettimeofday(&tv);

    return (int64_t) tv.tv_sec * 1000 + tv.tv_usec / 1000
           - ngx_http_slidewin_clock_ms();
}


#endif /* _NGX_HTTP_SLIDEWIN_CLOCK_H_INCLUDED_ */
