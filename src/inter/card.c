// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <inter/card.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <weft/version.h>

static uint64_t form_of(size_t card_bytes) {
    return (uint64_t)WEFT_VERSION << 32 | card_bytes;
}

int inter_card_publish(inter_bootstrap *bootstrap, const void *card, size_t card_bytes, const void *address,
                       size_t bytes) {
    const uint64_t form = form_of(card_bytes);
    const size_t all = sizeof(form) + card_bytes + bytes;
    char *blob = malloc(all);
    if (!blob)
        return core_error(WEFT_ERR_NOMEM, "rank %d: no memory for an address of %zu bytes", bootstrap->rank, all);
    memcpy(blob, &form, sizeof(form));
    memcpy(blob + sizeof(form), card, card_bytes);
    memcpy(blob + sizeof(form) + card_bytes, address, bytes);
    int code = bootstrap->publish(bootstrap, blob, all);
    free(blob);
    return code;
}

int inter_card_find(inter_bootstrap *bootstrap, int peer, size_t card_bytes, const void **card) {
    const void *blob;
    size_t bytes;
    uint64_t form = 0;
    int code = bootstrap->lookup(bootstrap, peer, &blob, &bytes);
    if (code)
        return code;
    if (bytes >= sizeof(form))
        memcpy(&form, blob, sizeof(form));
    if (form != form_of(card_bytes))
        return core_error(WEFT_ERR_BOOTSTRAP, "rank %d: rank %d comes from another version of weft", bootstrap->rank,
                          peer);
    if (bytes <= sizeof(form) + card_bytes)
        return core_error(WEFT_ERR_BOOTSTRAP, "rank %d: the address of rank %d has %zu bytes, expected more than %zu",
                          bootstrap->rank, peer, bytes, sizeof(form) + card_bytes);
    *card = (const char *)blob + sizeof(form);
    return WEFT_SUCCESS;
}
