
/*
 * What is accepted is put together again from its parts, and is the same URL.
 */


#include "fuzz.h"
#include "sw_url.h"


static void by_hand(const sw_url_t *url);
static int part(const char *error);
static int inside(const sw_str_t *str, const char *text, size_t len);
static size_t put(char *p, const char *text, size_t len);


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char        *text;
    size_t       i, n, len;
    sw_url_t     url;
    const char  *error;

    /* half of the inputs need not find out the schemes */

    text = malloc(2 * size + 64);
    len = 0;

    if (size && data[0] % 2) {
        len = put(text, data[0] % 4 == 1 ? "redis://" : "unix:/",
                  data[0] % 4 == 1 ? 8 : 6);
    }

    if (size) {
        memcpy(text + len, data + 1, size - 1);
        len += size - 1;
    }

    text = realloc(text, len ? len : 1);
    error = sw_url_parse(&url, text, len);

    if (error) {
        fuzz_check(part(error));
        free(text);
        return 0;
    }

    fuzz_check(url.host.len > 0 && inside(&url.host, text, len));
    fuzz_check(inside(&url.user, text, len));
    fuzz_check(inside(&url.password, text, len));
    fuzz_check(url.database >= 0 && url.database <= SW_URL_DATABASE_MAX);

    if (url.is_unix) {
        fuzz_check(len > 6 && memcmp(text, "unix:/", 6) == 0);
        fuzz_check(url.host.data == text + 5 && url.host.data[0] == '/');
        fuzz_check(memchr(url.host.data, '?', url.host.len) == NULL);
        fuzz_check(url.port == 0 && url.user.len == 0
                   && url.password.len == 0);

        n = url.host.len + 5;
        fuzz_check(n == len || text[n] == '?');
        fuzz_check(n < len || url.database == 0);
        fuzz_check(n == len
                   || (len > n + 4 && memcmp(text + n, "?db=", 4) == 0
                       && fuzz_count(text + n + 4, len - n - 4,
                                     SW_URL_DATABASE_MAX)
                          == url.database));
        free(text);
        return 0;
    }

    fuzz_check(len > 8 && memcmp(text, "redis://", 8) == 0);
    fuzz_check(url.port >= 1 && url.port <= 65535);

    for (i = 0; i < url.host.len; i++) {
        fuzz_check(url.host.data[i] > ' ' && url.host.data[i] <= '~');
        fuzz_check(strchr(",/?#@[]", url.host.data[i]) == NULL);
    }

    by_hand(&url);
    free(text);

    return 0;
}


/* without a password, and with all that may be left out */

static void
by_hand(const sw_url_t *url)
{
    char      *text, number[24];
    size_t     n, six;
    sw_url_t   again;

    text = malloc(url->host.len + 64);

    six = memchr(url->host.data, ':', url->host.len) != NULL;

    n = put(text, "redis://[", six ? 9 : 8);
    n += put(text + n, url->host.data, url->host.len);
    n += put(text + n, "]", six);
    n += put(text + n, number,
             (size_t) snprintf(number, sizeof(number), ":%d/%d",
                               (int) url->port, (int) url->database));

    fuzz_check(sw_url_parse(&again, text, n) == NULL);
    fuzz_check(again.host.len == url->host.len
               && memcmp(again.host.data, url->host.data, url->host.len)
                  == 0);
    fuzz_check(again.port == url->port);
    fuzz_check(again.database == url->database);
    fuzz_check(again.user.len == 0 && again.password.len == 0);

    free(text);
}


static int
part(const char *error)
{
    return strcmp(error, "scheme") == 0 || strcmp(error, "user") == 0
           || strcmp(error, "host") == 0 || strcmp(error, "port") == 0
           || strcmp(error, "database") == 0 || strcmp(error, "path") == 0;
}


static int
inside(const sw_str_t *str, const char *text, size_t len)
{
    return str->len == 0
           || (str->data >= text && str->data + str->len <= text + len);
}


static size_t
put(char *p, const char *text, size_t len)
{
    memcpy(p, text, len);

    return len;
}
