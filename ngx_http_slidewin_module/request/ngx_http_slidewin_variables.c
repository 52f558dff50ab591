
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_ctx.h"
#include "ngx_http_slidewin_module.h"
#include "ngx_http_slidewin_variables.h"
#include "sw_key.h"


typedef enum {
    NGX_HTTP_SLIDEWIN_VAR_LIMIT = 0,
    NGX_HTTP_SLIDEWIN_VAR_REMAINING,
    NGX_HTTP_SLIDEWIN_VAR_RESET,
    NGX_HTTP_SLIDEWIN_VAR_RETRY_AFTER
} ngx_http_slidewin_var_e;


static ngx_int_t ngx_http_slidewin_variable_status(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_slidewin_variable_source(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_slidewin_variable_zone(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_slidewin_variable_number(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_slidewin_variable_estimate(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_slidewin_variable_latency(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_slidewin_variable_client(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);

static ngx_http_slidewin_entry_t *ngx_http_slidewin_decider(
    ngx_http_request_t *r);
static ngx_http_slidewin_entry_t *ngx_http_slidewin_known_decider(
    ngx_http_request_t *r);
static void ngx_http_slidewin_variable_set(ngx_http_variable_value_t *v,
    u_char *data, size_t len);


static ngx_http_variable_t  ngx_http_slidewin_vars[] = {

    { ngx_string("slidewin_status"), NULL,
      ngx_http_slidewin_variable_status, 0, NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("slidewin_source"), NULL,
      ngx_http_slidewin_variable_source, 0, NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("slidewin_zone"), NULL,
      ngx_http_slidewin_variable_zone, 0, NGX_HTTP_VAR_NOCACHEABLE, 0 },

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


static ngx_str_t  ngx_http_slidewin_statuses[] = {
    [NGX_HTTP_SLIDEWIN_UNDECIDED] = ngx_null_string,
    [NGX_HTTP_SLIDEWIN_BYPASSED] = ngx_string("BYPASSED"),
    [NGX_HTTP_SLIDEWIN_PASSED] = ngx_string("PASSED"),
    [NGX_HTTP_SLIDEWIN_DELAYED] = ngx_string("DELAYED"),
    [NGX_HTTP_SLIDEWIN_ERROR_PASSED] = ngx_string("ERROR_PASSED"),
    [NGX_HTTP_SLIDEWIN_REJECTED_DRY_RUN] = ngx_string("REJECTED_DRY_RUN"),
    [NGX_HTTP_SLIDEWIN_REJECTED] = ngx_string("REJECTED"),
    [NGX_HTTP_SLIDEWIN_ERROR_REJECTED] = ngx_string("ERROR_REJECTED")
};


static ngx_str_t  ngx_http_slidewin_sources[] = {
    [NGX_HTTP_SLIDEWIN_SOURCE_NONE] = ngx_null_string,
    [NGX_HTTP_SLIDEWIN_SOURCE_LOCAL] = ngx_string("local"),
    [NGX_HTTP_SLIDEWIN_SOURCE_REDIS] = ngx_string("redis"),
    [NGX_HTTP_SLIDEWIN_SOURCE_LEASE] = ngx_string("lease"),
    [NGX_HTTP_SLIDEWIN_SOURCE_DENY_CACHE] = ngx_string("deny_cache"),
    [NGX_HTTP_SLIDEWIN_SOURCE_FALLBACK] = ngx_string("fallback"),
    [NGX_HTTP_SLIDEWIN_SOURCE_FAIL_OPEN] = ngx_string("fail_open"),
    [NGX_HTTP_SLIDEWIN_SOURCE_FAIL_CLOSED] = ngx_string("fail_closed")
};


static ngx_int_t
ngx_http_slidewin_variable_status(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_str_t                *status;
    ngx_http_slidewin_ctx_t  *ctx;

    ctx = ngx_http_slidewin_ctx_find(r);

    if (ctx == NULL || ctx->status == NGX_HTTP_SLIDEWIN_UNDECIDED) {
        v->not_found = 1;
        return NGX_OK;
    }

    status = &ngx_http_slidewin_statuses[ctx->status];
    ngx_http_slidewin_variable_set(v, status->data, status->len);

    return NGX_OK;
}


static ngx_int_t
ngx_http_slidewin_variable_source(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_str_t                  *source;
    ngx_http_slidewin_entry_t  *entry;

    entry = ngx_http_slidewin_decider(r);

    if (entry == NULL) {
        v->not_found = 1;
        return NGX_OK;
    }

    source = &ngx_http_slidewin_sources[entry->source];
    ngx_http_slidewin_variable_set(v, source->data, source->len);

    return NGX_OK;
}


static ngx_int_t
ngx_http_slidewin_variable_zone(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_http_slidewin_entry_t  *entry;

    entry = ngx_http_slidewin_decider(r);

    if (entry == NULL) {
        v->not_found = 1;
        return NGX_OK;
    }

    ngx_http_slidewin_variable_set(v, entry->policy->name.data,
                                   entry->policy->name.len);

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

    entry = ngx_http_slidewin_known_decider(r);

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


/* "5", "49.5": to the thousandth, without the zeros at the end */

static ngx_int_t
ngx_http_slidewin_variable_estimate(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    u_char                     *p, *last;
    int64_t                     rest;
    sw_verdict_t               *verdict;
    ngx_http_slidewin_entry_t  *entry;

    entry = ngx_http_slidewin_known_decider(r);

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

    /* a whole address is spelled already; unix sockets are one client */

    ngx_http_slidewin_variable_set(v, c->addr_text.data, c->addr_text.len);

    return NGX_OK;
}


static ngx_http_slidewin_entry_t *
ngx_http_slidewin_decider(ngx_http_request_t *r)
{
    ngx_http_slidewin_ctx_t  *ctx;

    ctx = ngx_http_slidewin_ctx_find(r);

    return ctx ? ctx->decider : NULL;
}


/* the decider if a store answered for it, so that it has figures */

static ngx_http_slidewin_entry_t *
ngx_http_slidewin_known_decider(ngx_http_request_t *r)
{
    ngx_http_slidewin_entry_t  *entry;

    entry = ngx_http_slidewin_decider(r);

    return entry && ngx_http_slidewin_entry_known(entry) ? entry : NULL;
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
