
/*
 * The parameters of a directive, name=value in any order, and what their
 * setters share.
 */


#ifndef _NGX_HTTP_SLIDEWIN_PARAM_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_PARAM_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


/* where a name was used that may be defined further down */

typedef struct {
    ngx_str_t                    name;
    ngx_str_t                    file;
    ngx_uint_t                   line;
} ngx_http_slidewin_ref_t;


/*
 * A name that ends in "=" takes a value, others are flags.  The setter gets
 * what params_set() got as conf, offset bytes further on.
 */

typedef struct {
    ngx_str_t                    name;
    char                      *(*set)(ngx_conf_t *cf, ngx_str_t *arg,
                                      ngx_str_t *value, void *conf);
    size_t                       offset;
} ngx_http_slidewin_param_t;


/* arguments of a directive, the first parameter and all after it */
char *ngx_http_slidewin_params_set(ngx_conf_t *cf, ngx_uint_t first,
    const ngx_http_slidewin_param_t *params, void *conf);

/* an argument without its password, for a log line */
ngx_str_t *ngx_http_slidewin_param_masked(ngx_conf_t *cf, ngx_str_t *arg);

ngx_http_complex_value_t *ngx_http_slidewin_param_compile(ngx_conf_t *cf,
    ngx_str_t *value);

void ngx_http_slidewin_param_set_ref(ngx_conf_t *cf,
    ngx_http_slidewin_ref_t *ref, ngx_str_t *name);

ngx_uint_t ngx_http_slidewin_str_eq(const ngx_str_t *one,
    const ngx_str_t *two);


#endif /* _NGX_HTTP_SLIDEWIN_PARAM_H_INCLUDED_ */
