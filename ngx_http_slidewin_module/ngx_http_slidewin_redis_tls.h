
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


/* as configured; no data: not given */

typedef struct {
    ngx_str_t    ca;
    ngx_str_t    cert;
    ngx_str_t    key;
    ngx_str_t    name;          /* in place of what a host is known by */
    ngx_uint_t   unverified;
    ngx_str_t    given;         /* the last of the parameters */
    SSL_CTX     *ctx;
} ngx_http_slidewin_redis_tls_t;


char *ngx_http_slidewin_redis_ssl_ca(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
char *ngx_http_slidewin_redis_ssl_cert(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
char *ngx_http_slidewin_redis_ssl_key(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
char *ngx_http_slidewin_redis_ssl_name(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
char *ngx_http_slidewin_redis_ssl_verify(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);

/* when all parameters are set: reads the files, if it is on at all */
char *ngx_http_slidewin_redis_tls_init(ngx_conf_t *cf,
    ngx_http_slidewin_redis_tls_t *tls, ngx_uint_t on);

/*
 * Begins on a connection to what is known by that name.  The result is the
 * context's from then on and goes with it; NULL, and the reason is there.
 */
SSL *ngx_http_slidewin_redis_tls_start(ngx_http_slidewin_redis_tls_t *tls,
    redisContext *context, const char *name, u_char *reason, size_t size);

/* why it ended, while it is there: OpenSSL may know more than hiredis' error */
void ngx_http_slidewin_redis_tls_reason(SSL *ssl, const char *error,
    u_char *reason, size_t size);


#endif /* _NGX_HTTP_SLIDEWIN_REDIS_TLS_H_INCLUDED_ */
