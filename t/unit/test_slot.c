
/*
 * Slots of a cluster.  The numbers are what CLUSTER KEYSLOT of Redis 7.0 says.
 */


#include <string.h>

#include "sw_parse.h"
#include "sw_slot.h"
#include "tap.h"


static void keys(void);
static void binary_keys(void);
static void owners(void);
static void redirects(void);
static void bad_redirects(void);
static void cut_redirects(void);
static void hosts(void);

static int leads(const char *text, int ask, int slot, const char *host,
    int64_t port);


int
main(void)
{
    keys();
    binary_keys();
    owners();
    redirects();
    bad_redirects();
    cut_redirects();
    hosts();

    return tap_done();
}


static void
keys(void)
{
    size_t  i;

    static const struct {
        const char  *key;
        int          slot;
    } known[] = {
        { "", 0 },
        { "123456789", 12739 },
        { "foo", 12182 },
        { "bar", 5061 },
        { "{bar}", 5061 },
        { "foo{bar}", 5061 },
        { "foo{bar}{zap}", 5061 },
        { "foo{bar", 15278 },
        { "foo}bar{", 11073 },
        { "foo{{bar}}zap", 4015 },
        { "{", 4092 },
        { "{}", 15257 },
        { "foo{}", 5542 },
        { "{}foo", 9500 },
        { "{a}", 15495 },
        { "}{a}", 15495 },
        { "a{b}c}", 3300 },
        { "{user1000}.following", 3443 },
        { "192.0.2.1", 15765 },
        { "sw:{192.0.2.1}:login", 15765 },
        { "sw:{2001:db8::/64}:search", 26 },
    };

    for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        tap_ok(sw_slot(known[i].key, strlen(known[i].key)) == known[i].slot,
               "\"%s\" is in slot %d", known[i].key, known[i].slot);
    }
}


static void
binary_keys(void)
{
    int   i;
    char  bytes[1000];

    for (i = 0; i < 256; i++) {
        bytes[i] = (char) i;
    }

    tap_ok(sw_slot(bytes, 256) == 16155, "all bytes there are");

    memset(bytes, 0xff, 5);
    tap_ok(sw_slot(bytes, 5) == 864, "bytes above ASCII");

    memset(bytes, 'x', sizeof(bytes));
    tap_ok(sw_slot(bytes, sizeof(bytes)) == 3195, "a long key");

    tap_ok(sw_slot("", 1) == 0 && sw_slot("{\0}", 3) == 0, "a NUL");
}


static void
owners(void)
{
    sw_slots_t  slots;

    sw_slots_clear(&slots);
    tap_ok(sw_slots_left(&slots) == SW_SLOTS, "no node has a slot");

    tap_ok(sw_slots_set(&slots, 0, 5460, 0) == SW_OK, "a range from 0");
    tap_ok(sw_slots_set(&slots, 16383, 16383, 1) == SW_OK, "the last slot");
    tap_ok(slots.owner[0] == 0 && slots.owner[5460] == 0
           && slots.owner[5461] == SW_SLOT_UNOWNED
           && slots.owner[16382] == SW_SLOT_UNOWNED
           && slots.owner[16383] == 1,
           "... and nothing beside them");
    tap_ok(sw_slots_left(&slots) == SW_SLOTS - 5462, "... are counted");

    tap_ok(sw_slots_set(&slots, 5460, 5461, 2) == SW_ERROR
           && slots.owner[5460] == 0
           && slots.owner[5461] == SW_SLOT_UNOWNED,
           "one of them is taken: nothing is changed");
    tap_ok(sw_slots_set(&slots, 5462, 5461, 2) == SW_ERROR,
           "a range that ends before it begins");
    tap_ok(sw_slots_set(&slots, -1, 5, 2) == SW_ERROR, "slot -1");
    tap_ok(sw_slots_set(&slots, 6000, SW_SLOTS, 2) == SW_ERROR,
           "slot 16384");
    tap_ok(sw_slots_set(&slots, INT64_MIN, INT64_MAX, 2) == SW_ERROR
           && sw_slots_set(&slots, INT64_MAX, INT64_MAX, 2) == SW_ERROR,
           "numbers beyond all slots");

    tap_ok(sw_slots_set(&slots, 5461, 16382, 3) == SW_OK
           && sw_slots_left(&slots) == 0, "all slots have a node");
}


static void
redirects(void)
{
    tap_ok(leads("MOVED 3999 127.0.0.1:6381", 0, 3999, "127.0.0.1", 6381),
           "MOVED");
    tap_ok(leads("ASK 3999 127.0.0.1:6381", 1, 3999, "127.0.0.1", 6381),
           "ASK");
    tap_ok(leads("MOVED 0 h:1", 0, 0, "h", 1), "the first slot");
    tap_ok(leads("MOVED 16383 h:65535", 0, 16383, "h", 65535),
           "the last slot");
    tap_ok(leads("MOVED 1 ::1:6381", 0, 1, "::1", 6381), "IPv6");
    tap_ok(leads("ASK 1 2001:db8::a:6381", 1, 1, "2001:db8::a", 6381),
           "IPv6, longer");
    tap_ok(leads("MOVED 1 redis-1.example_a.com:7000", 0, 1,
                 "redis-1.example_a.com", 7000), "a name");
    tap_ok(leads("MOVED 1 :6381", 0, 1, "", 6381), "the same host");
}


static void
bad_redirects(void)
{
    size_t         i;
    sw_redirect_t  redirect;

    static const char *const  bad[] = {
        "", " ", "MOVED", "MOVED ", "MOVED 1", "MOVED 1 ", "MOVED  1 h:1",
        "MOVED 1  h:1", "moved 1 h:1", "MOVE 1 h:1", "MOVEDX 1 h:1",
        "ASKING 1 h:1", " ASK 1 h:1", "TRYAGAIN 1 h:1", "MOVED -1 h:1",
        "MOVED 16384 h:1", "MOVED x h:1", "MOVED 99999999999999999999 h:1",
        "MOVED 1 h", "MOVED 1 h:", "MOVED 1 :", "MOVED 1 h:0",
        "MOVED 1 h:65536", "MOVED 1 h:x", "MOVED 1 h:1 ", "MOVED 1 h:1x",
        "MOVED 1 h h:1", "MOVED 1 h\t:1", "MOVED 1 h/i:1", "MOVED 1 a,b:1",
        "MOVED 1 u@h:1", "MOVED 1 [::1]:1", "MOVED 1 ?:1", "ASK 1 ?:6379",
        "MOVED 1 1:2:3:1", "MOVED 1 h:7000:1", "MOVED 1 ::1", "MOVED 1 h\n:1",
        "MOVED 1 \xff:1", "MOVED 1 h:-1", "ASK1 h:1"
    };

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        tap_ok(sw_redirect_parse(&redirect, bad[i], strlen(bad[i]))
               == SW_ERROR, "leads nowhere: \"%s\"", bad[i]);
    }
}


static void
cut_redirects(void)
{
    char           *copy;
    size_t          len, i;
    sw_redirect_t   redirect;

    static const char  text[] = "MOVED 3999 127.0.0.1:6381";

    /* as long as the text, so that a byte too far is found */

    len = sizeof(text) - 1;

    for (i = 0; i <= len; i++) {
        copy = malloc(i ? i : 1);
        memcpy(copy, text, i);

        tap_ok((sw_redirect_parse(&redirect, copy, i) == SW_OK)
               == (i > len - 4), "cut after %d bytes", (int) i);

        free(copy);
    }
}


static void
hosts(void)
{
    char  host[SW_SLOT_HOST_MAX + 1];

    memset(host, 'x', sizeof(host));

    tap_ok(sw_slot_host("h", 1) && sw_slot_host("127.0.0.1", 9)
           && sw_slot_host("::1", 3) && sw_slot_host("a-b.c_d", 7),
           "hosts");
    tap_ok(sw_slot_host(host, SW_SLOT_HOST_MAX), "the longest name");
    tap_ok(!sw_slot_host(host, SW_SLOT_HOST_MAX + 1), "a name too long");
    tap_ok(!sw_slot_host("", 0) && !sw_slot_host("?", 1)
           && !sw_slot_host("a b", 3) && !sw_slot_host("a\0b", 3)
           && !sw_slot_host(":", 1) && !sw_slot_host("::1%lo", 6)
           && !sw_slot_host("\xe9", 1), "no hosts");
}


static int
leads(const char *text, int ask, int slot, const char *host, int64_t port)
{
    sw_redirect_t  redirect;

    return sw_redirect_parse(&redirect, text, strlen(text)) == SW_OK
           && redirect.ask == ask && redirect.slot == slot
           && redirect.port == port && redirect.host.len == strlen(host)
           && memcmp(redirect.host.data, host, redirect.host.len) == 0;
}
