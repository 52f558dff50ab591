
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_module.h"
#include "ngx_http_slidewin_report.h"
#include "ngx_http_slidewin_request.h"


/* between two lines on a client, zone and status */
#define NGX_HTTP_SLIDEWIN_REPORT_PERIOD  1000   /* ms */

/* without a line for so long, the client has stopped */
#define NGX_HTTP_SLIDEWIN_REPORT_ENDED   2000   /* ms */

/*
 * Clients that have lines of their own, and so the most lines in a period; a
 * client may be in one set of them.
 */
#define NGX_HTTP_SLIDEWIN_REPORTS        512
#define NGX_HTTP_SLIDEWIN_REPORT_SET     8

/* of an escaped key */
#define NGX_HTTP_SLIDEWIN_REPORT_KEY     64

#define NGX_HTTP_SLIDEWIN_REPORT_CLIENT                                       \
    (sizeof(", key \"...\", client: ") + NGX_HTTP_SLIDEWIN_REPORT_KEY         \
     + NGX_SOCKADDR_STRLEN)

#define NGX_HTTP_SLIDEWIN_REPORT_TEXT    512


/* the last line on a client, zone and status, and lines skipped since then */

typedef struct {
    ngx_str_t                   *zone;     /* NULL: no line so far */
    uint32_t                     hash;
    ngx_http_slidewin_status_e   status;
    ngx_uint_t                   level;
    ngx_msec_t                   since;
    ngx_uint_t                   skipped;
    ngx_log_t                   *log;      /* of the location */
    size_t                       len;
    u_char                       client[NGX_HTTP_SLIDEWIN_REPORT_CLIENT];
} ngx_http_slidewin_report_t;


static void ngx_http_slidewin_report_watch(void);
static ngx_http_slidewin_report_t *ngx_http_slidewin_report_find(
    ngx_http_slidewin_entry_t *entry, ngx_http_slidewin_status_e status);
static ngx_uint_t ngx_http_slidewin_report_older(
    ngx_http_slidewin_report_t *report, ngx_msec_t age);
static u_char *ngx_http_slidewin_report_key(u_char *p, ngx_str_t *key);
static void ngx_http_slidewin_report_log_skipped(
    ngx_http_slidewin_report_t *report);
static void ngx_http_slidewin_report_timer(ngx_event_t *ev);
static ngx_uint_t ngx_http_slidewin_report_log_all(ngx_msec_t age);


static const char  *ngx_http_slidewin_report_words[] = {
    [NGX_HTTP_SLIDEWIN_DELAYED] = "delaying request",
    [NGX_HTTP_SLIDEWIN_ERROR_PASSED] = "passing request uncounted",
    [NGX_HTTP_SLIDEWIN_REJECTED_DRY_RUN] = "rejecting request, dry run",
    [NGX_HTTP_SLIDEWIN_REJECTED] = "rejecting request",
    [NGX_HTTP_SLIDEWIN_ERROR_REJECTED] = "rejecting request uncounted"
};


/* the last one is for all clients whose set is full */
static ngx_http_slidewin_report_t
    ngx_http_slidewin_reports[NGX_HTTP_SLIDEWIN_REPORTS + 1];

#define ngx_http_slidewin_report_others                                       \
    (&ngx_http_slidewin_reports[NGX_HTTP_SLIDEWIN_REPORTS])

static ngx_event_t            ngx_http_slidewin_report_event;

/* at debug level nginx reads the descriptor of a timer's data */
static ngx_connection_t       ngx_http_slidewin_report_connection;

/* names of zones and logs belong to a cycle */
static volatile ngx_cycle_t  *ngx_http_slidewin_report_cycle;


void
ngx_http_slidewin_report(ngx_http_request_t *r,
    ngx_http_slidewin_entry_t *entry, ngx_http_slidewin_status_e status,
    const char *fmt, ...)
{
    u_char                        *p, *key, *last;
    va_list                        args;
    ngx_log_t                     *log;
    ngx_str_t                     *zone, *client;
    ngx_uint_t                     due, level;
    ngx_http_core_loc_conf_t      *clcf;
    ngx_http_slidewin_report_t    *report;
    ngx_http_slidewin_loc_conf_t  *slcf;
    u_char                         text[NGX_HTTP_SLIDEWIN_REPORT_TEXT
                                        + NGX_HTTP_SLIDEWIN_REPORT_CLIENT];

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_slidewin_module);
    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    log = r->connection->log;
    level = slcf->log_level + (status < NGX_HTTP_SLIDEWIN_REJECTED);

    if (slcf->log_level == NGX_HTTP_SLIDEWIN_LOG_OFF
        || log->log_level < level)
    {
        return;
    }

    report = ngx_http_slidewin_report_find(entry, status);

    due = report != ngx_http_slidewin_report_others
          && (report->zone == NULL
              || ngx_http_slidewin_report_older(report,
                                            NGX_HTTP_SLIDEWIN_REPORT_PERIOD));

    if (!due) {
        if (report->skipped++ == 0
            && report == ngx_http_slidewin_report_others)
        {
            report->since = ngx_current_msec;
            report->level = level;
            report->log = clcf->error_log;
        }

        ngx_http_slidewin_report_watch();

        level = NGX_LOG_DEBUG;

        if (log->log_level < level) {
            return;
        }
    }

    last = text + NGX_HTTP_SLIDEWIN_REPORT_TEXT;

    va_start(args, fmt);
    p = ngx_vslprintf(text, last, fmt, args);
    va_end(args);

    if (due && report->skipped) {
        p = ngx_slprintf(p, last, ", %ui more like it in the last %Mms",
                         report->skipped, ngx_current_msec - report->since);
    }

    zone = &entry->policy->name;
    key = p;

    if (slcf->log_key) {
        p = ngx_http_slidewin_report_key(p, &entry->claim.key);
    }

    ngx_log_error(level, log, 0, "%s by zone \"%V\"%*s",
                  ngx_http_slidewin_report_words[status], zone,
                  (size_t) (p - text), text);

    if (!due) {
        return;
    }

    client = &r->connection->addr_text;

    report->zone = zone;
    report->level = level;
    report->since = ngx_current_msec;
    report->skipped = 0;
    report->log = clcf->error_log;
    report->len = ngx_slprintf(report->client,
                               report->client + NGX_HTTP_SLIDEWIN_REPORT_CLIENT,
                               "%*s, client: %V", (size_t) (p - key), key,
                               client)
                  - report->client;
}


/* the timer logs what was skipped last, when the client has stopped */

static void
ngx_http_slidewin_report_watch(void)
{
    ngx_event_t  *ev;

    ev = &ngx_http_slidewin_report_event;

    if (ev->timer_set) {
        return;
    }

    ngx_http_slidewin_report_connection.fd = (ngx_socket_t) -1;

    ev->handler = ngx_http_slidewin_report_timer;
    ev->data = &ngx_http_slidewin_report_connection;
    ev->log = ngx_cycle->log;
    ev->cancelable = 1;

    ngx_add_timer(ev, NGX_HTTP_SLIDEWIN_REPORT_PERIOD);
}


/*
 * A client whose last line is older than a period makes room for another; if
 * the set has none, the client is one of the others.
 */

static ngx_http_slidewin_report_t *
ngx_http_slidewin_report_find(ngx_http_slidewin_entry_t *entry,
    ngx_http_slidewin_status_e status)
{
    uint32_t                     hash;
    ngx_str_t                   *zone, *key;
    ngx_uint_t                   i, first;
    ngx_http_slidewin_report_t  *report, *oldest;

    if (ngx_http_slidewin_report_cycle != ngx_cycle) {
        ngx_http_slidewin_report_cycle = ngx_cycle;
        ngx_memzero(ngx_http_slidewin_reports,
                    sizeof(ngx_http_slidewin_reports));
    }

    zone = &entry->policy->name;
    key = &entry->claim.key;
    hash = ngx_murmur_hash2(key->data, key->len)
           ^ ngx_murmur_hash2(zone->data, zone->len);

    first = hash % NGX_HTTP_SLIDEWIN_REPORTS;
    first -= first % NGX_HTTP_SLIDEWIN_REPORT_SET;

    oldest = NULL;

    for (i = 0; i < NGX_HTTP_SLIDEWIN_REPORT_SET; i++) {
        report = &ngx_http_slidewin_reports[first + i];

        if (report->zone == NULL) {
            oldest = report;
            break;
        }

        if (report->hash == hash && report->zone == zone
            && report->status == status)
        {
            return report;
        }

        if (ngx_http_slidewin_report_older(report,
                                           NGX_HTTP_SLIDEWIN_REPORT_PERIOD)
            && (oldest == NULL || (ngx_msec_int_t) (report->since
                                                    - oldest->since) < 0))
        {
            oldest = report;
        }
    }

    if (oldest == NULL) {
        return ngx_http_slidewin_report_others;
    }

    ngx_http_slidewin_report_log_skipped(oldest);

    oldest->zone = NULL;
    oldest->hash = hash;
    oldest->status = status;

    return oldest;
}


static ngx_uint_t
ngx_http_slidewin_report_older(ngx_http_slidewin_report_t *report,
    ngx_msec_t age)
{
    return ngx_current_msec - report->since >= age;
}


/* a key may be any bytes, also quotes and line ends */

static u_char *
ngx_http_slidewin_report_key(u_char *p, ngx_str_t *key)
{
    u_char  *c, *end, *last;

    static u_char  hex[] = "0123456789abcdef";

    p = ngx_cpymem(p, ", key \"", sizeof(", key \"") - 1);

    end = key->data + key->len;
    last = p + NGX_HTTP_SLIDEWIN_REPORT_KEY - sizeof("\\x00") + 1;

    for (c = key->data; c < end && p < last; c++) {

        if (*c >= 0x20 && *c < 0x7f && *c != '"' && *c != '\\') {
            *p++ = *c;
            continue;
        }

        *p++ = '\\';
        *p++ = 'x';
        *p++ = hex[*c >> 4];
        *p++ = hex[*c & 0xf];
    }

    if (c < end) {
        p = ngx_cpymem(p, "...", sizeof("...") - 1);
    }

    *p++ = '"';

    return p;
}


static void
ngx_http_slidewin_report_log_skipped(ngx_http_slidewin_report_t *report)
{
    if (report->skipped == 0) {
        return;
    }

    if (report == ngx_http_slidewin_report_others) {
        ngx_log_error(report->level, report->log, 0,
                      "rejecting or delaying %ui requests of more clients "
                      "than are told apart in the last %Mms",
                      report->skipped, ngx_current_msec - report->since);

    } else {
        ngx_log_error(report->level, report->log, 0,
                      "%s by zone \"%V\", %ui more like it in the last "
                      "%Mms%*s",
                      ngx_http_slidewin_report_words[report->status],
                      report->zone, report->skipped,
                      ngx_current_msec - report->since, report->len,
                      report->client);
    }

    report->since = ngx_current_msec;
    report->skipped = 0;
}


/* the next line of a client that goes on tells what was skipped */

static void
ngx_http_slidewin_report_timer(ngx_event_t *ev)
{
    if (ngx_http_slidewin_report_cycle == ngx_cycle
        && ngx_http_slidewin_report_log_all(NGX_HTTP_SLIDEWIN_REPORT_ENDED))
    {
        ngx_add_timer(ev, NGX_HTTP_SLIDEWIN_REPORT_PERIOD);
    }
}


void
ngx_http_slidewin_report_skipped(void)
{
    if (ngx_http_slidewin_report_cycle == ngx_cycle) {
        (void) ngx_http_slidewin_report_log_all(0);
    }
}


/* of reports that are as old; returns whether there are others */

static ngx_uint_t
ngx_http_slidewin_report_log_all(ngx_msec_t age)
{
    ngx_uint_t                   i, more;
    ngx_http_slidewin_report_t  *report;

    more = 0;

    for (i = 0; i <= NGX_HTTP_SLIDEWIN_REPORTS; i++) {
        report = &ngx_http_slidewin_reports[i];

        if (ngx_http_slidewin_report_older(report, age)) {
            ngx_http_slidewin_report_log_skipped(report);
        }

        more |= report->skipped;
    }

    return more;
}
