
/*
 * Where a connection is to lead.  To find that out may take a while: a name is
 * resolved, a sentinel is asked.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_ENDPOINT_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_ENDPOINT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>


typedef struct ngx_http_slidewin_redis_conn_s  ngx_http_slidewin_redis_conn_t;
typedef struct ngx_http_slidewin_redis_endpoint_s
    ngx_http_slidewin_redis_endpoint_t;


/* what find answers with; texts are terminated */

typedef struct {
    const char                       *host;        /* address, or path */
    ngx_uint_t                        port;        /* 0: it is a path */
    const char                       *name;        /* what it is known by */
} ngx_http_slidewin_redis_address_t;


struct ngx_http_slidewin_redis_endpoint_s {
    ngx_str_t                         name;        /* for the log */

    /*
     * Answers by ..._conn_located() or ..._conn_astray(), now or later, and
     * calls ..._conn_move() when that is no longer the answer.  After leave
     * it does neither: the connection is lost, or was not made (in vain), and
     * the result is whether there is another address to try at once.
     */
    void                            (*find)(
                                         ngx_http_slidewin_redis_endpoint_t *p,
                                         ngx_http_slidewin_redis_conn_t *c);
    ngx_uint_t                      (*leave)(
                                         ngx_http_slidewin_redis_endpoint_t *p,
                                         ngx_uint_t vain);
};


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_ENDPOINT_H_INCLUDED_ */
