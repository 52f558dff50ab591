
/*
 * The text of a client, and keys of bounded length.
 */


#ifndef _SW_KEY_H_INCLUDED_
#define _SW_KEY_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>


#define SW_KEY_MAX      40        /* a longer key is kept as its digest */
#define SW_KEY_DIGEST   20

#define SW_CLIENT_LEN   (sizeof("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128") \
                         - 1)


typedef void (*sw_digest_pt)(unsigned char digest[SW_KEY_DIGEST],
    const void *data, size_t len);


/*
 * A key as it is stored: a short one as it is, a long one by its digest, so
 * that no key takes more than SW_KEY_MAX bytes.  The kind is the length of a
 * short key, or SW_KEY_DIGESTED, which keeps a short key that happens to
 * spell a digest apart from it.
 */

#define SW_KEY_DIGESTED 255

typedef struct {
    uint8_t               kind;
    const unsigned char  *data;
    unsigned char         digest[SW_KEY_DIGEST];
} sw_key_t;


/* the bytes of a short key stay where they are */

static inline void
sw_key_make(sw_key_t *key, const void *data, size_t len, sw_digest_pt digest)
{
    if (len <= SW_KEY_MAX) {
        key->kind = (uint8_t) len;
        key->data = data;
        return;
    }

    key->kind = SW_KEY_DIGESTED;
    key->data = key->digest;
    digest(key->digest, data, len);
}


/* bytes of data in use by a kind */

static inline size_t
sw_key_len(uint8_t kind)
{
    return kind == SW_KEY_DIGESTED ? SW_KEY_DIGEST : kind;
}


/*
 * The key of a client and a policy in Redis: <prefix>{<client>}:<zone>.  The
 * braces bring all policies of a client to one slot of a cluster.  A client
 * that is long, not plain text, has a brace, or begins with "#" is named by
 * "#" and its digest instead.  The buffer has room for SW_REDIS_KEY_LEN and
 * the lengths of prefix and zone; returns the length.
 */

#define SW_REDIS_CLIENT_MAX  64
#define SW_REDIS_KEY_LEN     (SW_REDIS_CLIENT_MAX + sizeof("{}:") - 1)

size_t sw_key_redis(char *text, const char *prefix, size_t prefix_len,
    const void *client, size_t client_len, const char *zone, size_t zone_len,
    sw_digest_pt digest);


/*
 * The network a client belongs to, as text: "192.0.2.1", "192.0.2.0/24",
 * "2001:db8::/64".  An IPv4 address mapped into IPv6 is the IPv4 client.
 * The buffer has room for SW_CLIENT_LEN bytes; returns the length.
 */

size_t sw_client_v4(char *text, const unsigned char addr[4],
    unsigned prefix);
size_t sw_client_v6(char *text, const unsigned char addr[16],
    unsigned prefix_v4, unsigned prefix_v6);


#endif /* _SW_KEY_H_INCLUDED_ */
