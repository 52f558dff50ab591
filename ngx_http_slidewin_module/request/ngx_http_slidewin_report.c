
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

#define NGX_HTTP_SLIDEWIN_REPORT_KEY_TEXT                                     \
    (sizeof(", key: \"...\"") + NGX_HTTP_SLIDEWIN_REPORT_KEY)

/* a rate from a variable may have zeros in front of it, any number of them */
#define NGX_HTTP_SLIDEWIN_REPORT_RATE    32

#define NGX_HTTP_SLIDEWIN_REPORT_TEXT    512


/* by how much a request is above the limit; 0.000: no store has decided */

typedef struct {
    int64_t                      units;
    int64_t                      thousandths;
} ngx_http_slidewin_excess_t;


/*
 * The last line on a client, zone and status, and lines skipped since then.
 * The line about them is that of the last one: its client is not that of the
 * others if the key is not an address.
 */

typedef struct {
    ngx_str_t                   *zone;     /* NULL: no line so far */
    uint32_t                     hash;
    ngx_http_slidewin_status_e   status;
    ngx_uint_t                   level;
    ngx_msec_t                   since;
    ngx_uint_t                   skipped;
    ngx_log_t                   *log;      /* of the location */
    ngx_http_slidewin_excess_t   excess;
    ngx_atomic_uint_t            connection;
    size_t                       client_len;
    size_t                       key_len;
    u_char                       client[NGX_SOCKADDR_STRLEN];
    u_char                       key[NGX_HTTP_SLIDEWIN_REPORT_KEY_TEXT];
} ngx_http_slidewin_report_t;


/* no more than the next lines need of a request */

struct ngx_http_slidewin_report_left_s {
    ngx_log_t                   *log;      /* of the location */
    ngx_uint_t                   level;    /* of a rejection */
    ngx_uint_t                   log_key;
    ngx_atomic_uint_t            connection;
    size_t                       client_len;
    u_char                       client[NGX_SOCKADDR_STRLEN];
};


static void ngx_http_slidewin_report_watch(void);
static ngx_http_slidewin_report_t *ngx_http_slidewin_report_find(
    ngx_http_slidewin_entry_t *entry, ngx_http_slidewin_status_e status);
static ngx_uint_t ngx_http_slidewin_report_older(
    ngx_http_slidewin_report_t *report, ngx_msec_t age);
static void ngx_http_slidewin_report_skip(ngx_http_slidewin_report_t *report,
    ngx_http_request_t *r, ngx_http_slidewin_excess_t *excess);
static void ngx_http_slidewin_report_excess(ngx_http_slidewin_claim_t *claim,
    int64_t cost, ngx_http_slidewin_excess_t *excess);
static u_char *ngx_http_slidewin_report_line(u_char *p, u_char *last,
    ngx_str_t *zone, ngx_http_slidewin_status_e status,
    ngx_http_slidewin_excess_t *excess);
static u_char *ngx_http_slidewin_report_rate(u_char *p, u_char *last,
    ngx_http_slidewin_entry_t *entry);
static u_char *ngx_http_slidewin_report_key(u_char *p, ngx_str_t *key);
static void ngx_http_slidewin_report_log(ngx_http_request_t *r,
    ngx_uint_t level, ngx_str_t *line, ngx_str_t *details);
static u_char *ngx_http_slidewin_report_log_handler(ngx_http_request_t *r,
    ngx_http_request_t *sr, u_char *buf, size_t len);
static void ngx_http_slidewin_report_log_skipped(
    ngx_http_slidewin_report_t *report);
static void ngx_http_slidewin_report_timer(ngx_event_t *ev);
static ngx_uint_t ngx_http_slidewin_report_log_all(ngx_msec_t age);


/*
 * A search for rejections, by "limiting requests" or "rejecting", must not find
 * a dry run.
 */

static const char  *ngx_http_slidewin_report_words[] = {
    [NGX_HTTP_SLIDEWIN_DELAYED] = "delaying request",
    [NGX_HTTP_SLIDEWIN_REJECTED_DRY_RUN] = "dry run: would limit request",
    [NGX_HTTP_SLIDEWIN_REJECTED] = "limiting requests",
    [NGX_HTTP_SLIDEWIN_BANNED] = "limiting requests"
};


static const char  *ngx_http_slidewin_report_uncounted_words[] = {
    [NGX_HTTP_SLIDEWIN_ERROR_PASSED] = "passing request uncounted",
    [NGX_HTTP_SLIDEWIN_REJECTED_DRY_RUN] =
                                     "dry run: would reject request uncounted",
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

/* while a line is written */
static ngx_str_t               *ngx_http_slidewin_report_details;
static ngx_http_log_handler_pt  ngx_http_slidewin_report_next_handler;


void
ngx_http_slidewin_report(ngx_http_request_t *r,
    ngx_http_slidewin_entry_t *entry, ngx_http_slidewin_status_e status,
    const char *fmt, ...)
{
    u_char                        *p, *last;
    va_list                        args;
    ngx_log_t                     *log;
    ngx_str_t                      line, details, key;
    ngx_uint_t                     due, level;
    ngx_http_core_loc_conf_t      *clcf;
    ngx_http_slidewin_excess_t     excess;
    ngx_http_slidewin_report_t    *report;
    ngx_http_slidewin_loc_conf_t  *slcf;
    u_char                         text[NGX_HTTP_SLIDEWIN_REPORT_TEXT
                                        + NGX_HTTP_SLIDEWIN_REPORT_KEY_TEXT];

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_slidewin_module);
    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    log = r->connection->log;
    level = ngx_http_slidewin_report_level(slcf, status);

    ngx_memzero(&excess, sizeof(ngx_http_slidewin_excess_t));

    if (ngx_http_slidewin_entry_has_verdict(entry)) {
        ngx_http_slidewin_report_excess(&entry->claim, entry->cost, &excess);
    }

    report = ngx_http_slidewin_report_find(entry, status);

    due = report != ngx_http_slidewin_report_others
          && (report->zone == NULL
              || ngx_http_slidewin_report_older(report,
                                            NGX_HTTP_SLIDEWIN_REPORT_PERIOD));

    /* a ban that begins is always told */

    if (!due && !entry->claim.ban_began) {
        if (report != ngx_http_slidewin_report_others) {
            ngx_http_slidewin_report_skip(report, r, &excess);

        } else if (report->skipped == 0) {
            report->since = ngx_current_msec;
            report->level = level;
            report->log = clcf->error_log;
        }

        report->skipped++;

        ngx_http_slidewin_report_watch();

        level = NGX_LOG_DEBUG;

        if (log->log_level < level) {
            return;
        }
    }

    last = text + NGX_HTTP_SLIDEWIN_REPORT_TEXT;

    line.data = text;
    p = ngx_http_slidewin_report_line(text, last, &entry->policy->name, status,
                                      &excess);
    line.len = p - text;

    details.data = p;

    if (ngx_http_slidewin_entry_has_verdict(entry)) {
        p = ngx_http_slidewin_report_rate(p, last, entry);
    }

    va_start(args, fmt);
    p = ngx_vslprintf(p, last, fmt, args);
    va_end(args);

    if (due && report->skipped) {
        p = ngx_slprintf(p, last, ", %ui more like it in the last %Mms",
                         report->skipped, ngx_current_msec - report->since);
    }

    key.data = p;

    if (slcf->log_key) {
        p = ngx_http_slidewin_report_key(p, &entry->claim.key);
    }

    key.len = p - key.data;
    details.len = p - details.data;

    ngx_http_slidewin_report_log(r, level, &line, &details);

    if (!due) {
        return;
    }

    report->zone = &entry->policy->name;
    report->level = level;
    report->since = ngx_current_msec;
    report->skipped = 0;
    report->log = clcf->error_log;
    report->key_len = key.len;
    ngx_memcpy(report->key, key.data, key.len);
}


/* what log_skipped() tells if this is the last one */

static void
ngx_http_slidewin_report_skip(ngx_http_slidewin_report_t *report,
    ngx_http_request_t *r, ngx_http_slidewin_excess_t *excess)
{
    ngx_connection_t  *c;

    c = r->connection;

    report->excess = *excess;
    report->connection = c->log->connection;
    report->client_len = ngx_min(c->addr_text.len, NGX_SOCKADDR_STRLEN);
    ngx_memcpy(report->client, c->addr_text.data, report->client_len);
}


/*
 * A level that is older than the rejection, such as that of the deny cache, may
 * have room for the request: the excess is at least 0.001 nevertheless.
 */

static void
ngx_http_slidewin_report_excess(ngx_http_slidewin_claim_t *claim, int64_t cost,
    ngx_http_slidewin_excess_t *excess)
{
    int64_t        level;
    sw_verdict_t  *verdict;

    verdict = &claim->verdict;

    sw_verdict_complete(verdict, &claim->rule);

    /* a peek is about the whole cost, not about the rest of it */

    if (verdict->remaining < claim->cost) {
        cost = claim->cost;
    }

    /* units and thousandths apart: together they may be above 63 bits */

    level = ngx_max(verdict->level, 0);

    excess->units = ngx_min(level / verdict->scale, SW_PRODUCT_MAX)
                    + cost - claim->rule.limit;
    excess->thousandths = level % verdict->scale * 1000 / verdict->scale;

    if (excess->units < 0
        || (excess->units == 0 && excess->thousandths == 0))
    {
        excess->units = 0;
        excess->thousandths = 1;
    }
}


/* up to the client, as limit_req has it if there is an excess */

static u_char *
ngx_http_slidewin_report_line(u_char *p, u_char *last, ngx_str_t *zone,
    ngx_http_slidewin_status_e status, ngx_http_slidewin_excess_t *excess)
{
    if (excess->units == 0 && excess->thousandths == 0) {
        return ngx_slprintf(p, last, "%s by zone \"%V\"",
                            ngx_http_slidewin_report_uncounted_words[status],
                            zone);
    }

    return ngx_slprintf(p, last, "%s, excess: %L.%03L by zone \"%V\"",
                        ngx_http_slidewin_report_words[status], excess->units,
                        excess->thousandths, zone);
}


static u_char *
ngx_http_slidewin_report_rate(u_char *p, u_char *last,
    ngx_http_slidewin_entry_t *entry)
{
    ngx_str_t  *rate;

    rate = entry->policy->rate ? &entry->rate_text : &entry->policy->rate_text;

    p = ngx_slprintf(p, last, ", rate: %*s",
                     ngx_min(rate->len, NGX_HTTP_SLIDEWIN_REPORT_RATE),
                     rate->data);

    if (entry->claim.rule.limit < entry->rate) {
        p = ngx_slprintf(p, last, ", fallback limit: %L",
                         entry->claim.rule.limit);
    }

    return p;
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

    p = ngx_cpymem(p, ", key: \"", sizeof(", key: \"") - 1);

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


/*
 * nginx writes the client after the line, and then calls the log handler of the
 * request for what it knows of it.  At debug level it writes neither.
 */

static void
ngx_http_slidewin_report_log(ngx_http_request_t *r, ngx_uint_t level,
    ngx_str_t *line, ngx_str_t *details)
{
    char       *action;
    ngx_log_t  *log;

    log = r->connection->log;

    if (level == NGX_LOG_DEBUG) {
        ngx_log_error(level, log, 0, "%V%V", line, details);
        return;
    }

    /* of an upstream that was asked before: it would precede the client */

    action = log->action;
    log->action = NULL;

    /* nginx calls that of the main request, for subrequests as well */

    r = r->main;

    ngx_http_slidewin_report_details = details;
    ngx_http_slidewin_report_next_handler = r->log_handler;
    r->log_handler = ngx_http_slidewin_report_log_handler;

    ngx_log_error(level, log, 0, "%V", line);

    ngx_http_slidewin_report_details = NULL;
    r->log_handler = ngx_http_slidewin_report_next_handler;
    log->action = action;
}


ngx_http_slidewin_report_left_t *
ngx_http_slidewin_report_leave(ngx_http_request_t *r)
{
    ngx_connection_t                 *c;
    ngx_http_core_loc_conf_t         *clcf;
    ngx_http_slidewin_loc_conf_t     *slcf;
    ngx_http_slidewin_report_left_t  *left;

    c = r->connection;
    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);
    slcf = ngx_http_get_module_loc_conf(r, ngx_http_slidewin_module);

    left = ngx_alloc(sizeof(ngx_http_slidewin_report_left_t), c->log);
    if (left == NULL) {
        return NULL;
    }

    left->log = clcf->error_log;
    left->level = slcf->log_level;
    left->log_key = slcf->log_key;
    left->connection = c->log->connection;
    left->client_len = ngx_min(c->addr_text.len, NGX_SOCKADDR_STRLEN);
    ngx_memcpy(left->client, c->addr_text.data, left->client_len);

    return left;
}


/* a call that only begins a ban has no cost that could be told */

void
ngx_http_slidewin_report_left(ngx_http_slidewin_report_left_t *left,
    ngx_http_slidewin_policy_t *policy, ngx_http_slidewin_claim_t *claim)
{
    u_char                      *p, *last;
    ngx_log_t                    log;
    ngx_uint_t                   level;
    ngx_http_slidewin_excess_t   excess;
    ngx_http_slidewin_status_e   status;
    u_char                       text[NGX_HTTP_SLIDEWIN_REPORT_TEXT
                                      + NGX_HTTP_SLIDEWIN_REPORT_KEY_TEXT];

    status = claim->dry_run ? NGX_HTTP_SLIDEWIN_REJECTED_DRY_RUN
                            : NGX_HTTP_SLIDEWIN_REJECTED;

    level = left->level + (status < NGX_HTTP_SLIDEWIN_REJECTED);

    if (left->level == NGX_HTTP_SLIDEWIN_LOG_OFF
        || left->log->log_level < level)
    {
        return;
    }

    if (claim->cost == SW_BAN_COST) {
        claim->cost = 1;
    }

    ngx_http_slidewin_report_excess(claim, claim->cost, &excess);

    last = text + NGX_HTTP_SLIDEWIN_REPORT_TEXT;
    p = ngx_http_slidewin_report_line(text, last, &policy->name, status,
                                      &excess);

    p = ngx_slprintf(p, last, ", client: %*s, which has left",
                     left->client_len, left->client);

    if (policy->rate == NULL) {
        p = ngx_slprintf(p, last, ", rate: %V", &policy->rate_text);
    }

    p = ngx_slprintf(p, last, ", %s for %Ls",
                     claim->dry_run ? "would be banned" : "banned",
                     ngx_http_slidewin_seconds(claim->banned));

    if (left->log_key) {
        p = ngx_http_slidewin_report_key(p, &claim->key);
    }

    log = *left->log;
    log.connection = left->connection;

    ngx_log_error(level, &log, 0, "%*s", (size_t) (p - text), text);
}


static u_char *
ngx_http_slidewin_report_log_handler(ngx_http_request_t *r,
    ngx_http_request_t *sr, u_char *buf, size_t len)
{
    u_char  *p;

    p = ngx_snprintf(buf, len, "%V", ngx_http_slidewin_report_details);

    return ngx_http_slidewin_report_next_handler(r, sr, p, len - (p - buf));
}


/*
 * The last of the skipped requests, as far as it is known when it is gone.  Its
 * connection is told as well: it is a rejection as others are, and fail2ban
 * wants one.
 */

static void
ngx_http_slidewin_report_log_skipped(ngx_http_slidewin_report_t *report)
{
    u_char     *p;
    ngx_log_t   log;
    u_char      text[NGX_HTTP_SLIDEWIN_REPORT_TEXT];

    if (report->skipped == 0) {
        return;
    }

    if (report == ngx_http_slidewin_report_others) {
        ngx_log_error(report->level, report->log, 0,
                      "slidewin left out %ui lines on more clients than are "
                      "told apart in the last %Mms",
                      report->skipped, ngx_current_msec - report->since);

    } else {
        log = *report->log;
        log.connection = report->connection;

        p = ngx_http_slidewin_report_line(text,
                                          text + NGX_HTTP_SLIDEWIN_REPORT_TEXT,
                                          report->zone, report->status,
                                          &report->excess);

        ngx_log_error(report->level, &log, 0,
                      "%*s, client: %*s, the last of %ui left out in %Mms%*s",
                      (size_t) (p - text), text, report->client_len,
                      report->client, report->skipped,
                      ngx_current_msec - report->since, report->key_len,
                      report->key);
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
