
/*
 * Statistics in shared memory.  Each zone, each remote store and the whole of
 * the requests have a block of their own, so that a reload keeps what it can:
 * blocks of zones that stay are the same memory, whatever else is added or
 * removed, and also if the zone itself changes its size.
 *
 * Counters are added to atomically, and never reset.  Those of a block are
 * spread over slots, so that workers do not write to the same cache lines; a
 * reader adds the slots up.  A worker that dies loses nothing.
 */


#ifndef _NGX_HTTP_SLIDEWIN_STATS_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_STATS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_backend.h"
#include "sw_bucket.h"


/* a worker has the slot of its number, modulo this */
#define NGX_HTTP_SLIDEWIN_STATS_SLOTS   32

#define NGX_HTTP_SLIDEWIN_CACHE_LINE    64


/* of a request, or of one policy; in the order of gravity */

typedef enum {
    NGX_HTTP_SLIDEWIN_UNDECIDED = 0,
    NGX_HTTP_SLIDEWIN_BYPASSED,
    NGX_HTTP_SLIDEWIN_PASSED,
    NGX_HTTP_SLIDEWIN_DELAYED,
    NGX_HTTP_SLIDEWIN_ERROR_PASSED,
    NGX_HTTP_SLIDEWIN_REJECTED_DRY_RUN,
    NGX_HTTP_SLIDEWIN_REJECTED,
    NGX_HTTP_SLIDEWIN_BANNED,
    NGX_HTTP_SLIDEWIN_ERROR_REJECTED,
    NGX_HTTP_SLIDEWIN_STATUSES
} ngx_http_slidewin_status_e;


/* by a policy or by a ban, but not because a store did not answer */

#define ngx_http_slidewin_status_is_rejection(status)                         \
    ((status) == NGX_HTTP_SLIDEWIN_REJECTED                                   \
     || (status) == NGX_HTTP_SLIDEWIN_BANNED)


typedef enum {
    NGX_HTTP_SLIDEWIN_SOURCE_NONE = 0,
    NGX_HTTP_SLIDEWIN_SOURCE_LOCAL,
    NGX_HTTP_SLIDEWIN_SOURCE_REDIS,
    NGX_HTTP_SLIDEWIN_SOURCE_LEASE,
    NGX_HTTP_SLIDEWIN_SOURCE_DENY_CACHE,
    NGX_HTTP_SLIDEWIN_SOURCE_FALLBACK,
    NGX_HTTP_SLIDEWIN_SOURCE_FAIL_OPEN,
    NGX_HTTP_SLIDEWIN_SOURCE_FAIL_CLOSED,
    NGX_HTTP_SLIDEWIN_SOURCES
} ngx_http_slidewin_source_e;


/* why a remote store did not decide */

typedef enum {
    NGX_HTTP_SLIDEWIN_ERROR_TIMEOUT = 0,
    NGX_HTTP_SLIDEWIN_ERROR_CONNECT,       /* a connection was not made */
    NGX_HTTP_SLIDEWIN_ERROR_LOST,          /* a connection was lost */
    NGX_HTTP_SLIDEWIN_ERROR_REPLY,         /* the reply was an error */
    NGX_HTTP_SLIDEWIN_ERROR_BAD_REPLY,     /* the reply made no sense */
    NGX_HTTP_SLIDEWIN_ERROR_FOREIGN_KEY,   /* the key has something else */
    NGX_HTTP_SLIDEWIN_ERROR_OVERLOAD,      /* too many waited */
    NGX_HTTP_SLIDEWIN_ERRORS
} ngx_http_slidewin_error_e;


/* all below are arrays of ngx_atomic_t, to be added up as such */

typedef struct {
    ngx_atomic_t                  decisions[NGX_HTTP_SLIDEWIN_STATUSES];
} ngx_http_slidewin_request_counters_t;


typedef struct {
    ngx_atomic_t                  evaluations[NGX_HTTP_SLIDEWIN_STATUSES]
                                             [NGX_HTTP_SLIDEWIN_SOURCES];
    ngx_atomic_t                  utilization[SW_UTILIZATION_BUCKETS];
    ngx_atomic_t                  utilization_sum;
    ngx_atomic_t                  evicted_idle;    /* nodes that expired */
    ngx_atomic_t                  evicted_live;
    ngx_atomic_t                  bans;            /* that began here */
    ngx_atomic_t                  charges_settled;
    ngx_atomic_t                  charges_estimated;
} ngx_http_slidewin_zone_counters_t;


struct ngx_http_slidewin_store_counters_s {
    ngx_atomic_t                  latency[SW_LATENCY_BUCKETS];
    ngx_atomic_t                  latency_sum;     /* us */
    ngx_atomic_t                  errors[NGX_HTTP_SLIDEWIN_ERRORS];
    ngx_atomic_t                  calls;           /* checks that were sent */
    ngx_atomic_t                  checks;          /* requests of these */
    ngx_atomic_t                  reconnects;
    ngx_atomic_t                  scripts_loaded;
};


/* one key has nearly all of a zone, and looks like a proxy's */

typedef struct {
    ngx_atomic_t                  at;        /* s; the last time; 0: never */
    ngx_atomic_t                  since;     /* s; the first time */
    ngx_atomic_t                  logged;    /* s; 0: never */
    ngx_atomic_t                  share;     /* percent */
    ngx_atomic_t                  len;
    u_char                        key[64];   /* the address */
} ngx_http_slidewin_suspect_t;


/* what else a zone has to tell */

typedef struct {
    ngx_http_slidewin_suspect_t   suspect;
} ngx_http_slidewin_zone_facts_t;


/* how a worker finds a store, written by the worker now and then */

typedef struct {
    ngx_atomic_t                       pid;  /* 0: none */
    ngx_http_slidewin_store_status_t   status;
} ngx_http_slidewin_store_process_t;


typedef struct {
    ngx_atomic_t                       n;    /* processes that were ever used */
    ngx_http_slidewin_store_process_t  processes[NGX_MAX_PROCESSES];
} ngx_http_slidewin_store_facts_t;


/* a block: of a size that depends on nothing but its kind */

struct ngx_http_slidewin_stats_s {
    ngx_str_t                     name;
    size_t                        stride;    /* of a slot */
    size_t                        facts_size;
    u_char                       *slots;     /* in shared memory */
    void                         *facts;     /* the same, behind the slots */
    ngx_atomic_t                 *used;      /* the same: slots to read */
    time_t                        since;     /* it was made */
};


ngx_http_slidewin_stats_t *ngx_http_slidewin_stats_add(ngx_conf_t *cf,
    const char *kind, ngx_str_t *name, size_t counters_size,
    size_t facts_size);

/* the slot of this worker */
void *ngx_http_slidewin_stats_slot(ngx_http_slidewin_stats_t *stats);

/* adds up size bytes of counters over all slots */
void ngx_http_slidewin_stats_sum(ngx_http_slidewin_stats_t *stats,
    void *counters, size_t size);


static ngx_inline void
ngx_http_slidewin_stats_count(ngx_atomic_t *counter, ngx_atomic_int_t n)
{
    (void) ngx_atomic_fetch_add(counter, n);
}


static ngx_inline void
ngx_http_slidewin_stats_error(ngx_http_slidewin_store_counters_t *counters,
    ngx_http_slidewin_error_e error)
{
    if (counters) {
        ngx_http_slidewin_stats_count(&counters->errors[error], 1);
    }
}


static ngx_inline void
ngx_http_slidewin_stats_latency(ngx_http_slidewin_store_counters_t *counters,
    int64_t us)
{
    us = ngx_max(us, 0);

    ngx_http_slidewin_stats_count(&counters->latency[sw_latency_bucket(us)],
                                  1);
    ngx_http_slidewin_stats_count(&counters->latency_sum,
                                  (ngx_atomic_int_t) us);
}


/* level of so many units that are all that may be used */

static ngx_inline void
ngx_http_slidewin_stats_utilization(
    ngx_http_slidewin_zone_counters_t *counters, int64_t level, int64_t all)
{
    int64_t  ratio;

    if (all <= 0) {
        return;
    }

    ratio = sw_utilization(level, all);

    ngx_http_slidewin_stats_count(
                        &counters->utilization[sw_utilization_bucket(ratio)],
                        1);
    ngx_http_slidewin_stats_count(&counters->utilization_sum,
                                  (ngx_atomic_int_t) ratio);
}


#endif /* _NGX_HTTP_SLIDEWIN_STATS_H_INCLUDED_ */
