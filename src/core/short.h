// SPDX-License-Identifier: BSD-3-Clause
/** Short copies, in place: a call of memcpy takes longer than the copying of a few numbers. */
#ifndef CORE_SHORT_H
#define CORE_SHORT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Up to so many bytes it is worth it. */
#define CORE_SHORT_BYTES 64

/** memcpy, fastest for one number and for 16 to 64 bytes: those in steps of 16 from both ends, which may overlap. */
static inline void core_copy_short(void *to, const void *from, size_t bytes) {
    const size_t step = 16;
    unsigned char *out = (unsigned char *)to;
    const unsigned char *in = (const unsigned char *)from;
    if (bytes == sizeof(uint64_t)) {
        memcpy(out, in, sizeof(uint64_t));
    } else if (bytes >= step && bytes <= 4 * step) {
        const size_t last = bytes - step;
        memcpy(out, in, step);
        if (bytes > 2 * step) {
            memcpy(out + step, in + step, step);
            memcpy(out + last - step, in + last - step, step);
        }
        memcpy(out + last, in + last, step);
    } else if (bytes == sizeof(uint32_t)) {
        memcpy(out, in, sizeof(uint32_t));
    } else if (bytes) {
        memcpy(out, in, bytes);
    }
}

/** An address that stays as it was reckoned, whatever it was found to be equal to: the compiler may not take that for it. */
static inline const void *core_as_reckoned(const void *address) {
    __asm__("" : "+r"(address));
    return address;
}

#endif
