
#ifndef _NGX_HTTP_SLIDEWIN_REDIS_TYPES_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_TYPES_H_INCLUDED_


#include "ngx_http_slidewin_redis.h"
#include "ngx_http_slidewin_redis_conn.h"
#include "ngx_http_slidewin_redis_dns.h"
#include "ngx_http_slidewin_redis_sentinel.h"
#include "ngx_http_slidewin_redis_tls.h"
#include "sw_breaker.h"


/* what is the same each time that a script is asked for: before its digest */
#define NGX_HTTP_SLIDEWIN_REDIS_EVALSHA                                       \
    "$7" CRLF "EVALSHA" CRLF "$40" CRLF
#define NGX_HTTP_SLIDEWIN_REDIS_EVALSHA_LEN                                   \
    (sizeof(NGX_HTTP_SLIDEWIN_REDIS_EVALSHA CRLF) - 1 + 40)


/* lists that the batches under way are spread over */
#define NGX_HTTP_SLIDEWIN_REDIS_BATCHES  256


typedef struct ngx_http_slidewin_redis_s  ngx_http_slidewin_redis_t;
typedef struct ngx_http_slidewin_redis_cluster_s
    ngx_http_slidewin_redis_cluster_t;


/* take for any policies, and for one of the kinds that are asked most */

typedef enum {
    NGX_HTTP_SLIDEWIN_REDIS_TAKE_ANY = 0,
    NGX_HTTP_SLIDEWIN_REDIS_TAKE_PAIR,
    NGX_HTTP_SLIDEWIN_REDIS_TAKE_LOG,
    NGX_HTTP_SLIDEWIN_REDIS_TAKE_STRICT,
    NGX_HTTP_SLIDEWIN_REDIS_GIVE_BACK,
    NGX_HTTP_SLIDEWIN_REDIS_SCRIPTS
} ngx_http_slidewin_redis_script_e;


/* they are loaded on connect, and brought along if they are gone */

extern ngx_str_t
    ngx_http_slidewin_redis_scripts[NGX_HTTP_SLIDEWIN_REDIS_SCRIPTS];


typedef struct {
    ngx_http_slidewin_redis_conn_t     conn;
    ngx_http_slidewin_redis_t         *redis;
    sw_breaker_t                       breaker;
    ngx_queue_t                        waiting;    /* calls to be sent when
                                                    * there is a connection,
                                                    * and room */
    ngx_uint_t                         checks;     /* under way */
    ngx_uint_t                         changes;    /* under way */
    ngx_uint_t                         inflight;   /* of both: sent */
    ngx_uint_t                         late;       /* of these: given up */
    int64_t                            answered;   /* us, the last of them */
    ngx_uint_t                         successes;  /* of checks, in time */
    int64_t                            watched;    /* us, when the last of the
                                                    * late ones was sent */
    ngx_event_t                        watch;
    time_t                             logged;     /* s, the last error */
} ngx_http_slidewin_redis_node_t;


/* a store as configured, and what a worker makes of it */

struct ngx_http_slidewin_redis_s {
    ngx_http_slidewin_redis_access_t    access;
    ngx_http_slidewin_redis_tls_t       tls;
    ngx_http_slidewin_redis_dns_t       host;
    ngx_http_slidewin_redis_sentinel_t *sentinel;  /* NULL: it is the host */
    ngx_http_slidewin_redis_node_t      node;
    ngx_http_slidewin_redis_cluster_t  *cluster;   /* NULL: it is the node */
    ngx_msec_t                          timeout;
    ngx_str_t                           prefix;
    u_char                              evalsha
                                       [NGX_HTTP_SLIDEWIN_REDIS_SCRIPTS]
                                       [NGX_HTTP_SLIDEWIN_REDIS_EVALSHA_LEN];
    int64_t                             number;    /* of the last call */
    ngx_uint_t                          changes;   /* sent so far */
    ngx_uint_t                          checks;    /* under way */
    ngx_uint_t                          checks_max;
    ngx_uint_t                          inflight_max; /* of a node */
    ngx_queue_t                         deadlines; /* of calls, in order */
    ngx_event_t                         deadline_timer;
    ngx_event_t                         turn_end;  /* deadlines were set */
    int64_t                             turn_start; /* us, by the first */
    ngx_queue_t                         batches    /* under way, by hash */
                                         [NGX_HTTP_SLIDEWIN_REDIS_BATCHES];
};


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_TYPES_H_INCLUDED_ */
