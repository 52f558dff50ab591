
/*
 * The one interface of a store, where units are counted.  request/ knows stores
 * only by it.
 */


#ifndef _NGX_HTTP_SLIDEWIN_BACKEND_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_BACKEND_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "sw_ban.h"
#include "sw_window.h"


#define NGX_HTTP_SLIDEWIN_CLAIMS_MAX  32
#define NGX_HTTP_SLIDEWIN_NAME_MAX    64


typedef struct ngx_http_slidewin_zone_s   ngx_http_slidewin_zone_t;
typedef struct ngx_http_slidewin_store_s  ngx_http_slidewin_store_t;
typedef struct ngx_http_slidewin_call_s   ngx_http_slidewin_call_t;

/* in shared memory: see stats/ */
typedef struct ngx_http_slidewin_stats_s  ngx_http_slidewin_stats_t;
typedef struct ngx_http_slidewin_store_counters_s
    ngx_http_slidewin_store_counters_t;


/* how a worker finds a remote store, for operators */

typedef struct {
    ngx_uint_t                  connected;   /* connections that are ready */
    ngx_uint_t                  needed;      /* connections */
    ngx_uint_t                  open;        /* breakers */
    ngx_uint_t                  probing;     /* breakers */
    ngx_uint_t                  in_flight;   /* checks */
    ngx_int_t                   slots;       /* covered; -1: no cluster */
    ngx_msec_t                  timeout;
    u_char                      address[128];  /* terminated */
} ngx_http_slidewin_store_status_t;


/* what a request asks of one policy, and the verdict */

typedef struct {
    ngx_http_slidewin_zone_t   *zone;
    ngx_str_t                   name;      /* the policy's */
    ngx_str_t                   key;       /* not empty */
    sw_rule_t                   rule;
    int64_t                     cost;      /* 0 peeks */
    int64_t                     prefetch;  /* units to take as well; taken */
    sw_verdict_t                verdict;   /* to be completed, if read */

    const sw_ban_rule_t        *ban;       /* NULL: no bans; no store touches
                                            * what is about them */
    int64_t                     banned;    /* ms left; 0: not banned */

    u_char                      dry_run;   /* written for each request: no */
    u_char                      counted;   /* bits, which take 9 instructions */
    unsigned                    refund_if_left:1; /* by its request */
    unsigned                    begins_ban:1; /* if it is rejected */
    unsigned                    ban_began:1;  /* by this claim's rejection */
    unsigned                    dry_ban:1;    /* dry runs' bans are others */
    uint32_t                    may_wait;     /* ms; then a rejection begins no
                                               * ban */
} ngx_http_slidewin_claim_t;


/*
 * Up to NGX_HTTP_SLIDEWIN_CLAIMS_MAX claims that are decided together, no two
 * of the same zone.  They belong to the caller and stay where they are until
 * the call is done or cancelled.
 */

struct ngx_http_slidewin_call_s {
    ngx_http_slidewin_claim_t **claims;
    ngx_uint_t                  n;
    ngx_log_t                  *log;
    int64_t                     asked_at;  /* us; the verdict is not older */
    int64_t                     decided_at;  /* us, if the store has read a
                                              * clock by the way; or 0 */

    /*
     * After NGX_AGAIN the store calls on_reject, unless it is NULL, when the
     * call was rejected: whether other calls that ask for the same may have
     * its verdict; on_reject asks no store.  And done, once, from an event of
     * the store's own.
     */
    ngx_uint_t                (*on_reject)(ngx_http_slidewin_call_t *call);
    void                      (*done)(ngx_http_slidewin_call_t *call,
                                      ngx_int_t rc);
    void                       *data;      /* the caller's */
    void                       *pending;   /* the store's */
};


/*
 * take      checks all claims and counts all or none.  An enforced claim that
 *           is rejected leaves every claim uncounted; a dry-run claim that is
 *           rejected leaves the dry-run claims uncounted.  A claim with a rule
 *           for bans is rejected while its client is banned, whatever the cost;
 *           if it begins_ban, a rejection for lack of room begins a ban in the
 *           same step, unless there would be room before may_wait is over.
 * peek      gives each claim the verdict that take would give it alone, and
 *           counts nothing.  claims[n] is one more claim, for the store to use.
 *           No claim begins_ban.
 * reset     forgets the keys, and the bans of claims with a rule for them: with
 *           dry_ban those of dry runs alone.  Verdicts are not touched.
 * give_back uncounts what take counted, each claim at its verdict's stamp.
 * charge    counts the cost of the one claim of the call, whether there is room
 *           or not, but no more than a state can hold.  The store may change
 *           the claim.
 *
 * All return NGX_OK when done, NGX_AGAIN when done will be called, or NGX_ERROR
 * with nothing changed.  take may also return NGX_BUSY with nothing changed,
 * and done may be called with it: the store is well, but too many calls wait.
 *
 * cancel    forgets a call that was left waiting: done is not called.  The call
 *           may be counted or not, as when a client leaves a moment later.
 * reassign  puts a replacement, a copy of the call, in the place of a call that
 *           was left waiting; NGX_DECLINED if the call was not sent and need
 *           not be.
 * shard     claims of different shards cannot be decided in one call.
 * status    tells how this worker finds the store.
 *
 * init_process and exit_process are a worker's; all but take, reset,
 * give_back and charge may be NULL.
 */

typedef struct {
    ngx_int_t                 (*take)(ngx_http_slidewin_store_t *store,
                                      ngx_http_slidewin_call_t *call);
    ngx_int_t                 (*peek)(ngx_http_slidewin_store_t *store,
                                      ngx_http_slidewin_call_t *call);
    ngx_int_t                 (*reset)(ngx_http_slidewin_store_t *store,
                                       ngx_http_slidewin_call_t *call);
    ngx_int_t                 (*give_back)(ngx_http_slidewin_store_t *store,
                                           ngx_http_slidewin_call_t *call);
    ngx_int_t                 (*charge)(ngx_http_slidewin_store_t *store,
                                        ngx_http_slidewin_call_t *call);
    void                      (*cancel)(ngx_http_slidewin_store_t *store,
                                        ngx_http_slidewin_call_t *call);
    ngx_int_t                 (*reassign)(ngx_http_slidewin_store_t *store,
                                       ngx_http_slidewin_call_t *call,
                                       ngx_http_slidewin_call_t *replacement);
    ngx_uint_t                (*shard)(ngx_http_slidewin_store_t *store,
                                       ngx_http_slidewin_claim_t *claim);
    void                      (*status)(ngx_http_slidewin_store_t *store,
                                        ngx_http_slidewin_store_status_t
                                            *status);
    ngx_int_t                 (*init_process)(
                                        ngx_http_slidewin_store_t *store);
    void                      (*exit_process)(
                                        ngx_http_slidewin_store_t *store);
} ngx_http_slidewin_backend_t;


struct ngx_http_slidewin_store_s {
    ngx_str_t                           name;
    const ngx_http_slidewin_backend_t  *backend;
    void                               *data;
    ngx_http_slidewin_stats_t          *stats;    /* NULL: local */
    ngx_http_slidewin_store_counters_t *counters; /* of this worker */
    uint16_t                            origin;   /* differs by store */
    unsigned                            local:1;
    unsigned                            used:1;   /* by a limit, the API */
};


#endif /* _NGX_HTTP_SLIDEWIN_BACKEND_H_INCLUDED_ */
