
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_redis_batch.h"


#define NGX_HTTP_SLIDEWIN_REDIS_BATCH_KEY_MAX  2048


static ngx_queue_t *ngx_http_slidewin_redis_batch_bucket(
    ngx_http_slidewin_redis_t *redis, uint32_t hash);
static void ngx_http_slidewin_redis_batch_max_prefetch(
    ngx_http_slidewin_call_t *call, ngx_http_slidewin_call_t *other);
static ngx_uint_t ngx_http_slidewin_redis_batch_still_rejected(
    ngx_http_slidewin_redis_call_t *rcall, ngx_http_slidewin_call_t *call);
static void ngx_http_slidewin_redis_batch_copy_verdict(
    ngx_http_slidewin_redis_call_t *rcall, ngx_http_slidewin_call_t *from,
    ngx_http_slidewin_call_t *call);
static ngx_http_slidewin_call_t *ngx_http_slidewin_redis_batch_last(
    ngx_http_slidewin_redis_call_t *rcall);


/*
 * A check with a dry run goes alone: its claims are not all or nothing, and the
 * order of calls would matter.
 */

void
ngx_http_slidewin_redis_batch_key(ngx_http_slidewin_call_t *call,
    ngx_str_t *key)
{
    u_char                     *p, *last;
    int64_t                     fields[7], may_wait;
    ngx_uint_t                  i;
    ngx_http_slidewin_claim_t  *claim;

    static u_char  buffer[NGX_HTTP_SLIDEWIN_REDIS_BATCH_KEY_MAX];

    key->len = 0;
    key->data = buffer;

    p = buffer;
    last = buffer + NGX_HTTP_SLIDEWIN_REDIS_BATCH_KEY_MAX;

    for (i = 0; i < call->n; i++) {
        claim = call->claims[i];

        if (claim->dry_run
            || (size_t) (last - p) < sizeof(fields) + sizeof(may_wait)
                                     + claim->key.len)
        {
            return;
        }

        fields[0] = (intptr_t) claim->zone;
        fields[1] = claim->rule.algorithm;
        fields[2] = claim->rule.limit;
        fields[3] = claim->rule.window;
        fields[4] = claim->rule.slices;
        fields[5] = claim->cost;
        fields[6] = (int64_t) claim->key.len;

        p = ngx_cpymem(p, fields, sizeof(fields));
        p = ngx_cpymem(p, claim->key.data, claim->key.len);

        /* one rejection begins the ban of all */

        if (claim->ban) {
            may_wait = claim->begins_ban ? (int64_t) claim->may_wait : -1;
            p = ngx_cpymem(p, &may_wait, sizeof(may_wait));
        }
    }

    key->len = p - buffer;
}


ngx_http_slidewin_redis_call_t *
ngx_http_slidewin_redis_batch_find(ngx_http_slidewin_redis_t *redis,
    ngx_str_t *key, uint32_t hash)
{
    ngx_queue_t                     *q, *bucket;
    ngx_http_slidewin_redis_call_t  *leader;

    bucket = ngx_http_slidewin_redis_batch_bucket(redis, hash);

    for (q = ngx_queue_head(bucket);
         q != ngx_queue_sentinel(bucket);
         q = ngx_queue_next(q))
    {
        leader = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, batch);

        if (leader->batch_hash == hash
            && leader->batch_key.len == key->len
            && ngx_memcmp(leader->batch_key.data, key->data, key->len) == 0)
        {
            return leader;
        }
    }

    return NULL;
}


static ngx_queue_t *
ngx_http_slidewin_redis_batch_bucket(ngx_http_slidewin_redis_t *redis,
    uint32_t hash)
{
    return &redis->batches[hash % NGX_HTTP_SLIDEWIN_REDIS_BATCHES];
}


void
ngx_http_slidewin_redis_batch_open(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_t  *bucket;

    if (rcall->batch_key.len) {
        bucket = ngx_http_slidewin_redis_batch_bucket(rcall->redis,
                                                      rcall->batch_hash);
        rcall->leads = 1;
        ngx_queue_insert_head(bucket, &rcall->batch);
    }
}


void
ngx_http_slidewin_redis_batch_close(ngx_http_slidewin_redis_call_t *rcall)
{
    if (rcall->leads) {
        rcall->leads = 0;
        ngx_queue_remove(&rcall->batch);
    }
}


void
ngx_http_slidewin_redis_batch_fill(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_call_t  *member;

    if (rcall->times) {
        return;
    }

    rcall->times = 1;

    while (!ngx_queue_empty(&rcall->followers)) {
        q = ngx_queue_head(&rcall->followers);
        member = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        ngx_queue_remove(q);
        ngx_queue_insert_tail(&rcall->members, q);

        member->follows = 0;
        rcall->times++;

        ngx_http_slidewin_redis_call_set_node(member, rcall->node);
        ngx_http_slidewin_redis_batch_max_prefetch(rcall->call,
                                                   member->call);
    }

    for (q = ngx_queue_head(&rcall->members);
         q != ngx_queue_sentinel(&rcall->members);
         q = ngx_queue_next(q))
    {
        member = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        ngx_http_slidewin_redis_batch_max_prefetch(member->call,
                                                   rcall->call);
    }
}


/*
 * The claim that has a prefetch need not be that of the first request: all
 * claims of the batch have the largest, and know what was asked for.
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
ngx_http_slidewin_redis_batch_unfill(ngx_http_slidewin_redis_call_t *rcall,
    ngx_queue_t *left)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_call_t  *member;

    rcall->times = 0;

    while (!ngx_queue_empty(&rcall->members)) {
        q = ngx_queue_last(&rcall->members);
        member = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        ngx_queue_remove(q);

        if (member->call == NULL) {
            ngx_queue_insert_tail(left, q);
            continue;
        }

        ngx_queue_insert_head(&rcall->followers, q);

        member->follows = 1;
        member->sent = 0;
    }
}


ngx_http_slidewin_call_t *
ngx_http_slidewin_redis_batch_any(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_call_t  *member;

    if (rcall->call) {
        return rcall->call;
    }

    for (q = ngx_queue_head(&rcall->members);
         q != ngx_queue_sentinel(&rcall->members);
         q = ngx_queue_next(q))
    {
        member = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        if (member->call) {
            return member->call;
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
    int64_t        passed;
    ngx_uint_t     i;
    sw_verdict_t  *verdict;

    if (rcall->changes != rcall->redis->changes) {
        return 0;
    }

    for (i = 0; i < call->n; i++) {
        verdict = &call->claims[i]->verdict;

        if (verdict->admitted) {
            continue;
        }

        passed = (ngx_http_slidewin_clock_us() - rcall->sent_at) / 1000 + 1;

        if (verdict->retry == SW_NEVER || verdict->retry > passed) {
            return 1;
        }
    }

    return 0;
}


/* Redis may have decided as early as the call was sent: asked_at is no later */

static void
ngx_http_slidewin_redis_batch_copy_verdict(
    ngx_http_slidewin_redis_call_t *rcall, ngx_http_slidewin_call_t *from,
    ngx_http_slidewin_call_t *call)
{
    ngx_uint_t                  i;
    ngx_http_slidewin_claim_t  *claim;

    call->asked_at = ngx_min(call->asked_at, rcall->sent_at);

    for (i = 0; i < call->n; i++) {
        claim = call->claims[i];

        claim->verdict = from->claims[i]->verdict;
        claim->banned = from->claims[i]->banned;
        claim->ban_began = 0;
        claim->counted = 0;
        claim->prefetch = 0;
    }
}


/*
 * The first of a batch are admitted: if any is rejected, the last one is.  A
 * replacement has no on_reject: it knows of its own request alone.
 */

static ngx_http_slidewin_call_t *
ngx_http_slidewin_redis_batch_last(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_call_t  *member;

    for (q = ngx_queue_last(&rcall->members);
         q != ngx_queue_sentinel(&rcall->members);
         q = ngx_queue_prev(q))
    {
        member = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        if (member->call && member->call->on_reject) {
            return member->call;
        }
    }

    return (rcall->call && rcall->call->on_reject) ? rcall->call : NULL;
}
