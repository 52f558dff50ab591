
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_digest.h"
#include "ngx_http_slidewin_module.h"
#include "ngx_http_slidewin_top.h"


static ngx_int_t ngx_http_slidewin_top_init(ngx_shm_zone_t *shm_zone,
    void *data);


/* with another number of counters it is another zone of shared memory */

ngx_http_slidewin_top_t *
ngx_http_slidewin_top_add_zone(ngx_conf_t *cf, ngx_str_t *name,
    ngx_uint_t counters)
{
    u_char                   *p;
    size_t                    size;
    ngx_str_t                 shm_name;
    ngx_shm_zone_t           *shm_zone;
    ngx_http_slidewin_top_t  *top;

    top = ngx_pcalloc(cf->pool, sizeof(ngx_http_slidewin_top_t));
    if (top == NULL) {
        return NULL;
    }

    top->counters = (uint32_t) counters;

    p = ngx_pnalloc(cf->pool, sizeof("slidewin:top::") - 1 + name->len
                              + NGX_INT_T_LEN);
    if (p == NULL) {
        return NULL;
    }

    shm_name.data = p;
    shm_name.len = ngx_sprintf(p, "slidewin:top:%V:%ui", name, counters) - p;

    /* the slab keeps some pages for itself */

    size = ngx_align(sw_top_size(top->counters), ngx_pagesize);
    size += 4 * ngx_pagesize + size / 64;

    shm_zone = ngx_shared_memory_add(cf, &shm_name, size,
                                     &ngx_http_slidewin_module);
    if (shm_zone == NULL) {
        return NULL;
    }

    shm_zone->init = ngx_http_slidewin_top_init;
    shm_zone->data = top;

    return top;
}


static ngx_int_t
ngx_http_slidewin_top_init(ngx_shm_zone_t *shm_zone, void *data)
{
    ngx_slab_pool_t          *pool;
    ngx_http_slidewin_top_t  *top;

    top = shm_zone->data;
    pool = (ngx_slab_pool_t *) shm_zone->shm.addr;
    top->shpool = pool;

    if (data || shm_zone->shm.exists) {
        return NGX_OK;
    }

    pool->data = ngx_slab_alloc_locked(pool, sw_top_size(top->counters));
    if (pool->data == NULL) {
        return NGX_ERROR;
    }

    sw_top_init(pool->data, top->counters, (int64_t) ngx_current_msec);

    return NGX_OK;
}


void
ngx_http_slidewin_top_add(ngx_http_slidewin_top_t *top, ngx_str_t *key)
{
    int64_t       now;
    u_char        digest[SW_KEY_DIGEST];
    sw_top_key_t  top_key;

    top_key.data = key->data;
    top_key.len = key->len;
    top_key.hash = ngx_murmur_hash2(key->data, key->len);
    top_key.digest = digest;

    if (key->len > SW_TOP_KEY) {
        ngx_http_slidewin_digest(digest, key->data, key->len);
    }

    now = (int64_t) ngx_current_msec;

    ngx_shmtx_lock(&top->shpool->mutex);

    sw_top_add(top->shpool->data, &top_key, 1, now);

    ngx_shmtx_unlock(&top->shpool->mutex);
}


ngx_int_t
ngx_http_slidewin_top_list(ngx_http_slidewin_top_t *top, ngx_pool_t *pool,
    ngx_http_slidewin_top_list_t *list)
{
    int64_t  now;

    list->entries = ngx_palloc(pool, (size_t) top->counters
                                     * sizeof(sw_top_entry_t));
    if (list->entries == NULL) {
        return NGX_ERROR;
    }

    now = (int64_t) ngx_current_msec;

    ngx_shmtx_lock(&top->shpool->mutex);

    list->n = sw_top_list(top->shpool->data, now, list->entries,
                          top->counters);
    list->since = sw_top_since(top->shpool->data, now);

    ngx_shmtx_unlock(&top->shpool->mutex);

    sw_top_sort(list->entries, (uint32_t) list->n);

    return NGX_OK;
}


int64_t
ngx_http_slidewin_top_overflow(ngx_http_slidewin_top_t *top)
{
    int64_t  overflow;

    ngx_shmtx_lock(&top->shpool->mutex);

    overflow = sw_top_overflow(top->shpool->data, (int64_t) ngx_current_msec);

    ngx_shmtx_unlock(&top->shpool->mutex);

    return overflow;
}
