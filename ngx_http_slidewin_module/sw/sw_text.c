
#include <string.h>

#include "sw_text.h"


static const char  sw_text_hex[] = "0123456789abcdef";
static const char  sw_text_hex_upper[] = "0123456789ABCDEF";


static size_t sw_text_sequence(const unsigned char *p, size_t len);
static unsigned sw_text_code(const unsigned char *p, size_t n);
static int sw_text_is_special(unsigned code);
static char *sw_text_byte(char *out, unsigned char c);
static int sw_text_digit(char c);


size_t
sw_text_json(char *out, const void *data, size_t len)
{
    char                 *p;
    size_t                n;
    unsigned              code;
    const unsigned char  *c, *end;

    p = out;
    end = (const unsigned char *) data + len;

    for (c = data; c < end; c += n) {

        n = sw_text_sequence(c, (size_t) (end - c));

        if (n == 0) {
            n = 1;
            *p++ = '\\';
            p = sw_text_byte(p, *c);
            continue;
        }

        if (n <= 3) {
            code = sw_text_code(c, n);

            if (sw_text_is_special(code)) {
                *p++ = '\\';
                *p++ = 'u';
                *p++ = sw_text_hex[code >> 12];
                *p++ = sw_text_hex[code >> 8 & 0xf];
                *p++ = sw_text_hex[code >> 4 & 0xf];
                *p++ = sw_text_hex[code & 0xf];
                continue;
            }
        }

        memcpy(p, c, n);
        p += n;
    }

    return (size_t) (p - out);
}


size_t
sw_text_label(char *out, const void *data, size_t len)
{
    char                 *p;
    size_t                n;
    const unsigned char  *c, *end;

    p = out;
    end = (const unsigned char *) data + len;

    for (c = data; c < end; c += n) {

        n = sw_text_sequence(c, (size_t) (end - c));

        if (n == 0 || (n == 1 && *c < 0x20 && *c != '\n')) {
            n = 1;
            *p++ = '\\';
            p = sw_text_byte(p, *c);
            continue;
        }

        if (*c == '\n') {
            *p++ = '\\';
            *p++ = 'n';
            continue;
        }

        if (*c == '"' || *c == '\\') {
            *p++ = '\\';
        }

        memcpy(p, c, n);
        p += n;
    }

    return (size_t) (p - out);
}


size_t
sw_text_uri(char *out, const void *data, size_t len)
{
    char                 *p;
    const unsigned char  *c, *end;

    p = out;
    end = (const unsigned char *) data + len;

    for (c = data; c < end; c++) {

        if ((*c >= '0' && *c <= '9') || ((*c | 0x20) >= 'a'
                                         && (*c | 0x20) <= 'z')
            || (*c && strchr("-._~", *c)))
        {
            *p++ = (char) *c;
            continue;
        }

        *p++ = '%';
        *p++ = sw_text_hex_upper[*c >> 4];
        *p++ = sw_text_hex_upper[*c & 0xf];
    }

    return (size_t) (p - out);
}


int
sw_text_from_uri(void *out, const char *text, size_t len, size_t *out_len)
{
    int             high, low;
    size_t          i;
    unsigned char  *p;

    p = out;

    for (i = 0; i < len; i++) {

        if (text[i] != '%') {
            *p++ = (unsigned char) text[i];
            continue;
        }

        if (len - i < 3) {
            return -1;
        }

        high = sw_text_digit(text[i + 1]);
        low = sw_text_digit(text[i + 2]);

        if (high < 0 || low < 0) {
            return -1;
        }

        *p++ = (unsigned char) (high << 4 | low);
        i += 2;
    }

    *out_len = (size_t) (p - (unsigned char *) out);

    return 0;
}


/*
 * The length of the UTF-8 sequence at p; 0 if there is none.  Overlong forms,
 * surrogates and what is beyond U+10FFFF are none.
 */

static size_t
sw_text_sequence(const unsigned char *p, size_t len)
{
    size_t         i, n;
    unsigned char  low, high;

    if (p[0] < 0x80) {
        return 1;
    }

    low = 0x80;
    high = 0xbf;

    if (p[0] >= 0xc2 && p[0] <= 0xdf) {
        n = 2;

    } else if (p[0] >= 0xe0 && p[0] <= 0xef) {
        n = 3;
        low = (p[0] == 0xe0) ? 0xa0 : 0x80;
        high = (p[0] == 0xed) ? 0x9f : 0xbf;

    } else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
        n = 4;
        low = (p[0] == 0xf0) ? 0x90 : 0x80;
        high = (p[0] == 0xf4) ? 0x8f : 0xbf;

    } else {
        return 0;
    }

    if (len < n || p[1] < low || p[1] > high) {
        return 0;
    }

    for (i = 2; i < n; i++) {
        if (p[i] < 0x80 || p[i] > 0xbf) {
            return 0;
        }
    }

    return n;
}


/* of a sequence of up to 3 bytes */

static unsigned
sw_text_code(const unsigned char *p, size_t n)
{
    switch (n) {

    case 1:
        return p[0];

    case 2:
        return (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);

    default: /* 3 */
        return (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    }
}


/*
 * What HTML, a script or a terminal would notice: control characters, the
 * separators of lines, and what turns the direction of the text that follows.
 */

static int
sw_text_is_special(unsigned code)
{
    return code < 0x20
           || (code >= 0x7f && code <= 0x9f)
           || (code < 0x7f && strchr("\"\\<>&'", (int) code))
           || code == 0x61c
           || (code >= 0x200e && code <= 0x200f)
           || (code >= 0x2028 && code <= 0x202e)
           || (code >= 0x2066 && code <= 0x2069)
           || code == 0xfeff;
}


static char *
sw_text_byte(char *out, unsigned char c)
{
    *out++ = '\\';
    *out++ = 'x';
    *out++ = sw_text_hex[c >> 4];
    *out++ = sw_text_hex[c & 0xf];

    return out;
}


static int
sw_text_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }

    c = (char) (c | 0x20);

    return (c >= 'a' && c <= 'f') ? c - 'a' + 10 : -1;
}
