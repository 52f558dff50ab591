
/*
 * A endpoint known to sentinels: where the master of a name is now.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_H_INCLUDED_


#include "ngx_http_slidewin_redis_conn.h"
#include "ngx_http_slidewin_redis_dns.h"
#include "sw_url.h"


#define NGX_HTTP_SLIDEWIN_REDIS_HOST_LEN  255


typedef struct ngx_http_slidewin_redis_sentinel_s
    ngx_http_slidewin_redis_sentinel_t;


/* a master as it was named; the text is terminated */

typedef struct {
    ngx_uint_t                        port;        /* 0: it is none */
    u_char                            host[NGX_HTTP_SLIDEWIN_REDIS_HOST_LEN
                                           + 1];
} ngx_http_slidewin_redis_named_t;


/* what a sentinel has yet to say of what it was asked */

typedef enum {
    NGX_HTTP_SLIDEWIN_REDIS_GUARD_SILENT = 0,
    NGX_HTTP_SLIDEWIN_REDIS_GUARD_PONG,
    NGX_HTTP_SLIDEWIN_REDIS_GUARD_ADDRESS,
    NGX_HTTP_SLIDEWIN_REDIS_GUARD_EPOCH
} ngx_http_slidewin_redis_guard_e;


/* one of the sentinels; all but its host is a worker's */

typedef struct {
    ngx_http_slidewin_redis_dns_t        host;
    ngx_http_slidewin_redis_sentinel_t  *s;
    ngx_http_slidewin_redis_conn_t       conn;
    ngx_event_t                          timer;    /* to ask, or until */
    ngx_http_slidewin_redis_guard_e      due;
    ngx_http_slidewin_redis_named_t      named;    /* what it says */
    int64_t                              epoch;    /* of that */
    unsigned                             knows:1;  /* it has said something */
    unsigned                             fresh:1;  /* since it was looked for */
    unsigned                             mute:1;   /* when it was last asked */
    unsigned                             deaf:1;   /* it tells no news */
} ngx_http_slidewin_redis_guard_t;


struct ngx_http_slidewin_redis_sentinel_s {
    ngx_http_slidewin_redis_endpoint_t   endpoint;       /* the master's */
    ngx_http_slidewin_redis_guard_t     *guards;
    ngx_uint_t                           nguards;
    ngx_str_t                            master;   /* texts are terminated */
    ngx_str_t                            user;
    ngx_str_t                            password;
    ngx_str_t                            question; /* written out */
    ngx_str_t                            again;    /* to one who listens */

    /* a worker's */

    ngx_http_slidewin_redis_access_t     access;   /* to a sentinel */
    ngx_http_slidewin_redis_conn_t      *seeker;   /* who looks for it */
    ngx_event_t                          patience; /* with those who are due */
    ngx_http_slidewin_redis_dns_t        found;   /* where it was sent */
    ngx_http_slidewin_redis_named_t      sent;     /* which is this */
    ngx_http_slidewin_redis_named_t      vain;     /* the last not there */

    /* a replica that is to be the master: until it is */

    ngx_http_slidewin_redis_conn_t       scout;
    ngx_http_slidewin_redis_access_t     scout_access;
    ngx_http_slidewin_redis_dns_t        replacement;
    ngx_http_slidewin_redis_named_t      promoted;
    ngx_event_t                          timer;    /* to give that up */
    int64_t                              certain_until; /* ms */

    unsigned                             waiting:1; /* the one who looks */
    unsigned                             divided:1; /* no word has most */
    unsigned                             certain:1; /* that it is promoted */
    unsigned                             reported:1; /* that none answers */
};


ngx_http_slidewin_redis_sentinel_t *ngx_http_slidewin_redis_sentinel_create(
    ngx_conf_t *cf, const sw_url_t *url);

/* a worker's; the sentinels are reached as the master is, by another user */
void ngx_http_slidewin_redis_sentinel_start(
    ngx_http_slidewin_redis_sentinel_t *s,
    const ngx_http_slidewin_redis_access_t *access);
void ngx_http_slidewin_redis_sentinel_stop(
    ngx_http_slidewin_redis_sentinel_t *s);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_H_INCLUDED_ */
