
#include "replay_server.h"


/* a host name has at most 253 bytes */
#define REPLAY_HOST_MAX  256


typedef enum {
    REPLAY_NAME_EXACT = 0,
    REPLAY_NAME_HEAD,                        /* *.example.com */
    REPLAY_NAME_TAIL,                        /* www.example.* */
    REPLAY_NAME_REGEX
} replay_name_e;


typedef struct {
    replay_name_e           type;
    replay_text_t           text;            /* ".example.com" of a head,
                                              * "www.example." of a tail,
                                              * "~..." of a regex */
    replay_regex_t         *regex;
} replay_server_name_t;


typedef struct {
    replay_text_t           text;
    replay_array_t          servers;         /* replay_server_t * */
    const replay_server_t  *first;           /* the default */
    int                     is_default;      /* "first" has said so */
} replay_server_address_t;


static const char *replay_server_add_regex(replay_pool_t *pool,
    replay_server_name_t *name, replay_text_t text);
static int replay_server_name_is_bad(replay_text_t name);
static replay_text_t replay_server_address(replay_pool_t *pool,
    replay_text_t text);
static int replay_server_same_address(const replay_server_address_t *one,
    const replay_server_address_t *two);
static const replay_server_t *replay_server_unknown(
    const replay_servers_t *servers);
static const replay_server_t *replay_server_look(
    const replay_servers_t *servers, replay_text_t host);
static const replay_server_t *replay_server_at(
    const replay_server_address_t *address, replay_text_t host);
static size_t replay_server_match(const replay_server_name_t *name,
    replay_text_t host);
static replay_text_t replay_server_host(char buf[REPLAY_HOST_MAX],
    replay_text_t host);
static size_t replay_server_lower(char *out, replay_text_t text);


replay_server_t *
replay_server_add(replay_pool_t *pool, replay_servers_t *servers)
{
    replay_server_t  *server, **elt;

    server = replay_pool_alloc(pool, sizeof(replay_server_t));
    memset(server, 0, sizeof(replay_server_t));

    replay_location_init(&server->location);

    elt = replay_array_push(pool, &servers->servers,
                            sizeof(replay_server_t *));
    *elt = server;

    return server;
}


const char *
replay_server_add_name(replay_pool_t *pool, replay_server_t *server,
    replay_text_t text)
{
    char                  *lower;
    replay_server_name_t  *name;

    name = replay_array_push(pool, &server->names,
                             sizeof(replay_server_name_t));

    if (replay_text_begins(text, "~")) {
        return replay_server_add_regex(pool, name, text);
    }

    lower = replay_pool_bytes(pool, text.len + 1);

    text.len = replay_server_lower(lower, text);
    text.data = lower;

    name->text = text;

    if (replay_server_name_is_bad(text)) {
        return replay_pool_print(pool, "server name \"%.*s\" is invalid",
                                 (int) text.len, text.data);
    }

    if (replay_text_begins(text, "*.")) {
        name->type = REPLAY_NAME_HEAD;
        name->text.data++;
        name->text.len--;

    } else if (replay_text_begins(text, ".")) {
        name->type = REPLAY_NAME_HEAD;

        /* and the name itself */

        name = replay_array_push(pool, &server->names,
                                 sizeof(replay_server_name_t));
        name->text.data = text.data + 1;
        name->text.len = text.len - 1;

    } else if (text.len > 2 && text.data[text.len - 1] == '*') {
        name->type = REPLAY_NAME_TAIL;
        name->text.len--;
    }

    return NULL;
}


static const char *
replay_server_add_regex(replay_pool_t *pool, replay_server_name_t *name,
    replay_text_t text)
{
    int            caseless;
    size_t         i;
    const char    *error;
    replay_text_t  pattern;

    if (text.len == 1) {
        return "empty regex in server name \"~\"";
    }

    caseless = 0;
    error = NULL;

    for (i = 0; i < text.len; i++) {
        caseless |= text.data[i] >= 'A' && text.data[i] <= 'Z';
    }

    pattern.data = text.data + 1;
    pattern.len = text.len - 1;

    name->type = REPLAY_NAME_REGEX;
    name->text = text;
    name->regex = replay_regex_compile(pool, pattern, caseless, &error);

    return error;
}


/* a "*" is the first or the last label, and there is one at most */

static int
replay_server_name_is_bad(replay_text_t name)
{
    size_t  i, stars;

    stars = 0;

    for (i = 0; i < name.len; i++) {

        if (name.data[i] == '\0'
            || (name.data[i] == '.' && i + 1 < name.len
                && name.data[i + 1] == '.'))
        {
            return 1;
        }

        stars += name.data[i] == '*';
    }

    if (replay_text_is(name, ".")) {
        return 1;
    }

    if (stars == 0) {
        return 0;
    }

    return stars > 1 || name.len < 3
           || (memcmp(name.data, "*.", 2) != 0
               && memcmp(name.data + name.len - 2, ".*", 2) != 0);
}


void
replay_server_listen(replay_pool_t *pool, replay_servers_t *servers,
    replay_server_t *server, replay_text_t text, int is_default)
{
    size_t                    i, k;
    replay_server_t         **elt;
    replay_server_address_t  *address;

    server->listens = 1;

    text = replay_server_address(pool, text);

    address = servers->addresses.elts;

    for (i = 0; i < servers->addresses.nelts; i++) {

        if (address[i].text.len == text.len
            && memcmp(address[i].text.data, text.data, text.len) == 0)
        {
            break;
        }
    }

    if (i == servers->addresses.nelts) {
        address = replay_array_push(pool, &servers->addresses,
                                    sizeof(replay_server_address_t));
        address->text = text;
        address->first = server;

    } else {
        address += i;
    }

    if (is_default && !address->is_default) {
        address->first = server;
        address->is_default = 1;
    }

    elt = address->servers.elts;

    for (k = 0; k < address->servers.nelts; k++) {
        if (elt[k] == server) {
            return;
        }
    }

    elt = replay_array_push(pool, &address->servers,
                            sizeof(replay_server_t *));
    *elt = server;
}


/* "80" and "*" are "*:80" */

static replay_text_t
replay_server_address(replay_pool_t *pool, replay_text_t text)
{
    size_t  i, colons, digits;

    if (replay_text_begins(text, "unix:")) {
        return text;
    }

    colons = 0;
    digits = 0;

    for (i = 0; i < text.len; i++) {

        if (text.data[i] == ']') {
            colons = 0;
        }

        colons += text.data[i] == ':';
        digits += text.data[i] >= '0' && text.data[i] <= '9';
    }

    if (colons == 1 && text.data[0] != ':') {
        return text;
    }

    return replay_text_of(replay_pool_print(pool, "%s%.*s%s",
                              text.len && digits == text.len ? "*:" : "",
                              (int) text.len, text.data,
                              text.len && digits == text.len ? "" : ":80"));
}


void
replay_servers_init(replay_pool_t *pool, replay_servers_t *servers)
{
    size_t                    i, k, n;
    replay_server_t         **elt;
    replay_server_address_t  *address;

    elt = servers->servers.elts;

    for (i = 0; i < servers->servers.nelts; i++) {
        if (!elt[i]->listens) {
            replay_server_listen(pool, servers, elt[i], replay_text_of("80"),
                                 0);
        }
    }

    /* most servers listen at [::]:80 as they do at *:80: look only once */

    address = servers->addresses.elts;
    n = 0;

    for (i = 0; i < servers->addresses.nelts; i++) {

        for (k = 0; k < n; k++) {
            if (replay_server_same_address(&address[k], &address[i])) {
                break;
            }
        }

        if (k == n) {
            address[n++] = address[i];
        }
    }

    servers->addresses.nelts = n;

    servers->unknown = replay_server_unknown(servers);
}


static int
replay_server_same_address(const replay_server_address_t *one,
    const replay_server_address_t *two)
{
    return one->first == two->first
           && one->servers.nelts == two->servers.nelts
           && memcmp(one->servers.elts, two->servers.elts,
                     one->servers.nelts * sizeof(replay_server_t *))
              == 0;
}


static const replay_server_t *
replay_server_unknown(const replay_servers_t *servers)
{
    size_t            i, limited;
    replay_server_t  *const *elt, *last;

    elt = servers->servers.elts;
    last = NULL;
    limited = 0;

    for (i = 0; i < servers->servers.nelts; i++) {
        if (elt[i]->limited) {
            last = elt[i];
            limited++;
        }
    }

    if (limited == 1) {
        return last;
    }

    return replay_server_look(servers, replay_text_of(""));
}


const replay_server_t *
replay_server_find(replay_servers_t *servers, replay_text_t text)
{
    char                   buf[REPLAY_HOST_MAX];
    size_t                 i;
    uint32_t               hash;
    replay_text_t          host;
    replay_server_memo_t  *memo;

    host = replay_server_host(buf, text);

    if (host.len == 0) {
        return servers->unknown;
    }

    if (host.len > REPLAY_SERVER_MEMO_LEN) {
        return replay_server_look(servers, host);
    }

    hash = 0;

    for (i = 0; i < host.len; i++) {
        hash = hash * 31 + (unsigned char) host.data[i];
    }

    memo = &servers->memos[hash % REPLAY_SERVER_MEMOS];

    if (memo->len != host.len || memcmp(memo->host, host.data, host.len) != 0) {
        memo->server = replay_server_look(servers, host);
        memo->len = host.len;
        memcpy(memo->host, host.data, host.len);
    }

    return memo->server;
}


/* at which address the request came in, the log does not tell */

static const replay_server_t *
replay_server_look(const replay_servers_t *servers, replay_text_t host)
{
    size_t                          i;
    const replay_server_t          *server, *first;
    const replay_server_address_t  *address;

    address = servers->addresses.elts;
    first = NULL;

    for (i = 0; i < servers->addresses.nelts; i++) {
        server = replay_server_at(&address[i], host);

        /* a default server is taken only if no address has the name */

        if (server == NULL) {
            continue;
        }

        if (server->limited) {
            return server;
        }

        if (first == NULL) {
            first = server;
        }
    }

    if (first) {
        return first;
    }

    for (i = 0; i < servers->addresses.nelts; i++) {
        if (address[i].first->limited) {
            return address[i].first;
        }
    }

    return servers->addresses.nelts ? address[0].first : NULL;
}


/* the server with that name: exact, the longest wildcard, the first regex */

static const replay_server_t *
replay_server_at(const replay_server_address_t *address, replay_text_t host)
{
    size_t                       i, k, len, longest;
    replay_name_e                type;
    replay_server_t             *const *server;
    const replay_server_t       *found;
    const replay_server_name_t  *name;

    if (host.len == 0) {
        return NULL;
    }

    server = address->servers.elts;

    for (type = REPLAY_NAME_EXACT; type <= REPLAY_NAME_REGEX; type++) {

        found = NULL;
        longest = 0;

        for (i = 0; i < address->servers.nelts; i++) {

            name = server[i]->names.elts;

            for (k = 0; k < server[i]->names.nelts; k++) {

                if (name[k].type != type) {
                    continue;
                }

                len = replay_server_match(&name[k], host);

                if (len > longest) {
                    found = server[i];
                    longest = len;

                    if (type == REPLAY_NAME_REGEX) {
                        return found;
                    }
                }
            }
        }

        if (found) {
            return found;
        }
    }

    return NULL;
}


/* how much of the name agrees with the host, 0 for none */

static size_t
replay_server_match(const replay_server_name_t *name, replay_text_t host)
{
    size_t         len;
    replay_text_t  text;

    text = name->text;
    len = text.len;

    switch (name->type) {

    case REPLAY_NAME_EXACT:
        return host.len == len && memcmp(host.data, text.data, len) == 0
               ? len : 0;

    case REPLAY_NAME_HEAD:
        return host.len > len
               && memcmp(host.data + host.len - len, text.data, len) == 0
               ? len : 0;

    case REPLAY_NAME_TAIL:
        return host.len > len && memcmp(host.data, text.data, len) == 0
               ? len : 0;

    default: /* REPLAY_NAME_REGEX */

        /* $server_name of such a server is the expression itself */

        if (host.len == len && memcmp(host.data, text.data, len) == 0) {
            return len;
        }

        return replay_regex_match(name->regex, host) ? len : 0;
    }
}


/* without a port, in lower case; empty if it is not known */

static replay_text_t
replay_server_host(char buf[REPLAY_HOST_MAX], replay_text_t host)
{
    size_t  i;

    if (host.len > REPLAY_HOST_MAX) {
        host.len = REPLAY_HOST_MAX;
    }

    if (replay_text_is(host, "-")) {
        host.len = 0;
    }

    /* an expression of a server's name, which has letters and colons */

    if (replay_text_begins(host, "~")) {
        return host;
    }

    i = 0;

    if (replay_text_begins(host, "[")) {
        while (i < host.len && host.data[i] != ']') {
            i++;
        }
    }

    while (i < host.len && host.data[i] != ':') {
        i++;
    }

    host.len = i;

    if (host.len && host.data[host.len - 1] == '.') {
        host.len--;
    }

    host.len = replay_server_lower(buf, host);
    host.data = buf;

    return host;
}


static size_t
replay_server_lower(char *out, replay_text_t text)
{
    size_t  i;

    for (i = 0; i < text.len; i++) {
        out[i] = text.data[i];

        if (out[i] >= 'A' && out[i] <= 'Z') {
            out[i] = (char) (out[i] | 0x20);
        }
    }

    return text.len;
}
