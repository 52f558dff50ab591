
#ifndef _NGX_HTTP_SLIDEWIN_CONF_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_CONF_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_backend.h"
#include "ngx_http_slidewin_bans.h"
#include "ngx_http_slidewin_param.h"
#include "ngx_http_slidewin_stats.h"
#include "ngx_http_slidewin_top.h"
#include "sw_status.h"


/* slidewin_log_level off; below all levels that may be configured */
#define NGX_HTTP_SLIDEWIN_LOG_OFF               0

#define NGX_HTTP_SLIDEWIN_HEADERS_OFF           0x0001
#define NGX_HTTP_SLIDEWIN_HEADERS_IETF          0x0002
#define NGX_HTTP_SLIDEWIN_HEADERS_LEGACY_DELTA  0x0004
#define NGX_HTTP_SLIDEWIN_HEADERS_LEGACY_EPOCH  0x0008


typedef enum {
    NGX_HTTP_SLIDEWIN_ON_ERROR_LOCAL = 0,
    NGX_HTTP_SLIDEWIN_ON_ERROR_OPEN,
    NGX_HTTP_SLIDEWIN_ON_ERROR_CLOSED
} ngx_http_slidewin_on_error_e;


/* requests that the store of a policy did not decide */

typedef struct {
    ngx_uint_t                     requests;   /* 0: no outage */
    ngx_uint_t                     requests_logged;
    ngx_msec_t                     since;
    ngx_msec_t                     logged;     /* the last line */
    ngx_msec_t                     last;       /* the last request */
} ngx_http_slidewin_outage_t;


/* requests that are looked at for a key which is that of a proxy */

typedef struct {
    ngx_uint_t                     samples;
    ngx_uint_t                     hits;       /* of these: of the key */
    uint32_t                       hash;       /* of the key */
    ngx_msec_t                     since;
} ngx_http_slidewin_sampling_t;


/* slidewin_zone */

typedef struct {
    ngx_str_t                      name;
    ngx_http_slidewin_ref_t        zone_ref;   /* zone= */
    size_t                         size;
    ngx_http_complex_value_t       key;
    ngx_int_t                      variable;   /* its index, if the key is one
                                                * variable; or NGX_ERROR */
    ngx_http_complex_value_t      *rate;       /* NULL: as in the rule */
    ngx_str_t                      rate_text;  /* as configured */
    sw_rule_t                      rule;
    ngx_http_slidewin_zone_t      *zone;
    ngx_http_slidewin_store_t     *store;
    ngx_http_slidewin_ref_t        store_ref;
    ngx_http_slidewin_on_error_e   on_error;
    int64_t                        share;      /* percent */
    int64_t                        lease;      /* percent; 0: none */
    int64_t                        deny_cache; /* ms; 0: off */
    ngx_http_slidewin_ref_t        cache_ref;  /* lease= or deny_cache= */
    sw_ban_rule_t                  ban;        /* its time is 0: no bans */
    int64_t                        top_counters; /* 0: off */
    ngx_http_slidewin_top_t       *top;        /* NULL: off */
    ngx_http_slidewin_bans_t      *bans;       /* NULL: without ban= */
    ngx_http_slidewin_stats_t     *stats;

    /* of this worker */
    ngx_http_slidewin_zone_counters_t  *counters;
    ngx_http_slidewin_sampling_t   sampling;
    ngx_event_t                    lease_timer;
    ngx_msec_t                     lease_interval;
    ngx_http_slidewin_outage_t     outage;
    ngx_msec_t                     bad_logged;   /* last bad rate or cost */
    ngx_uint_t                     bad_skipped;  /* not logged since then */
    ngx_rbtree_t                   queues;       /* of delayed requests */
    ngx_rbtree_node_t              sentinel;
} ngx_http_slidewin_policy_t;


/* slidewin */

typedef struct {
    ngx_http_slidewin_policy_t    *policy;
    ngx_http_slidewin_ref_t        policy_ref;
    ngx_http_complex_value_t      *cost_value;  /* NULL: cost */
    int64_t                        cost;
    ngx_http_complex_value_t      *charge;      /* the true cost; NULL: cost */
    sw_statuses_t                 *count;       /* NULL: all */
    sw_statuses_t                 *reset;       /* NULL: none */
    int64_t                        delay;       /* ms */
    ngx_http_complex_value_t      *condition;   /* NULL: always */
    ngx_uint_t                     plain;       /* no condition, and a
                                                 * constant cost */
    ngx_uint_t                     changes;     /* something is done in the log
                                                 * phase */
    ngx_uint_t                     special;     /* changes, delay or bans */
    ngx_flag_t                     hidden;      /* in no RateLimit field */
    ngx_flag_t                     dry_run;
} ngx_http_slidewin_limit_t;


typedef struct {
    ngx_array_t                    policies;   /* .._policy_t * */
    ngx_array_t                    stores;     /* .._store_t * */
    ngx_array_t                    limits;     /* .._limit_t *, of all
                                                * locations */
    ngx_flag_t                     needs_log_phase;  /* for count=, reset=,
                                                * charge= */
    ngx_flag_t                     charges;    /* some limit has charge= */
    ngx_flag_t                     api;        /* some location has it */
    ngx_http_slidewin_store_t      local;
    ngx_http_slidewin_stats_t     *stats;      /* NULL: no zones */
} ngx_http_slidewin_main_conf_t;


typedef struct {
    ngx_uint_t                     prefix_v4;
    ngx_uint_t                     prefix_v6;
} ngx_http_slidewin_srv_conf_t;


typedef struct {
    ngx_array_t                   *limits;     /* .._limit_t *; NULL: none */
    ngx_uint_t                     status;
    ngx_uint_t                     log_level;
    ngx_flag_t                     log_key;
    ngx_uint_t                     headers;
    ngx_flag_t                     dry_run;
    int64_t                        retry_jitter;  /* ms */
    ngx_http_handler_pt            api;        /* slidewin_api */
    ngx_flag_t                     api_write;
    ngx_flag_t                     api_from_any;
} ngx_http_slidewin_loc_conf_t;


void *ngx_http_slidewin_create_main_conf(ngx_conf_t *cf);
void *ngx_http_slidewin_create_srv_conf(ngx_conf_t *cf);
char *ngx_http_slidewin_merge_srv_conf(ngx_conf_t *cf, void *parent,
    void *child);
void *ngx_http_slidewin_create_loc_conf(ngx_conf_t *cf);
char *ngx_http_slidewin_merge_loc_conf(ngx_conf_t *cf, void *parent,
    void *child);

/* the setters of directives: slidewin_zone, slidewin, slidewin_status, ... */
char *ngx_http_slidewin_conf_zone(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_slidewin_conf_limit(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_slidewin_conf_status(ngx_conf_t *cf, void *post, void *data);
char *ngx_http_slidewin_conf_log_level(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_slidewin_conf_headers(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_slidewin_conf_retry_jitter(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_slidewin_conf_client_prefix(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/* a store by name, for store=NAME; an empty name is the default store */
char *ngx_http_slidewin_conf_add_store(ngx_conf_t *cf,
    ngx_http_slidewin_store_t *store);

extern const ngx_str_t  ngx_http_slidewin_algorithms[];


/* a policy by the name of its zone, or NULL */
ngx_http_slidewin_policy_t *ngx_http_slidewin_conf_find_policy(
    ngx_http_slidewin_main_conf_t *smcf, ngx_str_t *name);

/* finds policies and stores by name, when all of http{} has been read */
ngx_int_t ngx_http_slidewin_conf_resolve(ngx_conf_t *cf);


#endif /* _NGX_HTTP_SLIDEWIN_CONF_H_INCLUDED_ */
