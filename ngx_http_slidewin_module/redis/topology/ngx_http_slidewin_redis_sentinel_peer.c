
#include "ngx_http_slidewin_redis_conn_io.h"
#include "ngx_http_slidewin_redis_sentinel_peer.h"


/* a failover without a message is noticed that much later */
#define NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_PAUSE  5000


static void ngx_http_slidewin_redis_sentinel_peer_ready(
    ngx_http_slidewin_redis_conn_t *c);
static void ngx_http_slidewin_redis_sentinel_peer_down(
    ngx_http_slidewin_redis_conn_t *c);
static void ngx_http_slidewin_redis_sentinel_peer_timer(ngx_event_t *ev);
static void ngx_http_slidewin_redis_sentinel_peer_replied(
    redisAsyncContext *context, void *reply, void *data);
static void ngx_http_slidewin_redis_sentinel_peer_address(
    ngx_http_slidewin_redis_sentinel_peer_t *peer, redisReply *reply);
static void ngx_http_slidewin_redis_sentinel_peer_epoch(
    ngx_http_slidewin_redis_sentinel_peer_t *peer, redisReply *reply);
static void ngx_http_slidewin_redis_sentinel_peer_message(
    ngx_http_slidewin_redis_sentinel_peer_t *peer, redisReply *reply);


void
ngx_http_slidewin_redis_sentinel_peer_start(
    ngx_http_slidewin_redis_sentinel_peer_t *peer,
    ngx_http_slidewin_redis_access_t *access)
{
    peer->timer.handler = ngx_http_slidewin_redis_sentinel_peer_timer;
    peer->timer.data = peer;
    peer->timer.log = ngx_cycle->log;
    peer->timer.cancelable = 1;

    peer->conn.endpoint = &peer->dns.endpoint;
    peer->conn.access = access;
    peer->conn.ready = ngx_http_slidewin_redis_sentinel_peer_ready;
    peer->conn.down = ngx_http_slidewin_redis_sentinel_peer_down;
    peer->conn.data = peer;

    ngx_http_slidewin_redis_conn_start(&peer->conn);
}


void
ngx_http_slidewin_redis_sentinel_peer_stop(
    ngx_http_slidewin_redis_sentinel_peer_t *peer)
{
    if (peer->timer.timer_set) {
        ngx_del_timer(&peer->timer);
    }

    ngx_http_slidewin_redis_conn_stop(&peer->conn);
}


/*
 * Nothing is sent from here, the callback of the handshake: SUBSCRIBE would
 * make hiredis keep that callback for all messages.
 */

static void
ngx_http_slidewin_redis_sentinel_peer_ready(ngx_http_slidewin_redis_conn_t *c)
{
    ngx_http_slidewin_redis_sentinel_peer_t  *peer;

    peer = c->data;

    ngx_add_timer(&peer->timer, 0);
}


/*
 * The master may change while the sentinel is not connected: its answer is
 * dropped.
 */

static void
ngx_http_slidewin_redis_sentinel_peer_down(ngx_http_slidewin_redis_conn_t *c)
{
    ngx_http_slidewin_redis_sentinel_peer_t  *peer;

    peer = c->data;

    if (peer->await != NGX_HTTP_SLIDEWIN_REDIS_AWAIT_NONE) {
        peer->await = NGX_HTTP_SLIDEWIN_REDIS_AWAIT_NONE;
        peer->silent = 1;
    }

    peer->known = 0;
    peer->fresh = 0;

    if (peer->timer.timer_set) {
        ngx_del_timer(&peer->timer);
    }

    peer->changed(peer);
}


static void
ngx_http_slidewin_redis_sentinel_peer_timer(ngx_event_t *ev)
{
    ngx_http_slidewin_redis_sentinel_peer_t  *peer;

    peer = ev->data;

    if (peer->await != NGX_HTTP_SLIDEWIN_REDIS_AWAIT_NONE) {
        ngx_http_slidewin_redis_conn_drop(&peer->conn,
                                          "no answer within the timeout");
        return;
    }

    ngx_http_slidewin_redis_sentinel_peer_ask(peer);
}


void
ngx_http_slidewin_redis_sentinel_peer_ask(
    ngx_http_slidewin_redis_sentinel_peer_t *peer)
{
    ngx_str_t                        text;
    ngx_http_slidewin_redis_conn_t  *c;

    c = &peer->conn;

    if (peer->await != NGX_HTTP_SLIDEWIN_REDIS_AWAIT_NONE
        || c->state != NGX_HTTP_SLIDEWIN_REDIS_READY)
    {
        return;
    }

    text = c->pending ? peer->query->again : peer->query->first;

    if (ngx_http_slidewin_redis_conn_subscribe(
            c, ngx_http_slidewin_redis_sentinel_peer_replied, peer, &text)
        != NGX_OK)
    {
        ngx_http_slidewin_redis_conn_drop(c, "no memory");
        return;
    }

    peer->await = NGX_HTTP_SLIDEWIN_REDIS_AWAIT_PONG;

    /* ngx_add_timer() keeps a set timer that would end within 300 ms of it */

    if (peer->timer.timer_set) {
        ngx_del_timer(&peer->timer);
    }

    ngx_add_timer(&peer->timer, c->access->connect_timeout);
}


/*
 * Every reply of the sentinel: answers, messages, and what SUBSCRIBE and
 * UNSUBSCRIBE return.  A message may come before PONG, and nothing between
 * PONG and the epoch.
 */

static void
ngx_http_slidewin_redis_sentinel_peer_replied(redisAsyncContext *context,
    void *reply, void *data)
{
    redisReply                               *r;
    ngx_http_slidewin_redis_sentinel_peer_t  *peer;

    peer = data;
    r = reply;

    if (r == NULL || context != peer->conn.event.context
        || peer->conn.state != NGX_HTTP_SLIDEWIN_REDIS_READY)
    {
        return;
    }

    peer->conn.replied_at = peer->conn.read_at;

    switch (peer->await) {

    case NGX_HTTP_SLIDEWIN_REDIS_AWAIT_ADDRESS:
        ngx_http_slidewin_redis_sentinel_peer_address(peer, r);
        return;

    case NGX_HTTP_SLIDEWIN_REDIS_AWAIT_EPOCH:
        ngx_http_slidewin_redis_sentinel_peer_epoch(peer, r);
        return;

    case NGX_HTTP_SLIDEWIN_REDIS_AWAIT_PONG:

        if (r->type == REDIS_REPLY_STATUS
            && ngx_strcmp(r->str, "PONG") == 0)
        {
            peer->await = NGX_HTTP_SLIDEWIN_REDIS_AWAIT_ADDRESS;
            return;
        }

        /* fall through */

    default: /* NGX_HTTP_SLIDEWIN_REDIS_AWAIT_NONE */
        ngx_http_slidewin_redis_sentinel_peer_message(peer, r);
        return;
    }
}


static void
ngx_http_slidewin_redis_sentinel_peer_address(
    ngx_http_slidewin_redis_sentinel_peer_t *peer, redisReply *reply)
{
    if (ngx_http_slidewin_redis_sentinel_parse_master(reply, &peer->master)
        != NGX_OK)
    {
        ngx_http_slidewin_redis_conn_drop_reply(&peer->conn, reply);
        return;
    }

    peer->await = NGX_HTTP_SLIDEWIN_REDIS_AWAIT_EPOCH;
    peer->epoch = 0;
}


static void
ngx_http_slidewin_redis_sentinel_peer_epoch(
    ngx_http_slidewin_redis_sentinel_peer_t *peer, redisReply *reply)
{
    peer->epoch = ngx_http_slidewin_redis_sentinel_parse_epoch(reply);

    ngx_log_debug4(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "slidewin redis sentinel: %V says %s:%ui epoch:%L",
                   &peer->dns.endpoint.name, peer->master.host,
                   peer->master.port, peer->epoch);

    peer->await = NGX_HTTP_SLIDEWIN_REDIS_AWAIT_NONE;
    peer->known = 1;
    peer->fresh = 1;
    peer->silent = 0;

    ngx_add_timer(&peer->timer, NGX_HTTP_SLIDEWIN_REDIS_SENTINEL_PAUSE);

    ngx_http_slidewin_redis_conn_healthy(&peer->conn);

    peer->changed(peer);
}


/* a sentinel is asked what its message means */

static void
ngx_http_slidewin_redis_sentinel_peer_message(
    ngx_http_slidewin_redis_sentinel_peer_t *peer, redisReply *reply)
{
    size_t                            len;
    ngx_http_slidewin_redis_master_t  replica;

    if (reply->type == REDIS_REPLY_ERROR && !peer->no_messages) {
        peer->no_messages = 1;
        len = ngx_http_slidewin_redis_error_printable(reply->str, reply->len);

        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                      "slidewin redis %V of \"%V\" tells no news of a "
                      "failover, which is noticed later: \"%*s\"",
                      &peer->dns.endpoint.name, &peer->query->master,
                      ngx_min(len, 128), reply->str);
    }

    if (!ngx_http_slidewin_redis_sentinel_is_message(peer->query, reply)) {
        return;
    }

    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, ngx_cycle->log, 0,
                   "slidewin redis sentinel: %V message %s: %s",
                   &peer->dns.endpoint.name, reply->element[1]->str,
                   reply->element[2]->str);

    if (ngx_http_slidewin_redis_sentinel_parse_promotion(peer->query, reply,
                                                         &replica)
        == NGX_OK)
    {
        peer->promotion(peer, &replica);
    }

    ngx_http_slidewin_redis_sentinel_peer_ask(peer);
}
