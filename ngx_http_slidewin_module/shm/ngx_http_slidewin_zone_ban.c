
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_zone_ban.h"
#include "ngx_http_slidewin_zone_expiry.h"


/* the second ban is that of dry runs, which bans no client */

typedef struct {
    ngx_http_slidewin_memo_t      memo;
    sw_ban_t                      bans[2];
} ngx_http_slidewin_ban_memo_t;


static ngx_http_slidewin_ban_memo_t *ngx_http_slidewin_zone_ban_find(
    ngx_http_slidewin_zone_op_t *op);


void
ngx_http_slidewin_zone_ban_lookup(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_claim_t *claim, int64_t now)
{
    ngx_http_slidewin_ban_memo_t  *memo;

    claim->banned = 0;
    claim->ban_began = 0;

    memo = ngx_http_slidewin_zone_ban_find(op);

    if (memo) {
        ngx_http_slidewin_zone_touch(op,
                             ngx_http_slidewin_node_of_memo(&memo->memo));

        claim->banned = sw_ban_left(&memo->bans[claim->dry_ban], now);
    }
}


void
ngx_http_slidewin_zone_ban_begin(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_claim_t *claim, int64_t now)
{
    sw_ban_t                      *ban;
    ngx_http_slidewin_ban_memo_t  *memo;

    memo = ngx_http_slidewin_zone_ban_find(op);

    if (memo == NULL) {
        ngx_http_slidewin_zone_op_set_type(op, NGX_HTTP_SLIDEWIN_NODE_BAN);
        memo = ngx_http_slidewin_zone_insert_memo(op,
                                        sizeof(ngx_http_slidewin_ban_memo_t),
                                        now);
        ngx_http_slidewin_zone_op_set_type(op, NGX_HTTP_SLIDEWIN_NODE_COUNTER);

        if (memo == NULL) {
            return;
        }
    }

    ban = &memo->bans[claim->dry_ban];

    claim->banned = sw_ban_begin(ban, claim->ban, now);
    claim->ban_began = 1;

    memo->memo.until = ngx_max(memo->memo.until,
                               sw_ban_kept_until(ban, claim->ban));

    ngx_http_slidewin_zone_expiry_update_memo(op, &memo->memo);
}


void
ngx_http_slidewin_zone_ban_remove(ngx_http_slidewin_zone_op_t *op,
    ngx_http_slidewin_claim_t *claim)
{
    ngx_http_slidewin_ban_memo_t  *memo;

    memo = ngx_http_slidewin_zone_ban_find(op);

    if (memo && claim->dry_ban) {
        ngx_memzero(&memo->bans[1], sizeof(sw_ban_t));

    } else if (memo) {
        ngx_http_slidewin_zone_remove(op,
                             ngx_http_slidewin_node_of_memo(&memo->memo));
    }
}


static ngx_http_slidewin_ban_memo_t *
ngx_http_slidewin_zone_ban_find(ngx_http_slidewin_zone_op_t *op)
{
    ngx_http_slidewin_node_t  *node;

    ngx_http_slidewin_zone_op_set_type(op, NGX_HTTP_SLIDEWIN_NODE_BAN);
    node = ngx_http_slidewin_zone_lookup(op);
    ngx_http_slidewin_zone_op_set_type(op, NGX_HTTP_SLIDEWIN_NODE_COUNTER);

    return node ? (ngx_http_slidewin_ban_memo_t *)
                      ngx_http_slidewin_node_memo(node)
                : NULL;
}
