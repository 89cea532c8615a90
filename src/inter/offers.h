// SPDX-License-Identifier: BSD-3-Clause
/**
 * Offers: the messages to one process that are offered and not copied yet, found again by name in constant time.
 *
 * A name is a number that is used once; its place in the table is its lower bits. A name whose place is taken is passed over,
 * and the table is never more than half full. A name that comes back from the other process is looked up, not trusted.
 */
#ifndef INTER_OFFERS_H
#define INTER_OFFERS_H

#include <inter/transport.h>

typedef struct inter_offers {
    struct inter_offered {
        uint64_t name;
        inter_request *request; /* NULL: the place is free */
    } * places;
    size_t size; /* a power of two, or 0 */
    size_t count;
    uint64_t next_name;
} inter_offers;

/** Gives a message its name, which goes into request->tag too; false without memory. */
bool inter_offers_add(inter_offers *offers, inter_request *request);

/** NULL when there is none of that name. */
static inline inter_request *inter_offers_find(const inter_offers *offers, uint64_t name) {
    if (!offers->count)
        return NULL;
    const struct inter_offered *place = &offers->places[name & (offers->size - 1)];
    return place->name == name ? place->request : NULL;
}

/** Finds one and takes it out. */
static inline inter_request *inter_offers_take(inter_offers *offers, uint64_t name) {
    inter_request *request = inter_offers_find(offers, name);
    if (request) {
        offers->places[name & (offers->size - 1)].request = NULL;
        offers->count--;
    }
    return request;
}

#endif
