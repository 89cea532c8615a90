// SPDX-License-Identifier: BSD-3-Clause
/**
 * Direct: threads read what they get straight from the buffers of threads of other processes of the host, in one copy and without
 * memory in between (process_vm_readv; after the kernel-assisted collectives of Ma, Bosilca et al., ICPP 2011).
 *
 * The network part carries no data. It has two strands (pieces.h): in the first a process tells those who read it where its threads' data
 * are, in the second those tell it that their threads have read all that they get. So what a thread has shown stays as it is until the
 * part is over.
 *
 *     threads    show their data │                     │ read │
 *     network                    │ strand 0: addresses │      │ strand 1: all is read │
 *
 * What comes from another process is not trusted: an address that is wrong makes an error of the system call.
 */
#ifndef HIER_DIRECT_H
#define HIER_DIRECT_H

#include <hier/moves.h>
#include <hier/pieces.h>

/**
 * Shows `send`, one run, of which each rank of other processes reads arguments->bytes, and posts HIER_OFFERED. In a scatter only the root's
 * data are read, in a gather those of other nodes than the root's; the others show nothing. NULL: there is no memory for it, as those
 * learn who want to read it.
 */
void hier_direct_offer(hier_call *call, const void *send);

/**
 * Does it pay to copy so much of a thread's data into memory that other processes read without a system call (window.h)? Where all have cores
 * and several threads read it: those would get into each other's way in the kernel.
 */
bool hier_shows_copies(const hier_call *call, size_t bytes);

/** A copy of it in one run, which the call owns; NULL without memory. */
void *hier_packed(const hier_call *call, core_data block);

/** Where others read a block: as it lies, or in a copy of it, should it lie in several runs, or that pay. NULL as hier_packed(). */
const void *hier_direct_run(const hier_call *call, core_data block);

/** Likewise of a block for each rank, those for other nodes alone, each in its place: what this thread sends. */
const void *hier_blocks_for_others(const hier_call *call);

/**
 * What the nodes tell each other, by node, in elements: what is sent and received, and who answers whom when that is read. It stays in the
 * slot, since the next call there mostly tells the same.
 */
typedef struct hier_telling {
    size_t *sent, *received, *send_offsets, *recv_offsets;
    size_t *answers, *answered; /* 1 or 0 */
    size_t *answer_from, *answer_to;
    bool changed;
} hier_telling;

/**
 * For start functions: the last one of the slot, or one that is all 0, where a node's answer goes out at `from` and that of node i comes in
 * at `to` + i. False: no memory. All but what is 0 anyway is then told, by hier_tell(); what never changes in calls of the kind only where `changed`.
 */
bool hier_telling_take(hier_call *call, hier_telling *telling, size_t from, size_t to);

static inline void hier_tell(hier_telling *telling, size_t *entry, size_t value) {
    telling->changed |= *entry != value;
    *entry = value;
}

/** For start functions: starts the two strands, or the first alone where nobody answers. */
int hier_telling_start(hier_call *call, const hier_telling *telling, size_t element_bytes, inter_binding *binding);

/** Declares the network part, which `start` starts by hier_telling_start() when `need_thread` has posted HIER_OFFERED. */
void hier_direct_network(hier_call *call, int need_thread, hier_start_function *start);

/** HIER_AWAIT: the others' addresses are here. */
static inline bool hier_await_addresses(hier_call *call) {
    return hier_await_piece(call, 0);
}

/** The address that a thread of another node has shown. 0: it has no memory. */
uint64_t hier_direct_address(const hier_call *call, int node, int thread);

/** What is read of one node: in one go, as far as it comes to single runs. */
typedef struct hier_reads {
    int process;
    size_t count, most;
    inter_run *runs; /* `most` to read from, and behind them those to read to; NULL: none yet */
} hier_reads;

/** At most so many blocks are read of that node, or none. */
static inline hier_reads hier_reads_begin(const hier_call *call, int node, size_t most) {
    return (hier_reads){.process = hier_layout_process(call->comm->layout, node), .most = most};
}

/**
 * A block, which lies so far behind an address. Those of several runs are read now, by way of memory of the thread's. Sets the call's error
 * if that or what follows cannot be; then it does nothing more.
 */
void hier_reads_add(hier_call *call, hier_reads *reads, uint64_t address, size_t offset, core_data to);

void hier_reads_end(hier_call *call, const hier_reads *reads);

/** This thread has read all that it gets, in its own process too. Whoever was there when the addresses came says so, whatever else was. */
static inline void hier_have_read(hier_call *call) {
    hier_piece_ready(call, 1);
    intra_post(&call->meeting, HIER_READY);
}

/** Before that, where it reads for others: tells them what kept this thread from reading its share, if anything did. */
void hier_tell_unread(const hier_call *call);

/** Theirs, when all of the node have read: what kept one from it is the call's error. */
void hier_note_unread(hier_call *call);

/** Instead: this thread reads nothing, and has shown what others need of it. */
static inline void hier_read_nothing(hier_call *call) {
    intra_step(&call->meeting, call->pieces.number);
    intra_post(&call->meeting, HIER_READY);
}

/** HIER_AWAIT: all threads of all processes have read all that they get. */
static inline bool hier_await_readers(hier_call *call) {
    return hier_await_piece(call, 1);
}

#endif
