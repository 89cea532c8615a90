// SPDX-License-Identifier: BSD-3-Clause
/**
 * An MPI's messages between pairs, for mpi_bench.c. Errors in MPI calls end the job by themselves.
 */
#ifndef BENCH_MPI_MESSAGES_H
#define BENCH_MPI_MESSAGES_H

#include "../operations.h"

#include <mpi.h>

typedef struct mpi_messages {
    MPI_Datatype vector; /* of the block of the last prepare, where the operation has one */
    int vector_bytes;    /* what MPI_Pack takes */
    MPI_Request exchange[2];
} mpi_messages;

void mpi_messages_prepare(mpi_messages *self, const bench_call *call);
void mpi_messages_release(mpi_messages *self, const bench_call *call);

void mpi_messages_run(mpi_messages *self, const bench_call *call, size_t calls);

/** Overlap's exchange: both ranks of the pair start to receive and to send. Nothing for a rank without a pair. */
void mpi_exchange_start(mpi_messages *self, const bench_call *call);
void mpi_exchange_test(mpi_messages *self);
void mpi_exchange_wait(mpi_messages *self);

#endif
