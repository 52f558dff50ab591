
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_api_metrics.h"
#include "ngx_http_slidewin_api_send.h"
#include "ngx_http_slidewin_api_snapshot.h"
#include "ngx_http_slidewin_ctx.h"
#include "ngx_http_slidewin_module.h"
#include "sw_text.h"


/* the series of one item of a snapshot: of a zone, of a store, or of all */

typedef void (*ngx_http_slidewin_metric_pt)(ngx_buf_t *b, const char *name,
    ngx_http_slidewin_snapshot_all_t *all, ngx_uint_t i);


typedef enum {
    NGX_HTTP_SLIDEWIN_METRIC_OF_ALL = 0,
    NGX_HTTP_SLIDEWIN_METRIC_OF_ZONE,
    NGX_HTTP_SLIDEWIN_METRIC_OF_STORE
} ngx_http_slidewin_metric_of_e;


typedef struct {
    const char                     *name;
    const char                     *type;
    const char                     *help;
    ngx_http_slidewin_metric_of_e   of;
    ngx_http_slidewin_metric_pt     print;
} ngx_http_slidewin_metric_t;


static ngx_int_t ngx_http_slidewin_api_metrics_next(
    ngx_http_slidewin_api_body_t *body, ngx_buf_t *b);
static ngx_uint_t ngx_http_slidewin_metric_has(
    ngx_http_slidewin_policy_t *policy, ngx_uint_t status, ngx_uint_t source);
static void ngx_http_slidewin_metric_store_name(ngx_buf_t *b,
    ngx_http_slidewin_store_snapshot_t *store);

#define ngx_http_slidewin_metric(what)                                        \
    static void ngx_http_slidewin_metric_##what(ngx_buf_t *b,                 \
        const char *name, ngx_http_slidewin_snapshot_all_t *all, ngx_uint_t i)

ngx_http_slidewin_metric(build_info);
ngx_http_slidewin_metric(decisions);
ngx_http_slidewin_metric(evaluations);
ngx_http_slidewin_metric(utilization);
ngx_http_slidewin_metric(limit);
ngx_http_slidewin_metric(window);
ngx_http_slidewin_metric(size);
ngx_http_slidewin_metric(free);
ngx_http_slidewin_metric(entries);
ngx_http_slidewin_metric(evictions);
ngx_http_slidewin_metric(charges);
ngx_http_slidewin_metric(overflow);
ngx_http_slidewin_metric(bans_active);
ngx_http_slidewin_metric(bans_overflow);
ngx_http_slidewin_metric(bans);
ngx_http_slidewin_metric(suspected);
ngx_http_slidewin_metric(duration);
ngx_http_slidewin_metric(errors);
ngx_http_slidewin_metric(calls);
ngx_http_slidewin_metric(checks);
ngx_http_slidewin_metric(in_flight);
ngx_http_slidewin_metric(connections);
ngx_http_slidewin_metric(needed);
ngx_http_slidewin_metric(workers);
ngx_http_slidewin_metric(reconnects);
ngx_http_slidewin_metric(scripts);
ngx_http_slidewin_metric(timeout);
ngx_http_slidewin_metric(slots);
ngx_http_slidewin_metric(breaker);


static ngx_str_t  ngx_http_slidewin_api_metrics_type =
    ngx_string("text/plain; version=0.0.4; charset=utf-8");


#define ngx_http_slidewin_of_all    NGX_HTTP_SLIDEWIN_METRIC_OF_ALL
#define ngx_http_slidewin_of_zone   NGX_HTTP_SLIDEWIN_METRIC_OF_ZONE
#define ngx_http_slidewin_of_store  NGX_HTTP_SLIDEWIN_METRIC_OF_STORE

static const ngx_http_slidewin_metric_t  ngx_http_slidewin_metrics[] = {

    { "slidewin_build_info", "gauge",
      "The version of the module, and of nginx.",
      ngx_http_slidewin_of_all, ngx_http_slidewin_metric_build_info },

    { "slidewin_decisions_total", "counter",
      "Requests by their outcome over all limits.",
      ngx_http_slidewin_of_all, ngx_http_slidewin_metric_decisions },

    { "slidewin_evaluations_total", "counter",
      "Requests by the outcome of one zone, and what decided it.",
      ngx_http_slidewin_of_zone, ngx_http_slidewin_metric_evaluations },

    { "slidewin_utilization_ratio", "histogram",
      "How much of its limit a client has used, after each decision.",
      ngx_http_slidewin_of_zone, ngx_http_slidewin_metric_utilization },

    { "slidewin_limit", "gauge",
      "Units that a client may use in a window.",
      ngx_http_slidewin_of_zone, ngx_http_slidewin_metric_limit },

    { "slidewin_window_seconds", "gauge",
      "The window of the limit.",
      ngx_http_slidewin_of_zone, ngx_http_slidewin_metric_window },

    { "slidewin_zone_size_bytes", "gauge",
      "Shared memory of the zone.",
      ngx_http_slidewin_of_zone, ngx_http_slidewin_metric_size },

    { "slidewin_zone_free_bytes", "gauge",
      "Shared memory of the zone that is not in use.",
      ngx_http_slidewin_of_zone, ngx_http_slidewin_metric_free },

    { "slidewin_zone_entries", "gauge",
      "Clients in the zone, and bans that are kept.",
      ngx_http_slidewin_of_zone, ngx_http_slidewin_metric_entries },

    { "slidewin_evictions_total", "counter",
      "Entries that made room for others; live: they were still of use.",
      ngx_http_slidewin_of_zone, ngx_http_slidewin_metric_evictions },

    { "slidewin_charges_total", "counter",
      "Requests with charge=; settled: by their true cost.",
      ngx_http_slidewin_of_zone, ngx_http_slidewin_metric_charges },

    { "slidewin_top_overflow", "gauge",
      "Rejections that a client outside the list of the most rejected may "
      "have at most.",
      ngx_http_slidewin_of_zone, ngx_http_slidewin_metric_overflow },

    { "slidewin_bans_active", "gauge",
      "Bans in force that this machine has heard of.",
      ngx_http_slidewin_of_zone, ngx_http_slidewin_metric_bans_active },

    { "slidewin_bans_overflow", "gauge",
      "About how many more there are, which the list has no room for.",
      ngx_http_slidewin_of_zone, ngx_http_slidewin_metric_bans_overflow },

    { "slidewin_bans_total", "counter",
      "Bans that began with a rejection by this machine.",
      ngx_http_slidewin_of_zone, ngx_http_slidewin_metric_bans },

    { "slidewin_shared_key_suspected", "gauge",
      "1 if nearly all requests have one key, the address of a proxy.",
      ngx_http_slidewin_of_zone, ngx_http_slidewin_metric_suspected },

    { "slidewin_store_request_duration_seconds", "histogram",
      "From sending a call to the store to its reply.",
      ngx_http_slidewin_of_store, ngx_http_slidewin_metric_duration },

    { "slidewin_store_errors_total", "counter",
      "Failures of the store by their kind.",
      ngx_http_slidewin_of_store, ngx_http_slidewin_metric_errors },

    { "slidewin_store_calls_total", "counter",
      "Calls with checks that were sent to the store.",
      ngx_http_slidewin_of_store, ngx_http_slidewin_metric_calls },

    { "slidewin_store_checks_total", "counter",
      "Requests that these calls were sent for.",
      ngx_http_slidewin_of_store, ngx_http_slidewin_metric_checks },

    { "slidewin_store_in_flight", "gauge",
      "Checks that wait for the store, of all workers.",
      ngx_http_slidewin_of_store, ngx_http_slidewin_metric_in_flight },

    { "slidewin_store_connections", "gauge",
      "Connections to the store that are ready, of all workers.",
      ngx_http_slidewin_of_store, ngx_http_slidewin_metric_connections },

    { "slidewin_store_connections_needed", "gauge",
      "Connections to the store that there should be.",
      ngx_http_slidewin_of_store, ngx_http_slidewin_metric_needed },

    { "slidewin_store_workers", "gauge",
      "Worker processes that use the store.",
      ngx_http_slidewin_of_store, ngx_http_slidewin_metric_workers },

    { "slidewin_store_reconnects_total", "counter",
      "Connections that were made anew.",
      ngx_http_slidewin_of_store, ngx_http_slidewin_metric_reconnects },

    { "slidewin_store_scripts_loaded_total", "counter",
      "Scripts that were loaded into the store.",
      ngx_http_slidewin_of_store, ngx_http_slidewin_metric_scripts },

    { "slidewin_store_timeout_seconds", "gauge",
      "The timeout of the store, as configured.",
      ngx_http_slidewin_of_store, ngx_http_slidewin_metric_timeout },

    { "slidewin_store_slots_covered", "gauge",
      "Slots of the cluster that have a node.",
      ngx_http_slidewin_of_store, ngx_http_slidewin_metric_slots },

    { "slidewin_breaker_open", "gauge",
      "Worker processes that do not ask the store, because it failed.",
      ngx_http_slidewin_of_store, ngx_http_slidewin_metric_breaker },

    { NULL, NULL, NULL, 0, NULL }
};


ngx_int_t
ngx_http_slidewin_api_metrics(ngx_http_request_t *r)
{
    ngx_http_slidewin_api_body_t   *body;
    ngx_http_slidewin_main_conf_t  *smcf;

    body = ngx_pcalloc(r->pool, sizeof(ngx_http_slidewin_api_body_t));
    if (body == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    smcf = ngx_http_get_module_main_conf(r, ngx_http_slidewin_module);

    body->next = ngx_http_slidewin_api_metrics_next;
    body->data = ngx_http_slidewin_api_snapshot(smcf, r->pool);

    if (body->data == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_slidewin_api_send(r, &ngx_http_slidewin_api_metrics_type,
                                      body);
}


/* section is the metric; the series of a metric must not be apart */

static ngx_int_t
ngx_http_slidewin_api_metrics_next(ngx_http_slidewin_api_body_t *body,
    ngx_buf_t *b)
{
    ngx_uint_t                         n;
    const ngx_http_slidewin_metric_t  *metric;
    ngx_http_slidewin_snapshot_all_t  *all;

    all = body->data;

    for ( ;; ) {
        metric = &ngx_http_slidewin_metrics[body->section];

        if (metric->name == NULL) {
            return NGX_OK;
        }

        n = (metric->of == NGX_HTTP_SLIDEWIN_METRIC_OF_ZONE) ? all->nzones
            : (metric->of == NGX_HTTP_SLIDEWIN_METRIC_OF_STORE) ? all->nstores
            : 1;

        for ( /* void */ ; body->item < n; body->item++) {

            if (b->end - b->last < NGX_HTTP_SLIDEWIN_API_ITEM) {
                return NGX_AGAIN;
            }

            if (body->item == 0) {
                ngx_http_slidewin_api_print(b, "# HELP %s %s\n# TYPE %s %s\n",
                                            metric->name, metric->help,
                                            metric->name, metric->type);
            }

            if (metric->of == NGX_HTTP_SLIDEWIN_METRIC_OF_ZONE) {
                (void) ngx_http_slidewin_api_snapshot_take(all, body->item);
            }

            metric->print(b, metric->name, all, body->item);
        }

        body->item = 0;
        body->section++;
    }
}


ngx_http_slidewin_metric(build_info)
{
    ngx_http_slidewin_api_print(b, "%s{version=\"" NGX_HTTP_SLIDEWIN_VERSION
                                   "\",nginx=\"" NGINX_VERSION "\"} 1\n",
                                name);
}


ngx_http_slidewin_metric(decisions)
{
    const ngx_http_slidewin_api_outcome_t  *outcome;

    for (outcome = ngx_http_slidewin_api_outcomes;
         outcome->name.len;
         outcome++)
    {
        ngx_http_slidewin_api_print(b, "%s{outcome=\"%V\"} %uA\n", name,
                                    &outcome->name,
                                    all->requests.decisions[outcome->status]);
    }
}


/* series that can have no other value than 0 are left out */

ngx_http_slidewin_metric(evaluations)
{
    ngx_uint_t                              source;
    ngx_atomic_uint_t                       value;
    ngx_http_slidewin_zone_snapshot_t      *zone;
    const ngx_http_slidewin_api_outcome_t  *outcome;

    zone = &all->zones[i];

    for (outcome = ngx_http_slidewin_api_outcomes;
         outcome->name.len;
         outcome++)
    {
        for (source = 0; source < NGX_HTTP_SLIDEWIN_SOURCES; source++) {

            value = zone->counters.evaluations[outcome->status][source];

            if (value == 0
                && !ngx_http_slidewin_metric_has(zone->policy, outcome->status,
                                                 source))
            {
                continue;
            }

            ngx_http_slidewin_api_print(b, "%s{zone=\"%V\",outcome=\"%V\","
                                           "source=\"%s\"} %uA\n",
                                name, &zone->policy->name, &outcome->name,
                                source == NGX_HTTP_SLIDEWIN_SOURCE_NONE
                                ? "none"
                                : (char *)
                                  ngx_http_slidewin_sources[source].data,
                                value);
        }
    }
}


/* which sources may have which outcome, and which of these the zone uses */

static ngx_uint_t
ngx_http_slidewin_metric_has(ngx_http_slidewin_policy_t *policy,
    ngx_uint_t status, ngx_uint_t source)
{
    ngx_uint_t  counted;

    switch (source) {

    case NGX_HTTP_SLIDEWIN_SOURCE_NONE:
        return status == NGX_HTTP_SLIDEWIN_BYPASSED;

    case NGX_HTTP_SLIDEWIN_SOURCE_FAIL_OPEN:
        return status == NGX_HTTP_SLIDEWIN_ERROR_PASSED;

    case NGX_HTTP_SLIDEWIN_SOURCE_FAIL_CLOSED:
        return status == NGX_HTTP_SLIDEWIN_ERROR_REJECTED
               || status == NGX_HTTP_SLIDEWIN_REJECTED_DRY_RUN;

    case NGX_HTTP_SLIDEWIN_SOURCE_LEASE:
        return policy->lease
               && (status == NGX_HTTP_SLIDEWIN_PASSED
                   || status == NGX_HTTP_SLIDEWIN_DELAYED);

    case NGX_HTTP_SLIDEWIN_SOURCE_DENY_CACHE:
        return policy->deny_cache
               && (status == NGX_HTTP_SLIDEWIN_REJECTED
                   || status == NGX_HTTP_SLIDEWIN_BANNED);

    case NGX_HTTP_SLIDEWIN_SOURCE_LOCAL:
        counted = policy->store->local;
        break;

    case NGX_HTTP_SLIDEWIN_SOURCE_FALLBACK:
        counted = !policy->store->local
                  && policy->on_error == NGX_HTTP_SLIDEWIN_ON_ERROR_LOCAL;
        break;

    default: /* NGX_HTTP_SLIDEWIN_SOURCE_REDIS */
        counted = !policy->store->local;
        break;
    }

    return counted
           && (status == NGX_HTTP_SLIDEWIN_PASSED
               || status == NGX_HTTP_SLIDEWIN_DELAYED
               || status == NGX_HTTP_SLIDEWIN_REJECTED
               || status == NGX_HTTP_SLIDEWIN_BANNED
               || status == NGX_HTTP_SLIDEWIN_REJECTED_DRY_RUN);
}


/* _count is what the buckets add up to, not a counter of its own */

ngx_http_slidewin_metric(utilization)
{
    ngx_str_t                          *zone;
    ngx_uint_t                          k;
    ngx_atomic_uint_t                   sum;
    ngx_http_slidewin_zone_counters_t  *counters;

    zone = &all->zones[i].policy->name;
    counters = &all->zones[i].counters;
    sum = 0;

    for (k = 0; k < SW_UTILIZATION_BUCKETS; k++) {
        sum += counters->utilization[k];

        ngx_http_slidewin_api_print(b, "%s_bucket{zone=\"%V\",le=\"%V\"} "
                                       "%uA\n", name, zone,
                                    &ngx_http_slidewin_api_util_bounds[k],
                                    sum);
    }

    ngx_http_slidewin_api_print(b, "%s_sum{zone=\"%V\"} %uA.%03uA\n"
                                   "%s_count{zone=\"%V\"} %uA\n",
                                name, zone,
                                counters->utilization_sum
                                / SW_UTILIZATION_SCALE,
                                counters->utilization_sum
                                % SW_UTILIZATION_SCALE,
                                name, zone, sum);
}


#define ngx_http_slidewin_metric_print_zone(b, name, all, i, fmt, ...)        \
    ngx_http_slidewin_api_print(b, "%s{zone=\"%V\"} " fmt "\n", name,         \
                                &(all)->zones[i].policy->name, __VA_ARGS__)


ngx_http_slidewin_metric(limit)
{
    ngx_http_slidewin_policy_t  *policy;

    policy = all->zones[i].policy;

    if (policy->rate == NULL) {
        ngx_http_slidewin_metric_print_zone(b, name, all, i, "%L",
                                            policy->rule.limit);
    }
}


ngx_http_slidewin_metric(window)
{
    ngx_http_slidewin_policy_t  *policy;

    policy = all->zones[i].policy;

    if (policy->rate == NULL) {
        ngx_http_slidewin_metric_print_zone(b, name, all, i, "%L.%03L",
                                            policy->rule.window / 1000,
                                            policy->rule.window % 1000);
    }
}


ngx_http_slidewin_metric(size)
{
    ngx_http_slidewin_metric_print_zone(b, name, all, i, "%uz",
                                        all->zones[i].usage.size);
}


ngx_http_slidewin_metric(free)
{
    ngx_http_slidewin_metric_print_zone(b, name, all, i, "%uz",
                                        all->zones[i].usage.free);
}


ngx_http_slidewin_metric(entries)
{
    ngx_http_slidewin_metric_print_zone(b, name, all, i, "%ui",
                                        all->zones[i].usage.entries);
}


ngx_http_slidewin_metric(evictions)
{
    ngx_http_slidewin_zone_snapshot_t  *zone;

    zone = &all->zones[i];

    ngx_http_slidewin_api_print(b, "%s{zone=\"%V\",live=\"true\"} %uA\n"
                                   "%s{zone=\"%V\",live=\"false\"} %uA\n",
                                name, &zone->policy->name,
                                zone->counters.evicted_live,
                                name, &zone->policy->name,
                                zone->counters.evicted_idle);
}


ngx_http_slidewin_metric(charges)
{
    ngx_http_slidewin_zone_snapshot_t  *zone;

    zone = &all->zones[i];

    ngx_http_slidewin_api_print(b, "%s{zone=\"%V\",result=\"settled\"} %uA\n"
                                   "%s{zone=\"%V\",result=\"estimated\"} %uA\n",
                                name, &zone->policy->name,
                                zone->counters.charges_settled,
                                name, &zone->policy->name,
                                zone->counters.charges_estimated);
}


ngx_http_slidewin_metric(overflow)
{
    ngx_http_slidewin_metric_print_zone(b, name, all, i, "%L",
                                        all->zones[i].overflow);
}


ngx_http_slidewin_metric(bans_active)
{
    ngx_http_slidewin_metric_print_zone(b, name, all, i, "%ui",
                                        all->zones[i].bans);
}


ngx_http_slidewin_metric(bans_overflow)
{
    ngx_http_slidewin_metric_print_zone(b, name, all, i, "%ui",
                                        all->zones[i].bans_overflow);
}


ngx_http_slidewin_metric(bans)
{
    ngx_http_slidewin_metric_print_zone(b, name, all, i, "%uA",
                                        all->zones[i].counters.bans);
}


ngx_http_slidewin_metric(suspected)
{
    ngx_http_slidewin_metric_print_zone(b, name, all, i, "%d",
                                        all->zones[i].suspect.at != 0);
}


static void
ngx_http_slidewin_metric_store_name(ngx_buf_t *b,
    ngx_http_slidewin_store_snapshot_t *store)
{
    size_t      len;
    ngx_str_t  *name;

    name = ngx_http_slidewin_api_store_name(store->store);
    len = ngx_min(name->len, (size_t) (b->end - b->last) / SW_TEXT_MAX);

    b->last += sw_text_label((char *) b->last, name->data, len);
}


static void
ngx_http_slidewin_metric_print_store(ngx_buf_t *b, const char *name,
    const char *suffix, ngx_http_slidewin_store_snapshot_t *store,
    const char *label, const ngx_str_t *label_value, ngx_atomic_uint_t value)
{
    ngx_http_slidewin_api_print(b, "%s%s{store=\"", name, suffix);
    ngx_http_slidewin_metric_store_name(b, store);

    if (label) {
        ngx_http_slidewin_api_print(b, "\",%s=\"%V", label, label_value);
    }

    ngx_http_slidewin_api_print(b, "\"} %uA\n", value);
}


ngx_http_slidewin_metric(duration)
{
    ngx_uint_t                           k;
    ngx_atomic_uint_t                    sum;
    ngx_http_slidewin_store_snapshot_t  *store;

    store = &all->stores[i];
    sum = 0;

    for (k = 0; k < SW_LATENCY_BUCKETS; k++) {
        sum += store->counters.latency[k];

        ngx_http_slidewin_metric_print_store(b, name, "_bucket", store, "le",
                                     &ngx_http_slidewin_api_latency_bounds[k],
                                     sum);
    }

    ngx_http_slidewin_api_print(b, "%s_sum{store=\"", name);
    ngx_http_slidewin_metric_store_name(b, store);
    ngx_http_slidewin_api_print(b, "\"} %uA.%06uA\n",
                                store->counters.latency_sum / 1000000,
                                store->counters.latency_sum % 1000000);

    ngx_http_slidewin_metric_print_store(b, name, "_count", store, NULL, NULL,
                                         sum);
}


ngx_http_slidewin_metric(errors)
{
    ngx_uint_t                           k;
    ngx_http_slidewin_store_snapshot_t  *store;

    store = &all->stores[i];

    for (k = 0; k < NGX_HTTP_SLIDEWIN_ERRORS; k++) {
        ngx_http_slidewin_metric_print_store(b, name, "", store, "kind",
                                             &ngx_http_slidewin_api_errors[k],
                                             store->counters.errors[k]);
    }
}


#define ngx_http_slidewin_metric_of_store(what, member)                       \
    ngx_http_slidewin_metric(what)                                            \
    {                                                                         \
        ngx_http_slidewin_metric_print_store(b, name, "", &all->stores[i],    \
                                             NULL, NULL,                      \
                                             all->stores[i].member);          \
    }

ngx_http_slidewin_metric_of_store(calls, counters.calls)
ngx_http_slidewin_metric_of_store(checks, counters.checks)
ngx_http_slidewin_metric_of_store(reconnects, counters.reconnects)
ngx_http_slidewin_metric_of_store(scripts, counters.scripts_loaded)
ngx_http_slidewin_metric_of_store(in_flight, status.in_flight)
ngx_http_slidewin_metric_of_store(connections, status.connected)
ngx_http_slidewin_metric_of_store(needed, status.needed)
ngx_http_slidewin_metric_of_store(workers, workers)
ngx_http_slidewin_metric_of_store(breaker, status.open)


/* a store that no zone uses has no worker that tells */

ngx_http_slidewin_metric(timeout)
{
    if (all->stores[i].workers == 0) {
        return;
    }

    ngx_http_slidewin_api_print(b, "%s{store=\"", name);
    ngx_http_slidewin_metric_store_name(b, &all->stores[i]);
    ngx_http_slidewin_api_print(b, "\"} %M.%03M\n",
                                all->stores[i].status.timeout / 1000,
                                all->stores[i].status.timeout % 1000);
}


ngx_http_slidewin_metric(slots)
{
    if (all->stores[i].status.slots >= 0) {
        ngx_http_slidewin_metric_print_store(b, name, "", &all->stores[i],
                                             NULL, NULL,
                                             all->stores[i].status.slots);
    }
}
