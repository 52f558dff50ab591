
/*
 * A circuit breaker, and the pauses between attempts.
 */


#ifndef _SW_BREAKER_H_INCLUDED_
#define _SW_BREAKER_H_INCLUDED_


#include <stdint.h>


#define SW_BREAKER_FAILURES  5       /* in a row open the breaker */
#define SW_PAUSE_MIN         50
#define SW_PAUSE_MAX         2000


typedef enum {
    SW_BREAKER_CLOSED = 0,
    SW_BREAKER_OPEN,
    SW_BREAKER_PROBING
} sw_breaker_state_e;


typedef struct {
    sw_breaker_state_e   state;
    int                  failures;
    int64_t              pause;
    int64_t              until;
} sw_breaker_t;


/* twice the last pause, half of it random; the first one if that was 0 */
int64_t sw_pause_next(int64_t *pause, uint32_t random);

/* the same with another maximum than SW_PAUSE_MAX */
int64_t sw_pause_up_to(int64_t *pause, int64_t max, uint32_t random);

/* whether to ask; after the pause of an open breaker, one call is the probe */
int sw_breaker_allows(sw_breaker_t *breaker, int64_t now);

/* return whether the breaker was closed, or opened, by this */
int sw_breaker_success(sw_breaker_t *breaker);
int sw_breaker_failure(sw_breaker_t *breaker, int64_t now, uint32_t random);


#endif /* _SW_BREAKER_H_INCLUDED_ */
