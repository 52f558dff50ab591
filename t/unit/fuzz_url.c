
/*
 * What is accepted is put together again from its parts, and is the same URL.
 */


#include "fuzz.h"
#include "sw_url.h"


static void by_hand(const sw_url_t *url);
static int same(const sw_str_t *one, const sw_str_t *two);
static int part(const char *error);
static int inside(const sw_str_t *str, const char *text, size_t len);
static size_t put(char *p, const char *text, size_t len);


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char        *text;
    size_t       i, n, len;
    sw_url_t     url;
    const char  *error, *scheme;

    static const char *const  schemes[] = {
        "unix:/", "redis://", "rediss://", "redis-sentinel://",
        "rediss-sentinel://", "redis-cluster://", "rediss-cluster://"
    };

    /* half of the inputs need not find out the schemes */

    text = malloc(2 * size + 64);
    len = 0;

    if (size && data[0] % 2) {
        scheme = schemes[data[0] / 2 % (sizeof(schemes) / sizeof(schemes[0]))];
        len = put(text, scheme, strlen(scheme));
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

    if (url.kind == SW_URL_UNIX) {
        fuzz_check(len > 6 && memcmp(text, "unix:/", 6) == 0);
        fuzz_check(url.host.data == text + 5 && url.host.data[0] == '/');
        fuzz_check(memchr(url.host.data, '?', url.host.len) == NULL);
        fuzz_check(url.port == 0 && url.user.len == 0
                   && url.password.len == 0 && !url.tls
                   && url.more.len == 0);

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

    fuzz_check(len > 8 && memcmp(text, "redis", 5) == 0);
    fuzz_check(url.tls == (text[5] == 's'));
    fuzz_check((url.kind == SW_URL_SENTINEL) == (url.master.len != 0));
    fuzz_check(inside(&url.master, text, len));
    fuzz_check(url.kind != SW_URL_REDIS || url.more.len == 0);
    fuzz_check(url.kind != SW_URL_CLUSTER || url.database == 0);

    by_hand(&url);

    do {
        fuzz_check(url.host.len > 0 && inside(&url.host, text, len));
        fuzz_check(url.port >= 1 && url.port <= 65535);

        for (i = 0; i < url.host.len; i++) {
            fuzz_check(url.host.data[i] > ' ' && url.host.data[i] <= '~');
            fuzz_check(strchr(",/?#@[]", url.host.data[i]) == NULL);
        }
    } while (sw_url_next(&url));

    fuzz_check(url.more.len == 0);
    free(text);

    return 0;
}


/* without a password, and with all that may be left out */

static void
by_hand(const sw_url_t *url)
{
    int        i;
    char      *text;
    size_t     n, six;
    sw_url_t   hosts, again;

    static const char *const  kinds[] = { "", "", "-sentinel", "-cluster" };

    hosts = *url;
    text = malloc(url->host.len + 6 * url->more.len + url->master.len + 64);

    n = (size_t) sprintf(text, "redis%s%s://", url->tls ? "s" : "",
                         kinds[url->kind]);

    for (i = 0; i == 0 || sw_url_next(&hosts); i++) {
        six = memchr(hosts.host.data, ':', hosts.host.len) != NULL;
        n += put(text + n, ",", i > 0);
        n += put(text + n, "[", six);
        n += put(text + n, hosts.host.data, hosts.host.len);
        n += put(text + n, "]", six);
        n += (size_t) sprintf(text + n, ":%d", (int) hosts.port);
    }

    n += put(text + n, "/", url->master.len != 0);
    n += put(text + n, url->master.data, url->master.len);

    if (url->kind != SW_URL_CLUSTER) {
        n += (size_t) sprintf(text + n, "/%d", (int) url->database);
    }

    fuzz_check(sw_url_parse(&again, text, n) == NULL);
    fuzz_check(again.kind == url->kind && again.tls == url->tls);
    fuzz_check(again.database == url->database);
    fuzz_check(again.user.len == 0 && again.password.len == 0);
    fuzz_check(same(&again.master, &url->master));

    hosts = *url;

    do {
        fuzz_check(same(&again.host, &hosts.host));
        fuzz_check(again.port == hosts.port);
    } while (sw_url_next(&again) + sw_url_next(&hosts) == 2);

    fuzz_check(again.more.len == 0 && hosts.more.len == 0);

    free(text);
}


static int
same(const sw_str_t *one, const sw_str_t *two)
{
    return one->len == two->len
           && (one->len == 0 || memcmp(one->data, two->data, one->len) == 0);
}


static int
part(const char *error)
{
    return strcmp(error, "scheme") == 0 || strcmp(error, "user") == 0
           || strcmp(error, "host") == 0 || strcmp(error, "port") == 0
           || strcmp(error, "database") == 0 || strcmp(error, "path") == 0
           || strcmp(error, "master") == 0;
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
    if (len) {
        memcpy(p, text, len);
    }

    return len;
}
