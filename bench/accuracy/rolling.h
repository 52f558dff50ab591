
/*
 * What was admitted, by its times: how much lies in the last window, and the
 * most that lay in any.  It knows no algorithm.
 */


#ifndef _ROLLING_H_INCLUDED_
#define _ROLLING_H_INCLUDED_


#include <stdint.h>


typedef struct {
    int64_t   window;
    int64_t  *times;               /* a ring, oldest first */
    int64_t   room;
    int64_t   first;
    int64_t   count;
    int64_t   most;
} rolling_t;


void rolling_init(rolling_t *rolling, int64_t window);
void rolling_free(rolling_t *rolling);

/* forgets all but the most */
void rolling_clear(rolling_t *rolling);

/* units in (now - window, now] */
int64_t rolling_count(rolling_t *rolling, int64_t now);

/* a rolling window that is fullest can end with a unit: it is looked at here */
void rolling_add(rolling_t *rolling, int64_t now);


#endif /* _ROLLING_H_INCLUDED_ */
