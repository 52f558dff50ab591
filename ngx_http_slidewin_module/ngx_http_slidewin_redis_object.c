
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_redis_object.h"


/* the reply to some checks in one call, and its end */
#define NGX_HTTP_SLIDEWIN_REDIS_OBJECT_MAX  512


static void *ngx_http_slidewin_redis_object_string(const redisReadTask *task,
    char *str, size_t len);
static void ngx_http_slidewin_redis_object_free(void *reply);


/* hiredis hands a reply over and frees it before it makes the next one */

static redisReply                  ngx_http_slidewin_redis_object;
static char                        ngx_http_slidewin_redis_object_text
                                       [NGX_HTTP_SLIDEWIN_REDIS_OBJECT_MAX];
static ngx_uint_t                  ngx_http_slidewin_redis_object_used;

static redisReplyObjectFunctions   ngx_http_slidewin_redis_object_functions;
static redisReplyObjectFunctions  *ngx_http_slidewin_redis_object_defaults;


void
ngx_http_slidewin_redis_object_init(redisReader *reader)
{
    ngx_http_slidewin_redis_object_defaults = reader->fn;

    ngx_http_slidewin_redis_object_functions = *reader->fn;
    ngx_http_slidewin_redis_object_functions.createString =
                                       ngx_http_slidewin_redis_object_string;
    ngx_http_slidewin_redis_object_functions.freeObject =
                                       ngx_http_slidewin_redis_object_free;

    reader->fn = &ngx_http_slidewin_redis_object_functions;
}


static void *
ngx_http_slidewin_redis_object_string(const redisReadTask *task, char *str,
    size_t len)
{
    redisReply  *reply;

    if (task->type != REDIS_REPLY_STRING || task->parent
        || len >= NGX_HTTP_SLIDEWIN_REDIS_OBJECT_MAX
        || ngx_http_slidewin_redis_object_used)
    {
        return ngx_http_slidewin_redis_object_defaults->createString(task, str,
                                                                     len);
    }

    ngx_http_slidewin_redis_object_used = 1;

    ngx_memcpy(ngx_http_slidewin_redis_object_text, str, len);
    ngx_http_slidewin_redis_object_text[len] = '\0';

    reply = &ngx_http_slidewin_redis_object;

    reply->type = REDIS_REPLY_STRING;
    reply->str = ngx_http_slidewin_redis_object_text;
    reply->len = len;

    return reply;
}


static void
ngx_http_slidewin_redis_object_free(void *reply)
{
    if (reply == &ngx_http_slidewin_redis_object) {
        ngx_http_slidewin_redis_object_used = 0;
        return;
    }

    ngx_http_slidewin_redis_object_defaults->freeObject(reply);
}
