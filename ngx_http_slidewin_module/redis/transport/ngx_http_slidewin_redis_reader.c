
#include "ngx_http_slidewin_redis_reader.h"


/* fits the reply to a call of a few claims, terminated */
#define NGX_HTTP_SLIDEWIN_REDIS_READER_TEXT  512

/* a redisReply, with what malloc() adds to it and to its string */
#define NGX_HTTP_SLIDEWIN_REDIS_READER_SIZE  96


static ngx_uint_t ngx_http_slidewin_redis_reader_reserve(
    const redisReadTask *task, size_t size);
static void *ngx_http_slidewin_redis_reader_string(const redisReadTask *task,
    char *str, size_t len);
static void *ngx_http_slidewin_redis_reader_array(const redisReadTask *task,
    size_t elements);
static void *ngx_http_slidewin_redis_reader_integer(const redisReadTask *task,
    long long value);
static void *ngx_http_slidewin_redis_reader_double(const redisReadTask *task,
    double value, char *str, size_t len);
static void *ngx_http_slidewin_redis_reader_nil(const redisReadTask *task);
static void *ngx_http_slidewin_redis_reader_bool(const redisReadTask *task,
    int value);
static void ngx_http_slidewin_redis_reader_free(void *reply);


/* one is enough: hiredis frees a reply before it reads the next one */

static redisReply                  ngx_http_slidewin_redis_reader_reply;
static char                        ngx_http_slidewin_redis_reader_text
                                       [NGX_HTTP_SLIDEWIN_REDIS_READER_TEXT];
static ngx_uint_t                  ngx_http_slidewin_redis_reader_used;

static redisReplyObjectFunctions   ngx_http_slidewin_redis_reader_functions;
static redisReplyObjectFunctions  *ngx_http_slidewin_redis_reader_defaults;


void
ngx_http_slidewin_redis_reader_init(redisReader *reader,
    ngx_http_slidewin_redis_memory_t *memory)
{
    redisReplyObjectFunctions  *fn;

    ngx_http_slidewin_redis_reader_defaults = reader->fn;

    fn = &ngx_http_slidewin_redis_reader_functions;

    fn->createString = ngx_http_slidewin_redis_reader_string;
    fn->createArray = ngx_http_slidewin_redis_reader_array;
    fn->createInteger = ngx_http_slidewin_redis_reader_integer;
    fn->createDouble = ngx_http_slidewin_redis_reader_double;
    fn->createNil = ngx_http_slidewin_redis_reader_nil;
    fn->createBool = ngx_http_slidewin_redis_reader_bool;
    fn->freeObject = ngx_http_slidewin_redis_reader_free;

    reader->fn = fn;
    reader->privdata = memory;
}


/* an element without a parent is the begin of a reply */

static ngx_uint_t
ngx_http_slidewin_redis_reader_reserve(const redisReadTask *task, size_t size)
{
    ngx_http_slidewin_redis_memory_t  *memory;

    memory = task->privdata;

    if (task->parent == NULL) {
        memory->used = 0;
    }

    memory->used += NGX_HTTP_SLIDEWIN_REDIS_READER_SIZE + size;

    return memory->used <= memory->max;
}


static void *
ngx_http_slidewin_redis_reader_string(const redisReadTask *task, char *str,
    size_t len)
{
    redisReply  *reply;

    if (task->type != REDIS_REPLY_STRING || task->parent
        || len >= NGX_HTTP_SLIDEWIN_REDIS_READER_TEXT
        || ngx_http_slidewin_redis_reader_used)
    {
        return ngx_http_slidewin_redis_reader_reserve(task, len)
               ? ngx_http_slidewin_redis_reader_defaults->createString(task,
                                                                     str, len)
               : NULL;
    }

    ngx_http_slidewin_redis_reader_used = 1;

    ngx_memcpy(ngx_http_slidewin_redis_reader_text, str, len);
    ngx_http_slidewin_redis_reader_text[len] = '\0';

    reply = &ngx_http_slidewin_redis_reader_reply;

    reply->type = REDIS_REPLY_STRING;
    reply->str = ngx_http_slidewin_redis_reader_text;
    reply->len = len;

    return reply;
}


static void *
ngx_http_slidewin_redis_reader_array(const redisReadTask *task,
    size_t elements)
{
    return ngx_http_slidewin_redis_reader_reserve(task,
                                               elements * sizeof(redisReply *))
           ? ngx_http_slidewin_redis_reader_defaults->createArray(task,
                                                                  elements)
           : NULL;
}


static void *
ngx_http_slidewin_redis_reader_integer(const redisReadTask *task,
    long long value)
{
    return ngx_http_slidewin_redis_reader_reserve(task, 0)
           ? ngx_http_slidewin_redis_reader_defaults->createInteger(task,
                                                                    value)
           : NULL;
}


static void *
ngx_http_slidewin_redis_reader_double(const redisReadTask *task, double value,
    char *str, size_t len)
{
    return ngx_http_slidewin_redis_reader_reserve(task, len)
           ? ngx_http_slidewin_redis_reader_defaults->createDouble(task, value,
                                                                   str, len)
           : NULL;
}


static void *
ngx_http_slidewin_redis_reader_nil(const redisReadTask *task)
{
    return ngx_http_slidewin_redis_reader_reserve(task, 0)
           ? ngx_http_slidewin_redis_reader_defaults->createNil(task) : NULL;
}


static void *
ngx_http_slidewin_redis_reader_bool(const redisReadTask *task, int value)
{
    return ngx_http_slidewin_redis_reader_reserve(task, 0)
           ? ngx_http_slidewin_redis_reader_defaults->createBool(task, value)
           : NULL;
}


static void
ngx_http_slidewin_redis_reader_free(void *reply)
{
    if (reply == &ngx_http_slidewin_redis_reader_reply) {
        ngx_http_slidewin_redis_reader_used = 0;
        return;
    }

    ngx_http_slidewin_redis_reader_defaults->freeObject(reply);
}
