// SPDX-License-Identifier: BSD-3-Clause
/**
 * The thread-rank collectives: compositions of thread phases and a process-level schedule. One file each, one function a
 * thread's part. The communicator is a thread's handle, the arguments are checked.
 */
#ifndef HIER_THREAD_H
#define HIER_THREAD_H

#include <core/error.h>
#include <core/stream.h>
#include <hier/network.h>
#include <intra/combine.h>

hier_collective hier_thread_barrier, hier_thread_bcast, hier_thread_reduce, hier_thread_allreduce, hier_thread_gather,
    hier_thread_gatherv, hier_thread_scatter, hier_thread_scatterv, hier_thread_allgather, hier_thread_allgatherv,
    hier_thread_alltoall, hier_thread_alltoallv, hier_thread_scan, hier_thread_reduce_scatter, hier_thread_fold,
    hier_thread_alone;

/** Runs a part to its end: a blocking collective of a thread communicator whose ranks are their places. */
int hier_thread_run(weft_comm *comm, const hier_arguments *arguments);

/** A blocking collective whose arguments are checked, and not strided unless they are laid out. */
typedef int hier_runner(weft_comm *comm, const hier_arguments *arguments);

extern hier_collective *const hier_thread_collectives[INTER_COLLECTIVES];

/** The part of a call. Where there is nothing to move the ranks still meet, lest one that calls something else waits for ever. */
static inline hier_collective *hier_thread_collective(const weft_comm *comm, const hier_arguments *arguments) {
    /* Those with a count for each rank: a rank does not know whether there is nothing to move. */
    const unsigned counted = INTER_BIT(INTER_GATHERV) | INTER_BIT(INTER_SCATTERV) | INTER_BIT(INTER_ALLGATHERV) |
                             INTER_BIT(INTER_ALLTOALLV) | INTER_BIT(INTER_ALLTOALLW);
    bool empty = !arguments->bytes && !inter_is(arguments->collective, counted);
    if (arguments->bracketed && !empty)
        return hier_thread_fold;
    /* The root's counts may have to go round first, which those do. */
    const unsigned asks = INTER_BIT(INTER_GATHERV) | INTER_BIT(INTER_SCATTERV);
    const bool moves = !empty || arguments->collective == INTER_BARRIER;
    if (hier_comm_is_alone(comm) && moves && !inter_is(arguments->collective, asks))
        return hier_thread_alone;
    return hier_thread_collectives[empty ? INTER_BARRIER : arguments->collective];
}

/** The two-counter scheme: one says that the data is there, one that threads have copied. */
enum { HIER_COUNTER_READY, HIER_COUNTER_DONE };

static inline void hier_count(const hier_call *call, int counter, int threads) {
    core_flag_count(intra_counter(&call->meeting, counter), intra_count(&call->meeting, 0), (uint64_t)threads,
                    &call->meeting.team->waiting);
}

/** Goes on when `threads` in all were counted; false as hier_await. */
static inline bool hier_await_count(hier_call *call, int counter, int threads) {
    return !threads ||
           intra_await_flag(&call->meeting, intra_counter(&call->meeting, counter),
                            intra_count(&call->meeting, threads), INTRA_ALL) ||
           hier_not_there(call);
}

/** By `counter`, where `flags` waits for flags alone. */
static inline bool hier_counts(const hier_call *call) {
    return call->choice.thread == HIER_COUNTER;
}

/** Have all operands been offered to the thread that combines them? The counter says so, the flags whether all are in the same call. */
static inline bool hier_await_operands(hier_call *call) {
    return (!hier_counts(call) || hier_await_count(call, HIER_COUNTER_READY, hier_threads(call))) &&
           hier_await_all(call, HIER_OFFERED);
}

/** By number: where there are no bytes the base may be NULL, to which C lets nothing be added. */
static inline char *hier_at(const void *base, size_t index, size_t bytes) {
    return core_offset(base, (ptrdiff_t)(index * bytes));
}

/** Brings the blocks in the node's cells together, but that of thread `except` (-1: all). Acquire: they were awaited. */
static inline void hier_take_cells(const hier_call *call, char *to, int except) {
    size_t bytes = call->arguments->bytes;
    for (int thread = 0; thread < hier_threads(call); thread++)
        if (thread != except)
            core_copy_short(hier_at(to, (size_t)thread, bytes), call->meeting.cells[thread].payload.bytes, bytes);
}

static inline bool hier_by_slices(const hier_call *call) {
    return call->choice.thread == HIER_SLICES;
}

/** Straight from other processes' buffers: direct.h. */
static inline bool hier_is_direct(const hier_call *call) {
    return call->choice.thread == HIER_DIRECT;
}

/** The threads whose blocks this one copies: its own, or by slices those of all, and then its slice of what there is. */
static inline int hier_first_served(const hier_call *call) {
    return hier_by_slices(call) ? 0 : call->comm->thread;
}

static inline int hier_end_served(const hier_call *call) {
    return hier_by_slices(call) ? hier_threads(call) : call->comm->thread + 1;
}

/** In bytes. */
static inline intra_slice hier_share(const hier_call *call, intra_slice whole) {
    if (!hier_by_slices(call))
        return whole;
    intra_slice slice = intra_slice_of(whole.count, 1, call->comm->thread, hier_threads(call));
    return (intra_slice){whole.begin + slice.begin, slice.count};
}

/** The thread whose memory holds the node's part: the root on its node, the leader elsewhere. */
static inline int hier_host_thread(const hier_call *call) {
    return hier_on_root_node(call) ? call->root_thread : 0;
}

/** Of less that a thread moves in a call, all stays in the nearest cache, whichever way it goes; nor is that ever streamed. */
#define HIER_TURNED_LEAST CORE_STREAM_LEAST

/** Backwards it goes by pieces that are long enough for the processor to foresee what it reads. */
#define HIER_TURNED_PIECE ((size_t)64 << 10)

/**
 * Does this thread, which moves so many bytes, begin with the end? It turns with every such call: so it begins with what it has left in its cache,
 * which would be gone, just before it comes to it, if it always went the same way.
 */
static inline bool hier_backwards(const hier_call *call, size_t whole) {
    weft_comm *comm = call->comm;
    if (whole < HIER_TURNED_LEAST)
        return false;
    if (comm->turned != call->meeting.sequence) {
        comm->turned = call->meeting.sequence;
        comm->backwards = !comm->backwards;
    }
    return comm->backwards;
}

/** Where it is at step `index` of so many. */
static inline int hier_turn(int index, int steps, bool backwards) {
    return backwards ? steps - 1 - index : index;
}

/** The next piece of what is left, from its beginning or its end; the pieces are the same either way. False: nothing is left. */
static inline bool hier_next_piece(intra_slice *left, size_t most, bool backwards, intra_slice *piece) {
    if (!left->count)
        return false;
    const size_t odd = backwards ? left->count % most : 0, count = left->count < most ? left->count : odd ? odd : most;
    left->count -= count;
    *piece = (intra_slice){backwards ? left->begin + left->count : left->begin, count};
    left->begin += backwards ? 0 : count;
    return true;
}

/** The next part of elements of so many bytes: from the beginning all of them. */
static inline bool hier_next_part(intra_slice *left, size_t element_bytes, bool backwards, intra_slice *part) {
    size_t most = left->count;
    if (backwards)
        most = element_bytes < HIER_TURNED_PIECE ? HIER_TURNED_PIECE / element_bytes : 1;
    return hier_next_piece(left, most, backwards, part);
}

/** All elements of a reduction. */
static inline intra_slice hier_whole(const hier_call *call) {
    return (intra_slice){0, call->arguments->recv_count};
}

static inline void hier_no_element(hier_call *call) {
    if (!call->error)
        call->error =
            core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for an element of %zu bytes", hier_rank_of(call->comm),
                       call->arguments->call, call->arguments->recv_type->size_bytes);
}

/** Notes that combining failed, if it did: for this thread, and for those that have from it what was combined. */
static inline void hier_combined(hier_call *call, int code) {
    if (!code)
        return;
    intra_leave_undone(&call->meeting);
    hier_no_element(call);
}

/** By slices, when all were awaited: notes that a thread could not combine its own. Before a network part hier_check_and_start() does. */
static inline void hier_note_undone(hier_call *call) {
    if (intra_is_undone(&call->meeting))
        hier_no_element(call);
}

/** May combining fail? Then the vector is not cut: what others combine is under way before this thread knows. */
static inline bool hier_may_lack_element(const hier_call *call) {
    return call->arguments->recv_type->size_bytes > CORE_REDUCE_BYTES;
}

/** Notes that there is no memory for a sum, unless something went wrong before. */
static inline void hier_no_sum(hier_call *call) {
    if (!call->error)
        call->error = core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for a sum of %zu bytes",
                                 hier_rank_of(call->comm), call->arguments->call, call->arguments->bytes);
}

/** Combines a slice of all threads' operands, which are in their cells or offered, in thread order. */
static inline void hier_combine(hier_call *call, bool in_cells, intra_slice slice, void *out) {
    const hier_arguments *arguments = call->arguments;
    const intra_operands operands = {in_cells, arguments->send, arguments->op, arguments->recv_type};
    const size_t size = arguments->recv_type->size_bytes;
    const bool backwards = !in_cells && hier_backwards(call, slice.count * size * (size_t)hier_threads(call));
    int code = WEFT_SUCCESS;
    for (intra_slice left = slice, part; !code && hier_next_part(&left, size, backwards, &part);)
        code = intra_combine(&call->meeting, &operands, part, hier_at(out, part.begin - slice.begin, size));
    hier_combined(call, code);
}

/** A process-level reduction of the nodes' sums, in place. */
static inline inter_binding hier_reduction_of(const hier_call *call, void *sum) {
    const hier_arguments *arguments = call->arguments;
    return (inter_binding){.send = sum, .recv = sum, .type = arguments->recv_type, .op = arguments->op};
}

#endif
