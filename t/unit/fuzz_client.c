
#include <arpa/inet.h>

#include "fuzz.h"
#include "rfc5952.h"
#include "sw_key.h"


static size_t client(char *text, const unsigned char *addr, unsigned v4,
    unsigned v6);


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int            mapped;
    char           text[64], other[64], wanted[64], *slash;
    size_t         len;
    unsigned       v4, v6, prefix, bits, bit, first;
    unsigned char  addr[16], masked[16], back[16];

    static const unsigned char  mark[12] = {
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff
    };

    if (size < 18) {
        return 0;
    }

    v4 = data[0] % 33;
    v6 = data[1] % 129;
    memcpy(addr, data + 2, 16);

    mapped = (memcmp(addr, mark, 12) == 0);
    prefix = mapped ? v4 : v6;
    bits = mapped ? 32 : 128;
    first = mapped ? 96 : 0;

    len = client(text, addr, v4, v6);

    /* the address of the network, and its prefix if that is not all of it */

    memcpy(masked, addr, 16);

    for (bit = first + prefix; bit < 128; bit++) {
        masked[bit / 8] &= (unsigned char) ~(0x80 >> bit % 8);
    }

    memcpy(other, text, len + 1);
    slash = strchr(other, '/');

    fuzz_check((slash != NULL) == (prefix < bits));

    if (slash) {
        fuzz_check((unsigned) atoi(slash + 1) == prefix);
        *slash = '\0';
    }

    if (mapped) {
        fuzz_check(inet_pton(AF_INET, other, back) == 1);
        fuzz_check(memcmp(back, masked + 12, 4) == 0);

        /* the IPv4 client itself has the same text */

        fuzz_check(sw_client_v4(other, addr + 12, v4) == len);
        fuzz_check(memcmp(other, text, len) == 0);

    } else {
        fuzz_check(inet_pton(AF_INET6, other, back) == 1);
        fuzz_check(memcmp(back, masked, 16) == 0);

        /* what RFC 5952 leaves open is ::/80, with IPv4 inside */

        if (memcmp(masked, mark, 10) != 0) {
            rfc5952(wanted, addr, prefix);
            fuzz_check(strcmp(text, wanted) == 0);
        }
    }

    /* any other address of the network has the same text, unless mapped */

    memcpy(back, masked, 16);

    for (bit = first + prefix; bit < 128; bit++) {
        if (size > 18 && data[18 + bit % (size - 18)] & 1) {
            back[bit / 8] |= (unsigned char) (0x80 >> bit % 8);
        }
    }

    if (memcmp(back, mark, 12) == 0 || !mapped) {

        if ((memcmp(back, mark, 12) == 0) == mapped) {
            fuzz_check(client(other, back, v4, v6) == len);
            fuzz_check(memcmp(other, text, len) == 0);
        }
    }

    /* and the next network has not */

    if (prefix) {
        bit = first + prefix - 1;
        memcpy(back, addr, 16);
        back[bit / 8] ^= (unsigned char) (0x80 >> bit % 8);

        fuzz_check(client(other, back, v4, v6) != len
                   || memcmp(other, text, len) != 0);
    }

    return 0;
}


/* with exactly the room that is promised to be enough */

static size_t
client(char *text, const unsigned char *addr, unsigned v4, unsigned v6)
{
    char    *exact;
    size_t   len;

    exact = malloc(SW_CLIENT_LEN);
    fuzz_check(exact != NULL);

    len = sw_client_v6(exact, addr, v4, v6);

    fuzz_check(len > 0 && len <= SW_CLIENT_LEN);
    memcpy(text, exact, len);
    text[len] = '\0';
    fuzz_check(strlen(text) == len);

    free(exact);

    return len;
}
