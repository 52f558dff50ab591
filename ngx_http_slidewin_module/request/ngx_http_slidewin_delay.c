
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_delay.h"
#include "ngx_http_slidewin_deny_cache.h"
#include "ngx_http_slidewin_refund.h"


/* of a worker's connections for requests that wait, and of those for a line */
#define NGX_HTTP_SLIDEWIN_DELAY_SHARE  4

/* units may come back elsewhere, and nobody would say so */
#define NGX_HTTP_SLIDEWIN_DELAY_ASK    1000    /* ms */

/*
 * Whoever was let wait is not turned away for what two clocks, or two readings
 * of one, differ by.
 */
#define NGX_HTTP_SLIDEWIN_DELAY_GRACE  100     /* ms */


/*
 * Units that the first of a line took for those behind it, by policy: ahead is
 * what is left of them.  The claims and the bytes of their keys follow.
 */

typedef struct {
    ngx_http_slidewin_store_t   *store;
    ngx_uint_t                   n;
    ngx_http_slidewin_claim_t  **claims;
} ngx_http_slidewin_grant_t;


/* of one client and policy, in the order they came; never empty */

typedef struct {
    ngx_str_node_t               sn;
    ngx_http_slidewin_policy_t  *policy;
    ngx_queue_t                  places;
    ngx_uint_t                   n;
    int64_t                      units;
    ngx_http_slidewin_grant_t   *grant;        /* for the first; NULL: none */
} ngx_http_slidewin_line_t;


struct ngx_http_slidewin_place_s {
    ngx_queue_t                  queue;
    ngx_http_slidewin_line_t    *line;
    ngx_http_slidewin_ctx_t     *ctx;
    ngx_http_slidewin_entry_t   *entry;
    ngx_event_t                  timer;
    int64_t                      due;          /* ms, as the store has it */
};


static ngx_http_slidewin_entry_t *ngx_http_slidewin_delay_longest(
    ngx_http_slidewin_ctx_t *ctx, int64_t now, int64_t *due);
static ngx_int_t ngx_http_slidewin_delay_enqueue(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry, ngx_event_handler_pt due);
static ngx_http_slidewin_line_t *ngx_http_slidewin_delay_find(
    ngx_http_slidewin_entry_t *entry);
static ngx_http_slidewin_line_t *ngx_http_slidewin_delay_create(
    ngx_http_slidewin_entry_t *entry);
static ngx_http_slidewin_place_t *ngx_http_slidewin_delay_first(
    ngx_http_slidewin_line_t *line);
static ngx_uint_t ngx_http_slidewin_delay_add(ngx_http_slidewin_call_t *call,
    ngx_http_slidewin_ctx_t *ctx);
static ngx_uint_t ngx_http_slidewin_delay_distant(
    ngx_http_slidewin_ctx_t *ctx);
static ngx_http_slidewin_claim_t *ngx_http_slidewin_delay_match(
    ngx_http_slidewin_claim_t **claims, ngx_uint_t n,
    ngx_http_slidewin_entry_t *entry);
static ngx_http_slidewin_grant_t *ngx_http_slidewin_delay_create_grant(
    ngx_http_slidewin_call_t *call, ngx_http_slidewin_store_t *store);
static void ngx_http_slidewin_delay_revoke(ngx_http_slidewin_line_t *line);
static void ngx_http_slidewin_delay_return(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim);
static void ngx_http_slidewin_delay_wake_head(ngx_http_slidewin_line_t *line);
static void ngx_http_slidewin_delay_set_timer(
    ngx_http_slidewin_place_t *place, int64_t due);


/* requests of this worker */
static ngx_uint_t  ngx_http_slidewin_delayed;


/*
 * From the time of the first one on, a window admits the limit once.  It may
 * take longer; then the request is turned away when its time is over.
 */

int64_t
ngx_http_slidewin_delay_queue_wait(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry)
{
    int64_t                     now, due, span, units;
    sw_rule_t                  *limits;
    ngx_http_slidewin_line_t   *line;
    ngx_http_slidewin_place_t  *first;

    line = ngx_http_slidewin_delay_find(entry);

    if (line == NULL) {
        return 0;
    }

    first = ngx_http_slidewin_delay_first(line);

    if (first == ctx->place) {
        return 0;
    }

    limits = &entry->claim.rule;
    span = limits->window;

    if (limits->algorithm == SW_STRICT) {
        span += limits->window / limits->slices;
    }

    units = line->units;

    if (ctx->place == NULL || ctx->place->line != line) {
        units += entry->claim.cost;
    }

    now = ngx_http_slidewin_clock_ms();
    due = ngx_max(first->due, now + 1) + (units - 1) / entry->quota * span;

    return due - now;
}


ngx_int_t
ngx_http_slidewin_delay_start(ngx_http_slidewin_ctx_t *ctx,
    ngx_event_handler_pt handler)
{
    int64_t                     now, due, wake;
    ngx_http_slidewin_entry_t  *entry;
    ngx_http_slidewin_place_t  *place;

    now = ngx_http_slidewin_clock_ms();

    entry = ngx_http_slidewin_delay_longest(ctx, now, &due);

    if (entry == NULL) {
        return NGX_DECLINED;
    }

    /* in one line at a time, or two might wait for each other */

    if (ctx->place && ctx->place->entry != entry) {
        ngx_http_slidewin_delay_cancel(ctx);
    }

    if (ctx->place == NULL
        && ngx_http_slidewin_delay_enqueue(ctx, entry, handler) != NGX_OK)
    {
        return NGX_DECLINED;
    }

    place = ctx->place;
    place->due = due;

    wake = entry->deadline;

    if (place == ngx_http_slidewin_delay_first(place->line)) {
        wake = ngx_min(wake, due);
        wake = ngx_min(wake, now + NGX_HTTP_SLIDEWIN_DELAY_ASK);

        /* units that wait with it would be counted earlier than they pass */

        ngx_http_slidewin_delay_revoke(place->line);
    }

    entry->delayed = 1;
    ctx->stands = 1;

    ngx_http_slidewin_delay_set_timer(place, wake);

    return NGX_OK;
}


/* all that refuse must let it wait; the one that takes longest is waited for */

static ngx_http_slidewin_entry_t *
ngx_http_slidewin_delay_longest(ngx_http_slidewin_ctx_t *ctx, int64_t now,
    int64_t *due)
{
    int64_t                     time, behind;
    sw_verdict_t               *verdict;
    ngx_http_slidewin_entry_t  *entry, *longest;

    longest = NULL;
    *due = 0;

    for (entry = *ctx->pass; entry; entry = entry->next) {

        if (!entry->decided || entry->claim.dry_run
            || entry->claim.verdict.admitted)
        {
            continue;
        }

        /* nobody to come after, and no time to do so */

        if (entry->limit->delay == 0 && ngx_http_slidewin_delayed == 0) {
            return NULL;
        }

        verdict = ngx_http_slidewin_entry_verdict(entry);

        if (verdict->retry == SW_NEVER) {
            return NULL;
        }

        if (entry->deadline == 0) {
            entry->deadline = now + entry->limit->delay;
        }

        /* others may have come to stand there while it asked */

        behind = ngx_http_slidewin_delay_queue_wait(ctx, entry);
        verdict->retry = ngx_max(verdict->retry, behind);
        time = now + verdict->retry;

        if (time > entry->deadline
                   + (entry->delayed ? NGX_HTTP_SLIDEWIN_DELAY_GRACE : 0))
        {
            return NULL;
        }

        if (longest == NULL || time > *due
            || (time == *due && ctx->place && ctx->place->entry == entry))
        {
            longest = entry;
            *due = time;
        }
    }

    return longest;
}


static ngx_int_t
ngx_http_slidewin_delay_enqueue(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry, ngx_event_handler_pt handler)
{
    ngx_uint_t                  most;
    ngx_http_slidewin_line_t   *line;
    ngx_http_slidewin_place_t  *place;

    most = ngx_cycle->connection_n / NGX_HTTP_SLIDEWIN_DELAY_SHARE;
    line = ngx_http_slidewin_delay_find(entry);

    /* not one client for all, nor all for those who need not wait */

    if (ngx_http_slidewin_delayed >= most
        || (line && line->n >= most / NGX_HTTP_SLIDEWIN_DELAY_SHARE))
    {
        return NGX_DECLINED;
    }

    place = ngx_pcalloc(ctx->request->pool, sizeof(ngx_http_slidewin_place_t));
    if (place == NULL) {
        return NGX_ERROR;
    }

    if (line == NULL) {
        line = ngx_http_slidewin_delay_create(entry);
        if (line == NULL) {
            return NGX_ERROR;
        }
    }

    place->line = line;
    place->ctx = ctx;
    place->entry = entry;

    place->timer.log = ctx->request->connection->log;
    place->timer.handler = handler;
    place->timer.data = ctx;

    ngx_queue_insert_tail(&line->places, &place->queue);
    line->n++;
    line->units += entry->claim.cost;

    ctx->place = place;
    ngx_http_slidewin_delayed++;

    return NGX_OK;
}


void
ngx_http_slidewin_delay_dequeue(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_http_slidewin_line_t   *line;
    ngx_http_slidewin_place_t  *place;

    place = ctx->place;
    line = place->line;

    if (place->timer.timer_set) {
        ngx_del_timer(&place->timer);
    }

    ngx_queue_remove(&place->queue);
    line->n--;
    line->units -= place->entry->claim.cost;

    ctx->place = NULL;
    ctx->stands = 0;
    ngx_http_slidewin_delayed--;

    if (line->n == 0) {
        ngx_http_slidewin_delay_revoke(line);
        ngx_rbtree_delete(&line->policy->queues, &line->sn.node);
        ngx_free(line);
        return;
    }

    ngx_http_slidewin_delay_wake_head(line);
}


void
ngx_http_slidewin_delay_wake(ngx_http_slidewin_entry_t *entry)
{
    ngx_http_slidewin_line_t  *line;

    line = ngx_http_slidewin_delay_find(entry);

    if (line) {
        ngx_http_slidewin_delay_wake_head(line);
    }
}


static ngx_http_slidewin_line_t *
ngx_http_slidewin_delay_find(ngx_http_slidewin_entry_t *entry)
{
    ngx_str_t                   *key;
    ngx_http_slidewin_policy_t  *policy;

    policy = entry->policy;

    if (!ngx_http_slidewin_delay_queued(policy)) {
        return NULL;
    }

    key = &entry->claim.key;

    return (ngx_http_slidewin_line_t *)
               ngx_str_rbtree_lookup(&policy->queues, key,
                                     ngx_murmur_hash2(key->data, key->len));
}


static ngx_http_slidewin_line_t *
ngx_http_slidewin_delay_create(ngx_http_slidewin_entry_t *entry)
{
    ngx_str_t                 *key;
    ngx_http_slidewin_line_t  *line;

    key = &entry->claim.key;

    line = ngx_alloc(sizeof(ngx_http_slidewin_line_t) + key->len,
                     ngx_cycle->log);
    if (line == NULL) {
        return NULL;
    }

    ngx_queue_init(&line->places);
    line->policy = entry->policy;
    line->n = 0;
    line->units = 0;
    line->grant = NULL;

    line->sn.node.key = ngx_murmur_hash2(key->data, key->len);
    line->sn.str.len = key->len;
    line->sn.str.data = (u_char *) &line[1];
    ngx_memcpy(line->sn.str.data, key->data, key->len);

    ngx_rbtree_insert(&entry->policy->queues, &line->sn.node);

    return line;
}


static ngx_http_slidewin_place_t *
ngx_http_slidewin_delay_first(ngx_http_slidewin_line_t *line)
{
    return ngx_queue_data(ngx_queue_head(&line->places),
                          ngx_http_slidewin_place_t, queue);
}


/*
 * One question for a whole line: with one for each of it, a line would be
 * served at the pace of round trips, which may be slower than it grows.  Those
 * that ask for other policies as well, or in several distant stores, ask
 * themselves.  Where there are leases, these are taken ahead already.
 */

void
ngx_http_slidewin_delay_prefetch(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_store_t *store)
{
    ngx_uint_t                  i;
    ngx_queue_t                *q;
    ngx_http_slidewin_line_t   *line;
    ngx_http_slidewin_entry_t  *entry;
    ngx_http_slidewin_place_t  *place;

    for (i = 0; i < ctx->call.n; i++) {
        entry = (ngx_http_slidewin_entry_t *) ctx->call.claims[i];

        if (entry->policy->lease || entry->claim.dry_run) {
            return;
        }

        entry->claim.prefetch = 0;
    }

    line = ctx->place->line;

    if (store->local || ctx->call.n != ngx_http_slidewin_delay_distant(ctx)
        || ctx->place != ngx_http_slidewin_delay_first(line))
    {
        return;
    }

    for (q = ngx_queue_next(&ctx->place->queue);
         q != ngx_queue_sentinel(&line->places);
         q = ngx_queue_next(q))
    {
        place = ngx_queue_data(q, ngx_http_slidewin_place_t, queue);

        if (!ngx_http_slidewin_delay_add(&ctx->call, place->ctx)) {
            return;
        }
    }
}


static ngx_uint_t
ngx_http_slidewin_delay_add(ngx_http_slidewin_call_t *call,
    ngx_http_slidewin_ctx_t *ctx)
{
    ngx_http_slidewin_claim_t  *claim;
    ngx_http_slidewin_entry_t  *entry;

    if (ngx_http_slidewin_delay_distant(ctx) != call->n) {
        return 0;
    }

    for (entry = *ctx->pass; entry; entry = entry->next) {
        if (!entry->decided && !entry->store->local
            && ngx_http_slidewin_delay_match(call->claims, call->n, entry)
               == NULL)
        {
            return 0;
        }
    }

    for (entry = *ctx->pass; entry; entry = entry->next) {

        if (entry->decided || entry->store->local) {
            continue;
        }

        claim = ngx_http_slidewin_delay_match(call->claims, call->n, entry);

        claim->prefetch = ngx_min(claim->prefetch + entry->claim.cost,
                               claim->rule.limit);
    }

    return 1;
}


/* open claims that are not decided on this machine */

static ngx_uint_t
ngx_http_slidewin_delay_distant(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_uint_t                  n;
    ngx_http_slidewin_entry_t  *entry;

    n = 0;

    for (entry = *ctx->pass; entry; entry = entry->next) {
        n += (!entry->decided && !entry->store->local);
    }

    return n;
}


static ngx_http_slidewin_claim_t *
ngx_http_slidewin_delay_match(ngx_http_slidewin_claim_t **claims,
    ngx_uint_t n, ngx_http_slidewin_entry_t *entry)
{
    ngx_uint_t   i;
    ngx_str_t   *key;
    sw_rule_t   *one, *two;

    key = &entry->claim.key;
    two = &entry->claim.rule;

    for (i = 0; i < n; i++) {
        one = &claims[i]->rule;

        if (claims[i]->zone == entry->claim.zone && !entry->claim.dry_run
            && one->algorithm == two->algorithm && one->slices == two->slices
            && one->limit == entry->quota && one->window == two->window
            && claims[i]->key.len == key->len
            && ngx_memcmp(claims[i]->key.data, key->data, key->len) == 0)
        {
            return claims[i];
        }
    }

    return NULL;
}


/*
 * The one that asked need not stand in the line: several that ask for the same
 * are one question, and what was taken ahead is the first one's.
 */

void
ngx_http_slidewin_delay_grant(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_uint_t                  i;
    ngx_http_slidewin_line_t   *line;
    ngx_http_slidewin_entry_t  *entry;
    ngx_http_slidewin_grant_t  *grant;
    ngx_http_slidewin_store_t  *store;

    line = ctx->place ? ctx->place->line : NULL;
    store = NULL;

    for (i = 0; i < ctx->call.n; i++) {
        entry = (ngx_http_slidewin_entry_t *) ctx->call.claims[i];

        (void) ngx_http_slidewin_entry_verdict(entry);

        store = entry->store;

        if (line == NULL) {
            line = ngx_http_slidewin_delay_find(entry);
        }
    }

    grant = NULL;

    if (line && line->grant == NULL) {
        grant = ngx_http_slidewin_delay_create_grant(&ctx->call, store);
        line->grant = grant;
    }

    for (i = 0; i < ctx->call.n; i++) {
        if (grant == NULL) {
            ngx_http_slidewin_delay_return(store, ctx->call.claims[i]);
        }

        ctx->call.claims[i]->prefetch = 0;
    }

    if (grant && ctx->place == NULL) {
        ngx_http_slidewin_delay_wake_head(line);
    }
}


static ngx_http_slidewin_grant_t *
ngx_http_slidewin_delay_create_grant(ngx_http_slidewin_call_t *call,
    ngx_http_slidewin_store_t *store)
{
    size_t                      size;
    u_char                     *key;
    ngx_uint_t                  i;
    ngx_http_slidewin_claim_t  *claim;
    ngx_http_slidewin_grant_t  *grant;

    size = sizeof(ngx_http_slidewin_grant_t)
           + call->n * (sizeof(ngx_http_slidewin_claim_t)
                        + sizeof(ngx_http_slidewin_claim_t *));

    for (i = 0; i < call->n; i++) {
        size += call->claims[i]->key.len;
    }

    grant = ngx_alloc(size, ngx_cycle->log);
    if (grant == NULL) {
        return NULL;
    }

    claim = (ngx_http_slidewin_claim_t *) &grant[1];

    grant->store = store;
    grant->n = call->n;
    grant->claims = (ngx_http_slidewin_claim_t **) &claim[call->n];

    key = (u_char *) &grant->claims[call->n];

    for (i = 0; i < call->n; i++) {
        claim[i] = *call->claims[i];
        claim[i].key.data = key;
        key = ngx_cpymem(key, call->claims[i]->key.data, claim[i].key.len);
        grant->claims[i] = &claim[i];
    }

    return grant;
}


ngx_uint_t
ngx_http_slidewin_delay_granted(ngx_http_slidewin_ctx_t *ctx)
{
    int64_t                     left;
    ngx_uint_t                  i;
    ngx_http_slidewin_line_t   *line;
    ngx_http_slidewin_claim_t  *claim;
    ngx_http_slidewin_entry_t  *entry;
    ngx_http_slidewin_grant_t  *grant;

    line = ctx->place->line;
    grant = line->grant;

    if (grant == NULL || ctx->place != ngx_http_slidewin_delay_first(line)) {
        return 0;
    }

    for (entry = *ctx->pass; entry; entry = entry->next) {

        if (entry->decided || entry->store->local) {
            continue;
        }

        claim = ngx_http_slidewin_delay_match(grant->claims, grant->n, entry);

        if (claim == NULL || claim->prefetch < entry->claim.cost) {
            ngx_http_slidewin_delay_revoke(line);
            return 0;
        }
    }

    for (entry = *ctx->pass; entry; entry = entry->next) {

        if (entry->decided || entry->store->local) {
            continue;
        }

        claim = ngx_http_slidewin_delay_match(grant->claims, grant->n, entry);

        claim->prefetch -= entry->claim.cost;
        claim->verdict.remaining -= entry->claim.cost;
        claim->verdict.level += entry->claim.cost * claim->verdict.scale;

        entry->claim.rule.limit = entry->quota;
        entry->claim.verdict = claim->verdict;
        entry->claim.counted = 1;
        entry->claim.prefetch = 0;
    }

    left = 0;

    for (i = 0; i < grant->n; i++) {
        left += grant->claims[i]->prefetch;
    }

    if (left == 0) {
        ngx_http_slidewin_delay_revoke(line);
    }

    return 1;
}


/* what the line does not take goes back before it asks again */

static void
ngx_http_slidewin_delay_revoke(ngx_http_slidewin_line_t *line)
{
    ngx_uint_t                  i;
    ngx_http_slidewin_grant_t  *grant;

    grant = line->grant;

    if (grant == NULL) {
        return;
    }

    line->grant = NULL;

    for (i = 0; i < grant->n; i++) {
        ngx_http_slidewin_delay_return(grant->store, grant->claims[i]);
    }

    ngx_free(grant);
}


static void
ngx_http_slidewin_delay_return(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_claim_t *claim)
{
    ngx_http_slidewin_claim_t  rest;

    if (claim->prefetch == 0) {
        return;
    }

    rest = *claim;
    rest.cost = claim->prefetch;
    rest.prefetch = 0;

    ngx_http_slidewin_deny_cache_invalidate(&rest);
    ngx_http_slidewin_refund(store, &rest);
}


/* the first one asks now, unless it is asking */

static void
ngx_http_slidewin_delay_wake_head(ngx_http_slidewin_line_t *line)
{
    ngx_http_slidewin_place_t  *first;

    first = ngx_http_slidewin_delay_first(line);

    if (first->ctx->stands) {
        ngx_http_slidewin_delay_set_timer(first, 0);
    }
}


/*
 * To the clock that was read, not by the one of this turn: the event loop's
 * is behind it, and the turn would come too early.
 */

static void
ngx_http_slidewin_delay_set_timer(ngx_http_slidewin_place_t *place,
    int64_t due)
{
    ngx_msec_int_t  wait;

    if (place->timer.timer_set) {
        ngx_del_timer(&place->timer);
    }

    wait = due ? (ngx_msec_int_t) ((ngx_msec_t) due - ngx_current_msec) : 0;

    ngx_add_timer(&place->timer, (ngx_msec_t) ngx_max(wait, 0));
}
