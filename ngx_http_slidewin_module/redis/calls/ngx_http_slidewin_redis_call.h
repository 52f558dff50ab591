
/*
 * Questions on their way to a node: deadline, answer, and what it means.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_CALL_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_CALL_H_INCLUDED_


#include "ngx_http_slidewin_redis_types.h"


typedef enum {
    NGX_HTTP_SLIDEWIN_REDIS_VERB_TAKE = 0,
    NGX_HTTP_SLIDEWIN_REDIS_VERB_RESET,
    NGX_HTTP_SLIDEWIN_REDIS_VERB_GIVE_BACK
} ngx_http_slidewin_redis_verb_e;


/*
 * A call on its way.  It is not the request's: that may leave, or give up at
 * the deadline, and the reply comes all the same.
 *
 * While a check is on its way, those of this worker that ask for the same
 * follow it.  When it is answered or given up, the first of them goes, and
 * takes the others along as passengers: each has a deadline and an answer of
 * its own.
 */

typedef struct {
    ngx_event_t                      event;     /* the answer */
    ngx_queue_t                      deadline;
    int64_t                          due;       /* us */
    ngx_queue_t                      queue;     /* of one of those below, or
                                                 * of those not yet sent */
    ngx_queue_t                      passengers;
    ngx_queue_t                      followers;
    ngx_queue_t                      group;     /* of names of a like hash */
    ngx_str_t                        name;      /* empty: it is alone */
    uint32_t                         hash;
    ngx_uint_t                       times;     /* with its passengers */
    ngx_uint_t                       amended;   /* changes sent before it */
    ngx_uint_t                       worked;    /* the node's, when sent */
    ngx_http_slidewin_redis_node_t  *node;
    ngx_http_slidewin_call_t        *call;      /* NULL: nobody waits */
    ngx_http_slidewin_redis_verb_e   verb;
    int64_t                          number;
    int64_t                          sent_at;   /* us */
    ngx_int_t                        rc;
    ngx_uint_t                       slot;      /* in a cluster */
    ngx_uint_t                       redirects;
    unsigned                         amends:1;  /* it is no check */
    unsigned                         leads:1;   /* a group */
    unsigned                         follows:1;
    unsigned                         sent:1;
    unsigned                         dated:1;   /* its deadline stands */
    unsigned                         answered:1;
    unsigned                         retried:1;
    unsigned                         asking:1;
    unsigned                         moved:1;   /* sent on, or to be */
    unsigned                         timed:1;   /* has a deadline */
    unsigned                         late:1;    /* given up, not answered */
} ngx_http_slidewin_redis_call_t;


/* as the backend's take, reset and give_back */
ngx_int_t ngx_http_slidewin_redis_call_start(
    ngx_http_slidewin_redis_t *redis, ngx_http_slidewin_call_t *call,
    ngx_http_slidewin_redis_verb_e verb);

/* the backend's cancel and adopt */
void ngx_http_slidewin_redis_call_cancel(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call);
ngx_int_t ngx_http_slidewin_redis_call_reassign(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call,
    ngx_http_slidewin_call_t *replacement);

/* those that wait in the node's line: as many as may go, none will */
void ngx_http_slidewin_redis_calls_send(ngx_http_slidewin_redis_node_t *node);
void ngx_http_slidewin_redis_calls_fail(ngx_http_slidewin_redis_node_t *node);

/* those that wait for a node of a cluster: look for it again */
void ngx_http_slidewin_redis_calls_route(ngx_http_slidewin_redis_t *redis);

/* the records that are kept for the next calls */
void ngx_http_slidewin_redis_calls_free_spare(void);

/* below: what the parts of a call need of each other */

/* sends it, with all it stands for */
ngx_int_t ngx_http_slidewin_redis_call_send(
    ngx_http_slidewin_redis_call_t *rcall);

/* one that did not run where it was goes on to another node */
ngx_int_t ngx_http_slidewin_redis_call_redirect(
    ngx_http_slidewin_redis_call_t *rcall,
    ngx_http_slidewin_redis_node_t *node);

/* it counts as one under way to this node from now on */
void ngx_http_slidewin_redis_call_set_node(
    ngx_http_slidewin_redis_call_t *rcall,
    ngx_http_slidewin_redis_node_t *node);

/* it is done, by itself and not for those it stands for */
void ngx_http_slidewin_redis_call_end(ngx_http_slidewin_redis_call_t *rcall,
    ngx_int_t rc);

/* it was not answered in time */
void ngx_http_slidewin_redis_call_overdue(
    ngx_http_slidewin_redis_call_t *rcall);

/* it will not be answered */
void ngx_http_slidewin_redis_call_probe_lost(
    ngx_http_slidewin_redis_call_t *rcall);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_CALL_H_INCLUDED_ */
