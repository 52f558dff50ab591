
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_digest.h"
#include "ngx_http_slidewin_redis_command.h"
#include "sw_rate.h"
#include "sw_slot.h"


static size_t ngx_http_slidewin_redis_key(char *text,
    ngx_http_slidewin_redis_t *redis, ngx_http_slidewin_claim_t *claim);
static u_char *ngx_http_slidewin_redis_command_length(u_char *p, u_char what,
    size_t n);
static ngx_uint_t ngx_http_slidewin_redis_all_or_none(
    ngx_http_slidewin_call_t *call, ngx_uint_t times,
    sw_proto_taken_t *taken);


void
ngx_http_slidewin_redis_arg(ngx_http_slidewin_redis_command_t *cmd,
    const char *arg, size_t len)
{
    cmd->argv[cmd->argc] = arg;
    cmd->lens[cmd->argc] = len;
    cmd->argc++;
}


void
ngx_http_slidewin_redis_arg_keys(ngx_http_slidewin_redis_command_t *cmd,
    ngx_http_slidewin_redis_t *redis, ngx_http_slidewin_call_t *call,
    ngx_uint_t script)
{
    char        *text;
    size_t       len;
    ngx_uint_t   i;

    if (script) {
        len = sw_proto_number(cmd->count, (int64_t) call->n);
        ngx_http_slidewin_redis_arg(cmd, cmd->count, len);
    }

    for (i = 0; i < call->n; i++) {
        text = cmd->keys[i];

        ngx_http_slidewin_redis_arg(cmd, text,
                  ngx_http_slidewin_redis_key(text, redis, call->claims[i]));
    }
}


static size_t
ngx_http_slidewin_redis_key(char *text, ngx_http_slidewin_redis_t *redis,
    ngx_http_slidewin_claim_t *claim)
{
    return sw_key_redis(text, (char *) redis->prefix.data, redis->prefix.len,
                        claim->key.data, claim->key.len,
                        (char *) claim->name.data, claim->name.len,
                        ngx_http_slidewin_digest);
}


ngx_uint_t
ngx_http_slidewin_redis_slot(ngx_http_slidewin_redis_t *redis,
    ngx_http_slidewin_claim_t *claim)
{
    char  text[NGX_HTTP_SLIDEWIN_REDIS_KEY];

    return sw_slot(text, ngx_http_slidewin_redis_key(text, redis, claim));
}


void
ngx_http_slidewin_redis_arg_take(ngx_http_slidewin_redis_command_t *cmd,
    ngx_http_slidewin_call_t *call, ngx_uint_t times, int64_t number,
    int64_t now)
{
    char                       *p;
    ngx_uint_t                  i;
    ngx_http_slidewin_claim_t  *claim;

    p = sw_proto_put(cmd->numbers, number);
    p = sw_proto_put(p, now);
    p = sw_proto_put(p, (int64_t) times);

    for (i = 0; i < call->n; i++) {
        claim = call->claims[i];

        p = sw_proto_put_policy(p, &claim->policy, claim->cost);
        p = sw_proto_put(p, claim->dry_run);
        p = sw_proto_put(p, claim->ahead);
    }

    ngx_http_slidewin_redis_arg(cmd, cmd->numbers, p - cmd->numbers);
}


void
ngx_http_slidewin_redis_arg_give_back(ngx_http_slidewin_redis_command_t *cmd,
    ngx_http_slidewin_call_t *call, int64_t number, int64_t now)
{
    char                       *p;
    ngx_uint_t                  i;
    ngx_http_slidewin_claim_t  *claim;

    p = sw_proto_put(cmd->numbers, number);
    p = sw_proto_put(p, now);

    for (i = 0; i < call->n; i++) {
        claim = call->claims[i];

        p = sw_proto_put_policy(p, &claim->policy, claim->cost);
        p = sw_proto_put(p, claim->verdict.stamp);
    }

    ngx_http_slidewin_redis_arg(cmd, cmd->numbers, p - cmd->numbers);
}


/* as hiredis would, but without an allocation and a format for each */

ngx_int_t
ngx_http_slidewin_redis_command_text(ngx_http_slidewin_redis_command_t *cmd,
    ngx_str_t *text)
{
    int      i;
    size_t   len;
    u_char  *p;

    static u_char  buffer[NGX_HTTP_SLIDEWIN_REDIS_COMMAND_MAX];

    len = sizeof("*") + NGX_SIZE_T_LEN + 2;

    for (i = 0; i < cmd->argc; i++) {
        len += sizeof("$") + NGX_SIZE_T_LEN + 2 + cmd->lens[i] + 2;
    }

    if (len > NGX_HTTP_SLIDEWIN_REDIS_COMMAND_MAX) {
        return NGX_ERROR;
    }

    p = ngx_http_slidewin_redis_command_length(buffer, '*',
                                               (size_t) cmd->argc);

    for (i = 0; i < cmd->argc; i++) {
        p = ngx_http_slidewin_redis_command_length(p, '$', cmd->lens[i]);
        p = ngx_cpymem(p, cmd->argv[i], cmd->lens[i]);

        *p++ = CR;
        *p++ = LF;
    }

    text->data = buffer;
    text->len = p - buffer;

    return NGX_OK;
}


static u_char *
ngx_http_slidewin_redis_command_length(u_char *p, u_char what, size_t n)
{
    u_char  digits[NGX_SIZE_T_LEN], *digit;

    digit = digits + NGX_SIZE_T_LEN;

    do {
        *--digit = (u_char) ('0' + n % 10);
        n /= 10;
    } while (n);

    *p++ = what;
    p = ngx_cpymem(p, digit, digits + NGX_SIZE_T_LEN - digit);

    *p++ = CR;
    *p++ = LF;

    return p;
}


ngx_uint_t
ngx_http_slidewin_redis_error_is(redisReply *reply, const char *code)
{
    size_t  len;

    len = ngx_strlen(code);

    return reply->len >= len && ngx_strncmp(reply->str, code, len) == 0;
}


ngx_int_t
ngx_http_slidewin_redis_verdicts(ngx_http_slidewin_call_t *call,
    ngx_uint_t times, ngx_uint_t nth, int64_t number, redisReply *reply)
{
    char                       *p, *last;
    size_t                      i, n;
    int64_t                     now, numbers[SW_PROTO_MOST];
    ngx_uint_t                  k;
    sw_proto_asked_t            asked;
    sw_proto_taken_t            taken[NGX_HTTP_SLIDEWIN_CLAIMS_MAX];
    ngx_http_slidewin_claim_t  *claim;

    if (reply->type != REDIS_REPLY_STRING
        || reply->len < SW_PROTO_HEAD
        || sw_proto_get(reply->str) != number)
    {
        return NGX_ERROR;
    }

    if (call == NULL) {
        return NGX_OK;
    }

    now = sw_proto_get(reply->str + SW_PROTO_NUMBER);
    p = reply->str + SW_PROTO_HEAD;
    last = reply->str + reply->len;

    asked.times = (int64_t) times;

    for (k = 0; k < call->n; k++) {
        claim = call->claims[k];
        n = sw_proto_numbers(&claim->policy);

        if ((size_t) (last - p) < n * SW_PROTO_NUMBER) {
            return NGX_ERROR;
        }

        for (i = 0; i < n; i++) {
            numbers[i] = sw_proto_get(p);
            p += SW_PROTO_NUMBER;
        }

        asked.cost = claim->cost;
        asked.ahead = claim->ahead;

        if (sw_proto_verdict(numbers, &claim->policy, now, &asked,
                             (int64_t) nth, &taken[k], &claim->verdict)
            != SW_OK)
        {
            return NGX_DECLINED;
        }
    }

    if (p != last) {
        return NGX_ERROR;
    }

    if (!ngx_http_slidewin_redis_all_or_none(call, times, taken)) {
        return NGX_DECLINED;
    }

    for (k = 0; k < call->n; k++) {
        claim = call->claims[k];
        claim->counted = ((int64_t) nth <= taken[k].counted);
        claim->ahead = taken[k].ahead;
    }

    return NGX_OK;
}


/*
 * What is admitted must be counted, or it would be admitted for ever: as
 * ngx_http_slidewin_shm_decide() and take.lua have it.
 */

static ngx_uint_t
ngx_http_slidewin_redis_all_or_none(ngx_http_slidewin_call_t *call,
    ngx_uint_t times, sw_proto_taken_t *taken)
{
    int64_t                     admitted, rehearsed;
    ngx_uint_t                  i;
    ngx_http_slidewin_claim_t  *claim;

    admitted = (int64_t) times;
    rehearsed = admitted;

    for (i = 0; i < call->n; i++) {
        claim = call->claims[i];

        if (claim->dry_run) {
            rehearsed = ngx_min(rehearsed, taken[i].admitted);

        } else {
            admitted = ngx_min(admitted, taken[i].admitted);
        }
    }

    rehearsed = ngx_min(rehearsed, admitted);

    for (i = 0; i < call->n; i++) {
        claim = call->claims[i];

        if (claim->cost
            && taken[i].counted != (claim->dry_run ? rehearsed : admitted))
        {
            return 0;
        }
    }

    return 1;
}
