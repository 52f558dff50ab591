
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_slidewin_redis_batch.h"
#include "ngx_http_slidewin_redis_call.h"
#include "ngx_http_slidewin_redis_cluster.h"
#include "ngx_http_slidewin_redis_command.h"
#include "ngx_http_slidewin_redis_node.h"
#include "ngx_http_slidewin_redis_reply.h"


/* a call that is sent on and on goes round in circles */
#define NGX_HTTP_SLIDEWIN_REDIS_REDIRECTS_MAX  5


static ngx_int_t ngx_http_slidewin_redis_reply_verdicts(
    ngx_http_slidewin_redis_call_t *rcall, redisReply *reply);
static ngx_int_t ngx_http_slidewin_redis_reply_error(
    ngx_http_slidewin_redis_call_t *rcall, redisReply *reply);
static ngx_int_t ngx_http_slidewin_redis_reply_redirect(
    ngx_http_slidewin_redis_call_t *rcall, redisReply *reply);
static void ngx_http_slidewin_redis_reply_odd_key(
    ngx_http_slidewin_redis_call_t *rcall, const char *reason, size_t len);


ngx_int_t
ngx_http_slidewin_redis_reply(ngx_http_slidewin_redis_call_t *rcall,
    redisReply *reply)
{
    ngx_int_t                        rc;
    ngx_http_slidewin_redis_node_t  *node;

    static const char  nonsense[] = "its answer makes no sense";

    node = rcall->node;

    if (reply->type == REDIS_REPLY_ERROR) {
        return ngx_http_slidewin_redis_reply_error(rcall, reply);
    }

    switch (rcall->verb) {

    case NGX_HTTP_SLIDEWIN_REDIS_VERB_RESET:
        rc = (reply->type == REDIS_REPLY_INTEGER) ? NGX_OK : NGX_ERROR;
        break;

    case NGX_HTTP_SLIDEWIN_REDIS_VERB_GIVE_BACK:

        /* its number, and no verdicts */

        rc = ngx_http_slidewin_redis_read(NULL, 1, rcall->number, reply);
        break;

    default: /* NGX_HTTP_SLIDEWIN_REDIS_VERB_TAKE */
        rc = ngx_http_slidewin_redis_reply_verdicts(rcall, reply);
        break;
    }

    if (rc == NGX_OK) {

        /* one that was given up has been counted as a failure already */

        if (!rcall->late && !rcall->amends) {
            ngx_http_slidewin_redis_node_success(node);
        }

        return NGX_OK;
    }

    if (rc == NGX_DECLINED) {
        ngx_http_slidewin_redis_reply_odd_key(rcall, nonsense,
                                        sizeof(nonsense) - 1);
        return NGX_ERROR;
    }

    /* it is not known whose answer this is, nor the next one */

    ngx_http_slidewin_redis_node_failure(node, nonsense, sizeof(nonsense) - 1);
    ngx_http_slidewin_redis_conn_drop(&node->conn, nonsense);

    return NGX_ERROR;
}


/*
 * One answer for all it stands for, and a verdict on each; what is ahead is for
 * the first who has not left.
 */

static ngx_int_t
ngx_http_slidewin_redis_reply_verdicts(ngx_http_slidewin_redis_call_t *rcall,
    redisReply *reply)
{
    ngx_int_t                        rc;
    ngx_uint_t                       i, nth;
    ngx_queue_t                     *q;
    ngx_http_slidewin_call_t        *first, *call;
    ngx_http_slidewin_redis_call_t  *passenger;

    first = ngx_http_slidewin_redis_batch_any(rcall);

    rc = ngx_http_slidewin_redis_read(first, rcall->times, rcall->number,
                                      reply);

    if (rc != NGX_OK) {
        return rc;
    }

    if (rcall->call) {
        ngx_http_slidewin_redis_verdicts(rcall->call, 1);
    }

    nth = 1;

    for (q = ngx_queue_head(&rcall->passengers);
         q != ngx_queue_sentinel(&rcall->passengers);
         q = ngx_queue_next(q))
    {
        passenger = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);
        call = passenger->call;
        nth++;

        if (call == NULL) {
            continue;
        }

        ngx_http_slidewin_redis_verdicts(call, nth);

        for (i = 0; call != first && i < call->n; i++) {
            call->claims[i]->prefetch = 0;
        }
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_slidewin_redis_reply_error(ngx_http_slidewin_redis_call_t *rcall,
    redisReply *reply)
{
    ngx_int_t                        rc;
    ngx_http_slidewin_redis_node_t  *node;

    node = rcall->node;

    /* it did not run: the script is brought along, once */

    if (ngx_http_slidewin_redis_error_is(reply, "NOSCRIPT")
        && !rcall->retried)
    {
        if (ngx_http_slidewin_redis_batch_any(rcall) == NULL) {
            ngx_http_slidewin_redis_call_probe_lost(rcall);
            return NGX_ERROR;
        }

        rcall->retried = 1;

        if (ngx_http_slidewin_redis_call_send(rcall) == NGX_OK) {
            return NGX_AGAIN;
        }
    }

    if (node->redis->cluster) {
        rc = ngx_http_slidewin_redis_reply_redirect(rcall, reply);

        if (rc != NGX_DECLINED) {
            return rc;
        }
    }

    if (rcall->late) {
        return NGX_ERROR;
    }

    if (ngx_http_slidewin_redis_error_is(reply, "WRONGTYPE")
        || ngx_http_slidewin_redis_error_is(reply, "SLIDEWIN"))
    {
        ngx_http_slidewin_redis_reply_odd_key(rcall, reply->str, reply->len);
        return NGX_ERROR;
    }

    if (rcall->amends) {
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
 * The node is well and did not run it, because the slot is or goes elsewhere:
 * NGX_AGAIN if the call is on its way there.  One that is to be tried again has
 * found a slot that is between two nodes, and begins anew.
 */

static ngx_int_t
ngx_http_slidewin_redis_reply_redirect(ngx_http_slidewin_redis_call_t *rcall,
    redisReply *reply)
{
    ngx_uint_t                       asking;
    ngx_http_slidewin_redis_node_t  *node, *next;

    static const char  circles[] = "it was one redirect too many";

    node = rcall->node;

    next = ngx_http_slidewin_redis_cluster_redirect(node, reply, &asking);

    if (next == NULL
        && !ngx_http_slidewin_redis_error_is(reply, "MOVED")
        && !ngx_http_slidewin_redis_error_is(reply, "ASK"))
    {
        return NGX_DECLINED;
    }

    if (!rcall->late && !rcall->amends) {
        ngx_http_slidewin_redis_node_success(node);
    }

    if (next == NULL) {
        ngx_http_slidewin_redis_node_log_error(node, "does not decide",
                                               reply->str, reply->len);
        return NGX_ERROR;
    }

    ngx_http_slidewin_redis_batch_unfill(rcall);

    if (rcall->call == NULL) {
        return NGX_ERROR;
    }

    if (next == &node->redis->node) {
        rcall->redirects = 0;

    } else if (rcall->redirects++ == NGX_HTTP_SLIDEWIN_REDIS_REDIRECTS_MAX) {
        ngx_http_slidewin_redis_node_log_error(node, "does not decide", circles,
                                               sizeof(circles) - 1);
        return NGX_ERROR;
    }

    rcall->asking = asking;

    if (ngx_http_slidewin_redis_call_redirect(rcall, next) != NGX_OK) {
        return NGX_ERROR;
    }

    return NGX_AGAIN;
}


/* one client's key was written by others; the server is well */

static void
ngx_http_slidewin_redis_reply_odd_key(ngx_http_slidewin_redis_call_t *rcall,
    const char *reason, size_t len)
{
    ngx_http_slidewin_redis_node_log_error(rcall->node,
                                "has something else under the key of a client",
                                reason, len);

    if (!rcall->amends) {
        ngx_http_slidewin_redis_node_success(rcall->node);
    }
}
