
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_redis_group.h"


#define NGX_HTTP_SLIDEWIN_REDIS_GROUP_NAME_MAX  2048


static ngx_queue_t *ngx_http_slidewin_redis_group(
    ngx_http_slidewin_redis_call_t *rcall);
static ngx_http_slidewin_call_t *ngx_http_slidewin_redis_group_last(
    ngx_http_slidewin_redis_call_t *rcall);


/*
 * With a dry run the claims of a call are not all or nothing, and the order
 * of calls would matter.
 */

void
ngx_http_slidewin_redis_group_name(ngx_http_slidewin_call_t *call,
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
        asked[1] = claim->policy.algorithm;
        asked[2] = claim->policy.limit;
        asked[3] = claim->policy.window;
        asked[4] = claim->policy.slices;
        asked[5] = claim->cost;
        asked[6] = (int64_t) claim->key.len;

        p = ngx_cpymem(p, asked, sizeof(asked));
        p = ngx_cpymem(p, claim->key.data, claim->key.len);
    }

    name->len = p - buffer;
}


ngx_http_slidewin_redis_call_t *
ngx_http_slidewin_redis_group_leader(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_t                     *q, *group;
    ngx_http_slidewin_redis_call_t  *leader;

    group = ngx_http_slidewin_redis_group(rcall);

    for (q = ngx_queue_head(group);
         q != ngx_queue_sentinel(group);
         q = ngx_queue_next(q))
    {
        leader = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, group);

        if (leader->hash == rcall->hash
            && leader->name.len == rcall->name.len
            && ngx_memcmp(leader->name.data, rcall->name.data,
                          rcall->name.len)
               == 0)
        {
            return leader;
        }
    }

    return NULL;
}


static ngx_queue_t *
ngx_http_slidewin_redis_group(ngx_http_slidewin_redis_call_t *rcall)
{
    return &rcall->node->redis->groups[rcall->hash
                                       % NGX_HTTP_SLIDEWIN_REDIS_GROUPS];
}


void
ngx_http_slidewin_redis_group_lead(ngx_http_slidewin_redis_call_t *rcall)
{
    if (rcall->name.len) {
        rcall->leads = 1;
        ngx_queue_insert_head(ngx_http_slidewin_redis_group(rcall),
                              &rcall->group);
    }
}


void
ngx_http_slidewin_redis_group_leave(ngx_http_slidewin_redis_call_t *rcall)
{
    if (rcall->leads) {
        rcall->leads = 0;
        ngx_queue_remove(&rcall->group);
    }
}


void
ngx_http_slidewin_redis_group_board(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_uint_t                       i;
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

        ngx_http_slidewin_redis_call_book(passenger, rcall->node);

        /* the first asks for what is ahead, and all know what it asked for */

        for (i = 0; i < rcall->call->n; i++) {
            passenger->call->claims[i]->ahead = rcall->call->claims[i]->ahead;
        }
    }
}


void
ngx_http_slidewin_redis_group_alight(ngx_http_slidewin_redis_call_t *rcall)
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
ngx_http_slidewin_redis_group_anybody(ngx_http_slidewin_redis_call_t *rcall)
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
ngx_http_slidewin_redis_group_refuse(ngx_http_slidewin_redis_call_t *rcall)
{
    int64_t                          gone;
    ngx_uint_t                       i;
    ngx_queue_t                     *q;
    ngx_http_slidewin_call_t        *call;
    ngx_http_slidewin_claim_t       *claim;
    ngx_http_slidewin_redis_call_t  *follower;

    if (ngx_queue_empty(&rcall->followers)
        || rcall->amended != rcall->node->redis->amended)
    {
        return 0;
    }

    call = ngx_http_slidewin_redis_group_last(rcall);
    gone = (ngx_http_slidewin_clock_us() - rcall->sent_at) / 1000 + 1;

    for (i = 0; call && i < call->n; i++) {
        claim = call->claims[i];

        if (!claim->verdict.admitted
            && (claim->verdict.retry == SW_NEVER
                || claim->verdict.retry > gone))
        {
            break;
        }
    }

    if (call == NULL || i == call->n) {
        return 0;
    }

    for (q = ngx_queue_head(&rcall->followers);
         q != ngx_queue_sentinel(&rcall->followers);
         q = ngx_queue_next(q))
    {
        follower = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        for (i = 0; i < call->n; i++) {
            claim = follower->call->claims[i];

            claim->verdict = call->claims[i]->verdict;
            claim->counted = 0;
            claim->ahead = 0;
        }
    }

    return 1;
}


/* the first are admitted: if any is refused, this one is */

static ngx_http_slidewin_call_t *
ngx_http_slidewin_redis_group_last(ngx_http_slidewin_redis_call_t *rcall)
{
    ngx_queue_t                     *q;
    ngx_http_slidewin_redis_call_t  *passenger;

    for (q = ngx_queue_last(&rcall->passengers);
         q != ngx_queue_sentinel(&rcall->passengers);
         q = ngx_queue_prev(q))
    {
        passenger = ngx_queue_data(q, ngx_http_slidewin_redis_call_t, queue);

        if (passenger->call) {
            return passenger->call;
        }
    }

    return rcall->call;
}
