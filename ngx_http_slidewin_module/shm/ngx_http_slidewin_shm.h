
/*
 * The local store: counters in the zone of the policy, exact across workers.
 */


#ifndef _NGX_HTTP_SLIDEWIN_SHM_H_INCLUDED_
#define _NGX_HTTP_SLIDEWIN_SHM_H_INCLUDED_


#include "ngx_http_slidewin_backend.h"


extern const ngx_http_slidewin_backend_t  ngx_http_slidewin_shm_backend;


#endif /* _NGX_HTTP_SLIDEWIN_SHM_H_INCLUDED_ */
