
#include "replay_queue.h"


/* memory takes about as long as so many events */
#define REPLAY_QUEUE_AHEAD  8


static void replay_queue_move(replay_queue_t *queue, int64_t second);
static void replay_bucket_empty(replay_queue_t *queue,
    replay_bucket_t *bucket);
static void replay_bucket_hand_on(replay_queue_t *queue,
    replay_bucket_t *bucket, uint32_t i, replay_event_pt handler);
static int replay_bucket_compare(const void *one, const void *two,
    void *data);
static int replay_event_compare(const replay_event_t *one,
    const replay_event_t *two);
static void *replay_bucket_room(void *items, uint32_t *room, uint32_t need,
    size_t size);


void
replay_queue_init(replay_queue_t *queue, replay_event_pt handler,
    replay_event_pt ahead, void *data)
{
    memset(queue, 0, sizeof(replay_queue_t));

    queue->handler = handler;
    queue->ahead = ahead;
    queue->data = data;
}


int
replay_queue_is_late(const replay_queue_t *queue, int64_t time)
{
    return queue->any && time / 1000 < queue->newest - REPLAY_LATE_SECONDS;
}


int64_t
replay_queue_oldest(const replay_queue_t *queue)
{
    return (queue->newest - REPLAY_LATE_SECONDS) * 1000;
}


void
replay_queue_add(replay_queue_t *queue, replay_event_t *event,
    const replay_claim_t *claims, replay_text_t path)
{
    int64_t           second;
    replay_bucket_t  *bucket;

    second = event->time / 1000;

    if (!queue->any || second > queue->newest) {
        replay_queue_move(queue, second);
    }

    bucket = &queue->buckets[second % REPLAY_QUEUE_RING];

    if (path.len > REPLAY_PATH_MAX) {
        path.len = REPLAY_PATH_MAX;
    }

    if (bucket->nevents == bucket->events_room) {
        bucket->events = replay_bucket_room(bucket->events,
                                            &bucket->events_room,
                                            bucket->nevents + 1,
                                            sizeof(replay_event_t));
    }

    if (bucket->claims_room - bucket->nclaims < event->nclaims) {
        bucket->claims = replay_bucket_room(bucket->claims,
                                            &bucket->claims_room,
                                            bucket->nclaims + event->nclaims,
                                            sizeof(replay_claim_t));
    }

    if (bucket->paths_room - bucket->npaths < path.len) {
        bucket->paths = replay_bucket_room(bucket->paths,
                                           &bucket->paths_room,
                                           bucket->npaths
                                           + (uint32_t) path.len, 1);
    }

    event->claims = bucket->nclaims;
    event->path = bucket->npaths;
    event->path_len = (uint32_t) path.len;

    if (event->nclaims) {
        memcpy(bucket->claims + bucket->nclaims, claims,
               event->nclaims * sizeof(replay_claim_t));
    }

    if (path.len) {
        memcpy(bucket->paths + bucket->npaths, path.data, path.len);
    }

    bucket->nclaims += event->nclaims;
    bucket->npaths += (uint32_t) path.len;

    if (bucket->nevents
        && replay_event_compare(&bucket->events[bucket->nevents - 1], event)
           > 0)
    {
        bucket->unsorted = 1;
    }

    bucket->events[bucket->nevents++] = *event;
}


/* what is a minute older than the newest is in order */

static void
replay_queue_move(replay_queue_t *queue, int64_t second)
{
    int64_t  old, last;

    if (!queue->any) {
        queue->any = 1;
        queue->newest = second;
        return;
    }

    old = queue->newest - REPLAY_LATE_SECONDS;
    last = second - REPLAY_LATE_SECONDS - 1;

    if (last > queue->newest) {
        last = queue->newest;
    }

    for ( /* void */ ; old <= last; old++) {

        if (old >= 0) {
            replay_bucket_empty(queue,
                                &queue->buckets[old % REPLAY_QUEUE_RING]);
        }
    }

    queue->newest = second;
}


void
replay_queue_flush(replay_queue_t *queue)
{
    int               i;
    int64_t           second;
    replay_bucket_t  *bucket;

    for (i = REPLAY_LATE_SECONDS; queue->any && i >= 0; i--) {
        second = queue->newest - i;

        if (second >= 0) {
            replay_bucket_empty(queue,
                                &queue->buckets[second % REPLAY_QUEUE_RING]);
        }
    }

    for (i = 0; i < REPLAY_QUEUE_RING; i++) {
        bucket = &queue->buckets[i];

        free(bucket->events);
        free(bucket->order);
        free(bucket->claims);
        free(bucket->paths);
    }

    memset(queue->buckets, 0, sizeof(queue->buckets));
    queue->any = 0;
}


static void
replay_bucket_empty(replay_queue_t *queue, replay_bucket_t *bucket)
{
    uint32_t  i;

    if (bucket->unsorted) {
        bucket->order = replay_realloc(bucket->order,
                                       bucket->nevents * sizeof(uint32_t));

        for (i = 0; i < bucket->nevents; i++) {
            bucket->order[i] = i;
        }

        qsort_r(bucket->order, bucket->nevents, sizeof(uint32_t),
                replay_bucket_compare, bucket);
    }

    for (i = 0; i < bucket->nevents + REPLAY_QUEUE_AHEAD; i++) {

        if (i < bucket->nevents) {
            replay_bucket_hand_on(queue, bucket, i, queue->ahead);
        }

        if (i >= REPLAY_QUEUE_AHEAD) {
            replay_bucket_hand_on(queue, bucket, i - REPLAY_QUEUE_AHEAD,
                                  queue->handler);
        }
    }

    bucket->nevents = 0;
    bucket->nclaims = 0;
    bucket->npaths = 0;
    bucket->unsorted = 0;
}


static void
replay_bucket_hand_on(replay_queue_t *queue, replay_bucket_t *bucket,
    uint32_t i, replay_event_pt handler)
{
    replay_text_t    path;
    replay_event_t  *event;

    event = &bucket->events[bucket->unsorted ? bucket->order[i] : i];

    path.data = event->path_len ? bucket->paths + event->path : "";
    path.len = event->path_len;

    handler(queue->data, event, bucket->claims + event->claims, path);
}


static int
replay_bucket_compare(const void *one, const void *two, void *data)
{
    const replay_bucket_t  *bucket;

    bucket = data;

    return replay_event_compare(&bucket->events[*(const uint32_t *) one],
                                &bucket->events[*(const uint32_t *) two]);
}


/* by time, then as the files are named and the lines stand in them */

static int
replay_event_compare(const replay_event_t *one, const replay_event_t *two)
{
    if (one->time != two->time) {
        return one->time < two->time ? -1 : 1;
    }

    if (one->file != two->file) {
        return one->file < two->file ? -1 : 1;
    }

    return (one->line > two->line) - (one->line < two->line);
}


static void *
replay_bucket_room(void *items, uint32_t *room, uint32_t need, size_t size)
{
    uint64_t  want;

    want = (uint64_t) need + need / 4;

    if (want > UINT32_MAX) {
        replay_fatal("too many requests in a second");
    }

    *room = want < 16 ? 16 : (uint32_t) want;

    return replay_realloc(items, *room * size);
}
