
/*
 * The server that a connection goes to, by whatever it is known: its address
 * may have to be looked up, or sentinels to be asked.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_ENDPOINT_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_ENDPOINT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


typedef struct ngx_http_slidewin_redis_conn_s  ngx_http_slidewin_redis_conn_t;
typedef struct ngx_http_slidewin_redis_endpoint_s
    ngx_http_slidewin_redis_endpoint_t;


/* the answer of find(); strings are terminated */

typedef struct {
    const char                       *host;        /* IP address, or path */
    ngx_uint_t                        port;        /* 0: host is a path */
    const char                       *name;        /* in its certificate */
} ngx_http_slidewin_redis_address_t;


struct ngx_http_slidewin_redis_endpoint_s {
    ngx_str_t                         name;        /* for the log */

    /*
     * find() answers by conn_connect_to() or conn_resolve_failed(), now or
     * later, and calls conn_reconnect() when that answer is outdated.
     *
     * After leave() it calls none of them.  The connection was lost, or could
     * not be made (failed); the result is whether there is another address to
     * try at once.
     */
    void                            (*find)(
                                         ngx_http_slidewin_redis_endpoint_t *e,
                                         ngx_http_slidewin_redis_conn_t *c);
    ngx_uint_t                      (*leave)(
                                         ngx_http_slidewin_redis_endpoint_t *e,
                                         ngx_uint_t failed);
};


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_ENDPOINT_H_INCLUDED_ */
