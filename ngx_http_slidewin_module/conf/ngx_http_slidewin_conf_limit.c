
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_conf.h"
#include "ngx_http_slidewin_module.h"
#include "sw_parse.h"


/* a waiting request holds a connection, and a worker that is to exit */
#define NGX_HTTP_SLIDEWIN_DELAY_MAX  3600000    /* ms */


static char *ngx_http_slidewin_conf_limit_zone(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_conf_limit_cost(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_conf_limit_charge(ngx_conf_t *cf,
    ngx_str_t *arg, ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_conf_limit_statuses(ngx_conf_t *cf,
    ngx_str_t *arg, ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_conf_limit_delay(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_conf_limit_if(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_conf_limit_headers(ngx_conf_t *cf,
    ngx_str_t *arg, ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_conf_limit_dry_run(ngx_conf_t *cf,
    ngx_str_t *arg, ngx_str_t *value, void *conf);


static const ngx_http_slidewin_param_t
    ngx_http_slidewin_conf_limit_params[] = {
    { ngx_string("zone="), ngx_http_slidewin_conf_limit_zone, 0 },
    { ngx_string("cost="), ngx_http_slidewin_conf_limit_cost, 0 },
    { ngx_string("charge="), ngx_http_slidewin_conf_limit_charge, 0 },
    { ngx_string("count="), ngx_http_slidewin_conf_limit_statuses,
      offsetof(ngx_http_slidewin_limit_t, count) },
    { ngx_string("reset="), ngx_http_slidewin_conf_limit_statuses,
      offsetof(ngx_http_slidewin_limit_t, reset) },
    { ngx_string("delay="), ngx_http_slidewin_conf_limit_delay, 0 },
    { ngx_string("if="), ngx_http_slidewin_conf_limit_if, 0 },
    { ngx_string("headers="), ngx_http_slidewin_conf_limit_headers, 0 },
    { ngx_string("dry_run"), ngx_http_slidewin_conf_limit_dry_run, 0 },
    { ngx_null_string, NULL, 0 }
};


char *
ngx_http_slidewin_conf_limit(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    ngx_http_slidewin_loc_conf_t  *slcf = conf;

    char                           *rv;
    int64_t                         status;
    ngx_str_t                      *value;
    ngx_uint_t                      i;
    ngx_http_slidewin_limit_t      *limit, **limits, **elt;
    ngx_http_slidewin_main_conf_t  *smcf;

    value = cf->args->elts;

    if (value[1].len == 3 && ngx_strncmp(value[1].data, "off", 3) == 0) {

        if (slcf->limits != NGX_CONF_UNSET_PTR) {
            return "is duplicate";
        }

        if (cf->args->nelts > 2) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "invalid parameter \"%V\" after \"off\" in "
                               "\"slidewin\" directive", &value[2]);
            return NGX_CONF_ERROR;
        }

        slcf->limits = NULL;

        return NGX_CONF_OK;
    }

    limit = ngx_pcalloc(cf->pool, sizeof(ngx_http_slidewin_limit_t));
    if (limit == NULL) {
        return NGX_CONF_ERROR;
    }

    limit->cost = 1;

    rv = ngx_http_slidewin_params_set(cf, 1,
                                      ngx_http_slidewin_conf_limit_params,
                                      limit);
    if (rv != NGX_CONF_OK) {
        return rv;
    }

    if (limit->policy_ref.name.len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"slidewin\" must have \"zone\" parameter");
        return NGX_CONF_ERROR;
    }

    /* an estimate of 0 would let in any number of requests at once */

    if (limit->charge) {
        limit->cost = ngx_max(limit->cost, 1);
    }

    if (limit->count && limit->reset) {
        status = sw_statuses_common(limit->count, limit->reset);

        if (status) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "status %L is in both \"count\" and "
                               "\"reset\" of \"slidewin\" directive",
                               status);
            return NGX_CONF_ERROR;
        }
    }

    if (slcf->limits == NULL) {
        return "is duplicate";
    }

    if (slcf->limits == NGX_CONF_UNSET_PTR) {
        slcf->limits = ngx_array_create(cf->pool, 1,
                                        sizeof(ngx_http_slidewin_limit_t *));
        if (slcf->limits == NULL) {
            return NGX_CONF_ERROR;
        }
    }

    limits = slcf->limits->elts;

    for (i = 0; i < slcf->limits->nelts; i++) {
        if (ngx_http_slidewin_str_eq(&limits[i]->policy_ref.name,
                                     &limit->policy_ref.name))
        {
            return "is duplicate";
        }
    }

    if (slcf->limits->nelts == NGX_HTTP_SLIDEWIN_CLAIMS_MAX) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "too many \"slidewin\" directives, at most %d may "
                           "apply together", NGX_HTTP_SLIDEWIN_CLAIMS_MAX);
        return NGX_CONF_ERROR;
    }

    elt = ngx_array_push(slcf->limits);
    if (elt == NULL) {
        return NGX_CONF_ERROR;
    }

    *elt = limit;

    smcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_slidewin_module);

    elt = ngx_array_push(&smcf->limits);
    if (elt == NULL) {
        return NGX_CONF_ERROR;
    }

    *elt = limit;

    return NGX_CONF_OK;
}


static char *
ngx_http_slidewin_conf_limit_zone(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_limit_t  *limit = conf;

    if (value->len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid zone name \"%V\" in \"slidewin\" "
                           "directive", arg);
        return NGX_CONF_ERROR;
    }

    ngx_http_slidewin_param_set_ref(cf, &limit->policy_ref, value);

    return NGX_CONF_OK;
}


static char *
ngx_http_slidewin_conf_limit_cost(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_limit_t  *limit = conf;

    if (ngx_http_script_variables_count(value)) {
        limit->cost_value = ngx_http_slidewin_param_compile(cf, value);
        return limit->cost_value ? NGX_CONF_OK : NGX_CONF_ERROR;
    }

    if (sw_parse_count((char *) value->data, value->len,
                       SW_PRODUCT_MAX, &limit->cost)
        != SW_OK)
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid cost \"%V\" in \"slidewin\" directive, "
                           "it must be a whole number or a variable", arg);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


/* a charge that is the same for all requests is a cost, or "$" was forgotten */

static char *
ngx_http_slidewin_conf_limit_charge(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_limit_t  *limit = conf;

    if (ngx_http_script_variables_count(value) == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid charge \"%V\" in \"slidewin\" directive, "
                           "it must have a variable", arg);
        return NGX_CONF_ERROR;
    }

    limit->charge = ngx_http_slidewin_param_compile(cf, value);

    return limit->charge ? NGX_CONF_OK : NGX_CONF_ERROR;
}


static char *
ngx_http_slidewin_conf_limit_statuses(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    sw_statuses_t  **set = conf;

    *set = ngx_palloc(cf->pool, sizeof(sw_statuses_t));
    if (*set == NULL) {
        return NGX_CONF_ERROR;
    }

    if (sw_parse_statuses((char *) value->data, value->len, *set) != SW_OK) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid statuses \"%V\" in \"slidewin\" "
                           "directive, they must be from %d to %d or classes "
                           "as 4xx, with commas between them",
                           arg, SW_STATUS_MIN, SW_STATUS_MAX);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


static char *
ngx_http_slidewin_conf_limit_delay(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_limit_t  *limit = conf;

    int64_t  number;

    if (sw_parse_period((char *) value->data, value->len, &limit->delay)
        != SW_OK || limit->delay > NGX_HTTP_SLIDEWIN_DELAY_MAX)
    {
        /* limit_req has delay=5, a number of requests */

        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid delay \"%V\" in \"slidewin\" "
                           "directive, it must be a time from 1ms to 1h%s",
                           arg,
                           sw_parse_cost((char *) value->data, value->len,
                                         &number)
                           == SW_OK
                               ? " that a request may wait, such as delay=2s, "
                                 "and not a number of requests"
                               : "");
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


/* in a text without a variable a "$" was forgotten */

static char *
ngx_http_slidewin_conf_limit_if(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_limit_t  *limit = conf;

    if (ngx_http_script_variables_count(value) == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid condition \"%V\" in \"slidewin\" "
                           "directive, it must have a variable", arg);
        return NGX_CONF_ERROR;
    }

    limit->condition = ngx_http_slidewin_param_compile(cf, value);

    return limit->condition ? NGX_CONF_OK : NGX_CONF_ERROR;
}


static char *
ngx_http_slidewin_conf_limit_headers(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_limit_t  *limit = conf;

    if (ngx_strcmp(value->data, "off") != 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid headers \"%V\" in \"slidewin\" "
                           "directive, it must be \"headers=off\"", arg);
        return NGX_CONF_ERROR;
    }

    limit->hidden = 1;

    return NGX_CONF_OK;
}


static char *
ngx_http_slidewin_conf_limit_dry_run(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_limit_t  *limit = conf;

    limit->dry_run = 1;

    return NGX_CONF_OK;
}
