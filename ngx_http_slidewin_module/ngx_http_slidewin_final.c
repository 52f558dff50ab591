
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_amend.h"
#include "ngx_http_slidewin_ctx.h"
#include "ngx_http_slidewin_delay.h"
#include "ngx_http_slidewin_edge.h"
#include "ngx_http_slidewin_final.h"
#include "ngx_http_slidewin_module.h"


static ngx_uint_t ngx_http_slidewin_final_status(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx);
static void ngx_http_slidewin_final_reset(ngx_http_request_t *r,
    ngx_http_slidewin_entry_t *entry);


/*
 * A request that this module refused was not counted, and its status is the
 * module's own: it tells nothing of the client.
 */

ngx_int_t
ngx_http_slidewin_final_handler(ngx_http_request_t *r)
{
    ngx_uint_t                  status;
    ngx_http_slidewin_ctx_t    *ctx;
    ngx_http_slidewin_entry_t  *entry;
    ngx_http_slidewin_limit_t  *limit;

    if (r != r->main) {
        return NGX_OK;
    }

    ctx = ngx_http_slidewin_ctx_find(r);

    if (ctx == NULL || ctx->refused) {
        return NGX_OK;
    }

    status = ngx_http_slidewin_final_status(r, ctx);

    for (entry = ctx->entries; entry; entry = entry->next) {

        if (!entry->settled) {
            continue;
        }

        limit = entry->limit;

        if (limit->reset && sw_statuses_have(limit->reset, status)) {
            ngx_http_slidewin_final_reset(r, entry);

        } else if (limit->count && entry->claim.counted
                   && !sw_statuses_have(limit->count, status))
        {
            ngx_http_slidewin_edge_give_back(entry);

        } else {
            continue;
        }

        ngx_http_slidewin_delay_wake(entry);
    }

    return NGX_OK;
}


/* as $status has it; one that was never answered has left */

static ngx_uint_t
ngx_http_slidewin_final_status(ngx_http_request_t *r,
    ngx_http_slidewin_ctx_t *ctx)
{
    if (r->post_action) {
        return ctx->answered ? ctx->answered : NGX_HTTP_CLIENT_CLOSED_REQUEST;
    }

    return r->err_status ? r->err_status : r->headers_out.status;
}


/* what this machine counted while the store was away is forgotten as well */

static void
ngx_http_slidewin_final_reset(ngx_http_request_t *r,
    ngx_http_slidewin_entry_t *entry)
{
    ngx_http_slidewin_main_conf_t  *smcf;

    smcf = ngx_http_get_module_main_conf(r, ngx_http_slidewin_module);

    ngx_http_slidewin_reset(&smcf->local, &entry->claim);

    if (!entry->policy->store->local) {
        ngx_http_slidewin_edge_forget(entry->policy, &entry->claim);
        ngx_http_slidewin_reset(entry->policy->store, &entry->claim);
    }
}
