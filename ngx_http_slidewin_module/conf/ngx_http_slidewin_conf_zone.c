
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_conf.h"
#include "ngx_http_slidewin_module.h"
#include "ngx_http_slidewin_zone.h"
#include "sw_parse.h"


/* clients that a zone tells among the most rejected */
#define NGX_HTTP_SLIDEWIN_TOP       128
#define NGX_HTTP_SLIDEWIN_TOP_MAX   10000

/* for so long this machine may not notice that a limit was raised elsewhere */
#define NGX_HTTP_SLIDEWIN_DENY_MAX  60000    /* ms */


/* what is known while the parameters of a line are read, in any order */

typedef struct {
    ngx_http_slidewin_policy_t  *policy;
    ngx_str_t                    rate_arg;
    ngx_uint_t                   slices_set;
} ngx_http_slidewin_policy_args_t;


static ngx_int_t ngx_http_slidewin_conf_zone_variable(ngx_conf_t *cf,
    ngx_http_complex_value_t *key);
static char *ngx_http_slidewin_conf_zone_name(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_conf_zone_rate(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_conf_zone_algorithm(ngx_conf_t *cf,
    ngx_str_t *arg, ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_conf_zone_slices(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_conf_zone_store(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_conf_zone_on_error(ngx_conf_t *cf,
    ngx_str_t *arg, ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_conf_zone_lease(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_conf_zone_deny_cache(ngx_conf_t *cf,
    ngx_str_t *arg, ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_conf_zone_ban(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_conf_zone_top(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf);
static char *ngx_http_slidewin_conf_zone_check(ngx_conf_t *cf,
    ngx_http_slidewin_policy_args_t *args);


static const ngx_http_slidewin_param_t  ngx_http_slidewin_conf_zone_params[] = {
    { ngx_string("zone="), ngx_http_slidewin_conf_zone_name, 0 },
    { ngx_string("rate="), ngx_http_slidewin_conf_zone_rate, 0 },
    { ngx_string("algorithm="), ngx_http_slidewin_conf_zone_algorithm, 0 },
    { ngx_string("slices="), ngx_http_slidewin_conf_zone_slices, 0 },
    { ngx_string("store="), ngx_http_slidewin_conf_zone_store, 0 },
    { ngx_string("on_error="), ngx_http_slidewin_conf_zone_on_error, 0 },
    { ngx_string("lease="), ngx_http_slidewin_conf_zone_lease, 0 },
    { ngx_string("deny_cache="), ngx_http_slidewin_conf_zone_deny_cache, 0 },
    { ngx_string("ban="), ngx_http_slidewin_conf_zone_ban, 0 },
    { ngx_string("top="), ngx_http_slidewin_conf_zone_top, 0 },
    { ngx_null_string, NULL, 0 }
};


const ngx_str_t  ngx_http_slidewin_algorithms[] = {
    [SW_COUNTER] = ngx_string("counter"),
    [SW_FIXED] = ngx_string("fixed"),
    [SW_STRICT] = ngx_string("strict"),
    [SW_LOG] = ngx_string("log"),
    ngx_null_string
};


char *
ngx_http_slidewin_conf_zone(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    ngx_http_slidewin_main_conf_t  *smcf = conf;

    char                              *rv;
    ngx_str_t                         *value;
    ngx_http_slidewin_policy_t        *policy, **elt;
    ngx_http_slidewin_policy_args_t    args;
    ngx_http_compile_complex_value_t   ccv;

    value = cf->args->elts;

    /* a key, a zone and a rate: nginx counts only to two */

    if (cf->args->nelts < 4) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid number of arguments in \"%V\" directive",
                           &cmd->name);
        return NGX_CONF_ERROR;
    }

    policy = ngx_pcalloc(cf->pool, sizeof(ngx_http_slidewin_policy_t));
    if (policy == NULL) {
        return NGX_CONF_ERROR;
    }

    policy->rule.algorithm = SW_COUNTER;
    policy->rule.slices = SW_SLICES;
    policy->share = 100;
    policy->deny_cache = NGX_CONF_UNSET;
    policy->top_counters = NGX_HTTP_SLIDEWIN_TOP;

    ngx_rbtree_init(&policy->queues, &policy->sentinel,
                    ngx_str_rbtree_insert_value);

    ngx_memzero(&ccv, sizeof(ngx_http_compile_complex_value_t));

    ccv.cf = cf;
    ccv.value = &value[1];
    ccv.complex_value = &policy->key;

    if (ngx_http_compile_complex_value(&ccv) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    policy->variable = ngx_http_slidewin_conf_zone_variable(cf, &policy->key);

    ngx_memzero(&args, sizeof(ngx_http_slidewin_policy_args_t));
    args.policy = policy;

    rv = ngx_http_slidewin_params_set(cf, 2, ngx_http_slidewin_conf_zone_params,
                                      &args);
    if (rv != NGX_CONF_OK) {
        return rv;
    }

    rv = ngx_http_slidewin_conf_zone_check(cf, &args);
    if (rv != NGX_CONF_OK) {
        return rv;
    }

    policy->zone = ngx_http_slidewin_zone_add(cf, &policy->name,
                                              policy->size,
                                              &policy->key.value,
                                              &ngx_http_slidewin_module);
    if (policy->zone == NULL) {
        return NGX_CONF_ERROR;
    }

    elt = ngx_array_push(&smcf->policies);
    if (elt == NULL) {
        return NGX_CONF_ERROR;
    }

    *elt = policy;

    return NGX_CONF_OK;
}


/* the index of "$name"; NGX_ERROR for other keys, such as "$name/$other" */

static ngx_int_t
ngx_http_slidewin_conf_zone_variable(ngx_conf_t *cf,
    ngx_http_complex_value_t *key)
{
    ngx_int_t                   index;
    ngx_http_variable_t        *v;
    ngx_http_core_main_conf_t  *cmcf;

    if (key->flushes == NULL || key->value.data[0] != '$') {
        return NGX_ERROR;
    }

    cmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);

    v = cmcf->variables.elts;
    index = key->flushes[0];

    return v[index].name.len + 1 == key->value.len ? index : NGX_ERROR;
}


static char *
ngx_http_slidewin_conf_zone_name(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_policy_args_t  *args = conf;

    u_char                      *p, *last;
    ssize_t                      bytes;
    ngx_str_t                    size;
    ngx_http_slidewin_policy_t  *policy;

    policy = args->policy;

    ngx_http_slidewin_param_set_ref(cf, &policy->zone_ref, arg);

    last = value->data + value->len;
    p = ngx_strlchr(value->data, last, ':');

    if (p == NULL) {
        goto invalid_size;
    }

    policy->name.data = value->data;
    policy->name.len = p - value->data;

    if (policy->name.len == 0
        || policy->name.len > NGX_HTTP_SLIDEWIN_NAME_MAX)
    {
        goto invalid_name;
    }

    size.data = p + 1;
    size.len = last - size.data;

    bytes = ngx_parse_size(&size);

    if (bytes == NGX_ERROR) {
        goto invalid_size;
    }

    /* the name goes into header fields and log lines unescaped */

    for (p = value->data; *p != ':'; p++) {
        if ((*p < '0' || *p > '9') && ((*p | 0x20) < 'a' || (*p | 0x20) > 'z')
            && *p != '_' && *p != '-' && *p != '.')
        {
            goto invalid_name;
        }
    }

    if (bytes < (ssize_t) (8 * ngx_pagesize)) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "zone \"%V\" is too small, it must be at least "
                           "%uzk", arg, 8 * ngx_pagesize / 1024);
        return NGX_CONF_ERROR;
    }

    policy->size = bytes;

    return NGX_CONF_OK;

invalid_name:

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "invalid zone name \"%V\" in \"slidewin_zone\" "
                       "directive, it must be up to %d letters, "
                       "digits, \"_\", "
                       "\"-\" and \".\"", arg, NGX_HTTP_SLIDEWIN_NAME_MAX);
    return NGX_CONF_ERROR;

invalid_size:

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "invalid zone size \"%V\" in \"slidewin_zone\" "
                       "directive, it must be zone=<name>:<size>, such as "
                       "zone=login:10m", arg);
    return NGX_CONF_ERROR;
}


static char *
ngx_http_slidewin_conf_zone_rate(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_policy_args_t  *args = conf;

    ngx_http_slidewin_policy_t  *policy;

    args->rate_arg = *arg;
    policy = args->policy;
    policy->rate_text = *value;

    if (ngx_http_script_variables_count(value)) {
        policy->rate = ngx_http_slidewin_param_compile(cf, value);
        return policy->rate ? NGX_CONF_OK : NGX_CONF_ERROR;
    }

    if (sw_parse_rate((char *) value->data, value->len,
                      &policy->rule.limit, &policy->rule.window)
        != SW_OK)
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid rate \"%V\" in \"slidewin_zone\" "
                           "directive, %s", arg,
                           sw_rate_error((char *) value->data, value->len));
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


static char *
ngx_http_slidewin_conf_zone_algorithm(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_policy_args_t  *args = conf;

    ngx_uint_t  i;

    for (i = 0; ngx_http_slidewin_algorithms[i].len; i++) {
        if (ngx_http_slidewin_str_eq(value,
                              &ngx_http_slidewin_algorithms[i]))
        {
            args->policy->rule.algorithm = i;
            return NGX_CONF_OK;
        }
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "invalid algorithm \"%V\" in \"slidewin_zone\" "
                       "directive, it must be counter, log, strict or fixed",
                       arg);
    return NGX_CONF_ERROR;
}


static char *
ngx_http_slidewin_conf_zone_slices(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_policy_args_t  *args = conf;

    if (sw_parse_count((char *) value->data, value->len, SW_SLICES_MAX,
                       &args->policy->rule.slices)
        != SW_OK
        || args->policy->rule.slices == 0)
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid slices \"%V\" in \"slidewin_zone\" "
                           "directive, it must be from 1 to %d", arg,
                           SW_SLICES_MAX);
        return NGX_CONF_ERROR;
    }

    args->slices_set = 1;

    return NGX_CONF_OK;
}


static char *
ngx_http_slidewin_conf_zone_store(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_policy_args_t  *args = conf;

    if (value->len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid store \"%V\" in \"slidewin_zone\" "
                           "directive, it must be \"local\" or the name of a "
                           "store", arg);
        return NGX_CONF_ERROR;
    }

    ngx_http_slidewin_param_set_ref(cf, &args->policy->store_ref, value);

    return NGX_CONF_OK;
}


static char *
ngx_http_slidewin_conf_zone_on_error(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_policy_args_t  *args = conf;

    ngx_http_slidewin_policy_t  *policy;

    policy = args->policy;

    if (value->len == 4 && ngx_strncmp(value->data, "open", 4) == 0) {
        policy->on_error = NGX_HTTP_SLIDEWIN_ON_ERROR_OPEN;
        return NGX_CONF_OK;
    }

    if (value->len == 6 && ngx_strncmp(value->data, "closed", 6) == 0) {
        policy->on_error = NGX_HTTP_SLIDEWIN_ON_ERROR_CLOSED;
        return NGX_CONF_OK;
    }

    if (value->len >= 5 && ngx_strncmp(value->data, "local", 5) == 0) {

        policy->on_error = NGX_HTTP_SLIDEWIN_ON_ERROR_LOCAL;

        if (value->len == 5
            || (value->data[5] == ':'
                && sw_parse_percent((char *) value->data + 6, value->len - 6,
                                    &policy->share)
                   == SW_OK))
        {
            return NGX_CONF_OK;
        }
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "invalid on_error \"%V\" in \"slidewin_zone\" "
                       "directive, it must be local, local:<share>%%, open "
                       "or closed", arg);
    return NGX_CONF_ERROR;
}


static char *
ngx_http_slidewin_conf_zone_lease(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_policy_args_t  *args = conf;

    ngx_http_slidewin_policy_t  *policy;

    policy = args->policy;

    if (sw_parse_percent((char *) value->data, value->len, &policy->lease)
        != SW_OK)
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid lease \"%V\" in \"slidewin_zone\" "
                           "directive, it must be from 1%% to 100%%", arg);
        return NGX_CONF_ERROR;
    }

    ngx_http_slidewin_param_set_ref(cf, &policy->cache_ref, arg);

    return NGX_CONF_OK;
}


static char *
ngx_http_slidewin_conf_zone_deny_cache(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_policy_args_t  *args = conf;

    ngx_http_slidewin_policy_t  *policy;

    policy = args->policy;

    if (value->len == 3 && ngx_strncmp(value->data, "off", 3) == 0) {
        policy->deny_cache = 0;

    } else if (sw_parse_period((char *) value->data, value->len,
                               &policy->deny_cache)
               != SW_OK || policy->deny_cache > NGX_HTTP_SLIDEWIN_DENY_MAX)
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid deny_cache \"%V\" in \"slidewin_zone\" "
                           "directive, it must be a time from 1ms to 1m, or "
                           "off", arg);
        return NGX_CONF_ERROR;
    }

    ngx_http_slidewin_param_set_ref(cf, &policy->cache_ref, arg);

    return NGX_CONF_OK;
}


static char *
ngx_http_slidewin_conf_zone_ban(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_policy_args_t  *args = conf;

    sw_ban_rule_t  *ban;

    ban = &args->policy->ban;

    if (sw_parse_ban((char *) value->data, value->len, &ban->time, &ban->max)
        != SW_OK)
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid ban \"%V\" in \"slidewin_zone\" "
                           "directive, it must be a time, or the first and "
                           "the longest, such as 1m..1d", arg);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


static char *
ngx_http_slidewin_conf_zone_top(ngx_conf_t *cf, ngx_str_t *arg,
    ngx_str_t *value, void *conf)
{
    ngx_http_slidewin_policy_args_t  *args = conf;

    ngx_http_slidewin_policy_t  *policy;

    policy = args->policy;

    if (value->len == 3 && ngx_strncmp(value->data, "off", 3) == 0) {
        policy->top_counters = 0;
        return NGX_CONF_OK;
    }

    if (sw_parse_count((char *) value->data, value->len,
                       NGX_HTTP_SLIDEWIN_TOP_MAX, &policy->top_counters)
        != SW_OK
        || policy->top_counters == 0)
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid top \"%V\" in \"slidewin_zone\" "
                           "directive, it must be from 1 to %d, or off", arg,
                           NGX_HTTP_SLIDEWIN_TOP_MAX);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


/* what depends on more than one parameter */

static char *
ngx_http_slidewin_conf_zone_check(ngx_conf_t *cf,
    ngx_http_slidewin_policy_args_t *args)
{
    const char  *error;
    sw_rule_t   *rule;

    rule = &args->policy->rule;

    if (args->policy->size == 0 || args->rate_arg.len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"slidewin_zone\" must have \"%s\" parameter",
                           args->policy->size ? "rate" : "zone");
        return NGX_CONF_ERROR;
    }

    if (args->slices_set && rule->algorithm != SW_STRICT) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid parameter \"slices=%L\" in "
                           "\"slidewin_zone\" directive, only "
                           "algorithm=strict has slices", rule->slices);
        return NGX_CONF_ERROR;
    }

    if (args->policy->rate) {
        return NGX_CONF_OK;
    }

    if (!args->slices_set) {
        rule->slices = ngx_min(rule->slices, rule->window);
    }

    error = sw_rule_error(rule);

    if (error) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid rate \"%V\" in \"slidewin_zone\" "
                           "directive, %s", &args->rate_arg, error);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}
