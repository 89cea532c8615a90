// SPDX-License-Identifier: BSD-3-Clause
#include <core/fence.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

bool core_fence_heavy(void) {
    /* Once is enough for a process, and costs no more than the call when it has been: membarrier(2). */
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
           syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}
