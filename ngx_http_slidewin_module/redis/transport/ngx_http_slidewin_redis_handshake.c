
#include "ngx_http_slidewin_redis_clock.h"
#include "ngx_http_slidewin_redis_conn_io.h"
#include "ngx_http_slidewin_redis_handshake.h"


typedef enum {
    NGX_HTTP_SLIDEWIN_REDIS_STEP_AUTH = 0,
    NGX_HTTP_SLIDEWIN_REDIS_STEP_PING,
    NGX_HTTP_SLIDEWIN_REDIS_STEP_ROLE,
    NGX_HTTP_SLIDEWIN_REDIS_STEP_SELECT,
    NGX_HTTP_SLIDEWIN_REDIS_STEP_SCRIPT,
    NGX_HTTP_SLIDEWIN_REDIS_STEP_TIME
} ngx_http_slidewin_redis_step_e;


/* check: NGX_DECLINED from a replica, NGX_ERROR from what is no Redis */

typedef struct {
    const char   *command;
    ngx_int_t   (*check)(ngx_http_slidewin_redis_conn_t *c,
                         redisReply *reply);
    ngx_uint_t    last;
} ngx_http_slidewin_redis_step_t;


static ngx_int_t ngx_http_slidewin_redis_handshake_send(
    ngx_http_slidewin_redis_conn_t *c, ngx_http_slidewin_redis_step_e step,
    int argc, const char **argv);
static void ngx_http_slidewin_redis_handshake_replied(
    redisAsyncContext *context, void *reply, void *data);
static ngx_int_t ngx_http_slidewin_redis_handshake_status(
    ngx_http_slidewin_redis_conn_t *c, redisReply *reply);
static ngx_int_t ngx_http_slidewin_redis_handshake_role(
    ngx_http_slidewin_redis_conn_t *c, redisReply *reply);
static ngx_int_t ngx_http_slidewin_redis_handshake_script(
    ngx_http_slidewin_redis_conn_t *c, redisReply *reply);


static const ngx_http_slidewin_redis_step_t
    ngx_http_slidewin_redis_handshake_steps[] = {

    [NGX_HTTP_SLIDEWIN_REDIS_STEP_AUTH] =
        { "AUTH", ngx_http_slidewin_redis_handshake_status, 0 },

    [NGX_HTTP_SLIDEWIN_REDIS_STEP_PING] =
        { "PING", ngx_http_slidewin_redis_handshake_status, 1 },

    /* what the sentinels said may be outdated */

    [NGX_HTTP_SLIDEWIN_REDIS_STEP_ROLE] =
        { "ROLE", ngx_http_slidewin_redis_handshake_role, 0 },

    [NGX_HTTP_SLIDEWIN_REDIS_STEP_SELECT] =
        { "SELECT", ngx_http_slidewin_redis_handshake_status, 0 },

    /* the first check brings a script along that could not be loaded */

    [NGX_HTTP_SLIDEWIN_REDIS_STEP_SCRIPT] =
        { "SCRIPT", ngx_http_slidewin_redis_handshake_script, 0 },

    [NGX_HTTP_SLIDEWIN_REDIS_STEP_TIME] =
        { "TIME", ngx_http_slidewin_redis_clock_set, 1 }
};


/* all in one write: the replies are checked as they come */

void
ngx_http_slidewin_redis_handshake(ngx_http_slidewin_redis_conn_t *c)
{
    int                                argc;
    char                               database[NGX_INT_T_LEN + 1];
    ngx_uint_t                         i;
    const char                        *argv[3];
    ngx_http_slidewin_redis_access_t  *access;

    access = c->access;

    if (access->password.len) {
        argc = 1;

        if (access->user.len) {
            argv[argc++] = (char *) access->user.data;
        }

        argv[argc++] = (char *) access->password.data;

        if (ngx_http_slidewin_redis_handshake_send(
                c, NGX_HTTP_SLIDEWIN_REDIS_STEP_AUTH, argc, argv)
            != NGX_OK)
        {
            return;
        }
    }

    if (access->sentinel) {
        (void) ngx_http_slidewin_redis_handshake_send(
            c, NGX_HTTP_SLIDEWIN_REDIS_STEP_PING, 1, argv);
        return;
    }

    if (access->master
        && ngx_http_slidewin_redis_handshake_send(
               c, NGX_HTTP_SLIDEWIN_REDIS_STEP_ROLE, 1, argv)
           != NGX_OK)
    {
        return;
    }

    if (access->database) {
        (void) ngx_sprintf((u_char *) database, "%ui%Z", access->database);

        argv[1] = database;

        if (ngx_http_slidewin_redis_handshake_send(
                c, NGX_HTTP_SLIDEWIN_REDIS_STEP_SELECT, 2, argv)
            != NGX_OK)
        {
            return;
        }
    }

    for (i = 0; i < access->nscripts; i++) {
        argv[1] = "LOAD";
        argv[2] = (char *) access->scripts[i].data;

        if (ngx_http_slidewin_redis_handshake_send(
                c, NGX_HTTP_SLIDEWIN_REDIS_STEP_SCRIPT, 3, argv)
            != NGX_OK)
        {
            return;
        }
    }

    ngx_http_slidewin_redis_clock_reset(c);

    (void) ngx_http_slidewin_redis_handshake_send(
        c, NGX_HTTP_SLIDEWIN_REDIS_STEP_TIME, 1, argv);
}


static ngx_int_t
ngx_http_slidewin_redis_handshake_send(ngx_http_slidewin_redis_conn_t *c,
    ngx_http_slidewin_redis_step_e step, int argc, const char **argv)
{
    const ngx_http_slidewin_redis_step_t  *st;

    st = &ngx_http_slidewin_redis_handshake_steps[step];

    argv[0] = st->command;

    if (ngx_http_slidewin_redis_conn_send(
            c, ngx_http_slidewin_redis_handshake_replied, (void *) st, argc,
            argv, NULL)
        != NGX_OK)
    {
        ngx_http_slidewin_redis_conn_drop(c, "no memory");
        return NGX_ERROR;
    }

    return NGX_OK;
}


static void
ngx_http_slidewin_redis_handshake_replied(redisAsyncContext *context,
    void *reply, void *data)
{
    ngx_http_slidewin_redis_conn_t        *c;
    const ngx_http_slidewin_redis_step_t  *step;

    c = context->data;
    step = data;

    if (!ngx_http_slidewin_redis_conn_accept_reply(c, context, reply)) {
        return;
    }

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "slidewin redis handshake: %V %s reply:%d",
                   &c->endpoint->name, step->command,
                   ((redisReply *) reply)->type);

    switch (step->check(c, reply)) {

    case NGX_OK:
        break;

    case NGX_DECLINED:
        ngx_http_slidewin_redis_conn_drop(c, "it is a replica");
        return;

    default: /* NGX_ERROR */
        ngx_http_slidewin_redis_conn_drop_reply(c, reply);
        return;
    }

    if (step->last) {
        ngx_http_slidewin_redis_conn_ready(c);
    }
}


static ngx_int_t
ngx_http_slidewin_redis_handshake_status(ngx_http_slidewin_redis_conn_t *c,
    redisReply *reply)
{
    return reply->type == REDIS_REPLY_STATUS ? NGX_OK : NGX_ERROR;
}


static ngx_int_t
ngx_http_slidewin_redis_handshake_role(ngx_http_slidewin_redis_conn_t *c,
    redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements == 0
        || reply->element[0]->type != REDIS_REPLY_STRING)
    {
        return NGX_ERROR;
    }

    return ngx_strcmp(reply->element[0]->str, "master") == 0 ? NGX_OK
                                                             : NGX_DECLINED;
}


static ngx_int_t
ngx_http_slidewin_redis_handshake_script(ngx_http_slidewin_redis_conn_t *c,
    redisReply *reply)
{
    if (reply->type == REDIS_REPLY_STRING && c->access->counters) {
        ngx_http_slidewin_stats_count(&c->access->counters->scripts_loaded, 1);
    }

    return NGX_OK;
}
