
/*
 * The Redis store: one script call for all claims of a request, over one
 * pipelined connection of each worker.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_H_INCLUDED_


#include "ngx_http_slidewin_backend.h"


extern const ngx_http_slidewin_backend_t  ngx_http_slidewin_redis_backend;


/* slidewin_redis */
char *ngx_http_slidewin_redis_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_H_INCLUDED_ */
