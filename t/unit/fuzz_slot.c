
/*
 * A slot by a CRC of one bit at a time and tags found from the other side; a
 * redirect that is accepted is put together again, and is the same text.
 */


#include "fuzz.h"
#include "sw_slot.h"


static int slot_by_hand(const uint8_t *key, size_t len);
static void redirect(const char *text, size_t len);
static void slots(const uint8_t *data, size_t size);


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char    *text;
    size_t   len;

    if (size == 0) {
        return 0;
    }

    fuzz_check(sw_slot((const char *) data + 1, size - 1)
               == slot_by_hand(data + 1, size - 1));

    /* a map is large: a few of the inputs are enough */

    if (data[0] >= 0xf0) {
        slots(data + 1, size - 1);
    }

    /* half of the inputs need not find out the words */

    text = malloc(size + 16);
    len = 0;

    if (data[0] % 2) {
        strcpy(text, data[0] % 4 == 1 ? "MOVED 1" : "ASK 1");
        len = strlen(text);
    }

    memcpy(text + len, data + 1, size - 1);
    len += size - 1;
    text = realloc(text, len ? len : 1);

    redirect(text, len);
    free(text);

    return 0;
}


static int
slot_by_hand(const uint8_t *key, size_t len)
{
    int       bit;
    size_t    i, open, close;
    uint32_t  crc;

    for (open = 0; open < len && key[open] != '{'; open++) {
        /* void */
    }

    for (close = open; close < len && key[close] != '}'; close++) {
        /* void */
    }

    if (close < len && close > open + 1) {
        key += open + 1;
        len = close - open - 1;
    }

    crc = 0;

    for (i = 0; i < len; i++) {
        crc ^= (uint32_t) key[i] << 8;

        for (bit = 0; bit < 8; bit++) {
            crc = (crc & 0x8000) ? (crc << 1) ^ 0x1021 : crc << 1;
        }

        crc &= 0xffff;
    }

    return (int) (crc & 16383);
}


static void
redirect(const char *text, size_t len)
{
    char           *again;
    size_t          n, digits;
    sw_redirect_t   r;

    if (sw_redirect_parse(&r, text, len) != SW_OK) {
        return;
    }

    fuzz_check(r.slot >= 0 && r.slot < SW_SLOTS);
    fuzz_check(r.port >= 1 && r.port <= 65535);
    fuzz_check(r.host.data >= text && r.host.data + r.host.len < text + len);
    fuzz_check(r.host.len == 0 || sw_slot_host(r.host.data, r.host.len));
    fuzz_check(r.host.len <= SW_SLOT_HOST_MAX);

    again = malloc(len + 32);
    n = (size_t) sprintf(again, "%s %d ", r.ask ? "ASK" : "MOVED", r.slot);
    memcpy(again + n, r.host.data, r.host.len);
    n += r.host.len;
    n += (size_t) sprintf(again + n, ":%d", (int) r.port);

    /* but for zeroes in front of the numbers */

    digits = len - n;
    fuzz_check(n <= len);
    fuzz_check(digits == 0 ? memcmp(again, text, len) == 0
                           : memchr(text, '0', len) != NULL);
    free(again);
}


static void
slots(const uint8_t *data, size_t size)
{
    int          left;
    int64_t      first, last;
    uint16_t     owner;
    sw_slots_t  *map;

    map = malloc(sizeof(sw_slots_t));
    sw_slots_clear(map);
    left = SW_SLOTS;

    for (owner = 0; size >= 4 && owner < 16; owner++) {
        first = data[0] * 256 + data[1] - 128;
        last = data[2] * 256 + data[3] - 128;

        if (sw_slots_set(map, first, last, owner) == SW_OK) {
            fuzz_check(first >= 0 && first <= last && last < SW_SLOTS);
            fuzz_check(map->owner[first] == owner
                       && map->owner[last] == owner);
            left -= (int) (last - first + 1);
        }

        data += 4;
        size -= 4;
    }

    fuzz_check(sw_slots_left(map) == left);
    free(map);
}
