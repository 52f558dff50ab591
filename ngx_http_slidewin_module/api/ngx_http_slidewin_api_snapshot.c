
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_api_snapshot.h"
#include "ngx_http_slidewin_module.h"


/* between two times that a worker tells how it finds its stores */
#define NGX_HTTP_SLIDEWIN_API_PERIOD   1000     /* ms */

/* the same at first, when connections have been made */
#define NGX_HTTP_SLIDEWIN_API_FIRST    100      /* ms */

/* a finding that no other followed */
#define NGX_HTTP_SLIDEWIN_API_SUSPECT  7200     /* s */


static void ngx_http_slidewin_api_publish(ngx_http_slidewin_main_conf_t *smcf,
    ngx_uint_t running);
static void ngx_http_slidewin_api_timer(ngx_event_t *ev);
static void ngx_http_slidewin_api_snapshot_store(
    ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_store_snapshot_t *snapshot);


const ngx_http_slidewin_api_outcome_t  ngx_http_slidewin_api_outcomes[] = {
    { NGX_HTTP_SLIDEWIN_PASSED, ngx_string("passed") },
    { NGX_HTTP_SLIDEWIN_DELAYED, ngx_string("delayed") },
    { NGX_HTTP_SLIDEWIN_REJECTED, ngx_string("rejected") },
    { NGX_HTTP_SLIDEWIN_BANNED, ngx_string("banned") },
    { NGX_HTTP_SLIDEWIN_REJECTED_DRY_RUN, ngx_string("dry_run_rejected") },
    { NGX_HTTP_SLIDEWIN_BYPASSED, ngx_string("bypassed") },
    { NGX_HTTP_SLIDEWIN_ERROR_PASSED, ngx_string("error_passed") },
    { NGX_HTTP_SLIDEWIN_ERROR_REJECTED, ngx_string("error_rejected") },
    { NGX_HTTP_SLIDEWIN_UNDECIDED, ngx_null_string }
};


/* in the order of ngx_http_slidewin_error_e */

const ngx_str_t  ngx_http_slidewin_api_errors[] = {
    ngx_string("timeout"), ngx_string("connect"), ngx_string("lost"),
    ngx_string("error_reply"), ngx_string("bad_reply"),
    ngx_string("foreign_key"), ngx_string("overload")
};


/* as sw_utilization_buckets has them; sw_latency_bounds in seconds */

const ngx_str_t  ngx_http_slidewin_api_util_bounds[] = {
    ngx_string("0.25"), ngx_string("0.5"), ngx_string("0.75"),
    ngx_string("0.9"), ngx_string("1"), ngx_string("+Inf")
};


const ngx_str_t  ngx_http_slidewin_api_latency_bounds[] = {
    ngx_string("0.00005"), ngx_string("0.0001"), ngx_string("0.00025"),
    ngx_string("0.0005"), ngx_string("0.001"), ngx_string("0.0025"),
    ngx_string("0.005"), ngx_string("0.01"), ngx_string("0.025"),
    ngx_string("0.05"), ngx_string("0.1"), ngx_string("0.25"),
    ngx_string("0.5"), ngx_string("1"), ngx_string("2.5"), ngx_string("5"),
    ngx_string("+Inf")
};


static ngx_event_t       ngx_http_slidewin_api_event;

/* at debug level nginx reads the descriptor of a timer's data */
static ngx_connection_t  ngx_http_slidewin_api_connection;


void
ngx_http_slidewin_api_start(ngx_http_slidewin_main_conf_t *smcf)
{
    ngx_event_t  *ev;

    ngx_http_slidewin_api_publish(smcf, 1);

    ev = &ngx_http_slidewin_api_event;

    ngx_http_slidewin_api_connection.fd = (ngx_socket_t) -1;

    ev->handler = ngx_http_slidewin_api_timer;
    ev->data = &ngx_http_slidewin_api_connection;
    ev->log = ngx_cycle->log;
    ev->cancelable = 1;

    ngx_add_timer(ev, NGX_HTTP_SLIDEWIN_API_FIRST);
}


void
ngx_http_slidewin_api_stop(ngx_http_slidewin_main_conf_t *smcf)
{
    if (ngx_http_slidewin_api_event.timer_set) {
        ngx_del_timer(&ngx_http_slidewin_api_event);
    }

    ngx_http_slidewin_api_publish(smcf, 0);
}


static void
ngx_http_slidewin_api_timer(ngx_event_t *ev)
{
    ngx_http_slidewin_main_conf_t  *smcf;

    smcf = ngx_http_cycle_get_module_main_conf(ngx_cycle,
                                               ngx_http_slidewin_module);

    ngx_http_slidewin_api_publish(smcf, 1);

    ngx_add_timer(ev, NGX_HTTP_SLIDEWIN_API_PERIOD);
}


/*
 * The master gives each process that runs a slot of its own: a worker of the
 * last configuration, which still serves, has another one.
 */

static void
ngx_http_slidewin_api_publish(ngx_http_slidewin_main_conf_t *smcf,
    ngx_uint_t running)
{
    ngx_uint_t                           i;
    ngx_atomic_uint_t                    n;
    ngx_http_slidewin_store_t          **stores, *store;
    ngx_http_slidewin_store_facts_t     *facts;
    ngx_http_slidewin_store_status_t     status;
    ngx_http_slidewin_store_process_t   *process;

    stores = smcf->stores.elts;

    for (i = 0; i < smcf->stores.nelts; i++) {
        store = stores[i];

        if (store->stats == NULL || !store->used
            || store->backend->status == NULL)
        {
            continue;
        }

        facts = store->stats->facts;
        process = &facts->processes[ngx_process_slot];

        if (!running || process->pid != (ngx_atomic_uint_t) ngx_pid) {
            process->pid = 0;
        }

        if (!running) {
            continue;
        }

        /* not in place: others read meanwhile */

        store->backend->status(store, &status);
        process->status = status;
        process->pid = (ngx_atomic_uint_t) ngx_pid;

        do {
            n = facts->n;
        } while (n <= (ngx_atomic_uint_t) ngx_process_slot
                 && !ngx_atomic_cmp_set(&facts->n, n, ngx_process_slot + 1));
    }
}


ngx_http_slidewin_snapshot_all_t *
ngx_http_slidewin_api_snapshot(ngx_http_slidewin_main_conf_t *smcf,
    ngx_pool_t *pool)
{
    ngx_uint_t                           i;
    ngx_http_slidewin_store_t          **stores;
    ngx_http_slidewin_snapshot_all_t    *all;

    all = ngx_pcalloc(pool, sizeof(ngx_http_slidewin_snapshot_all_t));
    if (all == NULL) {
        return NULL;
    }

    all->smcf = smcf;
    all->nzones = smcf->policies.nelts;

    all->zones = ngx_palloc(pool, all->nzones
                                  * sizeof(ngx_http_slidewin_zone_snapshot_t));
    all->stores = ngx_palloc(pool, smcf->stores.nelts
                                 * sizeof(ngx_http_slidewin_store_snapshot_t));

    if (all->zones == NULL || all->stores == NULL) {
        return NULL;
    }

    ngx_http_slidewin_api_publish(smcf, 1);

    if (smcf->stats) {
        ngx_http_slidewin_stats_sum(smcf->stats, &all->requests,
                                    sizeof(all->requests));
    }

    stores = smcf->stores.elts;

    for (i = 0; i < smcf->stores.nelts; i++) {
        if (stores[i]->stats) {
            ngx_http_slidewin_api_snapshot_store(stores[i],
                                               &all->stores[all->nstores++]);
        }
    }

    return all;
}


ngx_http_slidewin_zone_snapshot_t *
ngx_http_slidewin_api_snapshot_take(ngx_http_slidewin_snapshot_all_t *all,
    ngx_uint_t i)
{
    ngx_http_slidewin_policy_t  **policies;

    policies = all->smcf->policies.elts;

    while (all->zones_taken <= i) {
        ngx_http_slidewin_api_snapshot_zone(policies[all->zones_taken],
                                            &all->zones[all->zones_taken]);
        all->zones_taken++;
    }

    return &all->zones[i];
}


void
ngx_http_slidewin_api_snapshot_zone(ngx_http_slidewin_policy_t *policy,
    ngx_http_slidewin_zone_snapshot_t *zone)
{
    ngx_http_slidewin_zone_facts_t  *facts;

    zone->policy = policy;

    ngx_http_slidewin_stats_sum(policy->stats, &zone->counters,
                                sizeof(zone->counters));
    ngx_http_slidewin_zone_usage(policy->zone, &zone->usage);

    facts = policy->stats->facts;
    zone->suspect = facts->suspect;
    zone->suspect.len = ngx_min(zone->suspect.len, sizeof(zone->suspect.key));

    if (ngx_time() - (time_t) zone->suspect.at > NGX_HTTP_SLIDEWIN_API_SUSPECT)
    {
        zone->suspect.at = 0;
    }

    zone->overflow = policy->top ? ngx_http_slidewin_top_overflow(policy->top)
                                 : 0;

    zone->bans = 0;
    zone->bans_overflow = 0;

    if (policy->bans) {
        ngx_http_slidewin_bans_count(policy->bans, &zone->bans,
                                     &zone->bans_overflow);
    }
}


/* a worker that was killed and has no successor is not asked any more */

static void
ngx_http_slidewin_api_snapshot_store(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_store_snapshot_t *snapshot)
{
    ngx_uint_t                           i;
    ngx_atomic_uint_t                    pid;
    ngx_http_slidewin_store_facts_t     *facts;
    ngx_http_slidewin_store_status_t    *status, *sum;
    ngx_http_slidewin_store_process_t   *process;

    ngx_memzero(snapshot, sizeof(ngx_http_slidewin_store_snapshot_t));

    snapshot->store = store;

    ngx_http_slidewin_stats_sum(store->stats, &snapshot->counters,
                                sizeof(snapshot->counters));

    sum = &snapshot->status;
    sum->slots = -1;

    facts = store->stats->facts;

    for (i = 0; i < facts->n; i++) {
        process = &facts->processes[i];
        status = &process->status;
        pid = process->pid;

        if (pid == 0
            || (kill((ngx_pid_t) pid, 0) == -1 && ngx_errno == ESRCH))
        {
            continue;
        }

        snapshot->workers++;

        sum->connected += status->connected;
        sum->needed += status->needed;
        sum->open += (status->open != 0);
        sum->probing += (status->probing != 0);
        sum->in_flight += status->in_flight;
        sum->timeout = status->timeout;

        sum->slots = (sum->slots == -1) ? status->slots
                                        : ngx_min(sum->slots, status->slots);

        if (sum->address[0] == '\0' || i == (ngx_uint_t) ngx_process_slot) {
            ngx_memcpy(sum->address, status->address,
                       sizeof(sum->address) - 1);
        }
    }
}


ngx_str_t *
ngx_http_slidewin_api_store_name(ngx_http_slidewin_store_t *store)
{
    static ngx_str_t  unnamed = ngx_string("default");

    return store->name.len ? &store->name : &unnamed;
}
