
/*
 * Any bytes as text for others.
 */


#include <inttypes.h>
#include <string.h>

#include "sw_text.h"
#include "tap.h"
#include "text.h"


static void plain(void);
static void every_byte(void);
static void every_sequence(void);
static void bad_sequences(void);
static void special_characters(void);
static void uris(void);
static void numbers(void);

static int json_is(const char *bytes, size_t len, const char *wanted);
static int uri_is(const char *text, const char *bytes, size_t len);


int
main(void)
{
    plain();
    every_byte();
    every_sequence();
    bad_sequences();
    special_characters();
    uris();
    numbers();

    return tap_done();
}


static void
plain(void)
{
    char  out[64];

    tap_ok(json_is("", 0, ""), "nothing");
    tap_ok(json_is("192.0.2.1", 9, "192.0.2.1"), "an address");
    tap_ok(json_is("a\"b", 3, "a\\u0022b"), "a quote");
    tap_ok(json_is("a\\b", 3, "a\\u005cb"), "a backslash");
    tap_ok(json_is("</script>", 9, "\\u003c/script\\u003e"), "a tag");
    tap_ok(json_is("\0", 1, "\\u0000"), "NUL");
    tap_ok(json_is("\xff", 1, "\\\\xff"), "a byte that is not UTF-8");
    tap_ok(json_is("\xc3\xa4", 2, "\xc3\xa4"), "UTF-8");

    tap_ok(sw_text_label(out, "a\"\\\n\xff\x01", 6) == 17
           && memcmp(out, "a\\\"\\\\\\n\\\\xff\\\\x01", 17) == 0,
           "a label escapes a quote, a backslash, a new line and other bytes");
}


/* alone, and between others */

static void
every_byte(void)
{
    int            good, i;
    unsigned char  in[3], all[256];

    good = 1;

    for (i = 0; i < 256; i++) {
        in[0] = 'a';
        in[1] = (unsigned char) i;
        in[2] = 'z';
        all[i] = (unsigned char) i;

        good &= text_ok(in + 1, 1) && text_ok(in, 3) && text_ok(in, 2)
                && text_ok(in + 1, 2);
    }

    tap_ok(good, "every byte is text in every form");
    tap_ok(text_ok(all, 256), "all of them at once are");
}


static void
every_sequence(void)
{
    int            good;
    size_t         n;
    char           out[24];
    unsigned       code;
    unsigned char  in[4];

    good = 1;

    for (code = 0x80; code <= 0x10ffff; code++) {

        if (code < 0x800) {
            in[0] = (unsigned char) (0xc0 | code >> 6);
            n = 2;

        } else if (code < 0x10000) {
            in[0] = (unsigned char) (0xe0 | code >> 12);
            in[1] = (unsigned char) (0x80 | (code >> 6 & 0x3f));
            n = 3;

        } else {
            in[0] = (unsigned char) (0xf0 | code >> 18);
            in[1] = (unsigned char) (0x80 | (code >> 12 & 0x3f));
            in[2] = (unsigned char) (0x80 | (code >> 6 & 0x3f));
            n = 4;
        }

        in[n - 1] = (unsigned char) (0x80 | (code & 0x3f));

        if (code >= 0xd800 && code <= 0xdfff) {
            good &= (sw_text_json(out, in, n) == 15);    /* no character */
            continue;
        }

        good &= text_ok(in, n) && sw_text_json(out, in, n) <= 6
                && (out[0] == '\\' || memcmp(out, in, n) == 0);
    }

    tap_ok(good, "every character of UTF-8 stays one, surrogates are none");
}


static void
bad_sequences(void)
{
    tap_ok(json_is("\xc0\x80", 2, "\\\\xc0\\\\x80"), "an overlong NUL");
    tap_ok(json_is("\xc1\xbf", 2, "\\\\xc1\\\\xbf"), "an overlong 2 bytes");
    tap_ok(json_is("\xe0\x9f\xbf", 3, "\\\\xe0\\\\x9f\\\\xbf"),
           "an overlong 3 bytes");
    tap_ok(json_is("\xf0\x8f\xbf\xbf", 4, "\\\\xf0\\\\x8f\\\\xbf\\\\xbf"),
           "an overlong 4 bytes");
    tap_ok(json_is("\xed\xa0\x80", 3, "\\\\xed\\\\xa0\\\\x80"), "a surrogate");
    tap_ok(json_is("\xf4\x90\x80\x80", 4, "\\\\xf4\\\\x90\\\\x80\\\\x80"),
           "beyond the last character");
    tap_ok(json_is("\xf5\x80\x80\x80", 4, "\\\\xf5\\\\x80\\\\x80\\\\x80"),
           "a first byte that there is not");
    tap_ok(json_is("\x80", 1, "\\\\x80"), "a continuation alone");
    tap_ok(json_is("\xe2\x82", 2, "\\\\xe2\\\\x82"), "a cut sequence");
    tap_ok(json_is("\xe2\x82" "a", 3, "\\\\xe2\\\\x82a"),
           "a sequence that another character cuts");
    tap_ok(json_is("\xf0\x9f\x98\xf0\x9f\x98\x80", 7,
                   "\\\\xf0\\\\x9f\\\\x98\xf0\x9f\x98\x80"),
           "a cut sequence before a whole one");

    /* what is behind the end would complete it */

    tap_ok(json_is("\xe2\x82\xac", 2, "\\\\xe2\\\\x82"),
           "nothing behind the end is read");
}


static void
special_characters(void)
{
    tap_ok(json_is("\x1b[2J", 4, "\\u001b[2J"), "an escape of a terminal");
    tap_ok(json_is("\xc2\x9b", 2, "\\u009b"), "the same in one character");
    tap_ok(json_is("\x7f", 1, "\\u007f"), "DEL");
    tap_ok(json_is("\xe2\x80\xae", 3, "\\u202e"), "right to left");
    tap_ok(json_is("\xe2\x81\xa6", 3, "\\u2066"), "an isolate");
    tap_ok(json_is("\xe2\x80\xa8", 3, "\\u2028"), "a separator of lines");
    tap_ok(json_is("\xef\xbb\xbf", 3, "\\ufeff"), "a byte order mark");
    tap_ok(json_is("\xd7\xa9", 2, "\xd7\xa9"), "a letter of Hebrew stays");
    tap_ok(json_is("\xc2\xa0", 2, "\xc2\xa0"), "a space that holds stays");
}


static void
uris(void)
{
    char    out[8];
    size_t  n;

    tap_ok(uri_is("", "", 0), "nothing is nothing");
    tap_ok(uri_is("aZ09-._~", "aZ09-._~", 8), "what stays as it is");
    tap_ok(uri_is("%2F%20%25%2B", "/ %+", 4), "what does not");
    tap_ok(uri_is("%00%FF", "\0\xff", 2), "NUL and another byte");

    tap_ok(sw_text_from_uri(out, "%2f%2F", 6, &n) == 0 && n == 2
           && memcmp(out, "//", 2) == 0, "digits in both cases");
    tap_ok(sw_text_from_uri(out, "a+b", 3, &n) == 0 && n == 3
           && memcmp(out, "a+b", 3) == 0, "a plus is a plus");

    tap_ok(sw_text_from_uri(out, "%", 1, &n) == -1, "a percent alone");
    tap_ok(sw_text_from_uri(out, "a%4", 3, &n) == -1, "one digit");
    tap_ok(sw_text_from_uri(out, "%41", 2, &n) == -1, "the other one cut off");
    tap_ok(sw_text_from_uri(out, "%4g", 3, &n) == -1, "a letter above f");
    tap_ok(sw_text_from_uri(out, "%g4", 3, &n) == -1, "the same, first");
    tap_ok(sw_text_from_uri(out, "%%41", 4, &n) == -1, "two percents");
    tap_ok(sw_text_from_uri(out, "%@1", 3, &n) == -1
           && sw_text_from_uri(out, "%1`", 3, &n) == -1,
           "the neighbours of a letter");
    tap_ok(sw_text_from_uri(out, "%\x11" "1", 3, &n) == -1,
           "a control character is no digit");
}


static void
numbers(void)
{
    int       good, i, j;
    char      out[SW_TEXT_NUMBER], wanted[SW_TEXT_NUMBER + 1];
    size_t    len;
    uint64_t  n;

    good = 1;
    n = 1;

    for (i = 0; i < SW_TEXT_NUMBER; i++) {

        for (j = -1; j <= 1; j++) {
            len = (size_t) snprintf(wanted, sizeof(wanted), "%" PRIu64,
                                    n + (uint64_t) j);

            good = good
                   && sw_text_number(out, n + (uint64_t) j) == out + len
                   && memcmp(out, wanted, len) == 0;
        }

        n *= 10;
    }

    tap_ok(good && sw_text_number(out, UINT64_MAX) == out + SW_TEXT_NUMBER
           && memcmp(out, "18446744073709551615", SW_TEXT_NUMBER) == 0,
           "numbers of one to twenty digits");
}


static int
json_is(const char *bytes, size_t len, const char *wanted)
{
    char    out[256];
    size_t  n;

    n = sw_text_json(out, bytes, len);

    if (n == strlen(wanted) && memcmp(out, wanted, n) == 0) {
        return text_ok((const unsigned char *) bytes, len);
    }

    tap_diag("%.*s instead of %s", (int) n, out, wanted);

    return 0;
}


static int
uri_is(const char *text, const char *bytes, size_t len)
{
    char    out[64];
    size_t  n;

    n = sw_text_uri(out, bytes, len);

    return n == strlen(text) && memcmp(out, text, n) == 0
           && sw_text_from_uri(out, text, strlen(text), &n) == 0 && n == len
           && memcmp(out, bytes, len) == 0;
}
