
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_digest.h"
#include "ngx_http_slidewin_redis_command.h"
#include "sw_rate.h"
#include "sw_slot.h"


static size_t ngx_http_slidewin_redis_key(char *text,
    ngx_http_slidewin_redis_t *redis, ngx_http_slidewin_claim_t *claim);
static ngx_int_t ngx_http_slidewin_redis_all_or_none(
    ngx_http_slidewin_call_t *call);


void
ngx_http_slidewin_redis_arg(ngx_http_slidewin_redis_command_t *cmd,
    const char *arg, size_t len)
{
    cmd->argv[cmd->argc] = arg;
    cmd->lens[cmd->argc] = len;
    cmd->argc++;
}


void
ngx_http_slidewin_redis_arg_number(ngx_http_slidewin_redis_command_t *cmd,
    int64_t number)
{
    char  *text;

    text = cmd->numbers[cmd->argc];

    ngx_http_slidewin_redis_arg(cmd, text, sw_proto_number(text, number));
}


void
ngx_http_slidewin_redis_arg_keys(ngx_http_slidewin_redis_command_t *cmd,
    ngx_http_slidewin_redis_t *redis, ngx_http_slidewin_call_t *call)
{
    char        *text;
    ngx_uint_t   i;

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
ngx_http_slidewin_redis_arg_policy(ngx_http_slidewin_redis_command_t *cmd,
    ngx_http_slidewin_claim_t *claim, int64_t last)
{
    sw_policy_t  *policy;

    policy = &claim->policy;

    ngx_http_slidewin_redis_arg(cmd, sw_proto_algorithm(policy->algorithm),
                                1);
    ngx_http_slidewin_redis_arg_number(cmd, policy->limit);
    ngx_http_slidewin_redis_arg_number(cmd, policy->window);
    ngx_http_slidewin_redis_arg_number(cmd, policy->slices);
    ngx_http_slidewin_redis_arg_number(cmd, claim->cost);
    ngx_http_slidewin_redis_arg_number(cmd, last);
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
    int64_t number, redisReply *reply)
{
    int                         counted;
    size_t                      i, n;
    int64_t                     now, numbers[5 + SW_SLICES_MAX];
    ngx_uint_t                  k;
    redisReply                **next;
    ngx_http_slidewin_claim_t  *claim;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < SW_PROTO_HEAD) {
        return NGX_ERROR;
    }

    for (i = 0; i < reply->elements; i++) {
        if (reply->element[i]->type != REDIS_REPLY_INTEGER) {
            return NGX_ERROR;
        }
    }

    if (reply->element[0]->integer != number) {
        return NGX_ERROR;
    }

    if (call == NULL) {
        return NGX_OK;
    }

    n = SW_PROTO_HEAD;

    for (k = 0; k < call->n; k++) {
        n += sw_proto_numbers(&call->claims[k]->policy);
    }

    if (reply->elements != n) {
        return NGX_ERROR;
    }

    now = reply->element[1]->integer;
    next = reply->element + SW_PROTO_HEAD;

    for (k = 0; k < call->n; k++) {
        claim = call->claims[k];
        n = sw_proto_numbers(&claim->policy);

        for (i = 0; i < n; i++) {
            numbers[i] = (*next++)->integer;
        }

        if (sw_proto_verdict(numbers, &claim->policy, now, claim->cost,
                             &counted, &claim->verdict)
            != SW_OK)
        {
            return NGX_DECLINED;
        }

        claim->counted = counted;
    }

    return ngx_http_slidewin_redis_all_or_none(call);
}


/*
 * What is admitted must be counted, or it would be admitted for ever: as
 * ngx_http_slidewin_shm_decide() and take.lua have it.
 */

static ngx_int_t
ngx_http_slidewin_redis_all_or_none(ngx_http_slidewin_call_t *call)
{
    ngx_uint_t                  i, counted, refused[2];
    ngx_http_slidewin_claim_t  *claim;

    refused[0] = 0;
    refused[1] = 0;

    for (i = 0; i < call->n; i++) {
        claim = call->claims[i];

        if (!claim->verdict.admitted) {
            refused[claim->dry_run] = 1;
        }
    }

    for (i = 0; i < call->n; i++) {
        claim = call->claims[i];
        counted = claim->cost && !refused[0]
                  && !(claim->dry_run && refused[1]);

        if (claim->counted != counted) {
            return NGX_DECLINED;
        }
    }

    return NGX_OK;
}
