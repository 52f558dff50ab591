
#include "replay_print.h"
#include "sw_text.h"


#define REPLAY_PRINT_PART  256


void
replay_print_json_text(FILE *file, replay_text_t text)
{
    char    out[REPLAY_PRINT_PART * SW_TEXT_MAX];
    size_t  len, n;

    while (text.len) {
        len = text.len < REPLAY_PRINT_PART ? text.len : REPLAY_PRINT_PART;

        /* a character of several bytes stays whole */

        for (n = len; n > len - 4 && n > 1 && len < text.len; n--) {

            if ((text.data[n] & 0xc0) != 0x80) {
                len = n;
                break;
            }
        }

        (void) fwrite(out, 1, sw_text_json(out, text.data, len), file);

        text.data += len;
        text.len -= len;
    }
}


void
replay_print_json_string(FILE *file, replay_text_t text)
{
    if (text.data == NULL) {
        fputs("null", file);
        return;
    }

    fputc('"', file);
    replay_print_json_text(file, text);
    fputc('"', file);
}


/* UTF-8 stays: only a control character can do harm, also one of C1 */

void
replay_print_plain(FILE *file, replay_text_t text)
{
    size_t         i;
    unsigned char  ch;

    for (i = 0; i < text.len; i++) {
        ch = (unsigned char) text.data[i];

        if (ch < 0x20 || ch == 0x7f
            || (ch == 0xc2 && i + 1 < text.len
                && (unsigned char) text.data[i + 1] < 0xa0))
        {
            fprintf(file, "\\x%02x", ch);

        } else {
            fputc(ch, file);
        }
    }
}
