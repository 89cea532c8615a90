// SPDX-License-Identifier: BSD-3-Clause
#include <core/file.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

bool core_file_is_writable(const char *path) {
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0)
        unlink(path); /* at once, so that it is gone whatever becomes of the process */
    else if (errno == EEXIST)
        file = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return false;
    close(file);
    return true;
}
