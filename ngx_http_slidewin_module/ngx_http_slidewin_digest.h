
#ifndef _NGX_HTTP_SLIDEWIN_DIGEST_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_DIGEST_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_sha1.h>

#include "sw_key.h"


/* an sw_digest_pt */

static ngx_inline void
ngx_http_slidewin_digest(u_char digest[SW_KEY_DIGEST], const void *data,
    size_t len)
{
    ngx_sha1_t  sha1;

    ngx_sha1_init(&sha1);
    ngx_sha1_update(&sha1, data, len);
    ngx_sha1_final(digest, &sha1);
}


#endif /* _NGX_HTTP_SLIDEWIN_DIGEST_H_INCLUDED_ */
