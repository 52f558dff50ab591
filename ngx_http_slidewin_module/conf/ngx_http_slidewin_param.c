
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_param.h"


typedef struct {
    ngx_str_t                    name;
    char                        *text;
} ngx_http_slidewin_hint_t;


static const ngx_http_slidewin_param_t *ngx_http_slidewin_param_find(
    const ngx_http_slidewin_param_t *params, ngx_str_t *arg);
static char *ngx_http_slidewin_param_unknown(ngx_conf_t *cf,
    const ngx_http_slidewin_param_t *params, ngx_str_t *arg);
static ngx_uint_t ngx_http_slidewin_param_secret(u_char *p, u_char *last);


/* parameters of limit_req that slidewin does not have */

static const ngx_http_slidewin_hint_t  ngx_http_slidewin_hints[] = {
    { ngx_string("burst="),
      "there is no burst: all of the limit may be used at once, and "
      "delay=<time> of \"slidewin\" lets a request above it wait" },
    { ngx_string("nodelay"),
      "it is not needed: no request waits without delay=<time> of "
      "\"slidewin\"" },
    { ngx_null_string, NULL }
};


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
            return ngx_http_slidewin_param_unknown(cf, params, &args[i]);
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

        rv = param->set(cf, &args[i], &value,
                        (u_char *) conf + param->offset);

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


static char *
ngx_http_slidewin_param_unknown(ngx_conf_t *cf,
    const ngx_http_slidewin_param_t *params, ngx_str_t *arg)
{
    u_char                           *p, *last;
    u_char                            text[NGX_MAX_CONF_ERRSTR];
    ngx_str_t                        *args, *masked;
    const ngx_http_slidewin_hint_t   *hint;
    const ngx_http_slidewin_param_t  *param;

    args = cf->args->elts;
    p = text;
    last = text + sizeof(text);

    for (hint = ngx_http_slidewin_hints; hint->text; hint++) {
        if (arg->len >= hint->name.len
            && ngx_strncmp(arg->data, hint->name.data, hint->name.len) == 0)
        {
            p = ngx_slprintf(p, last, "%s", hint->text);
            break;
        }
    }

    if (hint->text == NULL) {
        for (param = params; param->set; param++) {
            p = ngx_slprintf(p, last, "%s%V",
                             param == params ? "it must be one of " : ", ",
                             &param->name);
        }
    }

    masked = ngx_http_slidewin_param_masked(cf, arg);
    if (masked == NULL) {
        return NGX_CONF_ERROR;
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "invalid parameter \"%V\" in \"%V\" directive, %*s",
                       masked, &args[0], (size_t) (p - text), text);

    return NGX_CONF_ERROR;
}


ngx_str_t *
ngx_http_slidewin_param_masked(ngx_conf_t *cf, ngx_str_t *arg)
{
    u_char     *p, *from, *end, *last;
    ngx_str_t  *masked;

    from = arg->data;
    end = from;
    last = arg->data + arg->len;

    while (end < last && *end != '=' && *end != ':') {
        end++;
    }

    if (end == last || !ngx_http_slidewin_param_secret(from, end)) {

        /* the last "@" ends what comes before the host of a URL */

        for (p = from; p < last; p++) {
            if (*p == '@') {
                from = p;
            }
        }

        end = ngx_strlchr(from, last, '=');

        if (end == NULL || !ngx_http_slidewin_param_secret(from, end)) {
            end = last;
        }
    }

    masked = ngx_palloc(cf->pool, sizeof(ngx_str_t));
    if (masked == NULL) {
        return NULL;
    }

    masked->data = ngx_pnalloc(cf->pool, arg->len + 2 * (sizeof("...") - 1));
    if (masked->data == NULL) {
        return NULL;
    }

    p = ngx_sprintf(masked->data, "%s%*s", from > arg->data ? "..." : "",
                    (size_t) (end - from), from);

    if (end < last) {
        p = ngx_sprintf(p, "%c...", *end);
    }

    masked->len = p - masked->data;

    return masked;
}


/* whether a name, maybe misspelled, is the name of a password */

static ngx_uint_t
ngx_http_slidewin_param_secret(u_char *p, u_char *last)
{
    ngx_uint_t  i;

    static const ngx_str_t  words[] = {
        ngx_string("pas"),
        ngx_string("pw"),
        ngx_string("auth"),
        ngx_string("secret"),
        ngx_string("token"),
        ngx_string("cred")
    };

    for (i = 0; i < sizeof(words) / sizeof(ngx_str_t); i++) {
        if (ngx_strlcasestrn(p, last, words[i].data, words[i].len - 1)) {
            return 1;
        }
    }

    return 0;
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
ngx_http_slidewin_param_set_ref(ngx_conf_t *cf, ngx_http_slidewin_ref_t *ref,
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
