
/*
 * Where a Redis is: redis://[user[:password]@]host[:port][/database],
 * unix:/path[?db=database].
 */


#ifndef _SW_URL_H_INCLUDED_
#define _SW_URL_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>


#define SW_URL_PORT          6379
#define SW_URL_DATABASE_MAX  65535


typedef struct {
    const char   *data;
    size_t        len;
} sw_str_t;


typedef struct {
    int           is_unix;
    sw_str_t      host;          /* the path of a unix socket */
    int64_t       port;
    int64_t       database;
    sw_str_t      user;          /* empty: not given */
    sw_str_t      password;
} sw_url_t;


/* NULL, or which part is invalid: "scheme", "host", "port", "database"... */
const char *sw_url_parse(sw_url_t *url, const char *text, size_t len);


#endif /* _SW_URL_H_INCLUDED_ */
