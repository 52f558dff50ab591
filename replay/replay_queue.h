
/*
 * Requests in order of their times, though lines of a log come as requests end:
 * what is up to a minute late finds its place.
 */


#ifndef _REPLAY_QUEUE_H_INCLUDED_
#define _REPLAY_QUEUE_H_INCLUDED_


#include "replay.h"


#define REPLAY_LATE_SECONDS  60
#define REPLAY_QUEUE_RING    64

/* of a path, what can be shown */
#define REPLAY_PATH_MAX      120


/* a limit that a request meets, and as whom */

typedef struct {
    uint32_t          client;
    uint32_t          limit;
    int64_t           cost;
} replay_claim_t;


typedef struct {
    int64_t           time;                /* ms */
    uint64_t          line;
    uint32_t          file;
    uint16_t          status;              /* 0: unknown */
    uint16_t          nclaims;
    uint32_t          claims;              /* the first, in its bucket */
    uint32_t          path;                /* its begin, in its bucket */
    uint32_t          path_len;
} replay_event_t;


typedef void (*replay_event_pt)(void *data, const replay_event_t *event,
    const replay_claim_t *claims, replay_text_t path);


/* requests of a second */

typedef struct {
    replay_event_t   *events;
    uint32_t         *order;
    replay_claim_t   *claims;
    char             *paths;
    uint32_t          nevents;
    uint32_t          nclaims;
    uint32_t          npaths;
    uint32_t          events_room;
    uint32_t          claims_room;
    uint32_t          paths_room;
    int               unsorted;
} replay_bucket_t;


typedef struct {
    replay_bucket_t   buckets[REPLAY_QUEUE_RING];
    int64_t           newest;              /* second */
    int               any;
    replay_event_pt   handler;
    replay_event_pt   ahead;
    void             *data;
} replay_queue_t;


/* ahead is called for each event some events before the handler */
void replay_queue_init(replay_queue_t *queue, replay_event_pt handler,
    replay_event_pt ahead, void *data);

/* whether it is later than it may be */
int replay_queue_is_late(const replay_queue_t *queue, int64_t time);

/* the earliest time that is not late */
int64_t replay_queue_oldest(const replay_queue_t *queue);

/* the event's places in a bucket are set here */
void replay_queue_add(replay_queue_t *queue, replay_event_t *event,
    const replay_claim_t *claims, replay_text_t path);

/* hands on all that is left */
void replay_queue_flush(replay_queue_t *queue);


#endif /* _REPLAY_QUEUE_H_INCLUDED_ */
