
/*
 * One connection to one Redis: connects, introduces itself, knows the other
 * side's clock, notices when nothing comes back, and tries again for ever.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_CONN_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_CONN_H_INCLUDED_


#include "ngx_http_slidewin_redis_event.h"


typedef enum {
    NGX_HTTP_SLIDEWIN_REDIS_DOWN = 0,
    NGX_HTTP_SLIDEWIN_REDIS_CONNECTING,
    NGX_HTTP_SLIDEWIN_REDIS_READY
} ngx_http_slidewin_redis_state_e;


/* where and as whom, from the configuration; texts are terminated */

typedef struct {
    ngx_str_t                         name;        /* for the log */
    ngx_str_t                        *hosts;       /* addresses, or a path */
    ngx_uint_t                        nhosts;
    ngx_uint_t                        port;
    ngx_uint_t                        is_unix;
    ngx_uint_t                        database;
    ngx_str_t                         user;
    ngx_str_t                         password;
    ngx_msec_t                        connect_timeout;
    ngx_str_t                        *scripts;     /* loaded on connect */
    ngx_uint_t                        nscripts;
} ngx_http_slidewin_redis_server_t;


typedef struct ngx_http_slidewin_redis_conn_s  ngx_http_slidewin_redis_conn_t;

struct ngx_http_slidewin_redis_conn_s {
    ngx_http_slidewin_redis_event_t   event;
    ngx_http_slidewin_redis_server_t *server;
    ngx_http_slidewin_redis_state_e   state;
    ngx_event_t                       timer;       /* to connect, or until */
    ngx_uint_t                        host;        /* the next to try */
    int64_t                           pause;
    int64_t                           heard;       /* us, the last reply */
    int64_t                           clock;       /* us, ours to theirs */
    int64_t                           clock_error;
    int64_t                           clock_asked;
    ngx_uint_t                        pending;     /* replies due */
    unsigned                          failed:1;    /* not worth waiting for */
    unsigned                          doubtful:1;  /* until a check works */
    unsigned                          reported:1;  /* its loss is logged */
    unsigned                          explained:1; /* and why it lasts */
    unsigned                          asking_clock:1;
    unsigned                          exiting:1;

    /* the owner's: it may send; nothing sent will be answered any more */
    void                            (*ready)(
                                         ngx_http_slidewin_redis_conn_t *c);
    void                            (*down)(
                                         ngx_http_slidewin_redis_conn_t *c);
    void                             *data;
};


void ngx_http_slidewin_redis_conn_start(ngx_http_slidewin_redis_conn_t *c);

/*
 * Sends a command.  The callback is called once if NGX_OK was returned, never
 * if NGX_ERROR was; its reply is NULL if the connection is lost.
 */
ngx_int_t ngx_http_slidewin_redis_conn_send(ngx_http_slidewin_redis_conn_t *c,
    redisCallbackFn *callback, void *data, int argc, const char **argv,
    const size_t *lens);

/* every callback is to call this first: counts, finds what is too much */
void ngx_http_slidewin_redis_conn_received(ngx_http_slidewin_redis_conn_t *c);

/*
 * How much of an error may be logged: what is printable, and one about a
 * command that is unknown there goes on with what the command was given.
 */
size_t ngx_http_slidewin_redis_conn_reason(const char *text, size_t len);

/* gives the connection up for a reason; it is made again */
void ngx_http_slidewin_redis_conn_drop(ngx_http_slidewin_redis_conn_t *c,
    const char *reason);

/* what was asked was answered: the next loss is a new one */
void ngx_http_slidewin_redis_conn_proven(ngx_http_slidewin_redis_conn_t *c);

/* the time there, in ms; asks for it now and then */
int64_t ngx_http_slidewin_redis_conn_time(ngx_http_slidewin_redis_conn_t *c);

/* ends it; the worker exits */
void ngx_http_slidewin_redis_conn_stop(ngx_http_slidewin_redis_conn_t *c);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_CONN_H_INCLUDED_ */
