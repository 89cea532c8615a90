// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char sentence[512];

int core_error(int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    return code;
}

char *core_error_keep(void) {
    return strdup(sentence);
}

int core_error_again(int code, char *kept) {
    if (kept)
        core_error(code, "%s", kept);
    free(kept);
    return code;
}

const char *weft_last_error(void) {
    return sentence;
}

const char *weft_strerror(int code) {
    switch ((enum weft_error)code) {
    case WEFT_SUCCESS:
        return "WEFT_SUCCESS: no error";
    case WEFT_ERR_ARG:
        return "WEFT_ERR_ARG: invalid argument";
    case WEFT_ERR_RANK:
        return "WEFT_ERR_RANK: rank out of range";
    case WEFT_ERR_INIT:
        return "WEFT_ERR_INIT: weft is not initialised, or is already";
    case WEFT_ERR_THREAD:
        return "WEFT_ERR_THREAD: wrong thread for this call";
    case WEFT_ERR_NOMEM:
        return "WEFT_ERR_NOMEM: out of memory";
    case WEFT_ERR_TRUNCATE:
        return "WEFT_ERR_TRUNCATE: message longer than its buffer";
    case WEFT_ERR_MISMATCH:
        return "WEFT_ERR_MISMATCH: ranks called different collectives";
    case WEFT_ERR_PROC_FAILED:
        return "WEFT_ERR_PROC_FAILED: a process died or is out of reach";
    case WEFT_ERR_CONFIG:
        return "WEFT_ERR_CONFIG: a WEFT_ variable is unknown or out of range";
    case WEFT_ERR_BOOTSTRAP:
        return "WEFT_ERR_BOOTSTRAP: the launcher or the bootstrap callback failed";
    case WEFT_ERR_TRANSPORT:
        return "WEFT_ERR_TRANSPORT: network error";
    case WEFT_ERR_BUSY:
        return "WEFT_ERR_BUSY: object still in use";
    case WEFT_ERR_UNSUPPORTED:
        return "WEFT_ERR_UNSUPPORTED: not supported by this version";
    }
    return "unknown weft error code";
}
