
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_module.h"
#include "ngx_http_slidewin_stats.h"


/* in front of the slots, in shared memory */

typedef struct {
    size_t                        size;      /* of the whole block */
    time_t                        since;
    ngx_atomic_t                  used;      /* slots that were ever used */
} ngx_http_slidewin_stats_head_t;


static ngx_int_t ngx_http_slidewin_stats_init(ngx_shm_zone_t *shm_zone,
    void *data);
static size_t ngx_http_slidewin_stats_size(ngx_http_slidewin_stats_t *stats);


/*
 * The name has a colon, which the name of no other zone of shared memory can
 * have: "slidewin:zone:login".
 */

ngx_http_slidewin_stats_t *
ngx_http_slidewin_stats_add(ngx_conf_t *cf, const char *kind,
    ngx_str_t *name, size_t counters_size, size_t facts_size)
{
    u_char                     *p;
    size_t                      len, size;
    ngx_shm_zone_t             *shm_zone;
    ngx_http_slidewin_stats_t  *stats;

    stats = ngx_pcalloc(cf->pool, sizeof(ngx_http_slidewin_stats_t));
    if (stats == NULL) {
        return NULL;
    }

    len = sizeof("slidewin::") - 1 + ngx_strlen(kind) + name->len;

    p = ngx_pnalloc(cf->pool, len);
    if (p == NULL) {
        return NULL;
    }

    stats->name.data = p;
    stats->name.len = ngx_sprintf(p, "slidewin:%s:%V", kind, name) - p;

    stats->stride = ngx_align(counters_size, NGX_HTTP_SLIDEWIN_CACHE_LINE);
    stats->facts_size = facts_size;

    /* the slab keeps some pages for itself */

    size = ngx_align(ngx_http_slidewin_stats_size(stats), ngx_pagesize);
    size += 4 * ngx_pagesize + size / 64;

    shm_zone = ngx_shared_memory_add(cf, &stats->name, size,
                                     &ngx_http_slidewin_module);
    if (shm_zone == NULL) {
        return NULL;
    }

    shm_zone->init = ngx_http_slidewin_stats_init;
    shm_zone->data = stats;

    return stats;
}


static ngx_int_t
ngx_http_slidewin_stats_init(ngx_shm_zone_t *shm_zone, void *data)
{
    size_t                           size;
    ngx_slab_pool_t                 *pool;
    ngx_http_slidewin_stats_t       *stats;
    ngx_http_slidewin_stats_head_t  *head;

    stats = shm_zone->data;
    pool = (ngx_slab_pool_t *) shm_zone->shm.addr;
    size = ngx_http_slidewin_stats_size(stats);

    if (data || shm_zone->shm.exists) {
        head = pool->data;

        if (head->size != size) {
            ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0,
                          "slidewin statistics \"%V\" were laid out by "
                          "another version of the module, restart nginx to "
                          "use this one", &stats->name);
            return NGX_ERROR;
        }

    } else {
        head = ngx_slab_calloc_locked(pool, size);
        if (head == NULL) {
            return NGX_ERROR;
        }

        head->size = size;
        head->since = ngx_time();

        pool->data = head;
    }

    stats->since = head->since;
    stats->used = &head->used;
    stats->slots = (u_char *) head + NGX_HTTP_SLIDEWIN_CACHE_LINE;
    stats->facts = stats->slots
                   + NGX_HTTP_SLIDEWIN_STATS_SLOTS * stats->stride;

    return NGX_OK;
}


static size_t
ngx_http_slidewin_stats_size(ngx_http_slidewin_stats_t *stats)
{
    return NGX_HTTP_SLIDEWIN_CACHE_LINE
           + NGX_HTTP_SLIDEWIN_STATS_SLOTS * stats->stride
           + stats->facts_size;
}


void *
ngx_http_slidewin_stats_slot(ngx_http_slidewin_stats_t *stats)
{
    ngx_atomic_uint_t  slot, used;

    slot = ngx_worker % NGX_HTTP_SLIDEWIN_STATS_SLOTS;

    do {
        used = *stats->used;
    } while (used <= slot && !ngx_atomic_cmp_set(stats->used, used, slot + 1));

    return stats->slots + slot * stats->stride;
}


void
ngx_http_slidewin_stats_sum(ngx_http_slidewin_stats_t *stats, void *counters,
    size_t size)
{
    size_t                 i;
    ngx_uint_t             slot, used;
    ngx_atomic_t          *from;
    ngx_atomic_uint_t     *to;

    to = counters;
    ngx_memzero(to, size);

    used = *stats->used;

    for (slot = 0; slot < used; slot++) {
        from = (ngx_atomic_t *) (stats->slots + slot * stats->stride);

        for (i = 0; i < size / sizeof(ngx_atomic_t); i++) {
            to[i] += from[i];
        }
    }
}
