
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_conf.h"
#include "ngx_http_slidewin_digest.h"
#include "ngx_http_slidewin_lua.h"
#include "ngx_http_slidewin_param.h"
#include "ngx_http_slidewin_redis.h"
#include "ngx_http_slidewin_redis_handshake.h"
#include "ngx_http_slidewin_redis_types.h"
#include "sw_url.h"


#define NGX_HTTP_SLIDEWIN_REDIS_TIMEOUT          50
#define NGX_HTTP_SLIDEWIN_REDIS_CONNECT_TIMEOUT  250
#define NGX_HTTP_SLIDEWIN_REDIS_PASSWORD_MAX     4096

/* no reply to our commands is longer, has more elements, or nests deeper */
#define NGX_HTTP_SLIDEWIN_REDIS_REPLY_MAX        65536
#define NGX_HTTP_SLIDEWIN_REDIS_REPLY_MEMORY     524288
#define NGX_HTTP_SLIDEWIN_REDIS_REPLY_DEPTH      1
#define NGX_HTTP_SLIDEWIN_REDIS_REPLY_ELEMENTS   4096
#define NGX_HTTP_SLIDEWIN_REDIS_ROLE_DEPTH       3


/* what a slidewin_redis line becomes; its parameters are offsets in here */

typedef struct {
    ngx_http_slidewin_store_t  store;
    ngx_http_slidewin_redis_t  redis;
} ngx_http_slidewin_redis_conf_t;


static char *ngx_http_slidewin_redis_conf_url(ngx_conf_t *cf, ngx_str_t *value,
    ngx_http_slidewin_redis_t *redis);
static char *ngx_http_slidewin_redis_conf_name(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_redis_conf_msec(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_redis_conf_password_file(ngx_conf_t *cf,
    ngx_str_t *arg, ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_redis_conf_prefix(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_redis_conf_str(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_redis_conf_ssl_name(ngx_conf_t *cf,
    ngx_str_t *arg, ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_redis_conf_ssl_verify(ngx_conf_t *cf,
    ngx_str_t *arg, ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_redis_conf_sentinel_user(ngx_conf_t *cf,
    ngx_str_t *arg, ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_redis_conf_sentinel_password_file(ngx_conf_t *cf,
    ngx_str_t *arg, ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_redis_conf_sentinel_check(ngx_conf_t *cf,
    ngx_str_t *arg, ngx_http_slidewin_redis_sentinel_t *sentinel);
static char *ngx_http_slidewin_redis_conf_check(ngx_conf_t *cf,
    ngx_http_slidewin_redis_t *redis);
static char *ngx_http_slidewin_redis_conf_check_ssl(ngx_conf_t *cf,
    ngx_http_slidewin_redis_t *redis);
static void ngx_http_slidewin_redis_conf_set_scripts(
    ngx_http_slidewin_redis_t *redis);
static uint16_t ngx_http_slidewin_redis_conf_origin(ngx_str_t *url,
    ngx_str_t *prefix);
static ngx_int_t ngx_http_slidewin_redis_conf_copy(ngx_conf_t *cf,
    ngx_str_t *dst, const char *data, size_t len);


static const ngx_http_slidewin_param_t
    ngx_http_slidewin_redis_conf_params[] = {

    { ngx_string("name="),
      ngx_http_slidewin_redis_conf_name,
      offsetof(ngx_http_slidewin_redis_conf_t, store.name) },

    { ngx_string("timeout="),
      ngx_http_slidewin_redis_conf_msec,
      offsetof(ngx_http_slidewin_redis_conf_t, redis.timeout) },

    { ngx_string("connect_timeout="),
      ngx_http_slidewin_redis_conf_msec,
      offsetof(ngx_http_slidewin_redis_conf_t, redis.access.connect_timeout) },

    { ngx_string("password_file="),
      ngx_http_slidewin_redis_conf_password_file,
      offsetof(ngx_http_slidewin_redis_conf_t, redis.access.password) },

    { ngx_string("prefix="),
      ngx_http_slidewin_redis_conf_prefix,
      offsetof(ngx_http_slidewin_redis_conf_t, redis.prefix) },

    { ngx_string("ssl_ca="),
      ngx_http_slidewin_redis_conf_str,
      offsetof(ngx_http_slidewin_redis_conf_t, redis.tls.ca) },

    { ngx_string("ssl_cert="),
      ngx_http_slidewin_redis_conf_str,
      offsetof(ngx_http_slidewin_redis_conf_t, redis.tls.cert) },

    { ngx_string("ssl_key="),
      ngx_http_slidewin_redis_conf_str,
      offsetof(ngx_http_slidewin_redis_conf_t, redis.tls.key) },

    { ngx_string("ssl_name="),
      ngx_http_slidewin_redis_conf_ssl_name,
      offsetof(ngx_http_slidewin_redis_conf_t, redis.tls.name) },

    { ngx_string("ssl_verify="),
      ngx_http_slidewin_redis_conf_ssl_verify,
      offsetof(ngx_http_slidewin_redis_conf_t, redis.tls.unverified) },

    { ngx_string("sentinel_user="),
      ngx_http_slidewin_redis_conf_sentinel_user,
      offsetof(ngx_http_slidewin_redis_conf_t, redis.sentinel) },

    { ngx_string("sentinel_password_file="),
      ngx_http_slidewin_redis_conf_sentinel_password_file,
      offsetof(ngx_http_slidewin_redis_conf_t, redis.sentinel) },

    { ngx_null_string, NULL, 0 }
};


static ngx_str_t  ngx_http_slidewin_redis_conf_scripts[] = {
    ngx_string(NGX_HTTP_SLIDEWIN_LUA_TAKE),
    ngx_string(NGX_HTTP_SLIDEWIN_LUA_TAKE_PAIR),
    ngx_string(NGX_HTTP_SLIDEWIN_LUA_TAKE_LOG),
    ngx_string(NGX_HTTP_SLIDEWIN_LUA_TAKE_STRICT),
    ngx_string(NGX_HTTP_SLIDEWIN_LUA_TAKE_BAN),
    ngx_string(NGX_HTTP_SLIDEWIN_LUA_GIVE_BACK)
};


char *
ngx_http_slidewin_redis_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    char                            *rv;
    ngx_str_t                       *value;
    ngx_http_slidewin_redis_t       *redis;
    ngx_http_slidewin_redis_conf_t  *rcf;

    value = cf->args->elts;

    rcf = ngx_pcalloc(cf->pool, sizeof(ngx_http_slidewin_redis_conf_t));
    if (rcf == NULL) {
        return NGX_CONF_ERROR;
    }

    redis = &rcf->redis;

    rcf->store.backend = &ngx_http_slidewin_redis_backend;
    rcf->store.data = redis;

    ngx_str_set(&redis->prefix, "sw:");
    redis->timeout = NGX_HTTP_SLIDEWIN_REDIS_TIMEOUT;
    redis->access.connect_timeout = NGX_HTTP_SLIDEWIN_REDIS_CONNECT_TIMEOUT;
    redis->access.reply_max = NGX_HTTP_SLIDEWIN_REDIS_REPLY_MAX;
    redis->access.reply_memory = NGX_HTTP_SLIDEWIN_REDIS_REPLY_MEMORY;
    redis->access.reply_depth = NGX_HTTP_SLIDEWIN_REDIS_REPLY_DEPTH;
    redis->access.handshake = ngx_http_slidewin_redis_handshake;
    redis->access.reply_elements = NGX_HTTP_SLIDEWIN_REDIS_REPLY_ELEMENTS;

    rv = ngx_http_slidewin_redis_conf_url(cf, &value[1], redis);
    if (rv != NGX_CONF_OK) {
        return rv;
    }

    rv = ngx_http_slidewin_params_set(cf, 2,
                                      ngx_http_slidewin_redis_conf_params,
                                      rcf);
    if (rv != NGX_CONF_OK) {
        return rv;
    }

    rv = ngx_http_slidewin_redis_conf_check(cf, redis);
    if (rv != NGX_CONF_OK) {
        return rv;
    }

    rcf->store.origin = ngx_http_slidewin_redis_conf_origin(&value[1],
                                                            &redis->prefix);

    ngx_http_slidewin_redis_conf_set_scripts(redis);

    return ngx_http_slidewin_conf_add_store(cf, &rcf->store);
}


static char *
ngx_http_slidewin_redis_conf_url(ngx_conf_t *cf, ngx_str_t *value,
    ngx_http_slidewin_redis_t *redis)
{
    sw_url_t                           url;
    ngx_str_t                         *masked;
    const char                        *error;
    ngx_http_slidewin_redis_access_t  *access;

    error = sw_url_parse(&url, (char *) value->data, value->len);

    if (error) {
        masked = ngx_http_slidewin_param_masked(cf, value);
        if (masked == NULL) {
            return NGX_CONF_ERROR;
        }

        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid %s in \"%V\", it must be redis[s]://"
                           "[user[:password]@]host[:port][/database], "
                           "redis[s]-sentinel://[user[:password]@]host[:port]"
                           "[,...]/master[/database], "
                           "redis[s]-cluster://[user[:password]@]host[:port]"
                           "[,...] or unix:/path[?db=database]", error, masked);
        return NGX_CONF_ERROR;
    }

    access = &redis->access;

    access->database = url.database;
    access->tls = url.tls ? &redis->tls : NULL;

    if (ngx_http_slidewin_redis_conf_copy(cf, &access->user, url.user.data,
                                          url.user.len)
        != NGX_OK
        || ngx_http_slidewin_redis_conf_copy(cf, &access->password,
                                             url.password.data,
                                             url.password.len)
           != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    if (url.kind == SW_URL_CLUSTER) {
        redis->cluster = ngx_http_slidewin_redis_cluster_create(cf, access,
                                                                &url);

        return redis->cluster ? NGX_CONF_OK : NGX_CONF_ERROR;
    }

    if (url.kind == SW_URL_SENTINEL) {
        access->master = 1;
        access->reply_depth = NGX_HTTP_SLIDEWIN_REDIS_ROLE_DEPTH;

        redis->sentinel = ngx_http_slidewin_redis_sentinel_create(cf, &url);

        return redis->sentinel ? NGX_CONF_OK : NGX_CONF_ERROR;
    }

    if (ngx_http_slidewin_redis_dns_init(cf, &redis->host, url.host.data,
                                         url.host.len, url.port)
        != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


static char *
ngx_http_slidewin_redis_conf_name(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_str_t  *name = conf;

    if (value->len == 0 || ngx_strcmp(value->data, "local") == 0
        || ngx_strcmp(value->data, "default") == 0
        || value->len > NGX_HTTP_SLIDEWIN_NAME_MAX)
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid name \"%V\" in \"slidewin_redis\" "
                           "directive, it must be a name of up to %d "
                           "bytes other than \"local\" and \"default\"",
                           arg, NGX_HTTP_SLIDEWIN_NAME_MAX);
        return NGX_CONF_ERROR;
    }

    *name = *value;

    return NGX_CONF_OK;
}


/* the message has the parameter's name, which is the argument up to the "=" */

static char *
ngx_http_slidewin_redis_conf_msec(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_msec_t  *msec = conf;

    ngx_int_t  time;

    time = ngx_parse_time(value, 0);

    if (time == NGX_ERROR || time < 1 || time > 60000) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid %*s \"%V\" in \"slidewin_redis\" "
                           "directive, it must be from 1ms to 1m",
                           (size_t) (value->data - arg->data - 1), arg->data,
                           arg);
        return NGX_CONF_ERROR;
    }

    *msec = (ngx_msec_t) time;

    return NGX_CONF_OK;
}


/* the password is the first line of the file */

static char *
ngx_http_slidewin_redis_conf_password_file(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_str_t  *password = conf;

    u_char      buf[NGX_HTTP_SLIDEWIN_REDIS_PASSWORD_MAX], *end;
    ssize_t     n;
    ngx_fd_t    fd;
    ngx_err_t   err;
    ngx_int_t   rc;
    ngx_str_t   file;

    file = *value;

    if (ngx_conf_full_name(cf->cycle, &file, 1) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    fd = ngx_open_file(file.data, NGX_FILE_RDONLY, NGX_FILE_OPEN, 0);

    if (fd == NGX_INVALID_FILE) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           "cannot open \"%V\"", arg);
        return NGX_CONF_ERROR;
    }

    n = ngx_read_fd(fd, buf, sizeof(buf));
    err = ngx_errno;

    (void) ngx_close_file(fd);

    if (n < 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, err, "cannot read \"%V\"", arg);
        return NGX_CONF_ERROR;
    }

    end = ngx_strlchr(buf, buf + n, LF);
    n = end ? end - buf : n;

    if (n && buf[n - 1] == CR) {
        n--;
    }

    if (n == 0 || n == sizeof(buf) || ngx_strlchr(buf, buf + n, '\0')) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" has no password in its first line", arg);
        return NGX_CONF_ERROR;
    }

    rc = ngx_http_slidewin_redis_conf_copy(cf, password, (char *) buf, n);

    ngx_explicit_memzero(buf, sizeof(buf));

    return rc == NGX_OK ? NGX_CONF_OK : NGX_CONF_ERROR;
}


/* a brace in a prefix would be taken for the hash tag of a key */

static char *
ngx_http_slidewin_redis_conf_prefix(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_str_t  *prefix = conf;

    size_t  i;

    for (i = 0; i < value->len; i++) {
        if (value->data[i] <= ' ' || value->data[i] > '~'
            || value->data[i] == '{' || value->data[i] == '}')
        {
            break;
        }
    }

    if (i < value->len || value->len > NGX_HTTP_SLIDEWIN_NAME_MAX) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid prefix \"%V\" in \"slidewin_redis\" "
                           "directive, it must be at most %d printable "
                           "characters without braces", arg,
                           NGX_HTTP_SLIDEWIN_NAME_MAX);
        return NGX_CONF_ERROR;
    }

    *prefix = *value;

    return NGX_CONF_OK;
}


static char *
ngx_http_slidewin_redis_conf_str(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_str_t  *str = conf;

    *str = *value;

    return NGX_CONF_OK;
}


static char *
ngx_http_slidewin_redis_conf_ssl_name(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_str_t  *name = conf;

    if (value->len == 0 || value->len > TLSEXT_MAXLEN_host_name) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid ssl_name \"%V\" in \"slidewin_redis\" "
                           "directive, it must be a name or an address", arg);
        return NGX_CONF_ERROR;
    }

    *name = *value;

    return NGX_CONF_OK;
}


static char *
ngx_http_slidewin_redis_conf_ssl_verify(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_uint_t  *unverified = conf;

    if (ngx_strcmp(value->data, "off") == 0) {
        *unverified = 1;

    } else if (ngx_strcmp(value->data, "on") != 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid ssl_verify \"%V\" in \"slidewin_redis\" "
                           "directive, it must be \"on\" or \"off\"", arg);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


static char *
ngx_http_slidewin_redis_conf_sentinel_user(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_redis_sentinel_t  **sentinel = conf;

    char  *rv;

    rv = ngx_http_slidewin_redis_conf_sentinel_check(cf, arg, *sentinel);
    if (rv != NGX_CONF_OK) {
        return rv;
    }

    if (value->len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid user \"%V\" in \"slidewin_redis\" "
                           "directive, it must be a name", arg);
        return NGX_CONF_ERROR;
    }

    (*sentinel)->user = *value;

    return NGX_CONF_OK;
}


static char *
ngx_http_slidewin_redis_conf_sentinel_password_file(ngx_conf_t *cf,
    ngx_str_t *arg, ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_redis_sentinel_t  **sentinel = conf;

    char  *rv;

    rv = ngx_http_slidewin_redis_conf_sentinel_check(cf, arg, *sentinel);
    if (rv != NGX_CONF_OK) {
        return rv;
    }

    return ngx_http_slidewin_redis_conf_password_file(cf, arg, value,
                                                      &(*sentinel)->password);
}


static char *
ngx_http_slidewin_redis_conf_sentinel_check(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_http_slidewin_redis_sentinel_t *sentinel)
{
    if (sentinel == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid parameter \"%V\" in \"slidewin_redis\" "
                           "directive, only redis[s]-sentinel:// has "
                           "sentinels", arg);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


/* parameters that depend on each other, or on the URL */

static char *
ngx_http_slidewin_redis_conf_check(ngx_conf_t *cf,
    ngx_http_slidewin_redis_t *redis)
{
    char                                *rv;
    ngx_http_slidewin_redis_sentinel_t  *sentinel;

    if (redis->access.user.len && redis->access.password.len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"slidewin_redis\" has a user but no password, "
                           "it must have \"password_file\" parameter");
        return NGX_CONF_ERROR;
    }

    rv = ngx_http_slidewin_redis_conf_check_ssl(cf, redis);
    if (rv != NGX_CONF_OK) {
        return rv;
    }

    sentinel = redis->sentinel;

    if (sentinel && sentinel->user.len && sentinel->password.len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"slidewin_redis\" has \"sentinel_user\" but no "
                           "\"sentinel_password_file\" parameter");
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


static char *
ngx_http_slidewin_redis_conf_check_ssl(ngx_conf_t *cf,
    ngx_http_slidewin_redis_t *redis)
{
    ngx_str_t                      *value;
    ngx_uint_t                      i;
    ngx_http_slidewin_redis_tls_t  *tls;

    tls = redis->access.tls;

    if (tls == NULL) {
        value = cf->args->elts;

        for (i = cf->args->nelts - 1; i > 1; i--) {
            if (ngx_strncmp(value[i].data, "ssl_", 4) == 0) {
                ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                                   "\"%V\" in \"slidewin_redis\" directive "
                                   "is for TLS, the URL must begin with "
                                   "\"rediss\"", &value[i]);
                return NGX_CONF_ERROR;
            }
        }

        return NGX_CONF_OK;
    }

    if ((tls->cert.data == NULL) != (tls->key.data == NULL)) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"slidewin_redis\" has \"%s\" parameter but no "
                           "\"%s\"", tls->key.data ? "ssl_key" : "ssl_cert",
                           tls->key.data ? "ssl_cert" : "ssl_key");
        return NGX_CONF_ERROR;
    }

    return ngx_http_slidewin_redis_tls_init(cf, tls) == NGX_OK
           ? NGX_CONF_OK : NGX_CONF_ERROR;
}


static void
ngx_http_slidewin_redis_conf_set_scripts(ngx_http_slidewin_redis_t *redis)
{
    u_char       digest[SW_KEY_DIGEST], *p;
    ngx_str_t   *script;
    ngx_uint_t   i;

    redis->access.scripts = ngx_http_slidewin_redis_conf_scripts;
    redis->access.nscripts = NGX_HTTP_SLIDEWIN_REDIS_SCRIPTS;

    for (i = 0; i < NGX_HTTP_SLIDEWIN_REDIS_SCRIPTS; i++) {
        script = &ngx_http_slidewin_redis_conf_scripts[i];

        ngx_http_slidewin_digest(digest, script->data, script->len);

        p = ngx_cpymem(redis->evalsha[i], NGX_HTTP_SLIDEWIN_REDIS_EVALSHA,
                       sizeof(NGX_HTTP_SLIDEWIN_REDIS_EVALSHA) - 1);
        p = ngx_hex_dump(p, digest, SW_KEY_DIGEST);
        *p++ = CR;
        *p = LF;
    }
}


/* a lease of another server, or of another prefix, is worth nothing here */

static uint16_t
ngx_http_slidewin_redis_conf_origin(ngx_str_t *url, ngx_str_t *prefix)
{
    uint32_t  hash;

    ngx_crc32_init(hash);
    ngx_crc32_update(&hash, url->data, url->len + 1);
    ngx_crc32_update(&hash, prefix->data, prefix->len);
    ngx_crc32_final(hash);

    return (uint16_t) hash;
}


/* hiredis wants terminated strings */

static ngx_int_t
ngx_http_slidewin_redis_conf_copy(ngx_conf_t *cf, ngx_str_t *dst,
    const char *data, size_t len)
{
    dst->data = ngx_pnalloc(cf->pool, len + 1);
    if (dst->data == NULL) {
        return NGX_ERROR;
    }

    (void) ngx_cpystrn(dst->data, (u_char *) (len ? data : ""), len + 1);
    dst->len = len;

    return NGX_OK;
}
