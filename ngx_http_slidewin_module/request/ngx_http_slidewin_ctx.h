
/*
 * What a request has claimed, and what was decided.  The context belongs to the
 * main request and lives as long as its pool: through internal redirects, for
 * variables of subrequests, until the access log is written.
 */


#ifndef _NGX_HTTP_SLIDEWIN_CTX_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_CTX_H_INCLUDED_


#include "ngx_http_slidewin_conf.h"
#include "ngx_http_slidewin_delay_queue.h"
#include "ngx_http_slidewin_module.h"
#include "ngx_http_slidewin_stats.h"


typedef struct ngx_http_slidewin_entry_s  ngx_http_slidewin_entry_t;
typedef struct ngx_http_slidewin_peek_s   ngx_http_slidewin_peek_t;
typedef struct ngx_http_slidewin_ban_s    ngx_http_slidewin_ban_t;
typedef struct ngx_http_slidewin_ctx_s    ngx_http_slidewin_ctx_t;


/*
 * A claim with its limit.  Stores see the claim alone, which is first, so that
 * a claim of a call is the entry as well.
 */

struct ngx_http_slidewin_entry_s {
    ngx_http_slidewin_claim_t      claim;
    ngx_http_slidewin_limit_t     *limit;
    ngx_http_slidewin_policy_t    *policy;
    int64_t                        cost;       /* with what earlier passes
                                                * took for the policy; the true
                                                * one when that is known */
    int64_t                        change;     /* in the log phase: units to
                                                * charge; below 0: to refund */
    int64_t                        rate;       /* the limit; 0: bad */
    ngx_str_t                      rate_text;  /* if it is from a variable */
    int64_t                        quota;      /* rate, or on_error's share */
    int64_t                        asked_at;   /* us: the store, with ban=; 0:
                                                * it was not */
    int64_t                        deadline;   /* of waiting, ms; 0: not
                                                * rejected so far */
    ngx_http_slidewin_store_t     *store;      /* the policy's, or fallback */
    ngx_http_slidewin_entry_t     *next;
    ngx_http_slidewin_source_e     source;
    unsigned                       decided:1;
    unsigned                       delayed:1;
    unsigned                       peeked:1;   /* or not to be peeked at */
    unsigned                       wait_refused:1; /* too long, or too many of
                                                * the client wait */
    unsigned                       ban_deferred:1; /* until the wait is
                                                * refused */
    unsigned                       superseded:1; /* by another entry of the
                                                  * policy */
    unsigned                       status_ignored:1; /* the final one: nothing
                                                * changes by it */
    unsigned                       charge_read:1;
    unsigned                       charged:1;  /* cost is the true one */
    unsigned                       settles:1;  /* for its policy and client */
    unsigned                       settles_charge:1; /* to a true cost */
};


/*
 * A pass is one run of the access phase: the first, and one after each internal
 * redirect.  Its entries are the tail of the list.  They alone are decided
 * together, and refunded if the pass rejects: what an earlier pass took has
 * been served since.
 */

struct ngx_http_slidewin_ctx_s {
    ngx_http_request_t            *request;
    ngx_http_slidewin_entry_t     *entries;
    ngx_http_slidewin_entry_t    **pass;       /* the first of this pass */
    ngx_http_slidewin_entry_t     *allocated;  /* for the first pass */
    ngx_http_slidewin_entry_t     *bypassed;   /* by if=, or an empty key: of
                                                * these the policy is set */
    ngx_http_slidewin_call_t       call;
    ngx_http_slidewin_store_t     *pending;    /* of a pending call, or NULL */
    ngx_http_slidewin_peek_t      *peek;       /* NULL: none so far */
    ngx_http_slidewin_ban_t       *ban;        /* NULL: none so far */
    ngx_http_slidewin_waiter_t    *waiter;     /* NULL: in no queue */
    ngx_http_slidewin_entry_t     *decider;
    ngx_http_slidewin_status_e     status;
    uint32_t                       headers;
    int64_t                        started;    /* us */
    int64_t                        latency;    /* us */
    uint32_t                       jitter;     /* ms */
    uint32_t                       undecided;  /* entries of this pass */
    uint32_t                       sent_status;  /* 0: no header was sent */
    unsigned                       deciding:1;
    unsigned                       delay_logged:1;
    unsigned                       peek_pending:1;
    unsigned                       ban_pending:1;
    unsigned                       has_delays:1; /* some limit has */
    unsigned                       has_changes:1; /* count=, reset= or */
    unsigned                       has_charges:1; /* charge= */
    unsigned                       has_bans:1; /* some policy has */
    unsigned                       ban_deferred:1; /* of some entry */
    unsigned                       rejected:1; /* by an entry of this pass */
    unsigned                       no_wait:1;  /* delay= applies no more */
    unsigned                       recorded:1; /* in the statistics */
};


/* hooks: a request ends that is not recorded yet; it leaves a pending call */
extern void  (*ngx_http_slidewin_ctx_end)(ngx_http_slidewin_ctx_t *ctx);
extern void  (*ngx_http_slidewin_ctx_abandon)(ngx_http_slidewin_ctx_t *ctx);


/* the same after an internal redirect, which has cleared r->ctx */
ngx_http_slidewin_ctx_t *ngx_http_slidewin_ctx_find_again(
    ngx_http_request_t *r);

/* with memory for the entries of n limits */
ngx_http_slidewin_ctx_t *ngx_http_slidewin_ctx_create(ngx_http_request_t *r,
    ngx_uint_t n);

/* ends waiting for a store, and in a queue */
void ngx_http_slidewin_ctx_cancel(ngx_http_slidewin_ctx_t *ctx);

/* refunds what this pass has counted: all of it, or by dry runs */
void ngx_http_slidewin_pass_refund(ngx_http_slidewin_ctx_t *ctx,
    ngx_uint_t all);

/* whether a store answered, so that the verdict has figures to tell */
ngx_uint_t ngx_http_slidewin_entry_has_verdict(
    ngx_http_slidewin_entry_t *entry);

/* of entries of one policy */
ngx_uint_t ngx_http_slidewin_same_client(ngx_http_slidewin_entry_t *one,
    ngx_http_slidewin_entry_t *two);

/* with the members that a store leaves to be computed when they are read */
sw_verdict_t *ngx_http_slidewin_entry_verdict(
    ngx_http_slidewin_entry_t *entry);

/* of an entry whose claim was counted */
void ngx_http_slidewin_entry_refund(ngx_http_slidewin_entry_t *entry);

/* by a policy or by a ban, not because a store did not answer */

static ngx_inline ngx_uint_t
ngx_http_slidewin_ctx_must_wait(ngx_http_slidewin_ctx_t *ctx)
{
    return ctx->rejected && ctx->status != NGX_HTTP_SLIDEWIN_ERROR_REJECTED;
}


/* of a rejection, in s; SW_NEVER: none */
int64_t ngx_http_slidewin_retry_after(ngx_http_slidewin_ctx_t *ctx);

/* rounded up */
int64_t ngx_http_slidewin_seconds(int64_t ms);


/* NULL if no limit has applied to the request so far */

static ngx_inline ngx_http_slidewin_ctx_t *
ngx_http_slidewin_ctx_find(ngx_http_request_t *r)
{
    ngx_http_slidewin_ctx_t  *ctx;

    r = r->main;
    ctx = ngx_http_get_module_ctx(r, ngx_http_slidewin_module);

    if (ctx || (!r->internal && !r->filter_finalize)) {
        return ctx;
    }

    return ngx_http_slidewin_ctx_find_again(r);
}


static ngx_inline void
ngx_http_slidewin_ctx_dequeue(ngx_http_slidewin_ctx_t *ctx)
{
    if (ctx->waiter) {
        ngx_http_slidewin_delay_dequeue(ctx->waiter);
        ctx->waiter = NULL;
    }
}


extern ngx_str_t  ngx_http_slidewin_statuses[];
extern ngx_str_t  ngx_http_slidewin_sources[];


#endif /* _NGX_HTTP_SLIDEWIN_CTX_H_INCLUDED_ */
