
/*
 * Memos: what a policy with a remote store remembers of its clients in its
 * zone.  A memo is a denial of the deny cache or a lease; both begin with
 * ngx_http_slidewin_memo_t.
 */


#ifndef _NGX_HTTP_SLIDEWIN_MEMO_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_MEMO_H_INCLUDED_


#include "ngx_http_slidewin_zone.h"


/*
 * Without the lock: whether the zone may have a denial that holds at that time,
 * in ms.  No is certain, so that most requests need not lock the zone.
 */
ngx_uint_t ngx_http_slidewin_memo_may_deny(ngx_http_slidewin_zone_t *zone,
    int64_t now);

/* all below with the lock held */

/* the memo of the operation's key, or NULL */
void *ngx_http_slidewin_memo_lookup(ngx_http_slidewin_zone_op_t *op);
void ngx_http_slidewin_memo_delete(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_memo_t *memo);

/* until then, in ms, the memo is of use */
void ngx_http_slidewin_memo_keep_until(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_memo_t *memo, int64_t until);

/* the zone has a denial that holds until then, in ms: see may_deny */
void ngx_http_slidewin_memo_deny_until(ngx_http_slidewin_zone_op_t *op,
    int64_t until);

/*
 * The client has more units from now on, in us: replies to what was asked
 * before are worth nothing.  Other clients may share this time, and then ask
 * once more than they had to.
 */
void ngx_http_slidewin_memo_invalidate(ngx_http_slidewin_zone_op_t *op,
    int64_t now);
ngx_uint_t ngx_http_slidewin_memo_invalidated_since(
    ngx_http_slidewin_zone_op_t *op, int64_t since);

/*
 * The schedule: memos that a timer is to attend to, in the order in which they
 * were scheduled.
 */
void ngx_http_slidewin_memo_schedule(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_memo_t *memo);
void ngx_http_slidewin_memo_unschedule(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_memo_t *memo);
void *ngx_http_slidewin_memo_next_due(ngx_http_slidewin_zone_op_t *op);


/* begins an operation on the memo of a claim's client, with the lock */

static ngx_inline void
ngx_http_slidewin_memo_lock(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_claim_t *claim, ngx_http_slidewin_node_type_e type)
{
    ngx_http_slidewin_zone_op_init_key(op, claim->zone, &claim->key, type);
    ngx_http_slidewin_zone_lock(op);
}


/* not the request's log: what the zone has to tell is about all its clients */

static ngx_inline void
ngx_http_slidewin_memo_unlock(ngx_http_slidewin_zone_op_t *op)
{
    ngx_http_slidewin_zone_unlock(op);
    ngx_http_slidewin_zone_finish(op, ngx_cycle->log);
}


/* a reload, or a rate from a variable, may have changed the rule of a memo */

static ngx_inline ngx_uint_t
ngx_http_slidewin_memo_same_rule(const sw_rule_t *one, const sw_rule_t *two)
{
    return one->algorithm == two->algorithm && one->limit == two->limit
           && one->window == two->window && one->slices == two->slices;
}


#endif /* _NGX_HTTP_SLIDEWIN_MEMO_H_INCLUDED_ */
