
/*
 * The life of a connection to a Redis: connect, handshake, ready, lost, and
 * again for ever.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_CONN_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_CONN_H_INCLUDED_


#include "ngx_http_slidewin_redis_endpoint.h"
#include "ngx_http_slidewin_redis_event.h"
#include "ngx_http_slidewin_redis_reader.h"
#include "ngx_http_slidewin_redis_tls.h"
#include "ngx_http_slidewin_stats.h"


typedef enum {
    NGX_HTTP_SLIDEWIN_REDIS_DOWN = 0,              /* until the timer */
    NGX_HTTP_SLIDEWIN_REDIS_CONNECTING,            /* up to the handshake */
    NGX_HTTP_SLIDEWIN_REDIS_READY,
    NGX_HTTP_SLIDEWIN_REDIS_MOVING                 /* once no reply is due */
} ngx_http_slidewin_redis_state_e;


/* how connections are made, from the configuration; strings are terminated */

typedef struct {
    ngx_uint_t                        database;
    ngx_str_t                         user;
    ngx_str_t                         password;
    ngx_http_slidewin_redis_tls_t    *tls;         /* NULL: plain text */
    ngx_msec_t                        connect_timeout;
    ngx_str_t                        *scripts;     /* of the handshake */
    ngx_uint_t                        nscripts;
    size_t                            reply_max;   /* bytes of one element */
    size_t                            reply_memory; /* of a whole reply */
    ngx_int_t                         reply_depth; /* of nested arrays */
    ngx_uint_t                        reply_elements; /* of one array */
    ngx_uint_t                        quiet_losses; /* logged at "info" */
    ngx_http_slidewin_store_counters_t  *counters; /* NULL: not counted */
    unsigned                          sentinel:1;  /* the server is one */
    unsigned                          master:1;    /* a replica is rejected */

    /* called when connected; ends with conn_ready() or conn_drop() */
    void                            (*handshake)(
                                         ngx_http_slidewin_redis_conn_t *c);
} ngx_http_slidewin_redis_access_t;


struct ngx_http_slidewin_redis_conn_s {
    ngx_http_slidewin_redis_event_t      event;    /* the first field */
    ngx_http_slidewin_redis_endpoint_t  *endpoint;
    ngx_http_slidewin_redis_access_t    *access;
    ngx_http_slidewin_redis_state_e      state;
    ngx_event_t                          timer;    /* ends the state */
    ngx_uint_t                           pending;  /* replies that are due */

    int64_t                              read_at;  /* us, of the last read */
    int64_t                              replied_at; /* us, read_at of the
                                                      * last whole reply */
    int64_t                              drained_at; /* us, by conn_read() */

    int64_t                              clock_offset; /* us, server - ours */
    int64_t                              clock_error; /* us, 0: no reading */
    int64_t                              clock_read_at; /* us */
    int64_t                              clock_asked_at; /* us */

    ngx_http_slidewin_redis_memory_t     memory;   /* of the reply being read */
    ngx_http_slidewin_redis_session_t    session;  /* of TLS */

    int64_t                              pause;    /* ms, 0: no retry yet */
    ngx_uint_t                           losses;   /* since it was healthy */
    u_char                               reason[128]; /* of the last loss */
    u_char                               address[128]; /* terminated */

    unsigned                             resolving:1; /* the endpoint */
    unsigned                             connected:1; /* in this attempt */
    unsigned                             was_ready:1; /* at any time */
    unsigned                             clock_asking:1;
    unsigned                             failed:1; /* not worth waiting for */
    unsigned                             unhealthy:1; /* until a check works */
    unsigned                             reported:1; /* the loss is logged */
    unsigned                             reason_reported:1; /* why connecting
                                                             * fails, too */
    unsigned                             exiting:1;

    /* hooks of the owner: commands may be sent; no pending reply will come */

    void                               (*ready)(
                                         ngx_http_slidewin_redis_conn_t *c);
    void                               (*down)(
                                         ngx_http_slidewin_redis_conn_t *c);
    void                                *data;
};


void ngx_http_slidewin_redis_conn_start(ngx_http_slidewin_redis_conn_t *c);

/* the answers of endpoint->find() */
void ngx_http_slidewin_redis_conn_connect_to(ngx_http_slidewin_redis_conn_t *c,
    const ngx_http_slidewin_redis_address_t *address);
void ngx_http_slidewin_redis_conn_resolve_failed(
    ngx_http_slidewin_redis_conn_t *c, const char *reason);

/* the address of the endpoint has changed: connects again when idle */
void ngx_http_slidewin_redis_conn_reconnect(ngx_http_slidewin_redis_conn_t *c);

/* the handshake has succeeded */
void ngx_http_slidewin_redis_conn_ready(ngx_http_slidewin_redis_conn_t *c);

/* a check was answered: the next loss is logged as a new one */
void ngx_http_slidewin_redis_conn_healthy(ngx_http_slidewin_redis_conn_t *c);

/* whether a command may be sent: hiredis may be about to end the connection */
ngx_uint_t ngx_http_slidewin_redis_conn_can_send(
    ngx_http_slidewin_redis_conn_t *c);

/* ends the connection for a reason; it is made again */
void ngx_http_slidewin_redis_conn_drop(ngx_http_slidewin_redis_conn_t *c,
    const char *reason);

/* the same, because of a reply; counted as such */
void ngx_http_slidewin_redis_conn_drop_bad(ngx_http_slidewin_redis_conn_t *c,
    const char *reason);

/* ends the connection for good, after what is still to be written */
void ngx_http_slidewin_redis_conn_stop(ngx_http_slidewin_redis_conn_t *c);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_CONN_H_INCLUDED_ */
