
/*
 * One Redis that is asked, and when not to ask it.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_NODE_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_NODE_H_INCLUDED_


#include "ngx_http_slidewin_redis_conn.h"
#include "sw_breaker.h"


/* resets, refunds and charges under way: no request waits for them */
#define NGX_HTTP_SLIDEWIN_REDIS_CHANGES_MAX  16384


typedef struct ngx_http_slidewin_redis_node_s  ngx_http_slidewin_redis_node_t;


/*
 * What the owner of a node does: ready when calls may be sent, unusable when
 * the calls that wait for it will not be sent, down when its connection is
 * lost (may be NULL).
 */

typedef struct {
    void                            (*ready)(
                                         ngx_http_slidewin_redis_node_t *node);
    void                            (*unusable)(
                                         ngx_http_slidewin_redis_node_t *node);
    void                            (*down)(
                                         ngx_http_slidewin_redis_node_t *node);
} ngx_http_slidewin_redis_node_hooks_t;


struct ngx_http_slidewin_redis_node_s {
    ngx_http_slidewin_redis_conn_t               conn;
    const ngx_http_slidewin_redis_node_hooks_t  *hooks;
    ngx_msec_t                                   timeout;  /* of a call */
    sw_breaker_t                                 breaker;
    ngx_queue_t                                  waiting;  /* calls, for a
                                                            * connection and
                                                            * for room */
    ngx_queue_t                                  waiting_changes; /* refunds
                                                            * and charges */
    ngx_uint_t                                   turns;    /* of those that
                                                            * waited */
    ngx_uint_t                                   checks;   /* under way */
    ngx_uint_t                                   changes;  /* under way */
    ngx_uint_t                                   inflight; /* of both: sent */
    ngx_uint_t                                   late;     /* of these: given
                                                            * up */
    int64_t                                      replied_at; /* us, the last
                                                            * reply to one */
    ngx_uint_t                                   successes; /* of checks */
    int64_t                                      watched;  /* us, when the last
                                                            * late one was
                                                            * sent */
    ngx_event_t                                  watch;
    time_t                                       logged;   /* s, an error */
};


/* node is zeroed; a worker's */
void ngx_http_slidewin_redis_node_start(ngx_http_slidewin_redis_node_t *node,
    ngx_http_slidewin_redis_endpoint_t *endpoint,
    ngx_http_slidewin_redis_access_t *access, ngx_msec_t timeout,
    const ngx_http_slidewin_redis_node_hooks_t *hooks);
void ngx_http_slidewin_redis_node_stop(ngx_http_slidewin_redis_node_t *node);

/* whether a check may be asked, or a change of what was counted */
ngx_uint_t ngx_http_slidewin_redis_node_may_send(
    ngx_http_slidewin_redis_node_t *node, ngx_uint_t check);

/* whether a check that was accepted but not sent may still be sent */
ngx_uint_t ngx_http_slidewin_redis_node_usable(
    ngx_http_slidewin_redis_node_t *node);

/* how a check went: a verdict, failed for a reason, or without a reply */
void ngx_http_slidewin_redis_node_success(
    ngx_http_slidewin_redis_node_t *node);
void ngx_http_slidewin_redis_node_failure(
    ngx_http_slidewin_redis_node_t *node, const char *reason, size_t len);
void ngx_http_slidewin_redis_node_probe_lost(
    ngx_http_slidewin_redis_node_t *node);

/*
 * A call that was sent at sent_at, us, is given up and counted as late: while
 * there is a late call, the connection is dropped when no call had a reply for
 * a timeout.  NGX_DECLINED if it is dropped now, and all sent calls have ended.
 */
ngx_int_t ngx_http_slidewin_redis_node_watch(
    ngx_http_slidewin_redis_node_t *node, int64_t sent_at);

/* no reply has come for too long */
void ngx_http_slidewin_redis_node_timed_out(
    ngx_http_slidewin_redis_node_t *node);

/* logs what is no fault of the node as a whole */
void ngx_http_slidewin_redis_node_log_error(
    ngx_http_slidewin_redis_node_t *node, const char *what, const char *reason,
    size_t len);

/* the same for a name that is no node; *logged is the time of the last line */
void ngx_http_slidewin_redis_log_error(ngx_str_t *name, time_t *logged,
    const char *what, const char *reason, size_t len);

/* whether the reply, an error, begins with the code */
ngx_uint_t ngx_http_slidewin_redis_error_is(redisReply *reply,
    const char *code);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_NODE_H_INCLUDED_ */
