
/*
 * The bans of a zone that this machine knows of, in shared memory under a lock
 * of its own.  They are for operators: nothing is decided by them.
 */


#ifndef _NGX_HTTP_SLIDEWIN_BANS_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_BANS_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "sw_bans.h"


typedef struct {
    ngx_slab_pool_t              *shpool;
    ngx_uint_t                    names;     /* keys are kept, to be shown */
} ngx_http_slidewin_bans_t;


typedef struct {
    sw_bans_entry_t              *entries;   /* the most time left first */
    ngx_uint_t                    n;
    ngx_uint_t                    active;    /* those that are not shown too */
    ngx_uint_t                    overflow;
} ngx_http_slidewin_bans_list_t;


/*
 * size: of the zone, if its bans are lost when it gets another; or 0.  origin:
 * of the store that has them.
 */
ngx_http_slidewin_bans_t *ngx_http_slidewin_bans_add_zone(ngx_conf_t *cf,
    ngx_str_t *name, ngx_uint_t names, size_t size, uint16_t origin);

/*
 * A ban that has begun here, or that a store has told of; in ms.  The same key
 * again updates.  length 0: it is not known.
 */
void ngx_http_slidewin_bans_insert(ngx_http_slidewin_bans_t *bans,
    ngx_str_t *key, int64_t left, int64_t length);

/* the ban is lifted; no lock if there is none */
void ngx_http_slidewin_bans_remove(ngx_http_slidewin_bans_t *bans,
    ngx_str_t *key);

/*
 * A store that was asked then, in us, has said that the client is not banned.
 * A ban that was heard of later stays.  Most clients had none, which costs no
 * lock.
 */
void ngx_http_slidewin_bans_not_banned(ngx_http_slidewin_bans_t *bans,
    ngx_str_t *key, int64_t asked_at);

/* without a lock; most clients without a ban may not have one */
ngx_uint_t ngx_http_slidewin_bans_may_have(ngx_http_slidewin_bans_t *bans,
    ngx_str_t *key);

/* bans that are listed, and about how many more there are */
void ngx_http_slidewin_bans_count(ngx_http_slidewin_bans_t *bans,
    ngx_uint_t *active, ngx_uint_t *overflow);

/* a copy in the pool, of at most max bans */
ngx_int_t ngx_http_slidewin_bans_list(ngx_http_slidewin_bans_t *bans,
    ngx_pool_t *pool, ngx_uint_t max, ngx_http_slidewin_bans_list_t *list);


#endif /* _NGX_HTTP_SLIDEWIN_BANS_H_INCLUDED_ */
