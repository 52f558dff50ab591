
/*
 * For tests only, never in a release: a store that answers later, or not at
 * all, and a location that peeks at a key and resets it.
 *
 *     slidewin_test_store NAME [delay=TIME] [fail] [silent];     http
 *     slidewin_test_key ZONE;                                    location
 *     slidewin_test_die ZONE queue|all;                          location
 *     slidewin_test_steps;                                       location
 */


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "ngx_http_slidewin_conf.h"
#include "ngx_http_slidewin_module.h"
#include "ngx_http_slidewin_shm.h"
#include "ngx_http_slidewin_zone_repair.h"
#include "sw_step.h"


typedef struct {
    ngx_msec_t                  delay;
    ngx_flag_t                  fail;
    ngx_flag_t                  silent;
} ngx_http_slidewin_test_store_t;


/* outlives the request: its timer must not dangle if the call is cancelled */

typedef struct {
    ngx_event_t                 event;
    ngx_http_slidewin_store_t  *store;
    ngx_http_slidewin_call_t   *call;
} ngx_http_slidewin_test_pending_t;


/* a peek at a key, or its reset */

typedef struct {
    ngx_http_slidewin_call_t    call;
    ngx_http_slidewin_claim_t   claim;
    ngx_http_slidewin_claim_t  *claims;
    ngx_http_slidewin_store_t  *store;
    ngx_http_request_t         *request;
    u_char                      text[128];
} ngx_http_slidewin_test_ask_t;


typedef struct {
    ngx_str_t                   zone;
    ngx_str_t                   broken;
} ngx_http_slidewin_test_loc_conf_t;


static ngx_int_t ngx_http_slidewin_test_take(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call);
static void ngx_http_slidewin_test_answer(ngx_event_t *ev);
static ngx_int_t ngx_http_slidewin_test_reset(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_test_give_back(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_test_charge(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call);
static void ngx_http_slidewin_test_cancel(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call);
static ngx_int_t ngx_http_slidewin_test_reassign(
    ngx_http_slidewin_store_t *store, ngx_http_slidewin_call_t *call,
    ngx_http_slidewin_call_t *replacement);

static ngx_int_t ngx_http_slidewin_test_key_handler(ngx_http_request_t *r);
static void ngx_http_slidewin_test_key_done(ngx_http_slidewin_call_t *call,
    ngx_int_t rc);
static void ngx_http_slidewin_test_key_cleanup(void *data);
static ngx_int_t ngx_http_slidewin_test_key_answer(
    ngx_http_slidewin_test_ask_t *ask, ngx_int_t rc);
static ngx_int_t ngx_http_slidewin_test_die_handler(ngx_http_request_t *r);
static ngx_int_t ngx_http_slidewin_test_steps_handler(ngx_http_request_t *r);
static void ngx_http_slidewin_test_step(void);
static ngx_http_slidewin_policy_t *ngx_http_slidewin_test_policy(
    ngx_http_request_t *r);

static char *ngx_http_slidewin_test_store(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
static char *ngx_http_slidewin_test_location(ngx_conf_t *cf,
    ngx_command_t *cmd, void *conf);
static void *ngx_http_slidewin_test_create_loc_conf(ngx_conf_t *cf);


static ngx_int_t  ngx_http_slidewin_test_steps;


static const ngx_http_slidewin_backend_t  ngx_http_slidewin_test_backend = {
    ngx_http_slidewin_test_take,
    NULL,
    ngx_http_slidewin_test_reset,
    ngx_http_slidewin_test_give_back,
    ngx_http_slidewin_test_charge,
    ngx_http_slidewin_test_cancel,
    ngx_http_slidewin_test_reassign,
    NULL,
    NULL,
    NULL,
    NULL
};


static ngx_command_t  ngx_http_slidewin_test_commands[] = {

    { ngx_string("slidewin_test_store"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_1MORE,
      ngx_http_slidewin_test_store,
      0,
      0,
      NULL },

    { ngx_string("slidewin_test_key"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_http_slidewin_test_location,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      ngx_http_slidewin_test_key_handler },

    { ngx_string("slidewin_test_die"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE2,
      ngx_http_slidewin_test_location,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      ngx_http_slidewin_test_die_handler },

    { ngx_string("slidewin_test_steps"),
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS,
      ngx_http_slidewin_test_location,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      ngx_http_slidewin_test_steps_handler },

      ngx_null_command
};


static ngx_http_module_t  ngx_http_slidewin_test_module_ctx = {
    NULL,                                  /* preconfiguration */
    NULL,                                  /* postconfiguration */

    NULL,                                  /* create main configuration */
    NULL,                                  /* init main configuration */

    NULL,                                  /* create server configuration */
    NULL,                                  /* merge server configuration */

    ngx_http_slidewin_test_create_loc_conf,/* create location configuration */
    NULL                                   /* merge location configuration */
};


ngx_module_t  ngx_http_slidewin_test_module = {
    NGX_MODULE_V1,
    &ngx_http_slidewin_test_module_ctx,    /* module context */
    ngx_http_slidewin_test_commands,       /* module directives */
    NGX_HTTP_MODULE,                       /* module type */
    NULL,                                  /* init master */
    NULL,                                  /* init module */
    NULL,                                  /* init process */
    NULL,                                  /* init thread */
    NULL,                                  /* exit thread */
    NULL,                                  /* exit process */
    NULL,                                  /* exit master */
    NGX_MODULE_V1_PADDING
};


static ngx_int_t
ngx_http_slidewin_test_take(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    ngx_http_slidewin_test_store_t    *ts;
    ngx_http_slidewin_test_pending_t  *pending;

    ts = store->data;

    if (ts->fail && ts->delay == 0) {
        return NGX_ERROR;
    }

    pending = ngx_calloc(sizeof(ngx_http_slidewin_test_pending_t),
                         ngx_cycle->log);
    if (pending == NULL) {
        return NGX_ERROR;
    }

    pending->store = store;
    pending->call = call;
    pending->event.handler = ngx_http_slidewin_test_answer;
    pending->event.data = pending;
    pending->event.log = ngx_cycle->log;

    call->pending = pending;

    if (!ts->silent) {
        ngx_add_timer(&pending->event, ts->delay);
    }

    return NGX_AGAIN;
}


static void
ngx_http_slidewin_test_answer(ngx_event_t *ev)
{
    ngx_int_t                          rc;
    ngx_http_slidewin_call_t          *call;
    ngx_http_slidewin_test_store_t    *ts;
    ngx_http_slidewin_test_pending_t  *pending;

    pending = ev->data;
    ts = pending->store->data;
    call = pending->call;

    rc = ts->fail ? NGX_ERROR
                  : ngx_http_slidewin_shm_backend.take(pending->store, call);

    ngx_free(pending);

    call->pending = NULL;
    call->done(call, rc);
}


static ngx_int_t
ngx_http_slidewin_test_reset(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    return ngx_http_slidewin_shm_backend.reset(store, call);
}


static ngx_int_t
ngx_http_slidewin_test_give_back(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    return ngx_http_slidewin_shm_backend.give_back(store, call);
}


static ngx_int_t
ngx_http_slidewin_test_charge(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    return ngx_http_slidewin_shm_backend.charge(store, call);
}


static void
ngx_http_slidewin_test_cancel(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call)
{
    ngx_http_slidewin_test_pending_t  *pending;

    pending = call->pending;

    ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                  "slidewin test store \"%V\": call cancelled", &store->name);

    if (pending->event.timer_set) {
        ngx_del_timer(&pending->event);
    }

    ngx_free(pending);
    call->pending = NULL;
}


static ngx_int_t
ngx_http_slidewin_test_reassign(ngx_http_slidewin_store_t *store,
    ngx_http_slidewin_call_t *call, ngx_http_slidewin_call_t *replacement)
{
    ngx_http_slidewin_test_pending_t  *pending;

    pending = call->pending;

    pending->call = replacement;
    replacement->pending = pending;
    call->pending = NULL;

    return NGX_OK;
}


/* GET peeks at ?key, DELETE resets it */

static ngx_int_t
ngx_http_slidewin_test_key_handler(ngx_http_request_t *r)
{
    ngx_int_t                      rc;
    ngx_pool_cleanup_t            *cln;
    ngx_http_slidewin_policy_t    *policy;
    ngx_http_slidewin_test_ask_t  *ask;

    static ngx_str_t  key_name = ngx_string("key");

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    cln = ngx_pool_cleanup_add(r->pool, sizeof(ngx_http_slidewin_test_ask_t));
    if (cln == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ask = cln->data;
    ngx_memzero(ask, sizeof(ngx_http_slidewin_test_ask_t));

    policy = ngx_http_slidewin_test_policy(r);

    if (ngx_http_arg(r, key_name.data, key_name.len, &ask->claim.key)
        != NGX_OK)
    {
        return NGX_HTTP_BAD_REQUEST;
    }

    ask->request = r;
    ask->store = policy->store;
    ask->claims = &ask->claim;

    ask->claim.zone = policy->zone;
    ask->claim.name = policy->name;
    ask->claim.rule = policy->rule;

    ask->call.claims = &ask->claims;
    ask->call.n = 1;
    ask->call.log = r->connection->log;
    ask->call.done = ngx_http_slidewin_test_key_done;
    ask->call.data = ask;

    if (r->method == NGX_HTTP_DELETE) {
        rc = ask->store->backend->reset(ask->store, &ask->call);

    } else if (ask->store->backend == &ngx_http_slidewin_test_backend) {

        /* the fake store counts in shared memory, which answers at once */

        rc = ngx_http_slidewin_shm_backend.take(ask->store, &ask->call);

    } else {
        rc = ask->store->backend->take(ask->store, &ask->call);
    }

    if (rc != NGX_AGAIN) {
        return ngx_http_slidewin_test_key_answer(ask, rc);
    }

    cln->handler = ngx_http_slidewin_test_key_cleanup;
    r->main->count++;

    return NGX_DONE;
}


static void
ngx_http_slidewin_test_key_done(ngx_http_slidewin_call_t *call, ngx_int_t rc)
{
    ngx_connection_t              *c;
    ngx_http_slidewin_test_ask_t  *ask;

    ask = call->data;
    c = ask->request->connection;

    ngx_http_finalize_request(ask->request,
                              ngx_http_slidewin_test_key_answer(ask, rc));
    ngx_http_run_posted_requests(c);
}


static void
ngx_http_slidewin_test_key_cleanup(void *data)
{
    ngx_http_slidewin_test_ask_t  *ask = data;

    if (ask->call.pending) {
        ask->store->backend->cancel(ask->store, &ask->call);
    }
}


static ngx_int_t
ngx_http_slidewin_test_key_answer(ngx_http_slidewin_test_ask_t *ask,
    ngx_int_t rc)
{
    u_char                    *p;
    ngx_str_t                  type;
    ngx_http_request_t        *r;
    ngx_http_complex_value_t   cv;

    r = ask->request;

    ngx_str_set(&type, "text/plain");
    ngx_memzero(&cv, sizeof(ngx_http_complex_value_t));

    cv.value.data = ask->text;

    if (r->method == NGX_HTTP_DELETE) {
        p = ngx_sprintf(ask->text, "reset %i\n", rc);

    } else {
        sw_verdict_complete(&ask->claim.verdict, &ask->claim.rule);

        p = ngx_sprintf(ask->text, "remaining %L, reset %L, rc %i\n",
                        ask->claim.verdict.remaining,
                        ask->claim.verdict.reset, rc);
    }

    cv.value.len = p - ask->text;

    return ngx_http_send_response(r, NGX_HTTP_OK, &type, &cv);
}


/* the worker is killed while it changes the lists of a zone, or all of it */

static ngx_int_t
ngx_http_slidewin_test_die_handler(ngx_http_request_t *r)
{
    ngx_http_slidewin_policy_t         *policy;
    ngx_http_slidewin_test_loc_conf_t  *tlcf;

    tlcf = ngx_http_get_module_loc_conf(r, ngx_http_slidewin_test_module);
    policy = ngx_http_slidewin_test_policy(r);

    ngx_http_slidewin_zone_repair_test_crash(policy->zone,
                                             tlcf->broken.data[0] == 'a');

    return NGX_ERROR;
}


/* ?n: the worker dies at that step of the changes it makes from now on */

static ngx_int_t
ngx_http_slidewin_test_steps_handler(ngx_http_request_t *r)
{
    ngx_int_t                  n;
    ngx_str_t                  type, value;
    ngx_http_complex_value_t   cv;

    static u_char  name[] = "n";

    if (ngx_http_discard_request_body(r) != NGX_OK
        || ngx_http_arg(r, name, 1, &value) != NGX_OK)
    {
        return NGX_HTTP_BAD_REQUEST;
    }

    n = ngx_atoi(value.data, value.len);

    if (n == NGX_ERROR) {
        return NGX_HTTP_BAD_REQUEST;
    }

    ngx_http_slidewin_test_steps = n;
    sw_stepped = ngx_http_slidewin_test_step;

    ngx_str_set(&type, "text/plain");
    ngx_memzero(&cv, sizeof(ngx_http_complex_value_t));

    return ngx_http_send_response(r, NGX_HTTP_OK, &type, &cv);
}


static void
ngx_http_slidewin_test_step(void)
{
    if (ngx_http_slidewin_test_steps
        && --ngx_http_slidewin_test_steps == 0)
    {
        (void) raise(SIGKILL);
    }
}


static ngx_http_slidewin_policy_t *
ngx_http_slidewin_test_policy(ngx_http_request_t *r)
{
    ngx_uint_t                          i;
    ngx_http_slidewin_policy_t        **policies;
    ngx_http_slidewin_main_conf_t      *smcf;
    ngx_http_slidewin_test_loc_conf_t  *tlcf;

    smcf = ngx_http_get_module_main_conf(r, ngx_http_slidewin_module);
    tlcf = ngx_http_get_module_loc_conf(r, ngx_http_slidewin_test_module);
    policies = smcf->policies.elts;

    for (i = 0; i < smcf->policies.nelts - 1; i++) {
        if (policies[i]->name.len == tlcf->zone.len
            && ngx_strncmp(policies[i]->name.data, tlcf->zone.data,
                           tlcf->zone.len)
               == 0)
        {
            break;
        }
    }

    return policies[i];
}


static char *
ngx_http_slidewin_test_store(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_str_t                       *value, s;
    ngx_uint_t                       i;
    ngx_http_slidewin_store_t       *store;
    ngx_http_slidewin_test_store_t  *ts;

    value = cf->args->elts;

    store = ngx_pcalloc(cf->pool, sizeof(ngx_http_slidewin_store_t));
    ts = ngx_pcalloc(cf->pool, sizeof(ngx_http_slidewin_test_store_t));

    if (store == NULL || ts == NULL) {
        return NGX_CONF_ERROR;
    }

    store->name = value[1];
    store->backend = &ngx_http_slidewin_test_backend;
    store->data = ts;

    for (i = 2; i < cf->args->nelts; i++) {

        if (ngx_strncmp(value[i].data, "delay=", 6) == 0) {
            s.data = value[i].data + 6;
            s.len = value[i].len - 6;
            ts->delay = ngx_parse_time(&s, 0);
            continue;
        }

        if (ngx_strcmp(value[i].data, "fail") == 0) {
            ts->fail = 1;
            continue;
        }

        if (ngx_strcmp(value[i].data, "silent") == 0) {
            ts->silent = 1;
            continue;
        }

        return "has an invalid parameter";
    }

    return ngx_http_slidewin_conf_add_store(cf, store);
}


static char *
ngx_http_slidewin_test_location(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    ngx_http_slidewin_test_loc_conf_t  *tlcf = conf;

    ngx_str_t                 *value;
    ngx_http_core_loc_conf_t  *clcf;

    value = cf->args->elts;

    if (cf->args->nelts > 1) {
        tlcf->zone = value[1];
    }

    if (cf->args->nelts > 2) {
        tlcf->broken = value[2];
    }

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    clcf->handler = (ngx_http_handler_pt) cmd->post;

    return NGX_CONF_OK;
}


static void *
ngx_http_slidewin_test_create_loc_conf(ngx_conf_t *cf)
{
    return ngx_pcalloc(cf->pool, sizeof(ngx_http_slidewin_test_loc_conf_t));
}
