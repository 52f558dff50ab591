
/*
 * A machine that prefetches units of one client from a store, as
 * docs/fewer-round-trips.md says: how a lease grows and ends.  The store counts
 * units when they are taken.
 */


#ifndef _LEASE_H_INCLUDED_
#define _LEASE_H_INCLUDED_


#include "limiter.h"


typedef struct {
    int64_t   percent;             /* of the limit, the most it may have */
    int64_t   left;
    int64_t   used;
    int64_t   size;
    int64_t   stamp;
    int64_t   ends;
    int64_t   asked;               /* the store was, last */
    int64_t   calls;               /* of the store */
} lease_t;


void lease_init(lease_t *lease, int64_t percent);

/* the most that lies in a lease */
int64_t lease_max(const lease_t *lease, const sw_rule_t *rule);

/* how long it lasts */
int64_t lease_ttl(const sw_rule_t *rule);

/* refunds what is left, if it has ended */
void lease_expire(lease_t *lease, limiter_t *store, int64_t now);

/* whether a request is admitted, by the lease or by the store */
int lease_take(lease_t *lease, limiter_t *store, int64_t now);


#endif /* _LEASE_H_INCLUDED_ */
