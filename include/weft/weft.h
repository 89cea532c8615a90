// SPDX-License-Identifier: BSD-3-Clause
/**
 * weft: every thread of every process is a rank. This header brings the whole library; the reference is in the headers that
 * it includes. weft/with_mpi.h, for programs that also use MPI, is included by itself.
 */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <weft/collectives.h>
#include <weft/comm.h>
#include <weft/counters.h>
#include <weft/datatype.h>
#include <weft/error.h>
#include <weft/init.h>
#include <weft/message.h>
#include <weft/request.h>
#include <weft/team.h>
#include <weft/types.h>
#include <weft/version.h>

#endif
