
/*
 * Figures copied from shared memory, so that what is formatted from them agrees
 * with itself and no lock is held meanwhile.  Those of a zone are of one
 * moment, when it is looked at first: all zones at once would take longer than
 * a turn of the event loop may.
 */


#ifndef _NGX_HTTP_SLIDEWIN_API_SNAPSHOT_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_API_SNAPSHOT_H_INCLUDED_


#include "ngx_http_slidewin_conf.h"
#include "ngx_http_slidewin_zone.h"


typedef struct {
    ngx_http_slidewin_policy_t            *policy;
    ngx_http_slidewin_zone_counters_t      counters;
    ngx_http_slidewin_zone_usage_t         usage;
    ngx_http_slidewin_suspect_t            suspect;    /* at 0: none */
    int64_t                                overflow;
    ngx_uint_t                             bans;
    ngx_uint_t                             bans_overflow;
} ngx_http_slidewin_zone_snapshot_t;


/* of all workers; the address is that of this one */

typedef struct {
    ngx_http_slidewin_store_t             *store;
    ngx_http_slidewin_store_counters_t     counters;
    ngx_http_slidewin_store_status_t       status;
    ngx_uint_t                             workers;
} ngx_http_slidewin_store_snapshot_t;


typedef struct {
    ngx_http_slidewin_main_conf_t         *smcf;
    ngx_http_slidewin_request_counters_t   requests;
    ngx_http_slidewin_zone_snapshot_t     *zones;
    ngx_uint_t                             nzones;
    ngx_uint_t                             zones_taken;
    ngx_http_slidewin_store_snapshot_t    *stores;
    ngx_uint_t                             nstores;
} ngx_http_slidewin_snapshot_all_t;


/* a worker's: from now on it publishes how it finds its stores */
void ngx_http_slidewin_api_start(ngx_http_slidewin_main_conf_t *smcf);
void ngx_http_slidewin_api_stop(ngx_http_slidewin_main_conf_t *smcf);

void ngx_http_slidewin_api_snapshot_zone(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_zone_snapshot_t *zone);

/* of requests, stores, and so far of no zone; NULL: no memory */
ngx_http_slidewin_snapshot_all_t *ngx_http_slidewin_api_snapshot(
    ngx_http_slidewin_main_conf_t *smcf, ngx_pool_t *pool);

/* the zone of that number is looked at: after those before it */
ngx_http_slidewin_zone_snapshot_t *ngx_http_slidewin_api_snapshot_take(
    ngx_http_slidewin_snapshot_all_t *all, ngx_uint_t i);

ngx_str_t *ngx_http_slidewin_api_store_name(ngx_http_slidewin_store_t *store);


/* outcomes, sources and kinds of errors as operators read them */

typedef struct {
    ngx_http_slidewin_status_e             status;
    ngx_str_t                              name;
} ngx_http_slidewin_api_outcome_t;

extern const ngx_http_slidewin_api_outcome_t
    ngx_http_slidewin_api_outcomes[];
extern const ngx_str_t  ngx_http_slidewin_api_errors[];
extern const ngx_str_t  ngx_http_slidewin_api_util_bounds[];
extern const ngx_str_t  ngx_http_slidewin_api_latency_bounds[];


#endif /* _NGX_HTTP_SLIDEWIN_API_SNAPSHOT_H_INCLUDED_ */
