
/*
 * Slots of a Redis Cluster: the slot of a key, the owner of a slot, and the
 * redirection by a node that does not own it.
 */


#ifndef _SW_SLOT_H_INCLUDED_
#define _SW_SLOT_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>

#include "sw_url.h"


#define SW_SLOTS          16384
#define SW_SLOT_UNOWNED   0xffff
#define SW_SLOT_HOST_MAX  255


/* the owner of each slot, by a number of the caller's */

typedef struct {
    uint16_t      owner[SW_SLOTS];
} sw_slots_t;


/* MOVED: from now on, ASK: this time */

typedef struct {
    int           ask;
    int           slot;
    sw_str_t      host;          /* empty: that of the redirecting node */
    int64_t       port;
} sw_redirect_t;


/* the slot of a key: of what its first braces hold, if they hold anything */
int sw_slot(const char *key, size_t len);

void sw_slots_clear(sw_slots_t *slots);

/* SW_ERROR: there is no such range, or a part of it has an owner */
int sw_slots_set(sw_slots_t *slots, int64_t first, int64_t last,
    uint16_t owner);

/* how many slots have no owner */
int sw_slots_left(const sw_slots_t *slots);

/* parses an error of Redis; SW_ERROR: neither MOVED nor ASK, or malformed */
int sw_redirect_parse(sw_redirect_t *redirect, const char *text, size_t len);

/* whether the host is an address, or may be a name */
int sw_slot_host(const char *host, size_t len);


#endif /* _SW_SLOT_H_INCLUDED_ */
