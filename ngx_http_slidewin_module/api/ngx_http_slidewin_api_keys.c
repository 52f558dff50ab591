
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_api_keys.h"
#include "ngx_http_slidewin_api_send.h"
#include "ngx_http_slidewin_ban.h"
#include "ngx_http_slidewin_cache.h"
#include "ngx_http_slidewin_charge.h"
#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_ctx.h"
#include "ngx_http_slidewin_delay_queue.h"
#include "ngx_http_slidewin_module.h"
#include "sw_parse.h"
#include "sw_text.h"


/* in the request's pool; claims[1] is for the store to use, see backend.h */

typedef struct ngx_http_slidewin_api_ask_s  ngx_http_slidewin_api_ask_t;

struct ngx_http_slidewin_api_ask_s {
    ngx_http_slidewin_call_t      call;
    ngx_http_slidewin_claim_t     claim;
    ngx_http_slidewin_claim_t     spare;
    ngx_http_slidewin_claim_t    *claims[2];
    ngx_http_slidewin_policy_t   *policy;
    ngx_http_slidewin_store_t    *pending;    /* NULL: none */
    ngx_http_request_t           *request;
    ngx_uint_t                    no_rate;

    ngx_int_t                   (*finish)(ngx_http_slidewin_api_ask_t *ask,
                                          ngx_int_t rc);
};


static ngx_http_slidewin_api_ask_t *ngx_http_slidewin_api_ask_create(
    ngx_http_request_t *r, ngx_http_slidewin_policy_t *policy,
    ngx_str_t *key);
static ngx_int_t ngx_http_slidewin_api_ask_wait(
    ngx_http_slidewin_api_ask_t *ask, ngx_http_slidewin_store_t *store);
static void ngx_http_slidewin_api_ask_write(ngx_http_request_t *r);
static void ngx_http_slidewin_api_ask_cleanup(void *data);
static void ngx_http_slidewin_api_ask_done(ngx_http_slidewin_call_t *call,
    ngx_int_t rc);
static ngx_int_t ngx_http_slidewin_api_key_got(
    ngx_http_slidewin_api_ask_t *ask, ngx_int_t rc);
static ngx_int_t ngx_http_slidewin_api_key_next(
    ngx_http_slidewin_api_body_t *body, ngx_buf_t *b);
static ngx_int_t ngx_http_slidewin_api_key_deleted(
    ngx_http_slidewin_api_ask_t *ask, ngx_int_t rc);
static ngx_int_t ngx_http_slidewin_api_key_rate(ngx_http_request_t *r,
    ngx_str_t *rate, sw_rule_t *rule);
static void ngx_http_slidewin_api_key_any_rate(
    ngx_http_slidewin_claim_t *claim);


/* a cost of 1: Retry-After is that of an ordinary request */

ngx_int_t
ngx_http_slidewin_api_key_get(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy, ngx_str_t *key, ngx_str_t *rate)
{
    ngx_int_t                     rc;
    ngx_http_slidewin_store_t    *store;
    ngx_http_slidewin_api_ask_t  *ask;

    ask = ngx_http_slidewin_api_ask_create(r, policy, key);
    if (ask == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ask->finish = ngx_http_slidewin_api_key_got;

    if (rate->len) {
        if (policy->rate == NULL) {
            return ngx_http_slidewin_api_send_error(r, NGX_HTTP_BAD_REQUEST,
                                            "the rate of this zone is fixed");
        }

        if (ngx_http_slidewin_api_key_rate(r, rate, &ask->claim.rule)
            != NGX_OK)
        {
            return ngx_http_slidewin_api_send_error(r, NGX_HTTP_BAD_REQUEST,
                                    "rate must be <count>r/<period>, such as "
                                    "5r/m");
        }

    } else if (policy->rate) {
        ask->no_rate = 1;

        if (ask->claim.ban == NULL) {
            return ngx_http_slidewin_api_key_got(ask, NGX_OK);
        }

        ngx_http_slidewin_api_key_any_rate(&ask->claim);
    }

    store = policy->store;

    if (store->backend->peek == NULL) {
        return ngx_http_slidewin_api_key_got(ask, NGX_ERROR);
    }

    rc = store->backend->peek(store, &ask->call);

    if (rc == NGX_AGAIN) {
        return ngx_http_slidewin_api_ask_wait(ask, store);
    }

    return ngx_http_slidewin_api_key_got(ask, rc);
}


static ngx_http_slidewin_api_ask_t *
ngx_http_slidewin_api_ask_create(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy, ngx_str_t *key)
{
    ngx_pool_cleanup_t           *cln;
    ngx_http_slidewin_api_ask_t  *ask;

    cln = ngx_pool_cleanup_add(r->pool, sizeof(ngx_http_slidewin_api_ask_t));
    if (cln == NULL) {
        return NULL;
    }

    ask = cln->data;
    ngx_memzero(ask, sizeof(ngx_http_slidewin_api_ask_t));

    cln->handler = ngx_http_slidewin_api_ask_cleanup;

    ask->request = r;
    ask->policy = policy;

    ask->claim.zone = policy->zone;
    ask->claim.name = policy->name;
    ask->claim.key = *key;
    ask->claim.rule = policy->rule;
    ask->claim.cost = 1;
    ask->claim.ban = policy->bans ? &policy->ban : NULL;

    ask->claims[0] = &ask->claim;
    ask->claims[1] = &ask->spare;

    ask->call.claims = ask->claims;
    ask->call.n = 1;
    ask->call.log = r->connection->log;
    ask->call.asked_at = ngx_http_slidewin_clock_us();
    ask->call.done = ngx_http_slidewin_api_ask_done;
    ask->call.data = ask;

    return ask;
}


static ngx_int_t
ngx_http_slidewin_api_key_rate(ngx_http_request_t *r, ngx_str_t *rate,
    sw_rule_t *rule)
{
    size_t   len;
    u_char  *text;

    text = ngx_pnalloc(r->pool, rate->len);

    if (text == NULL
        || sw_text_from_uri(text, (char *) rate->data, rate->len, &len) != 0
        || sw_parse_rate((char *) text, len, &rule->limit, &rule->window)
           != SW_OK)
    {
        return NGX_ERROR;
    }

    rule->slices = ngx_min(rule->slices, rule->window);

    return sw_rule_error(rule) ? NGX_ERROR : NGX_OK;
}


/*
 * A ban is the same for all rates, and nothing else is told.  A cost of 0
 * leaves what was counted by other rates as it is.
 */

static void
ngx_http_slidewin_api_key_any_rate(ngx_http_slidewin_claim_t *claim)
{
    sw_rule_t  *rule;

    rule = &claim->rule;
    claim->cost = 0;

    rule->limit = 1;
    rule->window = 1000;
    rule->slices = ngx_min(rule->slices, rule->window);
}


/*
 * The request goes on when the store has answered, at the latest after its
 * timeout; a client that leaves is noticed.
 */

static ngx_int_t
ngx_http_slidewin_api_ask_wait(ngx_http_slidewin_api_ask_t *ask,
    ngx_http_slidewin_store_t *store)
{
    ngx_event_t         *rev;
    ngx_http_request_t  *r;

    r = ask->request;
    rev = r->connection->read;

    ask->pending = store;

    r->write_event_handler = ngx_http_slidewin_api_ask_write;
    r->main->count++;

    /* a body that is being discarded has a handler that notices as well */

    if (!r->discard_body) {
        r->read_event_handler = ngx_http_test_reading;

        if (rev->ready) {
            ngx_post_event(rev, &ngx_posted_events);

        } else if (ngx_handle_read_event(rev, 0) != NGX_OK) {
            ngx_http_slidewin_api_ask_cleanup(ask);
            r->main->count--;
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    return NGX_DONE;
}


static void
ngx_http_slidewin_api_ask_write(ngx_http_request_t *r)
{
    /* void */
}


static void
ngx_http_slidewin_api_ask_cleanup(void *data)
{
    ngx_http_slidewin_api_ask_t  *ask;

    ask = data;

    if (ask->pending) {
        ask->pending->backend->cancel(ask->pending, &ask->call);
        ask->pending = NULL;
    }
}


static void
ngx_http_slidewin_api_ask_done(ngx_http_slidewin_call_t *call, ngx_int_t rc)
{
    ngx_connection_t             *c;
    ngx_http_request_t           *r;
    ngx_http_slidewin_api_ask_t  *ask;

    ask = call->data;
    r = ask->request;
    c = r->connection;

    ask->pending = NULL;

    ngx_http_set_log_request(c->log, r);

    if (!r->discard_body) {
        r->read_event_handler = ngx_http_block_reading;
    }

    ngx_http_finalize_request(r, ask->finish(ask, rc));

    ngx_http_run_posted_requests(c);
}


static ngx_int_t
ngx_http_slidewin_api_key_got(ngx_http_slidewin_api_ask_t *ask, ngx_int_t rc)
{
    ngx_http_request_t            *r;
    ngx_http_slidewin_api_body_t  *body;

    r = ask->request;

    if (rc != NGX_OK) {
        return ngx_http_slidewin_api_send_error(r,
                                                NGX_HTTP_SERVICE_UNAVAILABLE,
                                                "the store does not answer");
    }

    if (ask->claim.ban) {
        ngx_http_slidewin_ban_list(ask->policy, ask->policy->store,
                                   &ask->claim, ask->call.asked_at);
    }

    body = ngx_pcalloc(r->pool, sizeof(ngx_http_slidewin_api_body_t));
    if (body == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    body->next = ngx_http_slidewin_api_key_next;
    body->data = ask;
    body->part = 512 + SW_TEXT_MAX * ask->claim.key.len;

    return ngx_http_slidewin_api_send(r, &ngx_http_slidewin_api_json_type,
                                      body);
}


static ngx_int_t
ngx_http_slidewin_api_key_next(ngx_http_slidewin_api_body_t *body,
    ngx_buf_t *b)
{
    int64_t                       scale;
    sw_verdict_t                 *verdict;
    ngx_http_slidewin_claim_t    *claim;
    ngx_http_slidewin_api_ask_t  *ask;

    ask = body->data;
    claim = &ask->claim;

    ngx_http_slidewin_api_print(b, "{\"key\": \"");
    b->last += sw_text_json((char *) b->last, claim->key.data, claim->key.len);

    if (ask->no_rate) {
        ngx_http_slidewin_api_print(b, "\", \"limit\": null, "
                                    "\"remaining\": null, \"estimate\": null, "
                                    "\"reset\": null, \"retry_after\": null");

    } else {
        verdict = &claim->verdict;
        sw_verdict_complete(verdict, &claim->rule);
        scale = ngx_max(verdict->scale, 1);

        ngx_http_slidewin_api_print(b, "\", \"limit\": %L, \"remaining\": %L, "
                                    "\"estimate\": %L.%03L, \"reset\": %L, "
                                    "\"retry_after\": %L",
                                    claim->rule.limit, verdict->remaining,
                                    verdict->level / scale,
                                    verdict->level % scale * 1000 / scale,
                                    ngx_http_slidewin_seconds(verdict->reset),
                                    verdict->admitted ? 0
                                   : ngx_http_slidewin_seconds(verdict->retry));
    }

    ngx_http_slidewin_api_print(b, ", \"banned\": %L}\n",
                                ngx_http_slidewin_seconds(claim->banned));

    return NGX_OK;
}


/*
 * What this machine remembers is forgotten before the store is asked, and once
 * more when it has answered: other requests ask meanwhile.
 */

ngx_int_t
ngx_http_slidewin_api_key_delete(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy, ngx_str_t *key)
{
    ngx_int_t                       rc;
    ngx_http_slidewin_store_t      *store;
    ngx_http_slidewin_api_ask_t    *ask;
    ngx_http_slidewin_main_conf_t  *smcf;

    ask = ngx_http_slidewin_api_ask_create(r, policy, key);
    if (ask == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ask->finish = ngx_http_slidewin_api_key_deleted;

    smcf = ngx_http_get_module_main_conf(r, ngx_http_slidewin_module);
    store = policy->store;

    /* the counts of a local zone, or of the fallback */

    rc = smcf->local.backend->reset(&smcf->local, &ask->call);

    if (!store->local) {
        ngx_http_slidewin_cache_purge(policy, &ask->claim);
        ngx_http_slidewin_charge_forget(store, &ask->claim);

        rc = store->backend->reset(store, &ask->call);

        if (rc == NGX_AGAIN) {
            return ngx_http_slidewin_api_ask_wait(ask, store);
        }
    }

    return ngx_http_slidewin_api_key_deleted(ask, rc);
}


static ngx_int_t
ngx_http_slidewin_api_key_deleted(ngx_http_slidewin_api_ask_t *ask,
    ngx_int_t rc)
{
    if (!ask->policy->store->local) {
        ngx_http_slidewin_cache_purge(ask->policy, &ask->claim);
    }

    ngx_http_slidewin_delay_wake(ask->policy, &ask->claim.key);

    if (rc != NGX_OK) {
        return ngx_http_slidewin_api_send_error(ask->request,
                                      NGX_HTTP_SERVICE_UNAVAILABLE,
                                      "the store does not answer: what this "
                                      "machine remembers is cleared, what the "
                                      "store counts may not be");
    }

    if (ask->policy->bans) {
        ngx_http_slidewin_bans_remove(ask->policy->bans, &ask->claim.key);
    }

    ngx_log_error(NGX_LOG_NOTICE, ask->request->connection->log, 0,
                  "slidewin zone \"%V\": a client was reset by an operator",
                  &ask->policy->name);

    return ngx_http_slidewin_api_send_empty(ask->request, NGX_HTTP_NO_CONTENT);
}
