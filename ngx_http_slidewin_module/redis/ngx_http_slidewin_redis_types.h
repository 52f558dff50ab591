
/*
 * A Redis store: what configuration, calls and the backend share.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_TYPES_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_TYPES_H_INCLUDED_


#include "ngx_http_slidewin_backend.h"
#include "ngx_http_slidewin_redis_cluster.h"
#include "ngx_http_slidewin_redis_dns.h"
#include "ngx_http_slidewin_redis_node.h"
#include "ngx_http_slidewin_redis_sentinel.h"
#include "ngx_http_slidewin_redis_tls.h"


/* the first arguments of a script, but for its digest: always the same */
#define NGX_HTTP_SLIDEWIN_REDIS_EVALSHA                                       \
    "$7" CRLF "EVALSHA" CRLF "$40" CRLF
#define NGX_HTTP_SLIDEWIN_REDIS_EVALSHA_LEN                                   \
    (sizeof(NGX_HTTP_SLIDEWIN_REDIS_EVALSHA CRLF) - 1 + 40)


/* lists that batches under way are spread over, by hash */
#define NGX_HTTP_SLIDEWIN_REDIS_BATCHES  256


/* take for any policies, with bans or without, and for one of a kind: faster */

typedef enum {
    NGX_HTTP_SLIDEWIN_REDIS_TAKE_ANY = 0,
    NGX_HTTP_SLIDEWIN_REDIS_TAKE_PAIR,
    NGX_HTTP_SLIDEWIN_REDIS_TAKE_LOG,
    NGX_HTTP_SLIDEWIN_REDIS_TAKE_STRICT,
    NGX_HTTP_SLIDEWIN_REDIS_TAKE_BAN,
    NGX_HTTP_SLIDEWIN_REDIS_GIVE_BACK,
    NGX_HTTP_SLIDEWIN_REDIS_SCRIPTS
} ngx_http_slidewin_redis_script_e;


/* as configured, and what a worker makes of it */

typedef struct {
    ngx_http_slidewin_redis_access_t    access;
    ngx_http_slidewin_redis_tls_t       tls;
    ngx_http_slidewin_redis_dns_t       host;
    ngx_http_slidewin_redis_sentinel_t *sentinel;  /* NULL: at host */
    ngx_http_slidewin_redis_node_t      node;
    ngx_http_slidewin_redis_cluster_t  *cluster;   /* NULL: node is asked */
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
    ngx_queue_t                         batches    /* calls that lead one */
                                         [NGX_HTTP_SLIDEWIN_REDIS_BATCHES];
} ngx_http_slidewin_redis_t;


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_TYPES_H_INCLUDED_ */
