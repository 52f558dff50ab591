
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_outcome.h"
#include "ngx_http_slidewin_record.h"
#include "ngx_http_slidewin_request.h"
#include "sw_text.h"


/* RFC 9651: an integer of a structured field has at most 15 digits */
#define NGX_HTTP_SLIDEWIN_INTEGER_MAX  999999999999999LL


static ngx_int_t ngx_http_slidewin_header_filter(ngx_http_request_t *r);
static ngx_int_t ngx_http_slidewin_header_fields(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx);
static ngx_int_t ngx_http_slidewin_header_ietf(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx);
static ngx_int_t ngx_http_slidewin_header_legacy(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx);
static ngx_uint_t ngx_http_slidewin_header_shows(
    ngx_http_slidewin_entry_t *entry);
static int64_t ngx_http_slidewin_header_integer(int64_t value);
static ngx_int_t ngx_http_slidewin_header_number(ngx_http_request_t *r,
    ngx_str_t *name, int64_t value);
static ngx_int_t ngx_http_slidewin_header_add(ngx_http_request_t *r,
    ngx_str_t *name, ngx_str_t *value);
static ngx_table_elt_t *ngx_http_slidewin_header_clear(ngx_http_request_t *r,
    ngx_str_t *name);


static ngx_str_t  ngx_http_slidewin_cache_control_name =
    ngx_string("Cache-Control");
static ngx_str_t  ngx_http_slidewin_retry_after_name =
    ngx_string("Retry-After");
static ngx_str_t  ngx_http_slidewin_ietf_policy_name =
    ngx_string("RateLimit-Policy");
static ngx_str_t  ngx_http_slidewin_ietf_limit_name =
    ngx_string("RateLimit");
static ngx_str_t  ngx_http_slidewin_legacy_limit_name =
    ngx_string("X-RateLimit-Limit");
static ngx_str_t  ngx_http_slidewin_legacy_remaining_name =
    ngx_string("X-RateLimit-Remaining");
static ngx_str_t  ngx_http_slidewin_legacy_reset_name =
    ngx_string("X-RateLimit-Reset");

static ngx_http_output_header_filter_pt  ngx_http_next_header_filter;


static ngx_int_t
ngx_http_slidewin_header_filter(ngx_http_request_t *r)
{
    ngx_int_t                 rc;
    ngx_http_slidewin_ctx_t  *ctx;

    if (r != r->main) {
        return ngx_http_next_header_filter(r);
    }

    ctx = ngx_http_slidewin_ctx_find(r);

    if (ctx == NULL) {
        return ngx_http_next_header_filter(r);
    }

    if (!ctx->recorded) {
        ngx_http_slidewin_record(ctx);
    }

    if (ctx->decider
        && (ctx->rejected || ctx->headers != NGX_HTTP_SLIDEWIN_HEADERS_OFF)
        && ngx_http_slidewin_header_fields(r, ctx) != NGX_OK)
    {
        return NGX_ERROR;
    }

    rc = ngx_http_next_header_filter(r);

    /* the range filter sets 206; the response of a post_action is not sent */

    if (!r->post_action) {
        ctx->sent_status = r->headers_out.status;
    }

    return rc;
}


static ngx_int_t
ngx_http_slidewin_header_fields(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx)
{
    int64_t  retry;

    static ngx_str_t  no_store = ngx_string("no-store");

    /* RFC 6585: a cache must not store a rejection */

    if (ctx->rejected
        && ngx_http_slidewin_header_add(r,
                                       &ngx_http_slidewin_cache_control_name,
                                       &no_store)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ngx_http_slidewin_ctx_must_wait(ctx)) {
        retry = ngx_http_slidewin_retry_after(ctx);

        if (retry == SW_NEVER) {
            (void) ngx_http_slidewin_header_clear(r,
                                       &ngx_http_slidewin_retry_after_name);

        } else if (ngx_http_slidewin_header_number(r,
                                        &ngx_http_slidewin_retry_after_name,
                                        retry)
                   != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    if ((ctx->headers & NGX_HTTP_SLIDEWIN_HEADERS_IETF)
        && ngx_http_slidewin_header_ietf(r, ctx) != NGX_OK)
    {
        return NGX_ERROR;
    }

    if ((ctx->headers & (NGX_HTTP_SLIDEWIN_HEADERS_LEGACY_DELTA
                         |NGX_HTTP_SLIDEWIN_HEADERS_LEGACY_EPOCH))
        && ngx_http_slidewin_header_legacy(r, ctx) != NGX_OK)
    {
        return NGX_ERROR;
    }

    return NGX_OK;
}


/*
 * RateLimit-Policy: "login";q=5;w=60, "api";q=1000;w=3600
 * RateLimit: "login";r=4;t=60, "api";r=999;t=3600
 *
 * t is the time until more than r may be used.
 */

static ngx_int_t
ngx_http_slidewin_header_ietf(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx)
{
    size_t                      len;
    ngx_str_t                   policy, limit;
    sw_rule_t                  *rule;
    sw_verdict_t               *verdict;
    ngx_http_slidewin_entry_t  *entry;

    len = 0;

    for (entry = ctx->entries; entry; entry = entry->next) {
        len += entry->policy->name.len
               + sizeof(", \"\";q=;w=") - 1 + 2 * NGX_INT64_LEN;
    }

    policy.data = ngx_pnalloc(r->pool, 2 * len);
    if (policy.data == NULL) {
        return NGX_ERROR;
    }

    limit.data = policy.data + len;
    policy.len = 0;
    limit.len = 0;

    for (entry = ctx->entries; entry; entry = entry->next) {

        if (!ngx_http_slidewin_header_shows(entry)) {
            continue;
        }

        rule = &entry->claim.rule;
        verdict = ngx_http_slidewin_entry_verdict(entry);

        policy.len = ngx_sprintf(policy.data + policy.len, "%s\"%V\";q=%L",
                                 policy.len ? ", " : "",
                                 &entry->policy->name,
                                 ngx_http_slidewin_header_integer(
                                                         rule->limit))
                     - policy.data;

        /* a window below a second has no whole seconds */

        if (rule->window >= 1000) {
            policy.len = ngx_sprintf(policy.data + policy.len, ";w=%L",
                                     ngx_http_slidewin_seconds(rule->window))
                         - policy.data;
        }

        limit.len = ngx_sprintf(limit.data + limit.len, "%s\"%V\";r=%L;t=%L",
                                limit.len ? ", " : "", &entry->policy->name,
                                ngx_http_slidewin_header_integer(
                                                        verdict->remaining),
                                ngx_http_slidewin_seconds(verdict->more))
                    - limit.data;
    }

    if (policy.len == 0) {
        return NGX_OK;
    }

    if (ngx_http_slidewin_header_add(r, &ngx_http_slidewin_ietf_policy_name,
                                     &policy)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_slidewin_header_add(r,
                                        &ngx_http_slidewin_ietf_limit_name,
                                        &limit);
}


/*
 * The fields have one limit: the decider among those that are shown.  Clients
 * wait for X-RateLimit-Reset: in a rejection it is Retry-After, even if the
 * limit that rejected is not shown.
 */

static ngx_int_t
ngx_http_slidewin_header_legacy(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx)
{
    int64_t                     reset;
    sw_verdict_t               *verdict;
    ngx_http_slidewin_entry_t  *entry, *decider;

    decider = NULL;

    for (entry = ctx->entries; entry; entry = entry->next) {
        if (ngx_http_slidewin_header_shows(entry)
            && (decider == NULL
                || ngx_http_slidewin_outcome_precedes(entry, decider)))
        {
            decider = entry;
        }
    }

    if (decider == NULL) {
        return NGX_OK;
    }

    verdict = ngx_http_slidewin_entry_verdict(decider);

    reset = ngx_http_slidewin_ctx_must_wait(ctx)
                ? ngx_http_slidewin_retry_after(ctx) : SW_NEVER;

    /* the whole limit may be back already: then no more comes */

    if (reset == SW_NEVER) {
        reset = ngx_http_slidewin_seconds(ngx_min(verdict->more,
                                                  verdict->reset));
    }

    if (ctx->headers & NGX_HTTP_SLIDEWIN_HEADERS_LEGACY_EPOCH) {
        reset += ngx_time();
    }

    if (ngx_http_slidewin_header_number(r,
                                    &ngx_http_slidewin_legacy_limit_name,
                                    decider->claim.rule.limit)
        != NGX_OK
        || ngx_http_slidewin_header_number(r,
                                    &ngx_http_slidewin_legacy_remaining_name,
                                    verdict->remaining)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_slidewin_header_number(r,
                                    &ngx_http_slidewin_legacy_reset_name,
                                    reset);
}


/* a client that sees a dry run's r=0 would slow down for nothing */

static ngx_uint_t
ngx_http_slidewin_header_shows(ngx_http_slidewin_entry_t *entry)
{
    return ngx_http_slidewin_entry_has_verdict(entry) && !entry->claim.dry_run
           && !entry->limit->hidden;
}


/* for units; times need no cap, no window has more than seven digits */

static int64_t
ngx_http_slidewin_header_integer(int64_t value)
{
    return ngx_min(value, NGX_HTTP_SLIDEWIN_INTEGER_MAX);
}


static ngx_int_t
ngx_http_slidewin_header_number(ngx_http_request_t *r, ngx_str_t *name,
    int64_t value)
{
    char       *p;
    ngx_str_t   text;

    p = ngx_pnalloc(r->pool, SW_TEXT_NUMBER);
    if (p == NULL) {
        return NGX_ERROR;
    }

    text.data = (u_char *) p;
    text.len = sw_text_number(p, (uint64_t) ngx_max(value, 0)) - p;

    return ngx_http_slidewin_header_add(r, name, &text);
}


static ngx_int_t
ngx_http_slidewin_header_add(ngx_http_request_t *r, ngx_str_t *name,
    ngx_str_t *value)
{
    ngx_table_elt_t  *h;

    h = ngx_http_slidewin_header_clear(r, name);

    if (h == NULL) {
        h = ngx_list_push(&r->headers_out.headers);
        if (h == NULL) {
            return NGX_ERROR;
        }
    }

    h->hash = 1;
    h->key = *name;
    h->value = *value;

#if (nginx_version >= 1023000)
    h->next = NULL;
#endif

    return NGX_OK;
}


/*
 * Removes fields of this name: an upstream may have sent some, and a filter may
 * start the header again with ours in it.  Returns the first, to be filled
 * anew, because headers_out may point to it, as it does to Cache-Control.
 */

static ngx_table_elt_t *
ngx_http_slidewin_header_clear(ngx_http_request_t *r, ngx_str_t *name)
{
    ngx_uint_t        i;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h, *first;

    first = NULL;

    for (part = &r->headers_out.headers.part; part; part = part->next) {
        h = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (h[i].key.len != name->len
                || ngx_strncasecmp(h[i].key.data, name->data, name->len) != 0)
            {
                continue;
            }

            h[i].hash = 0;

            if (first == NULL) {
                first = &h[i];
            }
        }
    }

    return first;
}


void
ngx_http_slidewin_headers_init(void)
{
    ngx_http_next_header_filter = ngx_http_top_header_filter;
    ngx_http_top_header_filter = ngx_http_slidewin_header_filter;
}
