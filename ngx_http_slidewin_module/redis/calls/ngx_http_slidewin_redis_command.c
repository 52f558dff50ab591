
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_digest.h"
#include "ngx_http_slidewin_redis_command.h"
#include "sw_key.h"
#include "sw_proto.h"
#include "sw_slot.h"
#include "sw_text.h"


/* a script, the keys and the numbers */
#define NGX_HTTP_SLIDEWIN_REDIS_COMMAND_MAX  65536

/* of an argument: its length, and what ends it */
#define NGX_HTTP_SLIDEWIN_REDIS_ARG                                           \
    (sizeof("$" CRLF) - 1 + NGX_SIZE_T_LEN + sizeof(CRLF) - 1)

#define NGX_HTTP_SLIDEWIN_REDIS_KEY                                           \
    (SW_REDIS_KEY_LEN + NGX_HTTP_SLIDEWIN_NAME_MAX                            \
     + NGX_HTTP_SLIDEWIN_NAME_MAX)

/* behind the key of a client: its ban, and that of dry runs */
#define NGX_HTTP_SLIDEWIN_REDIS_BAN          ":ban"
#define NGX_HTTP_SLIDEWIN_REDIS_DRY_BAN      ":dry-ban"


/* a command while it is written, into the buffer of all commands */

typedef struct {
    u_char           *data;
    u_char           *pos;
    u_char           *last;
    unsigned          too_long:1;
} ngx_http_slidewin_redis_command_t;


static ngx_http_slidewin_redis_script_e ngx_http_slidewin_redis_command_script(
    ngx_http_slidewin_redis_verb_e verb, ngx_http_slidewin_call_t *call);
static void ngx_http_slidewin_redis_command_begin(
    ngx_http_slidewin_redis_command_t *cmd, ngx_uint_t argc);
static u_char *ngx_http_slidewin_redis_command_length(u_char *p, u_char what,
    size_t n);
static void ngx_http_slidewin_redis_command_arg(
    ngx_http_slidewin_redis_command_t *cmd, const void *arg, size_t len);
static void ngx_http_slidewin_redis_command_arg_evalsha(
    ngx_http_slidewin_redis_command_t *cmd, ngx_http_slidewin_redis_t *redis,
    ngx_http_slidewin_redis_script_e script);
static void ngx_http_slidewin_redis_command_arg_count(
    ngx_http_slidewin_redis_command_t *cmd, ngx_uint_t n);
static void ngx_http_slidewin_redis_command_arg_keys(
    ngx_http_slidewin_redis_command_t *cmd, ngx_http_slidewin_redis_t *redis,
    ngx_http_slidewin_call_t *call);
static void ngx_http_slidewin_redis_command_arg_ban_keys(
    ngx_http_slidewin_redis_command_t *cmd, ngx_http_slidewin_redis_t *redis,
    ngx_http_slidewin_call_t *call);
static void ngx_http_slidewin_redis_command_arg_ban_key(
    ngx_http_slidewin_redis_command_t *cmd, ngx_http_slidewin_redis_t *redis,
    ngx_http_slidewin_claim_t *claim, ngx_uint_t dry_ban);
static void ngx_http_slidewin_redis_command_reset(
    ngx_http_slidewin_redis_command_t *cmd, ngx_http_slidewin_redis_t *redis,
    ngx_http_slidewin_call_t *call);
static void ngx_http_slidewin_redis_command_arg_take(
    ngx_http_slidewin_redis_command_t *cmd, ngx_http_slidewin_call_t *call,
    ngx_http_slidewin_redis_call_t *rcall, int64_t now);
static void ngx_http_slidewin_redis_command_arg_bans(
    ngx_http_slidewin_redis_command_t *cmd, ngx_http_slidewin_call_t *call);
static void ngx_http_slidewin_redis_command_arg_give_back(
    ngx_http_slidewin_redis_command_t *cmd, ngx_http_slidewin_call_t *call,
    int64_t number, int64_t now);
static size_t ngx_http_slidewin_redis_command_key(char *text,
    ngx_http_slidewin_redis_t *redis, ngx_http_slidewin_claim_t *claim);


ngx_int_t
ngx_http_slidewin_redis_command(ngx_http_slidewin_redis_call_t *rcall,
    ngx_http_slidewin_call_t *call, int64_t now, ngx_str_t *text)
{
    ngx_str_t                          *lua;
    ngx_uint_t                          argc, nkeys;
    ngx_http_slidewin_redis_t          *redis;
    ngx_http_slidewin_redis_script_e    script;
    ngx_http_slidewin_redis_command_t   cmd;

    redis = rcall->redis;

    if (rcall->verb == NGX_HTTP_SLIDEWIN_REDIS_VERB_RESET) {
        ngx_http_slidewin_redis_command_reset(&cmd, redis, call);

    } else {
        script = ngx_http_slidewin_redis_command_script(rcall->verb, call);

        nkeys = call->n;
        argc = 3 + nkeys + 1;

        if (script == NGX_HTTP_SLIDEWIN_REDIS_TAKE_BAN) {
            nkeys = 2 * call->n;
            argc = 3 + nkeys + 2;
        }

        ngx_http_slidewin_redis_command_begin(&cmd, argc);

        if (rcall->retried) {
            lua = &redis->access.scripts[script];
            ngx_http_slidewin_redis_command_arg(&cmd, "EVAL", 4);
            ngx_http_slidewin_redis_command_arg(&cmd, lua->data, lua->len);

        } else {
            ngx_http_slidewin_redis_command_arg_evalsha(&cmd, redis, script);
        }

        ngx_http_slidewin_redis_command_arg_count(&cmd, nkeys);
        ngx_http_slidewin_redis_command_arg_keys(&cmd, redis, call);

        switch (script) {

        case NGX_HTTP_SLIDEWIN_REDIS_GIVE_BACK:
            ngx_http_slidewin_redis_command_arg_give_back(&cmd, call,
                                                          rcall->number, now);
            break;

        case NGX_HTTP_SLIDEWIN_REDIS_TAKE_BAN:
            ngx_http_slidewin_redis_command_arg_ban_keys(&cmd, redis, call);
            ngx_http_slidewin_redis_command_arg_take(&cmd, call, rcall, 0);
            ngx_http_slidewin_redis_command_arg_bans(&cmd, call);
            break;

        default:
            ngx_http_slidewin_redis_command_arg_take(&cmd, call, rcall, now);
        }
    }

    text->data = cmd.data;
    text->len = cmd.pos - cmd.data;

    return cmd.too_long ? NGX_ERROR : NGX_OK;
}


static ngx_http_slidewin_redis_script_e
ngx_http_slidewin_redis_command_script(ngx_http_slidewin_redis_verb_e verb,
    ngx_http_slidewin_call_t *call)
{
    ngx_uint_t  i;

    if (verb == NGX_HTTP_SLIDEWIN_REDIS_VERB_GIVE_BACK) {
        return NGX_HTTP_SLIDEWIN_REDIS_GIVE_BACK;
    }

    if (call->n > 1) {

        for (i = 0; i < call->n; i++) {
            if (call->claims[i]->ban) {
                return NGX_HTTP_SLIDEWIN_REDIS_TAKE_BAN;
            }
        }

        return NGX_HTTP_SLIDEWIN_REDIS_TAKE_ANY;
    }

    if (call->claims[0]->ban) {
        return NGX_HTTP_SLIDEWIN_REDIS_TAKE_BAN;
    }

    switch (call->claims[0]->rule.algorithm) {

    case SW_LOG:
        return NGX_HTTP_SLIDEWIN_REDIS_TAKE_LOG;

    case SW_STRICT:
        return NGX_HTTP_SLIDEWIN_REDIS_TAKE_STRICT;

    default:
        return NGX_HTTP_SLIDEWIN_REDIS_TAKE_PAIR;
    }
}


/* as hiredis writes it, without an allocation for each argument */

static void
ngx_http_slidewin_redis_command_begin(ngx_http_slidewin_redis_command_t *cmd,
    ngx_uint_t argc)
{
    static u_char  buffer[NGX_HTTP_SLIDEWIN_REDIS_COMMAND_MAX];

    cmd->data = buffer;
    cmd->pos = ngx_http_slidewin_redis_command_length(buffer, '*', argc);
    cmd->last = buffer + NGX_HTTP_SLIDEWIN_REDIS_COMMAND_MAX;
    cmd->too_long = 0;
}


static void
ngx_http_slidewin_redis_command_arg(ngx_http_slidewin_redis_command_t *cmd,
    const void *arg, size_t len)
{
    u_char  *p;

    if ((size_t) (cmd->last - cmd->pos) < NGX_HTTP_SLIDEWIN_REDIS_ARG + len) {
        cmd->too_long = 1;
        return;
    }

    p = ngx_http_slidewin_redis_command_length(cmd->pos, '$', len);
    p = ngx_cpymem(p, arg, len);

    *p++ = CR;
    *p++ = LF;

    cmd->pos = p;
}


static u_char *
ngx_http_slidewin_redis_command_length(u_char *p, u_char what, size_t n)
{
    *p++ = what;
    p = (u_char *) sw_text_number((char *) p, n);

    *p++ = CR;
    *p++ = LF;

    return p;
}


static void
ngx_http_slidewin_redis_command_arg_evalsha(
    ngx_http_slidewin_redis_command_t *cmd, ngx_http_slidewin_redis_t *redis,
    ngx_http_slidewin_redis_script_e script)
{
    cmd->pos = ngx_cpymem(cmd->pos, redis->evalsha[script],
                          NGX_HTTP_SLIDEWIN_REDIS_EVALSHA_LEN);
}


/* mostly one digit */

static void
ngx_http_slidewin_redis_command_arg_count(
    ngx_http_slidewin_redis_command_t *cmd, ngx_uint_t n)
{
    char  text[SW_TEXT_NUMBER];

    if (n < 10 && (size_t) (cmd->last - cmd->pos)
                  > NGX_HTTP_SLIDEWIN_REDIS_ARG)
    {
        cmd->pos = ngx_cpymem(cmd->pos, "$1" CRLF "0" CRLF,
                              sizeof("$1" CRLF "0" CRLF) - 1);
        cmd->pos[-3] += (u_char) n;
        return;
    }

    ngx_http_slidewin_redis_command_arg(cmd, text,
                                        sw_text_number(text, n) - text);
}


static void
ngx_http_slidewin_redis_command_arg_keys(ngx_http_slidewin_redis_command_t *cmd,
    ngx_http_slidewin_redis_t *redis, ngx_http_slidewin_call_t *call)
{
    char        text[NGX_HTTP_SLIDEWIN_REDIS_KEY];
    size_t      len;
    ngx_uint_t  i;

    for (i = 0; i < call->n; i++) {
        len = ngx_http_slidewin_redis_command_key(text, redis,
                                                  call->claims[i]);
        ngx_http_slidewin_redis_command_arg(cmd, text, len);
    }
}


static void
ngx_http_slidewin_redis_command_arg_ban_keys(
    ngx_http_slidewin_redis_command_t *cmd, ngx_http_slidewin_redis_t *redis,
    ngx_http_slidewin_call_t *call)
{
    ngx_uint_t  i;

    for (i = 0; i < call->n; i++) {
        ngx_http_slidewin_redis_command_arg_ban_key(cmd, redis,
                                                    call->claims[i],
                                                    call->claims[i]->dry_ban);
    }
}


static void
ngx_http_slidewin_redis_command_arg_ban_key(
    ngx_http_slidewin_redis_command_t *cmd, ngx_http_slidewin_redis_t *redis,
    ngx_http_slidewin_claim_t *claim, ngx_uint_t dry_ban)
{
    char    text[NGX_HTTP_SLIDEWIN_REDIS_KEY
                 + sizeof(NGX_HTTP_SLIDEWIN_REDIS_DRY_BAN)];
    size_t  len;

    len = ngx_http_slidewin_redis_command_key(text, redis, claim);

    len = ngx_cpystrn((u_char *) text + len,
                      dry_ban ? (u_char *) NGX_HTTP_SLIDEWIN_REDIS_DRY_BAN
                              : (u_char *) NGX_HTTP_SLIDEWIN_REDIS_BAN,
                      sizeof(NGX_HTTP_SLIDEWIN_REDIS_DRY_BAN))
          - (u_char *) text;

    ngx_http_slidewin_redis_command_arg(cmd, text, len);
}


/* of policies without bans there is nothing but the key */

static void
ngx_http_slidewin_redis_command_reset(ngx_http_slidewin_redis_command_t *cmd,
    ngx_http_slidewin_redis_t *redis, ngx_http_slidewin_call_t *call)
{
    ngx_uint_t                  i, bans;
    ngx_http_slidewin_claim_t  *claim;

    bans = 0;

    for (i = 0; i < call->n; i++) {
        claim = call->claims[i];
        bans += claim->ban ? 2 - claim->dry_ban : 0;
    }

    ngx_http_slidewin_redis_command_begin(cmd, 1 + call->n + bans);
    ngx_http_slidewin_redis_command_arg(cmd, "DEL", 3);
    ngx_http_slidewin_redis_command_arg_keys(cmd, redis, call);

    for (i = 0; i < call->n; i++) {
        claim = call->claims[i];

        if (claim->ban) {
            ngx_http_slidewin_redis_command_arg_ban_key(cmd, redis, claim, 1);
        }

        if (claim->ban && !claim->dry_ban) {
            ngx_http_slidewin_redis_command_arg_ban_key(cmd, redis, claim, 0);
        }
    }
}


static size_t
ngx_http_slidewin_redis_command_key(char *text,
    ngx_http_slidewin_redis_t *redis, ngx_http_slidewin_claim_t *claim)
{
    return sw_key_redis(text, (char *) redis->prefix.data, redis->prefix.len,
                        claim->key.data, claim->key.len,
                        (char *) claim->name.data, claim->name.len,
                        ngx_http_slidewin_digest);
}


ngx_uint_t
ngx_http_slidewin_redis_command_slot(ngx_http_slidewin_redis_t *redis,
    ngx_http_slidewin_claim_t *claim)
{
    char    text[NGX_HTTP_SLIDEWIN_REDIS_KEY];
    size_t  len;

    len = ngx_http_slidewin_redis_command_key(text, redis, claim);

    return sw_slot(text, len);
}


static void
ngx_http_slidewin_redis_command_arg_take(ngx_http_slidewin_redis_command_t *cmd,
    ngx_http_slidewin_call_t *call, ngx_http_slidewin_redis_call_t *rcall,
    int64_t now)
{
    char                       *p;
    char                        numbers[SW_PROTO_TAKE
                                        + NGX_HTTP_SLIDEWIN_CLAIMS_MAX
                                          * SW_PROTO_CLAIM];
    ngx_uint_t                  i, charge;
    ngx_http_slidewin_claim_t  *claim;

    charge = (rcall->verb == NGX_HTTP_SLIDEWIN_REDIS_VERB_CHARGE);

    p = sw_proto_put(numbers, rcall->number);
    p = sw_proto_put(p, now);
    p = sw_proto_put(p, (int64_t) rcall->times);

    for (i = 0; i < call->n; i++) {
        claim = call->claims[i];

        p = sw_proto_put_rule(p, &claim->rule, claim->cost);
        p = sw_proto_put(p, charge ? SW_PROTO_CHARGE : claim->dry_run);
        p = sw_proto_put(p, claim->prefetch);
    }

    ngx_http_slidewin_redis_command_arg(cmd, numbers, p - numbers);
}


static void
ngx_http_slidewin_redis_command_arg_bans(ngx_http_slidewin_redis_command_t *cmd,
    ngx_http_slidewin_call_t *call)
{
    char                       *p;
    char                        numbers[NGX_HTTP_SLIDEWIN_CLAIMS_MAX
                                        * SW_PROTO_BAN];
    ngx_uint_t                  i;
    ngx_http_slidewin_claim_t  *claim;

    p = numbers;

    for (i = 0; i < call->n; i++) {
        claim = call->claims[i];

        p = sw_proto_put(p, claim->ban ? claim->ban->time : 0);
        p = sw_proto_put(p, claim->ban ? claim->ban->max : 0);
        p = sw_proto_put(p, claim->begins_ban ? 1 + (int64_t) claim->may_wait
                                              : 0);
    }

    ngx_http_slidewin_redis_command_arg(cmd, numbers, p - numbers);
}


static void
ngx_http_slidewin_redis_command_arg_give_back(
    ngx_http_slidewin_redis_command_t *cmd, ngx_http_slidewin_call_t *call,
    int64_t number, int64_t now)
{
    char                       *p;
    char                        numbers[SW_PROTO_GIVE_BACK
                                        + NGX_HTTP_SLIDEWIN_CLAIMS_MAX
                                          * SW_PROTO_CLAIM];
    ngx_uint_t                  i;
    ngx_http_slidewin_claim_t  *claim;

    p = sw_proto_put(numbers, number);
    p = sw_proto_put(p, now);

    for (i = 0; i < call->n; i++) {
        claim = call->claims[i];

        p = sw_proto_put_rule(p, &claim->rule, claim->cost);
        p = sw_proto_put(p, claim->verdict.stamp);
    }

    ngx_http_slidewin_redis_command_arg(cmd, numbers, p - numbers);
}
