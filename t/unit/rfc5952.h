
/*
 * Section 4 of RFC 5952, field by field: the text of the first bits of an
 * address, with the prefix if it is not the whole.
 */


#ifndef _RFC5952_H_INCLUDED_
#define _RFC5952_H_INCLUDED_


#include <stdio.h>


static inline void
rfc5952(char *text, const unsigned char *addr, unsigned prefix)
{
    int       i, run, best, best_run;
    unsigned  fields[8], bit;

    for (i = 0; i < 8; i++) {
        fields[i] = 0;

        for (bit = 0; bit < 16; bit++) {

            if ((unsigned) i * 16 + bit < prefix
                && addr[i * 2 + (int) bit / 8] & (0x80 >> bit % 8))
            {
                fields[i] |= 0x8000u >> bit;
            }
        }
    }

    best = -1;
    best_run = 1;

    for (i = 0; i < 8; i += run ? run : 1) {

        for (run = 0; i + run < 8 && fields[i + run] == 0; run++) {
            /* void */
        }

        if (run > best_run) {
            best = i;
            best_run = run;
        }
    }

    for (i = 0; i < 8; i++) {

        if (i == best) {
            text += sprintf(text, "::");
            i += best_run - 1;
            continue;
        }

        text += sprintf(text, "%s%x", i && i != best + best_run ? ":" : "",
                        fields[i]);
    }

    if (prefix < 128) {
        sprintf(text, "/%u", prefix);
    }
}


#endif /* _RFC5952_H_INCLUDED_ */
