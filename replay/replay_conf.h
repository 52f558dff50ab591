
/*
 * An nginx.conf, as far as a replay of its log needs it: formats of logs,
 * zones, and which limits apply to a request.
 *
 * A file may be a whole nginx.conf or a part of it: directives that stand
 * outside of "http" are taken as if they were inside.  What else is in it is
 * skipped.  What is read is checked as nginx -t does.
 *
 * All that is returned lives as long as the pool.
 */


#ifndef _REPLAY_CONF_H_INCLUDED_
#define _REPLAY_CONF_H_INCLUDED_


#include "replay.h"
#include "replay_pool.h"
#include "sw_ban.h"
#include "sw_rule.h"
#include "sw_status.h"


/* where it is said, for messages */

typedef struct {
    const char                 *file;
    unsigned                    line;
} replay_conf_ref_t;


typedef enum {
    REPLAY_ESCAPE_DEFAULT = 0,
    REPLAY_ESCAPE_JSON,
    REPLAY_ESCAPE_NONE
} replay_escape_e;


/* log_format */

typedef struct {
    replay_text_t               name;
    replay_text_t               text;        /* its pieces, put together */
    replay_escape_e             escape;
    replay_conf_ref_t           ref;         /* no file: predefined */
} replay_conf_format_t;


/* slidewin_zone */

typedef struct {
    replay_text_t               name;
    replay_text_t               size;        /* as said: "10m" */
    size_t                      bytes;
    replay_text_t               key;         /* with variables */
    replay_text_t               rate;        /* as said */
    int                         rate_varies; /* it has variables: the limit
                                              * and the window of the rule
                                              * are 0 */
    sw_rule_t                   rule;
    int                         slices_set;  /* else the slices are at most
                                              * the window */
    sw_ban_rule_t               ban;         /* its time is 0: none */
    replay_text_t               ban_text;    /* as said; empty: none */
    replay_conf_ref_t           ref;
} replay_conf_zone_t;


/* slidewin */

typedef struct {
    size_t                      number;      /* of all limits of all places */
    size_t                      zone;        /* its place in zones */
    replay_text_t               cost;        /* "1" unless it is said */
    int64_t                     units;       /* -1: the cost has variables */
    replay_text_t               charge;      /* empty: none */
    replay_text_t               condition;   /* if=, empty: always */
    const sw_statuses_t        *count;       /* NULL: all */
    const sw_statuses_t        *reset;       /* NULL: none */
    replay_text_t               count_text;  /* as said; empty: all */
    replay_text_t               reset_text;
    int64_t                     delay;       /* ms; 0: none */
    int                         dry_run;     /* its own, or the place's */
    int                         joint;       /* the place has others */
    replay_conf_ref_t           ref;
} replay_conf_limit_t;


/*
 * A server, or a location in it.  The limits are those that apply there,
 * whether they are its own or inherited.
 */

typedef struct {
    replay_text_t               name;        /* "location ^~ /images/" */
    const replay_conf_limit_t  *limits;
    size_t                      nlimits;
    int                         dry_run;     /* slidewin_dry_run on */
    unsigned                    prefix_v4;   /* slidewin_client_prefix */
    unsigned                    prefix_v6;
    replay_conf_ref_t           ref;
} replay_conf_place_t;


typedef struct replay_conf_internal_s  replay_conf_internal_t;


typedef struct {
    replay_conf_zone_t         *zones;
    size_t                      nzones;
    const replay_conf_limit_t **limits;      /* by their numbers */
    size_t                      nlimits;
    replay_conf_format_t       *formats;     /* "combined" is the first */
    size_t                      nformats;
    const char                **notes;       /* what is left out, and where */
    size_t                      nnotes;
    size_t                      nservers;
    size_t                      nlimited;    /* servers with a limit */
    replay_conf_internal_t     *internal;
} replay_conf_t;


/*
 * NULL if the file cannot be read or has an error, which is told then as
 * "FILE:LINE: what is wrong", without a newline.
 */
const replay_conf_t *replay_conf_read(replay_pool_t *pool, const char *file,
    const char **error);

/* of memory; "include" is skipped */
const replay_conf_t *replay_conf_parse(replay_pool_t *pool, const char *name,
    replay_text_t text, const char **error);

/* by their names; NULL: there is none */
const replay_conf_format_t *replay_conf_format(const replay_conf_t *conf,
    replay_text_t name);
const replay_conf_zone_t *replay_conf_zone(const replay_conf_t *conf,
    replay_text_t name);

/*
 * The format of a log file: that of the access_log which writes it, by as much
 * of the path as agrees, at least the name of the file, which may have been
 * rotated and compressed (access.log.2.gz, access.log-20240131).  If there is
 * no such access_log: the format that all of them have in common.  NULL if
 * that does not tell, or if the format is defined in another file.  Without
 * any access_log it is the only log_format, or "combined" if there is none.
 */
const replay_conf_format_t *replay_conf_log_format_of(
    const replay_conf_t *conf, const char *path);

/*
 * Where a request is answered; never NULL.  If the file has no server, all
 * requests are in one that has the limits of "http".
 *
 * The host may have a port, and letters of both cases.  A log does not tell at
 * which address a request came in: of the servers that would answer at the
 * addresses that there are, the first one with a limit is taken, or else the
 * first one (so not the server at port 80 that only redirects).
 *
 * Without a host: the only server that has a limit, or else, of the default
 * servers of all addresses, the first one with a limit, or else the first one.
 *
 * The URI is the path alone, decoded and normalised as nginx does.  What nginx
 * does to it on the way is not known here: internal redirects (rewrite,
 * try_files, index, error_page, X-Accel-Redirect) are not followed.  So a
 * request is limited by the first location that it comes to, which is the one
 * that counts it in nginx as well; those that it is passed on to are left out.
 *
 * Where nginx answers before it looks at limits, a place has none: "return"
 * (outside of "if", and if no "break", nor a "rewrite" with "last" or "break",
 * stands before it), internal locations, and the redirect of "/name" to
 * "/name/" for a location that passes requests on.
 */
const replay_conf_place_t *replay_conf_place(const replay_conf_t *conf,
    replay_text_t host, replay_text_t uri);


#endif /* _REPLAY_CONF_H_INCLUDED_ */
