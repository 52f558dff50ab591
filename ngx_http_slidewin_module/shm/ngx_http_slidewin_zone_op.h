
/*
 * An operation on a zone, and the types that the files of shm/ share.
 */


#ifndef _NGX_HTTP_SLIDEWIN_ZONE_OP_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_ZONE_OP_H_INCLUDED_


#include "ngx_http_slidewin_backend.h"
#include "sw_key.h"


typedef struct ngx_http_slidewin_shctx_s      ngx_http_slidewin_shctx_t;
typedef struct ngx_http_slidewin_node_s       ngx_http_slidewin_node_t;
typedef struct ngx_http_slidewin_memo_copy_s  ngx_http_slidewin_memo_copy_t;


/* a client may have one node of each type */

typedef enum {
    NGX_HTTP_SLIDEWIN_NODE_COUNTER = 0,
    NGX_HTTP_SLIDEWIN_NODE_DENY,
    NGX_HTTP_SLIDEWIN_NODE_LEASE,
    NGX_HTTP_SLIDEWIN_NODE_BAN
} ngx_http_slidewin_node_type_e;


/* every memo begins with this; queue.next is NULL if it is not scheduled */

typedef struct {
    int64_t                         until;       /* ms: useless from then on */
    ngx_queue_t                     queue;       /* of the schedule */
} ngx_http_slidewin_memo_t;


/* a copy of a scheduled memo that had to make room, for the evict hooks */

struct ngx_http_slidewin_memo_copy_s {
    ngx_http_slidewin_memo_copy_t  *next;
};


/*
 * One operation on a zone: for one key, between lock and unlock, and what there
 * is to log and to hand to the evict hook when the lock has been released.
 */

typedef struct {
    ngx_http_slidewin_zone_t       *zone;
    ngx_http_slidewin_shctx_t      *sh;          /* while the lock is held */
    sw_key_t                        key;
    ngx_uint_t                      kind;        /* node.data of its node */
    uint32_t                        hash;
    int64_t                         utc_offset;  /* of the zone, once locked */
    ngx_http_slidewin_memo_copy_t  *copies;
    ngx_uint_t                      evicted;     /* clients, if full */
    unsigned                        full:1;
    unsigned                        repaired:1;
} ngx_http_slidewin_zone_op_t;


/* on_evict runs with the lock held, evicted when it has been released */

typedef ngx_http_slidewin_memo_copy_t *(*ngx_http_slidewin_on_evict_pt)(
    ngx_http_slidewin_zone_op_t *op, ngx_http_slidewin_memo_t *memo,
    void *data);
typedef void (*ngx_http_slidewin_evicted_pt)(
    ngx_http_slidewin_memo_copy_t *copy, void *data);


#endif /* _NGX_HTTP_SLIDEWIN_ZONE_OP_H_INCLUDED_ */
