
/*
 * Which checks ask for the same, so that one question will do for them.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_GROUP_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_GROUP_H_INCLUDED_


#include "ngx_http_slidewin_backend.h"


/*
 * What a check asks for, the same bytes for the same, until the next one is
 * named; empty if it goes alone.
 */
void ngx_http_slidewin_redis_group_name(ngx_http_slidewin_call_t *call,
    ngx_str_t *name);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_GROUP_H_INCLUDED_ */
