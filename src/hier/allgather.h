// SPDX-License-Identifier: BSD-3-Clause
/** Allgather and allgatherv between processes of one host that may read each other's memory: thread_allgather_direct.c. */
#ifndef HIER_ALLGATHER_H
#define HIER_ALLGATHER_H

#include <hier/thread.h>

hier_collective hier_allgather_directly;

#endif
