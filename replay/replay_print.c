
#include "replay_print.h"
#include "sw_text.h"


#define REPLAY_PRINT_PART  256


static size_t replay_printable(const char *text, size_t size);


void
replay_print_json_text(FILE *file, replay_text_t text)
{
    char    out[REPLAY_PRINT_PART * SW_TEXT_MAX];
    size_t  len, n, size;

    while (text.len) {
        len = text.len < REPLAY_PRINT_PART ? text.len : REPLAY_PRINT_PART;

        /* a character of several bytes stays whole */

        for (n = len; n > len - 4 && n > 1 && len < text.len; n--) {

            if ((text.data[n] & 0xc0) != 0x80) {
                len = n;
                break;
            }
        }

        size = sw_text_json(out, text.data, len);
        (void) fwrite(out, 1, size, file);

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



/* a character that can be printed stays */

void
replay_print_plain(FILE *file, replay_text_t text)
{
    size_t  i, len;

    for (i = 0; i < text.len; i += len) {
        len = replay_printable(text.data + i, text.len - i);

        if (len) {
            (void) fwrite(text.data + i, 1, len, file);

        } else {
            fprintf(file, "\\x%02x", (unsigned char) text.data[i]);
            len = 1;
        }
    }
}


/* bytes of the character, 0 if it is none, or may do harm */

static size_t
replay_printable(const char *text, size_t size)
{
    size_t                i, len;
    uint32_t              code;
    const unsigned char  *p;

    static const uint32_t  least[] = { 0, 0, 0x80, 0x800, 0x10000 };

    p = (const unsigned char *) text;

    if (p[0] < 0x80) {
        return p[0] >= 0x20 && p[0] != 0x7f;
    }

    len = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;

    if (p[0] < 0xc2 || p[0] > 0xf4 || len > size) {
        return 0;
    }

    code = p[0] & (0xff >> (len + 1));

    for (i = 1; i < len; i++) {

        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }

        code = (code << 6) | (p[i] & 0x3f);
    }

    if (code < least[len] || code > 0x10ffff
        || (code >= 0xd800 && code < 0xe000))
    {
        return 0;
    }

    /* controls of eight bits, and what turns the direction of a text */

    if (code < 0xa0 || code == 0x61c || (code >= 0x200b && code <= 0x200f)
        || (code >= 0x2028 && code <= 0x202e)
        || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff)
    {
        return 0;
    }

    return len;
}
