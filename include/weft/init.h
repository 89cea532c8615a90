// SPDX-License-Identifier: BSD-3-Clause
/**
 * Start and end of weft in a process, and the process communicator.
 *
 * A process learns of the others through a *bootstrap*: a launcher that speaks PMIx (weftrun, mpirun, prterun,
 * srun --mpi=pmix), callbacks that the program passes (see weft/with_mpi.h for programs that already run under MPI), or
 * none, and then it is the only process.
 */
#ifndef WEFT_INIT_H
#define WEFT_INIT_H

#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Which threads may drive the network (the *funnel*). WEFT_THREAD_DEFAULT stands for the value of WEFT_THREAD_LEVEL,
 * "serialized" when it is not set. MULTIPLE is given when all processes of the job ask for it, else SERIALIZED.
 */
typedef enum weft_thread_level {
    WEFT_THREAD_DEFAULT = 0,
    WEFT_THREAD_FUNNELED = 1,   /**< only the thread that called weft_init, thread 0 of every team; no lock */
    WEFT_THREAD_SERIALIZED = 2, /**< any thread, one at a time: whoever waits drives for all */
    WEFT_THREAD_MULTIPLE = 3 /**< as SERIALIZED, and messages of each thread to other processes go a way of their own */
} weft_thread_level;

/** How a thread waits for another. WEFT_WAIT_DEFAULT stands for the value of WEFT_WAIT, "auto" when it is not set. */
typedef enum weft_wait_policy {
    WEFT_WAIT_DEFAULT = 0,
    WEFT_WAIT_AUTO = 1,  /**< spin while every thread of the host has a core; else yield, then sleep */
    WEFT_WAIT_SPIN = 2,  /**< spin, always: lowest latency; with fewer cores than threads a hundred times slower */
    WEFT_WAIT_YIELD = 3, /**< give the core away between looks */
    WEFT_WAIT_BLOCK = 4  /**< sleep in the kernel: least processor time */
} weft_wait_policy;

/** Whether threads of a team are bound. WEFT_BIND_DEFAULT stands for the value of WEFT_BIND, "none" when it is not set. */
typedef enum weft_bind_policy {
    WEFT_BIND_DEFAULT = 0,
    WEFT_BIND_NONE = 1, /**< weft binds nobody */
    /**
     * Each thread that enters a team is bound to a core of its own among those that the process may use, neighbours in the team beside
     * each other, until it leaves the team. Processes of a host that may use the same cores have equal shares of them, and threads of all teams
     * of a process share its own out. Not bound is a thread for which none is left, one that is bound already (it may not use all
     * of these cores), and whoever enters a team for which there are not enough. Threads that a bound one starts are bound to the same core.
     */
    WEFT_BIND_CORE = 2
} weft_bind_policy;

/**
 * How a program that has its own means of communication lets weft start: weft calls `allgather` from the thread that is
 * inside weft_init or weft_finalize, in all processes alike.
 */
typedef struct weft_bootstrap {
    int rank; /**< this process, 0 … size-1 */
    int size; /**< how many processes, at least 1 */
    /**
     * Gathers `bytes` bytes from every process into `recv` (size × bytes, in rank order). Returns 0, or anything else for
     * failure. `send` and `recv` do not overlap. It does not start or end weft: that is WEFT_ERR_INIT.
     */
    int (*allgather)(const void *send, void *recv, size_t bytes, void *context);
    void *context; /**< handed to allgather; stays the caller's */
} weft_bootstrap;

/**
 * All fields 0 (`weft_options options = {0};`) are the defaults. A WEFT_ variable that is set wins over its field, but for
 * WEFT_BOOTSTRAP (auto, pmix or single), which is only looked at when `bootstrap` is NULL.
 */
typedef struct weft_options {
    weft_thread_level thread_level; /**< WEFT_THREAD_LEVEL */
    weft_wait_policy wait_policy;   /**< WEFT_WAIT */
    const weft_bootstrap
        *bootstrap; /**< NULL: PMIx, else one process. Not kept; its context is used until weft_finalize */
    const char *
        algorithm; /**< WEFT_ALGORITHM; NULL: the built-in choice. The same in all processes. Read during the call only */
    /**
     * WEFT_HANG_TIMEOUT: when an operation has waited for so many seconds a *roll-call* tells what every thread waits in; 0:
     * never. weftrun prints one of the whole job; under other launchers process 0 appends it to a file, and listens on a TCP port of
     * its own for what the others say (a process that cannot reach it appends its own part to a file of its own). The job goes on. There is
     * another report only when one of the waits of the last is over. The same in all processes.
     */
    int hang_timeout;
    const char
        *hang_report; /**< WEFT_HANG_REPORT: the file's name, "." and the process follow; NULL: "weft-hang". As above */
    /**
     * WEFT_REPRODUCIBLE: 1: reduce, allreduce, reduce_scatter, reduce_scatter_block, scan and exscan of floating-point numbers give the
     * same bits however the same ranks are split into processes and threads, by any algorithm, in every run; in a fixed
     * bracketing, see weft/collectives.h. 0: as fast as possible. The same in all processes.
     */
    int reproducible;
    weft_bind_policy bind; /**< WEFT_BIND; see weftrun --bind for processes */
} weft_options;

/**
 * Starts weft. Collective over the processes of the job; called once, by one thread of each; `options` NULL: defaults.
 * Reads the WEFT_ variables (`weft-info --config` lists them; WEFT_ROOT, WEFT_DIR, WEFT_HOME and WEFT_PREFIX are left to who
 * installs), and which cores the process may use: those that the calling thread may use now. So call it before the program
 * binds that thread; of bindings by an OpenMP runtime (OMP_PROC_BIND) weft knows.
 * Errors: WEFT_ERR_INIT (called twice, or by the bootstrap's allgather), WEFT_ERR_CONFIG (a WEFT_ variable is unknown or out of range, named in the
 * sentence; an `algorithm` that does not exist, or is, as `reproducible`, not that of process 0; WEFT_PROGRESS=thread under
 * FUNNELED; a directory of WEFT_COUNTERS or WEFT_TRACE that cannot be made, a file of WEFT_HANG_REPORT that could not), WEFT_ERR_ARG (another option is out of range), WEFT_ERR_UNSUPPORTED (more than 2^20 processes), WEFT_ERR_BOOTSTRAP,
 * WEFT_ERR_TRANSPORT, WEFT_ERR_PROC_FAILED (another process has ended meanwhile, is out of reach, or could not start), WEFT_ERR_NOMEM (threads that cannot be started, too).
 * After an error nothing is left started in this process. The call can be made again by it alone when the processes had not met yet: it has failed over options,
 * variables or for want of memory for what weft keeps, or before the bootstrap's first allgather. When the processes have met all start, or none does: where threads of
 * weft's own could not be started in one process, that is WEFT_ERR_PROC_FAILED in the others, and all can call again. Only a process that has no memory, or no
 * bootstrap, to meet the others with leaves those waiting for it in weft_init: the job is to be ended.
 * fork(): the parent goes on; in the child weft is not initialised, and the parent's handles are none.
 */
WEFT_API int weft_init(const weft_options *options);

/**
 * Ends weft: waits for the other processes and gives everything back. Collective over the processes; one thread of each.
 * Teams and communicators must be freed first, requests completed, persistent ones freed; a buffer that is attached to the process
 * communicator need not be detached. weft can be started again afterwards when the bootstrap
 * allows it.
 * Errors: WEFT_ERR_INIT (weft is not started, or called by the bootstrap's allgather), WEFT_ERR_BUSY (a team, a communicator, a request or a message of weft_mprobe is left), WEFT_ERR_THREAD (FUNNELED, and not the thread
 * of weft_init), WEFT_ERR_NOMEM (before it began: the others wait for it): weft stays as it was, which weft_initialized() tells. Else weft is over in this
 * process all the same: WEFT_ERR_NOMEM (later), WEFT_ERR_MISMATCH (the processes have
 * called different collectives on the process communicator), WEFT_ERR_PROC_FAILED, WEFT_ERR_BOOTSTRAP, WEFT_ERR_TRANSPORT,
 * WEFT_ERR_CONFIG (WEFT_COUNTERS or WEFT_TRACE could not be written).
 */
WEFT_API int weft_finalize(void);

/** 1 between a successful weft_init and weft_finalize, else 0. Any thread, any time. */
WEFT_API int weft_initialized(void);

/**
 * The communicator whose ranks are the processes; NULL (and WEFT_ERR_INIT in weft_last_error) outside weft_init …
 * weft_finalize. It belongs to weft. One thread of a process at a time may call collectives on it; under FUNNELED only the
 * thread that called weft_init.
 */
WEFT_API weft_comm *weft_process_comm(void);

/** The thread level in force; WEFT_THREAD_DEFAULT outside weft_init … weft_finalize. */
WEFT_API weft_thread_level weft_thread_level_get(void);

#ifdef __cplusplus
}
#endif
#endif
