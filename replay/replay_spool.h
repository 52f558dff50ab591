
/*
 * Requests kept in a file, to be replayed again.
 */


#ifndef _REPLAY_SPOOL_H_INCLUDED_
#define _REPLAY_SPOOL_H_INCLUDED_


#include <stdio.h>

#include "replay_queue.h"


typedef struct {
    FILE             *file;
    int               paths;               /* whether they are kept */
    uint64_t          n;
} replay_spool_t;


/* in $TMPDIR, or else /var/tmp, without a name */
void replay_spool_open(replay_spool_t *spool, int paths);
void replay_spool_close(replay_spool_t *spool);

void replay_spool_write(replay_spool_t *spool, const replay_event_t *event,
    const replay_claim_t *claims, replay_text_t path);

/* hands all of them on, from the first */
void replay_spool_read(replay_spool_t *spool, replay_event_pt handler,
    void *data);


#endif /* _REPLAY_SPOOL_H_INCLUDED_ */
