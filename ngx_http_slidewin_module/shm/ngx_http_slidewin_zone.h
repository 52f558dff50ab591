
/*
 * A zone of shared memory: the clients of one policy in trees, under the zone's
 * own lock.  What counts nothing any more makes room, found by the time when it
 * ends, or else the least recently seen.  It holds the counts of the local
 * store, and what a distributed policy remembers here.
 */


#ifndef _NGX_HTTP_SLIDEWIN_ZONE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_ZONE_H_INCLUDED_


#include "ngx_http_slidewin_backend.h"
#include "sw_key.h"


typedef struct ngx_http_slidewin_shctx_s  ngx_http_slidewin_shctx_t;


/* what a node is for; a client may have one of each */

typedef enum {
    NGX_HTTP_SLIDEWIN_COUNTS = 0,          /* a state */
    NGX_HTTP_SLIDEWIN_DENIAL,
    NGX_HTTP_SLIDEWIN_LEASE
} ngx_http_slidewin_what_e;


/*
 * Of a list; in units of 8 bytes from the pool, so that two are no larger.  Of
 * a sorted node they are what is below it, or 0.
 */

typedef struct {
    uint32_t                    prev;
    uint32_t                    next;
} ngx_http_slidewin_link_t;


/* when it means nothing any more, in what a node of an rbtree has left over */

typedef struct {
    u_char                      links[offsetof(ngx_rbtree_node_t, color)];
    uint64_t                    color_data:16;
    uint64_t                    at:47;     /* ms, UTC of the zone */
    uint64_t                    sorted:1;  /* in the order of all ends */
} ngx_http_slidewin_end_t;


/* node.data is what it is for and the kind of the key; more may follow it */

typedef struct {
    union {
        ngx_rbtree_node_t       node;
        ngx_http_slidewin_end_t end;
    };

    ngx_http_slidewin_link_t    seen;
    ngx_http_slidewin_link_t    ends;
    u_char                      key[SW_KEY_MAX];
    sw_state_t                  state;
} ngx_http_slidewin_node_t;


/* a denial or a lease begins with this, in the place of the state */

typedef struct {
    int64_t                     until;     /* ms; then it means nothing */
    ngx_queue_t                 queue;     /* of the due, if it has a next */
} ngx_http_slidewin_memo_t;


/* a copy of a memo that was due and had to make room */

typedef struct ngx_http_slidewin_lost_s  ngx_http_slidewin_lost_t;

struct ngx_http_slidewin_lost_s {
    ngx_http_slidewin_lost_t   *next;
};


/* a look at one client, and what there is to say of the zone afterwards */

typedef struct {
    ngx_http_slidewin_zone_t   *zone;
    ngx_http_slidewin_shctx_t  *sh;
    sw_key_t                    key;
    ngx_uint_t                  kind;
    uint32_t                    hash;
    int64_t                     utc;       /* with the lock, see below */
    ngx_http_slidewin_lost_t   *lost;
    ngx_uint_t                  forgotten;
    unsigned                    full:1;
    unsigned                    repaired:1;
} ngx_http_slidewin_visit_t;


/* key is the text of the directive: a reload must not change it */
ngx_http_slidewin_zone_t *ngx_http_slidewin_zone_add(ngx_conf_t *cf,
    ngx_str_t *name, size_t size, ngx_str_t *key, void *tag);

void ngx_http_slidewin_zone_open_key(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_zone_t *zone, ngx_str_t *key,
    ngx_http_slidewin_what_e what);

/* a look at no client, but at those that are due */
void ngx_http_slidewin_zone_open(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_zone_t *zone);

/*
 * For memos that are due and have to make room: the one makes a copy, or NULL,
 * with the lock held, the other is given it without the lock.
 */
void ngx_http_slidewin_zone_on_lost(ngx_http_slidewin_zone_t *zone,
    ngx_http_slidewin_lost_t *(*copy)(ngx_http_slidewin_visit_t *visit,
                                      ngx_http_slidewin_memo_t *memo,
                                      void *data),
    void (*lost)(ngx_http_slidewin_lost_t *lost, void *data), void *data);

/*
 * Workers that use it come and go.  Whether the one that goes is the last: it
 * is not, if ever one was killed.
 */
void ngx_http_slidewin_zone_ref(ngx_http_slidewin_zone_t *zone);
ngx_uint_t ngx_http_slidewin_zone_unref(ngx_http_slidewin_zone_t *zone);

/* without the lock: whether there may be a denial at that time */
ngx_uint_t ngx_http_slidewin_memo_may_deny(ngx_http_slidewin_zone_t *zone,
    int64_t now);

/*
 * Who locks several zones locks them in this order, which is the same in
 * every worker, also in those of the configuration before.
 */
ngx_uint_t ngx_http_slidewin_zone_locks_before(ngx_http_slidewin_zone_t *one,
    ngx_http_slidewin_zone_t *two);

void ngx_http_slidewin_zone_lock(ngx_http_slidewin_visit_t *visit);
void ngx_http_slidewin_zone_unlock(ngx_http_slidewin_visit_t *visit);

void ngx_http_slidewin_zone_tell(ngx_http_slidewin_visit_t *visit,
    ngx_log_t *log);


/* logs what happened under the lock, if anything did, and sees to the lost */

static ngx_inline void
ngx_http_slidewin_zone_report(ngx_http_slidewin_visit_t *visit, ngx_log_t *log)
{
    if (visit->full || visit->repaired || visit->lost) {
        ngx_http_slidewin_zone_tell(visit, log);
    }
}


/*
 * All below with the lock held.  States count in windows of UTC, as it was when
 * the zone was made: their time is that of the clock and visit->utc.
 */

ngx_http_slidewin_node_t *ngx_http_slidewin_zone_lookup(
    ngx_http_slidewin_visit_t *visit);

/* makes it the last to be forgotten */
void ngx_http_slidewin_zone_touch(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node);

/* it ends at another time than the one it was placed by */
void ngx_http_slidewin_zone_move(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node);

/* with a new state of the rule, and that many bytes for it */
ngx_http_slidewin_node_t *ngx_http_slidewin_zone_create(
    ngx_http_slidewin_visit_t *visit, const sw_rule_t *rule, size_t size,
    int64_t now);

void ngx_http_slidewin_zone_remove(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node);

/* a denial or a lease: the one there is, a new one of that many bytes */

void *ngx_http_slidewin_memo_lookup(ngx_http_slidewin_visit_t *visit);
void *ngx_http_slidewin_memo_insert(ngx_http_slidewin_visit_t *visit,
    size_t size, int64_t now);
void ngx_http_slidewin_memo_delete(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_memo_t *memo);
void ngx_http_slidewin_zone_keep(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_memo_t *memo, int64_t until);

/* there are denials until then */
void ngx_http_slidewin_memo_deny_until(ngx_http_slidewin_visit_t *visit,
    int64_t until);

/*
 * There is more for the client from now on, in us; whether there may be, so
 * that what was said of it since then is worth nothing.
 */
void ngx_http_slidewin_memo_invalidate(ngx_http_slidewin_visit_t *visit,
    int64_t now);
ngx_uint_t ngx_http_slidewin_memo_invalidated_since(
    ngx_http_slidewin_visit_t *visit, int64_t since);

/* the due, the first that became so first */

void ngx_http_slidewin_memo_schedule(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_memo_t *memo);
void ngx_http_slidewin_memo_unschedule(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_memo_t *memo);
void *ngx_http_slidewin_memo_next_due(ngx_http_slidewin_visit_t *visit);

/* gives a log room for one more entry, if there is memory */
void ngx_http_slidewin_zone_log_grow(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node, const sw_rule_t *rule, int64_t now);


/*
 * To be called when a state was changed.  One that counts on in the same
 * window, or slice, ends when it did.
 */

static ngx_inline void
ngx_http_slidewin_zone_place(ngx_http_slidewin_visit_t *visit,
    ngx_http_slidewin_node_t *node)
{
    if (sw_state_end(&node->state) != (int64_t) node->end.at) {
        ngx_http_slidewin_zone_move(visit, node);
    }
}


#if (NGX_HTTP_SLIDEWIN_TEST)

/* kills this process with the lock held and the links in disorder */
void ngx_http_slidewin_zone_test_crash(ngx_http_slidewin_zone_t *zone,
    ngx_uint_t all);

#endif


#endif /* _NGX_HTTP_SLIDEWIN_ZONE_H_INCLUDED_ */
