
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_conf.h"
#include "ngx_http_slidewin_module.h"
#include "ngx_http_slidewin_shm.h"
#include "sw_parse.h"


#define NGX_HTTP_SLIDEWIN_DENY_CACHE        1000   /* ms */

/* with count=, reset=, charge= other machines refund or reset without notice */
#define NGX_HTTP_SLIDEWIN_DENY_CACHE_SHORT  100    /* ms */


static ngx_http_slidewin_store_t *ngx_http_slidewin_conf_find_store(
    ngx_http_slidewin_main_conf_t *smcf, ngx_str_t *name);
static ngx_int_t ngx_http_slidewin_conf_log_fits(ngx_conf_t *cf,
    ngx_http_slidewin_policy_t *policy, int64_t entries);
static ngx_int_t ngx_http_slidewin_conf_add_stats(ngx_conf_t *cf,
    ngx_http_slidewin_main_conf_t *smcf);


char *
ngx_http_slidewin_conf_status(ngx_conf_t *cf, void *post, void *data)
{
    ngx_int_t  *status = data;

    if (*status >= 400 && *status <= 599) {
        return NGX_CONF_OK;
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "value must be between 400 and 599 in "
                       "\"slidewin_status\" directive, not %i", *status);

    return NGX_CONF_ERROR;
}


char *
ngx_http_slidewin_conf_log_level(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_slidewin_loc_conf_t  *slcf = conf;

    ngx_str_t        *value;
    ngx_conf_enum_t  *e;

    static ngx_conf_enum_t  levels[] = {
        { ngx_string("off"), NGX_HTTP_SLIDEWIN_LOG_OFF },
        { ngx_string("info"), NGX_LOG_INFO },
        { ngx_string("notice"), NGX_LOG_NOTICE },
        { ngx_string("warn"), NGX_LOG_WARN },
        { ngx_string("error"), NGX_LOG_ERR },
        { ngx_null_string, 0 }
    };

    if (slcf->log_level != NGX_CONF_UNSET_UINT) {
        return "is duplicate";
    }

    value = cf->args->elts;

    for (e = levels; e->name.len; e++) {
        if (ngx_http_slidewin_str_eq(&value[1], &e->name)) {
            break;
        }
    }

    if (e->name.len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid value \"%V\" in \"%V\" directive, it "
                           "must be \"off\", \"info\", \"notice\", \"warn\" "
                           "or \"error\"", &value[1], &cmd->name);
        return NGX_CONF_ERROR;
    }

    slcf->log_level = e->value;
    slcf->log_key = 0;

    if (cf->args->nelts == 2) {
        return NGX_CONF_OK;
    }

    if (slcf->log_level == NGX_HTTP_SLIDEWIN_LOG_OFF) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid parameter \"%V\" after \"off\" in "
                           "\"%V\" directive", &value[2], &cmd->name);
        return NGX_CONF_ERROR;
    }

    if (ngx_strcmp(value[2].data, "key=on") != 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid parameter \"%V\" in \"%V\" directive, "
                           "it must be \"key=on\"", &value[2], &cmd->name);
        return NGX_CONF_ERROR;
    }

    slcf->log_key = 1;

    return NGX_CONF_OK;
}


char *
ngx_http_slidewin_conf_headers(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_slidewin_loc_conf_t  *slcf = conf;

    ngx_str_t        *value;
    ngx_uint_t        i;
    ngx_conf_enum_t  *e;

    static ngx_conf_enum_t  forms[] = {
        { ngx_string("off"), NGX_HTTP_SLIDEWIN_HEADERS_OFF },
        { ngx_string("ietf"), NGX_HTTP_SLIDEWIN_HEADERS_IETF },
        { ngx_string("legacy"), NGX_HTTP_SLIDEWIN_HEADERS_LEGACY_DELTA },
        { ngx_string("legacy=delta"), NGX_HTTP_SLIDEWIN_HEADERS_LEGACY_DELTA },
        { ngx_string("legacy=epoch"), NGX_HTTP_SLIDEWIN_HEADERS_LEGACY_EPOCH },
        { ngx_null_string, 0 }
    };

    if (slcf->headers) {
        return "is duplicate";
    }

    value = cf->args->elts;

    for (i = 1; i < cf->args->nelts; i++) {

        for (e = forms; e->name.len; e++) {
            if (ngx_http_slidewin_str_eq(&value[i], &e->name)) {
                break;
            }
        }

        /* "off" alone, or each form once */

        if (e->name.len == 0
            || (slcf->headers && e->value == NGX_HTTP_SLIDEWIN_HEADERS_OFF)
            || (slcf->headers & NGX_HTTP_SLIDEWIN_HEADERS_OFF)
            || ((slcf->headers & NGX_HTTP_SLIDEWIN_HEADERS_IETF)
                && e->value == NGX_HTTP_SLIDEWIN_HEADERS_IETF)
            || ((slcf->headers & ~NGX_HTTP_SLIDEWIN_HEADERS_IETF)
                && e->value != NGX_HTTP_SLIDEWIN_HEADERS_IETF))
        {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "invalid value \"%V\" in \"%V\" directive, it "
                               "must be \"off\", or \"ietf\" and \"legacy\", "
                               "\"legacy=delta\" or \"legacy=epoch\"",
                               &value[i], &cmd->name);
            return NGX_CONF_ERROR;
        }

        slcf->headers |= e->value;
    }

    return NGX_CONF_OK;
}


char *
ngx_http_slidewin_conf_retry_jitter(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    ngx_http_slidewin_loc_conf_t  *slcf = conf;

    ngx_str_t  *value;

    if (slcf->retry_jitter != NGX_CONF_UNSET) {
        return "is duplicate";
    }

    value = cf->args->elts;
    slcf->retry_jitter = 0;

    if (ngx_strcmp(value[1].data, "0") == 0
        || sw_parse_period((char *) value[1].data, value[1].len,
                           &slcf->retry_jitter)
           == SW_OK)
    {
        return NGX_CONF_OK;
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "invalid value \"%V\" in \"%V\" directive, it must "
                       "be a time, or 0 for none", &value[1], &cmd->name);

    return NGX_CONF_ERROR;
}


char *
ngx_http_slidewin_conf_client_prefix(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    ngx_http_slidewin_srv_conf_t  *sscf = conf;

    int64_t      prefix;
    ngx_str_t   *value;
    ngx_uint_t   i, max;

    if (sscf->prefix_v4 != NGX_CONF_UNSET_UINT) {
        return "is duplicate";
    }

    value = cf->args->elts;

    for (i = 1; i < 3; i++) {
        max = (i == 1) ? 32 : 128;

        if (sw_parse_count((char *) value[i].data, value[i].len, max,
                           &prefix)
            != SW_OK)
        {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "invalid prefix \"%V\" in \"%V\" directive, "
                               "it must be from 0 to %ui",
                               &value[i], &cmd->name, max);
            return NGX_CONF_ERROR;
        }

        if (i == 1) {
            sscf->prefix_v4 = prefix;

        } else {
            sscf->prefix_v6 = prefix;
        }
    }

    return NGX_CONF_OK;
}


ngx_http_slidewin_policy_t *
ngx_http_slidewin_conf_find_policy(ngx_http_slidewin_main_conf_t *smcf,
    ngx_str_t *name)
{
    ngx_uint_t                    i;
    ngx_http_slidewin_policy_t  **policies;

    policies = smcf->policies.elts;

    for (i = 0; i < smcf->policies.nelts; i++) {
        if (ngx_http_slidewin_str_eq(&policies[i]->name, name)) {
            return policies[i];
        }
    }

    return NULL;
}


static ngx_http_slidewin_store_t *
ngx_http_slidewin_conf_find_store(ngx_http_slidewin_main_conf_t *smcf,
    ngx_str_t *name)
{
    ngx_uint_t                   i;
    ngx_http_slidewin_store_t  **stores;

    stores = smcf->stores.elts;

    for (i = 0; i < smcf->stores.nelts; i++) {
        if (ngx_http_slidewin_str_eq(&stores[i]->name, name)) {
            return stores[i];
        }
    }

    return NULL;
}


char *
ngx_http_slidewin_conf_add_store(ngx_conf_t *cf,
    ngx_http_slidewin_store_t *store)
{
    ngx_http_slidewin_store_t     **elt;
    ngx_http_slidewin_main_conf_t  *smcf;

    smcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_slidewin_module);

    if (ngx_http_slidewin_conf_find_store(smcf, &store->name)) {
        return "is duplicate";
    }

    elt = ngx_array_push(&smcf->stores);
    if (elt == NULL) {
        return NGX_CONF_ERROR;
    }

    *elt = store;

    return NGX_CONF_OK;
}


ngx_int_t
ngx_http_slidewin_conf_resolve(ngx_conf_t *cf)
{
    ngx_str_t                       *masked;
    ngx_uint_t                       i;
    ngx_http_slidewin_limit_t      **limits;
    ngx_http_slidewin_policy_t     **policies, *policy;
    ngx_http_slidewin_main_conf_t   *smcf;

    smcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_slidewin_module);

    policies = smcf->policies.elts;

    for (i = 0; i < smcf->policies.nelts; i++) {
        policy = policies[i];
        policy->store = ngx_http_slidewin_conf_find_store(
                            smcf, &policy->store_ref.name);

        if (policy->store == NULL && policy->store_ref.name.len) {

            /* store= may have got a URL, with a password */

            masked = ngx_http_slidewin_param_masked(cf,
                                                    &policy->store_ref.name);
            if (masked == NULL) {
                return NGX_ERROR;
            }

            ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                          "unknown slidewin store \"%V\" in %V:%ui", masked,
                          &policy->store_ref.file, policy->store_ref.line);
            return NGX_ERROR;
        }

        if (policy->store == NULL) {
            policy->store = &smcf->local;
        }

        if (policy->store->local && policy->cache_ref.name.len) {
            ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                          "invalid parameter \"%V\" in \"slidewin_zone\" "
                          "directive, zone \"%V\" counts in shared memory "
                          "in %V:%ui", &policy->cache_ref.name, &policy->name,
                          &policy->cache_ref.file, policy->cache_ref.line);
            return NGX_ERROR;
        }

        if (ngx_http_slidewin_conf_log_fits(cf, policy, policy->rule.limit)
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    limits = smcf->limits.elts;

    for (i = 0; i < smcf->limits.nelts; i++) {
        limits[i]->policy = ngx_http_slidewin_conf_find_policy(smcf,
                                                  &limits[i]->policy_ref.name);
        if (limits[i]->policy == NULL) {
            ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                          "unknown slidewin zone \"%V\" in %V:%ui",
                          &limits[i]->policy_ref.name,
                          &limits[i]->policy_ref.file,
                          limits[i]->policy_ref.line);
            return NGX_ERROR;
        }

        limits[i]->plain = limits[i]->condition == NULL
                           && limits[i]->cost_value == NULL
                           && limits[i]->charge == NULL;

        limits[i]->changes = limits[i]->count || limits[i]->reset
                             || limits[i]->charge;

        limits[i]->special = limits[i]->changes || limits[i]->delay
                             || limits[i]->policy->ban.time;

        limits[i]->policy->store->used = 1;

        if (limits[i]->charge) {
            smcf->charges = 1;

            /* a request may have an entry for what its estimate has left out */

            if (ngx_http_slidewin_conf_log_fits(cf, limits[i]->policy,
                                            2 * limits[i]->policy->rule.limit)
                != NGX_OK)
            {
                return NGX_ERROR;
            }
        }

        if (limits[i]->count || limits[i]->reset || limits[i]->charge) {
            smcf->needs_log_phase = 1;

            ngx_conf_init_value(limits[i]->policy->deny_cache,
                                limits[i]->policy->store->local
                                    ? 0 : NGX_HTTP_SLIDEWIN_DENY_CACHE_SHORT);
        }
    }

    for (i = 0; i < smcf->policies.nelts; i++) {
        ngx_conf_init_value(policies[i]->deny_cache,
                            policies[i]->store->local
                                ? 0 : NGX_HTTP_SLIDEWIN_DENY_CACHE);

        /* operators may ask for keys of a zone that no limit uses */

        if (smcf->api) {
            policies[i]->store->used = 1;
        }
    }

    return ngx_http_slidewin_conf_add_stats(cf, smcf);
}


/* a log without memory rejects earlier than it should */

static ngx_int_t
ngx_http_slidewin_conf_log_fits(ngx_conf_t *cf,
    ngx_http_slidewin_policy_t *policy, int64_t entries)
{
    int64_t  size;

    size = entries * (int64_t) sizeof(sw_log_entry_t);

    if (!policy->store->local || policy->rule.algorithm != SW_LOG
        || policy->rate || size <= (int64_t) (policy->size / 2))
    {
        return NGX_OK;
    }

    ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                  "zone \"%V\" is too small, the log of one client may take "
                  "%LK in %V:%ui", &policy->zone_ref.name, size / 1024 + 1,
                  &policy->zone_ref.file, policy->zone_ref.line);

    return NGX_ERROR;
}


static ngx_int_t
ngx_http_slidewin_conf_add_stats(ngx_conf_t *cf,
    ngx_http_slidewin_main_conf_t *smcf)
{
    ngx_uint_t                    i;
    ngx_http_slidewin_store_t   **stores;
    ngx_http_slidewin_policy_t  **policies, *policy;

    static ngx_str_t  all = ngx_string("all");

    if (smcf->policies.nelts == 0) {
        return NGX_OK;
    }

    smcf->stats = ngx_http_slidewin_stats_add(cf, "requests", &all,
                              sizeof(ngx_http_slidewin_request_counters_t), 0);
    if (smcf->stats == NULL) {
        return NGX_ERROR;
    }

    policies = smcf->policies.elts;

    for (i = 0; i < smcf->policies.nelts; i++) {
        policy = policies[i];

        policy->stats = ngx_http_slidewin_stats_add(cf, "zone", &policy->name,
                                 sizeof(ngx_http_slidewin_zone_counters_t),
                                 sizeof(ngx_http_slidewin_zone_facts_t));
        if (policy->stats == NULL) {
            return NGX_ERROR;
        }

        if (policy->ban.time) {
            policy->bans = ngx_http_slidewin_bans_add_zone(cf, &policy->name,
                                                 policy->top_counters != 0,
                                                 policy->store->local
                                                     ? policy->size : 0,
                                                 policy->store->origin);
            if (policy->bans == NULL) {
                return NGX_ERROR;
            }
        }

        if (policy->top_counters == 0) {
            continue;
        }

        policy->top = ngx_http_slidewin_top_add_zone(cf, &policy->name,
                                                     policy->top_counters);
        if (policy->top == NULL) {
            return NGX_ERROR;
        }
    }

    stores = smcf->stores.elts;

    for (i = 0; i < smcf->stores.nelts; i++) {

        if (stores[i]->local) {
            continue;
        }

        stores[i]->stats = ngx_http_slidewin_stats_add(cf, "store",
                                 &stores[i]->name,
                                 sizeof(ngx_http_slidewin_store_counters_t),
                                 sizeof(ngx_http_slidewin_store_facts_t));
        if (stores[i]->stats == NULL) {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


void *
ngx_http_slidewin_create_main_conf(ngx_conf_t *cf)
{
    ngx_http_slidewin_store_t      **elt;
    ngx_http_slidewin_main_conf_t   *smcf;

    smcf = ngx_pcalloc(cf->pool, sizeof(ngx_http_slidewin_main_conf_t));
    if (smcf == NULL) {
        return NULL;
    }

    if (ngx_array_init(&smcf->policies, cf->pool, 4,
                       sizeof(ngx_http_slidewin_policy_t *))
        != NGX_OK
        || ngx_array_init(&smcf->limits, cf->pool, 4,
                          sizeof(ngx_http_slidewin_limit_t *))
           != NGX_OK
        || ngx_array_init(&smcf->stores, cf->pool, 4,
                          sizeof(ngx_http_slidewin_store_t *))
           != NGX_OK)
    {
        return NULL;
    }

    ngx_str_set(&smcf->local.name, "local");
    smcf->local.backend = &ngx_http_slidewin_shm_backend;
    smcf->local.local = 1;

    elt = ngx_array_push(&smcf->stores);
    if (elt == NULL) {
        return NULL;
    }

    *elt = &smcf->local;

    return smcf;
}


void *
ngx_http_slidewin_create_srv_conf(ngx_conf_t *cf)
{
    ngx_http_slidewin_srv_conf_t  *sscf;

    sscf = ngx_palloc(cf->pool, sizeof(ngx_http_slidewin_srv_conf_t));
    if (sscf == NULL) {
        return NULL;
    }

    sscf->prefix_v4 = NGX_CONF_UNSET_UINT;
    sscf->prefix_v6 = NGX_CONF_UNSET_UINT;

    return sscf;
}


char *
ngx_http_slidewin_merge_srv_conf(ngx_conf_t *cf, void *parent, void *child)
{
    ngx_http_slidewin_srv_conf_t  *prev = parent;
    ngx_http_slidewin_srv_conf_t  *conf = child;

    ngx_conf_merge_uint_value(conf->prefix_v4, prev->prefix_v4, 32);
    ngx_conf_merge_uint_value(conf->prefix_v6, prev->prefix_v6, 64);

    return NGX_CONF_OK;
}


void *
ngx_http_slidewin_create_loc_conf(ngx_conf_t *cf)
{
    ngx_http_slidewin_loc_conf_t  *slcf;

    slcf = ngx_palloc(cf->pool, sizeof(ngx_http_slidewin_loc_conf_t));
    if (slcf == NULL) {
        return NULL;
    }

    slcf->limits = NGX_CONF_UNSET_PTR;
    slcf->status = NGX_CONF_UNSET_UINT;
    slcf->log_level = NGX_CONF_UNSET_UINT;
    slcf->log_key = NGX_CONF_UNSET;
    slcf->headers = 0;
    slcf->dry_run = NGX_CONF_UNSET;
    slcf->retry_jitter = NGX_CONF_UNSET;

    /* not inherited */

    slcf->api = NULL;
    slcf->api_write = 0;
    slcf->api_from_any = 0;

    return slcf;
}


char *
ngx_http_slidewin_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child)
{
    ngx_http_slidewin_loc_conf_t  *prev = parent;
    ngx_http_slidewin_loc_conf_t  *conf = child;

    ngx_http_core_loc_conf_t  *clcf;

    ngx_conf_merge_ptr_value(conf->limits, prev->limits, NULL);

    /* "if" and "limit_except" are parts of their location, not others in it */

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (prev->api && clcf->noname && clcf->handler == NULL) {
        clcf->handler = prev->api;

        conf->api = prev->api;
        conf->api_write = prev->api_write;
        conf->api_from_any = prev->api_from_any;
    }

    /* operators must get in when a limit is what is wrong */

    if (conf->api) {
        conf->limits = NULL;
    }

    ngx_conf_merge_uint_value(conf->status, prev->status,
                              NGX_HTTP_TOO_MANY_REQUESTS);
    ngx_conf_merge_uint_value(conf->log_level, prev->log_level, NGX_LOG_ERR);
    ngx_conf_merge_value(conf->log_key, prev->log_key, 0);
    ngx_conf_merge_bitmask_value(conf->headers, prev->headers,
                                 NGX_HTTP_SLIDEWIN_HEADERS_OFF);
    ngx_conf_merge_value(conf->dry_run, prev->dry_run, 0);
    ngx_conf_merge_value(conf->retry_jitter, prev->retry_jitter, 0);

    return NGX_CONF_OK;
}
