
/*
 * Responses of the endpoint.  A long one is made in parts, a turn of the event
 * loop for each, and not faster than its client reads.
 */


#ifndef _NGX_HTTP_SLIDEWIN_API_SEND_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_API_SEND_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


/* of a part; and what next() finds free in it, as long as it makes progress */
#define NGX_HTTP_SLIDEWIN_API_PART  32768
#define NGX_HTTP_SLIDEWIN_API_ITEM  16384


typedef struct ngx_http_slidewin_api_body_s  ngx_http_slidewin_api_body_t;


/*
 * next() writes on into the buffer: NGX_OK if that was all, NGX_AGAIN if there
 * is more to come.
 */

typedef ngx_int_t (*ngx_http_slidewin_api_next_pt)(
    ngx_http_slidewin_api_body_t *body, ngx_buf_t *b);


struct ngx_http_slidewin_api_body_s {
    ngx_http_slidewin_api_next_pt  next;
    void                          *data;       /* of next() */
    ngx_uint_t                     section;    /* the same, from 0 on */
    ngx_uint_t                     item;       /* the same, from 0 on */
    size_t                         part;       /* bytes, if not API_PART */

    ngx_http_request_t            *request;
    ngx_chain_t                   *free;
    ngx_chain_t                   *busy;
    unsigned                       complete:1;
    unsigned                       waiting:1;  /* for the client to read */
};


/* all return what is to be given to ngx_http_finalize_request() */

ngx_int_t ngx_http_slidewin_api_send(ngx_http_request_t *r,
    ngx_str_t *content_type, ngx_http_slidewin_api_body_t *body);
ngx_int_t ngx_http_slidewin_api_send_text(ngx_http_request_t *r,
    ngx_str_t *content_type, ngx_str_t *text);
ngx_int_t ngx_http_slidewin_api_send_error(ngx_http_request_t *r,
    ngx_uint_t status, const char *error);
ngx_int_t ngx_http_slidewin_api_send_empty(ngx_http_request_t *r,
    ngx_uint_t status);

ngx_int_t ngx_http_slidewin_api_add_header(ngx_http_request_t *r,
    const char *name, ngx_str_t *value);

#define ngx_http_slidewin_api_print(b, ...)                                   \
    (b)->last = ngx_slprintf((b)->last, (b)->end, __VA_ARGS__)

/* the inside of a JSON string; what does not fit is left out */
void ngx_http_slidewin_api_print_json(ngx_buf_t *b, const void *data,
    size_t len);

/* milliseconds as seconds */
void ngx_http_slidewin_api_print_seconds(ngx_buf_t *b, int64_t ms);


extern ngx_str_t  ngx_http_slidewin_api_json_type;


#endif /* _NGX_HTTP_SLIDEWIN_API_SEND_H_INCLUDED_ */
