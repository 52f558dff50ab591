
/*
 * The requests of one client, as times.  What a client sends does not depend
 * on what becomes of it.
 */


#ifndef _TRAFFIC_H_INCLUDED_
#define _TRAFFIC_H_INCLUDED_


#include <stdint.h>

#include "random.h"


typedef enum {
    TRAFFIC_POISSON = 0,
    TRAFFIC_BURSTY,
    TRAFFIC_DAILY,
    TRAFFIC_FLASH,
    TRAFFIC_ADVERSARY,
    TRAFFIC_MIX,
    TRAFFIC_MIX_BURSTY,
    TRAFFIC_KINDS
} traffic_e;


/* how much a client of a mix sends */

typedef enum {
    TRAFFIC_BELOW = 0,
    TRAFFIC_AROUND,
    TRAFFIC_ABOVE,
    TRAFFIC_GROUPS
} traffic_group_e;


typedef struct {
    const char  *name;
    int64_t      window;           /* ms */
    int          windows;          /* for so many a client sends */
    int          clients;          /* their number is a multiple of it */
    int64_t      requests;         /* of all clients together, at least */
} traffic_t;


typedef struct {
    int64_t      start;            /* somewhere in a window */
    int64_t     *times;            /* ms, rising */
    int64_t      n;
    int64_t      room;
} trace_t;


extern const traffic_t  traffics[TRAFFIC_KINDS];


/* of the nth client; its mean rate depends on n, its requests on random */
void traffic_make(trace_t *trace, traffic_e kind, int64_t n, int64_t limit,
    random_t *random);

traffic_group_e traffic_group(int64_t n);

void trace_free(trace_t *trace);


#endif /* _TRAFFIC_H_INCLUDED_ */
