
/*
 * What a request has claimed and how it went.  It belongs to the main request
 * and lives as long as its pool: through internal redirects, for subrequests
 * that ask, until the access log is written.
 */


#ifndef _NGX_HTTP_SLIDEWIN_CTX_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_CTX_H_INCLUDED_


#include "ngx_http_slidewin_conf.h"


typedef enum {
    NGX_HTTP_SLIDEWIN_UNDECIDED = 0,
    NGX_HTTP_SLIDEWIN_BYPASSED,
    NGX_HTTP_SLIDEWIN_PASSED,
    NGX_HTTP_SLIDEWIN_DELAYED,
    NGX_HTTP_SLIDEWIN_ERROR_PASSED,
    NGX_HTTP_SLIDEWIN_REJECTED_DRY_RUN,
    NGX_HTTP_SLIDEWIN_REJECTED,
    NGX_HTTP_SLIDEWIN_ERROR_REJECTED
} ngx_http_slidewin_status_e;


typedef enum {
    NGX_HTTP_SLIDEWIN_SOURCE_NONE = 0,
    NGX_HTTP_SLIDEWIN_SOURCE_LOCAL,
    NGX_HTTP_SLIDEWIN_SOURCE_REDIS,
    NGX_HTTP_SLIDEWIN_SOURCE_LEASE,
    NGX_HTTP_SLIDEWIN_SOURCE_DENY_CACHE,
    NGX_HTTP_SLIDEWIN_SOURCE_FALLBACK,
    NGX_HTTP_SLIDEWIN_SOURCE_FAIL_OPEN,
    NGX_HTTP_SLIDEWIN_SOURCE_FAIL_CLOSED
} ngx_http_slidewin_source_e;


/* a limit as it applies to this request; stores see only the claim */

typedef struct ngx_http_slidewin_entry_s  ngx_http_slidewin_entry_t;
typedef struct ngx_http_slidewin_place_s  ngx_http_slidewin_place_t;
typedef struct ngx_http_slidewin_peek_s   ngx_http_slidewin_peek_t;

struct ngx_http_slidewin_entry_s {
    ngx_http_slidewin_claim_t      claim;      /* first: stores hand it back */
    ngx_http_slidewin_limit_t     *limit;
    ngx_http_slidewin_policy_t    *policy;
    int64_t                        cost;       /* with what was taken before */
    int64_t                        refund;     /* of what was counted */
    int64_t                        rate;       /* the limit, 0: it is bad */
    int64_t                        quota;      /* or the share of it */
    int64_t                        deadline;   /* ms; 0: never refused */
    ngx_http_slidewin_store_t     *store;
    ngx_http_slidewin_source_e     source;
    ngx_http_slidewin_entry_t     *next;
    unsigned                       decided:1;
    unsigned                       delayed:1;
    unsigned                       peeked:1;   /* at, or not to be */
    unsigned                       shadowed:1; /* another one of the policy
                                                * speaks for it */
    unsigned                       stays:1;    /* counted, whatever comes */
};


/*
 * A request passes the access phase once and again after each internal
 * redirect.  What a pass claims is the tail of the entries: it alone is decided
 * together, and it alone is given back if the pass refuses.  What a pass before
 * was charged has been served since.
 */

typedef struct {
    ngx_http_request_t            *request;
    ngx_http_slidewin_entry_t     *entries;
    ngx_http_slidewin_entry_t    **pass;       /* the entries of this one */
    ngx_http_slidewin_entry_t     *spare;      /* for the first location's */
    ngx_http_slidewin_call_t       call;
    ngx_http_slidewin_store_t     *waiting;    /* for this one's answer */
    ngx_http_slidewin_peek_t      *peek;       /* NULL: none so far */
    ngx_http_slidewin_entry_t     *decider;
    ngx_http_slidewin_status_e     status;
    ngx_uint_t                     headers;
    int64_t                        started;    /* us */
    int64_t                        latency;    /* us */
    int64_t                        jitter;     /* ms */
    ngx_http_slidewin_place_t     *place;      /* in a line; NULL: in none */
    ngx_uint_t                     undecided;  /* entries of this pass */
    ngx_uint_t                     answered;   /* the status, if it was */
    unsigned                       deciding:1;
    unsigned                       delayed:1;  /* and logged to be */
    unsigned                       stands:1;   /* and does not ask now */
    unsigned                       peeking:1;    /* it waits for no more */
    unsigned                       refused:1;
    unsigned                       rejected:1; /* and may not wait */
} ngx_http_slidewin_ctx_t;


/* NULL if no limit has applied to the request so far */
ngx_http_slidewin_ctx_t *ngx_http_slidewin_ctx_find(ngx_http_request_t *r);

/* with room for the claims of that many limits */
ngx_http_slidewin_ctx_t *ngx_http_slidewin_ctx_create(ngx_http_request_t *r,
    ngx_uint_t n);

/* it waits no more, neither for a store nor for its turn */
void ngx_http_slidewin_ctx_cancel(ngx_http_slidewin_ctx_t *ctx);

/* whether a store answered for it, so that its verdict means something */
ngx_uint_t ngx_http_slidewin_entry_known(ngx_http_slidewin_entry_t *entry);

/* of entries of one policy */
ngx_uint_t ngx_http_slidewin_same_client(ngx_http_slidewin_entry_t *one,
    ngx_http_slidewin_entry_t *two);

/* the whole of it, also what the store left for whoever asks */
sw_verdict_t *ngx_http_slidewin_entry_verdict(
    ngx_http_slidewin_entry_t *entry);

/* of an entry whose claim was counted */
void ngx_http_slidewin_entry_refund(ngx_http_slidewin_entry_t *entry);

/* what to tell a client that was refused, in s; SW_NEVER: nothing */
int64_t ngx_http_slidewin_retry_after(ngx_http_slidewin_ctx_t *ctx);

/* whole seconds that are not shorter than the time */
int64_t ngx_http_slidewin_seconds(int64_t ms);


#endif /* _NGX_HTTP_SLIDEWIN_CTX_H_INCLUDED_ */
