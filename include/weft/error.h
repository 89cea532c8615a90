// SPDX-License-Identifier: BSD-3-Clause
/**
 * Error codes and what they say.
 *
 * Every weft call returns WEFT_SUCCESS (0) or one of the negative codes below. Nothing in the library prints or aborts.
 * Outputs are set only on success, but for what the calls of request.h tell of operations that an error completes: statuses, requests, indices,
 * and how many are done. The code tells the kind of error;
 * the sentence of weft_last_error() tells which rank, which argument, and what was expected.
 */
#ifndef WEFT_ERROR_H
#define WEFT_ERROR_H

#include <weft/version.h>

#ifdef __cplusplus
extern "C" {
#endif

enum weft_error {
    WEFT_SUCCESS = 0,
    WEFT_ERR_ARG = -1,    /**< an invalid argument: null buffer with a count, unknown type or operation, freed handle */
    WEFT_ERR_RANK = -2,   /**< a rank or root is outside the communicator */
    WEFT_ERR_INIT = -3,   /**< called before weft_init or after weft_finalize, or initialised twice */
    WEFT_ERR_THREAD = -4, /**< wrong thread: number taken or out of range, handle of another thread, level too low */
    WEFT_ERR_NOMEM = -5,  /**< memory could not be had */
    WEFT_ERR_TRUNCATE = -6, /**< a message is longer than the buffer posted for it */
    WEFT_ERR_MISMATCH = -7, /**< ranks that met in one collective called different operations, or with other counts */
    WEFT_ERR_PROC_FAILED = -8, /**< a process that is needed has died or is out of reach */
    WEFT_ERR_CONFIG = -9,      /**< a WEFT_ variable is unknown, malformed, or out of range */
    WEFT_ERR_BOOTSTRAP = -10,  /**< the launcher or a bootstrap callback failed, or what they must tell is missing */
    WEFT_ERR_TRANSPORT = -11,  /**< the network reported an error */
    WEFT_ERR_BUSY = -12,       /**< the object is in use: a team with threads in it, a process comm with teams on it */
    WEFT_ERR_UNSUPPORTED = -13 /**< a valid request that this version cannot serve */
};

/**
 * The name and meaning of a code, as in "WEFT_ERR_RANK: rank out of range". A static string, also for codes that do not
 * exist ("unknown weft error code"). Any thread, any time.
 */
WEFT_API const char *weft_strerror(int code);

/**
 * The full sentence of the last error that a weft call returned on the calling thread; "" when there was none. To be asked for before
 * the thread's next weft call: one that succeeds mostly leaves it as it was, but may find out meanwhile that something else which is under
 * way has failed. The string belongs to weft and stays valid until that call. Any thread, any time.
 */
WEFT_API const char *weft_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
