
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_slidewin_redis_batch.h"
#include "ngx_http_slidewin_redis_reply.h"
#include "sw_parse.h"
#include "sw_proto.h"


/* what the last reply says of a claim */

typedef struct {
    int64_t             numbers[SW_PROTO_NUMBERS_MAX];
    sw_proto_request_t  request;
    sw_proto_taken_t    taken;
    sw_verdict_t        last;

    /* with a rule for bans */
    int64_t             banned;      /* ms left; 0: not banned */
    int64_t             ban_began;   /* by this call */
    int64_t             ban_told;    /* to the request that began it */
} ngx_http_slidewin_redis_decoded_t;


static ngx_int_t ngx_http_slidewin_redis_reply_decode(
    ngx_http_slidewin_redis_call_t *rcall, redisReply *reply);
static ngx_int_t ngx_http_slidewin_redis_reply_verdicts(
    ngx_http_slidewin_redis_call_t *rcall, redisReply *reply);
static ngx_int_t ngx_http_slidewin_redis_reply_read(
    ngx_http_slidewin_call_t *call, ngx_uint_t times, int64_t number,
    redisReply *reply);
static ngx_int_t ngx_http_slidewin_redis_reply_charge(
    ngx_http_slidewin_redis_call_t *rcall, redisReply *reply);
static void ngx_http_slidewin_redis_reply_verdict(
    ngx_http_slidewin_call_t *call, ngx_uint_t nth);
static ngx_uint_t ngx_http_slidewin_redis_reply_has_bans(
    ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_redis_reply_bans(
    ngx_http_slidewin_call_t *call, const char *p, size_t len);
static void ngx_http_slidewin_redis_reply_ban(
    ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_redis_decoded_t *decoded, ngx_uint_t nth)
    __attribute__((noinline));
static int64_t ngx_http_slidewin_redis_reply_admitted_by(
    ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_redis_decoded_t *decoded);
static ngx_uint_t ngx_http_slidewin_redis_reply_all_or_none(
    ngx_http_slidewin_call_t *call, ngx_uint_t times);
static ngx_int_t ngx_http_slidewin_redis_reply_error(
    ngx_http_slidewin_redis_call_t *rcall, redisReply *reply,
    ngx_http_slidewin_redis_node_t **next);
static ngx_int_t ngx_http_slidewin_redis_reply_redirect(
    ngx_http_slidewin_redis_call_t *rcall, redisReply *reply,
    ngx_http_slidewin_redis_node_t **next);
static void ngx_http_slidewin_redis_reply_foreign_key(
    ngx_http_slidewin_redis_call_t *rcall, const char *reason, size_t len);


static int64_t
    ngx_http_slidewin_redis_reply_now;
static int64_t
    ngx_http_slidewin_redis_reply_admitted;    /* requests, if enforced */
static ngx_http_slidewin_redis_decoded_t
    ngx_http_slidewin_redis_reply_decoded[NGX_HTTP_SLIDEWIN_CLAIMS_MAX];


ngx_int_t
ngx_http_slidewin_redis_reply(ngx_http_slidewin_redis_call_t *rcall,
    redisReply *reply, ngx_http_slidewin_redis_node_t **next)
{
    ngx_int_t                        rc;
    ngx_http_slidewin_redis_node_t  *node;

    static const char  invalid[] = "its answer makes no sense";

    if (reply->type == REDIS_REPLY_ERROR) {
        return ngx_http_slidewin_redis_reply_error(rcall, reply, next);
    }

    node = rcall->node;

    rc = ngx_http_slidewin_redis_reply_decode(rcall, reply);

    if (rc == NGX_OK) {

        /* a late call has been counted as a failure already */

        if (!rcall->late && !rcall->change) {
            ngx_http_slidewin_redis_node_success(node);
        }

        return NGX_OK;
    }

    /* a charge that there is no room for */

    if (rc == NGX_ABORT) {
        return rc;
    }

    if (rc == NGX_DECLINED) {
        ngx_http_slidewin_redis_reply_foreign_key(rcall, invalid,
                                                  sizeof(invalid) - 1);
        return NGX_ERROR;
    }

    /* replies are out of step: the next ones cannot be trusted either */

    ngx_http_slidewin_redis_node_failure(node, invalid, sizeof(invalid) - 1);
    ngx_http_slidewin_redis_conn_drop_bad(&node->conn, invalid);

    return NGX_ERROR;
}


static ngx_int_t
ngx_http_slidewin_redis_reply_decode(ngx_http_slidewin_redis_call_t *rcall,
    redisReply *reply)
{
    switch (rcall->verb) {

    case NGX_HTTP_SLIDEWIN_REDIS_VERB_RESET:
        return (reply->type == REDIS_REPLY_INTEGER) ? NGX_OK : NGX_ERROR;

    case NGX_HTTP_SLIDEWIN_REDIS_VERB_GIVE_BACK:

        /* its number, and no verdicts: nothing depends on what was counted */

        return ngx_http_slidewin_redis_reply_read(NULL, 1, rcall->number,
                                                  reply);

    case NGX_HTTP_SLIDEWIN_REDIS_VERB_CHARGE:
        return ngx_http_slidewin_redis_reply_charge(rcall, reply);

    default: /* NGX_HTTP_SLIDEWIN_REDIS_VERB_TAKE */
        return ngx_http_slidewin_redis_reply_verdicts(rcall, reply);
    }
}


/* of all else that the reply tells, nothing is needed */

static ngx_int_t
ngx_http_slidewin_redis_reply_charge(ngx_http_slidewin_redis_call_t *rcall,
    redisReply *reply)
{
    if (ngx_http_slidewin_redis_reply_read(NULL, 1, rcall->number, reply)
        != NGX_OK
        || reply->len < SW_PROTO_HEAD + SW_PROTO_NUMBER)
    {
        return NGX_ERROR;
    }

    return sw_proto_get(reply->str + SW_PROTO_HEAD) ? NGX_OK : NGX_ABORT;
}


/*
 * One reply for the whole batch, and a verdict for each request.  What was
 * prefetched is for the first request that has not left.
 */

static ngx_int_t
ngx_http_slidewin_redis_reply_verdicts(ngx_http_slidewin_redis_call_t *rcall,
    redisReply *reply)
{
    ngx_int_t                        rc;
    ngx_uint_t                       i, nth;
    ngx_queue_t                     *q;
    ngx_http_slidewin_call_t        *first, *call;
    ngx_http_slidewin_redis_call_t  *member;

    first = ngx_http_slidewin_redis_batch_any(rcall);

    rc = ngx_http_slidewin_redis_reply_read(first, rcall->times, rcall->number,
                                            reply);
    if (rc != NGX_OK) {
        return rc;
    }

    if (rcall->call) {
        ngx_http_slidewin_redis_reply_verdict(rcall->call, 1);
    }

    nth = 1;

    for (q = ngx_queue_head(&rcall->members);
         q != ngx_queue_sentinel(&rcall->members);
         q = ngx_queue_next(q))
    {
        member = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);
        call = member->call;
        nth++;

        if (call == NULL) {
            continue;
        }

        ngx_http_slidewin_redis_reply_verdict(call, nth);

        for (i = 0; call != first && i < call->n; i++) {
            call->claims[i]->prefetch = 0;
        }
    }

    return NGX_OK;
}


/*
 * Reads the reply to the call of that number, sent for so many requests; call
 * is that of any of them, or NULL if all have left.  NGX_ERROR: the reply is
 * not to this call; NGX_DECLINED: the reply cannot be true.
 */

static ngx_int_t
ngx_http_slidewin_redis_reply_read(ngx_http_slidewin_call_t *call,
    ngx_uint_t times, int64_t number, redisReply *reply)
{
    char                               *p, *last;
    size_t                              i, n;
    ngx_int_t                           rc;
    ngx_uint_t                          k;
    ngx_http_slidewin_claim_t          *claim;
    ngx_http_slidewin_redis_decoded_t  *decoded;

    if (reply->type != REDIS_REPLY_STRING
        || reply->len < SW_PROTO_HEAD
        || sw_proto_get(reply->str) != number)
    {
        return NGX_ERROR;
    }

    if (call == NULL) {
        return NGX_OK;
    }

    p = reply->str + SW_PROTO_NUMBER;
    ngx_http_slidewin_redis_reply_now = sw_proto_get(p);

    p = reply->str + SW_PROTO_HEAD;
    last = reply->str + reply->len;

    for (k = 0; k < call->n; k++) {
        claim = call->claims[k];
        decoded = &ngx_http_slidewin_redis_reply_decoded[k];
        n = sw_proto_numbers(&claim->rule);

        if ((size_t) (last - p) < n * SW_PROTO_NUMBER) {
            return NGX_ERROR;
        }

        for (i = 0; i < n; i++) {
            decoded->numbers[i] = sw_proto_get(p);
            p += SW_PROTO_NUMBER;
        }

        decoded->request.times = (int64_t) times;
        decoded->request.cost = claim->cost;
        decoded->request.prefetch = claim->prefetch;

        if (sw_proto_read(decoded->numbers, &claim->rule,
                          ngx_http_slidewin_redis_reply_now, &decoded->request,
                          &decoded->taken, &decoded->last)
            != SW_OK)
        {
            return NGX_DECLINED;
        }
    }

    if (p != last || ngx_http_slidewin_redis_reply_has_bans(call)) {

        rc = ngx_http_slidewin_redis_reply_bans(call, p, last - p);

        if (rc != NGX_OK) {
            return rc;
        }
    }

    if (!ngx_http_slidewin_redis_reply_all_or_none(call, times)) {
        return NGX_DECLINED;
    }

    return NGX_OK;
}


static ngx_uint_t
ngx_http_slidewin_redis_reply_has_bans(ngx_http_slidewin_call_t *call)
{
    ngx_uint_t  k;

    for (k = 0; k < call->n; k++) {
        if (call->claims[k]->ban) {
            return 1;
        }
    }

    return 0;
}


/* a policy without bans has none, and no ban is longer than its rule says */

static ngx_int_t
ngx_http_slidewin_redis_reply_bans(ngx_http_slidewin_call_t *call,
    const char *p, size_t len)
{
    ngx_uint_t                          k;
    const sw_ban_rule_t                *rule;
    ngx_http_slidewin_redis_decoded_t  *decoded;

    if (len != call->n * SW_PROTO_BANNED
        || !ngx_http_slidewin_redis_reply_has_bans(call))
    {
        return NGX_ERROR;
    }

    for (k = 0; k < call->n; k++) {
        rule = call->claims[k]->ban;
        decoded = &ngx_http_slidewin_redis_reply_decoded[k];

        decoded->banned = sw_proto_get(p);
        decoded->ban_began = sw_proto_get(p + SW_PROTO_NUMBER);
        decoded->ban_told = 0;
        p += SW_PROTO_BANNED;

        if (rule == NULL) {

            if (decoded->banned || decoded->ban_began) {
                return NGX_DECLINED;
            }

            continue;
        }

        if (decoded->ban_began > 1
            || decoded->banned > SW_WINDOW_MAX
            || (decoded->ban_began
                && (decoded->banned < rule->time
                    || decoded->banned > ngx_max(rule->time, rule->max))))
        {
            return NGX_DECLINED;
        }
    }

    return NGX_OK;
}


/* the verdict on the nth request, the first being 1, by what was read last */

static void
ngx_http_slidewin_redis_reply_verdict(ngx_http_slidewin_call_t *call,
    ngx_uint_t nth)
{
    ngx_uint_t                          k;
    ngx_http_slidewin_claim_t          *claim;
    ngx_http_slidewin_redis_decoded_t  *decoded;

    for (k = 0; k < call->n; k++) {
        claim = call->claims[k];
        decoded = &ngx_http_slidewin_redis_reply_decoded[k];

        sw_proto_verdict(decoded->numbers, &claim->rule,
                         ngx_http_slidewin_redis_reply_now, &decoded->request,
                         &decoded->taken, &decoded->last, (int64_t) nth,
                         &claim->verdict);

        claim->counted = ((int64_t) nth <= decoded->taken.counted);
        claim->prefetch = decoded->taken.prefetch;

        if (claim->ban) {
            ngx_http_slidewin_redis_reply_ban(claim, decoded, nth);
        }
    }
}


/*
 * If the call has begun the ban, the requests that were admitted are not
 * banned, and the first one that was rejected is told that it has begun it.
 */

static void
ngx_http_slidewin_redis_reply_ban(ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_redis_decoded_t *decoded, ngx_uint_t nth)
{
    int64_t  admitted;

    claim->banned = 0;
    claim->ban_began = 0;

    admitted = claim->dry_run ? decoded->taken.admitted
                              : ngx_http_slidewin_redis_reply_admitted;

    if (decoded->banned == 0
        || (decoded->ban_began && (int64_t) nth <= admitted))
    {
        return;
    }

    claim->banned = decoded->banned;
    claim->ban_began = decoded->ban_began && !decoded->ban_told;
    decoded->ban_told = 1;

    sw_verdict_complete(&claim->verdict, &claim->rule);
    sw_ban_verdict(&claim->verdict, claim->banned);
}


/*
 * What is admitted must be counted, or it would be admitted for ever: as
 * ngx_http_slidewin_shm_decide() and take.lua count it.
 */

static ngx_uint_t
ngx_http_slidewin_redis_reply_all_or_none(ngx_http_slidewin_call_t *call,
    ngx_uint_t times)
{
    int64_t                             admitted, dry_admitted;
    ngx_uint_t                          i;
    sw_proto_taken_t                   *taken;
    ngx_http_slidewin_claim_t          *claim;
    ngx_http_slidewin_redis_decoded_t  *decoded;

    admitted = (int64_t) times;
    dry_admitted = admitted;

    for (i = 0; i < call->n; i++) {
        claim = call->claims[i];
        decoded = &ngx_http_slidewin_redis_reply_decoded[i];

        if (claim->dry_run) {
            dry_admitted = ngx_min(dry_admitted,
                      ngx_http_slidewin_redis_reply_admitted_by(claim,
                                                                decoded));

        } else {
            admitted = ngx_min(admitted,
                      ngx_http_slidewin_redis_reply_admitted_by(claim,
                                                                decoded));
        }
    }

    dry_admitted = ngx_min(dry_admitted, admitted);
    ngx_http_slidewin_redis_reply_admitted = admitted;

    for (i = 0; i < call->n; i++) {
        claim = call->claims[i];
        taken = &ngx_http_slidewin_redis_reply_decoded[i].taken;

        if (claim->cost
            && taken->counted != (claim->dry_run ? dry_admitted : admitted))
        {
            return 0;
        }
    }

    return 1;
}


/* requests that the claim admits, of a batch; a client may be banned before */

static int64_t
ngx_http_slidewin_redis_reply_admitted_by(ngx_http_slidewin_claim_t *claim,
    ngx_http_slidewin_redis_decoded_t *decoded)
{
    if (claim->ban && decoded->banned && !decoded->ban_began) {
        return 0;
    }

    return decoded->taken.admitted;
}


static ngx_int_t
ngx_http_slidewin_redis_reply_error(ngx_http_slidewin_redis_call_t *rcall,
    redisReply *reply, ngx_http_slidewin_redis_node_t **next)
{
    ngx_int_t                        rc;
    ngx_http_slidewin_redis_node_t  *node;

    node = rcall->node;

    if (ngx_http_slidewin_redis_error_is(reply, "NOSCRIPT")
        && !rcall->retried)
    {
        if (ngx_http_slidewin_redis_batch_any(rcall)) {
            return NGX_AGAIN;
        }

        ngx_http_slidewin_redis_call_probe_lost(rcall);
        return NGX_ERROR;
    }

    if (rcall->redis->cluster) {
        rc = ngx_http_slidewin_redis_reply_redirect(rcall, reply, next);

        if (rc != NGX_OK) {
            return rc;
        }
    }

    if (rcall->late) {
        return NGX_ERROR;
    }

    if (ngx_http_slidewin_redis_error_is(reply, "WRONGTYPE")
        || ngx_http_slidewin_redis_error_is(reply, "SLIDEWIN"))
    {
        ngx_http_slidewin_redis_reply_foreign_key(rcall, reply->str,
                                                  reply->len);
        return NGX_ERROR;
    }

    ngx_http_slidewin_stats_error(rcall->redis->access.counters,
                                  NGX_HTTP_SLIDEWIN_ERROR_REPLY);

    if (rcall->change) {
        ngx_http_slidewin_redis_node_log_error(node, "does not change a count",
                                               reply->str, reply->len);
    } else {
        ngx_http_slidewin_redis_node_failure(node, reply->str, reply->len);
    }

    /* a master that has become a replica may be reached elsewhere */

    if (ngx_http_slidewin_redis_error_is(reply, "READONLY")) {
        ngx_http_slidewin_redis_conn_drop(&node->conn, "it is a replica");
    }

    return NGX_ERROR;
}


/*
 * NGX_DECLINED if the call is to go to the next node: this one is well, and did
 * not run it.  NGX_OK if the error is about something else.
 */

static ngx_int_t
ngx_http_slidewin_redis_reply_redirect(ngx_http_slidewin_redis_call_t *rcall,
    redisReply *reply, ngx_http_slidewin_redis_node_t **next)
{
    ngx_int_t                        rc;
    ngx_uint_t                       asking;
    ngx_http_slidewin_redis_node_t  *node;

    node = rcall->node;

    rc = ngx_http_slidewin_redis_cluster_redirect(rcall->redis->cluster, node,
                                                  reply, next, &asking);
    if (rc == NGX_DECLINED
        && !ngx_http_slidewin_redis_error_is(reply, "MOVED")
        && !ngx_http_slidewin_redis_error_is(reply, "ASK"))
    {
        return NGX_OK;
    }

    if (!rcall->late && !rcall->change) {
        ngx_http_slidewin_redis_node_success(node);
    }

    if (rc == NGX_DECLINED) {
        ngx_http_slidewin_stats_error(rcall->redis->access.counters,
                                      NGX_HTTP_SLIDEWIN_ERROR_REPLY);
        ngx_http_slidewin_redis_node_log_error(node, "does not decide",
                                               reply->str, reply->len);
        return NGX_ERROR;
    }

    rcall->asking = asking;

    return NGX_DECLINED;
}


/* another program has written the key of one client; the server is well */

static void
ngx_http_slidewin_redis_reply_foreign_key(ngx_http_slidewin_redis_call_t *rcall,
    const char *reason, size_t len)
{
    ngx_http_slidewin_stats_error(rcall->redis->access.counters,
                                  NGX_HTTP_SLIDEWIN_ERROR_FOREIGN_KEY);

    ngx_http_slidewin_redis_node_log_error(rcall->node,
                                "has something else under the key of a client",
                                reason, len);

    if (!rcall->change) {
        ngx_http_slidewin_redis_node_success(rcall->node);
    }
}
