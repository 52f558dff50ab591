
/*
 * Each measures something and reports it.  A run of one part in N makes an Nth
 * of the requests; with the same seed and part, all figures are the same.
 */


#ifndef _TABLES_H_INCLUDED_
#define _TABLES_H_INCLUDED_


#include <stdint.h>


typedef struct {
    uint64_t  seed;
    int64_t   part;
} tables_run_t;


/* the limits of most tables */

#define TABLES_LIMITS  5

static const int64_t  tables_limits[TABLES_LIMITS] = {
    5, 10, 100, 1000, 10000
};


/* what does not depend on the requests: wrong decisions, a rolling window */
void tables_decisions(const tables_run_t *run);

/* a client that comes back as soon as it may */
void tables_sustained(const tables_run_t *run);

/* several machines and one store */
void tables_leases(const tables_run_t *run);
void tables_fallback(void);


#endif /* _TABLES_H_INCLUDED_ */
