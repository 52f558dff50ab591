
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_api_send.h"
#include "sw_text.h"


static ngx_int_t ngx_http_slidewin_api_send_header(ngx_http_request_t *r,
    ngx_uint_t status, ngx_str_t *content_type, off_t length);
static ngx_int_t ngx_http_slidewin_api_make_part(
    ngx_http_slidewin_api_body_t *body, ngx_chain_t **out);
static ngx_int_t ngx_http_slidewin_api_send_part(
    ngx_http_slidewin_api_body_t *body, ngx_chain_t *out);
static void ngx_http_slidewin_api_send_more(ngx_http_request_t *r);
static void ngx_http_slidewin_api_body_cleanup(void *data);
static ngx_http_slidewin_api_body_t *ngx_http_slidewin_api_body_find(
    ngx_http_request_t *r);


ngx_str_t  ngx_http_slidewin_api_json_type =
    ngx_string("application/json; charset=utf-8");


/*
 * The first part is made before the header, which has the length of a short
 * response.
 */

ngx_int_t
ngx_http_slidewin_api_send(ngx_http_request_t *r, ngx_str_t *content_type,
    ngx_http_slidewin_api_body_t *body)
{
    ngx_int_t            rc;
    ngx_chain_t         *out;
    ngx_pool_cleanup_t  *cln;

    body->request = r;

    if (ngx_http_slidewin_api_make_part(body, &out) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    rc = ngx_http_slidewin_api_send_header(r, NGX_HTTP_OK, content_type,
                                           body->complete
                                           ? ngx_buf_size(out->buf) : -1);

    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    if (!body->complete) {

        /* a request has no other place that is not the access handler's */

        cln = ngx_pool_cleanup_add(r->pool, 0);
        if (cln == NULL) {
            return NGX_ERROR;
        }

        cln->handler = ngx_http_slidewin_api_body_cleanup;
        cln->data = body;
    }

    rc = ngx_http_slidewin_api_send_part(body, out);

    if (rc == NGX_AGAIN) {
        r->main->count++;
        return NGX_DONE;
    }

    return rc;
}


static ngx_int_t
ngx_http_slidewin_api_make_part(ngx_http_slidewin_api_body_t *body,
    ngx_chain_t **out)
{
    size_t               size;
    ngx_buf_t           *b;
    ngx_chain_t         *cl;
    ngx_http_request_t  *r;

    r = body->request;

    cl = ngx_chain_get_free_buf(r->pool, &body->free);
    if (cl == NULL) {
        return NGX_ERROR;
    }

    b = cl->buf;

    if (b->start == NULL) {
        size = body->part ? body->part : NGX_HTTP_SLIDEWIN_API_PART;

        b->start = ngx_palloc(r->pool, size);
        if (b->start == NULL) {
            return NGX_ERROR;
        }

        b->end = b->start + size;
        b->temporary = 1;
        b->tag = (ngx_buf_tag_t) &ngx_http_slidewin_api_send;
    }

    b->pos = b->start;
    b->last = b->start;

    if (body->next(body, b) == NGX_OK) {
        body->complete = 1;
        b->flush = 0;
        b->last_buf = (r == r->main);
        b->last_in_chain = 1;

    } else {
        /* or postpone_output would wait for the part that waits for this */
        b->flush = 1;
    }

    *out = cl;

    return NGX_OK;
}


/*
 * NGX_AGAIN if an event sends more: when the client has read, or in the next
 * turn of the event loop, so that other requests need not wait for all parts.
 */

static ngx_int_t
ngx_http_slidewin_api_send_part(ngx_http_slidewin_api_body_t *body,
    ngx_chain_t *out)
{
    ngx_int_t                  rc;
    ngx_event_t               *wev;
    ngx_http_request_t        *r;
    ngx_http_core_loc_conf_t  *clcf;

    r = body->request;
    wev = r->connection->write;

    rc = ngx_http_output_filter(r, out);

    ngx_chain_update_chains(r->pool, &body->free, &body->busy, &out,
                            (ngx_buf_tag_t) &ngx_http_slidewin_api_send);

    if (rc == NGX_ERROR || rc > NGX_OK) {
        return NGX_ERROR;
    }

    if (body->complete) {
        return NGX_OK;
    }

    r->write_event_handler = ngx_http_slidewin_api_send_more;
    body->waiting = (rc == NGX_AGAIN);

    if (rc == NGX_OK) {
        ngx_post_event(wev, &ngx_posted_next_events);
        return NGX_AGAIN;
    }

    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    if (!wev->delayed) {
        ngx_add_timer(wev, clcf->send_timeout);
    }

    if (ngx_handle_write_event(wev, clcf->send_lowat) != NGX_OK) {
        return NGX_ERROR;
    }

    return NGX_AGAIN;
}


static void
ngx_http_slidewin_api_send_more(ngx_http_request_t *r)
{
    ngx_int_t                      rc;
    ngx_chain_t                   *out;
    ngx_event_t                   *wev;
    ngx_http_slidewin_api_body_t  *body;

    wev = r->connection->write;

    if (wev->timedout) {
        r->connection->timedout = 1;
        ngx_http_finalize_request(r, NGX_HTTP_REQUEST_TIME_OUT);
        return;
    }

    if (wev->timer_set && !wev->delayed) {
        ngx_del_timer(wev);
    }

    body = ngx_http_slidewin_api_body_find(r);
    out = NULL;

    if (body == NULL
        || (!body->waiting
            && ngx_http_slidewin_api_make_part(body, &out) != NGX_OK))
    {
        ngx_http_finalize_request(r, NGX_ERROR);
        return;
    }

    rc = ngx_http_slidewin_api_send_part(body, out);

    if (rc != NGX_AGAIN) {
        ngx_http_finalize_request(r, rc);
    }
}


/* marks the body of a request among the cleanups of its pool */

static void
ngx_http_slidewin_api_body_cleanup(void *data)
{
    /* void */
}


static ngx_http_slidewin_api_body_t *
ngx_http_slidewin_api_body_find(ngx_http_request_t *r)
{
    ngx_pool_cleanup_t            *cln;
    ngx_http_slidewin_api_body_t  *body;

    for (cln = r->pool->cleanup; cln; cln = cln->next) {

        if (cln->handler != ngx_http_slidewin_api_body_cleanup) {
            continue;
        }

        body = cln->data;

        if (body->request == r) {
            return body;
        }
    }

    return NULL;
}


ngx_int_t
ngx_http_slidewin_api_send_text(ngx_http_request_t *r, ngx_str_t *content_type,
    ngx_str_t *text)
{
    ngx_int_t    rc;
    ngx_buf_t   *b;
    ngx_chain_t  out;

    rc = ngx_http_slidewin_api_send_header(r,
                                           r->headers_out.status
                                           ? r->headers_out.status
                                           : NGX_HTTP_OK,
                                           content_type, text->len);

    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    b = ngx_calloc_buf(r->pool);
    if (b == NULL) {
        return NGX_ERROR;
    }

    b->pos = text->data;
    b->last = text->data + text->len;
    b->memory = 1;
    b->last_buf = (r == r->main);
    b->last_in_chain = 1;

    out.buf = b;
    out.next = NULL;

    return ngx_http_output_filter(r, &out);
}


ngx_int_t
ngx_http_slidewin_api_send_error(ngx_http_request_t *r, ngx_uint_t status,
    const char *error)
{
    u_char     *p;
    ngx_str_t   text;

    p = ngx_pnalloc(r->pool,
                    sizeof("{\"error\": \"\"}\n") - 1 + ngx_strlen(error));
    if (p == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    text.data = p;
    text.len = ngx_sprintf(p, "{\"error\": \"%s\"}\n", error) - p;

    r->headers_out.status = status;

    return ngx_http_slidewin_api_send_text(r, &ngx_http_slidewin_api_json_type,
                                           &text);
}


ngx_int_t
ngx_http_slidewin_api_send_empty(ngx_http_request_t *r, ngx_uint_t status)
{
    r->header_only = 1;

    return ngx_http_slidewin_api_send_header(r, status, NULL,
                                             status == NGX_HTTP_NO_CONTENT
                                             ? -1 : 0);
}


/* answers are of the moment, may name clients, and are never a page's of
 * another site */

static ngx_int_t
ngx_http_slidewin_api_send_header(ngx_http_request_t *r, ngx_uint_t status,
    ngx_str_t *content_type, off_t length)
{
    ngx_uint_t  i;
    u_char     *p;

    static struct {
        const char  *name;
        ngx_str_t    value;
    } headers[] = {
        { "Cache-Control", ngx_string("no-store") },
        { "X-Content-Type-Options", ngx_string("nosniff") },
        { "Referrer-Policy", ngx_string("no-referrer") },
        { "Cross-Origin-Resource-Policy", ngx_string("same-origin") }
    };

    for (i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        if (ngx_http_slidewin_api_add_header(r, headers[i].name,
                                             &headers[i].value)
            != NGX_OK)
        {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    r->headers_out.status = status;
    r->headers_out.content_length_n = length;

    if (content_type) {
        r->headers_out.content_type = *content_type;
        r->headers_out.content_type_lowcase = NULL;

        /* gzip_types know the type without parameters */

        p = ngx_strlchr(content_type->data,
                        content_type->data + content_type->len, ';');

        r->headers_out.content_type_len = p ? (size_t)
                                              (p - content_type->data)
                                            : content_type->len;
    }

    return ngx_http_send_header(r);
}


ngx_int_t
ngx_http_slidewin_api_add_header(ngx_http_request_t *r, const char *name,
    ngx_str_t *value)
{
    ngx_table_elt_t  *h;

    h = ngx_list_push(&r->headers_out.headers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    h->hash = 1;
    h->key.len = ngx_strlen(name);
    h->key.data = (u_char *) name;
    h->value = *value;

#if (nginx_version >= 1023000)
    h->next = NULL;
#endif

    return NGX_OK;
}


void
ngx_http_slidewin_api_print_json(ngx_buf_t *b, const void *data, size_t len)
{
    len = ngx_min(len, (size_t) (b->end - b->last) / SW_TEXT_MAX);

    b->last += sw_text_json((char *) b->last, data, len);
}


void
ngx_http_slidewin_api_print_seconds(ngx_buf_t *b, int64_t ms)
{
    ngx_http_slidewin_api_print(b, "%L", ms / 1000);

    if (ms % 1000) {
        ngx_http_slidewin_api_print(b, ".%03L", ms % 1000);
    }
}
