
/*
 * A place known to sentinels: where the master of a name is now.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_H_INCLUDED_


#include "ngx_http_slidewin_redis_conn.h"
#include "ngx_http_slidewin_redis_host.h"
#include "sw_url.h"


#define NGX_HTTP_SLIDEWIN_REDIS_HOST_LEN  255


/* one of several hosts, the next whenever one was tried in vain */

typedef struct {
    ngx_http_slidewin_redis_place_t   place;
    ngx_http_slidewin_redis_host_t   *hosts;
    ngx_uint_t                        nhosts;
    ngx_http_slidewin_redis_host_t   *tried;
} ngx_http_slidewin_redis_hosts_t;


typedef struct {
    ngx_http_slidewin_redis_place_t   place;       /* the master's */
    ngx_http_slidewin_redis_hosts_t   hosts;       /* the sentinels' */
    ngx_str_t                         master;      /* texts are terminated */
    ngx_str_t                         user;
    ngx_str_t                         password;

    /* a worker's */

    ngx_http_slidewin_redis_access_t  access;
    ngx_http_slidewin_redis_conn_t    conn;        /* to a sentinel */
    ngx_event_t                       timer;       /* to ask, or until */
    ngx_http_slidewin_redis_conn_t   *seeker;      /* who looks for it */
    ngx_uint_t                        attempts;    /* of that one, so far */
    ngx_uint_t                        ignorant;    /* of those it asked */
    ngx_http_slidewin_redis_host_t    found;       /* what they said last */
    u_char                            text[NGX_HTTP_SLIDEWIN_REDIS_HOST_LEN
                                           + 1];
    unsigned                          asking:1;
    unsigned                          waiting:1;   /* the one who looks */
    unsigned                          told:1;      /* and where to go */
} ngx_http_slidewin_redis_sentinel_t;


ngx_http_slidewin_redis_sentinel_t *ngx_http_slidewin_redis_sentinel_create(
    ngx_conf_t *cf, const sw_url_t *url);

/* a worker's; the sentinels are reached as the master is, by another user */
void ngx_http_slidewin_redis_sentinel_start(
    ngx_http_slidewin_redis_sentinel_t *s,
    const ngx_http_slidewin_redis_access_t *access);
void ngx_http_slidewin_redis_sentinel_stop(
    ngx_http_slidewin_redis_sentinel_t *s);

/* sentinel_user=, sentinel_password_file=, and whether they are complete */
char *ngx_http_slidewin_redis_sentinel_user(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
char *ngx_http_slidewin_redis_sentinel_password_file(ngx_conf_t *cf,
    ngx_str_t *arg, ngx_str_t *value, void *conf);
char *ngx_http_slidewin_redis_sentinel_valid(ngx_conf_t *cf,
    ngx_http_slidewin_redis_sentinel_t *s);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_H_INCLUDED_ */
