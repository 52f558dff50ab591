
/*
 * What the fuzz targets share: a check that no build leaves out, and the
 * grammars read a second time, from the outside in and without arithmetic
 * that could overflow.
 */


#ifndef _FUZZ_H_INCLUDED_
#define _FUZZ_H_INCLUDED_


#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sw_parse.h"


#define FUZZ_UNTOUCHED  0x5a5a5a5a5a5a5a5aLL


#define fuzz_check(condition)                                                \
    do {                                                                     \
        if (!(condition)) {                                                  \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__,       \
                    #condition);                                             \
            abort();                                                         \
        }                                                                    \
    } while (0)


int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);


/* the number that the digits spell, or -1 if they spell none up to max */

static inline int64_t
fuzz_count(const char *text, size_t len, int64_t max)
{
    char    digits[20];
    size_t  i;

    if (len == 0) {
        return -1;
    }

    for (i = 0; i < len; i++) {
        if (strchr("0123456789", text[i]) == NULL || text[i] == '\0') {
            return -1;
        }
    }

    while (len > 1 && *text == '0') {
        text++;
        len--;
    }

    if (len > 19) {
        return -1;
    }

    memcpy(digits, text, len);
    digits[len] = '\0';

    if (len == 19 && strcmp(digits, "9223372036854775807") > 0) {
        return -1;
    }

    return atoll(digits) <= max ? atoll(digits) : -1;
}


static inline int64_t
fuzz_period(const char *text, size_t len)
{
    size_t   i, unit_len;
    int64_t  count;

    static const struct {
        const char  *name;
        int64_t      ms;
        int64_t      most;
    } units[] = {
        { "ms", 1, 4294967295 },
        { "s", 1000, 4294967 },
        { "m", 60000, 71582 },
        { "h", 3600000, 1193 },
        { "d", 86400000, 49 },
        { "w", 604800000, 7 },
    };

    for (i = 0; i < 6; i++) {
        unit_len = strlen(units[i].name);

        if (len < unit_len
            || memcmp(text + len - unit_len, units[i].name, unit_len) != 0)
        {
            continue;
        }

        if (len == unit_len) {
            return units[i].ms;
        }

        count = fuzz_count(text, len - unit_len, units[i].most);

        if (count > 0) {
            return count * units[i].ms;
        }
    }

    return -1;
}


#endif /* _FUZZ_H_INCLUDED_ */
