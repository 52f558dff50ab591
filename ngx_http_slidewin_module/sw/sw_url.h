
/*
 * The URL of a Redis; with TLS, rediss instead of redis:
 *
 *   redis://[user[:password]@]host[:port][/database]
 *   redis-sentinel://[user[:password]@]host[:port][,...]/master[/database]
 *   redis-cluster://[user[:password]@]host[:port][,...]
 *   unix:/path[?db=database]
 */


#ifndef _SW_URL_H_INCLUDED_
#define _SW_URL_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>


#define SW_URL_PORT          6379
#define SW_URL_SENTINEL_PORT 26379
#define SW_URL_DATABASE_MAX  65535


typedef struct {
    const char   *data;
    size_t        len;
} sw_str_t;


typedef enum {
    SW_URL_UNIX = 0,
    SW_URL_REDIS,
    SW_URL_SENTINEL,
    SW_URL_CLUSTER
} sw_url_kind_e;


typedef struct {
    sw_url_kind_e kind;
    int           tls;
    sw_str_t      host;          /* the first, or the path of a socket */
    int64_t       port;
    sw_str_t      more;          /* hosts, see sw_url_next() */
    sw_str_t      master;        /* its name, for sentinels */
    int64_t       database;
    sw_str_t      user;          /* empty: not given */
    sw_str_t      password;
} sw_url_t;


/* NULL, or which part is invalid: "scheme", "host", "port", "database"... */
const char *sw_url_parse(sw_url_t *url, const char *text, size_t len);

/* goes on to the next host of a URL that was parsed: 0 if there is none */
int sw_url_next(sw_url_t *url);

/* whether a host, or an address without brackets, has characters of one */
int sw_url_is_host(sw_str_t text);

int sw_url_is_ipv6(sw_str_t text);


#endif /* _SW_URL_H_INCLUDED_ */
