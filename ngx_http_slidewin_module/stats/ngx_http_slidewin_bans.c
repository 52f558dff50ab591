
#include <ngx_config.h>
#include <ngx_core.h>

#include "ngx_http_slidewin_bans.h"
#include "ngx_http_slidewin_clock.h"
#include "ngx_http_slidewin_digest.h"
#include "ngx_http_slidewin_module.h"


/* 840k: memory that no ban was ever in is not touched */
#define NGX_HTTP_SLIDEWIN_BANS_PLACES  4096


static ngx_int_t ngx_http_slidewin_bans_init(ngx_shm_zone_t *shm_zone,
    void *data);
static void ngx_http_slidewin_bans_key(ngx_http_slidewin_bans_t *bans,
    sw_bans_key_t *bans_key, u_char digest[SW_KEY_DIGEST], ngx_str_t *key,
    uint32_t hash);


/*
 * The name tells all that a reload may change: where keys are not kept any
 * more, where the bans are gone with the memory of the zone, or where another
 * store has others, it is another zone of shared memory.
 */

ngx_http_slidewin_bans_t *
ngx_http_slidewin_bans_add_zone(ngx_conf_t *cf, ngx_str_t *name,
    ngx_uint_t names, size_t size, uint16_t origin)
{
    u_char                    *p;
    ngx_str_t                  shm_name;
    ngx_shm_zone_t            *shm_zone;
    ngx_http_slidewin_bans_t  *bans;

    bans = ngx_pcalloc(cf->pool, sizeof(ngx_http_slidewin_bans_t));
    if (bans == NULL) {
        return NULL;
    }

    bans->names = names;

    p = ngx_pnalloc(cf->pool, sizeof("slidewin:bans::nameless::ffff") - 1
                              + name->len + NGX_SIZE_T_LEN);
    if (p == NULL) {
        return NULL;
    }

    shm_name.data = p;
    shm_name.len = ngx_sprintf(p, "slidewin:bans:%V:%s:%uz:%04xi", name,
                               names ? "names" : "nameless", size,
                               (ngx_int_t) origin)
                   - p;

    /* the slab keeps some pages for itself */

    size = ngx_align(sw_bans_size(NGX_HTTP_SLIDEWIN_BANS_PLACES),
                     ngx_pagesize);
    size += 4 * ngx_pagesize + size / 64;

    shm_zone = ngx_shared_memory_add(cf, &shm_name, size,
                                     &ngx_http_slidewin_module);
    if (shm_zone == NULL) {
        return NULL;
    }

    shm_zone->init = ngx_http_slidewin_bans_init;
    shm_zone->data = bans;

    return bans;
}


static ngx_int_t
ngx_http_slidewin_bans_init(ngx_shm_zone_t *shm_zone, void *data)
{
    ngx_slab_pool_t           *pool;
    ngx_http_slidewin_bans_t  *bans;

    bans = shm_zone->data;
    pool = (ngx_slab_pool_t *) shm_zone->shm.addr;
    bans->shpool = pool;

    if (data || shm_zone->shm.exists) {
        return NGX_OK;
    }

    pool->data = ngx_slab_alloc_locked(pool,
                                  sw_bans_size(NGX_HTTP_SLIDEWIN_BANS_PLACES));
    if (pool->data == NULL) {
        return NGX_ERROR;
    }

    sw_bans_init(pool->data, NGX_HTTP_SLIDEWIN_BANS_PLACES);

    return NGX_OK;
}


void
ngx_http_slidewin_bans_insert(ngx_http_slidewin_bans_t *bans, ngx_str_t *key,
    int64_t left, int64_t length)
{
    int64_t        now;
    u_char         digest[SW_KEY_DIGEST];
    sw_bans_key_t  bans_key;

    ngx_http_slidewin_bans_key(bans, &bans_key, digest, key,
                               ngx_murmur_hash2(key->data, key->len));

    now = ngx_http_slidewin_clock_us();

    ngx_shmtx_lock(&bans->shpool->mutex);

    sw_bans_insert(bans->shpool->data, &bans_key, now / 1000, now, left,
                   length);

    ngx_shmtx_unlock(&bans->shpool->mutex);
}


void
ngx_http_slidewin_bans_remove(ngx_http_slidewin_bans_t *bans, ngx_str_t *key)
{
    int64_t        now;
    u_char         digest[SW_KEY_DIGEST];
    uint32_t       hash;
    sw_bans_key_t  bans_key;

    hash = ngx_murmur_hash2(key->data, key->len);

    if (!sw_bans_may_have(bans->shpool->data, hash)
        && !sw_bans_may_be_left_out(bans->shpool->data, hash))
    {
        return;
    }

    ngx_http_slidewin_bans_key(bans, &bans_key, digest, key, hash);

    now = ngx_http_slidewin_clock_ms();

    ngx_shmtx_lock(&bans->shpool->mutex);

    sw_bans_remove(bans->shpool->data, &bans_key, now);

    ngx_shmtx_unlock(&bans->shpool->mutex);
}


void
ngx_http_slidewin_bans_not_banned(ngx_http_slidewin_bans_t *bans,
    ngx_str_t *key, int64_t asked_at)
{
    int64_t        now;
    u_char         digest[SW_KEY_DIGEST];
    uint32_t       hash;
    sw_bans_key_t  bans_key;

    if (sw_bans_empty(bans->shpool->data)) {
        return;
    }

    hash = ngx_murmur_hash2(key->data, key->len);

    if (!sw_bans_may_have(bans->shpool->data, hash)) {
        return;
    }

    ngx_http_slidewin_bans_key(bans, &bans_key, digest, key, hash);

    now = ngx_http_slidewin_clock_ms();

    ngx_shmtx_lock(&bans->shpool->mutex);

    sw_bans_remove_heard(bans->shpool->data, &bans_key, now, asked_at);

    ngx_shmtx_unlock(&bans->shpool->mutex);
}


ngx_uint_t
ngx_http_slidewin_bans_may_have(ngx_http_slidewin_bans_t *bans, ngx_str_t *key)
{
    return !sw_bans_empty(bans->shpool->data)
           && sw_bans_may_have(bans->shpool->data,
                               ngx_murmur_hash2(key->data, key->len));
}


static void
ngx_http_slidewin_bans_key(ngx_http_slidewin_bans_t *bans,
    sw_bans_key_t *bans_key, u_char digest[SW_KEY_DIGEST], ngx_str_t *key,
    uint32_t hash)
{
    bans_key->data = key->data;
    bans_key->len = bans->names ? key->len : 0;
    bans_key->digest = digest;
    bans_key->hash = hash;

    if (bans_key->len == 0 || key->len > SW_BANS_KEY) {
        ngx_http_slidewin_digest(digest, key->data, key->len);
    }
}


void
ngx_http_slidewin_bans_count(ngx_http_slidewin_bans_t *bans,
    ngx_uint_t *active, ngx_uint_t *overflow)
{
    int64_t  now;

    now = ngx_http_slidewin_clock_ms();

    ngx_shmtx_lock(&bans->shpool->mutex);

    *active = sw_bans_count(bans->shpool->data, now);
    *overflow = sw_bans_overflow(bans->shpool->data, now);

    ngx_shmtx_unlock(&bans->shpool->mutex);
}


ngx_int_t
ngx_http_slidewin_bans_list(ngx_http_slidewin_bans_t *bans, ngx_pool_t *pool,
    ngx_uint_t max, ngx_http_slidewin_bans_list_t *list)
{
    int64_t  now;

    max = ngx_min(max, NGX_HTTP_SLIDEWIN_BANS_PLACES);

    list->entries = ngx_palloc(pool, max * sizeof(sw_bans_entry_t));
    if (list->entries == NULL) {
        return NGX_ERROR;
    }

    now = ngx_http_slidewin_clock_ms();

    ngx_shmtx_lock(&bans->shpool->mutex);

    list->n = sw_bans_list(bans->shpool->data, now, list->entries,
                           (uint32_t) max);
    list->active = sw_bans_count(bans->shpool->data, now);
    list->overflow = sw_bans_overflow(bans->shpool->data, now);

    ngx_shmtx_unlock(&bans->shpool->mutex);

    sw_bans_sort(list->entries, (uint32_t) list->n);

    return NGX_OK;
}
