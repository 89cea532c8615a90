// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <inter/pull.h>
#include <sys/uio.h>
#include <weft/error.h>

/* A call into the kernel costs as much as copying some 16 KiB, and every page its share. */
#define LEAST_SHARED_BYTES ((size_t)32 << 10) /* less is not worth two calls */
#define MOST_SHARED_BYTES  ((size_t)256 << 10)
#define MOST_ALONE_BYTES   ((size_t)1 << 20) /* so that whoever only tests comes back soon */
#define PAGE_BYTES         ((size_t)4096)

static size_t chunk_of(size_t bytes, bool alone) {
    if (alone || bytes < LEAST_SHARED_BYTES)
        return bytes < MOST_ALONE_BYTES ? bytes : MOST_ALONE_BYTES;
    size_t half = (bytes / 2 + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    return half < MOST_SHARED_BYTES ? half : MOST_SHARED_BYTES;
}

int inter_pull_begin(inter_pulls *pulls, unsigned mine, const inter_offer *offer, void *to, size_t bytes, bool alone) {
    /* Acquire: pairs with the sender's clearing of the bit; it is done with the pull. */
    uint32_t used = atomic_load_explicit(&pulls->active, memory_order_acquire) | mine;
    int free = 0;
    while (free < INTER_PULLS && used >> free & 1)
        free++;
    if (free == INTER_PULLS)
        return -1;
    inter_pull *pull = &pulls->pulls[free];
    pull->from = offer->from;
    pull->to = (uintptr_t)to;
    pull->bytes = bytes;
    pull->offered_bytes = offer->bytes;
    pull->name = offer->name;
    pull->alone = alone;
    pull->chunk_bytes = chunk_of(bytes, alone);
    pull->chunks = bytes ? (uint32_t)((bytes + pull->chunk_bytes - 1) / pull->chunk_bytes) : 0;
    atomic_store_explicit(&pull->claimed, 0, memory_order_relaxed);
    atomic_store_explicit(&pull->done, 0, memory_order_relaxed);
    atomic_store_explicit(&pull->error, WEFT_SUCCESS, memory_order_relaxed);
    /* Pairs with the sender's looks at `active`, publishes the pull; in one order with inter_pull_withdraw. */
    atomic_fetch_or_explicit(&pulls->active, 1u << free, memory_order_seq_cst);
    return free;
}

void inter_pull_withdraw(inter_pulls *pulls, uint64_t name) {
    uint32_t count = atomic_load_explicit(&pulls->withdrawn, memory_order_relaxed);
    _Atomic uint64_t *place = &pulls->withdrawn_names[count % INTER_WITHDRAWN];
    uint64_t forgotten = count < INTER_WITHDRAWN ? 0 : atomic_load_explicit(place, memory_order_relaxed) + 1;
    if (forgotten > atomic_load_explicit(&pulls->withdrawn_below, memory_order_relaxed))
        atomic_store_explicit(&pulls->withdrawn_below, forgotten, memory_order_relaxed);
    /* Release: who reads this name instead of the one that is forgotten sees that it is. */
    atomic_store_explicit(place, name, memory_order_release);
    atomic_store_explicit(&pulls->withdrawn, count + 1, memory_order_seq_cst);
}

bool inter_pull_is_withdrawn(const inter_pulls *pulls, uint64_t name) {
    uint32_t count = atomic_load_explicit(&pulls->withdrawn, memory_order_seq_cst);
    for (uint32_t i = 0; i < count && i < INTER_WITHDRAWN; i++)
        if (atomic_load_explicit(&pulls->withdrawn_names[i], memory_order_acquire) == name)
            return true;
    return count && name < atomic_load_explicit(&pulls->withdrawn_below, memory_order_relaxed);
}

static int error_of(int number) {
    return number == ESRCH ? WEFT_ERR_PROC_FAILED : number == ENOMEM ? WEFT_ERR_NOMEM : WEFT_ERR_TRANSPORT;
}

static int copy(int process, bool read, uint64_t here, uint64_t there, size_t bytes) {
    while (bytes) {
        struct iovec local = {(void *)(uintptr_t)here, bytes}, remote = {(void *)(uintptr_t)there, bytes};
        ssize_t moved = read ? process_vm_readv(process, &local, 1, &remote, 1, 0)
                             : process_vm_writev(process, &local, 1, &remote, 1, 0);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0)
            return error_of(moved < 0 ? errno : EFAULT);
        here += (uint64_t)moved;
        there += (uint64_t)moved;
        bytes -= (size_t)moved;
    }
    return WEFT_SUCCESS;
}

int inter_pull_read(int process, uint64_t from, void *to, size_t bytes) {
    return copy(process, true, (uintptr_t)to, from, bytes);
}

bool inter_pull_copy(inter_pull *pull, bool receiver, int peer) {
    if ((pull->alone && !receiver) || atomic_load_explicit(&pull->claimed, memory_order_relaxed) >= pull->chunks)
        return false;
    uint64_t chunk = atomic_fetch_add_explicit(&pull->claimed, 1, memory_order_relaxed);
    if (chunk >= pull->chunks)
        return false;
    uint64_t offset = chunk * pull->chunk_bytes, from = pull->from + offset, to = pull->to + offset;
    size_t bytes = pull->bytes - offset < pull->chunk_bytes ? pull->bytes - offset : pull->chunk_bytes;
    int error = copy(peer, receiver, receiver ? to : from, receiver ? from : to, bytes);
    if (error)
        atomic_store_explicit(&pull->error, error, memory_order_relaxed);
    /* Release: pairs with inter_pull_done, publishes the copy and its error; the adds of both ends form one chain. */
    atomic_fetch_add_explicit(&pull->done, 1, memory_order_acq_rel);
    return true;
}
