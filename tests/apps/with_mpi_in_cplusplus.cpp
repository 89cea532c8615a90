// SPDX-License-Identifier: BSD-3-Clause
// <weft/with_mpi.h> is for C++ programs, too: this is compiled, and does nothing.
#include <weft/with_mpi.h>

int begin_with_mpi() {
    int code = weft_init_with_mpi(MPI_COMM_WORLD, nullptr);
    return code == WEFT_SUCCESS ? weft_release_mpi() : code;
}
