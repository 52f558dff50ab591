
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_redis_sentinel.h"


static void ngx_http_slidewin_redis_sentinel_find(
    ngx_http_slidewin_redis_endpoint_t *endpoint,
    ngx_http_slidewin_redis_conn_t *c);
static ngx_uint_t ngx_http_slidewin_redis_sentinel_leave(
    ngx_http_slidewin_redis_endpoint_t *endpoint, ngx_uint_t failed);
static void ngx_http_slidewin_redis_sentinel_timer(ngx_event_t *ev);
static void ngx_http_slidewin_redis_sentinel_changed(
    ngx_http_slidewin_redis_sentinel_peer_t *peer);
static void ngx_http_slidewin_redis_sentinel_on_expected(
    ngx_http_slidewin_redis_sentinel_peer_t *peer,
    const ngx_http_slidewin_redis_master_t *replica);
static void ngx_http_slidewin_redis_sentinel_on_promoted(
    ngx_http_slidewin_redis_sentinel_promotion_t *p);

static void ngx_http_slidewin_redis_sentinel_decide(
    ngx_http_slidewin_redis_sentinel_t *s);
static void ngx_http_slidewin_redis_sentinel_follow(
    ngx_http_slidewin_redis_sentinel_t *s);
static ngx_http_slidewin_redis_master_t *
    ngx_http_slidewin_redis_sentinel_choose(
    ngx_http_slidewin_redis_sentinel_t *s);
static ngx_uint_t ngx_http_slidewin_redis_sentinel_votes(
    ngx_http_slidewin_redis_sentinel_t *s,
    ngx_http_slidewin_redis_sentinel_peer_t *peer);
static ngx_uint_t ngx_http_slidewin_redis_sentinel_disputed(
    ngx_http_slidewin_redis_sentinel_t *s,
    ngx_http_slidewin_redis_sentinel_peer_t *best);
static void ngx_http_slidewin_redis_sentinel_connect(
    ngx_http_slidewin_redis_sentinel_t *s,
    ngx_http_slidewin_redis_master_t *master);

static ngx_int_t ngx_http_slidewin_redis_sentinel_peers(ngx_conf_t *cf,
    ngx_http_slidewin_redis_sentinel_t *s, const sw_url_t *url);


static void
ngx_http_slidewin_redis_sentinel_find(
    ngx_http_slidewin_redis_endpoint_t *endpoint,
    ngx_http_slidewin_redis_conn_t *c)
{
    ngx_uint_t                           i;
    ngx_http_slidewin_redis_sentinel_t  *s;

    s = (ngx_http_slidewin_redis_sentinel_t *) endpoint;

    s->conn = c;
    s->waiting = 1;

    ngx_add_timer(&s->timer, c->access->connect_timeout / 2);

    for (i = 0; i < s->npeers; i++) {
        s->peers[i].fresh = 0;
        ngx_http_slidewin_redis_sentinel_peer_ask(&s->peers[i]);
    }

    ngx_http_slidewin_redis_sentinel_decide(s);
}


static ngx_uint_t
ngx_http_slidewin_redis_sentinel_leave(
    ngx_http_slidewin_redis_endpoint_t *endpoint, ngx_uint_t failed)
{
    ngx_uint_t                           more;
    ngx_http_slidewin_redis_sentinel_t  *s;

    s = (ngx_http_slidewin_redis_sentinel_t *) endpoint;

    more = s->dns.endpoint.leave(&s->dns.endpoint, failed && !s->waiting);

    s->failed.port = 0;

    if (failed && !s->waiting && !more) {
        s->failed = s->used;
        s->promotion.confirmed = 0;
    }

    s->conn = NULL;
    s->waiting = 0;

    if (s->timer.timer_set) {
        ngx_del_timer(&s->timer);
    }

    return more;
}


static void
ngx_http_slidewin_redis_sentinel_timer(ngx_event_t *ev)
{
    ngx_http_slidewin_redis_sentinel_decide(ev->data);
}


static void
ngx_http_slidewin_redis_sentinel_changed(
    ngx_http_slidewin_redis_sentinel_peer_t *peer)
{
    ngx_http_slidewin_redis_sentinel_t  *s;

    s = peer->data;

    if (s->reported && peer->fresh) {
        s->reported = 0;
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "slidewin redis \"sentinels of %V\" is back",
                      &s->query.master);
    }

    ngx_http_slidewin_redis_sentinel_decide(s);
}


static void
ngx_http_slidewin_redis_sentinel_on_expected(
    ngx_http_slidewin_redis_sentinel_peer_t *peer,
    const ngx_http_slidewin_redis_master_t *replica)
{
    ngx_http_slidewin_redis_sentinel_t  *s;

    s = peer->data;

    ngx_http_slidewin_redis_sentinel_promotion_expect(&s->promotion, replica,
                                                      &s->endpoint.name,
                                                      s->dns.clcf);
}


static void
ngx_http_slidewin_redis_sentinel_on_promoted(
    ngx_http_slidewin_redis_sentinel_promotion_t *p)
{
    ngx_http_slidewin_redis_sentinel_decide(p->data);
}


/*
 * A sentinel may be cut off together with a master that was replaced.  So no
 * answer is used before more than half of the sentinels have answered and no
 * other master can win, or before all have answered or the timer has expired.
 */

static void
ngx_http_slidewin_redis_sentinel_decide(ngx_http_slidewin_redis_sentinel_t *s)
{
    ngx_uint_t                                i, fresh, awaited, known;
    ngx_http_slidewin_redis_master_t         *master;
    ngx_http_slidewin_redis_sentinel_peer_t  *peer, *lost;

    fresh = 0;
    awaited = 0;
    known = 0;
    lost = NULL;

    for (i = 0; i < s->npeers; i++) {
        peer = &s->peers[i];

        fresh += peer->fresh;
        known += peer->known;

        if (!peer->fresh && (peer->silent || peer->conn.failed)) {
            lost = peer;

        } else {
            awaited += !peer->fresh;
        }
    }

    if (awaited == 0 && fresh == 0 && known == 0 && !s->reported) {
        s->reported = 1;
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "slidewin redis \"sentinels of %V\" cannot be reached: "
                      "%s", &s->query.master, lost->conn.reason);
    }

    if (!s->waiting) {
        ngx_http_slidewin_redis_sentinel_follow(s);
        return;
    }

    master = ngx_http_slidewin_redis_sentinel_choose(s);

    if (awaited && s->timer.timer_set && !s->promotion.confirmed
        && (fresh <= s->npeers / 2 || s->disputed))
    {
        return;
    }

    if (master) {
        ngx_http_slidewin_redis_sentinel_connect(s, master);

    } else if (awaited == 0) {
        ngx_http_slidewin_redis_conn_resolve_failed(s->conn,
                                       fresh ? "its sentinels do not know it"
                                       : "its sentinels cannot be reached");
    }
}


/* the old master may answer for a while, not knowing that it was replaced */

static void
ngx_http_slidewin_redis_sentinel_follow(ngx_http_slidewin_redis_sentinel_t *s)
{
    ngx_http_slidewin_redis_master_t  *master;

    master = ngx_http_slidewin_redis_sentinel_choose(s);

    if (master == NULL || s->conn == NULL
        || s->conn->state == NGX_HTTP_SLIDEWIN_REDIS_MOVING
        || ngx_http_slidewin_redis_master_same(master, &s->used))
    {
        return;
    }

    ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                  "slidewin redis %V is at %s:%ui now", &s->endpoint.name,
                  master->host, master->port);

    ngx_http_slidewin_redis_conn_reconnect(s->conn);
}


/*
 * The newest configuration is that of the highest epoch, as it is for the
 * sentinels themselves.  In one epoch the master with the most votes wins, then
 * the one in use, then that of the first sentinel; one that could not be
 * connected only if there is no other.  A confirmed promotion comes before all
 * that, until the sentinels know it.
 */

static ngx_http_slidewin_redis_master_t *
ngx_http_slidewin_redis_sentinel_choose(ngx_http_slidewin_redis_sentinel_t *s)
{
    ngx_int_t                                      rank, best_rank;
    ngx_uint_t                                     i;
    ngx_http_slidewin_redis_sentinel_promotion_t  *promotion;
    ngx_http_slidewin_redis_sentinel_peer_t       *peer, *best;

    best = NULL;
    best_rank = 0;
    promotion = &s->promotion;

    if (promotion->confirmed
        && ngx_http_slidewin_clock_ms() > promotion->confirmed_until)
    {
        promotion->confirmed = 0;
    }

    for (i = 0; i < s->npeers; i++) {
        peer = &s->peers[i];

        if (!peer->known || peer->master.port == 0) {
            continue;
        }

        if (promotion->confirmed
            && ngx_http_slidewin_redis_master_same(&peer->master,
                                                   &promotion->replica))
        {
            promotion->confirmed = 0;
        }

        rank = 2 * ngx_http_slidewin_redis_sentinel_votes(s, peer)
               + ngx_http_slidewin_redis_master_same(&peer->master, &s->used);

        if (ngx_http_slidewin_redis_master_same(&peer->master, &s->failed)) {
            rank = 0;
        }

        if (best == NULL || peer->epoch > best->epoch
            || (peer->epoch == best->epoch && rank > best_rank))
        {
            best = peer;
            best_rank = rank;
        }
    }

    s->disputed = (best && ngx_http_slidewin_redis_sentinel_disputed(s, best));

    if (promotion->confirmed) {
        return &promotion->replica;
    }

    return best ? &best->master : NULL;
}


static ngx_uint_t
ngx_http_slidewin_redis_sentinel_votes(ngx_http_slidewin_redis_sentinel_t *s,
    ngx_http_slidewin_redis_sentinel_peer_t *peer)
{
    ngx_uint_t                                i, votes;
    ngx_http_slidewin_redis_sentinel_peer_t  *other;

    votes = 0;

    for (i = 0; i < s->npeers; i++) {
        other = &s->peers[i];

        votes += other->known && other->epoch == peer->epoch
                 && ngx_http_slidewin_redis_master_same(&other->master,
                                                        &peer->master);
    }

    return votes;
}


/* whether another master of that epoch may still get the most votes */

static ngx_uint_t
ngx_http_slidewin_redis_sentinel_disputed(
    ngx_http_slidewin_redis_sentinel_t *s,
    ngx_http_slidewin_redis_sentinel_peer_t *best)
{
    ngx_uint_t                                i;
    ngx_http_slidewin_redis_sentinel_peer_t  *peer;

    if (ngx_http_slidewin_redis_sentinel_votes(s, best) > s->npeers / 2) {
        return 0;
    }

    for (i = 0; i < s->npeers; i++) {
        peer = &s->peers[i];

        if (peer->known && peer->master.port && peer->epoch == best->epoch
            && !ngx_http_slidewin_redis_master_same(&peer->master,
                                                    &best->master))
        {
            return 1;
        }
    }

    return 0;
}


static void
ngx_http_slidewin_redis_sentinel_connect(ngx_http_slidewin_redis_sentinel_t *s,
    ngx_http_slidewin_redis_master_t *master)
{
    u_char     *p;
    ngx_str_t   host;

    s->waiting = 0;

    if (s->timer.timer_set) {
        ngx_del_timer(&s->timer);
    }

    if (!ngx_http_slidewin_redis_master_same(master, &s->used)) {
        s->used = *master;

        host.data = s->used.host;
        host.len = ngx_strlen(host.data);

        ngx_http_slidewin_redis_dns_set_name(&s->dns, &host, s->used.port);

        p = ngx_sprintf(s->endpoint.name.data, "\"%V at %V:%ui\"",
                        &s->query.master, &host, s->used.port);
        s->endpoint.name.len = p - s->endpoint.name.data;
        s->dns.endpoint.name = s->endpoint.name;
    }

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "slidewin redis sentinel: %V chosen, promoted:%d",
                   &s->endpoint.name, s->promotion.confirmed);

    s->dns.endpoint.find(&s->dns.endpoint, s->conn);
}


void
ngx_http_slidewin_redis_sentinel_start(ngx_http_slidewin_redis_sentinel_t *s,
    const ngx_http_slidewin_redis_access_t *access)
{
    ngx_uint_t                                i;
    ngx_http_slidewin_redis_sentinel_peer_t  *peer;

    s->timer.handler = ngx_http_slidewin_redis_sentinel_timer;
    s->timer.data = s;
    s->timer.log = ngx_cycle->log;
    s->timer.cancelable = 1;

    s->promotion.changed = ngx_http_slidewin_redis_sentinel_on_promoted;
    s->promotion.data = s;

    ngx_http_slidewin_redis_sentinel_promotion_init(&s->promotion, access);

    /* the loss of one sentinel is logged at "info": others are left */

    s->access = *access;
    s->access.user = s->user;
    s->access.password = s->password;
    s->access.quiet_losses = NGX_MAX_UINT32_VALUE;
    s->access.sentinel = 1;
    s->access.counters = NULL;

    for (i = 0; i < s->npeers; i++) {
        peer = &s->peers[i];

        peer->query = &s->query;
        peer->changed = ngx_http_slidewin_redis_sentinel_changed;
        peer->promotion = ngx_http_slidewin_redis_sentinel_on_expected;
        peer->data = s;

        ngx_http_slidewin_redis_sentinel_peer_start(peer, &s->access);
    }
}


void
ngx_http_slidewin_redis_sentinel_stop(ngx_http_slidewin_redis_sentinel_t *s)
{
    ngx_uint_t  i;

    for (i = 0; i < s->npeers; i++) {
        ngx_http_slidewin_redis_sentinel_peer_stop(&s->peers[i]);
    }

    ngx_http_slidewin_redis_sentinel_promotion_stop(&s->promotion);
}


ngx_http_slidewin_redis_sentinel_t *
ngx_http_slidewin_redis_sentinel_create(ngx_conf_t *cf, const sw_url_t *url)
{
    u_char                              *p;
    size_t                               len;
    ngx_str_t                            empty, *name;
    ngx_http_slidewin_redis_sentinel_t  *s;

    s = ngx_pcalloc(cf->pool, sizeof(ngx_http_slidewin_redis_sentinel_t));
    if (s == NULL) {
        return NULL;
    }

    len = url->master.len;
    name = &s->query.master;

    name->len = len;
    name->data = ngx_pnalloc(cf->pool, len + 1);

    s->endpoint.name.data = ngx_pnalloc(cf->pool,
                                        sizeof("\" at :65535\"") + len
                                        + NGX_HTTP_SLIDEWIN_REDIS_HOST_LEN);

    if (name->data == NULL || s->endpoint.name.data == NULL) {
        return NULL;
    }

    (void) ngx_cpystrn(name->data, (u_char *) url->master.data, len + 1);

    p = ngx_sprintf(s->endpoint.name.data, "\"%V\"", name);
    s->endpoint.name.len = p - s->endpoint.name.data;
    s->endpoint.find = ngx_http_slidewin_redis_sentinel_find;
    s->endpoint.leave = ngx_http_slidewin_redis_sentinel_leave;

    if (ngx_http_slidewin_redis_sentinel_peers(cf, s, url) != NGX_OK
        || ngx_http_slidewin_redis_sentinel_query_init(cf->pool, &s->query)
           != NGX_OK)
    {
        return NULL;
    }

    ngx_str_set(&empty, "");
    ngx_http_slidewin_redis_dns_set_name(&s->dns, &empty, 0);

    s->dns.clcf = s->peers->dns.clcf;

    return s;
}


static ngx_int_t
ngx_http_slidewin_redis_sentinel_peers(ngx_conf_t *cf,
    ngx_http_slidewin_redis_sentinel_t *s, const sw_url_t *url)
{
    sw_url_t                        next;
    ngx_http_slidewin_redis_dns_t  *dns;

    next = *url;

    do {
        s->npeers++;
    } while (sw_url_next(&next));

    s->peers = ngx_pcalloc(cf->pool, s->npeers
                           * sizeof(ngx_http_slidewin_redis_sentinel_peer_t));
    if (s->peers == NULL) {
        return NGX_ERROR;
    }

    next = *url;
    s->npeers = 0;

    do {
        dns = &s->peers[s->npeers++].dns;

        if (ngx_http_slidewin_redis_dns_init(cf, dns, next.host.data,
                                             next.host.len, next.port)
            != NGX_OK)
        {
            return NGX_ERROR;
        }

    } while (sw_url_next(&next));

    return NGX_OK;
}
