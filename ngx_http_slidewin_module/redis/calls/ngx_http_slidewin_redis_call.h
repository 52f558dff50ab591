
/*
 * The record of a call on its way to a node: its life, its deadline, and where
 * it is counted.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_CALL_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_CALL_H_INCLUDED_


#include "ngx_http_slidewin_redis_types.h"


typedef enum {
    NGX_HTTP_SLIDEWIN_REDIS_VERB_TAKE = 0,
    NGX_HTTP_SLIDEWIN_REDIS_VERB_RESET,
    NGX_HTTP_SLIDEWIN_REDIS_VERB_GIVE_BACK,
    NGX_HTTP_SLIDEWIN_REDIS_VERB_CHARGE
} ngx_http_slidewin_redis_verb_e;


/*
 * The record is not the request's: the request may leave, or be given up at the
 * deadline, and the reply comes all the same.
 *
 * While a check is on its way, checks of this worker that ask for the same
 * follow it.  When the check has its reply or is given up, the first follower
 * is sent with the other followers as its members.  Each follower and member
 * has a deadline and a verdict of its own.
 */

typedef struct {
    ngx_event_t                      event;     /* runs call->done */
    ngx_queue_t                      deadline;
    int64_t                          due;       /* us */
    ngx_queue_t                      queue;     /* in members or followers of
                                                 * another, or waiting */
    ngx_queue_t                      members;
    ngx_queue_t                      followers;
    ngx_queue_t                      batch;     /* in redis->batches */
    ngx_str_t                        batch_key; /* empty: not shared */
    uint32_t                         batch_hash;
    ngx_uint_t                       times;     /* requests it is sent for */
    ngx_uint_t                       changes;   /* redis->changes, as sent */
    ngx_uint_t                       successes; /* of the node, as sent */
    ngx_http_slidewin_redis_t       *redis;
    ngx_http_slidewin_redis_node_t  *node;      /* NULL: the slots of the
                                                 * cluster are not known */
    ngx_http_slidewin_call_t        *call;      /* NULL: its request left */
    ngx_http_slidewin_redis_verb_e   verb;
    int64_t                          number;
    int64_t                          sent_at;   /* us */
    ngx_int_t                        rc;
    ngx_uint_t                       slot;      /* in a cluster */
    ngx_uint_t                       redirects;
    unsigned                         change:1;  /* no take */
    unsigned                         leads:1;   /* a batch */
    unsigned                         follows:1;
    unsigned                         sent:1;
    unsigned                         ended:1;   /* event is posted */
    unsigned                         retried:1; /* with its script */
    unsigned                         asking:1;  /* ASKING goes before it */
    unsigned                         redirected:1; /* or waited for slots */
    unsigned                         deadline_set:1;
    unsigned                         deadline_final:1; /* not set anew */
    unsigned                         sent_before:1;
    unsigned                         late:1;    /* given up after it was sent */
} ngx_http_slidewin_redis_call_t;


/* the caller sets redis, node, call and what is asked */
ngx_http_slidewin_redis_call_t *ngx_http_slidewin_redis_call_create(
    ngx_str_t *batch_key, ngx_log_t *log);
void ngx_http_slidewin_redis_call_free(ngx_http_slidewin_redis_call_t *rcall);

/* the records that are kept for the next calls */
void ngx_http_slidewin_redis_calls_free_spare(void);

/* counts the call as under way to its node until it ends */
void ngx_http_slidewin_redis_call_begin(ngx_http_slidewin_redis_call_t *rcall);

/* counts the call as under way to another node; NULL: to the cluster */
void ngx_http_slidewin_redis_call_set_node(
    ngx_http_slidewin_redis_call_t *rcall,
    ngx_http_slidewin_redis_node_t *node);

/*
 * Ends the call, without its members and followers.  The request goes on by an
 * event: the caller may run inside hiredis.
 */
void ngx_http_slidewin_redis_call_end(ngx_http_slidewin_redis_call_t *rcall,
    ngx_int_t rc);
void ngx_http_slidewin_redis_calls_end(ngx_queue_t *calls, ngx_int_t rc);

/* the call is overdue a timeout from now, us, unless it has ended */
void ngx_http_slidewin_redis_call_set_deadline(
    ngx_http_slidewin_redis_call_t *rcall, int64_t now);
void ngx_http_slidewin_redis_call_remove_deadline(
    ngx_http_slidewin_redis_call_t *rcall);

/* the call will have no reply: if it was a probe, another may be sent */
void ngx_http_slidewin_redis_call_probe_lost(
    ngx_http_slidewin_redis_call_t *rcall);


#if (NGX_DEBUG)

/* for debug lines */
#define ngx_http_slidewin_redis_call_log(rcall)                               \
    ((rcall)->call ? (rcall)->call->log : ngx_cycle->log)

const char *ngx_http_slidewin_redis_call_verb(
    ngx_http_slidewin_redis_call_t *rcall);

#endif


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_CALL_H_INCLUDED_ */
