
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_module.h"
#include "ngx_http_slidewin_outage.h"


/* between two lines of an outage */
#define NGX_HTTP_SLIDEWIN_OUTAGE_PERIOD  60000   /* ms */

/* without a failure: a store that answers now and then has one outage */
#define NGX_HTTP_SLIDEWIN_OUTAGE_QUIET   1000    /* ms */


static void ngx_http_slidewin_outage_log(ngx_http_slidewin_policy_t *policy);
static ngx_uint_t ngx_http_slidewin_outage_due(
    ngx_http_slidewin_outage_t *outage);
static void ngx_http_slidewin_outage_timer(ngx_event_t *ev);


static const char  *ngx_http_slidewin_outage_present[] = {
    [NGX_HTTP_SLIDEWIN_ON_ERROR_LOCAL] = "are counted by this machine alone",
    [NGX_HTTP_SLIDEWIN_ON_ERROR_OPEN] = "pass uncounted",
    [NGX_HTTP_SLIDEWIN_ON_ERROR_CLOSED] = "are rejected"
};

static const char  *ngx_http_slidewin_outage_past[] = {
    [NGX_HTTP_SLIDEWIN_ON_ERROR_LOCAL] = "were counted by this machine alone",
    [NGX_HTTP_SLIDEWIN_ON_ERROR_OPEN] = "passed uncounted",
    [NGX_HTTP_SLIDEWIN_ON_ERROR_CLOSED] = "were rejected"
};


/* one timer for all zones of this worker, if no request comes to log */
static ngx_event_t       ngx_http_slidewin_outage_event;

/* at debug level nginx reads the descriptor of a timer's data */
static ngx_connection_t  ngx_http_slidewin_outage_connection;


void
ngx_http_slidewin_outage_count(ngx_http_slidewin_policy_t *policy)
{
    ngx_event_t                 *ev;
    ngx_http_slidewin_outage_t  *outage;

    outage = &policy->outage;
    outage->last = ngx_current_msec;

    if (outage->requests++) {
        if (ngx_http_slidewin_outage_due(outage)) {
            ngx_http_slidewin_outage_log(policy);
        }

        return;
    }

    outage->since = ngx_current_msec;
    outage->logged = ngx_current_msec;
    outage->requests_logged = 0;

    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                  "slidewin zone \"%V\": requests %s, its store does not "
                  "decide them", &policy->name,
                  ngx_http_slidewin_outage_present[policy->on_error]);

    ev = &ngx_http_slidewin_outage_event;

    if (!ev->timer_set) {
        ngx_http_slidewin_outage_connection.fd = (ngx_socket_t) -1;

        ev->handler = ngx_http_slidewin_outage_timer;
        ev->data = &ngx_http_slidewin_outage_connection;
        ev->log = ngx_cycle->log;
        ev->cancelable = 1;

        ngx_add_timer(ev, NGX_HTTP_SLIDEWIN_OUTAGE_PERIOD);
    }
}


static void
ngx_http_slidewin_outage_log(ngx_http_slidewin_policy_t *policy)
{
    ngx_http_slidewin_outage_t  *outage;

    outage = &policy->outage;

    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                  "slidewin zone \"%V\": %ui requests %s in the last %Ms, "
                  "its store did not decide them; %ui since it began %Ms ago",
                  &policy->name, outage->requests - outage->requests_logged,
                  ngx_http_slidewin_outage_past[policy->on_error],
                  (ngx_current_msec - outage->logged) / 1000, outage->requests,
                  (ngx_current_msec - outage->since) / 1000);

    outage->logged = ngx_current_msec;
    outage->requests_logged = outage->requests;
}


static ngx_uint_t
ngx_http_slidewin_outage_due(ngx_http_slidewin_outage_t *outage)
{
    return outage->requests != outage->requests_logged
           && ngx_current_msec - outage->logged
              >= NGX_HTTP_SLIDEWIN_OUTAGE_PERIOD;
}


void
ngx_http_slidewin_outage_end(ngx_http_slidewin_policy_t *policy)
{
    ngx_http_slidewin_outage_t  *outage;

    outage = &policy->outage;

    if (ngx_current_msec - outage->last < NGX_HTTP_SLIDEWIN_OUTAGE_QUIET) {
        return;
    }

    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                  "slidewin zone \"%V\": its store decides again, %ui "
                  "requests %s in %Ms", &policy->name, outage->requests,
                  ngx_http_slidewin_outage_past[policy->on_error],
                  (outage->last - outage->since) / 1000);

    outage->requests = 0;
}


static void
ngx_http_slidewin_outage_timer(ngx_event_t *ev)
{
    ngx_uint_t                       i, ongoing;
    ngx_http_slidewin_policy_t     **policies;
    ngx_http_slidewin_main_conf_t   *smcf;

    smcf = ngx_http_cycle_get_module_main_conf(ngx_cycle,
                                               ngx_http_slidewin_module);
    if (smcf == NULL) {
        return;
    }

    ongoing = 0;
    policies = smcf->policies.elts;

    for (i = 0; i < smcf->policies.nelts; i++) {

        if (policies[i]->outage.requests == 0) {
            continue;
        }

        ongoing = 1;

        if (ngx_http_slidewin_outage_due(&policies[i]->outage)) {
            ngx_http_slidewin_outage_log(policies[i]);
        }
    }

    if (ongoing) {
        ngx_add_timer(ev, NGX_HTTP_SLIDEWIN_OUTAGE_PERIOD);
    }
}
