
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_redis_tls.h"

#include <hiredis/hiredis_ssl.h>
#include <openssl/err.h>


typedef int (*ngx_http_slidewin_redis_tls_load_pt)(SSL_CTX *ctx,
    const char *file);


static ngx_int_t ngx_http_slidewin_redis_tls_context(ngx_conf_t *cf,
    ngx_http_slidewin_redis_tls_t *tls);
static ngx_int_t ngx_http_slidewin_redis_tls_load(ngx_conf_t *cf,
    ngx_http_slidewin_redis_tls_t *tls, const char *name, ngx_str_t *value,
    ngx_http_slidewin_redis_tls_load_pt load);
static int ngx_http_slidewin_redis_tls_load_ca(SSL_CTX *ctx,
    const char *file);
static int ngx_http_slidewin_redis_tls_load_key(SSL_CTX *ctx,
    const char *file);
static int ngx_http_slidewin_redis_tls_password(char *buf, int size,
    int rwflag, void *data);
static void ngx_http_slidewin_redis_tls_cleanup(void *data);
static void ngx_http_slidewin_redis_tls_resume(SSL *ssl,
    ngx_http_slidewin_redis_session_t *session,
    const ngx_http_slidewin_redis_address_t *address, const char *name);
static int ngx_http_slidewin_redis_tls_new_session(SSL *ssl, SSL_SESSION *new);
static ngx_int_t ngx_http_slidewin_redis_tls_set_name(SSL *ssl,
    const char *name);


SSL *
ngx_http_slidewin_redis_tls_start(ngx_http_slidewin_redis_tls_t *tls,
    redisContext *context, const ngx_http_slidewin_redis_address_t *address,
    ngx_http_slidewin_redis_session_t *session, u_char *reason, size_t size)
{
    SSL         *ssl;
    const char  *name;

    name = tls->name.data ? (char *) tls->name.data : address->name;

    (void) ngx_cpystrn(reason, (u_char *) "no memory", size);

    ssl = SSL_new(tls->ctx);

    if (ssl == NULL
        || ngx_http_slidewin_redis_tls_set_name(ssl, name) != NGX_OK)
    {
        SSL_free(ssl);
        ERR_clear_error();
        return NULL;
    }

    ngx_http_slidewin_redis_tls_resume(ssl, session, address, name);

    if (redisInitiateSSL(context, ssl) != REDIS_OK) {
        ngx_http_slidewin_redis_tls_reason(ssl, context->errstr, reason,
                                           size);
        SSL_free(ssl);
        ssl = NULL;
    }

    ERR_clear_error();

    return ssl;
}


static void
ngx_http_slidewin_redis_tls_resume(SSL *ssl,
    ngx_http_slidewin_redis_session_t *session,
    const ngx_http_slidewin_redis_address_t *address, const char *name)
{
    u_char  peer[NGX_HTTP_SLIDEWIN_REDIS_PEER_LEN], *end;

    end = ngx_snprintf(peer, sizeof(peer) - 1, "%s %ui %s", address->host,
                       address->port, name);
    *end = '\0';

    if (ngx_strcmp(session->peer, peer) != 0) {
        ngx_http_slidewin_redis_tls_forget(session);
        ngx_memcpy(session->peer, peer, end - peer + 1);
    }

    session->offered = (session->session
                        && SSL_SESSION_is_resumable(session->session)
                        && SSL_set_session(ssl, session->session) == 1);

    (void) SSL_set_app_data(ssl, session);
}


/*
 * With TLS 1.3 sessions come after the handshake, and more than one.  A copy is
 * kept: OpenSSL makes the session of a connection that ends without a shutdown
 * useless, and that is how the connections to a lost server end.
 */

static int
ngx_http_slidewin_redis_tls_new_session(SSL *ssl, SSL_SESSION *new)
{
    ngx_http_slidewin_redis_session_t  *session;

    session = SSL_get_app_data(ssl);

    SSL_SESSION_free(session->session);
    session->session = SSL_SESSION_dup(new);

    return 0;
}


void
ngx_http_slidewin_redis_tls_forget(ngx_http_slidewin_redis_session_t *session)
{
    SSL_SESSION_free(session->session);

    session->session = NULL;
    session->offered = 0;
}


/* an address may be in a certificate, but not in the SNI */

static ngx_int_t
ngx_http_slidewin_redis_tls_set_name(SSL *ssl, const char *name)
{
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1) {
        return NGX_OK;
    }

    return SSL_set1_host(ssl, name) == 1
           && SSL_set_tlsext_host_name(ssl, name) == 1 ? NGX_OK : NGX_ERROR;
}


void
ngx_http_slidewin_redis_tls_reason(SSL *ssl, const char *error,
    u_char *reason, size_t size)
{
    long         result;
    u_char      *end, byte;
    const char  *text;

    /* if a write failed, the alert of the server has not been read */

    if (ERR_peek_last_error() == 0) {
        (void) SSL_peek(ssl, &byte, 1);
    }

    result = SSL_get_verify_result(ssl);
    text = ERR_reason_error_string(ERR_peek_last_error());

    if (result != X509_V_OK && SSL_get_verify_mode(ssl) != SSL_VERIFY_NONE) {
        end = ngx_snprintf(reason, size - 1, "its certificate is refused, %s",
                           X509_verify_cert_error_string(result));

    } else if (text) {
        end = ngx_snprintf(reason, size - 1, "TLS failed, %s", text);

    } else {
        end = ngx_snprintf(reason, size - 1, "%s", error);
    }

    *end = '\0';
}


ngx_int_t
ngx_http_slidewin_redis_tls_init(ngx_conf_t *cf,
    ngx_http_slidewin_redis_tls_t *tls)
{
    ngx_int_t  rc;

    rc = ngx_http_slidewin_redis_tls_context(cf, tls);

    ERR_clear_error();

    return rc;
}


static ngx_int_t
ngx_http_slidewin_redis_tls_context(ngx_conf_t *cf,
    ngx_http_slidewin_redis_tls_t *tls)
{
    ngx_pool_cleanup_t  *cln;

    cln = ngx_pool_cleanup_add(cf->pool, 0);
    if (cln == NULL) {
        return NGX_ERROR;
    }

    tls->ctx = SSL_CTX_new(TLS_client_method());

    if (tls->ctx == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "OpenSSL has no memory for \"slidewin_redis\"");
        return NGX_ERROR;
    }

    cln->handler = ngx_http_slidewin_redis_tls_cleanup;
    cln->data = tls->ctx;

    /* OpenSSL's configuration may ask for a later version */

    if (SSL_CTX_get_min_proto_version(tls->ctx) < TLS1_2_VERSION) {
        (void) SSL_CTX_set_min_proto_version(tls->ctx, TLS1_2_VERSION);
    }

    (void) SSL_CTX_set_session_cache_mode(tls->ctx, SSL_SESS_CACHE_CLIENT
                                               |SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(tls->ctx, ngx_http_slidewin_redis_tls_new_session);

    if (!tls->unverified) {
        SSL_CTX_set_verify(tls->ctx, SSL_VERIFY_PEER, NULL);
    }

    if (tls->ca.data == NULL) {
        (void) SSL_CTX_set_default_verify_paths(tls->ctx);
    }

    if (ngx_http_slidewin_redis_tls_load(cf, tls, "ssl_ca", &tls->ca,
                                         ngx_http_slidewin_redis_tls_load_ca)
        != NGX_OK
        || ngx_http_slidewin_redis_tls_load(cf, tls, "ssl_cert", &tls->cert,
                                            SSL_CTX_use_certificate_chain_file)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_slidewin_redis_tls_load(cf, tls, "ssl_key", &tls->key,
                                         ngx_http_slidewin_redis_tls_load_key);
}


static void
ngx_http_slidewin_redis_tls_cleanup(void *data)
{
    SSL_CTX_free(data);
}


static ngx_int_t
ngx_http_slidewin_redis_tls_load(ngx_conf_t *cf,
    ngx_http_slidewin_redis_tls_t *tls, const char *name, ngx_str_t *value,
    ngx_http_slidewin_redis_tls_load_pt load)
{
    char        error[256], *reason;
    ngx_str_t   file;
    ngx_uint_t  encrypted;

    if (value->data == NULL) {
        return NGX_OK;
    }

    file = *value;

    if (ngx_conf_full_name(cf->cycle, &file, 1) != NGX_OK) {
        return NGX_ERROR;
    }

    /* without a callback OpenSSL would ask for the password at the terminal */

    encrypted = 0;
    SSL_CTX_set_default_passwd_cb(tls->ctx,
                                  ngx_http_slidewin_redis_tls_password);
    SSL_CTX_set_default_passwd_cb_userdata(tls->ctx, &encrypted);

    if (load(tls->ctx, (char *) file.data) == 1) {
        return NGX_OK;
    }

    /* the first error is the cause; its text ends with the reason */

    ERR_error_string_n(ERR_peek_error(), error, sizeof(error));
    reason = strrchr(error, ':') + 1;

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "cannot use \"%s=%V\" in \"slidewin_redis\" directive: "
                       "%s", name, value,
                       encrypted ? "it is encrypted" : reason);

    return NGX_ERROR;
}


static int
ngx_http_slidewin_redis_tls_load_ca(SSL_CTX *ctx, const char *file)
{
    return SSL_CTX_load_verify_locations(ctx, file, NULL);
}


static int
ngx_http_slidewin_redis_tls_load_key(SSL_CTX *ctx, const char *file)
{
    X509  *cert;

    /* SSL_CTX_get0_certificate() fails after a key of another type is set */

    cert = SSL_CTX_get0_certificate(ctx);

    return SSL_CTX_use_PrivateKey_file(ctx, file, SSL_FILETYPE_PEM) == 1
           && X509_check_private_key(cert, SSL_CTX_get0_privatekey(ctx)) == 1;
}


static int
ngx_http_slidewin_redis_tls_password(char *buf, int size, int rwflag,
    void *data)
{
    ngx_uint_t  *encrypted = data;

    *encrypted = 1;

    return -1;
}
