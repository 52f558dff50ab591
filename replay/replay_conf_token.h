
/*
 * The syntax of nginx.conf: directives, blocks, and files that are included.
 */


#ifndef _REPLAY_CONF_TOKEN_H_INCLUDED_
#define _REPLAY_CONF_TOKEN_H_INCLUDED_


#include "replay_array.h"
#include "replay_conf.h"


typedef enum {
    REPLAY_CONF_ERROR = -1,                  /* it is told in "error" */
    REPLAY_CONF_LINE,                        /* name and arguments; */
    REPLAY_CONF_BLOCK,                       /* name and arguments { */
    REPLAY_CONF_END,                         /* } */
    REPLAY_CONF_DONE                         /* all files have ended */
} replay_conf_token_e;


typedef struct replay_conf_file_s  replay_conf_file_t;


typedef struct {
    replay_pool_t        *pool;
    replay_conf_file_t   *file;              /* those that include it follow */
    const char           *prefix;            /* of included files, "/" last;
                                              * NULL: they are left out */
    replay_array_t        args;              /* replay_text_t, the name is
                                              * the first */
    replay_conf_ref_t     ref;               /* of the last token */
    const char           *error;             /* the first one */
} replay_conf_reader_t;


/* the first error stays; returns REPLAY_CONF_ERROR */

__attribute__((format(printf, 3, 4)))
int replay_conf_error(replay_conf_reader_t *reader,
    const replay_conf_ref_t *ref, const char *fmt, ...);

int replay_conf_open(replay_conf_reader_t *reader, const char *file);
void replay_conf_open_text(replay_conf_reader_t *reader, const char *name,
    replay_text_t text);

replay_conf_token_e replay_conf_next(replay_conf_reader_t *reader);

/* after "include": what is in the files comes next */
int replay_conf_include(replay_conf_reader_t *reader);

/* after a block's "{": its end comes next */
int replay_conf_skip(replay_conf_reader_t *reader);


#endif /* _REPLAY_CONF_TOKEN_H_INCLUDED_ */
