
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_conf.h"
#include "ngx_http_slidewin_digest.h"
#include "ngx_http_slidewin_lua.h"
#include "ngx_http_slidewin_param.h"
#include "ngx_http_slidewin_redis_cluster.h"
#include "sw_url.h"


#define NGX_HTTP_SLIDEWIN_REDIS_TIMEOUT          50
#define NGX_HTTP_SLIDEWIN_REDIS_CONNECT_TIMEOUT  250
#define NGX_HTTP_SLIDEWIN_REDIS_PASSWORD_MAX     4096

/* no reply to what we ask is longer, has more elements, or arrays in them */
#define NGX_HTTP_SLIDEWIN_REDIS_REPLY_MAX        65536
#define NGX_HTTP_SLIDEWIN_REDIS_REPLY_MEMORY     524288
#define NGX_HTTP_SLIDEWIN_REDIS_REPLY_DEPTH      1
#define NGX_HTTP_SLIDEWIN_REDIS_REPLY_ELEMENTS   4096
#define NGX_HTTP_SLIDEWIN_REDIS_ROLE_DEPTH       3


static char *ngx_http_slidewin_redis_url(ngx_conf_t *cf, ngx_str_t *value,
    ngx_http_slidewin_redis_t *redis);
static char *ngx_http_slidewin_redis_name(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_redis_timeout(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_redis_connect_timeout(ngx_conf_t *cf,
    ngx_str_t *arg, ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_redis_password_file(ngx_conf_t *cf,
    ngx_str_t *arg, ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_redis_prefix(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
static uint16_t ngx_http_slidewin_redis_origin(ngx_str_t *url,
    ngx_str_t *prefix);
static char *ngx_http_slidewin_redis_time(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, const char *name, ngx_msec_t *msec);
static ngx_int_t ngx_http_slidewin_redis_copy(ngx_conf_t *cf, ngx_str_t *dst,
    const char *data, size_t len);


static const ngx_http_slidewin_param_t  ngx_http_slidewin_redis_params[] = {
    { ngx_string("name="), ngx_http_slidewin_redis_name, 0 },
    { ngx_string("timeout="), ngx_http_slidewin_redis_timeout, 0 },
    { ngx_string("connect_timeout="),
      ngx_http_slidewin_redis_connect_timeout, 0 },
    { ngx_string("password_file="), ngx_http_slidewin_redis_password_file, 0 },
    { ngx_string("prefix="), ngx_http_slidewin_redis_prefix, 0 },
    { ngx_string("ssl_ca="), ngx_http_slidewin_redis_ssl_ca, 0 },
    { ngx_string("ssl_cert="), ngx_http_slidewin_redis_ssl_cert, 0 },
    { ngx_string("ssl_key="), ngx_http_slidewin_redis_ssl_key, 0 },
    { ngx_string("ssl_name="), ngx_http_slidewin_redis_ssl_name, 0 },
    { ngx_string("ssl_verify="), ngx_http_slidewin_redis_ssl_verify, 0 },
    { ngx_string("sentinel_user="), ngx_http_slidewin_redis_sentinel_user, 0 },
    { ngx_string("sentinel_password_file="),
      ngx_http_slidewin_redis_sentinel_password_file, 0 },
    { ngx_null_string, NULL, 0 }
};


ngx_str_t  ngx_http_slidewin_redis_scripts[] = {
    ngx_string(NGX_HTTP_SLIDEWIN_LUA_TAKE),
    ngx_string(NGX_HTTP_SLIDEWIN_LUA_TAKE_PAIR),
    ngx_string(NGX_HTTP_SLIDEWIN_LUA_TAKE_LOG),
    ngx_string(NGX_HTTP_SLIDEWIN_LUA_TAKE_STRICT),
    ngx_string(NGX_HTTP_SLIDEWIN_LUA_GIVE_BACK)
};


char *
ngx_http_slidewin_redis_directive(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    char                             *rv;
    u_char                            digest[SW_KEY_DIGEST], *p;
    ngx_str_t                        *value;
    ngx_uint_t                        i;
    ngx_http_slidewin_store_t        *store;
    ngx_http_slidewin_redis_t        *redis;
    ngx_http_slidewin_redis_args_t    args;

    value = cf->args->elts;

    store = ngx_pcalloc(cf->pool, sizeof(ngx_http_slidewin_store_t));
    redis = ngx_pcalloc(cf->pool, sizeof(ngx_http_slidewin_redis_t));

    if (store == NULL || redis == NULL) {
        return NGX_CONF_ERROR;
    }

    store->backend = &ngx_http_slidewin_redis_backend;
    store->data = redis;

    ngx_str_set(&redis->prefix, "sw:");
    redis->timeout = NGX_HTTP_SLIDEWIN_REDIS_TIMEOUT;
    redis->access.connect_timeout = NGX_HTTP_SLIDEWIN_REDIS_CONNECT_TIMEOUT;
    redis->access.reply_max = NGX_HTTP_SLIDEWIN_REDIS_REPLY_MAX;
    redis->access.reply_memory = NGX_HTTP_SLIDEWIN_REDIS_REPLY_MEMORY;
    redis->access.reply_depth = NGX_HTTP_SLIDEWIN_REDIS_REPLY_DEPTH;
    redis->access.reply_elements = NGX_HTTP_SLIDEWIN_REDIS_REPLY_ELEMENTS;

    rv = ngx_http_slidewin_redis_url(cf, &value[1], redis);
    if (rv != NGX_CONF_OK) {
        return rv;
    }

    args.store = store;
    args.redis = redis;

    rv = ngx_http_slidewin_params_set(cf, 2, ngx_http_slidewin_redis_params,
                                      &args);
    if (rv != NGX_CONF_OK) {
        return rv;
    }

    store->origin = ngx_http_slidewin_redis_origin(&value[1], &redis->prefix);

    if (redis->access.user.len && redis->access.password.len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"slidewin_redis\" has a user but no password, "
                           "it must have \"password_file\" parameter");
        return NGX_CONF_ERROR;
    }

    rv = ngx_http_slidewin_redis_tls_init(cf, &redis->tls,
                                          redis->access.tls != NULL);
    if (rv != NGX_CONF_OK) {
        return rv;
    }

    if (redis->sentinel) {
        rv = ngx_http_slidewin_redis_sentinel_valid(cf, redis->sentinel);
        if (rv != NGX_CONF_OK) {
            return rv;
        }
    }

    redis->access.scripts = ngx_http_slidewin_redis_scripts;
    redis->access.nscripts = NGX_HTTP_SLIDEWIN_REDIS_SCRIPTS;

    for (i = 0; i < NGX_HTTP_SLIDEWIN_REDIS_SCRIPTS; i++) {
        ngx_http_slidewin_digest(digest,
                                 ngx_http_slidewin_redis_scripts[i].data,
                                 ngx_http_slidewin_redis_scripts[i].len);

        p = ngx_cpymem(redis->evalsha[i], NGX_HTTP_SLIDEWIN_REDIS_EVALSHA,
                       sizeof(NGX_HTTP_SLIDEWIN_REDIS_EVALSHA) - 1);
        p = ngx_hex_dump(p, digest, SW_KEY_DIGEST);
        *p++ = CR;
        *p = LF;
    }

    return ngx_http_slidewin_conf_add_store(cf, store);
}


static char *
ngx_http_slidewin_redis_url(ngx_conf_t *cf, ngx_str_t *value,
    ngx_http_slidewin_redis_t *redis)
{
    sw_url_t                           url;
    ngx_str_t                         *shown;
    const char                        *error;
    ngx_http_slidewin_redis_access_t  *access;

    error = sw_url_parse(&url, (char *) value->data, value->len);

    if (error) {
        shown = ngx_http_slidewin_param_shown(cf, value);
        if (shown == NULL) {
            return NGX_CONF_ERROR;
        }

        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid %s in \"%V\", it must be redis[s]://"
                           "[user[:password]@]host[:port][/database], "
                           "redis[s]-sentinel://[user[:password]@]host[:port]"
                           "[,...]/master[/database], "
                           "redis[s]-cluster://[user[:password]@]host[:port]"
                           "[,...] or unix:/path[?db=database]", error, shown);
        return NGX_CONF_ERROR;
    }

    access = &redis->access;

    access->database = url.database;
    access->tls = url.tls ? &redis->tls : NULL;

    if (ngx_http_slidewin_redis_copy(cf, &access->user, url.user.data,
                                     url.user.len)
        != NGX_OK
        || ngx_http_slidewin_redis_copy(cf, &access->password,
                                        url.password.data, url.password.len)
           != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    if (url.kind == SW_URL_CLUSTER) {
        return ngx_http_slidewin_redis_cluster_create(cf, redis, &url);
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
ngx_http_slidewin_redis_name(ngx_conf_t *cf, ngx_str_t *arg, ngx_str_t *value,
    void *conf)
{
    ngx_http_slidewin_redis_args_t  *args = conf;

    if (value->len == 0 || ngx_strcmp(value->data, "local") == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid name \"%V\" in \"slidewin_redis\" "
                           "directive, it must be a name other than "
                           "\"local\"", arg);
        return NGX_CONF_ERROR;
    }

    args->store->name = *value;

    return NGX_CONF_OK;
}


static char *
ngx_http_slidewin_redis_timeout(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_redis_args_t  *args = conf;

    return ngx_http_slidewin_redis_time(cf, arg, value, "timeout",
                                        &args->redis->timeout);
}


static char *
ngx_http_slidewin_redis_connect_timeout(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_redis_args_t  *args = conf;

    return ngx_http_slidewin_redis_time(cf, arg, value, "connect_timeout",
                                        &args->redis->access.connect_timeout);
}


static char *
ngx_http_slidewin_redis_time(ngx_conf_t *cf, ngx_str_t *arg, ngx_str_t *value,
    const char *name, ngx_msec_t *msec)
{
    ngx_int_t  time;

    time = ngx_parse_time(value, 0);

    if (time == NGX_ERROR || time < 1 || time > 60000) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid %s \"%V\" in \"slidewin_redis\" "
                           "directive, it must be from 1ms to 1m", name, arg);
        return NGX_CONF_ERROR;
    }

    *msec = (ngx_msec_t) time;

    return NGX_CONF_OK;
}


static char *
ngx_http_slidewin_redis_password_file(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_redis_args_t  *args = conf;

    return ngx_http_slidewin_redis_password(cf, arg, value,
                                            &args->redis->access.password);
}


char *
ngx_http_slidewin_redis_password(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, ngx_str_t *password)
{
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

    rc = ngx_http_slidewin_redis_copy(cf, password, (char *) buf, n);

    ngx_explicit_memzero(buf, sizeof(buf));

    return rc == NGX_OK ? NGX_CONF_OK : NGX_CONF_ERROR;
}


/* a brace in it would be taken for the hash tag */

static char *
ngx_http_slidewin_redis_prefix(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_redis_args_t  *args = conf;

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

    args->redis->prefix = *value;

    return NGX_CONF_OK;
}


/* what is counted elsewhere, or under other keys, is not of this store */

static uint16_t
ngx_http_slidewin_redis_origin(ngx_str_t *url, ngx_str_t *prefix)
{
    uint32_t  hash;

    ngx_crc32_init(hash);
    ngx_crc32_update(&hash, url->data, url->len + 1);
    ngx_crc32_update(&hash, prefix->data, prefix->len);
    ngx_crc32_final(hash);

    return (uint16_t) hash;
}


/* terminated, as hiredis wants it */

static ngx_int_t
ngx_http_slidewin_redis_copy(ngx_conf_t *cf, ngx_str_t *dst, const char *data,
    size_t len)
{
    dst->data = ngx_pnalloc(cf->pool, len + 1);
    if (dst->data == NULL) {
        return NGX_ERROR;
    }

    (void) ngx_cpystrn(dst->data, (u_char *) (len ? data : ""), len + 1);
    dst->len = len;

    return NGX_OK;
}
