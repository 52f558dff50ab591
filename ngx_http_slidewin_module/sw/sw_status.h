
/*
 * Sets of response statuses: "401,403", "4xx,503".
 */


#ifndef _SW_STATUS_H_INCLUDED_
#define _SW_STATUS_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>


#define SW_STATUS_MIN  100
#define SW_STATUS_MAX  599


typedef struct {
    uint32_t         bits[(SW_STATUS_MAX - SW_STATUS_MIN) / 32 + 1];
} sw_statuses_t;


/*
 * Statuses and classes (1xx to 5xx) with commas between them; the whole text
 * or nothing, as in sw_parse.h.
 */
int sw_parse_statuses(const char *text, size_t len, sw_statuses_t *set);

/* a number that is no status is in no set */
int sw_statuses_have(const sw_statuses_t *set, int64_t status);

/* the lowest status that is in both, 0 for none */
int64_t sw_statuses_common(const sw_statuses_t *one,
    const sw_statuses_t *two);


#endif /* _SW_STATUS_H_INCLUDED_ */
