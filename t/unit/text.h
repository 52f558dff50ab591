
/*
 * What must be so of any bytes that become text, read back by other code than
 * that which wrote it.
 */


#ifndef _TEXT_H_INCLUDED_
#define _TEXT_H_INCLUDED_


#include <stdlib.h>
#include <string.h>

#include "sw_text.h"


/* valid UTF-8 without control characters: its end, or NULL */

static inline const unsigned char *
text_character(const unsigned char *p, const unsigned char *end)
{
    unsigned  i, n, code;

    n = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 2
        : p[0] < 0xf0 ? 3 : p[0] < 0xf8 ? 4 : 0;

    if (n == 0 || (size_t) (end - p) < n) {
        return NULL;
    }

    code = (n == 1) ? p[0] : p[0] & (0x7fu >> n);

    for (i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return NULL;
        }

        code = code << 6 | (p[i] & 0x3fu);
    }

    if ((n == 2 && code < 0x80) || (n == 3 && code < 0x800)
        || (n == 4 && code < 0x10000) || code > 0x10ffff
        || (code >= 0xd800 && code <= 0xdfff) || code < 0x20)
    {
        return NULL;
    }

    return p + n;
}


static inline int
text_is_json(const char *text, size_t len)
{
    size_t                i;
    const unsigned char  *p, *end;

    p = (const unsigned char *) text;
    end = p + len;

    while (p < end) {

        if (strchr("\"<>&'", *p) && *p) {
            return 0;
        }

        if (*p != '\\') {
            p = text_character(p, end);

            if (p == NULL) {
                return 0;
            }

            continue;
        }

        if (end - p >= 2 && p[1] == '\\') {
            p += 2;
            continue;
        }

        if (end - p < 6 || p[1] != 'u') {
            return 0;
        }

        for (i = 2; i < 6; i++) {
            if (p[i] == '\0' || strchr("0123456789abcdef", p[i]) == NULL) {
                return 0;
            }
        }

        p += 6;
    }

    return 1;
}


static inline int
text_is_label(const char *text, size_t len)
{
    const unsigned char  *p, *end;

    p = (const unsigned char *) text;
    end = p + len;

    while (p < end) {

        if (*p == '"') {
            return 0;
        }

        if (*p == '\\') {
            if (end - p < 2 || p[1] == '\0'
                || strchr("\\\"n", p[1]) == NULL)
            {
                return 0;
            }

            p += 2;
            continue;
        }

        p = text_character(p, end);

        if (p == NULL) {
            return 0;
        }
    }

    return 1;
}


/* the memory is as long as it must be, so that a sanitizer sees one more */

static inline int
text_ok(const unsigned char *bytes, size_t len)
{
    int             good;
    char           *out;
    size_t          n, m;
    unsigned char  *in;

    in = malloc(len ? len : 1);
    out = malloc(len ? len * SW_TEXT_MAX : 1);

    if (in == NULL || out == NULL) {
        abort();
    }

    memcpy(in, bytes, len);

    n = sw_text_json(out, in, len);
    good = n <= len * SW_TEXT_MAX && text_is_json(out, n);

    n = sw_text_label(out, in, len);
    good &= n <= len * SW_TEXT_MAX && text_is_label(out, n);

    n = sw_text_uri(out, in, len);
    good &= n <= len * 3;

    for (m = 0; m < n; m++) {
        good &= out[m] != '\0'
                && strchr("%-._~0123456789abcdefghijklmnopqrstuvwxyz"
                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ", out[m]) != NULL;
    }

    good &= sw_text_from_uri(out, out, n, &m) == 0 && m == len
            && memcmp(out, in, len) == 0;

    free(in);
    free(out);

    return good;
}


#endif /* _TEXT_H_INCLUDED_ */
