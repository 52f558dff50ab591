
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_ban.h"
#include "ngx_http_slidewin_claim.h"
#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_ctx.h"
#include "ngx_http_slidewin_decide.h"
#include "ngx_http_slidewin_delay.h"
#include "ngx_http_slidewin_module.h"
#include "ngx_http_slidewin_outcome.h"
#include "ngx_http_slidewin_peek.h"
#include "ngx_http_slidewin_report.h"
#include "ngx_http_slidewin_request.h"


static ngx_int_t ngx_http_slidewin_suspend(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx);
static void ngx_http_slidewin_suspended_write(ngx_http_request_t *r);
static void ngx_http_slidewin_resume(ngx_http_slidewin_call_t *call,
    ngx_int_t rc);
static ngx_int_t ngx_http_slidewin_delay_request(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx, ngx_http_slidewin_loc_conf_t *slcf);
static void ngx_http_slidewin_delay_expired(ngx_event_t *ev);
static void ngx_http_slidewin_run_phases(ngx_http_slidewin_ctx_t *ctx);
static ngx_int_t ngx_http_slidewin_fail_pass(ngx_http_slidewin_ctx_t *ctx);


ngx_int_t
ngx_http_slidewin_handler(ngx_http_request_t *r)
{
    int64_t                        decided_at;
    ngx_int_t                      rc;
    ngx_http_slidewin_ctx_t       *ctx;
    ngx_http_slidewin_loc_conf_t  *slcf;

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_slidewin_module);

    if (slcf->limits == NULL) {
        return NGX_DECLINED;
    }

    ctx = ngx_http_slidewin_ctx_find(r);

    /* a post_action runs after the response: it is not limited */

    if (r->post_action) {
        if (ctx) {
            ngx_http_slidewin_ctx_dequeue(ctx);
        }

        return NGX_DECLINED;
    }

    if (ctx == NULL) {
        ctx = ngx_http_slidewin_ctx_create(r, slcf->limits->nelts);
        if (ctx == NULL) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    /*
     * Another module has run the phases.  run_phases() knows a request that
     * still waits by its write handler.
     */

    if (ctx->pending) {
        r->write_event_handler = ngx_http_slidewin_suspended_write;
        return NGX_AGAIN;
    }

    if (!ctx->deciding) {

        /* the error page of a rejection is not rejected */

        if (ctx->rejected) {
            return NGX_DECLINED;
        }

        ctx->started = ngx_http_slidewin_clock_us();
        ctx->headers = slcf->headers;

        rc = ngx_http_slidewin_claim(r, ctx, slcf);

        if (rc == NGX_ERROR) {
            return ngx_http_slidewin_fail_pass(ctx);
        }

        /* an earlier pass has claimed all limits of this location */

        if (rc == NGX_DECLINED
            && ctx->status != NGX_HTTP_SLIDEWIN_UNDECIDED)
        {
            return NGX_DECLINED;
        }

        ctx->deciding = 1;

        ctx->call.log = r->connection->log;
        ctx->call.on_reject = ngx_http_slidewin_decide_on_reject;
        ctx->call.done = ngx_http_slidewin_resume;
        ctx->call.data = ctx;

        ngx_http_slidewin_decide_begin(ctx);
    }

    if (ngx_http_slidewin_decide(ctx) == NGX_AGAIN) {
        return ngx_http_slidewin_suspend(r, ctx);
    }

    decided_at = ctx->call.decided_at;

    ctx->latency += (decided_at ? decided_at : ngx_http_slidewin_clock_us())
                    - ctx->started;

    while (ctx->rejected) {

        if (ngx_http_slidewin_peek_needed(ctx)
            && ngx_http_slidewin_peek(ctx) == NGX_AGAIN)
        {
            ctx->started = ctx->call.asked_at;
            return ngx_http_slidewin_suspend(r, ctx);
        }

        if (ctx->no_wait) {

            if (ctx->ban_deferred
                && ngx_http_slidewin_ban_begin(ctx) == NGX_AGAIN)
            {
                ctx->started = ctx->call.asked_at;
                return ngx_http_slidewin_suspend(r, ctx);
            }

            break;
        }

        /* without delay= the wait matters only if there are queues */

        if ((ctx->has_delays || ngx_http_slidewin_delayed)
            && ngx_http_slidewin_delay_request(r, ctx, slcf) == NGX_OK)
        {
            return ngx_http_slidewin_suspend(r, ctx);
        }

        /* for Retry-After the limits of earlier passes are peeked at, too */

        ctx->no_wait = 1;
        ngx_http_slidewin_ctx_dequeue(ctx);
    }

    ctx->deciding = 0;

    return ngx_http_slidewin_outcome(r, ctx, slcf);
}


/* from here only a store, a timer or the client's leaving moves the request */

static ngx_int_t
ngx_http_slidewin_suspend(ngx_http_request_t *r, ngx_http_slidewin_ctx_t *ctx)
{
    ngx_event_t  *rev;

    rev = r->connection->read;

    /* input that has arrived makes no event, even if it is the end of it */

    if (rev->ready) {
        ngx_post_event(rev, &ngx_posted_events);

    } else if (ngx_handle_read_event(rev, 0) != NGX_OK) {
        return ngx_http_slidewin_fail_pass(ctx);
    }

    r->read_event_handler = ngx_http_test_reading;
    r->write_event_handler = ngx_http_slidewin_suspended_write;

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "slidewin suspend: until the %s",
                   ctx->pending ? "store replies" : "queue moves");

    return NGX_AGAIN;
}


static void
ngx_http_slidewin_suspended_write(ngx_http_request_t *r)
{
    /* void */
}


static void
ngx_http_slidewin_resume(ngx_http_slidewin_call_t *call, ngx_int_t rc)
{
    ngx_http_slidewin_ctx_t  *ctx;

    ctx = call->data;

    ngx_log_debug1(NGX_LOG_DEBUG_HTTP, call->log, 0,
                   "slidewin resume: rc:%i", rc);

    ctx->pending = NULL;

    if (!ctx->peek_pending && !ctx->ban_pending) {
        ngx_http_slidewin_decide_result(ctx, rc);

    } else if (ctx->peek_pending) {
        ngx_http_slidewin_peek_done(ctx, rc);

    } else {
        ngx_http_slidewin_ban_done(ctx, rc);
    }

    ngx_http_slidewin_run_phases(ctx);
}


/*
 * A request that waits has nothing counted meanwhile; all its claims are asked
 * anew then.
 */

static ngx_int_t
ngx_http_slidewin_delay_request(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx, ngx_http_slidewin_loc_conf_t *slcf)
{
    ngx_http_slidewin_entry_t  *entry;

    if (ngx_http_slidewin_delay_start(ctx, ngx_http_slidewin_delay_expired)
        != NGX_OK)
    {
        return NGX_DECLINED;
    }

    for (entry = *ctx->pass; entry; entry = entry->next) {

        if (entry->superseded) {
            continue;
        }

        if (entry->claim.counted) {
            ngx_http_slidewin_entry_refund(entry);
        }

        if (!entry->delayed || ctx->delay_logged) {
            continue;
        }

        ctx->delay_logged = 1;

        if (ngx_http_slidewin_report_enabled(r, slcf,
                                             NGX_HTTP_SLIDEWIN_DELAYED))
        {
            ngx_http_slidewin_report(r, entry, NGX_HTTP_SLIDEWIN_DELAYED,
                                     ", wait: %Lms",
                                     entry->claim.verdict.retry);
        }
    }

    ngx_http_slidewin_decide_begin(ctx);

    return NGX_OK;
}


static void
ngx_http_slidewin_delay_expired(ngx_event_t *ev)
{
    ngx_http_slidewin_ctx_t  *ctx;

    ctx = ev->data;

    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, ev->log, 0,
                   "slidewin resume: delay timer");

    ctx->started = ngx_http_slidewin_clock_us();

    ngx_http_slidewin_run_phases(ctx);
}


static void
ngx_http_slidewin_run_phases(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_connection_t    *c;
    ngx_http_request_t  *r;

    r = ctx->request;
    c = r->connection;

    ngx_http_set_log_request(c->log, r);

    /* post_action has taken the request elsewhere: it leaves its queue */

    if (r->write_event_handler != ngx_http_slidewin_suspended_write) {
        ngx_http_slidewin_ctx_dequeue(ctx);
        return;
    }

    if (ngx_handle_read_event(c->read, 0) != NGX_OK) {
        ngx_http_finalize_request(r, ngx_http_slidewin_fail_pass(ctx));

    } else {
        r->read_event_handler = ngx_http_block_reading;
        r->write_event_handler = ngx_http_core_run_phases;
        ngx_http_core_run_phases(r);
    }

    ngx_http_run_posted_requests(c);
}


/*
 * A pass that nginx could not run is refunded, and the final status, which is
 * not the client's doing, changes nothing of what earlier passes counted.
 */

static ngx_int_t
ngx_http_slidewin_fail_pass(ngx_http_slidewin_ctx_t *ctx)
{
    ngx_http_slidewin_entry_t  *entry;

    for (entry = *ctx->pass; entry; entry = entry->next) {

        entry->claim.refund_if_left = 1;

        if (entry->claim.counted) {
            ngx_http_slidewin_entry_refund(entry);
        }
    }

    ngx_http_slidewin_ctx_cancel(ctx);

    *ctx->pass = NULL;
    ctx->deciding = 0;
    ctx->rejected = 0;
    ctx->no_wait = 0;

    for (entry = ctx->entries; entry; entry = entry->next) {
        entry->status_ignored = 1;
    }

    return NGX_HTTP_INTERNAL_SERVER_ERROR;
}
