// SPDX-License-Identifier: BSD-3-Clause
/**
 * Predefined elements in the representation external32 (MPI 4.1 section 14.5.2): big-endian, nothing aligned, sizes
 * that do not depend on the machine. `long` and `unsigned long` have 4 bytes in it; `long double` is IEEE binary128,
 * pair types are their two members.
 */
#ifndef CORE_EXTERNAL32_H
#define CORE_EXTERNAL32_H

#include <stdbool.h>
#include <weft/types.h>

/** Of one element. */
size_t core_external32_bytes(const weft_datatype *predefined);

/** Writes `count` elements as external32. False: a long does not fit 4 bytes. */
bool core_external32_from_native(void *external, const void *native, const weft_datatype *predefined, size_t count);

/** Reads them; padding is zeroed. */
void core_external32_to_native(void *native, const void *external, const weft_datatype *predefined, size_t count);

#endif
