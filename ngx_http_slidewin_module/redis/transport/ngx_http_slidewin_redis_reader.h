
/*
 * What hiredis makes of a reply.  That to a check is a short text, which is
 * looked at once: it needs no memory of its own.  What any other may take is
 * bounded in all, since hiredis bounds each array alone.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_READER_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_READER_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include <hiredis/hiredis.h>


/* of one reply, in bytes */

typedef struct {
    size_t                            max;
    size_t                            used;
} ngx_http_slidewin_redis_memory_t;


/* a reply that takes more than there is ends in hiredis' "Out of memory" */
void ngx_http_slidewin_redis_reader_init(redisReader *reader,
    ngx_http_slidewin_redis_memory_t *memory);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_READER_H_INCLUDED_ */
