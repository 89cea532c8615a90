// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <inter/pull.h>
#include <sys/uio.h>
#include <weft/error.h>

/* A few parts are on their way together, of shorter messages too. */
#define LEAST_PART_BYTES ((size_t)8 << 10)

/* Of one system call (IOV_MAX). */
#define RUNS_AT_ONCE 1024

static size_t chunk_of(size_t bytes) {
    size_t share = (bytes / INTER_PARTS + 63) / 64 * 64;
    return share < LEAST_PART_BYTES ? LEAST_PART_BYTES : share < INTER_PART_BYTES ? share : INTER_PART_BYTES;
}

int inter_pull_reserve(const inter_pulls *pulls, unsigned mine) {
    /* Acquire: pairs with the sender's clearing of the bit; it is done with the pull. */
    uint32_t used = atomic_load_explicit(&pulls->active, memory_order_acquire) | mine;
    int free = 0;
    while (free < INTER_PULLS && used >> free & 1)
        free++;
    return free == INTER_PULLS ? -1 : free;
}

/* So many chunks are done when it is announced. */
static void announce(inter_pulls *pulls, int index, const inter_offer *offer, size_t chunk_bytes, size_t chunks,
                     size_t done, int error) {
    inter_pull *pull = &pulls->pulls[index];
    pull->chunk_bytes = chunk_bytes;
    pull->chunks = chunks;
    pull->name = offer->name;
    atomic_store_explicit(&pull->done, done, memory_order_relaxed);
    atomic_store_explicit(&pull->claimed, done, memory_order_relaxed);
    atomic_store_explicit(&pull->error, error, memory_order_relaxed);
    atomic_store_explicit(&pull->gone, 0, memory_order_relaxed);
    /* Pairs with the sender's looks at `active`, publishes the pull; in one order with inter_pull_withdraw. */
    atomic_fetch_or_explicit(&pulls->active, 1u << index, memory_order_seq_cst);
}

void inter_pull_announce(inter_pulls *pulls, int index, const inter_offer *offer, size_t bytes) {
    size_t chunk_bytes = chunk_of(bytes);
    announce(pulls, index, offer, chunk_bytes, (bytes + chunk_bytes - 1) / chunk_bytes, 0, WEFT_SUCCESS);
}

void inter_pull_announce_done(inter_pulls *pulls, int index, const inter_offer *offer, int error) {
    announce(pulls, index, offer, INTER_PART_BYTES, 1, 1, error);
}

/* Claims up to `most` chunks. Returns how many, from *first on. */
static uint64_t claim(inter_pull *pull, uint64_t most, uint64_t *first) {
    if (atomic_load_explicit(&pull->claimed, memory_order_relaxed) >= pull->chunks)
        return 0;
    *first = atomic_fetch_add_explicit(&pull->claimed, most, memory_order_relaxed);
    return *first >= pull->chunks ? 0 : pull->chunks - *first < most ? pull->chunks - *first : most;
}

size_t inter_pull_rest(const inter_pull *pull) {
    uint64_t claimed = atomic_load_explicit(&pull->claimed, memory_order_relaxed);
    return claimed < pull->chunks ? (pull->chunks - claimed) * pull->chunk_bytes : 0;
}

/* Where a chunk ends. */
static size_t end_of(size_t begin, size_t chunk_bytes, size_t bytes) {
    return bytes - begin < chunk_bytes ? bytes : begin + chunk_bytes;
}

/* [begin, end) of a span, from or to `packed`. */
static void pack(void *packed, const inter_span *from, size_t begin, size_t end) {
    const core_data *data = &from->data;
    core_pack(packed, data->buffer, data->type, data->count, from->from + begin, from->from + end);
}

static void unpack(const inter_span *to, const void *packed, size_t begin, size_t end) {
    core_unpack_around(to->data, packed, to->from + begin, to->from + end, to->whole);
}

bool inter_pull_put(inter_pulls *pulls, int index, const inter_span *from, size_t bytes) {
    inter_pull *pull = &pulls->pulls[index];
    const uint64_t put = atomic_load_explicit(&pulls->put, memory_order_relaxed), place = put % INTER_PARTS;
    const size_t chunk_bytes = pull->chunk_bytes;
    uint64_t chunk;
    /* Acquire: pairs with inter_pull_skip; the part that is written again has been read. */
    if (put - atomic_load_explicit(&pulls->taken, memory_order_acquire) >= INTER_PARTS || !claim(pull, 1, &chunk))
        return false;
    size_t begin = chunk * chunk_bytes;
    if (chunk_bytes > INTER_PART_BYTES || begin >= bytes) /* what the other side wrote is not trusted for a length */
        return false;
    pack(pulls->parts[place], from, begin, end_of(begin, chunk_bytes, bytes));
    pulls->contents[place] = (inter_part){(uint64_t)index, chunk};
    /* Release: pairs with inter_pull_comes, publishes the part. */
    atomic_store_explicit(&pulls->put, put + 1, memory_order_release);
    return true;
}

bool inter_pull_comes(const inter_pulls *pulls, inter_part *part) {
    const uint64_t taken = atomic_load_explicit(&pulls->taken, memory_order_relaxed);
    /* Acquire: pairs with the release in inter_pull_put. */
    if (taken == atomic_load_explicit(&pulls->put, memory_order_acquire))
        return false;
    *part = pulls->contents[taken % INTER_PARTS];
    return true;
}

void inter_pull_skip(inter_pulls *pulls) {
    const uint64_t taken = atomic_load_explicit(&pulls->taken, memory_order_relaxed);
    /* Release: pairs with inter_pull_put. */
    atomic_store_explicit(&pulls->taken, taken + 1, memory_order_release);
}

static void have_done(inter_pull *pull, uint64_t chunks) {
    uint64_t done = atomic_load_explicit(&pull->done, memory_order_relaxed) + chunks;
    /* Release: pairs with inter_pull_done. */
    atomic_store_explicit(&pull->done, done, memory_order_release);
}

void inter_pull_take(inter_pulls *pulls, inter_part part, const inter_span *to, size_t bytes) {
    const uint64_t taken = atomic_load_explicit(&pulls->taken, memory_order_relaxed);
    size_t chunk_bytes = chunk_of(bytes), begin = part.chunk * chunk_bytes;
    if (begin < bytes)
        unpack(to, pulls->parts[taken % INTER_PARTS], begin, end_of(begin, chunk_bytes, bytes));
    inter_pull_skip(pulls);
    have_done(&pulls->pulls[part.pull], 1);
}

static int error_of(int number) {
    return number == ESRCH ? WEFT_ERR_PROC_FAILED : number == ENOMEM ? WEFT_ERR_NOMEM : WEFT_ERR_TRANSPORT;
}

/* So much of them was read, or written. The runs that are done with. */
static size_t go_on(struct iovec *runs, size_t count, size_t bytes) {
    size_t done = 0;
    for (; done < count && bytes >= runs[done].iov_len; done++)
        bytes -= runs[done].iov_len;
    if (done < count) {
        runs[done].iov_base = (char *)runs[done].iov_base + bytes;
        runs[done].iov_len -= bytes;
    }
    return done;
}

int inter_pull_read_runs(int process, struct iovec *from, struct iovec *to, size_t runs) {
    while (runs) {
        size_t at_once = runs < RUNS_AT_ONCE ? runs : RUNS_AT_ONCE, bytes = 0;
        for (size_t run = 0; run < at_once; run++)
            bytes += from[run].iov_len;
        ssize_t moved = process_vm_readv(process, to, at_once, from, at_once, 0);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved < 0 || (!moved && bytes))
            return error_of(moved < 0 ? errno : EFAULT);
        size_t done = go_on(from, at_once, (size_t)moved);
        (void)go_on(to, at_once, (size_t)moved); /* as many */
        from += done;
        to += done;
        runs -= done;
    }
    return WEFT_SUCCESS;
}

int inter_pull_read(int process, uint64_t from, void *to, size_t bytes) {
    struct iovec run = {(void *)(uintptr_t)from, bytes}, own = {to, bytes};
    return inter_pull_read_runs(process, &run, &own, 1);
}

/* Copies [begin, end) of the data from the sender's memory. */
static int read_run(uint64_t from, const inter_span *to, size_t begin, size_t end, int process, void *scratch) {
    if (to->data.type->contiguous)
        return inter_pull_read(process, from + begin, (char *)to->data.buffer + to->from + begin, end - begin);
    for (int error; begin < end; begin += INTER_PART_BYTES) {
        size_t stop = end_of(begin, INTER_PART_BYTES, end);
        error = inter_pull_read(process, from + begin, scratch, stop - begin);
        if (error)
            return error;
        unpack(to, scratch, begin, stop);
    }
    return WEFT_SUCCESS;
}

void inter_pull_abandon(inter_pull *pull) {
    uint64_t first, chunks = claim(pull, pull->chunks, &first);
    if (chunks)
        have_done(pull, chunks);
}

void inter_pull_bury(inter_pull *pull) {
    atomic_store_explicit(&pull->error, WEFT_ERR_PROC_FAILED, memory_order_relaxed);
    atomic_store_explicit(&pull->done, pull->chunks, memory_order_release); /* as in have_done() */
}

bool inter_pull_read_chunks(inter_pull *pull, uint64_t from, size_t most_bytes, const inter_span *to, size_t bytes,
                            int process, void *scratch) {
    size_t chunk_bytes = chunk_of(bytes), begin;
    uint64_t first, most = most_bytes / chunk_bytes, chunks = claim(pull, most ? most : 1, &first);
    if (!chunks || (begin = first * chunk_bytes) >= bytes)
        return false;
    int error = read_run(from, to, begin, end_of(begin, chunks * chunk_bytes, bytes), process, scratch);
    if (error)
        atomic_store_explicit(&pull->error, error, memory_order_relaxed);
    have_done(pull, chunks);
    return true;
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

void inter_pull_disown(inter_pull *pull) {
    /* Release: pairs with the look in inter_pull_is_withdrawn; nothing was put, nor will be. */
    atomic_store_explicit(&pull->gone, 1, memory_order_release);
}

bool inter_pull_is_in_doubt(const inter_pulls *pulls, uint64_t name) {
    uint32_t count = atomic_load_explicit(&pulls->withdrawn, memory_order_seq_cst);
    for (uint32_t i = 0; i < count && i < INTER_WITHDRAWN; i++)
        if (atomic_load_explicit(&pulls->withdrawn_names[i], memory_order_acquire) == name)
            return true;
    return count && name < atomic_load_explicit(&pulls->withdrawn_below, memory_order_relaxed);
}

bool inter_pull_is_withdrawn(const inter_pulls *pulls, int index, bool *told) {
    /* Acquire: pairs with the sender's clearing of the bit, before which it says that the offer is gone. */
    bool over = !(atomic_load_explicit(&pulls->active, memory_order_acquire) >> index & 1);
    bool gone = atomic_load_explicit(&pulls->pulls[index].gone, memory_order_acquire);
    *told = over || gone;
    return gone;
}
