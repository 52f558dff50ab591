
/*
 * A zone of shared memory: the clients of one policy, each a node in one of
 * many trees, under the zone's own lock.  A node is a counter of the local
 * store, or a memo: what the cache of a remote store knows of a client.
 * Nodes that expired make room for new ones, then the least recently used.
 *
 * Each of these files knows those below it:
 *
 *     zone_ban     bans: nodes beside the counters
 *     zone         life of a zone, locking, lookup, insert
 *     zone_alloc   memory for nodes, and which nodes make room
 *     zone_repair  repair after a worker was killed while it held the lock
 *     zone_tree    the trees, and a node's way into trees and lists and out
 *     zone_expiry  the order in which nodes expire
 *     zone_node    what lies in shared memory
 *     zone_op      an operation on a zone
 */


#ifndef _NGX_HTTP_SLIDEWIN_ZONE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_ZONE_H_INCLUDED_


#include "ngx_http_slidewin_stats.h"
#include "ngx_http_slidewin_zone_op.h"


/* key is the text of the directive: a reload must not change it */
ngx_http_slidewin_zone_t *ngx_http_slidewin_zone_add(ngx_conf_t *cf,
    ngx_str_t *name, size_t size, ngx_str_t *key, void *tag);

/*
 * Hooks for scheduled memos that have to make room: on_evict makes a copy, or
 * returns NULL; evicted is given the copy and frees it.
 */
void ngx_http_slidewin_zone_on_evict(ngx_http_slidewin_zone_t *zone,
    ngx_http_slidewin_on_evict_pt on_evict,
    ngx_http_slidewin_evicted_pt evicted, void *data);

/*
 * Count the workers that use the zone.  unref returns whether the calling
 * worker was the last one: never again once a worker was killed, because that
 * one stays counted.
 */
void ngx_http_slidewin_zone_ref(ngx_http_slidewin_zone_t *zone);
ngx_uint_t ngx_http_slidewin_zone_unref(ngx_http_slidewin_zone_t *zone);

/*
 * Several zones are locked in this order, which is the same in every worker,
 * also in those of the previous configuration.
 */
ngx_uint_t ngx_http_slidewin_zone_locks_before(ngx_http_slidewin_zone_t *one,
    ngx_http_slidewin_zone_t *two);

/* what an operator wants to know of a zone; read without its lock */

typedef struct {
    size_t                          size;
    size_t                          free;
    ngx_uint_t                      entries;       /* nodes */
} ngx_http_slidewin_zone_usage_t;

/* where this worker counts evictions */
void ngx_http_slidewin_zone_set_counters(ngx_http_slidewin_zone_t *zone,
    ngx_http_slidewin_zone_counters_t *counters);

void ngx_http_slidewin_zone_usage(ngx_http_slidewin_zone_t *zone,
    ngx_http_slidewin_zone_usage_t *usage);

/* an operation without a key can only work on the schedule */
void ngx_http_slidewin_zone_op_init(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_zone_t *zone);
void ngx_http_slidewin_zone_op_init_key(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_zone_t *zone, ngx_str_t *key,
    ngx_http_slidewin_node_type_e type);

void ngx_http_slidewin_zone_lock(ngx_http_slidewin_zone_op_t *op);
void ngx_http_slidewin_zone_unlock(ngx_http_slidewin_zone_op_t *op);

void ngx_http_slidewin_zone_report(ngx_http_slidewin_zone_op_t *op,
    ngx_log_t *log);


/* after unlock: logs what happened, and hands on the copies of memos */

static ngx_inline void
ngx_http_slidewin_zone_finish(ngx_http_slidewin_zone_op_t *op, ngx_log_t *log)
{
    if (op->full || op->repaired || op->copies) {
        ngx_http_slidewin_zone_report(op, log);
    }
}


/*
 * All below with the lock held.  A counter's windows are aligned to UTC as it
 * was when the zone was made: the time of a state is that of the clock plus
 * op->utc_offset.  The time of a memo is that of the clock.
 */

ngx_http_slidewin_node_t *ngx_http_slidewin_zone_lookup(
    ngx_http_slidewin_zone_op_t *op);

/* makes the node the most recently used */
void ngx_http_slidewin_zone_touch(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node);

/* a new state of the rule in a node, with size bytes for the state */
ngx_http_slidewin_node_t *ngx_http_slidewin_zone_insert_counter(
    ngx_http_slidewin_zone_op_t *op, const sw_rule_t *rule, size_t size,
    int64_t now);

/* a new memo of that many bytes, all zero */
void *ngx_http_slidewin_zone_insert_memo(ngx_http_slidewin_zone_op_t *op,
    size_t size, int64_t now);

void ngx_http_slidewin_zone_remove(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node);

/* gives a log room for one more entry, if there is memory */
void ngx_http_slidewin_zone_grow_log(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_node_t *node, const sw_rule_t *rule, int64_t now);


#endif /* _NGX_HTTP_SLIDEWIN_ZONE_H_INCLUDED_ */
