
/*
 * A place known by its name, address or path.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_HOST_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_HOST_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_redis_place.h"


/* texts are terminated */

typedef struct {
    ngx_http_slidewin_redis_place_t   place;
    ngx_str_t                         host;
    ngx_uint_t                        port;        /* 0: it is a path */
    ngx_str_t                        *addresses;
    ngx_uint_t                        naddresses;
} ngx_http_slidewin_redis_host_t;


/* an address or a path is known by itself, a name is not */
ngx_int_t ngx_http_slidewin_redis_host_set(ngx_pool_t *pool,
    ngx_http_slidewin_redis_host_t *host, const char *name, size_t len,
    ngx_uint_t port);

/* the same, and a name that cannot be resolved is a warning */
ngx_int_t ngx_http_slidewin_redis_host_init(ngx_conf_t *cf,
    ngx_http_slidewin_redis_host_t *host, const char *name, size_t len,
    ngx_uint_t port);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_HOST_H_INCLUDED_ */
