
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_ban.h"
#include "ngx_http_slidewin_claim.h"
#include "sw_parse.h"


/* between two lines of a zone on bad rates or costs, which clients may send */
#define NGX_HTTP_SLIDEWIN_CLAIM_PERIOD  1000    /* ms */


static ngx_http_slidewin_entry_t *ngx_http_slidewin_claim_alloc(
    ngx_http_request_t *r, ngx_http_slidewin_ctx_t *ctx, ngx_uint_t n);
static ngx_uint_t ngx_http_slidewin_claim_again(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry);
static ngx_int_t ngx_http_slidewin_claim_applies(ngx_http_request_t *r,
    ngx_http_slidewin_limit_t *limit);
static ngx_int_t ngx_http_slidewin_claim_limit(ngx_http_request_t *r,
    ngx_http_slidewin_limit_t *limit, ngx_http_slidewin_entry_t *entry);
static ngx_int_t ngx_http_slidewin_claim_key(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy, ngx_str_t *key);
static ngx_int_t ngx_http_slidewin_claim_rate(ngx_http_request_t *r,
    ngx_http_slidewin_entry_t *entry);
static ngx_int_t ngx_http_slidewin_claim_cost(ngx_http_request_t *r,
    ngx_http_slidewin_limit_t *limit, ngx_http_slidewin_claim_t *claim);
static void ngx_http_slidewin_make_printable(ngx_str_t *value);


ngx_int_t
ngx_http_slidewin_claim(ngx_http_request_t *r, ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_loc_conf_t *slcf)
{
    ngx_int_t                    rc;
    ngx_uint_t                   i, n, open;
    ngx_http_slidewin_entry_t   *entry, **last;
    ngx_http_slidewin_limit_t  **limits;

    limits = slcf->limits->elts;
    n = slcf->limits->nelts;

    /* of bans that earlier passes have begun the log has been told */

    for (last = &ctx->entries; *last; last = &(*last)->next) {
        (*last)->claim.ban_began = 0;
    }

    ctx->pass = last;
    open = 0;

    entry = ctx->allocated;
    ctx->allocated = NULL;

    if (entry == NULL) {
        entry = ngx_http_slidewin_claim_alloc(r, ctx, n);
        if (entry == NULL) {
            return NGX_ERROR;
        }
    }

    for (i = 0; i < n; i++) {

        rc = ngx_http_slidewin_claim_limit(r, limits[i], entry);

        if (rc == NGX_DECLINED) {
            entry->policy = limits[i]->policy;
            entry->next = ctx->bypassed;
            ctx->bypassed = entry++;

            continue;
        }

        if (rc != NGX_OK) {
            return NGX_ERROR;
        }

        entry->claim.dry_run = limits[i]->dry_run || slcf->dry_run;

        if (limits[i]->special) {

            if (limits[i]->changes) {
                ctx->has_changes = 1;

                if (limits[i]->charge) {
                    ctx->has_charges = 1;
                }
            }

            if (limits[i]->delay) {
                ctx->has_delays = 1;
            }

            if (entry->policy->ban.time) {
                ngx_http_slidewin_ban_claim(ctx, entry);
            }
        }

        if (ctx->pass == &ctx->entries
            || ngx_http_slidewin_claim_again(ctx, entry))
        {
            open++;
        }

        ngx_log_debug4(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                       "slidewin claim: zone:%V key:\"%V\" cost:%L limit:%L",
                       &entry->policy->name, &entry->claim.key,
                       entry->claim.cost, entry->rate);

        *last = entry;
        last = &entry->next;
        entry++;
    }

    return open ? NGX_OK : NGX_DECLINED;
}


static ngx_http_slidewin_entry_t *
ngx_http_slidewin_claim_alloc(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx, ngx_uint_t n)
{
    ngx_http_slidewin_entry_t  *entries;

    entries = ngx_pcalloc(r->pool,
                          n * (sizeof(ngx_http_slidewin_entry_t)
                               + sizeof(ngx_http_slidewin_claim_t *)));
    if (entries == NULL) {
        return NULL;
    }

    ctx->call.claims = (ngx_http_slidewin_claim_t **) &entries[n];

    return entries;
}


/*
 * Whether there is anything to ask for.  If an earlier pass has claimed the
 * policy, the stricter of both applies: enforced rather than a dry run, and the
 * greater cost, of which only the rest is taken.  A dry run that counted
 * nothing, or for another client, does not lower the cost of an enforced claim.
 */

static ngx_uint_t
ngx_http_slidewin_claim_again(ngx_http_slidewin_ctx_t *ctx,
    ngx_http_slidewin_entry_t *entry)
{
    int64_t                     taken;
    ngx_uint_t                  claimed, unchecked, source;
    ngx_http_slidewin_claim_t  *claim, *before;
    ngx_http_slidewin_entry_t  *other;

    claimed = 0;
    unchecked = 1;
    source = NGX_HTTP_SLIDEWIN_SOURCE_NONE;
    taken = 0;
    claim = &entry->claim;

    for (other = ctx->entries; other != *ctx->pass; other = other->next) {

        if (other->policy != entry->policy) {
            continue;
        }

        /* a bad rate or cost: nothing was asked for */

        if (other->rate == 0) {
            continue;
        }

        before = &other->claim;

        if (before->dry_run && !claim->dry_run
            && (!before->counted
                || !ngx_http_slidewin_same_client(other, entry)))
        {
            continue;
        }

        claimed = 1;
        taken += before->cost;

        if (before->dry_ban == claim->dry_ban
            && ngx_http_slidewin_same_client(other, entry))
        {
            unchecked = 0;
            source = ngx_max(source, (ngx_uint_t) other->source);
        }
    }

    /* a bad rate or cost, or one that never passes, is to be rejected */

    if (!claimed || entry->rate == 0 || entry->cost > entry->rate) {
        return 1;
    }

    if (entry->cost > taken) {
        claim->cost = entry->cost - taken;
        return 1;
    }

    claim->cost = 0;

    /* the units are counted, but no pass has looked for a ban of this client */

    if (claim->ban && unchecked) {
        return 1;
    }

    /* of several passes, that which knows least about a ban */

    entry->source = (ngx_http_slidewin_source_e) source;

    claim->verdict.admitted = 1;
    entry->decided = 1;
    entry->superseded = 1;

    return 0;
}


/* if=, as that of access_log: empty or "0" exempts from this pass */

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
    ngx_int_t                    rc;
    ngx_http_slidewin_policy_t  *policy;

    if (!limit->plain) {
        rc = ngx_http_slidewin_claim_applies(r, limit);

        if (rc != NGX_OK) {
            return rc;
        }
    }

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

    if (ngx_http_slidewin_claim_rate(r, entry) != NGX_OK) {
        return NGX_ERROR;
    }

    entry->claim.cost = limit->cost;

    if (!limit->plain
        && ngx_http_slidewin_claim_cost(r, limit, &entry->claim) != NGX_OK)
    {
        return NGX_ERROR;
    }

    entry->rate = entry->claim.rule.limit;
    entry->cost = entry->claim.cost;

    return NGX_OK;
}


/* a variable's value is in the request's pool and is not copied */

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
    ngx_http_slidewin_entry_t *entry)
{
    ngx_str_t                    value;
    sw_rule_t                   *rule;
    const char                  *error;
    ngx_http_slidewin_policy_t  *policy;

    policy = entry->policy;
    rule = &entry->claim.rule;

    *rule = policy->rule;

    if (policy->rate == NULL) {
        return NGX_OK;
    }

    if (ngx_http_complex_value(r, policy->rate, &value) != NGX_OK) {
        return NGX_ERROR;
    }

    entry->rate_text = value;

    error = "it must be <count>r/<period>";

    if (sw_parse_rate((char *) value.data, value.len, &rule->limit,
                      &rule->window)
        == SW_OK)
    {
        rule->slices = ngx_min(rule->slices, rule->window);
        error = sw_rule_error(rule);
    }

    if (error) {
        rule->limit = 0;

        ngx_http_slidewin_claim_bad(r, policy,
                                    "invalid rate \"%V\" of slidewin zone "
                                    "\"%V\", %s%*s",
                                    &value, error);
    }

    return NGX_OK;
}


/* a bad cost gets a limit of 0, as a bad rate does: on_error decides */

static ngx_int_t
ngx_http_slidewin_claim_cost(ngx_http_request_t *r,
    ngx_http_slidewin_limit_t *limit, ngx_http_slidewin_claim_t *claim)
{
    ngx_str_t  value;

    if (limit->cost_value == NULL) {
        return NGX_OK;
    }

    if (ngx_http_complex_value(r, limit->cost_value, &value) != NGX_OK) {
        return NGX_ERROR;
    }

    if (sw_parse_cost((char *) value.data, value.len, &claim->cost)
        != SW_OK)
    {
        claim->rule.limit = 0;

        ngx_http_slidewin_claim_bad(r, limit->policy,
                                    "invalid cost \"%V\" for slidewin zone "
                                    "\"%V\", %s%*s",
                                    &value, "it must be a whole number");
    }

    if (claim->cost == 0 && limit->charge) {
        claim->cost = 1;
    }

    return NGX_OK;
}


/* at most a line in a period, so that a client cannot fill the log */

void
ngx_http_slidewin_claim_bad(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy, const char *fmt, ngx_str_t *value,
    const char *error)
{
    u_char      *p;
    ngx_msec_t   elapsed;
    ngx_uint_t   level;
    u_char       more[sizeof(",  more like it in the last ms")
                      + NGX_INT_T_LEN + NGX_TIME_T_LEN];

    p = more;
    level = NGX_LOG_ERR;
    elapsed = ngx_current_msec - policy->bad_logged;

    if (elapsed < NGX_HTTP_SLIDEWIN_CLAIM_PERIOD) {
        policy->bad_skipped++;
        level = NGX_LOG_DEBUG;

    } else {
        if (policy->bad_skipped) {
            p = ngx_sprintf(more, ", %ui more like it in the last %Mms",
                            policy->bad_skipped, elapsed);
        }

        policy->bad_logged = ngx_current_msec;
        policy->bad_skipped = 0;
    }

    ngx_http_slidewin_make_printable(value);

    ngx_log_error(level, r->connection->log, 0, fmt, value, &policy->name,
                  error, (size_t) (p - more), more);
}


/* cut where a client could forge a log line */

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
