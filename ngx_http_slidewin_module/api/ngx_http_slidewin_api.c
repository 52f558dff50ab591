
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include <openssl/evp.h>

#include "ngx_http_slidewin_api.h"
#include "ngx_http_slidewin_api_access.h"
#include "ngx_http_slidewin_api_json.h"
#include "ngx_http_slidewin_api_keys.h"
#include "ngx_http_slidewin_api_metrics.h"
#include "ngx_http_slidewin_api_send.h"
#include "ngx_http_slidewin_dashboard.h"
#include "ngx_http_slidewin_module.h"
#include "sw_text.h"


#define NGX_HTTP_SLIDEWIN_API_READ   "GET, HEAD"
#define NGX_HTTP_SLIDEWIN_API_WRITE  "GET, HEAD, DELETE"


/* what is left of a path; encoded: as the client wrote it */

typedef struct {
    ngx_str_t                      rest;
    ngx_uint_t                     encoded;
} ngx_http_slidewin_api_path_t;


typedef struct {
    ngx_str_t                      name;
    ngx_int_t                    (*handler)(ngx_http_request_t *r);
} ngx_http_slidewin_api_page_t;


static ngx_int_t ngx_http_slidewin_api_handler(ngx_http_request_t *r);
static ngx_int_t ngx_http_slidewin_api_path(ngx_http_request_t *r,
    ngx_http_slidewin_api_path_t *path);
static ngx_uint_t ngx_http_slidewin_api_begins(ngx_str_t *uri,
    ngx_str_t *prefix);
static ngx_str_t ngx_http_slidewin_api_segment(
    ngx_http_slidewin_api_path_t *path);
static ngx_int_t ngx_http_slidewin_api_redirect(ngx_http_request_t *r);
static ngx_int_t ngx_http_slidewin_api_zone(ngx_http_request_t *r,
    ngx_http_slidewin_api_path_t *path);
static ngx_int_t ngx_http_slidewin_api_key(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy, ngx_http_slidewin_api_path_t *path,
    ngx_uint_t in_args);
static ngx_uint_t ngx_http_slidewin_api_has_slashes(ngx_http_request_t *r);
static ngx_int_t ngx_http_slidewin_api_not_allowed(ngx_http_request_t *r,
    const char *allow);
static ngx_int_t ngx_http_slidewin_api_not_found(ngx_http_request_t *r,
    const char *error);
static ngx_int_t ngx_http_slidewin_api_dashboard(ngx_http_request_t *r);
static ngx_int_t ngx_http_slidewin_api_policy(ngx_conf_t *cf);
static u_char *ngx_http_slidewin_api_hash(u_char *p, const char *open,
    const char *close);


static const ngx_http_slidewin_api_page_t  ngx_http_slidewin_api_pages[] = {
    { ngx_string(""), ngx_http_slidewin_api_dashboard },
    { ngx_string("info"), ngx_http_slidewin_api_json_info },
    { ngx_string("zones"), ngx_http_slidewin_api_json_zones },
    { ngx_string("stores"), ngx_http_slidewin_api_json_stores },
    { ngx_string("metrics"), ngx_http_slidewin_api_metrics },
    { ngx_null_string, NULL }
};


static ngx_str_t  ngx_http_slidewin_api_html = {
    sizeof(ngx_http_slidewin_dashboard), ngx_http_slidewin_dashboard
};

static ngx_str_t  ngx_http_slidewin_api_html_type =
    ngx_string("text/html; charset=utf-8");

/* a Content-Security-Policy, by which the page runs its own script alone */
static u_char     ngx_http_slidewin_api_csp_text[512];
static ngx_str_t  ngx_http_slidewin_api_csp;


char *
ngx_http_slidewin_api_directive(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_slidewin_loc_conf_t  *slcf = conf;

    ngx_str_t                      *value;
    ngx_uint_t                      i;
    ngx_http_core_loc_conf_t       *clcf;
    ngx_http_slidewin_main_conf_t  *smcf;

    if (slcf->api) {
        return "is duplicate";
    }

    value = cf->args->elts;

    for (i = 1; i < cf->args->nelts; i++) {

        if (ngx_strcmp(value[i].data, "write=on") == 0 && !slcf->api_write) {
            slcf->api_write = 1;
            continue;
        }

        if (ngx_strcmp(value[i].data, "from=any") == 0
            && !slcf->api_from_any)
        {
            slcf->api_from_any = 1;
            continue;
        }

        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid parameter \"%V\" in \"%V\" directive, it "
                           "must be \"write=on\" or \"from=any\", each once",
                           &value[i], &cmd->name);
        return NGX_CONF_ERROR;
    }

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    /* what follows the prefix says what is asked for */

    if (clcf->named || clcf->exact_match
#if (NGX_PCRE)
        || clcf->regex
#endif
       )
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" directive must be in a location by prefix, "
                           "such as \"location /slidewin/\", not in \"%V\"",
                           &cmd->name, &clcf->name);
        return NGX_CONF_ERROR;
    }

    if (ngx_http_slidewin_api_policy(cf) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    clcf->handler = ngx_http_slidewin_api_handler;

    if (clcf->name.len && clcf->name.data[clcf->name.len - 1] == '/') {
        clcf->auto_redirect = 1;
    }

    smcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_slidewin_module);

    slcf->api = ngx_http_slidewin_api_handler;
    smcf->api = 1;

    return NGX_CONF_OK;
}


/* the hashes of what is between <script> and </script>, <style> and </style> */

static ngx_int_t
ngx_http_slidewin_api_policy(ngx_conf_t *cf)
{
    u_char  *p;

    p = ngx_http_slidewin_api_csp_text;

    p = ngx_cpymem(p, "default-src 'none'; script-src 'sha256-",
                   sizeof("default-src 'none'; script-src 'sha256-") - 1);
    p = ngx_http_slidewin_api_hash(p, "<script>", "</script>");

    if (p) {
        p = ngx_cpymem(p, "'; style-src 'sha256-",
                       sizeof("'; style-src 'sha256-") - 1);
        p = ngx_http_slidewin_api_hash(p, "<style>", "</style>");
    }

    if (p == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "the dashboard of \"slidewin_api\" cannot be "
                           "hashed");
        return NGX_ERROR;
    }

    p = ngx_cpymem(p, "'; connect-src 'self'; base-uri 'none'; form-action "
                      "'none'; frame-ancestors 'none'",
                   sizeof("'; connect-src 'self'; base-uri 'none'; "
                          "form-action 'none'; frame-ancestors 'none'") - 1);

    ngx_http_slidewin_api_csp.data = ngx_http_slidewin_api_csp_text;
    ngx_http_slidewin_api_csp.len = p - ngx_http_slidewin_api_csp_text;

    return NGX_OK;
}


static u_char *
ngx_http_slidewin_api_hash(u_char *p, const char *open, const char *close)
{
    u_char     *start, *end, *last;
    ngx_str_t   hash, text;
    u_char      digest[EVP_MAX_MD_SIZE];
    unsigned    digest_len;

    start = ngx_http_slidewin_api_html.data;
    last = start + ngx_http_slidewin_api_html.len;

    start = ngx_strnstr(start, (char *) open, last - start);
    if (start == NULL) {
        return NULL;
    }

    start += ngx_strlen(open);

    end = ngx_strnstr(start, (char *) close, last - start);
    if (end == NULL) {
        return NULL;
    }

    if (EVP_Digest(start, end - start, digest, &digest_len, EVP_sha256(), NULL)
        != 1)
    {
        return NULL;
    }

    hash.data = digest;
    hash.len = digest_len;
    text.data = p;

    ngx_encode_base64(&text, &hash);

    return p + text.len;
}


static ngx_int_t
ngx_http_slidewin_api_handler(ngx_http_request_t *r)
{
    ngx_int_t                            rc;
    ngx_str_t                            name;
    ngx_http_slidewin_api_path_t         path;
    const ngx_http_slidewin_api_page_t  *page;

    static ngx_str_t  zones = ngx_string("zones");

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    if (!ngx_http_slidewin_api_is_here(r)) {
        return ngx_http_slidewin_api_send_error(r, NGX_HTTP_FORBIDDEN,
                                     "this endpoint answers clients on its "
                                     "own machine, asked for as localhost, by "
                                     "address or by server_name, see from=any");
    }

    rc = ngx_http_slidewin_api_path(r, &path);

    if (rc == NGX_DONE) {
        return ngx_http_slidewin_api_redirect(r);
    }

    if (rc != NGX_OK) {
        return ngx_http_slidewin_api_not_found(r, "there is no such page");
    }

    name = ngx_http_slidewin_api_segment(&path);

    if (path.rest.data) {
        if (!ngx_http_slidewin_str_eq(&name, &zones)) {
            return ngx_http_slidewin_api_not_found(r, "there is no such page");
        }

        return ngx_http_slidewin_api_zone(r, &path);
    }

    for (page = ngx_http_slidewin_api_pages; page->handler; page++) {

        if (!ngx_http_slidewin_str_eq(&page->name, &name)) {
            continue;
        }

        if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
            return ngx_http_slidewin_api_not_allowed(r,
                                                  NGX_HTTP_SLIDEWIN_API_READ);
        }

        return page->handler(r);
    }

    return ngx_http_slidewin_api_not_found(r, "there is no such page");
}


/*
 * What follows the prefix of the location.  As the client wrote it: nginx has
 * decoded and merged what may be part of a key.  After an internal redirect
 * there is only what nginx made.  NGX_DONE: the prefix itself, without the
 * slash that relative links need.
 */

static ngx_int_t
ngx_http_slidewin_api_path(ngx_http_request_t *r,
    ngx_http_slidewin_api_path_t *path)
{
    size_t                     len;
    ngx_str_t                 *prefix, uri;
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);
    prefix = &clcf->name;

    uri = r->unparsed_uri;
    path->encoded = 1;

    for (len = 0; len < uri.len; len++) {
        if (uri.data[len] == '?' || uri.data[len] == '#') {
            uri.len = len;
        }
    }

    if (!r->valid_unparsed_uri || !ngx_http_slidewin_api_begins(&uri, prefix)) {
        uri = r->uri;
        path->encoded = 0;
    }

    /* a "rewrite ... break" leaves the location with any URI */

    if (!ngx_http_slidewin_api_begins(&uri, prefix)) {
        return NGX_DECLINED;
    }

    path->rest.data = uri.data + prefix->len;
    path->rest.len = uri.len - prefix->len;

    if (prefix->len && prefix->data[prefix->len - 1] == '/') {
        return NGX_OK;
    }

    if (path->rest.len == 0) {
        return NGX_DONE;
    }

    if (path->rest.data[0] != '/') {
        return NGX_DECLINED;
    }

    path->rest.data++;
    path->rest.len--;

    return NGX_OK;
}


static ngx_uint_t
ngx_http_slidewin_api_begins(ngx_str_t *uri, ngx_str_t *prefix)
{
    return uri->len >= prefix->len
           && ngx_memcmp(uri->data, prefix->data, prefix->len) == 0;
}


/* the next part of the path; after the last one, rest.data is NULL */

static ngx_str_t
ngx_http_slidewin_api_segment(ngx_http_slidewin_api_path_t *path)
{
    u_char     *p;
    ngx_str_t   segment;

    segment = path->rest;
    p = ngx_strlchr(segment.data, segment.data + segment.len, '/');

    if (p == NULL) {
        ngx_str_null(&path->rest);
        return segment;
    }

    segment.len = p - segment.data;

    path->rest.data = p + 1;
    path->rest.len -= segment.len + 1;

    return segment;
}


static ngx_int_t
ngx_http_slidewin_api_redirect(ngx_http_request_t *r)
{
    u_char                    *p;
    uintptr_t                  escape;
    ngx_str_t                 *prefix, location;
    ngx_http_core_loc_conf_t  *clcf;

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
        return ngx_http_slidewin_api_not_allowed(r,
                                                 NGX_HTTP_SLIDEWIN_API_READ);
    }

    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    prefix = &clcf->name;
    escape = 2 * ngx_escape_uri(NULL, prefix->data, prefix->len,
                                NGX_ESCAPE_URI);

    p = ngx_pnalloc(r->pool, prefix->len + escape + 1);
    if (p == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    location.data = p;
    p = (u_char *) ngx_escape_uri(p, prefix->data, prefix->len,
                                  NGX_ESCAPE_URI);
    *p++ = '/';
    location.len = p - location.data;

    if (ngx_http_slidewin_api_add_header(r, "Location", &location) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_slidewin_api_send_empty(r, NGX_HTTP_MOVED_PERMANENTLY);
}


/* zones/NAME, with /top, /bans, /keys/KEY or /keys?key=KEY behind it */

static ngx_int_t
ngx_http_slidewin_api_zone(ngx_http_request_t *r,
    ngx_http_slidewin_api_path_t *path)
{
    ngx_str_t                       name, what;
    ngx_http_slidewin_policy_t     *policy;
    ngx_http_slidewin_main_conf_t  *smcf;

    static ngx_str_t  top = ngx_string("top");
    static ngx_str_t  bans = ngx_string("bans");
    static ngx_str_t  keys = ngx_string("keys");

    smcf = ngx_http_get_module_main_conf(r, ngx_http_slidewin_module);

    name = ngx_http_slidewin_api_segment(path);
    policy = ngx_http_slidewin_conf_find_policy(smcf, &name);

    if (policy == NULL) {
        return ngx_http_slidewin_api_not_found(r, "there is no such zone");
    }

    ngx_str_null(&what);

    if (path->rest.data) {
        what = ngx_http_slidewin_api_segment(path);

        if (ngx_http_slidewin_str_eq(&what, &keys)) {
            return ngx_http_slidewin_api_key(r, policy, path,
                                             path->rest.data == NULL);
        }

        if (path->rest.data
            || !(ngx_http_slidewin_str_eq(&what, &top)
                 || ngx_http_slidewin_str_eq(&what, &bans)))
        {
            return ngx_http_slidewin_api_not_found(r, "there is no such page");
        }
    }

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
        return ngx_http_slidewin_api_not_allowed(r,
                                                 NGX_HTTP_SLIDEWIN_API_READ);
    }

    if (ngx_http_slidewin_str_eq(&what, &bans)) {
        return ngx_http_slidewin_api_json_bans(r, policy);
    }

    return what.len ? ngx_http_slidewin_api_json_top(r, policy)
                    : ngx_http_slidewin_api_json_zone(r, policy);
}


static ngx_int_t
ngx_http_slidewin_api_key(ngx_http_request_t *r,
    ngx_http_slidewin_policy_t *policy, ngx_http_slidewin_api_path_t *path,
    ngx_uint_t in_args)
{
    ngx_str_t                      text, page, key, rate;
    ngx_http_slidewin_loc_conf_t  *slcf;

    text = path->rest;

    if (in_args
        && ngx_http_arg(r, (u_char *) "key", 3, &text) != NGX_OK)
    {
        return ngx_http_slidewin_api_not_found(r, "which key? keys/KEY, or "
                                                  "keys?key=KEY");
    }

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_slidewin_module);

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD|NGX_HTTP_DELETE))
        || (r->method == NGX_HTTP_DELETE && !slcf->api_write))
    {
        return ngx_http_slidewin_api_not_allowed(r,
                                      slcf->api_write
                                      ? NGX_HTTP_SLIDEWIN_API_WRITE
                                      : NGX_HTTP_SLIDEWIN_API_READ);
    }

    if (text.len == 0) {
        return ngx_http_slidewin_api_send_error(r, NGX_HTTP_BAD_REQUEST,
                                       "a key is not empty: requests with an "
                                       "empty one are not counted");
    }

    /*
     * For nginx, "keys/../../x" is another page, which other locations and
     * conditions may be for.
     */

    if (path->encoded && !in_args) {
        page.data = r->unparsed_uri.data;
        page.len = text.data - page.data;

        if (!ngx_http_slidewin_api_begins(&r->uri, &page)) {
            return ngx_http_slidewin_api_send_error(r, NGX_HTTP_BAD_REQUEST,
                                       "a key with .. between slashes "
                                       "needs keys?key=KEY");
        }
    }

    if (!path->encoded && !in_args && ngx_http_slidewin_api_has_slashes(r)) {
        return ngx_http_slidewin_api_send_error(r, NGX_HTTP_BAD_REQUEST,
                                       "nginx makes one slash of several: here "
                                       "a key with slashes needs keys?key=KEY");
    }

    key = text;

    if (path->encoded || in_args) {
        key.data = ngx_pnalloc(r->pool, text.len);
        if (key.data == NULL) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        if (sw_text_from_uri(key.data, (char *) text.data, text.len, &key.len)
            != 0)
        {
            return ngx_http_slidewin_api_send_error(r, NGX_HTTP_BAD_REQUEST,
                                       "the key is not percent-encoded");
        }
    }

    if (r->method == NGX_HTTP_DELETE) {
        if (ngx_http_slidewin_api_is_foreign(r)) {
            return ngx_http_slidewin_api_send_error(r, NGX_HTTP_FORBIDDEN,
                                       "this is a page of another site");
        }

        return ngx_http_slidewin_api_key_delete(r, policy, &key);
    }

    if (ngx_http_arg(r, (u_char *) "rate", 4, &rate) != NGX_OK) {
        ngx_str_null(&rate);
    }

    return ngx_http_slidewin_api_key_get(r, policy, &key, &rate);
}


/*
 * Whether the client wrote slashes that nginx has merged in r->uri: they may
 * have been part of a key.
 */

static ngx_uint_t
ngx_http_slidewin_api_has_slashes(ngx_http_request_t *r)
{
    u_char                    *p, *last;
    ngx_uint_t                 slash;
    ngx_http_core_srv_conf_t  *cscf;

    cscf = ngx_http_get_module_srv_conf(r, ngx_http_core_module);

    if (!cscf->merge_slashes) {
        return 0;
    }

    p = r->unparsed_uri.data;
    last = p + r->unparsed_uri.len;
    slash = 0;

    while (p < last && *p != '?') {

        if (*p == '/') {
            p++;

        } else if (last - p >= 3 && ngx_strncasecmp(p, (u_char *) "%2f", 3)
                                    == 0)
        {
            p += 3;

        } else {
            p++;
            slash = 0;
            continue;
        }

        if (slash) {
            return 1;
        }

        slash = 1;
    }

    return 0;
}


static ngx_int_t
ngx_http_slidewin_api_not_allowed(ngx_http_request_t *r, const char *allow)
{
    ngx_str_t  value;

    value.data = (u_char *) allow;
    value.len = ngx_strlen(allow);

    if (ngx_http_slidewin_api_add_header(r, "Allow", &value) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_slidewin_api_send_error(r, NGX_HTTP_NOT_ALLOWED,
                                            "this method is not allowed here");
}


static ngx_int_t
ngx_http_slidewin_api_not_found(ngx_http_request_t *r, const char *error)
{
    return ngx_http_slidewin_api_send_error(r, NGX_HTTP_NOT_FOUND, error);
}


static ngx_int_t
ngx_http_slidewin_api_dashboard(ngx_http_request_t *r)
{
    if (ngx_http_slidewin_api_add_header(r, "Content-Security-Policy",
                                         &ngx_http_slidewin_api_csp)
        != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_slidewin_api_send_text(r, &ngx_http_slidewin_api_html_type,
                                           &ngx_http_slidewin_api_html);
}
