// SPDX-License-Identifier: BSD-3-Clause
/**
 * weft inside a program that runs under MPI. Header only: it uses the MPI that the program is compiled with, so the weft
 * library itself depends on none.
 *
 *     MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
 *     weft_init_with_mpi(MPI_COMM_WORLD, NULL);
 *     …
 *     weft_finalize();
 *     weft_release_mpi();
 *     MPI_Finalize();
 */
#ifndef WEFT_WITH_MPI_H
#define WEFT_WITH_MPI_H

#include <limits.h>
#include <mpi.h>
#include <string.h>
#include <weft/weft.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The duplicate of the program's communicator that weft uses; one a program, whatever the number of source files and libraries. */
WEFT_API __attribute__((weak)) MPI_Comm weft_mpi_comm_in_use = MPI_COMM_NULL;

static inline int weft_mpi_allgather(const void *send, void *recv, size_t bytes, void *context) {
    MPI_Comm *comm = (MPI_Comm *)context;
    if (bytes > INT_MAX)
        return -1;
    return MPI_Allgather(send, (int)bytes, MPI_BYTE, recv, (int)bytes, MPI_BYTE, *comm);
}

/**
 * weft_init() over the processes of `comm`, weft ranks being its ranks. Collective over comm, which is duplicated, so that
 * the program's own traffic is not disturbed. `options` NULL: defaults; its bootstrap field is ignored.
 * MPI must be initialised, and stay so until weft_finalize() and weft_release_mpi(). The calling thread must be one that MPI
 * allows to call it. After an error it can only be made again by all processes of comm, never by one alone, as weft_init() can after some:
 * comm is duplicated anew. Errors: those of weft_init(); and, without a sentence in weft_last_error(), WEFT_ERR_INIT (weft is in use, or
 * weft_release_mpi() was not called after it was) and WEFT_ERR_BOOTSTRAP (MPI cannot duplicate comm).
 */
static inline int weft_init_with_mpi(MPI_Comm comm, const weft_options *options) {
    weft_bootstrap bootstrap;
    weft_options chosen;
    int code;
    if (weft_initialized() || weft_mpi_comm_in_use != MPI_COMM_NULL)
        return WEFT_ERR_INIT;
    if (MPI_Comm_dup(comm, &weft_mpi_comm_in_use) != MPI_SUCCESS)
        return WEFT_ERR_BOOTSTRAP;
    MPI_Comm_rank(weft_mpi_comm_in_use, &bootstrap.rank);
    MPI_Comm_size(weft_mpi_comm_in_use, &bootstrap.size);
    bootstrap.allgather = weft_mpi_allgather;
    bootstrap.context = &weft_mpi_comm_in_use;
    memset(&chosen, 0, sizeof(chosen));
    if (options)
        chosen = *options;
    chosen.bootstrap = &bootstrap;
    code = weft_init(&chosen);
    if (code != WEFT_SUCCESS)
        MPI_Comm_free(&weft_mpi_comm_in_use);
    return code;
}

/**
 * Gives back what weft_init_with_mpi() took from MPI: after weft_finalize(), before MPI_Finalize(). Collective. Errors, without a
 * sentence: WEFT_ERR_INIT (weft is in use, or there is nothing to give back), WEFT_ERR_BOOTSTRAP (MPI fails).
 */
static inline int weft_release_mpi(void) {
    if (weft_initialized() || weft_mpi_comm_in_use == MPI_COMM_NULL)
        return WEFT_ERR_INIT;
    return MPI_Comm_free(&weft_mpi_comm_in_use) == MPI_SUCCESS ? WEFT_SUCCESS : WEFT_ERR_BOOTSTRAP;
}

#ifdef __cplusplus
}
#endif
#endif
