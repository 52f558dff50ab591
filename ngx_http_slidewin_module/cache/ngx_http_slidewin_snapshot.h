
/*
 * An answer that is told again later: what was left then, and times that have
 * come nearer since.
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
ngx_http_slidewin_snapshot_save(ngx_http_slidewin_snapshot_t *echo,
    const sw_verdict_t *verdict, int64_t now)
{
    echo->at = now;
    echo->remaining = verdict->remaining;
    echo->more = verdict->more;
    echo->reset = verdict->reset;
    echo->level = verdict->level;
}


static ngx_inline void
ngx_http_slidewin_snapshot_load(const ngx_http_slidewin_snapshot_t *echo,
    const sw_rule_t *rule, int64_t now, sw_verdict_t *verdict)
{
    int64_t  gone;

    gone = now - echo->at;

    ngx_memzero(verdict, sizeof(sw_verdict_t));

    verdict->remaining = echo->remaining;
    verdict->more = ngx_max(echo->more - gone, 0);
    verdict->reset = ngx_max(echo->reset - gone, 0);
    verdict->level = echo->level;
    verdict->scale = (rule->algorithm == SW_COUNTER) ? rule->window : 1;
}


#endif /* _NGX_HTTP_SLIDEWIN_SNAPSHOT_H_INCLUDED_ */
