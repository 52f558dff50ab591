
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_api.h"
#include "ngx_http_slidewin_api_snapshot.h"
#include "ngx_http_slidewin_ban.h"
#include "ngx_http_slidewin_conf.h"
#include "ngx_http_slidewin_lease.h"
#include "ngx_http_slidewin_module.h"
#include "ngx_http_slidewin_record.h"
#include "ngx_http_slidewin_redis.h"
#include "ngx_http_slidewin_request.h"
#include "ngx_http_slidewin_zone.h"


static ngx_int_t ngx_http_slidewin_init(ngx_conf_t *cf);
static ngx_int_t ngx_http_slidewin_init_module(ngx_cycle_t *cycle);
static ngx_int_t ngx_http_slidewin_init_process(ngx_cycle_t *cycle);
static void ngx_http_slidewin_init_counters(
    ngx_http_slidewin_main_conf_t *smcf);
static void ngx_http_slidewin_exit_process(ngx_cycle_t *cycle);
static ngx_http_slidewin_main_conf_t *ngx_http_slidewin_process_conf(
    ngx_cycle_t *cycle);


static ngx_conf_post_t  ngx_http_slidewin_status_post = {
    ngx_http_slidewin_conf_status
};


static ngx_command_t  ngx_http_slidewin_commands[] = {

    { ngx_string("slidewin_redis"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_1MORE,
      ngx_http_slidewin_redis_directive,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("slidewin_zone"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_2MORE,
      ngx_http_slidewin_conf_zone,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("slidewin"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF
                        |NGX_HTTP_LIF_CONF|NGX_CONF_1MORE,
      ngx_http_slidewin_conf_limit,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("slidewin_status"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_num_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_slidewin_loc_conf_t, status),
      &ngx_http_slidewin_status_post },

    { ngx_string("slidewin_log_level"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE12,
      ngx_http_slidewin_conf_log_level,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("slidewin_headers"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE12,
      ngx_http_slidewin_conf_headers,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("slidewin_dry_run"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_FLAG,
      ngx_conf_set_flag_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_slidewin_loc_conf_t, dry_run),
      NULL },

    { ngx_string("slidewin_retry_jitter"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_http_slidewin_conf_retry_jitter,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("slidewin_client_prefix"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_CONF_TAKE2,
      ngx_http_slidewin_conf_client_prefix,
      NGX_HTTP_SRV_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("slidewin_api"),
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS|NGX_CONF_TAKE12,
      ngx_http_slidewin_api_directive,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

      ngx_null_command
};


static ngx_http_module_t  ngx_http_slidewin_module_ctx = {
    ngx_http_slidewin_variables_add,       /* preconfiguration */
    ngx_http_slidewin_init,                /* postconfiguration */

    ngx_http_slidewin_create_main_conf,    /* create main configuration */
    NULL,                                  /* init main configuration */

    ngx_http_slidewin_create_srv_conf,     /* create server configuration */
    ngx_http_slidewin_merge_srv_conf,      /* merge server configuration */

    ngx_http_slidewin_create_loc_conf,     /* create location configuration */
    ngx_http_slidewin_merge_loc_conf       /* merge location configuration */
};


ngx_module_t  ngx_http_slidewin_module = {
    NGX_MODULE_V1,
    &ngx_http_slidewin_module_ctx,         /* module context */
    ngx_http_slidewin_commands,            /* module directives */
    NGX_HTTP_MODULE,                       /* module type */
    NULL,                                  /* init master */
    ngx_http_slidewin_init_module,         /* init module */
    ngx_http_slidewin_init_process,        /* init process */
    NULL,                                  /* init thread */
    NULL,                                  /* exit thread */
    ngx_http_slidewin_exit_process,        /* exit process */
    NULL,                                  /* exit master */
    NGX_MODULE_V1_PADDING
};


/*
 * nginx runs access handlers from the last registered to the first.  This one
 * is registered after nginx's own, in static and dynamic builds, and so runs
 * before allow, deny, auth_basic and auth_request: a guess at a password is
 * counted before it is checked, and "satisfy any" does not bypass the limit.
 */

static ngx_int_t
ngx_http_slidewin_init(ngx_conf_t *cf)
{
    ngx_http_handler_pt            *h;
    ngx_http_core_main_conf_t      *cmcf;
    ngx_http_slidewin_main_conf_t  *smcf;

    if (ngx_http_slidewin_conf_resolve(cf) != NGX_OK) {
        return NGX_ERROR;
    }

    smcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_slidewin_module);

    /* without limits the module costs nothing */

    if (smcf->limits.nelts == 0) {
        return NGX_OK;
    }

    cmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);

    h = ngx_array_push(&cmcf->phases[NGX_HTTP_ACCESS_PHASE].handlers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    *h = ngx_http_slidewin_handler;

    if (smcf->needs_log_phase) {
        h = ngx_array_push(&cmcf->phases[NGX_HTTP_LOG_PHASE].handlers);
        if (h == NULL) {
            return NGX_ERROR;
        }

        *h = ngx_http_slidewin_log_handler;
    }

    if (smcf->charges) {
        h = ngx_array_push(&cmcf->phases[NGX_HTTP_PREACCESS_PHASE].handlers);
        if (h == NULL) {
            return NGX_ERROR;
        }

        *h = ngx_http_slidewin_post_action_handler;
    }

    ngx_http_slidewin_headers_init();

    return NGX_OK;
}


/*
 * nginx comes here at its start, at each reload and for "nginx -t".  The flag
 * is new with each file that was loaded: a reload that brings another version
 * logs it, a reload with the same file does not.
 */

static ngx_int_t
ngx_http_slidewin_init_module(ngx_cycle_t *cycle)
{
    static ngx_uint_t  logged;

    if (ngx_test_config || logged) {
        return NGX_OK;
    }

    logged = 1;

    ngx_log_error(NGX_LOG_NOTICE, cycle->log, 0,
                  "slidewin " NGX_HTTP_SLIDEWIN_VERSION);

    return NGX_OK;
}


static ngx_int_t
ngx_http_slidewin_init_process(ngx_cycle_t *cycle)
{
    ngx_uint_t                       i;
    ngx_http_slidewin_store_t      **stores;
    ngx_http_slidewin_policy_t     **policies;
    ngx_http_slidewin_main_conf_t   *smcf;

    smcf = ngx_http_slidewin_process_conf(cycle);

    if (smcf == NULL) {
        return NGX_OK;
    }

    ngx_http_slidewin_init_counters(smcf);

    stores = smcf->stores.elts;

    for (i = 0; i < smcf->stores.nelts; i++) {
        if (stores[i]->used && stores[i]->backend->init_process
            && stores[i]->backend->init_process(stores[i]) != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    policies = smcf->policies.elts;

    for (i = 0; i < smcf->policies.nelts; i++) {
        if (policies[i]->lease && policies[i]->store->used) {
            ngx_http_slidewin_lease_start(policies[i]);
        }
    }

    if (smcf->api) {
        ngx_http_slidewin_api_start(smcf);
    }

    return NGX_OK;
}


/* of this worker */

static void
ngx_http_slidewin_init_counters(ngx_http_slidewin_main_conf_t *smcf)
{
    ngx_uint_t                    i;
    ngx_http_slidewin_store_t   **stores;
    ngx_http_slidewin_policy_t  **policies;

    if (smcf->stats == NULL) {
        return;
    }

    ngx_http_slidewin_ban_init();
    ngx_http_slidewin_record_init(ngx_http_slidewin_stats_slot(smcf->stats));

    policies = smcf->policies.elts;

    for (i = 0; i < smcf->policies.nelts; i++) {
        policies[i]->counters = ngx_http_slidewin_stats_slot(
                                    policies[i]->stats);
        ngx_http_slidewin_zone_set_counters(policies[i]->zone,
                                            policies[i]->counters);
    }

    stores = smcf->stores.elts;

    for (i = 0; i < smcf->stores.nelts; i++) {
        if (stores[i]->stats) {
            stores[i]->counters = ngx_http_slidewin_stats_slot(
                                      stores[i]->stats);
        }
    }
}


static void
ngx_http_slidewin_exit_process(ngx_cycle_t *cycle)
{
    ngx_uint_t                       i;
    ngx_http_slidewin_store_t      **stores;
    ngx_http_slidewin_policy_t     **policies;
    ngx_http_slidewin_main_conf_t   *smcf;

    smcf = ngx_http_slidewin_process_conf(cycle);

    if (smcf == NULL) {
        return;
    }

    if (smcf->api) {
        ngx_http_slidewin_api_stop(smcf);
    }

    policies = smcf->policies.elts;

    for (i = 0; i < smcf->policies.nelts; i++) {
        if (policies[i]->lease && policies[i]->store->used) {
            ngx_http_slidewin_lease_stop(policies[i]);
        }
    }

    ngx_http_slidewin_report_skipped();

    stores = smcf->stores.elts;

    for (i = 0; i < smcf->stores.nelts; i++) {
        if (stores[i]->used && stores[i]->backend->exit_process) {
            stores[i]->backend->exit_process(stores[i]);
        }
    }
}


/* NULL in processes that serve no requests, such as the cache manager */

static ngx_http_slidewin_main_conf_t *
ngx_http_slidewin_process_conf(ngx_cycle_t *cycle)
{
    if (ngx_process != NGX_PROCESS_WORKER && ngx_process != NGX_PROCESS_SINGLE)
    {
        return NULL;
    }

    return ngx_http_cycle_get_module_main_conf(cycle,
                                               ngx_http_slidewin_module);
}
