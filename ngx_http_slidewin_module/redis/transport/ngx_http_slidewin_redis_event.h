
/*
 * hiredis' event hooks on top of nginx's events.
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
 * Part of its owner, which outlives the context: hiredis may free the context
 * inside any of its functions, and context is NULL from then on.
 */

struct ngx_http_slidewin_redis_event_s {
    redisAsyncContext  *context;
    SSL                *ssl;       /* of the context; NULL: plain text */
    ngx_connection_t   *connection;
    ngx_event_t         flush;
    unsigned            flushing:1;

    /* the owner's: called before hiredis reads; may free the context */
    void              (*readable)(ngx_http_slidewin_redis_event_t *e);
};


/* NGX_ERROR if nginx has no connection left: the context is not changed */
ngx_int_t ngx_http_slidewin_redis_event_attach(
    ngx_http_slidewin_redis_event_t *e, redisAsyncContext *context,
    SSL *ssl, ngx_log_t *log);

/* reads what has arrived, up to 16K */
void ngx_http_slidewin_redis_event_receive(
    ngx_http_slidewin_redis_event_t *e);

/* writes now, not at the end of the turn */
void ngx_http_slidewin_redis_event_send(ngx_http_slidewin_redis_event_t *e);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_EVENT_H_INCLUDED_ */
