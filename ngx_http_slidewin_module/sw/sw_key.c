
#include "sw_key.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>


static int sw_key_plain(const unsigned char *data, size_t len);
static size_t sw_client_text(char *text, int family, unsigned char *addr,
    unsigned bits, unsigned prefix);


size_t
sw_key_redis(char *text, const char *prefix, size_t prefix_len,
    const void *client, size_t client_len, const char *zone, size_t zone_len,
    sw_digest_pt digest)
{
    char           *p;
    size_t          i;
    unsigned char   bytes[SW_KEY_DIGEST];

    static const char  hex[] = "0123456789abcdef";

    p = text;

    memcpy(p, prefix, prefix_len);
    p += prefix_len;

    *p++ = '{';

    if (sw_key_plain(client, client_len)) {
        memcpy(p, client, client_len);
        p += client_len;

    } else {
        digest(bytes, client, client_len);

        *p++ = '#';

        for (i = 0; i < SW_KEY_DIGEST; i++) {
            *p++ = hex[bytes[i] >> 4];
            *p++ = hex[bytes[i] & 0xf];
        }
    }

    *p++ = '}';
    *p++ = ':';

    memcpy(p, zone, zone_len);
    p += zone_len;

    return (size_t) (p - text);
}


static int
sw_key_plain(const unsigned char *data, size_t len)
{
    size_t  i;

    if (len == 0 || len > SW_REDIS_CLIENT_MAX || data[0] == '#') {
        return 0;
    }

    for (i = 0; i < len; i++) {
        if (data[i] <= ' ' || data[i] > '~' || data[i] == '{'
            || data[i] == '}')
        {
            return 0;
        }
    }

    return 1;
}


size_t
sw_client_v4(char *text, const unsigned char addr[4], unsigned prefix)
{
    unsigned char  copy[4];

    memcpy(copy, addr, 4);

    return sw_client_text(text, AF_INET, copy, 32, prefix);
}


size_t
sw_client_v6(char *text, const unsigned char addr[16], unsigned prefix_v4,
    unsigned prefix_v6)
{
    unsigned char  copy[16];

    static const unsigned char  mapped[12] =
                                   { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255 };

    if (memcmp(addr, mapped, sizeof(mapped)) == 0) {
        return sw_client_v4(text, addr + sizeof(mapped), prefix_v4);
    }

    memcpy(copy, addr, 16);

    return sw_client_text(text, AF_INET6, copy, 128, prefix_v6);
}


static size_t
sw_client_text(char *text, int family, unsigned char *addr, unsigned bits,
    unsigned prefix)
{
    char      buf[SW_CLIENT_LEN + 1];
    size_t    len;
    unsigned  i;

    for (i = 0; i < bits / 8; i++) {
        if (prefix < (i + 1) * 8) {
            addr[i] &= (prefix > i * 8) ? 0xff << ((i + 1) * 8 - prefix) : 0;
        }
    }

    /* cannot fail: the family is right and the longest address fits */

    (void) inet_ntop(family, addr, buf, sizeof(buf));

    len = strlen(buf);

    if (prefix < bits) {
        len += (size_t) snprintf(buf + len, sizeof(buf) - len, "/%u", prefix);
    }

    memcpy(text, buf, len);

    return len;
}
