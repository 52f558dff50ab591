
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_redis_conn_io.h"
#include "ngx_http_slidewin_redis_sentinel.h"


/* a failover that no sentinel told of is noticed that much later */
#define NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_PAUSE  5000

/* until a replica that was to be the master is no longer expected to be */
#define NGX_HTTP_SLIDEWIN_REDIS_PROMOTION       10000

#define NGX_HTTP_SLIDEWIN_REDIS_WAIT_PROMOTION                                \
    "+failover-state-wait-promotion"

#define NGX_HTTP_SLIDEWIN_REDIS_ASK_PING                                      \
    "*1" CRLF "$4" CRLF "PING" CRLF
#define NGX_HTTP_SLIDEWIN_REDIS_ASK_ADDRESS                                   \
    "*3" CRLF "$8" CRLF "SENTINEL" CRLF                                       \
    "$23" CRLF "GET-MASTER-ADDR-BY-NAME" CRLF
#define NGX_HTTP_SLIDEWIN_REDIS_ASK_EPOCH                                     \
    "*3" CRLF "$8" CRLF "SENTINEL" CRLF "$6" CRLF "MASTER" CRLF
#define NGX_HTTP_SLIDEWIN_REDIS_ASK_NEWS                                      \
    "*4" CRLF "$9" CRLF "SUBSCRIBE" CRLF                                      \
    "$14" CRLF "+switch-master" CRLF "$15" CRLF "+promoted-slave" CRLF        \
    "$30" CRLF NGX_HTTP_SLIDEWIN_REDIS_WAIT_PROMOTION CRLF
#define NGX_HTTP_SLIDEWIN_REDIS_ASK_NO_NEWS                                   \
    "*1" CRLF "$11" CRLF "UNSUBSCRIBE" CRLF


static void ngx_http_slidewin_redis_sentinel_find(
    ngx_http_slidewin_redis_endpoint_t *endpoint,
    ngx_http_slidewin_redis_conn_t *c);
static ngx_uint_t ngx_http_slidewin_redis_sentinel_leave(
    ngx_http_slidewin_redis_endpoint_t *endpoint, ngx_uint_t vain);
static void ngx_http_slidewin_redis_sentinel_patience(ngx_event_t *ev);
static void ngx_http_slidewin_redis_sentinel_decide(
    ngx_http_slidewin_redis_sentinel_t *s);
static void ngx_http_slidewin_redis_sentinel_follow(
    ngx_http_slidewin_redis_sentinel_t *s);
static ngx_http_slidewin_redis_named_t *
    ngx_http_slidewin_redis_sentinel_choose(
    ngx_http_slidewin_redis_sentinel_t *s);
static ngx_uint_t ngx_http_slidewin_redis_sentinel_votes(
    ngx_http_slidewin_redis_sentinel_t *s,
    ngx_http_slidewin_redis_guard_t *guard);
static ngx_uint_t ngx_http_slidewin_redis_sentinel_divided(
    ngx_http_slidewin_redis_sentinel_t *s,
    ngx_http_slidewin_redis_guard_t *best);
static void ngx_http_slidewin_redis_sentinel_send(
    ngx_http_slidewin_redis_sentinel_t *s,
    ngx_http_slidewin_redis_named_t *named);
static ngx_uint_t ngx_http_slidewin_redis_named_same(
    const ngx_http_slidewin_redis_named_t *one,
    const ngx_http_slidewin_redis_named_t *two);

static void ngx_http_slidewin_redis_guard_ready(
    ngx_http_slidewin_redis_conn_t *c);
static void ngx_http_slidewin_redis_guard_down(
    ngx_http_slidewin_redis_conn_t *c);
static void ngx_http_slidewin_redis_guard_timer(ngx_event_t *ev);
static void ngx_http_slidewin_redis_guard_ask(
    ngx_http_slidewin_redis_guard_t *guard);
static void ngx_http_slidewin_redis_guard_heard(redisAsyncContext *context,
    void *reply, void *data);
static void ngx_http_slidewin_redis_guard_named(
    ngx_http_slidewin_redis_guard_t *guard, redisReply *reply);
static void ngx_http_slidewin_redis_guard_answered(
    ngx_http_slidewin_redis_guard_t *guard, redisReply *reply);
static void ngx_http_slidewin_redis_guard_news(
    ngx_http_slidewin_redis_guard_t *guard, redisReply *reply);
static ngx_int_t ngx_http_slidewin_redis_sentinel_port(redisReply *reply);

static ngx_int_t ngx_http_slidewin_redis_promotion_parse(
    ngx_http_slidewin_redis_sentinel_t *s, redisReply *text,
    ngx_http_slidewin_redis_named_t *named);
static void ngx_http_slidewin_redis_promotion_expect(
    ngx_http_slidewin_redis_sentinel_t *s,
    ngx_http_slidewin_redis_named_t *named);
static void ngx_http_slidewin_redis_promotion_ready(
    ngx_http_slidewin_redis_conn_t *c);
static void ngx_http_slidewin_redis_promotion_down(
    ngx_http_slidewin_redis_conn_t *c);
static void ngx_http_slidewin_redis_promotion_end(ngx_event_t *ev);

static ngx_int_t ngx_http_slidewin_redis_sentinel_guards(ngx_conf_t *cf,
    ngx_http_slidewin_redis_sentinel_t *s, const sw_url_t *url);
static ngx_int_t ngx_http_slidewin_redis_sentinel_question(ngx_conf_t *cf,
    ngx_http_slidewin_redis_sentinel_t *s);


static void
ngx_http_slidewin_redis_sentinel_find(ngx_http_slidewin_redis_endpoint_t *endpoint,
    ngx_http_slidewin_redis_conn_t *c)
{
    ngx_uint_t                           i;
    ngx_http_slidewin_redis_sentinel_t  *s;

    s = (ngx_http_slidewin_redis_sentinel_t *) endpoint;

    s->seeker = c;
    s->waiting = 1;

    ngx_add_timer(&s->patience, c->access->connect_timeout / 2);

    for (i = 0; i < s->nguards; i++) {
        s->guards[i].fresh = 0;
        ngx_http_slidewin_redis_guard_ask(&s->guards[i]);
    }

    ngx_http_slidewin_redis_sentinel_decide(s);
}


static ngx_uint_t
ngx_http_slidewin_redis_sentinel_leave(
    ngx_http_slidewin_redis_endpoint_t *endpoint, ngx_uint_t vain)
{
    ngx_uint_t                           more;
    ngx_http_slidewin_redis_sentinel_t  *s;

    s = (ngx_http_slidewin_redis_sentinel_t *) endpoint;

    more = s->found.endpoint.leave(&s->found.endpoint, vain && !s->waiting);

    s->vain.port = 0;

    if (vain && !s->waiting && !more) {
        s->vain = s->sent;
        s->certain = 0;
    }

    s->seeker = NULL;
    s->waiting = 0;

    if (s->patience.timer_set) {
        ngx_del_timer(&s->patience);
    }

    return more;
}


static void
ngx_http_slidewin_redis_sentinel_patience(ngx_event_t *ev)
{
    ngx_http_slidewin_redis_sentinel_decide(ev->data);
}


/*
 * One sentinel may be cut off together with a master that was replaced: more
 * than half of them are heard before a word is believed, and one more if those
 * are divided, or all that answer in time.
 */

static void
ngx_http_slidewin_redis_sentinel_decide(ngx_http_slidewin_redis_sentinel_t *s)
{
    ngx_uint_t                        i, fresh, due, knows;
    ngx_http_slidewin_redis_named_t  *named;
    ngx_http_slidewin_redis_guard_t  *guard, *lost;

    fresh = 0;
    due = 0;
    knows = 0;
    lost = NULL;

    for (i = 0; i < s->nguards; i++) {
        guard = &s->guards[i];

        fresh += guard->fresh;
        knows += guard->knows;

        if (!guard->fresh && (guard->mute || guard->conn.failed)) {
            lost = guard;

        } else {
            due += !guard->fresh;
        }
    }

    if (due == 0 && fresh == 0 && knows == 0 && !s->reported) {
        s->reported = 1;
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "slidewin redis \"sentinels of %V\" cannot be reached: "
                      "%s", &s->master, lost->conn.reason);
    }

    if (!s->waiting) {
        ngx_http_slidewin_redis_sentinel_follow(s);
        return;
    }

    named = ngx_http_slidewin_redis_sentinel_choose(s);

    if (due && s->patience.timer_set && !s->certain
        && (fresh <= s->nguards / 2 || s->divided))
    {
        return;
    }

    if (named) {
        ngx_http_slidewin_redis_sentinel_send(s, named);

    } else if (due == 0) {
        ngx_http_slidewin_redis_conn_resolve_failed(s->seeker,
                                       fresh ? "its sentinels do not know it"
                                       : "its sentinels cannot be reached");
    }
}


/* another is the master now: the one in use need not know */

static void
ngx_http_slidewin_redis_sentinel_follow(ngx_http_slidewin_redis_sentinel_t *s)
{
    ngx_http_slidewin_redis_named_t  *named;

    named = ngx_http_slidewin_redis_sentinel_choose(s);

    if (named == NULL || s->seeker == NULL
        || s->seeker->state == NGX_HTTP_SLIDEWIN_REDIS_MOVING
        || ngx_http_slidewin_redis_named_same(named, &s->sent))
    {
        return;
    }

    ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                  "slidewin redis %V is at %s:%ui now", &s->endpoint.name,
                  named->host, named->port);

    ngx_http_slidewin_redis_conn_reconnect(s->seeker);
}


/*
 * The newest configuration is that of the highest epoch, as it is for the
 * sentinels themselves.  Of the same age it is what most of them say, then
 * where it is, then what the first says, but one that was not there only if
 * they know no other.  A replica that was seen to be promoted is the master
 * until the sentinels know it, too.
 */

static ngx_http_slidewin_redis_named_t *
ngx_http_slidewin_redis_sentinel_choose(ngx_http_slidewin_redis_sentinel_t *s)
{
    ngx_int_t                         rank, best_rank;
    ngx_uint_t                        i;
    ngx_http_slidewin_redis_guard_t  *guard, *best;

    best = NULL;
    best_rank = 0;

    if (s->certain && ngx_http_slidewin_clock_ms() > s->certain_until) {
        s->certain = 0;
    }

    for (i = 0; i < s->nguards; i++) {
        guard = &s->guards[i];

        if (!guard->knows || guard->named.port == 0) {
            continue;
        }

        if (s->certain
            && ngx_http_slidewin_redis_named_same(&guard->named, &s->promoted))
        {
            s->certain = 0;
        }

        rank = 2 * ngx_http_slidewin_redis_sentinel_votes(s, guard)
               + ngx_http_slidewin_redis_named_same(&guard->named, &s->sent);

        if (ngx_http_slidewin_redis_named_same(&guard->named, &s->vain)) {
            rank = 0;
        }

        if (best == NULL || guard->epoch > best->epoch
            || (guard->epoch == best->epoch && rank > best_rank))
        {
            best = guard;
            best_rank = rank;
        }
    }

    s->divided = (best && ngx_http_slidewin_redis_sentinel_divided(s, best));

    if (s->certain) {
        return &s->promoted;
    }

    return best ? &best->named : NULL;
}


static ngx_uint_t
ngx_http_slidewin_redis_sentinel_votes(ngx_http_slidewin_redis_sentinel_t *s,
    ngx_http_slidewin_redis_guard_t *guard)
{
    ngx_uint_t                        i, votes;
    ngx_http_slidewin_redis_guard_t  *other;

    votes = 0;

    for (i = 0; i < s->nguards; i++) {
        other = &s->guards[i];

        votes += other->knows && other->epoch == guard->epoch
                 && ngx_http_slidewin_redis_named_same(&other->named,
                                                       &guard->named);
    }

    return votes;
}


/* whether others name another, as new, and most may yet agree with them */

static ngx_uint_t
ngx_http_slidewin_redis_sentinel_divided(
    ngx_http_slidewin_redis_sentinel_t *s,
    ngx_http_slidewin_redis_guard_t *best)
{
    ngx_uint_t                        i;
    ngx_http_slidewin_redis_guard_t  *guard;

    if (ngx_http_slidewin_redis_sentinel_votes(s, best) > s->nguards / 2) {
        return 0;
    }

    for (i = 0; i < s->nguards; i++) {
        guard = &s->guards[i];

        if (guard->knows && guard->named.port && guard->epoch == best->epoch
            && !ngx_http_slidewin_redis_named_same(&guard->named,
                                                   &best->named))
        {
            return 1;
        }
    }

    return 0;
}


static void
ngx_http_slidewin_redis_sentinel_send(ngx_http_slidewin_redis_sentinel_t *s,
    ngx_http_slidewin_redis_named_t *named)
{
    u_char     *p;
    ngx_str_t   name;

    s->waiting = 0;

    if (s->patience.timer_set) {
        ngx_del_timer(&s->patience);
    }

    if (!ngx_http_slidewin_redis_named_same(named, &s->sent)) {
        s->sent = *named;

        name.data = s->sent.host;
        name.len = ngx_strlen(name.data);

        ngx_http_slidewin_redis_dns_set_name(&s->found, &name, s->sent.port);

        p = ngx_sprintf(s->endpoint.name.data, "\"%V at %V:%ui\"", &s->master,
                        &name, s->sent.port);
        s->endpoint.name.len = p - s->endpoint.name.data;
        s->found.endpoint.name = s->endpoint.name;
    }

    s->found.endpoint.find(&s->found.endpoint, s->seeker);
}


static ngx_uint_t
ngx_http_slidewin_redis_named_same(const ngx_http_slidewin_redis_named_t *one,
    const ngx_http_slidewin_redis_named_t *two)
{
    return one->port == two->port && ngx_strcmp(one->host, two->host) == 0;
}


void
ngx_http_slidewin_redis_sentinel_start(ngx_http_slidewin_redis_sentinel_t *s,
    const ngx_http_slidewin_redis_access_t *access)
{
    ngx_uint_t                        i;
    ngx_http_slidewin_redis_guard_t  *guard;

    s->scout_access = *access;
    s->scout_access.nscripts = 0;
    s->scout_access.spared = NGX_MAX_UINT32_VALUE;

    s->patience.handler = ngx_http_slidewin_redis_sentinel_patience;
    s->patience.data = s;
    s->patience.log = ngx_cycle->log;
    s->patience.cancelable = 1;

    s->timer.handler = ngx_http_slidewin_redis_promotion_end;
    s->timer.data = s;
    s->timer.log = ngx_cycle->log;
    s->timer.cancelable = 1;

    /* one that is lost is no news as long as there is another */

    s->access = *access;
    s->access.user = s->user;
    s->access.password = s->password;
    s->access.spared = NGX_MAX_UINT32_VALUE;
    s->access.sentinel = 1;

    for (i = 0; i < s->nguards; i++) {
        guard = &s->guards[i];

        guard->s = s;

        guard->timer.handler = ngx_http_slidewin_redis_guard_timer;
        guard->timer.data = guard;
        guard->timer.log = ngx_cycle->log;
        guard->timer.cancelable = 1;

        guard->conn.endpoint = &guard->host.endpoint;
        guard->conn.access = &s->access;
        guard->conn.ready = ngx_http_slidewin_redis_guard_ready;
        guard->conn.down = ngx_http_slidewin_redis_guard_down;
        guard->conn.data = guard;

        ngx_http_slidewin_redis_conn_start(&guard->conn);
    }
}


void
ngx_http_slidewin_redis_sentinel_stop(ngx_http_slidewin_redis_sentinel_t *s)
{
    ngx_uint_t                        i;
    ngx_http_slidewin_redis_guard_t  *guard;

    for (i = 0; i < s->nguards; i++) {
        guard = &s->guards[i];

        if (guard->timer.timer_set) {
            ngx_del_timer(&guard->timer);
        }

        ngx_http_slidewin_redis_conn_stop(&guard->conn);
    }

    if (s->timer.timer_set) {
        ngx_del_timer(&s->timer);
        ngx_http_slidewin_redis_promotion_end(&s->timer);
    }
}


static void
ngx_http_slidewin_redis_guard_ready(ngx_http_slidewin_redis_conn_t *c)
{
    ngx_http_slidewin_redis_guard_t  *guard;

    guard = c->data;

    /* not from here, where hiredis would keep the callback of the greeting */

    ngx_add_timer(&guard->timer, 0);
}


/* what it has said may be over before it is heard again */

static void
ngx_http_slidewin_redis_guard_down(ngx_http_slidewin_redis_conn_t *c)
{
    ngx_http_slidewin_redis_guard_t  *guard;

    guard = c->data;

    if (guard->due != NGX_HTTP_SLIDEWIN_REDIS_GUARD_SILENT) {
        guard->due = NGX_HTTP_SLIDEWIN_REDIS_GUARD_SILENT;
        guard->mute = 1;
    }

    guard->knows = 0;
    guard->fresh = 0;

    if (guard->timer.timer_set) {
        ngx_del_timer(&guard->timer);
    }

    ngx_http_slidewin_redis_sentinel_decide(guard->s);
}


static void
ngx_http_slidewin_redis_guard_timer(ngx_event_t *ev)
{
    ngx_http_slidewin_redis_guard_t  *guard;

    guard = ev->data;

    if (guard->due != NGX_HTTP_SLIDEWIN_REDIS_GUARD_SILENT) {
        ngx_http_slidewin_redis_conn_drop(&guard->conn,
                                          "no answer within the timeout");
        return;
    }

    ngx_http_slidewin_redis_guard_ask(guard);
}


/*
 * One who listens can ask nothing else: it stops, asks and listens again, all
 * in one write, so that it misses nothing.
 */

static void
ngx_http_slidewin_redis_guard_ask(ngx_http_slidewin_redis_guard_t *guard)
{
    ngx_str_t                           *text;
    ngx_http_slidewin_redis_conn_t      *c;
    ngx_http_slidewin_redis_sentinel_t  *s;

    s = guard->s;
    c = &guard->conn;

    if (guard->due != NGX_HTTP_SLIDEWIN_REDIS_GUARD_SILENT
        || c->state != NGX_HTTP_SLIDEWIN_REDIS_READY)
    {
        return;
    }

    text = c->pending ? &s->again : &s->question;

    if (ngx_http_slidewin_redis_conn_listen(c,
                                         ngx_http_slidewin_redis_guard_heard,
                                         guard, text)
        != NGX_OK)
    {
        ngx_http_slidewin_redis_conn_drop(c, "no memory");
        return;
    }

    guard->due = NGX_HTTP_SLIDEWIN_REDIS_GUARD_PONG;

    /* nginx would leave a timer alone that is nearly right */

    if (guard->timer.timer_set) {
        ngx_del_timer(&guard->timer);
    }

    ngx_add_timer(&guard->timer, s->access.connect_timeout);
}


/* all that it says: answers, news, and that it was told to bring them or not */

static void
ngx_http_slidewin_redis_guard_heard(redisAsyncContext *context, void *reply,
    void *data)
{
    redisReply                       *r;
    ngx_http_slidewin_redis_guard_t  *guard;

    guard = data;
    r = reply;

    if (r == NULL || context != guard->conn.event.context
        || guard->conn.state != NGX_HTTP_SLIDEWIN_REDIS_READY)
    {
        return;
    }

    guard->conn.heard = guard->conn.read_at;

    switch (guard->due) {

    case NGX_HTTP_SLIDEWIN_REDIS_GUARD_ADDRESS:
        ngx_http_slidewin_redis_guard_named(guard, r);
        return;

    case NGX_HTTP_SLIDEWIN_REDIS_GUARD_EPOCH:
        ngx_http_slidewin_redis_guard_answered(guard, r);
        return;

    case NGX_HTTP_SLIDEWIN_REDIS_GUARD_PONG:

        if (r->type == REDIS_REPLY_STATUS
            && ngx_strcmp(r->str, "PONG") == 0)
        {
            guard->due = NGX_HTTP_SLIDEWIN_REDIS_GUARD_ADDRESS;
            return;
        }

        /* fall through */

    default: /* NGX_HTTP_SLIDEWIN_REDIS_GUARD_SILENT */
        ngx_http_slidewin_redis_guard_news(guard, r);
        return;
    }
}


static void
ngx_http_slidewin_redis_guard_named(ngx_http_slidewin_redis_guard_t *guard,
    redisReply *reply)
{
    ngx_int_t  port;

    port = ngx_http_slidewin_redis_sentinel_port(reply);

    if (port == NGX_ERROR) {
        ngx_http_slidewin_redis_conn_drop_reply(&guard->conn, reply);
        return;
    }

    guard->due = NGX_HTTP_SLIDEWIN_REDIS_GUARD_EPOCH;

    guard->named.port = 0;
    guard->epoch = 0;

    if (port != NGX_DECLINED) {
        guard->named.port = (ngx_uint_t) port;
        (void) ngx_cpystrn(guard->named.host,
                           (u_char *) reply->element[0]->str,
                           sizeof(guard->named.host));
    }
}


/* fields and values; a user who may not ask for them has no epoch */

static void
ngx_http_slidewin_redis_guard_answered(ngx_http_slidewin_redis_guard_t *guard,
    redisReply *reply)
{
    size_t                               i;
    ngx_int_t                            epoch;
    redisReply                          *field, *value;
    ngx_http_slidewin_redis_sentinel_t  *s;

    s = guard->s;

    for (i = 0;
         reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements;
         i += 2)
    {
        field = reply->element[i];
        value = reply->element[i + 1];

        if (field->type == REDIS_REPLY_STRING
            && value->type == REDIS_REPLY_STRING
            && ngx_strcmp(field->str, "config-epoch") == 0)
        {
            epoch = ngx_atoi((u_char *) value->str, value->len);
            guard->epoch = (epoch == NGX_ERROR) ? 0 : epoch;
        }
    }

    guard->due = NGX_HTTP_SLIDEWIN_REDIS_GUARD_SILENT;
    guard->knows = 1;
    guard->fresh = 1;
    guard->mute = 0;

    ngx_add_timer(&guard->timer, NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_PAUSE);

    ngx_http_slidewin_redis_conn_healthy(&guard->conn);

    if (s->reported) {
        s->reported = 0;
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "slidewin redis \"sentinels of %V\" is back",
                      &s->master);
    }

    ngx_http_slidewin_redis_sentinel_decide(s);
}


/* of our master: a sentinel is asked what it means, and a replica looked at */

static void
ngx_http_slidewin_redis_guard_news(ngx_http_slidewin_redis_guard_t *guard,
    redisReply *reply)
{
    size_t                               len;
    redisReply                         **part;
    ngx_http_slidewin_redis_named_t      named;
    ngx_http_slidewin_redis_sentinel_t  *s;

    s = guard->s;

    if (reply->type == REDIS_REPLY_ERROR && !guard->deaf) {
        guard->deaf = 1;
        len = ngx_http_slidewin_redis_error_printable(reply->str, reply->len);

        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                      "slidewin redis %V of \"%V\" tells no news of a "
                      "failover, which is noticed later: \"%*s\"",
                      &guard->host.endpoint.name, &s->master,
                      ngx_min(len, 128), reply->str);
    }

    part = reply->element;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 3
        || part[0]->type != REDIS_REPLY_STRING
        || part[1]->type != REDIS_REPLY_STRING
        || part[2]->type != REDIS_REPLY_STRING
        || ngx_strcmp(part[0]->str, "message") != 0
        || ngx_strstr(part[2]->str, (char *) s->master.data) == NULL)
    {
        return;
    }

    if (ngx_strcmp(part[1]->str, NGX_HTTP_SLIDEWIN_REDIS_WAIT_PROMOTION) == 0
        && ngx_http_slidewin_redis_promotion_parse(s, part[2], &named)
           == NGX_OK)
    {
        ngx_http_slidewin_redis_promotion_expect(s, &named);
    }

    ngx_http_slidewin_redis_guard_ask(guard);
}


/* slave NAME HOST PORT @ MASTER HOST PORT */

static ngx_int_t
ngx_http_slidewin_redis_promotion_parse(ngx_http_slidewin_redis_sentinel_t *s,
    redisReply *text, ngx_http_slidewin_redis_named_t *named)
{
    u_char      *p, *next, *last;
    size_t       len;
    ngx_int_t    port;
    ngx_uint_t   n;

    p = (u_char *) text->str;
    last = p + text->len;
    port = 0;

    for (n = 0; n < 6; n++, p = next + 1) {

        if (p >= last) {
            return NGX_ERROR;
        }

        next = ngx_strlchr(p, last, ' ');
        next = next ? next : last;
        len = next - p;

        switch (n) {

        case 0:
            if (len != 5 || ngx_strncmp(p, "slave", 5) != 0) {
                return NGX_ERROR;
            }

            break;

        case 2:
            if (len == 0 || len > NGX_HTTP_SLIDEWIN_REDIS_HOST_LEN) {
                return NGX_ERROR;
            }

            (void) ngx_cpystrn(named->host, p, len + 1);
            break;

        case 3:
            port = ngx_atoi(p, len);
            break;

        case 5:
            if (len != s->master.len
                || ngx_strncmp(p, s->master.data, len) != 0)
            {
                return NGX_ERROR;
            }

            break;

        default:
            break;
        }
    }

    if (port < 1 || port > 65535) {
        return NGX_ERROR;
    }

    named->port = (ngx_uint_t) port;

    return NGX_OK;
}


/*
 * What the old master is told from the promotion on is lost, and it does not
 * know of that for seconds.  The replica is asked itself, over a connection of
 * its own, until it says that it is the master; until then the old one is.
 */

static void
ngx_http_slidewin_redis_promotion_expect(
    ngx_http_slidewin_redis_sentinel_t *s,
    ngx_http_slidewin_redis_named_t *named)
{
    ngx_str_t  name;

    if (s->timer.timer_set) {
        return;
    }

    s->promoted = *named;
    s->certain = 0;

    name.data = s->promoted.host;
    name.len = ngx_strlen(name.data);

    s->replacement.clcf = s->found.clcf;
    s->replacement.endpoint.name = s->endpoint.name;

    ngx_http_slidewin_redis_dns_set_name(&s->replacement, &name,
                                         s->promoted.port);

    ngx_memzero(&s->scout, sizeof(ngx_http_slidewin_redis_conn_t));

    s->scout.endpoint = &s->replacement.endpoint;
    s->scout.access = &s->scout_access;
    s->scout.ready = ngx_http_slidewin_redis_promotion_ready;
    s->scout.down = ngx_http_slidewin_redis_promotion_down;
    s->scout.data = s;

    ngx_add_timer(&s->timer, NGX_HTTP_SLIDEWIN_REDIS_PROMOTION);

    ngx_http_slidewin_redis_conn_start(&s->scout);
}


static void
ngx_http_slidewin_redis_promotion_ready(ngx_http_slidewin_redis_conn_t *c)
{
    ngx_http_slidewin_redis_sentinel_t  *s;

    s = c->data;

    s->certain = 1;
    s->certain_until = ngx_http_slidewin_clock_ms()
                       + NGX_HTTP_SLIDEWIN_REDIS_PROMOTION;

    ngx_http_slidewin_redis_sentinel_decide(s);

    /* not from here, where the connection is in use */

    ngx_add_timer(&s->timer, 0);
}


static void
ngx_http_slidewin_redis_promotion_down(ngx_http_slidewin_redis_conn_t *c)
{
    /* it is tried again, as any is */
}


static void
ngx_http_slidewin_redis_promotion_end(ngx_event_t *ev)
{
    ngx_http_slidewin_redis_sentinel_t  *s;

    s = ev->data;

    ngx_http_slidewin_redis_conn_stop(&s->scout);
    ngx_http_slidewin_redis_dns_forget(&s->replacement);
}


/* the port of a master, NGX_DECLINED if there is none, or NGX_ERROR */

static ngx_int_t
ngx_http_slidewin_redis_sentinel_port(redisReply *reply)
{
    size_t       i;
    ngx_int_t    port;
    redisReply  *host;

    if (reply->type == REDIS_REPLY_NIL) {
        return NGX_DECLINED;
    }

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2
        || reply->element[0]->type != REDIS_REPLY_STRING
        || reply->element[1]->type != REDIS_REPLY_STRING)
    {
        return NGX_ERROR;
    }

    host = reply->element[0];
    port = ngx_atoi((u_char *) reply->element[1]->str,
                    reply->element[1]->len);

    if (port < 1 || port > 65535
        || host->len < 1 || host->len > NGX_HTTP_SLIDEWIN_REDIS_HOST_LEN)
    {
        return NGX_ERROR;
    }

    for (i = 0; i < host->len; i++) {
        if (host->str[i] <= ' ' || host->str[i] > '~') {
            return NGX_ERROR;
        }
    }

    return port;
}


ngx_http_slidewin_redis_sentinel_t *
ngx_http_slidewin_redis_sentinel_create(ngx_conf_t *cf, const sw_url_t *url)
{
    u_char                              *p;
    size_t                               len;
    ngx_str_t                            nowhere;
    ngx_http_slidewin_redis_sentinel_t  *s;

    s = ngx_pcalloc(cf->pool, sizeof(ngx_http_slidewin_redis_sentinel_t));
    if (s == NULL) {
        return NULL;
    }

    len = url->master.len;

    s->master.len = len;
    s->master.data = ngx_pnalloc(cf->pool, len + 1);

    s->endpoint.name.data = ngx_pnalloc(cf->pool,
                                     sizeof("\" at :65535\"") + len
                                     + NGX_HTTP_SLIDEWIN_REDIS_HOST_LEN);

    if (s->master.data == NULL || s->endpoint.name.data == NULL) {
        return NULL;
    }

    (void) ngx_cpystrn(s->master.data, (u_char *) url->master.data, len + 1);

    p = ngx_sprintf(s->endpoint.name.data, "\"%V\"", &s->master);
    s->endpoint.name.len = p - s->endpoint.name.data;
    s->endpoint.find = ngx_http_slidewin_redis_sentinel_find;
    s->endpoint.leave = ngx_http_slidewin_redis_sentinel_leave;

    if (ngx_http_slidewin_redis_sentinel_guards(cf, s, url) != NGX_OK
        || ngx_http_slidewin_redis_sentinel_question(cf, s) != NGX_OK)
    {
        return NULL;
    }

    ngx_str_set(&nowhere, "");
    ngx_http_slidewin_redis_dns_set_name(&s->found, &nowhere, 0);

    s->found.clcf = s->guards->host.clcf;

    return s;
}


static ngx_int_t
ngx_http_slidewin_redis_sentinel_guards(ngx_conf_t *cf,
    ngx_http_slidewin_redis_sentinel_t *s, const sw_url_t *url)
{
    sw_url_t  next;

    next = *url;

    do {
        s->nguards++;
    } while (sw_url_next(&next));

    s->guards = ngx_pcalloc(cf->pool, s->nguards
                                   * sizeof(ngx_http_slidewin_redis_guard_t));
    if (s->guards == NULL) {
        return NGX_ERROR;
    }

    next = *url;
    s->nguards = 0;

    do {
        if (ngx_http_slidewin_redis_dns_init(cf,
                                             &s->guards[s->nguards++].host,
                                             next.host.data, next.host.len,
                                             next.port)
            != NGX_OK)
        {
            return NGX_ERROR;
        }

    } while (sw_url_next(&next));

    return NGX_OK;
}


static ngx_int_t
ngx_http_slidewin_redis_sentinel_question(ngx_conf_t *cf,
    ngx_http_slidewin_redis_sentinel_t *s)
{
    u_char  *p;
    size_t   len;

    len = sizeof(NGX_HTTP_SLIDEWIN_REDIS_ASK_NO_NEWS)
          + sizeof(NGX_HTTP_SLIDEWIN_REDIS_ASK_PING)
          + sizeof(NGX_HTTP_SLIDEWIN_REDIS_ASK_ADDRESS)
          + sizeof(NGX_HTTP_SLIDEWIN_REDIS_ASK_EPOCH)
          + sizeof(NGX_HTTP_SLIDEWIN_REDIS_ASK_NEWS)
          + 2 * (sizeof("$" CRLF CRLF) + NGX_SIZE_T_LEN + s->master.len);

    p = ngx_pnalloc(cf->pool, len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    s->again.data = p;

    p = ngx_cpymem(p, NGX_HTTP_SLIDEWIN_REDIS_ASK_NO_NEWS,
                   sizeof(NGX_HTTP_SLIDEWIN_REDIS_ASK_NO_NEWS) - 1);

    s->question.data = p;

    p = ngx_sprintf(p, NGX_HTTP_SLIDEWIN_REDIS_ASK_PING
                    NGX_HTTP_SLIDEWIN_REDIS_ASK_ADDRESS "$%uz" CRLF "%V" CRLF
                    NGX_HTTP_SLIDEWIN_REDIS_ASK_EPOCH "$%uz" CRLF "%V" CRLF
                    NGX_HTTP_SLIDEWIN_REDIS_ASK_NEWS,
                    s->master.len, &s->master, s->master.len, &s->master);

    s->again.len = p - s->again.data;
    s->question.len = p - s->question.data;

    return NGX_OK;
}
