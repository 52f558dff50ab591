
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_param.h"


static const ngx_http_slidewin_param_t *ngx_http_slidewin_param_find(
    const ngx_http_slidewin_param_t *params, ngx_str_t *arg);


char *
ngx_http_slidewin_params_set(ngx_conf_t *cf, ngx_uint_t first,
    const ngx_http_slidewin_param_t *params, void *conf)
{
    char                             *rv;
    ngx_str_t                        *args, value;
    ngx_uint_t                        i, j;
    const ngx_http_slidewin_param_t  *param;

    args = cf->args->elts;

    for (i = first; i < cf->args->nelts; i++) {

        param = ngx_http_slidewin_param_find(params, &args[i]);

        if (param == NULL) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "invalid parameter \"%V\" in \"%V\" "
                               "directive", &args[i], &args[0]);
            return NGX_CONF_ERROR;
        }

        for (j = first; j < i; j++) {
            if (ngx_http_slidewin_param_find(params, &args[j]) == param) {
                ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                                   "duplicate parameter \"%V\" in \"%V\" "
                                   "directive", &args[i], &args[0]);
                return NGX_CONF_ERROR;
            }
        }

        value.data = args[i].data + param->name.len;
        value.len = args[i].len - param->name.len;

        rv = param->set(cf, &args[i], &value, conf);

        if (rv != NGX_CONF_OK) {
            return rv;
        }
    }

    return NGX_CONF_OK;
}


static const ngx_http_slidewin_param_t *
ngx_http_slidewin_param_find(const ngx_http_slidewin_param_t *params,
    ngx_str_t *arg)
{
    size_t  len;

    for ( /* void */ ; params->set; params++) {
        len = params->name.len;

        if (arg->len >= len
            && ngx_strncmp(arg->data, params->name.data, len) == 0
            && (params->name.data[len - 1] == '=' || arg->len == len))
        {
            return params;
        }
    }

    return NULL;
}


ngx_http_complex_value_t *
ngx_http_slidewin_param_compile(ngx_conf_t *cf, ngx_str_t *value)
{
    ngx_http_complex_value_t          *cv;
    ngx_http_compile_complex_value_t   ccv;

    cv = ngx_palloc(cf->pool, sizeof(ngx_http_complex_value_t));
    if (cv == NULL) {
        return NULL;
    }

    ngx_memzero(&ccv, sizeof(ngx_http_compile_complex_value_t));

    ccv.cf = cf;
    ccv.value = value;
    ccv.complex_value = cv;

    if (ngx_http_compile_complex_value(&ccv) != NGX_OK) {
        return NULL;
    }

    return cv;
}


void
ngx_http_slidewin_param_refer(ngx_conf_t *cf, ngx_http_slidewin_ref_t *ref,
    ngx_str_t *name)
{
    ref->name = *name;
    ref->file = cf->conf_file->file.name;
    ref->line = cf->conf_file->line;
}


ngx_uint_t
ngx_http_slidewin_str_eq(const ngx_str_t *one, const ngx_str_t *two)
{
    return one->len == two->len
           && (one->len == 0
               || ngx_strncmp(one->data, two->data, one->len) == 0);
}
