
/*
 * Slots of a Redis Cluster: which one a key is in, who has it, and what a node
 * says that has it no longer.
 */


#ifndef _SW_SLOT_H_INCLUDED_
#define _SW_SLOT_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>

#include "sw_url.h"


#define SW_SLOTS          16384
#define SW_SLOT_NOBODY    0xffff
#define SW_SLOT_HOST_MAX  255


/* who has which slot, by a number of the caller's */

typedef struct {
    uint16_t      owner[SW_SLOTS];
} sw_slots_t;


/* MOVED: from now on, ASK: this time */

typedef struct {
    int           ask;
    int           slot;
    sw_str_t      host;          /* empty: that of the node that says so */
    int64_t       port;
} sw_redirect_t;


/* of a key, or of what its first braces hold */
int sw_slot(const char *key, size_t len);

void sw_slots_clear(sw_slots_t *slots);

/* SW_ERROR: there is no such range, or somebody has a part of it */
int sw_slots_set(sw_slots_t *slots, int64_t first, int64_t last,
    uint16_t owner);

/* how many nobody has */
int sw_slots_left(const sw_slots_t *slots);

/* MOVED or ASK as Redis says it; SW_ERROR if it is neither, or leads nowhere */
int sw_redirect_parse(sw_redirect_t *redirect, const char *text, size_t len);

/* whether it is an address, or may be a name */
int sw_slot_host(const char *host, size_t len);


#endif /* _SW_SLOT_H_INCLUDED_ */
