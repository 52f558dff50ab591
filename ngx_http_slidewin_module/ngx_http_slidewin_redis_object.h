
/*
 * What hiredis makes of a reply.  That to a check is a short text, which is
 * looked at once: it needs no memory of its own.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_OBJECT_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_OBJECT_H_INCLUDED_


#include <hiredis/hiredis.h>


void ngx_http_slidewin_redis_object_init(redisReader *reader);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_OBJECT_H_INCLUDED_ */
