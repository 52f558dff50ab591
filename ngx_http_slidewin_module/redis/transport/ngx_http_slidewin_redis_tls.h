
/*
 * TLS to a Redis, as far as hiredis leaves it to its user: the files, the name
 * of the server, sessions, errors.
 */


#ifndef _NGX_HTTP_SLIDEWIN_REDIS_TLS_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_REDIS_TLS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include <hiredis/hiredis.h>
#include <openssl/ssl.h>

#include "ngx_http_slidewin_redis_endpoint.h"


/* an address, its port, and a name of 255 bytes */
#define NGX_HTTP_SLIDEWIN_REDIS_PEER_LEN  640


/*
 * The session of the last connection, which saves the next one a signature of
 * the server.  The certificate is not verified again: the session is used for
 * the same address and the same name only.
 */

typedef struct {
    SSL_SESSION  *session;      /* NULL: none */
    u_char        peer[NGX_HTTP_SLIDEWIN_REDIS_PEER_LEN];
    unsigned      offered:1;    /* by the current connection */
} ngx_http_slidewin_redis_session_t;


/* the parameters; without data: not given */

typedef struct {
    ngx_str_t    ca;
    ngx_str_t    cert;
    ngx_str_t    key;
    ngx_str_t    name;          /* instead of the host's name */
    ngx_uint_t   unverified;
    SSL_CTX     *ctx;
} ngx_http_slidewin_redis_tls_t;


/* reads the files; an error is logged */
ngx_int_t ngx_http_slidewin_redis_tls_init(ngx_conf_t *cf,
    ngx_http_slidewin_redis_tls_t *tls);

/*
 * Begins TLS on a connection to that address.  The result is freed with the
 * context; if it is NULL, the reason is set.  The session must outlive both.
 */
SSL *ngx_http_slidewin_redis_tls_start(ngx_http_slidewin_redis_tls_t *tls,
    redisContext *context, const ngx_http_slidewin_redis_address_t *address,
    ngx_http_slidewin_redis_session_t *session, u_char *reason, size_t size);

void ngx_http_slidewin_redis_tls_forget(
    ngx_http_slidewin_redis_session_t *session);

/* why a connection ended: OpenSSL may know more than the error of hiredis */
void ngx_http_slidewin_redis_tls_reason(SSL *ssl, const char *error,
    u_char *reason, size_t size);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_TLS_H_INCLUDED_ */
