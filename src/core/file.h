// SPDX-License-Identifier: BSD-3-Clause
/** Files that are written later. */
#ifndef CORE_FILE_H
#define CORE_FILE_H

#include <stdbool.h>

/**
 * Can a file of this name be made, or is there one that can be written to? Else errno says why. Nothing is left behind; a FIFO that nobody
 * reads is not waited for, and is none.
 */
bool core_file_is_writable(const char *path);

#endif
