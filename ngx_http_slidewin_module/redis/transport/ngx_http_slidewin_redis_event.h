
/*
 * hiredis' hooks on nginx's events, nothing else.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_EVENT_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_EVENT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include <hiredis/hiredis.h>
#include <hiredis/async.h>
#include <openssl/ssl.h>


typedef struct ngx_http_slidewin_redis_event_s
    ngx_http_slidewin_redis_event_t;


/*
 * Lives in its owner, longer than the context it serves: hiredis frees that
 * one whenever it sees fit, and context is NULL from then on.
 */

struct ngx_http_slidewin_redis_event_s {
    redisAsyncContext  *context;
    SSL                *ssl;       /* of the context; NULL: no TLS */
    ngx_connection_t   *connection;
    ngx_event_t         flush;
    unsigned            flushing:1;

    /* the owner's: there is something to read, or the end */
    void              (*readable)(ngx_http_slidewin_redis_event_t *e);
};


/* NGX_ERROR if nginx has no connection left; the context is not touched */
ngx_int_t ngx_http_slidewin_redis_event_attach(
    ngx_http_slidewin_redis_event_t *e, redisAsyncContext *context,
    SSL *ssl, ngx_log_t *log);

/* reads what there is, up to 16K */
void ngx_http_slidewin_redis_event_receive(
    ngx_http_slidewin_redis_event_t *e);

/* writes what there is to say now, not at the end of the turn */
void ngx_http_slidewin_redis_event_send(ngx_http_slidewin_redis_event_t *e);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_EVENT_H_INCLUDED_ */
