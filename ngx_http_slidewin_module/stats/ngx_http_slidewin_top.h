
/*
 * The most rejected clients of a zone, in shared memory under a lock of its
 * own.
 */


#ifndef _NGX_HTTP_SLIDEWIN_TOP_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_TOP_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "sw_top.h"


typedef struct {
    ngx_slab_pool_t              *shpool;
    uint32_t                      counters;
} ngx_http_slidewin_top_t;


typedef struct {
    sw_top_entry_t               *entries;   /* the most rejected first */
    ngx_uint_t                    n;
    int64_t                       since;     /* ms, as the clock */
} ngx_http_slidewin_top_list_t;


ngx_http_slidewin_top_t *ngx_http_slidewin_top_add_zone(ngx_conf_t *cf,
    ngx_str_t *name, ngx_uint_t counters);

/* a client was rejected */
void ngx_http_slidewin_top_add(ngx_http_slidewin_top_t *top, ngx_str_t *key);

/* a copy in the pool */
ngx_int_t ngx_http_slidewin_top_list(ngx_http_slidewin_top_t *top,
    ngx_pool_t *pool, ngx_http_slidewin_top_list_t *list);

/* the most that a client which is not in the list may have */
int64_t ngx_http_slidewin_top_overflow(ngx_http_slidewin_top_t *top);


#endif /* _NGX_HTTP_SLIDEWIN_TOP_H_INCLUDED_ */
