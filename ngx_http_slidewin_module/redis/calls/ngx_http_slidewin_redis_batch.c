
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_redis_batch.h"


#define NGX_HTTP_SLIDEWIN_REDIS_GROUP_NAME_MAX  2048


static ngx_queue_t *ngx_http_slidewin_redis_shard(
    ngx_http_slidewin_redis_t *redis, uint32_t hash);
static void ngx_http_slidewin_redis_batch_max_prefetch(
    ngx_http_slidewin_call_t *call, ngx_http_slidewin_call_t *other);
static ngx_uint_t ngx_http_slidewin_redis_batch_still_rejected(
    ngx_http_slidewin_redis_call_t *rcall, ngx_http_slidewin_call_t *call);
static void ngx_http_slidewin_redis_batch_copy_verdict(
    ngx_http_slidewin_redis_call_t *rcall, ngx_http_slidewin_call_t *told,
    ngx_http_slidewin_call_t *call);
static ngx_http_slidewin_call_t *ngx_http_slidewin_redis_batch_last(
    ngx_http_slidewin_redis_call_t *rcall);


/*
 * With a dry run the claims of a call are not all or nothing, and the order
 * of calls would matter.
 */

void
ngx_http_slidewin_redis_batch_key(ngx_http_slidewin_call_t *call,
    ngx_str_t *name)
{
    u_char                     *p, *last;
    int64_t                     asked[7];
    ngx_uint_t                  i;
    ngx_http_slidewin_claim_t  *claim;

    static u_char  buffer[NGX_HTTP_SLIDEWIN_REDIS_GROUP_NAME_MAX];

    name->len = 0;
    name->data = buffer;

    p = buffer;
    last = buffer + NGX_HTTP_SLIDEWIN_REDIS_GROUP_NAME_MAX;

    for (i = 0; i < call->n; i++) {
        claim = call->claims[i];

        if (claim->dry_run
            || (size_t) (last - p) < sizeof(asked) + claim->key.len)
        {
            return;
        }

        asked[0] = (intptr_t) claim->zone;
        asked[1] = claim->rule.algorithm;
        asked[2] = claim->rule.limit;
        asked[3] = claim->rule.window;
        asked[4] = claim->rule.slices;
        asked[5] = claim->cost;
        asked[6] = (int64_t) claim->key.len;

        p = ngx_cpymem(p, asked, sizeof(asked));
        p = ngx_cpymem(p, claim->key.data, claim->key.len);
    }

    name->len = p - buffer;
}


ngx_http_slidewin_redis_call_t *
ngx_http_slidewin_redis_batch_find(ngx_http_slidewin_redis_t *redis,
    ngx_str_t *name, uint32_t hash)
{
    ngx_queue_t                     *q, *group;
    ngx_http_slidewin_redis_call_t  *leader;

    group = ngx_http_slidewin_redis_shard(redis, hash);

    for (q = ngx_queue_head(group);
         q != ngx_queue_sentinel(group);
         q = ngx_queue_next(q))
    {
        leader = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, group);

        if (leader->hash == hash
            && leader->name.len == name->len
            && ngx_memcmp(leader->name.data, name->data, name->len) == 0)
        {
            return leader;
        }
    }

    return NULL;
}


static ngx_queue_t *
ngx_http_slidewin_redis_shard(ngx_http_slidewin_redis_t *redis, uint32_t hash)
{
    return &redis->groups[hash % NGX_HTTP_SLIDEWIN_REDIS_GROUPS];
}


void
ngx_http_slidewin_redis_batch_open(ngx_http_slidewin_redis_call_t *rcall)
{
    if (rcall->name.len) {
        rcall->leads = 1;
        ngx_queue_insert_head(
            ngx_http_slidewin_redis_shard(rcall->node->redis, rcall->hash),
            &rcall->group);
    }
}


void
ngx_http_slidewin_redis_batch_close(ngx_http_slidewin_redis_call_t *rcall)
{
    if (rcall->leads) {
        rcall->leads = 0;
        ngx_queue_remove(&rcall->group);
    }
}


void
ngx_http_slidewin_redis_batch_fill(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_call_t  *passenger;

    if (rcall->times) {
        return;
    }

    rcall->times = 1;

    while (!ngx_queue_empty(&rcall->followers)) {
        q = ngx_queue_head(&rcall->followers);
        passenger = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        ngx_queue_remove(q);
        ngx_queue_insert_tail(&rcall->passengers, q);

        passenger->follows = 0;
        rcall->times++;

        ngx_http_slidewin_redis_call_set_node(passenger, rcall->node);
        ngx_http_slidewin_redis_batch_max_prefetch(rcall->call,
                                                   passenger->call);
    }

    for (q = ngx_queue_head(&rcall->passengers);
         q != ngx_queue_sentinel(&rcall->passengers);
         q = ngx_queue_next(q))
    {
        passenger = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        ngx_http_slidewin_redis_batch_max_prefetch(passenger->call,
                                                   rcall->call);
    }
}


/*
 * One of them wishes for what is ahead, and it need not be the first: all ask
 * for it, and know what was asked for.
 */

static void
ngx_http_slidewin_redis_batch_max_prefetch(ngx_http_slidewin_call_t *call,
    ngx_http_slidewin_call_t *other)
{
    ngx_uint_t                  i;
    ngx_http_slidewin_claim_t  *claim;

    for (i = 0; i < call->n; i++) {
        claim = call->claims[i];
        claim->prefetch = ngx_max(claim->prefetch, other->claims[i]->prefetch);
    }
}


void
ngx_http_slidewin_redis_batch_unfill(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_call_t  *passenger;

    rcall->times = 0;

    while (!ngx_queue_empty(&rcall->passengers)) {
        q = ngx_queue_last(&rcall->passengers);
        passenger = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        ngx_queue_remove(q);

        if (passenger->call == NULL) {
            ngx_http_slidewin_redis_call_end(passenger, NGX_ERROR);
            continue;
        }

        ngx_queue_insert_head(&rcall->followers, q);

        passenger->follows = 1;
        passenger->sent = 0;
    }
}


ngx_http_slidewin_call_t *
ngx_http_slidewin_redis_batch_any(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_call_t  *passenger;

    if (rcall->call) {
        return rcall->call;
    }

    for (q = ngx_queue_head(&rcall->passengers);
         q != ngx_queue_sentinel(&rcall->passengers);
         q = ngx_queue_next(q))
    {
        passenger = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        if (passenger->call) {
            return passenger->call;
        }
    }

    return NULL;
}


ngx_uint_t
ngx_http_slidewin_redis_batch_reject(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_call_t        *call;
    ngx_http_slidewin_redis_call_t  *follower;

    call = ngx_http_slidewin_redis_batch_last(rcall);

    if (call == NULL
        || !ngx_http_slidewin_redis_batch_still_rejected(rcall, call)
        || !call->on_reject(call))
    {
        return 0;
    }

    for (q = ngx_queue_head(&rcall->followers);
         q != ngx_queue_sentinel(&rcall->followers);
         q = ngx_queue_next(q))
    {
        follower = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        ngx_http_slidewin_redis_batch_copy_verdict(rcall, call, follower->call);
    }

    return 1;
}


static ngx_uint_t
ngx_http_slidewin_redis_batch_still_rejected(
    ngx_http_slidewin_redis_call_t *rcall, ngx_http_slidewin_call_t *call)
{
    int64_t        gone;
    ngx_uint_t     i;
    sw_verdict_t  *verdict;

    if (rcall->amended != rcall->node->redis->amended) {
        return 0;
    }

    for (i = 0; i < call->n; i++) {
        verdict = &call->claims[i]->verdict;

        if (verdict->admitted) {
            continue;
        }

        gone = (ngx_http_slidewin_clock_us() - rcall->sent_at) / 1000 + 1;

        if (verdict->retry == SW_NEVER || verdict->retry > gone) {
            return 1;
        }
    }

    return 0;
}


/* Redis said so at some time since it was sent */

static void
ngx_http_slidewin_redis_batch_copy_verdict(
    ngx_http_slidewin_redis_call_t *rcall, ngx_http_slidewin_call_t *told,
    ngx_http_slidewin_call_t *call)
{
    ngx_uint_t                  i;
    ngx_http_slidewin_claim_t  *claim;

    call->asked = ngx_min(call->asked, rcall->sent_at);

    for (i = 0; i < call->n; i++) {
        claim = call->claims[i];

        claim->verdict = told->claims[i]->verdict;
        claim->counted = 0;
        claim->prefetch = 0;
    }
}


/*
 * The first are admitted: if any is refused, this one is.  A replacement has no
 * say: what it knows of is its own request alone.
 */

static ngx_http_slidewin_call_t *
ngx_http_slidewin_redis_batch_last(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_call_t  *passenger;

    for (q = ngx_queue_last(&rcall->passengers);
         q != ngx_queue_sentinel(&rcall->passengers);
         q = ngx_queue_prev(q))
    {
        passenger = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        if (passenger->call && passenger->call->on_reject) {
            return passenger->call;
        }
    }

    return (rcall->call && rcall->call->on_reject) ? rcall->call : NULL;
}
