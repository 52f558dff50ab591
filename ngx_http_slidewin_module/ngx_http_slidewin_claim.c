
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_claim.h"
#include "sw_rate.h"


static ngx_http_slidewin_entry_t *ngx_http_slidewin_claim_room(
    ngx_http_request_t *r, ngx_http_slidewin_ctx_t *ctx, ngx_uint_t n);
static ngx_int_t ngx_http_slidewin_claim_applies(ngx_http_request_t *r,
    ngx_http_slidewin_limit_t *limit);
static ngx_int_t ngx_http_slidewin_claim_limit(ngx_http_request_t *r,
    ngx_http_slidewin_limit_t *limit, ngx_http_slidewin_entry_t *entry);
static ngx_int_t ngx_http_slidewin_claim_key(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy, ngx_str_t *key);
static ngx_int_t ngx_http_slidewin_claim_rate(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy, sw_policy_t *limits);
static ngx_int_t ngx_http_slidewin_claim_cost(ngx_http_request_t *r,
    ngx_http_slidewin_limit_t *limit, ngx_http_slidewin_claim_t *claim);
static void ngx_http_slidewin_make_printable(ngx_str_t *value);


ngx_int_t
ngx_http_slidewin_claim(ngx_http_request_t *r, ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_loc_conf_t *slcf)
{
    ngx_int_t                    rc;
    ngx_uint_t                   i, n;
    ngx_http_slidewin_entry_t   *entry, *entries, **last;
    ngx_http_slidewin_limit_t  **limits;

    limits = slcf->limits->elts;
    n = slcf->limits->nelts;

    entries = ctx->spare;
    ctx->spare = NULL;

    if (entries == NULL) {
        entries = ngx_http_slidewin_claim_room(r, ctx, n);
        if (entries == NULL) {
            return NGX_ERROR;
        }
    }

    entry = entries;

    for (i = 0; i < n; i++) {

        switch (ngx_http_slidewin_claim_applies(r, limits[i])) {

        case NGX_OK:
            break;

        case NGX_DECLINED:
            continue;

        default: /* NGX_ERROR */
            return NGX_ERROR;
        }

        for (last = &ctx->entries; *last; last = &(*last)->next) {
            if ((*last)->policy == limits[i]->policy) {
                break;
            }
        }

        if (*last) {
            continue;
        }

        rc = ngx_http_slidewin_claim_limit(r, limits[i], entry);

        if (rc == NGX_DECLINED) {
            continue;
        }

        if (rc != NGX_OK) {
            return NGX_ERROR;
        }

        entry->claim.dry_run = limits[i]->dry_run || slcf->dry_run;
        *last = entry++;
    }

    return (entry != entries) ? NGX_OK : NGX_DECLINED;
}


/* what an error left undecided before is decided along with the new ones */

static ngx_http_slidewin_entry_t *
ngx_http_slidewin_claim_room(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx, ngx_uint_t n)
{
    ngx_uint_t                  claims;
    ngx_http_slidewin_entry_t  *entry, *entries;

    claims = n;

    for (entry = ctx->entries; entry; entry = entry->next) {
        claims++;
    }

    entries = ngx_pcalloc(r->pool, n * sizeof(ngx_http_slidewin_entry_t)
                                   + claims
                                     * sizeof(ngx_http_slidewin_claim_t *));
    if (entries == NULL) {
        return NULL;
    }

    ctx->call.claims = (ngx_http_slidewin_claim_t **) &entries[n];

    return entries;
}


/* if=, as access_log has it: empty or "0" exempts, here and now */

static ngx_int_t
ngx_http_slidewin_claim_applies(ngx_http_request_t *r,
    ngx_http_slidewin_limit_t *limit)
{
    ngx_str_t  value;

    if (limit->condition == NULL) {
        return NGX_OK;
    }

    if (ngx_http_complex_value(r, limit->condition, &value) != NGX_OK) {
        return NGX_ERROR;
    }

    if (value.len == 0 || (value.len == 1 && value.data[0] == '0')) {
        return NGX_DECLINED;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_slidewin_claim_limit(ngx_http_request_t *r,
    ngx_http_slidewin_limit_t *limit, ngx_http_slidewin_entry_t *entry)
{
    ngx_http_slidewin_policy_t  *policy;

    policy = limit->policy;

    if (ngx_http_slidewin_claim_key(r, policy, &entry->claim.key) != NGX_OK) {
        return NGX_ERROR;
    }

    if (entry->claim.key.len == 0) {
        return NGX_DECLINED;
    }

    entry->limit = limit;
    entry->policy = policy;
    entry->claim.zone = policy->zone;
    entry->claim.name = policy->name;

    if (ngx_http_slidewin_claim_rate(r, policy, &entry->claim.policy) != NGX_OK
        || ngx_http_slidewin_claim_cost(r, limit, &entry->claim) != NGX_OK)
    {
        return NGX_ERROR;
    }

    entry->rate = entry->claim.policy.limit;

    return NGX_OK;
}


/* the value of a variable outlives the request's claims: it is not copied */

static ngx_int_t
ngx_http_slidewin_claim_key(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy, ngx_str_t *key)
{
    ngx_http_variable_value_t  *vv;

    if (policy->variable == NGX_ERROR) {
        return ngx_http_complex_value(r, &policy->key, key);
    }

    vv = ngx_http_get_flushed_variable(r, policy->variable);

    if (vv && !vv->not_found) {
        key->len = vv->len;
        key->data = vv->data;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_slidewin_claim_rate(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy, sw_policy_t *limits)
{
    ngx_str_t    value;
    const char  *error;

    *limits = policy->limits;

    if (policy->rate == NULL) {
        return NGX_OK;
    }

    if (ngx_http_complex_value(r, policy->rate, &value) != NGX_OK) {
        return NGX_ERROR;
    }

    error = "it must be <count>r/<period>";

    if (sw_parse_rate((char *) value.data, value.len, &limits->limit,
                      &limits->window)
        == SW_OK)
    {
        limits->slices = ngx_min(limits->slices, limits->window);
        error = sw_policy_error(limits);
    }

    if (error) {
        limits->limit = 0;

        ngx_http_slidewin_make_printable(&value);

        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "invalid rate \"%V\" of slidewin zone \"%V\", %s",
                      &value, &policy->name, error);
    }

    return NGX_OK;
}


/* a cost that is none leaves nothing to ask, as a rate that is none does */

static ngx_int_t
ngx_http_slidewin_claim_cost(ngx_http_request_t *r,
    ngx_http_slidewin_limit_t *limit, ngx_http_slidewin_claim_t *claim)
{
    ngx_str_t  value;

    claim->cost = limit->cost;

    if (limit->cost_value == NULL) {
        return NGX_OK;
    }

    if (ngx_http_complex_value(r, limit->cost_value, &value) != NGX_OK) {
        return NGX_ERROR;
    }

    if (sw_parse_cost((char *) value.data, value.len, &claim->cost)
        != SW_OK)
    {
        claim->policy.limit = 0;

        ngx_http_slidewin_make_printable(&value);

        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "invalid cost \"%V\" for slidewin zone \"%V\", it must "
                      "be a whole number",
                      &value, &limit->policy->name);
    }

    return NGX_OK;
}


/* what a client sent must not make up lines in the log */

static void
ngx_http_slidewin_make_printable(ngx_str_t *value)
{
    size_t  i;

    for (i = 0; i < value->len && i < 64; i++) {
        if (value->data[i] < ' ' || value->data[i] > '~') {
            break;
        }
    }

    value->len = i;
}
