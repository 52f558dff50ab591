
/*
 * A verdict of the store that is used again later: what was left at its time,
 * and waiting times that have become shorter since.
 */


#ifndef _NGX_HTTP_SLIDEWIN_SNAPSHOT_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_SNAPSHOT_H_INCLUDED_


#include "ngx_http_slidewin_backend.h"


typedef struct {
    int64_t        at;             /* ms */
    int64_t        remaining;
    int64_t        more;
    int64_t        reset;
    int64_t        level;
} ngx_http_slidewin_snapshot_t;


static ngx_inline void
ngx_http_slidewin_snapshot_save(ngx_http_slidewin_snapshot_t *snapshot,
    const sw_verdict_t *verdict, int64_t now)
{
    snapshot->at = now;
    snapshot->remaining = verdict->remaining;
    snapshot->more = verdict->more;
    snapshot->reset = verdict->reset;
    snapshot->level = verdict->level;
}


static ngx_inline void
ngx_http_slidewin_snapshot_load(const ngx_http_slidewin_snapshot_t *snapshot,
    const sw_rule_t *rule, int64_t now, sw_verdict_t *verdict)
{
    int64_t  age;

    age = now - snapshot->at;

    ngx_memzero(verdict, sizeof(sw_verdict_t));

    verdict->remaining = snapshot->remaining;
    verdict->more = ngx_max(snapshot->more - age, 0);
    verdict->reset = ngx_max(snapshot->reset - age, 0);
    verdict->level = snapshot->level;
    verdict->scale = sw_rule_scale(rule);
}


#endif /* _NGX_HTTP_SLIDEWIN_SNAPSHOT_H_INCLUDED_ */
