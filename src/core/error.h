// SPDX-License-Identifier: BSD-3-Clause
/**
 * Errors: whoever detects one writes the sentence, everybody else hands the code on.
 */
#ifndef CORE_ERROR_H
#define CORE_ERROR_H

#include <weft/error.h>

/**
 * Sets the calling thread's sentence (printf format, cut at 511 bytes) and returns `code`, so that a check reads
 * `return core_error(WEFT_ERR_RANK, "root %d …", root);`.
 */
int core_error(int code, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/** A copy of the calling thread's sentence, before other errors are come by; NULL: no memory. */
char *core_error_keep(void) __attribute__((cold));

/** Sets a sentence that was kept, which is freed (NULL: none is set), and returns `code`. */
int core_error_again(int code, char *kept) __attribute__((cold));

#endif
