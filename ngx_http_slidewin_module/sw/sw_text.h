
/*
 * Any bytes as text for others: JSON, labels of metrics, parts of a URI; and
 * numbers.
 */


#ifndef _SW_TEXT_H_INCLUDED_
#define _SW_TEXT_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>


/* the most bytes of output for one of input, in each of these forms */
#define SW_TEXT_MAX  6


/*
 * The inside of a JSON string.  UTF-8 stays as it is; a byte that is not part
 * of it becomes the text \xff.  What HTML or a terminal would notice is escaped
 * as well.
 * Returns the length.
 */
size_t sw_text_json(char *out, const void *data, size_t len);

/* the inside of a label's value in the text format of Prometheus */
size_t sw_text_label(char *out, const void *data, size_t len);

/* percent-encoded: all but letters, digits and -._~ */
size_t sw_text_uri(char *out, const void *data, size_t len);

/* the reverse, in place or elsewhere; -1 if a "%" is not followed by two
 * hexadecimal digits */
int sw_text_from_uri(void *out, const char *text, size_t len, size_t *out_len);

/*
 * The digits of a number, SW_TEXT_NUMBER at most; returns their end.  Every
 * check has some: a format string takes ten times as many instructions.
 */

#define SW_TEXT_NUMBER  20

static inline char *
sw_text_number(char *out, uint64_t n)
{
    char  digits[SW_TEXT_NUMBER], *digit;

    digit = digits;

    do {
        *digit++ = (char) ('0' + n % 10);
        n /= 10;
    } while (n);

    do {
        *out++ = *--digit;
    } while (digit != digits);

    return out;
}


#endif /* _SW_TEXT_H_INCLUDED_ */
