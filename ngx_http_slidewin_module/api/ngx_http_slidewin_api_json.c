
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_api_json.h"
#include "ngx_http_slidewin_api_send.h"
#include "ngx_http_slidewin_api_snapshot.h"
#include "ngx_http_slidewin_ctx.h"
#include "ngx_http_slidewin_module.h"
#include "sw_text.h"


static ngx_int_t ngx_http_slidewin_api_json_send(ngx_http_request_t *r,
    ngx_http_slidewin_api_next_pt next, void *data);
static ngx_int_t ngx_http_slidewin_api_json_info_next(
    ngx_http_slidewin_api_body_t *body, ngx_buf_t *b);
static ngx_int_t ngx_http_slidewin_api_json_zones_next(
    ngx_http_slidewin_api_body_t *body, ngx_buf_t *b);
static ngx_int_t ngx_http_slidewin_api_json_zone_next(
    ngx_http_slidewin_api_body_t *body, ngx_buf_t *b);
static ngx_int_t ngx_http_slidewin_api_json_top_next(
    ngx_http_slidewin_api_body_t *body, ngx_buf_t *b);
static ngx_int_t ngx_http_slidewin_api_json_stores_next(
    ngx_http_slidewin_api_body_t *body, ngx_buf_t *b);
static void ngx_http_slidewin_api_json_print_zone(ngx_buf_t *b,
    ngx_http_slidewin_zone_snapshot_t *zone);
static void ngx_http_slidewin_api_json_print_ban_rule(ngx_buf_t *b,
    sw_ban_rule_t *rule);
static void ngx_http_slidewin_api_json_print_counts(ngx_buf_t *b,
    ngx_http_slidewin_zone_counters_t *counters);
static void ngx_http_slidewin_api_json_print_client(ngx_buf_t *b,
    sw_top_entry_t *client);
static void ngx_http_slidewin_api_json_print_key(ngx_buf_t *b,
    const u_char *key, size_t len, size_t kept, const char *name);
static ngx_int_t ngx_http_slidewin_api_json_bans_next(
    ngx_http_slidewin_api_body_t *body, ngx_buf_t *b);
static void ngx_http_slidewin_api_json_print_ban(ngx_buf_t *b,
    sw_bans_entry_t *ban, sw_ban_rule_t *rule);
static void ngx_http_slidewin_api_json_print_store(ngx_buf_t *b,
    ngx_http_slidewin_store_snapshot_t *store);
static void ngx_http_slidewin_api_json_print_histogram(ngx_buf_t *b,
    ngx_atomic_t *buckets, const ngx_str_t *bounds, ngx_uint_t n);
static time_t ngx_http_slidewin_api_json_time(int64_t msec);


typedef struct {
    ngx_http_slidewin_policy_t     *policy;
    ngx_http_slidewin_bans_list_t   list;
} ngx_http_slidewin_api_bans_t;


static const char  *ngx_http_slidewin_api_on_error[] = {
    [NGX_HTTP_SLIDEWIN_ON_ERROR_LOCAL] = "local",
    [NGX_HTTP_SLIDEWIN_ON_ERROR_OPEN] = "open",
    [NGX_HTTP_SLIDEWIN_ON_ERROR_CLOSED] = "closed"
};


static ngx_int_t
ngx_http_slidewin_api_json_send(ngx_http_request_t *r,
    ngx_http_slidewin_api_next_pt next, void *data)
{
    ngx_http_slidewin_api_body_t  *body;

    body = ngx_pcalloc(r->pool, sizeof(ngx_http_slidewin_api_body_t));

    if (body == NULL || data == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    body->next = next;
    body->data = data;

    return ngx_http_slidewin_api_send(r, &ngx_http_slidewin_api_json_type,
                                      body);
}


ngx_int_t
ngx_http_slidewin_api_json_info(ngx_http_request_t *r)
{
    return ngx_http_slidewin_api_json_send(r,
                                     ngx_http_slidewin_api_json_info_next, r);
}


static ngx_int_t
ngx_http_slidewin_api_json_info_next(ngx_http_slidewin_api_body_t *body,
    ngx_buf_t *b)
{
    ngx_time_t                     *tp;
    ngx_http_request_t             *r;
    ngx_http_slidewin_loc_conf_t   *slcf;
    ngx_http_slidewin_main_conf_t  *smcf;

    r = body->data;
    slcf = ngx_http_get_module_loc_conf(r, ngx_http_slidewin_module);
    smcf = ngx_http_get_module_main_conf(r, ngx_http_slidewin_module);
    tp = ngx_timeofday();

    ngx_http_slidewin_api_print(b,
        "{\"version\": \"" NGX_HTTP_SLIDEWIN_VERSION "\", "
        "\"nginx\": \"" NGINX_VERSION "\", \"write\": %s, "
        "\"time\": %T.%03M, \"since\": %T}\n",
        slcf->api_write ? "true" : "false", tp->sec, tp->msec,
        smcf->stats ? smcf->stats->since : tp->sec);

    return NGX_OK;
}


ngx_int_t
ngx_http_slidewin_api_json_zones(ngx_http_request_t *r)
{
    ngx_http_slidewin_main_conf_t  *smcf;

    smcf = ngx_http_get_module_main_conf(r, ngx_http_slidewin_module);

    return ngx_http_slidewin_api_json_send(r,
                                     ngx_http_slidewin_api_json_zones_next,
                                     ngx_http_slidewin_api_snapshot(smcf,
                                                                    r->pool));
}


static ngx_int_t
ngx_http_slidewin_api_json_zones_next(ngx_http_slidewin_api_body_t *body,
    ngx_buf_t *b)
{
    ngx_http_slidewin_snapshot_all_t   *all;
    ngx_http_slidewin_zone_snapshot_t  *zone;

    all = body->data;

    for ( /* void */ ; body->item < all->nzones; body->item++) {

        if (b->end - b->last < NGX_HTTP_SLIDEWIN_API_ITEM) {
            return NGX_AGAIN;
        }

        zone = ngx_http_slidewin_api_snapshot_take(all, body->item);

        ngx_http_slidewin_api_print(b, "%s\"%V\": ", body->item ? ",\n" : "{",
                                    &zone->policy->name);
        ngx_http_slidewin_api_json_print_zone(b, zone);
    }

    ngx_http_slidewin_api_print(b, all->nzones ? "}\n" : "{}\n");

    return NGX_OK;
}


ngx_int_t
ngx_http_slidewin_api_json_zone(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy)
{
    return ngx_http_slidewin_api_json_send(r,
                                ngx_http_slidewin_api_json_zone_next, policy);
}


static ngx_int_t
ngx_http_slidewin_api_json_zone_next(ngx_http_slidewin_api_body_t *body,
    ngx_buf_t *b)
{
    ngx_http_slidewin_zone_snapshot_t  zone;

    ngx_http_slidewin_api_snapshot_zone(body->data, &zone);
    ngx_http_slidewin_api_json_print_zone(b, &zone);
    ngx_http_slidewin_api_print(b, "\n");

    return NGX_OK;
}


static void
ngx_http_slidewin_api_json_print_zone(ngx_buf_t *b,
    ngx_http_slidewin_zone_snapshot_t *zone)
{
    ngx_http_slidewin_policy_t      *policy;
    ngx_http_slidewin_suspect_t     *suspect;
    ngx_http_slidewin_zone_usage_t  *usage;

    policy = zone->policy;
    usage = &zone->usage;
    suspect = &zone->suspect;

    ngx_http_slidewin_api_print(b, "{\"rate\": \"");
    ngx_http_slidewin_api_print_json(b, policy->rate_text.data,
                                     ngx_min(policy->rate_text.len, 256));

    if (policy->rate) {
        ngx_http_slidewin_api_print(b, "\", \"limit\": null, "
                                       "\"window\": null");
    } else {
        ngx_http_slidewin_api_print(b, "\", \"limit\": %L, \"window\": ",
                                    policy->rule.limit);
        ngx_http_slidewin_api_print_seconds(b, policy->rule.window);
    }

    ngx_http_slidewin_api_print(b, ", \"algorithm\": \"%V\", \"store\": \"%s\""
                                   ", \"store_name\": \"",
                        &ngx_http_slidewin_algorithms[policy->rule.algorithm],
                        policy->store->local ? "local" : "redis");
    ngx_http_slidewin_api_print_json(b,
                 ngx_http_slidewin_api_store_name(policy->store)->data,
                 ngx_http_slidewin_api_store_name(policy->store)->len);

    ngx_http_slidewin_api_print(b,
        "\", \"on_error\": \"%s\", "
        "\"memory\": {\"size\": %uz, \"free\": %uz}, \"entries\": %ui, "
        "\"evicted\": {\"idle\": %uA, \"live\": %uA}, \"ban\": ",
        ngx_http_slidewin_api_on_error[policy->on_error],
        usage->size, usage->free, usage->entries,
        zone->counters.evicted_idle, zone->counters.evicted_live);

    ngx_http_slidewin_api_json_print_ban_rule(b, &policy->ban);

    ngx_http_slidewin_api_print(b,
        ", \"bans\": %ui, \"bans_overflow\": %ui, \"bans_total\": %uA, ",
        zone->bans, zone->bans_overflow, zone->counters.bans);
    ngx_http_slidewin_api_print(b,
        "\"charges\": {\"settled\": %uA, \"estimated\": %uA}, ",
        zone->counters.charges_settled, zone->counters.charges_estimated);

    ngx_http_slidewin_api_json_print_counts(b, &zone->counters);

    ngx_http_slidewin_api_print(b, ", \"top\": {\"counters\": %L, "
                                   "\"overflow\": %L}, \"suspect\": ",
                                policy->top_counters, zone->overflow);

    if (suspect->at == 0) {
        ngx_http_slidewin_api_print(b, "null}");
        return;
    }

    ngx_http_slidewin_api_print(b, "{\"key\": \"");
    ngx_http_slidewin_api_print_json(b, suspect->key, suspect->len);
    ngx_http_slidewin_api_print(b, "\", \"share\": %uA.%02uA, \"since\": %T}}",
                                suspect->share / 100, suspect->share % 100,
                                (time_t) suspect->since);
}


static void
ngx_http_slidewin_api_json_print_ban_rule(ngx_buf_t *b, sw_ban_rule_t *rule)
{
    if (rule->time == 0) {
        ngx_http_slidewin_api_print(b, "null");
        return;
    }

    ngx_http_slidewin_api_print(b, "{\"time\": ");
    ngx_http_slidewin_api_print_seconds(b, rule->time);
    ngx_http_slidewin_api_print(b, ", \"max\": ");
    ngx_http_slidewin_api_print_seconds(b, ngx_max(rule->time, rule->max));
    ngx_http_slidewin_api_print(b, "}");
}


static void
ngx_http_slidewin_api_json_print_counts(ngx_buf_t *b,
    ngx_http_slidewin_zone_counters_t *counters)
{
    ngx_uint_t                              i, status, source;
    ngx_atomic_uint_t                       sum;
    const ngx_http_slidewin_api_outcome_t  *outcome;

    ngx_http_slidewin_api_print(b, "\"outcomes\": {");

    for (outcome = ngx_http_slidewin_api_outcomes;
         outcome->name.len;
         outcome++)
    {
        sum = 0;

        for (i = 0; i < NGX_HTTP_SLIDEWIN_SOURCES; i++) {
            sum += counters->evaluations[outcome->status][i];
        }

        ngx_http_slidewin_api_print(b, "%s\"%V\": %uA",
                                    outcome == ngx_http_slidewin_api_outcomes
                                    ? "" : ", ", &outcome->name, sum);
    }

    ngx_http_slidewin_api_print(b, "}, \"sources\": {");

    for (source = NGX_HTTP_SLIDEWIN_SOURCE_NONE + 1;
         source < NGX_HTTP_SLIDEWIN_SOURCES;
         source++)
    {
        sum = 0;

        for (status = 0; status < NGX_HTTP_SLIDEWIN_STATUSES; status++) {
            sum += counters->evaluations[status][source];
        }

        ngx_http_slidewin_api_print(b, "%s\"%V\": %uA",
                                    source > NGX_HTTP_SLIDEWIN_SOURCE_NONE + 1
                                    ? ", " : "",
                                    &ngx_http_slidewin_sources[source], sum);
    }

    ngx_http_slidewin_api_print(b, "}, \"utilization\": ");
    ngx_http_slidewin_api_json_print_histogram(b, counters->utilization,
                                           ngx_http_slidewin_api_util_bounds,
                                           SW_UTILIZATION_BUCKETS);
}


/* each bucket with those below it, as in Prometheus */

static void
ngx_http_slidewin_api_json_print_histogram(ngx_buf_t *b, ngx_atomic_t *buckets,
    const ngx_str_t *bounds, ngx_uint_t n)
{
    ngx_uint_t         i;
    ngx_atomic_uint_t  sum;

    sum = 0;

    for (i = 0; i < n; i++) {
        sum += buckets[i];

        ngx_http_slidewin_api_print(b, "%s\"%V\": %uA", i ? ", " : "{",
                                    &bounds[i], sum);
    }

    ngx_http_slidewin_api_print(b, "}");
}


ngx_int_t
ngx_http_slidewin_api_json_top(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy)
{
    ngx_http_slidewin_top_list_t  *list;

    list = ngx_pcalloc(r->pool, sizeof(ngx_http_slidewin_top_list_t));
    if (list == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    list->since = (int64_t) ngx_current_msec;

    if (policy->top
        && ngx_http_slidewin_top_list(policy->top, r->pool, list) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_slidewin_api_json_send(r,
                                   ngx_http_slidewin_api_json_top_next, list);
}


static ngx_int_t
ngx_http_slidewin_api_json_top_next(ngx_http_slidewin_api_body_t *body,
    ngx_buf_t *b)
{
    ngx_http_slidewin_top_list_t  *list;

    list = body->data;

    if (body->section++ == 0) {
        ngx_http_slidewin_api_print(b, "{\"since\": %T, \"top\": [",
                                 ngx_http_slidewin_api_json_time(list->since));
    }

    for ( /* void */ ; body->item < list->n; body->item++) {

        if (b->end - b->last < NGX_HTTP_SLIDEWIN_API_ITEM) {
            return NGX_AGAIN;
        }

        ngx_http_slidewin_api_print(b, body->item ? ",\n" : "\n");
        ngx_http_slidewin_api_json_print_client(b,
                                                &list->entries[body->item]);
    }

    ngx_http_slidewin_api_print(b, "]}\n");

    return NGX_OK;
}


static void
ngx_http_slidewin_api_json_print_client(ngx_buf_t *b, sw_top_entry_t *client)
{
    ngx_http_slidewin_api_json_print_key(b, client->key, client->len,
                                         SW_TOP_KEY, "length");

    ngx_http_slidewin_api_print(b, ", \"rejected\": %L, \"error\": %L, "
                                   "\"first\": %T, \"last\": %T}",
                             client->count, client->error,
                             ngx_http_slidewin_api_json_time(client->first),
                             ngx_http_slidewin_api_json_time(client->last));
}


/*
 * The beginning of an object.  If the key was cut, its whole length is in a
 * field of that name.  In a path, but not in its arguments, nginx refuses %00,
 * and resolves a "..", as browsers do, even where the slashes around it are
 * encoded.
 */

static void
ngx_http_slidewin_api_json_print_key(ngx_buf_t *b, const u_char *key,
    size_t len, size_t kept, const char *name)
{
    size_t      n;
    ngx_uint_t  in_args;

    n = ngx_min(len, kept);
    in_args = (n == 1 && key[0] == '.')
              || (n == 2 && key[0] == '.' && key[1] == '.')
              || memchr(key, '\0', n)
              || memchr(key, '/', n);

    ngx_http_slidewin_api_print(b, "{\"key\": \"");
    ngx_http_slidewin_api_print_json(b, key, n);

    if (len > kept) {
        ngx_http_slidewin_api_print(b, "\", \"path\": null, \"%s\": %uz",
                                    name, len);
        return;
    }

    ngx_http_slidewin_api_print(b, "\", \"path\": \"%s",
                                in_args ? "keys?key=" : "keys/");
    b->last += sw_text_uri((char *) b->last, key, n);
    ngx_http_slidewin_api_print(b, "\"");
}


ngx_int_t
ngx_http_slidewin_api_json_bans(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy)
{
    ngx_int_t                       max;
    ngx_str_t                       arg;
    ngx_http_slidewin_api_bans_t   *bans;

    max = NGX_MAX_INT32_VALUE;

    if (ngx_http_arg(r, (u_char *) "max", 3, &arg) == NGX_OK) {
        max = ngx_atoi(arg.data, arg.len);

        if (max == NGX_ERROR) {
            return ngx_http_slidewin_api_send_error(r, NGX_HTTP_BAD_REQUEST,
                                    "max must be a number, of bans to list");
        }
    }

    bans = ngx_pcalloc(r->pool, sizeof(ngx_http_slidewin_api_bans_t));
    if (bans == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    bans->policy = policy;

    if (policy->bans
        && ngx_http_slidewin_bans_list(policy->bans, r->pool, max, &bans->list)
           != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_slidewin_api_json_send(r,
                                  ngx_http_slidewin_api_json_bans_next, bans);
}


static ngx_int_t
ngx_http_slidewin_api_json_bans_next(ngx_http_slidewin_api_body_t *body,
    ngx_buf_t *b)
{
    ngx_http_slidewin_api_bans_t   *bans;
    ngx_http_slidewin_bans_list_t  *list;

    bans = body->data;
    list = &bans->list;

    if (body->section++ == 0) {
        ngx_http_slidewin_api_print(b, "{\"active\": %ui, \"overflow\": %ui, "
                                       "\"bans\": [",
                                    list->active, list->overflow);
    }

    for ( /* void */ ; body->item < list->n; body->item++) {

        if (b->end - b->last < NGX_HTTP_SLIDEWIN_API_ITEM) {
            return NGX_AGAIN;
        }

        ngx_http_slidewin_api_print(b, body->item ? ",\n" : "\n");
        ngx_http_slidewin_api_json_print_ban(b, &list->entries[body->item],
                                             &bans->policy->ban);
    }

    ngx_http_slidewin_api_print(b, "]}\n");

    return NGX_OK;
}


/*
 * A store does not tell the length of a ban that began elsewhere; where all are
 * of the same length it is that.
 */

static void
ngx_http_slidewin_api_json_print_ban(ngx_buf_t *b, sw_bans_entry_t *ban,
    sw_ban_rule_t *rule)
{
    int64_t  length;

    length = ban->length;

    if (length == 0 && rule->max == 0 && ban->left <= rule->time) {
        length = rule->time;
    }

    if (ban->len) {
        ngx_http_slidewin_api_json_print_key(b, ban->key, ban->len,
                                             SW_BANS_KEY, "key_length");
    } else {
        ngx_http_slidewin_api_print(b, "{\"key\": null, \"path\": null");
    }

    ngx_http_slidewin_api_print(b, ", \"left\": %L, \"length\": ",
                                ngx_http_slidewin_seconds(ban->left));

    if (length == 0) {
        ngx_http_slidewin_api_print(b, "null, \"began\": null}");
        return;
    }

    ngx_http_slidewin_api_print_seconds(b, length);
    ngx_http_slidewin_api_print(b, ", \"began\": %T}",
                                ngx_time()
                                - (time_t) ((length - ban->left) / 1000));
}


/* of a time on the clock that wall time does not move */

static time_t
ngx_http_slidewin_api_json_time(int64_t msec)
{
    return ngx_time() - (time_t) (((int64_t) ngx_current_msec - msec) / 1000);
}


ngx_int_t
ngx_http_slidewin_api_json_stores(ngx_http_request_t *r)
{
    ngx_http_slidewin_main_conf_t  *smcf;

    smcf = ngx_http_get_module_main_conf(r, ngx_http_slidewin_module);

    return ngx_http_slidewin_api_json_send(r,
                                     ngx_http_slidewin_api_json_stores_next,
                                     ngx_http_slidewin_api_snapshot(smcf,
                                                                    r->pool));
}


static ngx_int_t
ngx_http_slidewin_api_json_stores_next(ngx_http_slidewin_api_body_t *body,
    ngx_buf_t *b)
{
    ngx_str_t                           *name;
    ngx_http_slidewin_snapshot_all_t    *all;
    ngx_http_slidewin_store_snapshot_t  *store;

    all = body->data;

    for ( /* void */ ; body->item < all->nstores; body->item++) {

        if (b->end - b->last < NGX_HTTP_SLIDEWIN_API_ITEM) {
            return NGX_AGAIN;
        }

        store = &all->stores[body->item];
        name = ngx_http_slidewin_api_store_name(store->store);

        ngx_http_slidewin_api_print(b, body->item ? ",\n\"" : "{\"");
        ngx_http_slidewin_api_print_json(b, name->data,
                                         ngx_min(name->len, 256));
        ngx_http_slidewin_api_print(b, "\": ");
        ngx_http_slidewin_api_json_print_store(b, store);
    }

    ngx_http_slidewin_api_print(b, all->nstores ? "}\n" : "{}\n");

    return NGX_OK;
}


static void
ngx_http_slidewin_api_json_print_store(ngx_buf_t *b,
    ngx_http_slidewin_store_snapshot_t *store)
{
    ngx_uint_t                           i;
    ngx_http_slidewin_store_status_t    *status;
    ngx_http_slidewin_store_counters_t  *counters;

    status = &store->status;
    counters = &store->counters;

    ngx_http_slidewin_api_print(b, "{\"address\": \"");
    ngx_http_slidewin_api_print_json(b, status->address,
                                     ngx_strlen(status->address));

    ngx_http_slidewin_api_print(b,
        "\", \"connected\": %s, \"connections\": %ui, "
        "\"connections_needed\": %ui, \"workers\": %ui, \"breaker\": \"%s\", "
        "\"in_flight\": %ui, \"timeout\": ",
        status->needed && status->connected == status->needed ? "true"
                                                              : "false",
        status->connected, status->needed, store->workers,
        status->open ? "open" : status->probing ? "probing" : "closed",
        status->in_flight);

    ngx_http_slidewin_api_print_seconds(b, (int64_t) status->timeout);
    ngx_http_slidewin_api_print(b, ", \"latency_seconds\": ");
    ngx_http_slidewin_api_json_print_histogram(b, counters->latency,
                                        ngx_http_slidewin_api_latency_bounds,
                                        SW_LATENCY_BUCKETS);

    ngx_http_slidewin_api_print(b,
        ", \"latency_sum\": %uA.%06uA, \"calls\": %uA, \"checks\": %uA, "
        "\"errors\": {",
        counters->latency_sum / 1000000, counters->latency_sum % 1000000,
        counters->calls, counters->checks);

    for (i = 0; i < NGX_HTTP_SLIDEWIN_ERRORS; i++) {
        ngx_http_slidewin_api_print(b, "%s\"%V\": %uA", i ? ", " : "",
                                    &ngx_http_slidewin_api_errors[i],
                                    counters->errors[i]);
    }

    ngx_http_slidewin_api_print(b, "}, \"reconnects\": %uA, "
                                   "\"scripts_loaded\": %uA, "
                                   "\"slots_covered\": ",
                                counters->reconnects,
                                counters->scripts_loaded);

    if (status->slots < 0) {
        ngx_http_slidewin_api_print(b, "null}");

    } else {
        ngx_http_slidewin_api_print(b, "%i}", status->slots);
    }
}
