// SPDX-License-Identifier: BSD-3-Clause
/**
 * The bootstrap over the program's own allgather, for programs that have a means of communication already.
 *
 * publish is two allgathers: first a header of fixed size from everyone, which tells the longest address; then the
 * addresses, padded to it. What is delivered, the own included, is checked before it is used: the program's function may be wrong.
 */
#include <core/error.h>
#include <core/hash.h>
#include <fcntl.h>
#include <inter/bootstrap.h>
#include <inter/hosts.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Longer addresses are taken for garbage: UCX's are some hundred bytes. */
enum { ADDRESS_MAX_BYTES = 1 << 20, HOST_BYTES = 96 };

static const uint64_t MAGIC = 0x7765667430303032; /* "weft0002" */

struct header {
    uint64_t magic;
    uint64_t bytes;        /* of the address … */
    uint64_t hash;         /* … and of these */
    int32_t rank, size;    /* as this process was told */
    char host[HOST_BYTES]; /* equal on processes that can share memory; padded with 0 */
};

_Static_assert(sizeof(struct header) == 128, "no padding: it is sent as it lies in memory");

struct callback {
    inter_bootstrap base;
    weft_bootstrap user;
    struct header *headers; /* by rank; NULL before publish */
    inter_place *places;    /* for grouping */
    int *hosts;             /* by rank: the lowest rank on the same host */
    char *addresses;        /* by rank, address_max_bytes each */
    size_t address_max_bytes;
    char *here; /* by rank, for the fence: it must not fail where others wait */
};

static void read_line(const char *path, char *line, size_t bytes) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, line, bytes - 1);
    if (fd >= 0)
        close(fd);
    line[length > 0 ? length : 0] = 0;
    line[strcspn(line, "\n")] = 0;
}

/*
 * Two processes share memory when they run under one kernel (boot id) and in one ipc namespace; the host's name and the
 * network namespace do not matter for that. The name stands in for a boot id that cannot be read.
 */
static void describe_host(char host[HOST_BYTES]) {
    char boot[48] = "", ipc[40] = "";
    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
    if (!boot[0] && gethostname(boot, sizeof(boot) - 1) != 0)
        boot[0] = 0;
    if (readlink("/proc/self/ns/ipc", ipc, sizeof(ipc) - 1) < 0)
        ipc[0] = 0;
    memset(host, 0, HOST_BYTES);
    snprintf(host, HOST_BYTES, "%s %s", boot, ipc);
}

static uint64_t hash_of(const char *address, size_t bytes) {
    uint64_t hash = CORE_HASH_BEGIN;
    for (size_t i = 0; i < bytes; i++)
        hash = core_hash_add(hash, (unsigned char)address[i]);
    return hash;
}

static int gather(struct callback *callback, const void *send, void *receive, size_t bytes) {
    int status = callback->user.allgather(send, receive, bytes, callback->user.context);
    if (status != 0)
        return core_error(WEFT_ERR_BOOTSTRAP, "the bootstrap's allgather callback returned %d for %zu bytes a process",
                          status, bytes);
    return WEFT_SUCCESS;
}

/* Every process sees the same headers and so comes to the same verdict: none waits for one that gave up. */
static int check_headers(struct callback *callback) {
    for (int peer = 0; peer < callback->base.size; peer++) {
        const struct header *header = &callback->headers[peer];
        if (header->magic != MAGIC)
            return core_error(
                WEFT_ERR_BOOTSTRAP,
                "what the bootstrap's allgather callback delivered for process %d is not what weft sent, or "
                "comes from another version of weft",
                peer);
        if (header->rank != peer || header->size != callback->base.size)
            return core_error(
                WEFT_ERR_BOOTSTRAP,
                "the bootstrap's allgather callback delivered at place %d of %d the data of a process that "
                "says that it has rank %d of %d",
                peer, callback->base.size, header->rank, header->size);
        if (header->bytes < 1 || header->bytes > ADDRESS_MAX_BYTES)
            return core_error(WEFT_ERR_BOOTSTRAP, "process %d announces an address of %llu bytes; 1 to %d are possible",
                              peer, (unsigned long long)header->bytes, ADDRESS_MAX_BYTES);
        if (header->bytes > callback->address_max_bytes)
            callback->address_max_bytes = header->bytes;
    }
    return WEFT_SUCCESS;
}

static void group_hosts(struct callback *callback) {
    for (int peer = 0; peer < callback->base.size; peer++) {
        callback->headers[peer].host[HOST_BYTES - 1] = 0; /* of a peer: it may be anything */
        callback->places[peer] = (inter_place){callback->headers[peer].host, peer};
    }
    inter_hosts_group(callback->places, callback->base.size, callback->hosts);
}

static int check_addresses(const struct callback *callback) {
    for (int peer = 0; peer < callback->base.size; peer++) {
        const struct header *header = &callback->headers[peer];
        const char *address = callback->addresses + (size_t)peer * callback->address_max_bytes;
        if (hash_of(address, header->bytes) != header->hash)
            return core_error(WEFT_ERR_BOOTSTRAP,
                              "the bootstrap's allgather callback was called for %zu bytes a process, and of process "
                              "%d it did not deliver what that one sent",
                              callback->address_max_bytes, peer);
    }
    return WEFT_SUCCESS;
}

/* With `whole` false nothing is sent but zeros: all others find that out, and give up as this process does. */
static int exchange_addresses(struct callback *callback, const void *address, size_t bytes, bool whole) {
    char *padded = calloc(1, callback->address_max_bytes);
    callback->addresses = calloc((size_t)callback->base.size, callback->address_max_bytes);
    if (!padded || !callback->addresses) {
        free(padded);
        return core_error(WEFT_ERR_NOMEM, "no memory for the addresses of %d processes", callback->base.size);
    }
    if (whole)
        memcpy(padded, address, bytes);
    int status = gather(callback, padded, callback->addresses, callback->address_max_bytes);
    free(padded);
    if (status != WEFT_SUCCESS)
        return status;
    if (!whole)
        return core_error(
            WEFT_ERR_BOOTSTRAP,
            "the bootstrap's allgather callback delivered at place %d of %d, which is this process's own, "
            "other data than this process sent",
            callback->base.rank, callback->base.size);
    return check_addresses(callback);
}

static int callback_publish(inter_bootstrap *self, const void *address, size_t bytes) {
    struct callback *callback = (struct callback *)self;
    size_t size = (size_t)self->size;
    struct header header = {
        .magic = MAGIC, .bytes = bytes, .hash = hash_of(address, bytes), .rank = self->rank, .size = self->size};
    describe_host(header.host);
    callback->headers = calloc(size, sizeof(*callback->headers));
    callback->places = calloc(size, sizeof(*callback->places));
    callback->hosts = calloc(size, sizeof(*callback->hosts));
    if (!callback->headers || !callback->places || !callback->hosts)
        return core_error(WEFT_ERR_NOMEM, "no memory for the addresses of %d processes", self->size);
    int status = gather(callback, &header, callback->headers, sizeof(header));
    if (status == WEFT_SUCCESS)
        status = check_headers(callback);
    if (status != WEFT_SUCCESS)
        return status;
    bool whole = memcmp(&callback->headers[self->rank], &header, sizeof(header)) == 0;
    group_hosts(callback);
    return exchange_addresses(callback, address, bytes, whole);
}

static int callback_lookup(inter_bootstrap *self, int peer, const void **address, size_t *bytes) {
    struct callback *callback = (struct callback *)self;
    if (peer < 0 || peer >= self->size || !callback->addresses)
        return core_error(WEFT_ERR_RANK, "there is no process %d among the %d of this job", peer, self->size);
    *address = callback->addresses + (size_t)peer * callback->address_max_bytes;
    *bytes = callback->headers[peer].bytes;
    return WEFT_SUCCESS;
}

static int callback_host(inter_bootstrap *self, int peer) {
    return ((struct callback *)self)->hosts[peer];
}

static int callback_fence(inter_bootstrap *self) {
    struct callback *callback = (struct callback *)self;
    const char here = 1;
    return gather(callback, &here, callback->here, sizeof(here));
}

static void callback_close(inter_bootstrap *self) {
    struct callback *callback = (struct callback *)self;
    free(callback->headers);
    free(callback->places);
    free(callback->hosts);
    free(callback->addresses);
    free(callback->here);
    free(callback);
}

int inter_bootstrap_callback(const weft_bootstrap *user, inter_bootstrap **bootstrap) {
    if (!user || !user->allgather)
        return core_error(WEFT_ERR_ARG, "weft_options.bootstrap has no allgather function");
    if (user->size < 1 || user->rank < 0 || user->rank >= user->size)
        return core_error(WEFT_ERR_ARG, "weft_options.bootstrap has rank %d and size %d; 0 ≤ rank < size is needed",
                          user->rank, user->size);
    struct callback *callback = calloc(1, sizeof(*callback));
    if (callback)
        callback->here = malloc((size_t)user->size);
    if (!callback || !callback->here) {
        free(callback);
        return core_error(WEFT_ERR_NOMEM, "no memory for the bootstrap");
    }
    callback->user = *user;
    callback->base = (inter_bootstrap){.name = "callback",
                                       .rank = user->rank,
                                       .size = user->size,
                                       .publish = callback_publish,
                                       .lookup = callback_lookup,
                                       .host = callback_host,
                                       .fence = callback_fence,
                                       .close = callback_close};
    *bootstrap = &callback->base;
    return WEFT_SUCCESS;
}
