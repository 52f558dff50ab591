
#include "ngx_http_slidewin_redis_sentinel_proto.h"


#define NGX_HTTP_SLIDEWIN_REDIS_WAIT_PROMOTION                                \
    "+failover-state-wait-promotion"

#define NGX_HTTP_SLIDEWIN_REDIS_ASK_PING                                      \
    "*1" CRLF "$4" CRLF "PING" CRLF
#define NGX_HTTP_SLIDEWIN_REDIS_ASK_ADDRESS                                   \
    "*3" CRLF "$8" CRLF "SENTINEL" CRLF                                       \
    "$23" CRLF "GET-MASTER-ADDR-BY-NAME" CRLF
#define NGX_HTTP_SLIDEWIN_REDIS_ASK_EPOCH                                     \
    "*3" CRLF "$8" CRLF "SENTINEL" CRLF "$6" CRLF "MASTER" CRLF
#define NGX_HTTP_SLIDEWIN_REDIS_SUBSCRIBE                                     \
    "*4" CRLF "$9" CRLF "SUBSCRIBE" CRLF                                      \
    "$14" CRLF "+switch-master" CRLF "$15" CRLF "+promoted-slave" CRLF        \
    "$30" CRLF NGX_HTTP_SLIDEWIN_REDIS_WAIT_PROMOTION CRLF
#define NGX_HTTP_SLIDEWIN_REDIS_UNSUBSCRIBE                                   \
    "*1" CRLF "$11" CRLF "UNSUBSCRIBE" CRLF


ngx_int_t
ngx_http_slidewin_redis_sentinel_query_init(ngx_pool_t *pool,
    ngx_http_slidewin_redis_sentinel_query_t *query)
{
    u_char     *p;
    size_t      len;
    ngx_str_t  *name;

    name = &query->master;

    len = sizeof(NGX_HTTP_SLIDEWIN_REDIS_UNSUBSCRIBE)
          + sizeof(NGX_HTTP_SLIDEWIN_REDIS_ASK_PING)
          + sizeof(NGX_HTTP_SLIDEWIN_REDIS_ASK_ADDRESS)
          + sizeof(NGX_HTTP_SLIDEWIN_REDIS_ASK_EPOCH)
          + sizeof(NGX_HTTP_SLIDEWIN_REDIS_SUBSCRIBE)
          + 2 * (sizeof("$" CRLF CRLF) + NGX_SIZE_T_LEN + name->len);

    p = ngx_pnalloc(pool, len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    query->again.data = p;

    p = ngx_cpymem(p, NGX_HTTP_SLIDEWIN_REDIS_UNSUBSCRIBE,
                   sizeof(NGX_HTTP_SLIDEWIN_REDIS_UNSUBSCRIBE) - 1);

    query->first.data = p;

    p = ngx_sprintf(p, NGX_HTTP_SLIDEWIN_REDIS_ASK_PING
                    NGX_HTTP_SLIDEWIN_REDIS_ASK_ADDRESS "$%uz" CRLF "%V" CRLF
                    NGX_HTTP_SLIDEWIN_REDIS_ASK_EPOCH "$%uz" CRLF "%V" CRLF
                    NGX_HTTP_SLIDEWIN_REDIS_SUBSCRIBE,
                    name->len, name, name->len, name);

    query->again.len = p - query->again.data;
    query->first.len = p - query->first.data;

    return NGX_OK;
}


ngx_int_t
ngx_http_slidewin_redis_sentinel_parse_master(redisReply *reply,
    ngx_http_slidewin_redis_master_t *master)
{
    size_t       i;
    ngx_int_t    port;
    redisReply  *host;

    if (reply->type == REDIS_REPLY_NIL) {
        master->port = 0;
        return NGX_OK;
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

    master->port = (ngx_uint_t) port;
    (void) ngx_cpystrn(master->host, (u_char *) host->str,
                       sizeof(master->host));

    return NGX_OK;
}


/* the reply has the fields of the master and their values in turn */

int64_t
ngx_http_slidewin_redis_sentinel_parse_epoch(redisReply *reply)
{
    size_t       i;
    ngx_int_t    epoch;
    redisReply  *field, *value;

    epoch = 0;

    for (i = 0;
         reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements;
         i += 2)
    {
        field = reply->element[i];
        value = reply->element[i + 1];

        if (field->type == REDIS_REPLY_STRING
            && value->type == REDIS_REPLY_STRING
            && ngx_strcmp(field->str, "config-epoch") == 0)
        {
            epoch = ngx_atoi((u_char *) value->str, value->len);
        }
    }

    return epoch == NGX_ERROR ? 0 : epoch;
}


ngx_uint_t
ngx_http_slidewin_redis_sentinel_is_message(
    const ngx_http_slidewin_redis_sentinel_query_t *query, redisReply *reply)
{
    redisReply  **part;

    part = reply->element;

    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 3
           && part[0]->type == REDIS_REPLY_STRING
           && part[1]->type == REDIS_REPLY_STRING
           && part[2]->type == REDIS_REPLY_STRING
           && ngx_strcmp(part[0]->str, "message") == 0
           && ngx_strstr(part[2]->str, (char *) query->master.data) != NULL;
}


/* the text is: slave NAME HOST PORT @ MASTER HOST PORT */

ngx_int_t
ngx_http_slidewin_redis_sentinel_parse_promotion(
    const ngx_http_slidewin_redis_sentinel_query_t *query, redisReply *message,
    ngx_http_slidewin_redis_master_t *replica)
{
    u_char      *p, *next, *last;
    size_t       len;
    ngx_int_t    port;
    ngx_uint_t   n;
    redisReply  *channel, *text;

    channel = message->element[1];
    text = message->element[2];

    if (ngx_strcmp(channel->str, NGX_HTTP_SLIDEWIN_REDIS_WAIT_PROMOTION)
        != 0)
    {
        return NGX_DECLINED;
    }

    p = (u_char *) text->str;
    last = p + text->len;
    port = 0;

    for (n = 0; n < 6; n++, p = next + 1) {

        if (p >= last) {
            return NGX_ERROR;
        }

        next = ngx_strlchr(p, last, ' ');
        next = next ? next : last;
        len = next - p;

        switch (n) {

        case 0:
            if (len != 5 || ngx_strncmp(p, "slave", 5) != 0) {
                return NGX_ERROR;
            }

            break;

        case 2:
            if (len == 0 || len > NGX_HTTP_SLIDEWIN_REDIS_HOST_LEN) {
                return NGX_ERROR;
            }

            (void) ngx_cpystrn(replica->host, p, len + 1);
            break;

        case 3:
            port = ngx_atoi(p, len);
            break;

        case 5:
            if (len != query->master.len
                || ngx_strncmp(p, query->master.data, len) != 0)
            {
                return NGX_ERROR;
            }

            break;

        default:
            break;
        }
    }

    if (port < 1 || port > 65535) {
        return NGX_ERROR;
    }

    replica->port = (ngx_uint_t) port;

    return NGX_OK;
}


ngx_uint_t
ngx_http_slidewin_redis_master_same(
    const ngx_http_slidewin_redis_master_t *one,
    const ngx_http_slidewin_redis_master_t *two)
{
    return one->port == two->port && ngx_strcmp(one->host, two->host) == 0;
}
