
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_redis_greet.h"
#include "ngx_http_slidewin_redis_sentinel.h"
#include "ngx_http_slidewin_redis_store.h"


/* a master that was replaced and does not know is left that much later */
#define NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_PAUSE  5000


static void ngx_http_slidewin_redis_sentinel_find(
    ngx_http_slidewin_redis_place_t *place,
    ngx_http_slidewin_redis_conn_t *c);
static ngx_uint_t ngx_http_slidewin_redis_sentinel_leave(
    ngx_http_slidewin_redis_place_t *place, ngx_uint_t vain);
static void ngx_http_slidewin_redis_sentinel_next(
    ngx_http_slidewin_redis_sentinel_t *s);
static void ngx_http_slidewin_redis_sentinel_astray(
    ngx_http_slidewin_redis_sentinel_t *s, const char *reason);
static void ngx_http_slidewin_redis_sentinel_ready(
    ngx_http_slidewin_redis_conn_t *c);
static void ngx_http_slidewin_redis_sentinel_down(
    ngx_http_slidewin_redis_conn_t *c);
static void ngx_http_slidewin_redis_sentinel_timer(ngx_event_t *ev);
static void ngx_http_slidewin_redis_sentinel_ask(
    ngx_http_slidewin_redis_sentinel_t *s);
static void ngx_http_slidewin_redis_sentinel_replied(
    redisAsyncContext *context, void *reply, void *data);
static void ngx_http_slidewin_redis_sentinel_named(
    ngx_http_slidewin_redis_sentinel_t *s, redisReply *host, ngx_uint_t port);
static ngx_int_t ngx_http_slidewin_redis_sentinel_port(redisReply *reply);

static void ngx_http_slidewin_redis_hosts_find(
    ngx_http_slidewin_redis_place_t *place,
    ngx_http_slidewin_redis_conn_t *c);
static ngx_uint_t ngx_http_slidewin_redis_hosts_leave(
    ngx_http_slidewin_redis_place_t *place, ngx_uint_t vain);

static ngx_int_t ngx_http_slidewin_redis_sentinel_hosts(ngx_conf_t *cf,
    ngx_http_slidewin_redis_sentinel_t *s, const sw_url_t *url);
static ngx_http_slidewin_redis_sentinel_t *
    ngx_http_slidewin_redis_sentinel_of(ngx_conf_t *cf, ngx_str_t *arg,
    void *conf);


static void
ngx_http_slidewin_redis_sentinel_find(ngx_http_slidewin_redis_place_t *place,
    ngx_http_slidewin_redis_conn_t *c)
{
    ngx_uint_t                           useless;
    ngx_http_slidewin_redis_sentinel_t  *s;

    s = (ngx_http_slidewin_redis_sentinel_t *) place;

    /* whom they named was not there, or no master: another may know better */

    useless = (s->told && s->attempts != c->attempts);

    s->seeker = c;
    s->attempts = c->attempts;
    s->ignorant = 0;
    s->waiting = 1;
    s->told = 0;

    if (s->conn.state != NGX_HTTP_SLIDEWIN_REDIS_READY) {

        if (s->conn.reported) {
            ngx_http_slidewin_redis_sentinel_astray(s,
                                           "its sentinels cannot be reached");
        }

    } else if (useless && !s->asking && s->hosts.nhosts > 1) {
        ngx_http_slidewin_redis_sentinel_next(s);

    } else {
        ngx_http_slidewin_redis_sentinel_ask(s);
    }
}


static void
ngx_http_slidewin_redis_sentinel_next(ngx_http_slidewin_redis_sentinel_t *s)
{
    s->conn.attempts++;

    ngx_http_slidewin_redis_conn_move(&s->conn);
}


static ngx_uint_t
ngx_http_slidewin_redis_sentinel_leave(ngx_http_slidewin_redis_place_t *place,
    ngx_uint_t vain)
{
    ngx_http_slidewin_redis_sentinel_t  *s;

    s = (ngx_http_slidewin_redis_sentinel_t *) place;

    s->seeker = NULL;
    s->waiting = 0;

    return s->found.place.leave(&s->found.place, vain);
}


static void
ngx_http_slidewin_redis_sentinel_astray(ngx_http_slidewin_redis_sentinel_t *s,
    const char *reason)
{
    if (s->waiting) {
        ngx_http_slidewin_redis_conn_astray(s->seeker, reason);
    }
}


void
ngx_http_slidewin_redis_sentinel_start(ngx_http_slidewin_redis_sentinel_t *s,
    const ngx_http_slidewin_redis_access_t *access)
{
    s->access = *access;
    s->access.user = s->user;
    s->access.password = s->password;
    s->access.spared = s->hosts.nhosts;
    s->access.sentinel = 1;

    s->timer.handler = ngx_http_slidewin_redis_sentinel_timer;
    s->timer.data = s;
    s->timer.log = ngx_cycle->log;
    s->timer.cancelable = 1;

    s->conn.place = &s->hosts.place;
    s->conn.access = &s->access;
    s->conn.ready = ngx_http_slidewin_redis_sentinel_ready;
    s->conn.down = ngx_http_slidewin_redis_sentinel_down;
    s->conn.data = s;

    ngx_http_slidewin_redis_conn_start(&s->conn);
}


void
ngx_http_slidewin_redis_sentinel_stop(ngx_http_slidewin_redis_sentinel_t *s)
{
    if (s->timer.timer_set) {
        ngx_del_timer(&s->timer);
    }

    ngx_http_slidewin_redis_conn_stop(&s->conn);
}


static void
ngx_http_slidewin_redis_sentinel_ready(ngx_http_slidewin_redis_conn_t *c)
{
    ngx_http_slidewin_redis_sentinel_ask(c->data);
}


static void
ngx_http_slidewin_redis_sentinel_down(ngx_http_slidewin_redis_conn_t *c)
{
    ngx_http_slidewin_redis_sentinel_t  *s;

    s = c->data;

    /* one that was asked in vain: another one is asked next */

    if (s->asking) {
        s->asking = 0;
        c->attempts++;
    }

    if (s->timer.timer_set) {
        ngx_del_timer(&s->timer);
    }

    /* not before all have been tried */

    if (c->reported) {
        ngx_http_slidewin_redis_sentinel_astray(s,
                                           "its sentinels cannot be reached");
    }
}


static void
ngx_http_slidewin_redis_sentinel_timer(ngx_event_t *ev)
{
    ngx_http_slidewin_redis_sentinel_t  *s;

    s = ev->data;

    if (s->asking) {
        ngx_http_slidewin_redis_conn_drop(&s->conn,
                                          "no answer within the timeout");
        return;
    }

    ngx_http_slidewin_redis_sentinel_ask(s);
}


static void
ngx_http_slidewin_redis_sentinel_ask(ngx_http_slidewin_redis_sentinel_t *s)
{
    const char  *argv[3];

    if (s->asking || s->conn.state != NGX_HTTP_SLIDEWIN_REDIS_READY) {
        return;
    }

    argv[0] = "SENTINEL";
    argv[1] = "GET-MASTER-ADDR-BY-NAME";
    argv[2] = (char *) s->master.data;

    if (ngx_http_slidewin_redis_conn_send(&s->conn,
                                      ngx_http_slidewin_redis_sentinel_replied,
                                      s, 3, argv, NULL)
        != NGX_OK)
    {
        ngx_http_slidewin_redis_conn_drop(&s->conn, "no memory");
        return;
    }

    s->asking = 1;

    if (s->timer.timer_set) {
        ngx_del_timer(&s->timer);
    }

    ngx_add_timer(&s->timer, s->access.connect_timeout);
}


static void
ngx_http_slidewin_redis_sentinel_replied(redisAsyncContext *context,
    void *reply, void *data)
{
    ngx_int_t                            port;
    redisReply                          *r;
    ngx_http_slidewin_redis_sentinel_t  *s;

    s = data;
    r = reply;

    if (!ngx_http_slidewin_redis_conn_current(&s->conn, context, r)) {
        return;
    }

    port = ngx_http_slidewin_redis_sentinel_port(r);

    if (port == NGX_ERROR) {
        ngx_http_slidewin_redis_greet_refused(&s->conn, r);
        return;
    }

    s->asking = 0;

    ngx_del_timer(&s->timer);
    ngx_add_timer(&s->timer, NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_PAUSE);

    ngx_http_slidewin_redis_conn_proven(&s->conn);

    if (port != NGX_DECLINED) {
        ngx_http_slidewin_redis_sentinel_named(s, r->element[0],
                                               (ngx_uint_t) port);
        return;
    }

    if (s->waiting && ++s->ignorant < s->hosts.nhosts) {
        ngx_http_slidewin_redis_sentinel_next(s);
        return;
    }

    ngx_http_slidewin_redis_sentinel_astray(s, "its sentinels do not know it");
}


/* the port of a master, NGX_DECLINED if there is none, or NGX_ERROR */

static ngx_int_t
ngx_http_slidewin_redis_sentinel_port(redisReply *reply)
{
    size_t       i;
    ngx_int_t    port;
    redisReply  *host;

    if (reply->type == REDIS_REPLY_NIL) {
        return NGX_DECLINED;
    }

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2
        || reply->element[0]->type != REDIS_REPLY_STRING
        || reply->element[1]->type != REDIS_REPLY_STRING)
    {
        return NGX_ERROR;
    }

    host = reply->element[0];
    port = ngx_atoi((u_char *) reply->element[1]->str,
                    reply->element[1]->len);

    if (port < 1 || port > 65535
        || host->len < 1 || host->len > NGX_HTTP_SLIDEWIN_REDIS_HOST_LEN)
    {
        return NGX_ERROR;
    }

    for (i = 0; i < host->len; i++) {
        if (host->str[i] <= ' ' || host->str[i] > '~') {
            return NGX_ERROR;
        }
    }

    return port;
}


static void
ngx_http_slidewin_redis_sentinel_named(ngx_http_slidewin_redis_sentinel_t *s,
    redisReply *host, ngx_uint_t port)
{
    u_char     *p;
    ngx_str_t   name;
    ngx_uint_t  same;

    same = (s->found.port == port
            && ngx_strcmp(s->found.host.data, host->str) == 0);

    if (!s->waiting) {

        if (s->seeker && !same) {
            ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                          "slidewin redis %V is at %s:%ui now",
                          &s->place.name, host->str, port);
            ngx_http_slidewin_redis_conn_move(s->seeker);
        }

        return;
    }

    s->waiting = 0;
    s->told = 1;

    if (!same) {
        (void) ngx_cpystrn(s->text, (u_char *) host->str, sizeof(s->text));

        name.data = s->text;
        name.len = host->len;

        ngx_http_slidewin_redis_host_become(&s->found, &name, port);

        p = ngx_sprintf(s->place.name.data, "\"%V at %V:%ui\"", &s->master,
                        &name, port);
        s->place.name.len = p - s->place.name.data;
        s->found.place.name = s->place.name;
    }

    s->found.place.find(&s->found.place, s->seeker);
}


static void
ngx_http_slidewin_redis_hosts_find(ngx_http_slidewin_redis_place_t *place,
    ngx_http_slidewin_redis_conn_t *c)
{
    ngx_http_slidewin_redis_hosts_t  *hosts;

    hosts = (ngx_http_slidewin_redis_hosts_t *) place;

    hosts->tried = &hosts->hosts[c->attempts % hosts->nhosts];
    hosts->tried->place.find(&hosts->tried->place, c);
}


static ngx_uint_t
ngx_http_slidewin_redis_hosts_leave(ngx_http_slidewin_redis_place_t *place,
    ngx_uint_t vain)
{
    ngx_http_slidewin_redis_hosts_t  *hosts;

    hosts = (ngx_http_slidewin_redis_hosts_t *) place;

    return hosts->tried->place.leave(&hosts->tried->place, vain);
}


ngx_http_slidewin_redis_sentinel_t *
ngx_http_slidewin_redis_sentinel_create(ngx_conf_t *cf, const sw_url_t *url)
{
    u_char                              *p;
    size_t                               len;
    ngx_str_t                            nowhere;
    ngx_http_slidewin_redis_sentinel_t  *s;

    s = ngx_pcalloc(cf->pool, sizeof(ngx_http_slidewin_redis_sentinel_t));
    if (s == NULL) {
        return NULL;
    }

    len = url->master.len;

    s->master.len = len;
    s->master.data = ngx_pnalloc(cf->pool, len + 1);

    s->place.name.data = ngx_pnalloc(cf->pool,
                                     sizeof("\" at :65535\"") + len
                                     + NGX_HTTP_SLIDEWIN_REDIS_HOST_LEN);

    s->hosts.place.name.data = ngx_pnalloc(cf->pool,
                                           sizeof("\"sentinels of \"") + len);

    if (s->master.data == NULL || s->place.name.data == NULL
        || s->hosts.place.name.data == NULL)
    {
        return NULL;
    }

    (void) ngx_cpystrn(s->master.data, (u_char *) url->master.data, len + 1);

    p = ngx_sprintf(s->place.name.data, "\"%V\"", &s->master);
    s->place.name.len = p - s->place.name.data;
    s->place.find = ngx_http_slidewin_redis_sentinel_find;
    s->place.leave = ngx_http_slidewin_redis_sentinel_leave;

    p = ngx_sprintf(s->hosts.place.name.data, "\"sentinels of %V\"",
                    &s->master);
    s->hosts.place.name.len = p - s->hosts.place.name.data;
    s->hosts.place.find = ngx_http_slidewin_redis_hosts_find;
    s->hosts.place.leave = ngx_http_slidewin_redis_hosts_leave;

    if (ngx_http_slidewin_redis_sentinel_hosts(cf, s, url) != NGX_OK) {
        return NULL;
    }

    ngx_str_set(&nowhere, "");
    ngx_http_slidewin_redis_host_become(&s->found, &nowhere, 0);

    s->found.clcf = s->hosts.hosts->clcf;
    s->hosts.tried = s->hosts.hosts;

    return s;
}


static ngx_int_t
ngx_http_slidewin_redis_sentinel_hosts(ngx_conf_t *cf,
    ngx_http_slidewin_redis_sentinel_t *s, const sw_url_t *url)
{
    sw_url_t                         next;
    ngx_array_t                      hosts;
    ngx_http_slidewin_redis_host_t  *host;

    if (ngx_array_init(&hosts, cf->pool, 3,
                       sizeof(ngx_http_slidewin_redis_host_t))
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    next = *url;

    do {
        host = ngx_array_push(&hosts);
        if (host == NULL) {
            return NGX_ERROR;
        }

        ngx_memzero(host, sizeof(ngx_http_slidewin_redis_host_t));

        if (ngx_http_slidewin_redis_host_init(cf, host, next.host.data,
                                              next.host.len, next.port)
            != NGX_OK)
        {
            return NGX_ERROR;
        }

    } while (sw_url_next(&next));

    s->hosts.hosts = hosts.elts;
    s->hosts.nhosts = hosts.nelts;

    return NGX_OK;
}


char *
ngx_http_slidewin_redis_sentinel_user(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_redis_sentinel_t  *s;

    s = ngx_http_slidewin_redis_sentinel_of(cf, arg, conf);
    if (s == NULL) {
        return NGX_CONF_ERROR;
    }

    if (value->len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid user \"%V\" in \"slidewin_redis\" "
                           "directive, it must be a name", arg);
        return NGX_CONF_ERROR;
    }

    s->user = *value;

    return NGX_CONF_OK;
}


char *
ngx_http_slidewin_redis_sentinel_password_file(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_redis_sentinel_t  *s;

    s = ngx_http_slidewin_redis_sentinel_of(cf, arg, conf);
    if (s == NULL) {
        return NGX_CONF_ERROR;
    }

    return ngx_http_slidewin_redis_password(cf, arg, value, &s->password);
}


static ngx_http_slidewin_redis_sentinel_t *
ngx_http_slidewin_redis_sentinel_of(ngx_conf_t *cf, ngx_str_t *arg,
    void *conf)
{
    ngx_http_slidewin_redis_args_t  *args = conf;

    if (args->redis->sentinel == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid parameter \"%V\" in \"slidewin_redis\" "
                           "directive, only redis[s]-sentinel:// has "
                           "sentinels", arg);
    }

    return args->redis->sentinel;
}


char *
ngx_http_slidewin_redis_sentinel_valid(ngx_conf_t *cf,
    ngx_http_slidewin_redis_sentinel_t *s)
{
    if (s->user.len && s->password.len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"slidewin_redis\" has \"sentinel_user\" but no "
                           "\"sentinel_password_file\" parameter");
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}
