
#ifndef _NGX_HTTP_SLIDEWIN_CONF_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_CONF_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_backend.h"
#include "ngx_http_slidewin_param.h"
#include "sw_status.h"


/* of slidewin_log_level, below every level that it may name */
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


/* requests that the store of a policy did not decide, while it lasts */

typedef struct {
    ngx_uint_t                     requests;   /* 0: it decides them */
    ngx_uint_t                     requests_told;
    ngx_msec_t                     since;
    ngx_msec_t                     told;
    ngx_msec_t                     last;
} ngx_http_slidewin_outage_t;


/* slidewin_zone */

typedef struct {
    ngx_str_t                      name;
    ngx_http_slidewin_ref_t        zone_ref;   /* the parameter */
    size_t                         size;
    ngx_http_complex_value_t       key;
    ngx_int_t                      variable;   /* if it is the whole key */
    ngx_http_complex_value_t      *rate;       /* NULL: as in the rule */
    sw_rule_t                      rule;
    ngx_http_slidewin_zone_t      *zone;
    ngx_http_slidewin_store_t     *store;
    ngx_http_slidewin_ref_t        store_ref;
    ngx_http_slidewin_on_error_e   on_error;
    int64_t                        share;      /* percent */
    int64_t                        lease;      /* percent; 0: none */
    int64_t                        deny_cache; /* ms; 0: off */
    ngx_http_slidewin_ref_t        edge_ref;   /* the one of these there is */

    /* a worker's */
    ngx_event_t                    lease_timer;
    ngx_msec_t                     lease_watch;
    ngx_http_slidewin_outage_t     outage;
    ngx_msec_t                     bad_told;   /* of a rate or a cost */
    ngx_uint_t                     bad_left;   /* out of the log since then */
    ngx_rbtree_t                   lines;      /* of those that wait */
    ngx_rbtree_node_t              sentinel;
} ngx_http_slidewin_policy_t;


/* slidewin */

typedef struct {
    ngx_http_slidewin_policy_t    *policy;
    ngx_http_slidewin_ref_t        policy_ref;
    ngx_http_complex_value_t      *cost_value;  /* NULL: cost */
    int64_t                        cost;
    sw_statuses_t                 *count;       /* NULL: whatever comes */
    sw_statuses_t                 *reset;       /* NULL: none */
    int64_t                        delay;       /* ms */
    ngx_http_complex_value_t      *condition;   /* NULL: always */
    ngx_flag_t                     hidden;      /* in no RateLimit field */
    ngx_flag_t                     dry_run;
} ngx_http_slidewin_limit_t;


typedef struct {
    ngx_array_t                    policies;   /* .._policy_t * */
    ngx_array_t                    stores;     /* .._store_t * */
    ngx_array_t                    limits;     /* .._limit_t *, everywhere */
    ngx_flag_t                     finals;     /* some look at the status */
    ngx_http_slidewin_store_t      local;
} ngx_http_slidewin_main_conf_t;


typedef struct {
    ngx_uint_t                     prefix_v4;
    ngx_uint_t                     prefix_v6;
} ngx_http_slidewin_srv_conf_t;


typedef struct {
    ngx_array_t                   *limits;     /* .._limit_t *; NULL: none */
    ngx_uint_t                     status;
    ngx_uint_t                     log_level;
    ngx_flag_t                     log_key;    /* the client's, in the line */
    ngx_uint_t                     headers;
    ngx_flag_t                     dry_run;
    int64_t                        retry_jitter;  /* ms */
} ngx_http_slidewin_loc_conf_t;


void *ngx_http_slidewin_create_main_conf(ngx_conf_t *cf);
void *ngx_http_slidewin_create_srv_conf(ngx_conf_t *cf);
char *ngx_http_slidewin_merge_srv_conf(ngx_conf_t *cf, void *parent,
    void *child);
void *ngx_http_slidewin_create_loc_conf(ngx_conf_t *cf);
char *ngx_http_slidewin_merge_loc_conf(ngx_conf_t *cf, void *parent,
    void *child);

/* slidewin_zone and slidewin */
char *ngx_http_slidewin_conf_zone(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_slidewin_conf_limit(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/* a store by name, for store=NAME; an empty name is the default store */
char *ngx_http_slidewin_conf_add_store(ngx_conf_t *cf,
    ngx_http_slidewin_store_t *store);

/* names to what they name, when all of http{} has been read */
ngx_int_t ngx_http_slidewin_conf_resolve(ngx_conf_t *cf);


extern ngx_command_t  ngx_http_slidewin_commands[];


#endif /* _NGX_HTTP_SLIDEWIN_CONF_H_INCLUDED_ */
