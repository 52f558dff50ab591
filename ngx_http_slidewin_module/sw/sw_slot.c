
#include "sw_slot.h"
#include "sw_parse.h"

#include <string.h>


static uint16_t sw_crc16(const char *data, size_t len);
static int sw_redirect_word(sw_str_t *rest, sw_str_t *word);


int
sw_slot(const char *key, size_t len)
{
    const char  *open, *close;

    open = len ? memchr(key, '{', len) : NULL;

    if (open) {
        open++;
        close = memchr(open, '}', (size_t) (key + len - open));

        if (close && close > open) {
            key = open;
            len = (size_t) (close - open);
        }
    }

    return sw_crc16(key, len) % SW_SLOTS;
}


/* XMODEM: polynomial 0x1021, four bits at a time */

static uint16_t
sw_crc16(const char *data, size_t len)
{
    size_t    i;
    uint16_t  crc, byte;

    static const uint16_t  table[16] = {
        0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
        0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef
    };

    crc = 0;

    for (i = 0; i < len; i++) {
        byte = (unsigned char) data[i];

        crc = (uint16_t) (crc << 4) ^ table[(crc >> 12) ^ (byte >> 4)];
        crc = (uint16_t) (crc << 4) ^ table[(crc >> 12) ^ (byte & 0xf)];
    }

    return crc;
}


void
sw_slots_clear(sw_slots_t *slots)
{
    int  i;

    for (i = 0; i < SW_SLOTS; i++) {
        slots->owner[i] = SW_SLOT_UNOWNED;
    }
}


int
sw_slots_set(sw_slots_t *slots, int64_t first, int64_t last, uint16_t owner)
{
    int64_t  i;

    if (first < 0 || first > last || last >= SW_SLOTS) {
        return SW_ERROR;
    }

    for (i = first; i <= last; i++) {
        if (slots->owner[i] != SW_SLOT_UNOWNED) {
            return SW_ERROR;
        }
    }

    for (i = first; i <= last; i++) {
        slots->owner[i] = owner;
    }

    return SW_OK;
}


int
sw_slots_left(const sw_slots_t *slots)
{
    int  i, left;

    left = 0;

    for (i = 0; i < SW_SLOTS; i++) {
        left += (slots->owner[i] == SW_SLOT_UNOWNED);
    }

    return left;
}


int
sw_redirect_parse(sw_redirect_t *redirect, const char *text, size_t len)
{
    size_t    i;
    int64_t   slot;
    sw_str_t  rest, word;

    rest.data = text;
    rest.len = len;

    if (!sw_redirect_word(&rest, &word)) {
        return SW_ERROR;
    }

    if (word.len == 5 && memcmp(word.data, "MOVED", 5) == 0) {
        redirect->ask = 0;

    } else if (word.len == 3 && memcmp(word.data, "ASK", 3) == 0) {
        redirect->ask = 1;

    } else {
        return SW_ERROR;
    }

    if (!sw_redirect_word(&rest, &word)
        || sw_parse_count(word.data, word.len, SW_SLOTS - 1, &slot) != SW_OK)
    {
        return SW_ERROR;
    }

    redirect->slot = (int) slot;

    /* an address of IPv6 has no brackets: the last colon is the port's */

    for (i = rest.len; i > 0 && rest.data[i - 1] != ':'; i--) {
        /* void */
    }

    if (i == 0
        || sw_parse_count(rest.data + i, rest.len - i, 65535, &redirect->port)
           != SW_OK
        || redirect->port == 0)
    {
        return SW_ERROR;
    }

    redirect->host.data = rest.data;
    redirect->host.len = i - 1;

    if (i > 1 && !sw_slot_host(rest.data, i - 1)) {
        return SW_ERROR;
    }

    return SW_OK;
}


/* a word that ends at a space; 0 if there is no space */

static int
sw_redirect_word(sw_str_t *rest, sw_str_t *word)
{
    const char  *space;

    space = rest->len ? memchr(rest->data, ' ', rest->len) : NULL;

    if (space == NULL) {
        return 0;
    }

    word->data = rest->data;
    word->len = (size_t) (space - rest->data);

    rest->data += word->len + 1;
    rest->len -= word->len + 1;

    return 1;
}


/* a node gives "?" for another one whose name it does not know */

int
sw_slot_host(const char *host, size_t len)
{
    sw_str_t  text;

    text.data = host;
    text.len = len;

    if (len > SW_SLOT_HOST_MAX || !sw_url_is_host(text)) {
        return 0;
    }

    return memchr(host, ':', len) == NULL || sw_url_is_ipv6(text);
}
