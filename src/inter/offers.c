// SPDX-License-Identifier: BSD-3-Clause
#include <inter/offers.h>
#include <stdlib.h>

#define FIRST_SIZE 16

/* Names that had different places in a table have different ones in a larger table. */
static bool grow(inter_offers *offers) {
    size_t size = offers->size ? 2 * offers->size : FIRST_SIZE;
    struct inter_offered *places = calloc(size, sizeof(*places));
    if (!places)
        return false;
    for (size_t i = 0; i < offers->size; i++)
        if (offers->places[i].request)
            places[offers->places[i].name & (size - 1)] = offers->places[i];
    free(offers->places);
    offers->places = places;
    offers->size = size;
    return true;
}

bool inter_offers_add(inter_offers *offers, inter_request *request) {
    if (2 * offers->count >= offers->size && !grow(offers))
        return false;
    struct inter_offered *place;
    do
        place = &offers->places[offers->next_name++ & (offers->size - 1)];
    while (place->request);
    *place = (struct inter_offered){offers->next_name - 1, request};
    request->tag = place->name;
    offers->count++;
    return true;
}
