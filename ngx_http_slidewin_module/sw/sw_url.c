
#include "sw_url.h"
#include "sw_parse.h"

#include <arpa/inet.h>
#include <string.h>


static const char *sw_url_unix(sw_url_t *url, sw_str_t rest);
static int sw_url_scheme(sw_url_t *url, sw_str_t *rest);
static const char *sw_url_user(sw_url_t *url, sw_str_t *rest);
static const char *sw_url_path(sw_url_t *url, sw_str_t path);
static const char *sw_url_hosts(sw_url_t *url, sw_str_t rest);
static const char *sw_url_host(sw_url_t *url, sw_str_t rest);
static int sw_url_prefix(sw_str_t *rest, const char *prefix);
static int sw_url_split(sw_str_t *head, sw_str_t *tail, char c);


const char *
sw_url_parse(sw_url_t *url, const char *text, size_t len)
{
    sw_str_t     rest, path;
    const char  *error;

    memset(url, 0, sizeof(sw_url_t));

    rest.data = text;
    rest.len = len;

    if (sw_url_prefix(&rest, "unix:")) {
        return sw_url_unix(url, rest);
    }

    if (!sw_url_scheme(url, &rest)) {
        return "scheme";
    }

    error = sw_url_user(url, &rest);

    if (error) {
        return error;
    }

    path.data = NULL;
    path.len = 0;

    (void) sw_url_split(&rest, &path, '/');

    error = sw_url_path(url, path);

    return error ? error : sw_url_hosts(url, rest);
}


int
sw_url_next(sw_url_t *url)
{
    sw_str_t  host;

    if (url->more.len == 0) {
        return 0;
    }

    host = url->more;
    url->more.len = 0;

    (void) sw_url_split(&host, &url->more, ',');

    return sw_url_host(url, host) == NULL;
}


static int
sw_url_scheme(sw_url_t *url, sw_str_t *rest)
{
    if (!sw_url_prefix(rest, "redis")) {
        return 0;
    }

    url->tls = sw_url_prefix(rest, "s");
    url->kind = SW_URL_REDIS;

    if (sw_url_prefix(rest, "-sentinel")) {
        url->kind = SW_URL_SENTINEL;

    } else if (sw_url_prefix(rest, "-cluster")) {
        url->kind = SW_URL_CLUSTER;
    }

    return sw_url_prefix(rest, "://");
}


/* what follows the slash behind the hosts; data is NULL without a slash */

static const char *
sw_url_path(sw_url_t *url, sw_str_t path)
{
    size_t  i;

    if (url->kind == SW_URL_SENTINEL) {

        url->master = path;
        path.data = NULL;

        (void) sw_url_split(&url->master, &path, '/');

        for (i = 0; i < url->master.len; i++) {
            if (url->master.data[i] <= ' ' || url->master.data[i] > '~') {
                return "master";
            }
        }

        if (i == 0) {
            return "master";
        }
    }

    if (path.data == NULL) {
        return NULL;
    }

    if (sw_parse_count(path.data, path.len, SW_URL_DATABASE_MAX,
                       &url->database)
        != SW_OK)
    {
        return "database";
    }

    /* a cluster has one database */

    return url->kind == SW_URL_CLUSTER ? "database" : NULL;
}


static const char *
sw_url_unix(sw_url_t *url, sw_str_t rest)
{
    sw_str_t  query;

    url->kind = SW_URL_UNIX;

    if (sw_url_split(&rest, &query, '?')
        && (!sw_url_prefix(&query, "db=")
            || sw_parse_count(query.data, query.len, SW_URL_DATABASE_MAX,
                              &url->database)
               != SW_OK))
    {
        return "database";
    }

    if (rest.len < 2 || rest.data[0] != '/') {
        return "path";
    }

    url->host = rest;

    return NULL;
}


/* a password may have any character, the last "@" ends it */

static const char *
sw_url_user(sw_url_t *url, sw_str_t *rest)
{
    size_t    i;
    sw_str_t  user;

    for (i = rest->len; i > 0 && rest->data[i - 1] != '@'; i--) {
        /* void */
    }

    if (i == 0) {
        return NULL;
    }

    user.data = rest->data;
    user.len = i - 1;

    rest->data += i;
    rest->len -= i;

    (void) sw_url_split(&user, &url->password, ':');

    if (user.len == 0 && url->password.len == 0) {
        return "user";
    }

    url->user = user;

    return NULL;
}


/* checks all hosts; the first one is left in url */

static const char *
sw_url_hosts(sw_url_t *url, sw_str_t rest)
{
    sw_url_t     all;
    sw_str_t     host, more;
    const char  *error;

    /* a single Redis has one host */

    if (url->kind == SW_URL_REDIS) {
        return sw_url_host(url, rest);
    }

    all = *url;
    host = rest;

    do {
        more.data = NULL;
        more.len = 0;

        (void) sw_url_split(&host, &more, ',');

        error = sw_url_host(&all, host);

        if (error) {
            return error;
        }

        if (url->host.data == NULL) {
            *url = all;
            url->more = more;
        }

        host = more;

    } while (more.data);

    return NULL;
}


static const char *
sw_url_host(sw_url_t *url, sw_str_t rest)
{
    sw_str_t  port;

    port.data = NULL;
    port.len = 0;

    if (rest.len && rest.data[0] == '[') {

        rest.data++;
        rest.len--;

        if (!sw_url_split(&rest, &port, ']') || !sw_url_is_ipv6(rest)) {
            return "host";
        }

        if (port.len && port.data[0] != ':') {
            return "host";
        }

        if (port.len) {
            port.data++;
            port.len--;

        } else {
            port.data = NULL;
        }

    } else {
        (void) sw_url_split(&rest, &port, ':');
    }

    if (!sw_url_is_host(rest)) {
        return "host";
    }

    url->host = rest;
    url->port = (url->kind == SW_URL_SENTINEL) ? SW_URL_SENTINEL_PORT
                                               : SW_URL_PORT;

    if (port.data
        && (sw_parse_count(port.data, port.len, 65535, &url->port) != SW_OK
            || url->port == 0))
    {
        return "port";
    }

    return NULL;
}


int
sw_url_is_host(sw_str_t text)
{
    size_t  i;

    for (i = 0; i < text.len; i++) {
        if (text.data[i] <= ' ' || text.data[i] > '~'
            || strchr(",/?#@[]", text.data[i]))
        {
            return 0;
        }
    }

    return text.len > 0;
}


int
sw_url_is_ipv6(sw_str_t text)
{
    char             buf[INET6_ADDRSTRLEN];
    struct in6_addr  addr;

    if (text.len >= sizeof(buf) || memchr(text.data, '\0', text.len)) {
        return 0;
    }

    memcpy(buf, text.data, text.len);
    buf[text.len] = '\0';

    return inet_pton(AF_INET6, buf, &addr) == 1;
}


static int
sw_url_prefix(sw_str_t *rest, const char *prefix)
{
    size_t  len;

    len = strlen(prefix);

    if (rest->len < len || memcmp(rest->data, prefix, len) != 0) {
        return 0;
    }

    rest->data += len;
    rest->len -= len;

    return 1;
}


/* at the first c: the head before it, the tail behind it */

static int
sw_url_split(sw_str_t *head, sw_str_t *tail, char c)
{
    const char  *p;

    p = head->len ? memchr(head->data, c, head->len) : NULL;

    if (p == NULL) {
        return 0;
    }

    tail->data = p + 1;
    tail->len = (size_t) (head->data + head->len - p) - 1;
    head->len = (size_t) (p - head->data);

    return 1;
}
