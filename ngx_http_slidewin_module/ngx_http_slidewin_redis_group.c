
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_redis_group.h"
#include "sw_proto.h"


#define NGX_HTTP_SLIDEWIN_REDIS_GROUP_NAME_MAX  2048


/*
 * With a dry run the claims of a call are not all or nothing, and the order
 * of calls would matter.
 */

void
ngx_http_slidewin_redis_group_name(ngx_http_slidewin_call_t *call,
    ngx_str_t *name)
{
    char                       *p, *last;
    size_t                      len;
    ngx_uint_t                  i, zone;
    ngx_http_slidewin_claim_t  *claim;

    static char  buffer[NGX_HTTP_SLIDEWIN_REDIS_GROUP_NAME_MAX];

    name->len = 0;
    name->data = (u_char *) buffer;

    p = buffer;
    last = buffer + NGX_HTTP_SLIDEWIN_REDIS_GROUP_NAME_MAX;

    for (i = 0; i < call->n; i++) {
        claim = call->claims[i];
        zone = (ngx_uint_t) claim->zone;

        len = sizeof(ngx_uint_t) + SW_PROTO_POLICY + SW_PROTO_NUMBER
              + claim->key.len;

        if (claim->dry_run || (size_t) (last - p) < len) {
            return;
        }

        p = (char *) ngx_cpymem(p, &zone, sizeof(ngx_uint_t));
        p = sw_proto_put_policy(p, &claim->policy, claim->cost);
        p = sw_proto_put(p, (int64_t) claim->key.len);
        p = (char *) ngx_cpymem(p, claim->key.data, claim->key.len);
    }

    name->len = p - buffer;
}
