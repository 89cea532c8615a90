// SPDX-License-Identifier: BSD-3-Clause
/**
 * LD_PRELOAD=no_locks: as on a file system that has no locks.
 */
#include <errno.h>
#include <sys/file.h>

int flock(int fd, int operation) {
    (void)fd, (void)operation;
    errno = ENOLCK;
    return -1;
}
