
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_ctx.h"
#include "ngx_http_slidewin_module.h"
#include "ngx_http_slidewin_request.h"
#include "sw_key.h"


typedef enum {
    NGX_HTTP_SLIDEWIN_VAR_STATUS = 0,
    NGX_HTTP_SLIDEWIN_VAR_SOURCE,
    NGX_HTTP_SLIDEWIN_VAR_ZONE,
    NGX_HTTP_SLIDEWIN_VAR_LIMIT,
    NGX_HTTP_SLIDEWIN_VAR_REMAINING,
    NGX_HTTP_SLIDEWIN_VAR_RESET,
    NGX_HTTP_SLIDEWIN_VAR_RETRY_AFTER
} ngx_http_slidewin_var_e;


static ngx_int_t ngx_http_slidewin_variable_text(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_slidewin_variable_number(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_slidewin_variable_estimate(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_slidewin_variable_latency(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_slidewin_variable_client(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);

static ngx_http_slidewin_entry_t *ngx_http_slidewin_decider_with_verdict(
    ngx_http_request_t *r);
static void ngx_http_slidewin_variable_set(ngx_http_variable_value_t *v,
    u_char *data, size_t len);


static ngx_http_variable_t  ngx_http_slidewin_vars[] = {

    { ngx_string("slidewin_status"), NULL,
      ngx_http_slidewin_variable_text, NGX_HTTP_SLIDEWIN_VAR_STATUS,
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("slidewin_source"), NULL,
      ngx_http_slidewin_variable_text, NGX_HTTP_SLIDEWIN_VAR_SOURCE,
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("slidewin_zone"), NULL,
      ngx_http_slidewin_variable_text, NGX_HTTP_SLIDEWIN_VAR_ZONE,
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("slidewin_limit"), NULL,
      ngx_http_slidewin_variable_number, NGX_HTTP_SLIDEWIN_VAR_LIMIT,
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("slidewin_remaining"), NULL,
      ngx_http_slidewin_variable_number, NGX_HTTP_SLIDEWIN_VAR_REMAINING,
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("slidewin_reset"), NULL,
      ngx_http_slidewin_variable_number, NGX_HTTP_SLIDEWIN_VAR_RESET,
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("slidewin_retry_after"), NULL,
      ngx_http_slidewin_variable_number, NGX_HTTP_SLIDEWIN_VAR_RETRY_AFTER,
      NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("slidewin_estimate"), NULL,
      ngx_http_slidewin_variable_estimate, 0, NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("slidewin_latency"), NULL,
      ngx_http_slidewin_variable_latency, 0, NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("slidewin_client"), NULL,
      ngx_http_slidewin_variable_client, 0, NGX_HTTP_VAR_NOCACHEABLE, 0 },

      ngx_http_null_variable
};


static ngx_int_t
ngx_http_slidewin_variable_text(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_str_t                  *text;
    ngx_http_slidewin_ctx_t    *ctx;
    ngx_http_slidewin_entry_t  *entry;

    ctx = ngx_http_slidewin_ctx_find(r);
    entry = ctx ? ctx->decider : NULL;
    text = NULL;

    switch (data) {

    case NGX_HTTP_SLIDEWIN_VAR_STATUS:
        if (ctx && ctx->status != NGX_HTTP_SLIDEWIN_UNDECIDED) {
            text = &ngx_http_slidewin_statuses[ctx->status];
        }

        break;

    case NGX_HTTP_SLIDEWIN_VAR_SOURCE:
        if (entry) {
            text = &ngx_http_slidewin_sources[entry->source];
        }

        break;

    default: /* NGX_HTTP_SLIDEWIN_VAR_ZONE */
        if (entry) {
            text = &entry->policy->name;
        }

        break;
    }

    if (text == NULL) {
        v->not_found = 1;
        return NGX_OK;
    }

    ngx_http_slidewin_variable_set(v, text->data, text->len);

    return NGX_OK;
}


static ngx_int_t
ngx_http_slidewin_variable_number(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    u_char                     *p;
    int64_t                     value;
    sw_verdict_t               *verdict;
    ngx_http_slidewin_entry_t  *entry;

    entry = ngx_http_slidewin_decider_with_verdict(r);

    if (entry == NULL) {
        v->not_found = 1;
        return NGX_OK;
    }

    verdict = ngx_http_slidewin_entry_verdict(entry);

    switch (data) {

    case NGX_HTTP_SLIDEWIN_VAR_LIMIT:
        value = entry->claim.rule.limit;
        break;

    case NGX_HTTP_SLIDEWIN_VAR_REMAINING:
        value = verdict->remaining;
        break;

    case NGX_HTTP_SLIDEWIN_VAR_RESET:
        value = ngx_http_slidewin_seconds(verdict->reset);
        break;

    default: /* NGX_HTTP_SLIDEWIN_VAR_RETRY_AFTER */

        value = ngx_http_slidewin_retry_after(ngx_http_slidewin_ctx_find(r));

        if (value == SW_NEVER) {
            v->not_found = 1;
            return NGX_OK;
        }

        break;
    }

    p = ngx_pnalloc(r->pool, NGX_INT64_LEN);
    if (p == NULL) {
        return NGX_ERROR;
    }

    ngx_http_slidewin_variable_set(v, p, ngx_sprintf(p, "%L", value) - p);

    return NGX_OK;
}


/* "5", "49.5": up to three digits after the point, without trailing zeros */

static ngx_int_t
ngx_http_slidewin_variable_estimate(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    u_char                     *p, *last;
    int64_t                     rest;
    sw_verdict_t               *verdict;
    ngx_http_slidewin_entry_t  *entry;

    entry = ngx_http_slidewin_decider_with_verdict(r);

    if (entry == NULL) {
        v->not_found = 1;
        return NGX_OK;
    }

    p = ngx_pnalloc(r->pool, NGX_INT64_LEN + sizeof(".000") - 1);
    if (p == NULL) {
        return NGX_ERROR;
    }

    verdict = ngx_http_slidewin_entry_verdict(entry);

    last = ngx_sprintf(p, "%L", verdict->level / verdict->scale);
    rest = verdict->level % verdict->scale * 1000 / verdict->scale;

    if (rest) {
        last = ngx_sprintf(last, ".%03L", rest);

        while (last[-1] == '0') {
            last--;
        }
    }

    ngx_http_slidewin_variable_set(v, p, last - p);

    return NGX_OK;
}


static ngx_int_t
ngx_http_slidewin_variable_latency(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    u_char                   *p;
    ngx_http_slidewin_ctx_t  *ctx;

    ctx = ngx_http_slidewin_ctx_find(r);

    if (ctx == NULL || ctx->status == NGX_HTTP_SLIDEWIN_UNDECIDED) {
        v->not_found = 1;
        return NGX_OK;
    }

    p = ngx_pnalloc(r->pool, NGX_INT64_LEN + sizeof(".000") - 1);
    if (p == NULL) {
        return NGX_ERROR;
    }

    ngx_http_slidewin_variable_set(v, p,
                                   ngx_sprintf(p, "%L.%03L",
                                               ctx->latency / 1000,
                                               ctx->latency % 1000)
                                   - p);

    return NGX_OK;
}


static ngx_int_t
ngx_http_slidewin_variable_client(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    char                          *p;
    ngx_connection_t              *c;
    struct sockaddr_in            *sin;
#if (NGX_HAVE_INET6)
    struct sockaddr_in6           *sin6;
#endif
    ngx_http_slidewin_srv_conf_t  *sscf;

    c = r->connection;
    sscf = ngx_http_get_module_srv_conf(r, ngx_http_slidewin_module);

    switch (c->sockaddr->sa_family) {

#if (NGX_HAVE_INET6)
    case AF_INET6:
        p = ngx_pnalloc(r->pool, SW_CLIENT_LEN);
        if (p == NULL) {
            return NGX_ERROR;
        }

        sin6 = (struct sockaddr_in6 *) c->sockaddr;

        ngx_http_slidewin_variable_set(v, (u_char *) p,
                                       sw_client_v6(p,
                                                   sin6->sin6_addr.s6_addr,
                                                   sscf->prefix_v4,
                                                   sscf->prefix_v6));
        return NGX_OK;
#endif

    case AF_INET:

        if (sscf->prefix_v4 == 32) {
            break;
        }

        p = ngx_pnalloc(r->pool, SW_CLIENT_LEN);
        if (p == NULL) {
            return NGX_ERROR;
        }

        sin = (struct sockaddr_in *) c->sockaddr;

        ngx_http_slidewin_variable_set(v, (u_char *) p,
                                       sw_client_v4(p,
                                                   (u_char *) &sin->sin_addr,
                                                   sscf->prefix_v4));
        return NGX_OK;
    }

    /* nginx has the text of a whole address; unix sockets are one client */

    ngx_http_slidewin_variable_set(v, c->addr_text.data, c->addr_text.len);

    return NGX_OK;
}


/* NULL if no store answered for the decider: it has no figures */

static ngx_http_slidewin_entry_t *
ngx_http_slidewin_decider_with_verdict(ngx_http_request_t *r)
{
    ngx_http_slidewin_ctx_t  *ctx;

    ctx = ngx_http_slidewin_ctx_find(r);

    if (ctx == NULL || ctx->decider == NULL
        || !ngx_http_slidewin_entry_has_verdict(ctx->decider))
    {
        return NULL;
    }

    return ctx->decider;
}


static void
ngx_http_slidewin_variable_set(ngx_http_variable_value_t *v, u_char *data,
    size_t len)
{
    v->len = len;
    v->valid = 1;
    v->no_cacheable = 0;
    v->not_found = 0;
    v->data = data;
}


ngx_int_t
ngx_http_slidewin_variables_add(ngx_conf_t *cf)
{
    ngx_http_variable_t  *var, *v;

    for (v = ngx_http_slidewin_vars; v->name.len; v++) {
        var = ngx_http_add_variable(cf, &v->name, v->flags);
        if (var == NULL) {
            return NGX_ERROR;
        }

        var->get_handler = v->get_handler;
        var->data = v->data;
    }

    return NGX_OK;
}
