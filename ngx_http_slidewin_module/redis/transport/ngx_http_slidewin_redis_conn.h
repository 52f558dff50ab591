
/*
 * One connection to one Redis: connects, introduces itself, knows the other
 * side's clock, notices when nothing comes back, and tries again for ever.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_CONN_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_CONN_H_INCLUDED_


#include "ngx_http_slidewin_redis_endpoint.h"
#include "ngx_http_slidewin_redis_event.h"
#include "ngx_http_slidewin_redis_reader.h"
#include "ngx_http_slidewin_redis_tls.h"


typedef enum {
    NGX_HTTP_SLIDEWIN_REDIS_DOWN = 0,
    NGX_HTTP_SLIDEWIN_REDIS_CONNECTING,
    NGX_HTTP_SLIDEWIN_REDIS_READY,
    NGX_HTTP_SLIDEWIN_REDIS_MOVING                 /* as soon as it is idle */
} ngx_http_slidewin_redis_state_e;


/* as whom, from the configuration; texts are terminated */

typedef struct {
    ngx_uint_t                        database;
    ngx_str_t                         user;
    ngx_str_t                         password;
    ngx_http_slidewin_redis_tls_t    *tls;         /* NULL: in plain text */
    ngx_msec_t                        connect_timeout;
    ngx_str_t                        *scripts;     /* loaded on connect */
    ngx_uint_t                        nscripts;
    size_t                            reply_max;   /* bytes of a part of it */
    size_t                            reply_memory; /* for all of it */
    ngx_int_t                         reply_depth; /* arrays in arrays */
    ngx_uint_t                        reply_elements;
    ngx_uint_t                        spared;      /* losses that are no news */
    unsigned                          sentinel:1;  /* it counts nothing */
    unsigned                          master:1;    /* no replica will do */

    /* sent when connected; ends with conn_ready() or conn_drop() */
    void                            (*handshake)(
                                         ngx_http_slidewin_redis_conn_t *c);
} ngx_http_slidewin_redis_access_t;


struct ngx_http_slidewin_redis_conn_s {
    ngx_http_slidewin_redis_event_t      event;
    ngx_http_slidewin_redis_endpoint_t  *endpoint;
    ngx_http_slidewin_redis_access_t *access;
    ngx_http_slidewin_redis_state_e      state;
    ngx_event_t                          timer;    /* to connect, or until */
    ngx_uint_t                           losses;   /* since it was proven */
    int64_t                              pause;
    int64_t                              read_at;  /* us */
    int64_t                              heard;    /* the last whole reply */
    int64_t                              emptied;  /* by conn_read */
    int64_t                              clock;    /* us, ours to theirs */
    int64_t                              clock_error; /* at most, 0: unknown */
    int64_t                              clock_read; /* when */
    int64_t                              clock_asked;
    ngx_uint_t                           pending;  /* replies due */
    ngx_http_slidewin_redis_memory_t     memory;   /* of the one under way */
    ngx_http_slidewin_redis_session_t session;     /* of TLS */
    unsigned                             locating:1;
    unsigned                             met:1;    /* the other is there */
    unsigned                             failed:1; /* not worth waiting for */
    unsigned                             doubtful:1; /* until a check works */
    unsigned                             reported:1; /* its loss is logged */
    unsigned                             explained:1; /* and why it lasts */
    unsigned                             asking_clock:1;
    unsigned                             exiting:1;
    u_char                               reason[128]; /* of the last loss */

    /* the owner's: it may send; nothing sent will be answered any more */
    void                            (*ready)(
                                         ngx_http_slidewin_redis_conn_t *c);
    void                            (*down)(
                                         ngx_http_slidewin_redis_conn_t *c);
    void                                *data;
};


void ngx_http_slidewin_redis_conn_start(ngx_http_slidewin_redis_conn_t *c);

/* the answers of its endpoint: there it is, or why it is not known */
void ngx_http_slidewin_redis_conn_connect_to(ngx_http_slidewin_redis_conn_t *c,
    const ngx_http_slidewin_redis_address_t *address);
void ngx_http_slidewin_redis_conn_resolve_failed(
    ngx_http_slidewin_redis_conn_t *c, const char *reason);

/* the same endpoint is elsewhere now: it is made anew, what is asked is awaited */
void ngx_http_slidewin_redis_conn_reconnect(ngx_http_slidewin_redis_conn_t *c);

/* whether it may send now; hiredis may be about to end it */
ngx_uint_t ngx_http_slidewin_redis_conn_open(
    ngx_http_slidewin_redis_conn_t *c);

/* it has been greeted, and may be asked */
void ngx_http_slidewin_redis_conn_ready(ngx_http_slidewin_redis_conn_t *c);

/* gives the connection up for a reason; it is made again */
void ngx_http_slidewin_redis_conn_drop(ngx_http_slidewin_redis_conn_t *c,
    const char *reason);

/* what was asked was answered: the next loss is a new one */
void ngx_http_slidewin_redis_conn_healthy(ngx_http_slidewin_redis_conn_t *c);

/* ends it; the worker exits */
void ngx_http_slidewin_redis_conn_stop(ngx_http_slidewin_redis_conn_t *c);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_CONN_H_INCLUDED_ */
