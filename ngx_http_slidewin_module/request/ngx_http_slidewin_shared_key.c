
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_module.h"
#include "ngx_http_slidewin_shared_key.h"
#include "sw_key.h"


/*
 * Samples that make a finding, 4,096 requests, if they come in time.  With 256
 * a key that has 80% of the requests seems to have more than 90% once in
 * 30,000 findings; with 16 it would once in 7.
 */
#define NGX_HTTP_SLIDEWIN_SHARED_KEY_SAMPLES  256
#define NGX_HTTP_SLIDEWIN_SHARED_KEY_TIME     3600000   /* ms */

/* of the samples: more than this */
#define NGX_HTTP_SLIDEWIN_SHARED_KEY_PERCENT  90

/* with more samples of other keys there can be no finding */
#define NGX_HTTP_SLIDEWIN_SHARED_KEY_OTHERS                                   \
    (NGX_HTTP_SLIDEWIN_SHARED_KEY_SAMPLES                                     \
     * (100 - NGX_HTTP_SLIDEWIN_SHARED_KEY_PERCENT) / 100)

/* between two lines on a zone */
#define NGX_HTTP_SLIDEWIN_SHARED_KEY_PERIOD   3600      /* s */


#define ngx_http_slidewin_is_field(field, name)                               \
    ((field)->key.len == sizeof(name) - 1                                     \
     && ngx_strncmp((field)->lowcase_key, name, sizeof(name) - 1) == 0)


static ngx_uint_t ngx_http_slidewin_shared_key_is_proxy(ngx_http_request_t *r,
    ngx_str_t *key);
static ngx_uint_t ngx_http_slidewin_shared_key_is_private(
    struct sockaddr *sockaddr);
static ngx_uint_t ngx_http_slidewin_shared_key_is_private_v4(uint32_t addr);
static ngx_uint_t ngx_http_slidewin_shared_key_is_address(
    ngx_http_request_t *r, ngx_str_t *key);
static ngx_uint_t ngx_http_slidewin_shared_key_contains(ngx_str_t *key,
    const void *text, size_t len);
static void ngx_http_slidewin_shared_key_found(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy, ngx_uint_t share);


/* the first sample that is a proxy's is what the others are compared with */

void
ngx_http_slidewin_shared_key_sample(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy, ngx_str_t *key)
{
    uint32_t                         hash;
    ngx_uint_t                       share, others;
    ngx_http_slidewin_sampling_t    *s;
    ngx_http_slidewin_zone_facts_t  *facts;

    s = &policy->sampling;

    if (s->samples == 0
        || ngx_current_msec - s->since > NGX_HTTP_SLIDEWIN_SHARED_KEY_TIME)
    {
        s->samples = 0;
        s->hits = 0;
        s->since = ngx_current_msec;
    }

    others = s->samples++ - s->hits;

    if (others <= NGX_HTTP_SLIDEWIN_SHARED_KEY_OTHERS
        && ngx_http_slidewin_shared_key_is_proxy(r, key))
    {
        hash = ngx_murmur_hash2(key->data, key->len);

        if (s->hits == 0) {
            s->hash = hash;
        }

        s->hits += (s->hash == hash);
    }

    if (s->samples < NGX_HTTP_SLIDEWIN_SHARED_KEY_SAMPLES) {
        return;
    }

    share = s->hits * 100 / s->samples;
    s->samples = 0;

    if (share > NGX_HTTP_SLIDEWIN_SHARED_KEY_PERCENT) {
        ngx_http_slidewin_shared_key_found(r, policy, share);
        return;
    }

    facts = policy->stats->facts;
    facts->suspect.at = 0;
}


static ngx_uint_t
ngx_http_slidewin_shared_key_is_proxy(ngx_http_request_t *r, ngx_str_t *key)
{
    return ngx_http_slidewin_shared_key_is_private(r->connection->sockaddr)
           && ngx_http_slidewin_is_forwarded(r)
           && ngx_http_slidewin_shared_key_is_address(r, key);
}


ngx_uint_t
ngx_http_slidewin_is_forwarded(ngx_http_request_t *r)
{
    ngx_uint_t        i;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h;

    for (part = &r->headers_in.headers.part; part; part = part->next) {
        h = part->elts;

        for (i = 0; i < part->nelts; i++) {
            if (ngx_http_slidewin_is_field(&h[i], "x-forwarded-for")
                || ngx_http_slidewin_is_field(&h[i], "forwarded"))
            {
                return 1;
            }
        }
    }

    return 0;
}


static ngx_uint_t
ngx_http_slidewin_shared_key_is_private(struct sockaddr *sockaddr)
{
    struct sockaddr_in   *sin;
#if (NGX_HAVE_INET6)
    u_char               *p;
    struct sockaddr_in6  *sin6;
#endif

    switch (sockaddr->sa_family) {

#if (NGX_HAVE_INET6)
    case AF_INET6:
        sin6 = (struct sockaddr_in6 *) sockaddr;
        p = sin6->sin6_addr.s6_addr;

        if (IN6_IS_ADDR_V4MAPPED(&sin6->sin6_addr)) {
            return ngx_http_slidewin_shared_key_is_private_v4(
                       (uint32_t) p[12] << 24 | p[13] << 16 | p[14] << 8
                       | p[15]);
        }

        /* ::1, fc00::/7, fe80::/10 */

        return IN6_IS_ADDR_LOOPBACK(&sin6->sin6_addr)
               || (p[0] & 0xfe) == 0xfc
               || IN6_IS_ADDR_LINKLOCAL(&sin6->sin6_addr);
#endif

#if (NGX_HAVE_UNIX_DOMAIN)
    case AF_UNIX:
        return 1;
#endif

    default: /* AF_INET */
        sin = (struct sockaddr_in *) sockaddr;

        return ngx_http_slidewin_shared_key_is_private_v4(
                   ntohl(sin->sin_addr.s_addr));
    }
}


/* 10/8, 127/8, 172.16/12, 192.168/16, 169.254/16, 100.64/10 */

static ngx_uint_t
ngx_http_slidewin_shared_key_is_private_v4(uint32_t addr)
{
    return addr >> 24 == 10
           || addr >> 24 == 127
           || addr >> 20 == 0xac1
           || addr >> 16 == 0xc0a8
           || addr >> 16 == 0xa9fe
           || addr >> 22 == 0x191;
}


/* of the peer: as text, alone or in a longer key, grouped, or as bytes */

static ngx_uint_t
ngx_http_slidewin_shared_key_is_address(ngx_http_request_t *r, ngx_str_t *key)
{
    size_t                         len;
    ngx_str_t                     *text;
    struct sockaddr_in            *sin;
    ngx_http_slidewin_srv_conf_t  *sscf;
    char                           client[SW_CLIENT_LEN];
#if (NGX_HAVE_INET6)
    struct sockaddr_in6           *sin6;
#endif

    text = &r->connection->addr_text;
    sscf = ngx_http_get_module_srv_conf(r, ngx_http_slidewin_module);

    if (ngx_http_slidewin_shared_key_contains(key, text->data, text->len)) {
        return 1;
    }

    switch (r->connection->sockaddr->sa_family) {

#if (NGX_HAVE_INET6)
    case AF_INET6:
        sin6 = (struct sockaddr_in6 *) r->connection->sockaddr;

        if (ngx_http_slidewin_shared_key_contains(key, &sin6->sin6_addr, 16)) {
            return 1;
        }

        len = sw_client_v6(client, sin6->sin6_addr.s6_addr,
                           (unsigned) sscf->prefix_v4,
                           (unsigned) sscf->prefix_v6);
        break;
#endif

    case AF_INET:
        sin = (struct sockaddr_in *) r->connection->sockaddr;

        /* four bytes may occur in any text: only as the beginning */

        if (key->len >= 4 && ngx_memcmp(key->data, &sin->sin_addr, 4) == 0) {
            return 1;
        }

        len = sw_client_v4(client, (u_char *) &sin->sin_addr,
                           (unsigned) sscf->prefix_v4);
        break;

    default: /* AF_UNIX */
        return 0;
    }

    return ngx_http_slidewin_shared_key_contains(key, client, len);
}


static ngx_uint_t
ngx_http_slidewin_shared_key_contains(ngx_str_t *key, const void *text,
    size_t len)
{
    size_t  i;

    for (i = 0; i + len <= key->len; i++) {
        if (ngx_memcmp(key->data + i, text, len) == 0) {
            return 1;
        }
    }

    return 0;
}


/* all workers of the machine share the time of the last line */

static void
ngx_http_slidewin_shared_key_found(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy, ngx_uint_t share)
{
    time_t                        now;
    ngx_str_t                    *peer;
    ngx_atomic_uint_t             logged;
    ngx_http_slidewin_suspect_t  *suspect;

    suspect = &((ngx_http_slidewin_zone_facts_t *)
                policy->stats->facts)->suspect;

    now = ngx_time();
    peer = &r->connection->addr_text;

    suspect->len = ngx_min(peer->len, sizeof(suspect->key));
    ngx_memcpy(suspect->key, peer->data, suspect->len);
    suspect->share = share;

    if (suspect->at == 0) {
        suspect->since = (ngx_atomic_uint_t) now;
    }

    suspect->at = (ngx_atomic_uint_t) now;

    logged = suspect->logged;

    if ((logged && now - (time_t) logged < NGX_HTTP_SLIDEWIN_SHARED_KEY_PERIOD)
        || !ngx_atomic_cmp_set(&suspect->logged, logged,
                               (ngx_atomic_uint_t) now))
    {
        return;
    }

    ngx_log_error(NGX_LOG_WARN, r->connection->log, 0,
                  "slidewin zone \"%V\": %ui%% of the requests have one key, "
                  "the address %V of a proxy, and carry X-Forwarded-For: all "
                  "clients behind it share one limit, see \"Is my key right "
                  "behind a load balancer?\" in docs/operating.md",
                  &policy->name, share, peer);
}
