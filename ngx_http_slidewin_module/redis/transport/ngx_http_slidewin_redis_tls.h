
/*
 * TLS to a Redis: the ssl_... parameters, and what hiredis' layer of TLS
 * leaves to us.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_TLS_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_TLS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include <hiredis/hiredis.h>
#include <openssl/ssl.h>

#include "ngx_http_slidewin_redis_endpoint.h"


/* an address, its port, and a name of 255 */
#define NGX_HTTP_SLIDEWIN_REDIS_PEER_LEN  640


/*
 * What the last connection has left for the next one, so that the server need
 * not sign again.  Nothing is verified anew then: it is for the same address
 * that was to be known by the same name, and for no other.
 */

typedef struct {
    SSL_SESSION  *session;      /* NULL: none */
    u_char        peer[NGX_HTTP_SLIDEWIN_REDIS_PEER_LEN];
    unsigned      offered:1;    /* to the connection that is being made */
} ngx_http_slidewin_redis_session_t;


/* as configured; no data: not given */

typedef struct {
    ngx_str_t    ca;
    ngx_str_t    cert;
    ngx_str_t    key;
    ngx_str_t    name;          /* in place of what a host is known by */
    ngx_uint_t   unverified;
    SSL_CTX     *ctx;
} ngx_http_slidewin_redis_tls_t;


/* reads the files; an error is logged */
ngx_int_t ngx_http_slidewin_redis_tls_init(ngx_conf_t *cf,
    ngx_http_slidewin_redis_tls_t *tls);

/*
 * Begins on a connection to that address.  The result is the context's from
 * then on and goes with it; NULL, and the reason is there.  The session is its
 * owner's, and must live longer.
 */
SSL *ngx_http_slidewin_redis_tls_start(ngx_http_slidewin_redis_tls_t *tls,
    redisContext *context, const ngx_http_slidewin_redis_address_t *address,
    ngx_http_slidewin_redis_session_t *session, u_char *reason, size_t size);

void ngx_http_slidewin_redis_tls_forget(
    ngx_http_slidewin_redis_session_t *session);

/* why it ended, while it is there: OpenSSL may know more than hiredis' error */
void ngx_http_slidewin_redis_tls_reason(SSL *ssl, const char *error,
    u_char *reason, size_t size);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_TLS_H_INCLUDED_ */
