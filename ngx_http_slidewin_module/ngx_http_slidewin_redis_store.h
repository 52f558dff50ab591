
#ifndef _NGX_HTTP_SLIDEWIN_REDIS_STORE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_STORE_H_INCLUDED_


#include "ngx_http_slidewin_redis.h"
#include "ngx_http_slidewin_redis_conn.h"
#include "sw_breaker.h"


#define NGX_HTTP_SLIDEWIN_REDIS_SHA_LEN   40


/* take for any policies, and for one of the kinds that are asked most */

typedef enum {
    NGX_HTTP_SLIDEWIN_REDIS_TAKE_ANY = 0,
    NGX_HTTP_SLIDEWIN_REDIS_TAKE_PAIR,
    NGX_HTTP_SLIDEWIN_REDIS_TAKE_LOG,
    NGX_HTTP_SLIDEWIN_REDIS_GIVE_BACK,
    NGX_HTTP_SLIDEWIN_REDIS_SCRIPTS
} ngx_http_slidewin_redis_script_e;


/* they are loaded on connect, and brought along if they are gone */

extern ngx_str_t
    ngx_http_slidewin_redis_scripts[NGX_HTTP_SLIDEWIN_REDIS_SCRIPTS];


/* a store as configured, and what a worker makes of it */

typedef struct {
    ngx_http_slidewin_redis_server_t   server;
    ngx_http_slidewin_redis_conn_t     conn;
    ngx_msec_t                         timeout;
    ngx_str_t                          prefix;
    u_char                             sha[NGX_HTTP_SLIDEWIN_REDIS_SCRIPTS]
                                          [NGX_HTTP_SLIDEWIN_REDIS_SHA_LEN];
    sw_breaker_t                       breaker;
    ngx_queue_t                        waiting;    /* to be sent when ready */
    ngx_uint_t                         calls;      /* checks under way */
    ngx_uint_t                         amends;     /* and changes */
    int64_t                            number;     /* of the last call */
    time_t                             logged;     /* the last bad answer */
} ngx_http_slidewin_redis_t;


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_STORE_H_INCLUDED_ */
