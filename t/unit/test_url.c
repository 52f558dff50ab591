
/*
 * Where a Redis is.
 */


#include <string.h>

#include "sw_url.h"
#include "tap.h"


static void good_urls(void);
static void bad_urls(void);
static void several_hosts(void);
static void cut_urls(void);

static int is(const char *text, int is_unix, const char *host, int64_t port,
    int64_t database, const char *user, const char *password);
static int are(const char *text, sw_url_kind_e kind, int tls,
    const char *hosts, const char *master, int64_t database);
static int bad(const char *text, const char *part);
static int same(const sw_str_t *str, const char *text);


int
main(void)
{
    good_urls();
    bad_urls();
    several_hosts();
    cut_urls();

    return tap_done();
}


static void
good_urls(void)
{
    tap_ok(is("redis://h", 0, "h", 6379, 0, "", ""), "a host");
    tap_ok(is("redis://h/", 0, "h", 6379, 0, "", "") == 0
           && bad("redis://h/", "database"), "a slash announces a database");
    tap_ok(is("redis://h:1", 0, "h", 1, 0, "", ""), "port 1");
    tap_ok(is("redis://h:65535", 0, "h", 65535, 0, "", ""), "port 65535");
    tap_ok(is("redis://h:06379", 0, "h", 6379, 0, "", ""),
           "a port with a zero in front");
    tap_ok(is("redis://h/0", 0, "h", 6379, 0, "", ""), "database 0");
    tap_ok(is("redis://h/15", 0, "h", 6379, 15, "", ""), "database 15");
    tap_ok(is("redis://h/65535", 0, "h", 6379, 65535, "", ""),
           "database 65535");
    tap_ok(is("redis://h:7000/3", 0, "h", 7000, 3, "", ""),
           "port and database");
    tap_ok(is("redis://127.0.0.1:6380/1", 0, "127.0.0.1", 6380, 1, "", ""),
           "an IPv4 address");
    tap_ok(is("redis://redis-1.example_a.com", 0, "redis-1.example_a.com",
              6379, 0, "", ""), "a name with all that a name may have");

    tap_ok(is("redis://[::1]", 0, "::1", 6379, 0, "", ""), "IPv6");
    tap_ok(is("redis://[::1]:7000", 0, "::1", 7000, 0, "", ""),
           "IPv6 and port");
    tap_ok(is("redis://[2001:db8::1]/2", 0, "2001:db8::1", 6379, 2, "", ""),
           "IPv6 and database");
    tap_ok(is("redis://u:p@[::1]:7000/2", 0, "::1", 7000, 2, "u", "p"),
           "IPv6 and all");

    tap_ok(is("redis://u:p@h", 0, "h", 6379, 0, "u", "p"),
           "user and password");
    tap_ok(is("redis://:p@h", 0, "h", 6379, 0, "", "p"), "a password alone");
    tap_ok(is("redis://u@h", 0, "h", 6379, 0, "u", ""), "a user alone");
    tap_ok(is("redis://u:@h", 0, "h", 6379, 0, "u", ""),
           "a user and no password after its colon");
    tap_ok(is("redis://u:a:b@h", 0, "h", 6379, 0, "u", "a:b"),
           "a password with a colon");
    tap_ok(is("redis://u:a@b@h", 0, "h", 6379, 0, "u", "a@b"),
           "... with an at sign");
    tap_ok(is("redis://u:a/b@h/1", 0, "h", 6379, 1, "u", "a/b"),
           "... with a slash");
    tap_ok(is("redis://u:?#[]% \x7f\xff@h", 0, "h", 6379, 0, "u",
              "?#[]% \x7f\xff"), "... with anything");

    tap_ok(is("unix:/run/redis.sock", 1, "/run/redis.sock", 0, 0, "", ""),
           "a unix socket");
    tap_ok(is("unix:/a", 1, "/a", 0, 0, "", ""), "the shortest path");
    tap_ok(is("unix:/run/redis.sock?db=4", 1, "/run/redis.sock", 0, 4, "",
              ""), "a unix socket and database");
    tap_ok(is("unix:/a:b@c/d", 1, "/a:b@c/d", 0, 0, "", ""),
           "a path is not taken apart");
}


static void
bad_urls(void)
{
    int  i;

    static const char *const  schemes[] = {
        "", "h", "http://h", "redis", "redis:", "redis:/", "redis:h",
        "redis:/h", "//h", "Redis://h", "REDIS://h", " redis://h",
        "redisss://h", "redis-://h", "redis-clusters://h", "redis-s://h",
        "redis-cluster:/h", "cluster://h", "rediss-cluster-sentinel://h",
        "unix", "unix//a", "UNIX:/a", "tcp://h"
    };

    static const char *const  hosts[] = {
        "redis://", "redis://:6379", "redis:///0", "redis://u:p@",
        "redis://u:p@:1", "redis://[]", "redis://[]:1", "redis://[::1",
        "redis://[::1]x", "redis://[::1]6379", "redis://h h", "redis://h\t",
        "redis://h\n", "redis://h\x7f", "redis://\xff", "redis://h,i",
        "redis://h?", "redis://h#", "redis://h]", "redis://h?db=1",
        "redis://u:p@ ", "redis://[a@b]", "redis://[::1]]", "redis://[[::1]]",
        "redis://::1"
    };

    static const char *const  ports[] = {
        "redis://h:", "redis://h:0", "redis://h:65536", "redis://h:99999",
        "redis://h:-1", "redis://h:+1", "redis://h:abc", "redis://h:1a",
        "redis://h: 1", "redis://h:1 ", "redis://h:1:2",
        "redis://h:99999999999999999999", "redis://[::1]:",
        "redis://[::1]:x", "redis://[::1]:65536", "redis://h:/0"
    };

    static const char *const  databases[] = {
        "redis://h/abc", "redis://h/-1", "redis://h/65536", "redis://h/1/",
        "redis://h/1/2", "redis://h//", "redis://h/ 1", "redis://h/1 ",
        "redis://h/1x", "redis://h/99999999999999999999", "redis://h/1?x",
        "unix:/a?", "unix:/a?db", "unix:/a?db=", "unix:/a?db=x",
        "unix:/a?db=-1", "unix:/a?db=65536", "unix:/a?DB=1", "unix:/a?x=1",
        "unix:/a?db=1&x=2", "unix:/a?db=1?db=2", "unix:?db=x"
    };

    static const char *const  paths[] = {
        "unix:", "unix:/", "unix:a", "unix:run/redis.sock", "unix:?db=1",
        "unix:/?db=1", "unix: /a"
    };

    for (i = 0; i < (int) (sizeof(schemes) / sizeof(schemes[0])); i++) {
        tap_ok(bad(schemes[i], "scheme"), "scheme: \"%s\"", schemes[i]);
    }

    for (i = 0; i < (int) (sizeof(hosts) / sizeof(hosts[0])); i++) {
        tap_ok(bad(hosts[i], "host"), "host %d", i);
    }

    for (i = 0; i < (int) (sizeof(ports) / sizeof(ports[0])); i++) {
        tap_ok(bad(ports[i], "port"), "port: \"%s\"", ports[i]);
    }

    for (i = 0; i < (int) (sizeof(databases) / sizeof(databases[0])); i++) {
        tap_ok(bad(databases[i], "database"), "database: \"%s\"",
               databases[i]);
    }

    for (i = 0; i < (int) (sizeof(paths) / sizeof(paths[0])); i++) {
        tap_ok(bad(paths[i], "path"), "path: \"%s\"", paths[i]);
    }

    tap_ok(bad("redis://@h", "user"), "nothing before the at sign");
    tap_ok(bad("redis://:@h", "user"), "a colon before the at sign");
}


static void
several_hosts(void)
{
    int  i;

    static const char *const  hosts[] = {
        "redis-cluster://", "redis-cluster://,", "redis-cluster://a,",
        "redis-cluster://,a", "redis-cluster://a,,b", "redis-cluster://a, b",
        "redis-cluster://a,[::1", "redis-cluster://u:p@", "redis://a,b",
        "rediss://a,b", "redis-sentinel:///m", "redis-sentinel://a,/m",
        "redis-sentinel://[x],b/m"
    };

    static const char *const  ports[] = {
        "redis-cluster://a:,b", "redis-cluster://a:1,b:", "rediss://a:0",
        "redis-cluster://a,b:65536", "redis-sentinel://a:x/m",
        "redis-sentinel://a,b:1:2/m"
    };

    static const char *const  masters[] = {
        "redis-sentinel://a", "redis-sentinel://a,b", "redis-sentinel://a/",
        "redis-sentinel://a//0", "redis-sentinel://a/my master",
        "redis-sentinel://a/m\n", "redis-sentinel://a/\xff/0"
    };

    static const char *const  databases[] = {
        "redis-cluster://a/", "redis-cluster://a/0", "redis-cluster://a,b/1",
        "redis-cluster://a/x", "redis-sentinel://a/m/", "rediss://a/x",
        "redis-sentinel://a/m/x", "redis-sentinel://a/m/65536",
        "redis-sentinel://a/m/1/", "redis-sentinel://a/m/1/2"
    };

    tap_ok(are("rediss://h", SW_URL_REDIS, 1, "h:6379", "", 0), "TLS");
    tap_ok(are("rediss://h:1/2", SW_URL_REDIS, 1, "h:1", "", 2),
           "TLS, port and database");
    tap_ok(are("redis-cluster://a", SW_URL_CLUSTER, 0, "a:6379", "", 0),
           "one node of a cluster");
    tap_ok(are("redis-cluster://u:p,q@a,b:7000,[::1],[::2]:1",
               SW_URL_CLUSTER, 0, "a:6379 b:7000 ::1:6379 ::2:1", "", 0),
           "nodes of a cluster");
    tap_ok(are("rediss-cluster://a,b", SW_URL_CLUSTER, 1, "a:6379 b:6379", "",
               0), "nodes of a cluster with TLS");
    tap_ok(are("redis-sentinel://a/m", SW_URL_SENTINEL, 0, "a:26379", "m", 0),
           "a sentinel");
    tap_ok(are("redis-sentinel://a:1,b,[::1]/my-master:1/3", SW_URL_SENTINEL,
               0, "a:1 b:26379 ::1:26379", "my-master:1", 3), "sentinels");
    tap_ok(are("rediss-sentinel://u@a,b/m/0", SW_URL_SENTINEL, 1,
               "a:26379 b:26379", "m", 0), "sentinels with TLS");

    for (i = 0; i < (int) (sizeof(hosts) / sizeof(hosts[0])); i++) {
        tap_ok(bad(hosts[i], "host"), "several, host: \"%s\"", hosts[i]);
    }

    for (i = 0; i < (int) (sizeof(ports) / sizeof(ports[0])); i++) {
        tap_ok(bad(ports[i], "port"), "several, port: \"%s\"", ports[i]);
    }

    for (i = 0; i < (int) (sizeof(masters) / sizeof(masters[0])); i++) {
        tap_ok(bad(masters[i], "master"), "master %d", i);
    }

    for (i = 0; i < (int) (sizeof(databases) / sizeof(databases[0])); i++) {
        tap_ok(bad(databases[i], "database"), "several, database: \"%s\"",
               databases[i]);
    }
}


/* no byte is read behind the length of the text */

static void
cut_urls(void)
{
    int          good, n, accepted;
    char        *exact;
    size_t       i, len;
    sw_url_t     url;
    const char  *error;

    static const char  text[] = "redis://user:secret@[2001:db8::1]:7000/12";
    static const char  nul[] = "redis://h\0.example.com";

    good = 1;
    accepted = 0;
    len = strlen(text);

    for (i = 0; i <= len; i++) {
        exact = malloc(i ? i : 1);
        memcpy(exact, text, i);

        error = sw_url_parse(&url, exact, i);
        accepted += (error == NULL);

        if (error == NULL) {
            n = (int) (len - i);
            good = good && url.host.len != 0
                   && (n > 1 ? url.database == 0
                             : url.database == (n == 0 ? 12 : 1));
        }

        free(exact);
    }

    /*
     * "redis://u" to "redis://user", with the at sign a host is missing, the
     * bracket must be closed, a colon wants a port, the slash a database
     */

    tap_ok(good && accepted == 4 + 1 + 4 + 2, "every beginning of a URL: %d",
           accepted);

    tap_ok(sw_url_parse(&url, nul, sizeof(nul) - 1) != NULL,
           "a NUL does not end it");
    tap_ok(sw_url_parse(&url, NULL, 0) != NULL, "nothing");
}


static int
is(const char *text, int is_unix, const char *host, int64_t port,
    int64_t database, const char *user, const char *password)
{
    int          good;
    char        *exact;
    size_t       len;
    sw_url_t     url;
    const char  *error;

    len = strlen(text);
    exact = malloc(len);
    memcpy(exact, text, len);
    memset(&url, 0x5a, sizeof(url));

    error = sw_url_parse(&url, exact, len);

    good = error == NULL && (url.kind == SW_URL_UNIX) == is_unix && !url.tls
           && url.more.len == 0 && url.master.len == 0
           && same(&url.host, host)
           && url.port == port && url.database == database
           && same(&url.user, user) && same(&url.password, password);

    free(exact);

    return good;
}


/* hosts is "host:port host:port" */

static int
are(const char *text, sw_url_kind_e kind, int tls, const char *hosts,
    const char *master, int64_t database)
{
    char      list[256];
    size_t    n;
    sw_url_t  url;

    if (sw_url_parse(&url, text, strlen(text)) != NULL) {
        return 0;
    }

    n = 0;

    do {
        n += (size_t) snprintf(list + n, sizeof(list) - n, "%s%.*s:%d",
                               n ? " " : "", (int) url.host.len,
                               url.host.data, (int) url.port);
    } while (sw_url_next(&url));

    if (strcmp(list, hosts) != 0) {
        tap_diag("\"%s\": %s", text, list);
        return 0;
    }

    return url.kind == kind && url.tls == tls && same(&url.master, master)
           && url.database == database;
}


static int
bad(const char *text, const char *part)
{
    size_t       len;
    char        *exact;
    sw_url_t     url;
    const char  *error;

    len = strlen(text);
    exact = malloc(len ? len : 1);
    memcpy(exact, text, len);

    error = sw_url_parse(&url, exact, len);
    free(exact);

    if (error == NULL || strcmp(error, part) != 0) {
        tap_diag("\"%s\": %s", text, error ? error : "accepted");
        return 0;
    }

    return 1;
}


static int
same(const sw_str_t *str, const char *text)
{
    return str->len == strlen(text)
           && (str->len == 0 || memcmp(str->data, text, str->len) == 0);
}
