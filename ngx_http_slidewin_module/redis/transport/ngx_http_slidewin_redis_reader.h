
/*
 * The memory of the replies that hiredis reads.  The reply to a check is a
 * short string that is used once: it is kept in a static buffer.  The memory of
 * any other reply is bounded as a whole, since hiredis bounds each array alone.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_READER_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_READER_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include <hiredis/hiredis.h>


/* bytes of one reply */

typedef struct {
    size_t                            max;
    size_t                            used;
} ngx_http_slidewin_redis_memory_t;


/* a reply that takes more than max ends in "Out of memory" of hiredis */
void ngx_http_slidewin_redis_reader_init(redisReader *reader,
    ngx_http_slidewin_redis_memory_t *memory);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_READER_H_INCLUDED_ */
