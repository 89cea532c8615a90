// SPDX-License-Identifier: BSD-3-Clause
/* The public collectives, each in its three forms: check, then the composition for thread ranks or the schedule for process
 * ranks. */
#include <core/error.h>
#include <hier/agree.h>
#include <hier/brief.h>
#include <hier/checked.h>
#include <hier/lending.h>
#include <hier/observe.h>
#include <hier/order.h>
#include <hier/part.h>
#include <hier/request.h>
#include <hier/sides.h>
#include <hier/staging.h>

hier_collective *const hier_thread_collectives[INTER_COLLECTIVES] = {
    [INTER_BARRIER] = hier_thread_barrier,
    [INTER_BCAST] = hier_thread_bcast,
    [INTER_REDUCE] = hier_thread_reduce,
    [INTER_ALLREDUCE] = hier_thread_allreduce,
    [INTER_GATHER] = hier_thread_gather,
    [INTER_SCATTER] = hier_thread_scatter,
    [INTER_ALLGATHER] = hier_thread_allgather,
    [INTER_ALLTOALL] = hier_thread_alltoall,
    [INTER_ALLTOALLV] = hier_thread_alltoallv,
    [INTER_ALLTOALLW] = hier_thread_alltoallv,
    [INTER_GATHERV] = hier_thread_gatherv,
    [INTER_SCATTERV] = hier_thread_scatterv,
    [INTER_ALLGATHERV] = hier_thread_allgatherv,
    [INTER_SCAN] = hier_thread_scan,
    [INTER_EXSCAN] = hier_thread_scan,
    [INTER_REDUCE_SCATTER] = hier_thread_reduce_scatter,
    [INTER_REDUCE_SCATTER_BLOCK] = hier_thread_reduce_scatter,
};

static __attribute__((noinline)) int check_own(weft_comm *comm, hier_arguments *arguments) {
    return hier_check_own(comm, arguments);
}

/* The communicator has been checked. On processes with the funnel. */
static inline int check(weft_comm *comm, hier_arguments *arguments) {
    const bool known = arguments->collective == INTER_BARRIER && comm->checked[INTER_BARRIER].known;
    return known ? WEFT_SUCCESS : check_own(comm, arguments);
}

/* On data that lie in one run, or are laid out. */
static int run(weft_comm *comm, const hier_arguments *arguments) {
    return hier_is_ordered(comm, arguments) ? hier_ordered(comm, arguments) : hier_thread_run(comm, arguments);
}

static int run_thread(weft_comm *comm, const hier_arguments *arguments) {
    return comm->member->retired ? hier_ledger_error(comm, arguments->call) : run(comm, arguments);
}

static int run_derived(weft_comm *comm, hier_arguments *arguments) {
    if (!comm->team)
        return arguments->strided ? hier_process_strided(comm, arguments) : hier_process_collective(comm, arguments);
    if (!comm->member->retired && arguments->strided && !hier_lay_out(comm, arguments))
        return hier_thread_staged(comm, arguments, run);
    return run_thread(comm, arguments);
}

/*
 * With derived types, which another thread, that is through, may free while this one still copies. A function of its own, lest the others
 * save its registers.
 */
static __attribute__((noinline)) int block_derived(weft_comm *comm, hier_arguments *arguments) {
    hier_types_retain(comm, arguments);
    hier_observe_begin(comm, arguments);
    int code = hier_observe_end(comm, arguments, run_derived(comm, arguments));
    hier_types_release(comm, arguments); /* of the same sides, laid out or not */
    return code;
}

/*
 * On processes, apart, as that is. Which call was the last one is known in the hold of the funnel that starts this one: any thread may have
 * made it.
 */
static __attribute__((noinline)) int block_process(weft_comm *comm, hier_arguments *arguments) {
    hier_funnel_enter(comm->world);
    int code = check(comm, arguments);
    if (code || arguments->derived) {
        hier_funnel_leave(comm->world);
        return code ? code : block_derived(comm, arguments);
    }
    hier_observe_begin(comm, arguments);
    return hier_observe_end(comm, arguments, hier_process_go_on(comm, arguments));
}

static __attribute__((noinline)) int block_any(weft_comm *comm, hier_arguments *arguments) {
    int code = hier_check_comm(comm, arguments->call);
    if (code)
        return code;
    if (!comm->team)
        return block_process(comm, arguments);
    code = check(comm, arguments);
    if (code)
        return code;
    if (arguments->derived) /* data that are not one run are of such a type */
        return block_derived(comm, arguments);
    hier_observe_begin(comm, arguments);
    return hier_observe_end(comm, arguments, run_thread(comm, arguments));
}

/* What the arguments of a call are found to be that is brief; else NULL. */
HIER_IN_PLACE const hier_arguments *find_brief(weft_comm *comm, enum inter_collective collective,
                                               const hier_arguments *arguments) {
    return hier_is_own_handle(comm) ? hier_found_brief(comm, collective, arguments) : NULL;
}

static inline int run_found(weft_comm *comm, enum inter_collective collective, const hier_arguments *found) {
    return comm->checked[collective].brief(comm, found);
}

/* check() of a call that gives a request. */
static int check_begin(weft_comm *comm, hier_arguments *arguments, weft_request **request) {
    int code = check(comm, arguments);
    if (!code && !request)
        code = core_error(WEFT_ERR_ARG, "rank %d: %s: request is NULL", comm->rank, arguments->call);
    return code;
}

/* As block_process. */
static int begin_process(weft_comm *comm, hier_arguments *arguments, bool persistent, weft_request **request) {
    hier_funnel_enter(comm->world);
    int code = check_begin(comm, arguments, request);
    if (!code)
        return hier_request_make(comm, arguments, persistent, request);
    hier_funnel_leave(comm->world);
    return code;
}

static __attribute__((noinline)) int begin(weft_comm *comm, hier_arguments *arguments, bool persistent,
                                           weft_request **request) {
    int code = hier_check_comm(comm, arguments->call);
    if (code)
        return code;
    if (!comm->team)
        return begin_process(comm, arguments, persistent, request);
    hier_part *alike = !persistent && request ? hier_part_alike(comm, arguments->collective, arguments) : NULL;
    if (alike)
        return hier_part_repeat(alike, arguments->caller, request);
    code = check_begin(comm, arguments, request);
    return code ? code : hier_part_make(comm, arguments, persistent, request);
}

/* The part of a call like this one, which begins it; else NULL. */
HIER_IN_PLACE hier_part *find_alike(const weft_comm *comm, enum inter_collective collective,
                                    const hier_arguments *arguments) {
    return hier_is_own_handle(comm) ? hier_part_alike(comm, collective, arguments) : NULL;
}

/* Of weft's own: `counted` makes them unlike any of the user's, and unlike those of other calls. */
static hier_arguments arguments_by(hier_caller by, enum inter_collective collective) {
    hier_arguments arguments;
    hier_arguments_begin(&arguments, collective, by.call);
    arguments.caller = by.place;
    arguments.counted = hier_chain(hier_chain_text(arguments.counted, by.call), by.step);
    return arguments;
}

/*
 * Where a thread communicator breaks just when one of these has come through, some threads of a process come to know it here and others
 * at their next call: it has come through for all of them, so that they go on alike until then.
 */
static int block_own(weft_comm *comm, hier_arguments *arguments) {
    if (comm->team)
        comm->member->came_through = false;
    const hier_arguments *found = find_brief(comm, arguments->collective, arguments);
    int code = found ? run_found(comm, arguments->collective, found) : block_any(comm, arguments);
    return code == WEFT_ERR_MISMATCH && comm->team && comm->member->came_through ? WEFT_SUCCESS : code;
}

int hier_exchange(weft_comm *comm, hier_caller by, const void *own, size_t bytes, void *all) {
    hier_arguments arguments = arguments_by(by, INTER_ALLGATHER);
    arguments.send = own;
    arguments.recv = all;
    arguments.send_count = arguments.recv_count = bytes;
    arguments.send_type = arguments.recv_type = WEFT_BYTE;
    return block_own(comm, &arguments);
}

static hier_arguments blocks_by(hier_caller by, void *all, const size_t *bytes, const ptrdiff_t *displs) {
    hier_arguments arguments = arguments_by(by, INTER_ALLGATHERV);
    arguments.send = WEFT_IN_PLACE;
    arguments.recv = all;
    arguments.send_count = 0;
    arguments.recv_counts = bytes;
    arguments.recv_displs = displs;
    arguments.send_type = arguments.recv_type = WEFT_BYTE;
    return arguments;
}

static hier_arguments agreement_by(hier_caller by, uint64_t *words, size_t count, const weft_op *op) {
    hier_arguments arguments = arguments_by(by, INTER_ALLREDUCE);
    arguments.send = WEFT_IN_PLACE;
    arguments.recv = words;
    arguments.recv_count = count;
    arguments.recv_type = WEFT_UINT64_T;
    arguments.op = op;
    return arguments;
}

int hier_exchange_blocks(weft_comm *comm, hier_caller by, void *all, const size_t *bytes, const ptrdiff_t *displs) {
    hier_arguments arguments = blocks_by(by, all, bytes, displs);
    return block_own(comm, &arguments);
}

int hier_agree(weft_comm *comm, hier_caller by, uint64_t *words, size_t count, const weft_op *op) {
    hier_arguments arguments = agreement_by(by, words, count, op);
    return block_own(comm, &arguments);
}

static int reserve(weft_comm *comm, hier_arguments *arguments) {
    int code = check(comm, arguments);
    return code ? code : hier_request_reserve(comm, arguments);
}

int hier_exchange_blocks_reserve(weft_comm *comm, hier_caller by, void *all, const size_t *bytes,
                                 const ptrdiff_t *displs) {
    hier_arguments arguments = blocks_by(by, all, bytes, displs);
    return reserve(comm, &arguments);
}

int hier_agree_reserve(weft_comm *comm, hier_caller by, size_t most) {
    uint64_t words; /* where they would be: they are not looked at */
    hier_arguments arguments = agreement_by(by, &words, most, WEFT_BOR);
    return reserve(comm, &arguments);
}

/* A list of parameters without its parentheses; it ends with a comma. */
#define LIST(...) __VA_ARGS__

/* `...` sets the fields from the parameters. */
#define ARGUMENTS(kind, ...)                                                                                           \
    hier_arguments own, *arguments = &own;                                                                             \
    hier_arguments_begin(arguments, kind, __func__);                                                                   \
    __VA_ARGS__

/*
 * The three forms of a collective. A call that is like the last one has its arguments in registers, since only functions in place look at
 * them; for others they are put together apart.
 */
#define COLLECTIVE(name, kind, parameters, ...)                                                                        \
    int weft_##name(LIST parameters weft_comm *comm) {                                                                 \
        {                                                                                                              \
            ARGUMENTS(kind, __VA_ARGS__);                                                                              \
            const hier_arguments *found = find_brief(comm, kind, arguments);                                           \
            if (found)                                                                                                 \
                return hier_leave(comm, run_found(comm, kind, found));                                                 \
        }                                                                                                              \
        ARGUMENTS(kind, __VA_ARGS__);                                                                                  \
        return hier_leave(comm, block_any(comm, arguments));                                                           \
    }                                                                                                                  \
    int weft_i##name(LIST parameters weft_comm *comm, weft_request **request) {                                        \
        if (request) {                                                                                                 \
            ARGUMENTS(kind, __VA_ARGS__);                                                                              \
            hier_part *alike = find_alike(comm, kind, arguments);                                                      \
            if (alike)                                                                                                 \
                return hier_leave(comm, hier_part_repeat(alike, arguments->caller, request));                          \
        }                                                                                                              \
        ARGUMENTS(kind, __VA_ARGS__);                                                                                  \
        return hier_leave(comm, begin(comm, arguments, false, request));                                               \
    }                                                                                                                  \
    int weft_##name##_init(LIST parameters weft_comm *comm, weft_request **request) {                                  \
        ARGUMENTS(kind, __VA_ARGS__);                                                                                  \
        return hier_leave(comm, begin(comm, arguments, true, request));                                                \
    }

/* What many of them take. */
#define SET(field)      arguments->field = field
#define SET_BUFFERS     SET(send), SET(recv)
#define SET_SEND_BLOCK  SET(send_count), SET(send_type)
#define SET_RECV_BLOCK  SET(recv_count), SET(recv_type)
#define SET_SEND_COUNTS SET(send_counts), SET(send_displs)
#define SET_RECV_COUNTS SET(recv_counts), SET(recv_displs)
#define SET_VECTOR      SET_BUFFERS, arguments->recv_count = count, arguments->recv_type = type, SET(op)
#define SEND_BLOCK      const void *send, size_t send_count, const weft_datatype *send_type
#define RECV_BLOCK      void *recv, size_t recv_count, const weft_datatype *recv_type
#define SEND_BLOCKS                                                                                                    \
    const void *send, const size_t *send_counts, const ptrdiff_t *send_displs, const weft_datatype *send_type
#define RECV_BLOCKS void *recv, const size_t *recv_counts, const ptrdiff_t *recv_displs, const weft_datatype *recv_type
#define VECTOR      const void *send, void *recv, size_t count, const weft_datatype *type, const weft_op *op

COLLECTIVE(barrier, INTER_BARRIER, (), (void)0)

COLLECTIVE(bcast, INTER_BCAST, (void *buffer, size_t count, const weft_datatype *type, int root, ),
           arguments->recv = buffer, arguments->recv_count = count, arguments->recv_type = type, SET(root))

COLLECTIVE(scatter, INTER_SCATTER, (SEND_BLOCK, RECV_BLOCK, int root, ), SET_BUFFERS, SET_SEND_BLOCK, SET_RECV_BLOCK,
           SET(root))

COLLECTIVE(scatterv, INTER_SCATTERV, (SEND_BLOCKS, RECV_BLOCK, int root, ), SET_BUFFERS, SET_SEND_COUNTS,
           SET(send_type), SET_RECV_BLOCK, SET(root))

COLLECTIVE(gather, INTER_GATHER, (SEND_BLOCK, RECV_BLOCK, int root, ), SET_BUFFERS, SET_SEND_BLOCK, SET_RECV_BLOCK,
           SET(root))

COLLECTIVE(gatherv, INTER_GATHERV, (SEND_BLOCK, RECV_BLOCKS, int root, ), SET_BUFFERS, SET_SEND_BLOCK, SET_RECV_COUNTS,
           SET(recv_type), SET(root))

COLLECTIVE(allgather, INTER_ALLGATHER, (SEND_BLOCK, RECV_BLOCK, ), SET_BUFFERS, SET_SEND_BLOCK, SET_RECV_BLOCK)

COLLECTIVE(allgatherv, INTER_ALLGATHERV, (SEND_BLOCK, RECV_BLOCKS, ), SET_BUFFERS, SET_SEND_BLOCK, SET_RECV_COUNTS,
           SET(recv_type))

COLLECTIVE(alltoall, INTER_ALLTOALL, (SEND_BLOCK, RECV_BLOCK, ), SET_BUFFERS, SET_SEND_BLOCK, SET_RECV_BLOCK)

COLLECTIVE(alltoallv, INTER_ALLTOALLV, (SEND_BLOCKS, RECV_BLOCKS, ), SET_BUFFERS, SET_SEND_COUNTS, SET(send_type),
           SET_RECV_COUNTS, SET(recv_type))

COLLECTIVE(alltoallw, INTER_ALLTOALLW,
           (const void *send, const size_t *send_counts, const ptrdiff_t *send_displs,
            const weft_datatype *const *send_types, void *recv, const size_t *recv_counts, const ptrdiff_t *recv_displs,
            const weft_datatype *const *recv_types, ),
           SET_BUFFERS, SET_SEND_COUNTS, SET(send_types), SET_RECV_COUNTS, SET(recv_types))

COLLECTIVE(reduce, INTER_REDUCE, (VECTOR, int root, ), SET_VECTOR, SET(root))
COLLECTIVE(allreduce, INTER_ALLREDUCE, (VECTOR, ), SET_VECTOR)

COLLECTIVE(reduce_scatter, INTER_REDUCE_SCATTER,
           (const void *send, void *recv, const size_t *recv_counts, const weft_datatype *type, const weft_op *op, ),
           SET_BUFFERS, SET(recv_counts), arguments->recv_type = type, SET(op))

COLLECTIVE(reduce_scatter_block, INTER_REDUCE_SCATTER_BLOCK,
           (const void *send, void *recv, size_t recv_count, const weft_datatype *type, const weft_op *op, ),
           SET_BUFFERS, SET(recv_count), arguments->recv_type = type, SET(op))

COLLECTIVE(scan, INTER_SCAN, (VECTOR, ), SET_VECTOR)
COLLECTIVE(exscan, INTER_EXSCAN, (VECTOR, ), SET_VECTOR)
