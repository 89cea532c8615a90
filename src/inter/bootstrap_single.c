// SPDX-License-Identifier: BSD-3-Clause
/**
 * The bootstrap of a process that is alone: its only peer is itself.
 */
#include <core/error.h>
#include <inter/bootstrap.h>
#include <stdlib.h>
#include <string.h>

struct single {
    inter_bootstrap base;
    void *address; /* NULL before publish */
    size_t bytes;
};

static int single_publish(inter_bootstrap *self, const void *address, size_t bytes) {
    struct single *single = (struct single *)self;
    single->address = malloc(bytes);
    if (!single->address)
        return core_error(WEFT_ERR_NOMEM, "no memory for an address of %zu bytes", bytes);
    memcpy(single->address, address, bytes);
    single->bytes = bytes;
    return WEFT_SUCCESS;
}

static int single_lookup(inter_bootstrap *self, int peer, const void **address, size_t *bytes) {
    struct single *single = (struct single *)self;
    if (peer != 0 || !single->address)
        return core_error(WEFT_ERR_RANK, "there is no process %d: this one was started alone", peer);
    *address = single->address;
    *bytes = single->bytes;
    return WEFT_SUCCESS;
}

static int single_host(inter_bootstrap *self, int peer) {
    (void)self, (void)peer;
    return 0;
}

static int single_fence(inter_bootstrap *self) {
    (void)self;
    return WEFT_SUCCESS;
}

static void single_close(inter_bootstrap *self) {
    free(((struct single *)self)->address);
    free(self);
}

int inter_bootstrap_single(inter_bootstrap **bootstrap) {
    struct single *single = calloc(1, sizeof(*single));
    if (!single)
        return core_error(WEFT_ERR_NOMEM, "no memory for the bootstrap");
    single->base = (inter_bootstrap){.name = "single",
                                     .rank = 0,
                                     .size = 1,
                                     .publish = single_publish,
                                     .lookup = single_lookup,
                                     .host = single_host,
                                     .fence = single_fence,
                                     .close = single_close};
    *bootstrap = &single->base;
    return WEFT_SUCCESS;
}
