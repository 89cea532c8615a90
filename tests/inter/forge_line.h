// SPDX-License-Identifier: BSD-3-Clause
#ifndef TESTS_INTER_FORGE_LINE_H
#define TESTS_INTER_FORGE_LINE_H
#ifdef __cplusplus
extern "C" {
#endif
#include <inter/lines.h>

/** Writes the next line to `lines` in the place of `peer`, with any kind and any length. */
void forge_line(inter_lines *lines, int peer, uint32_t kind, uint32_t bytes);

#ifdef __cplusplus
}
#endif
#endif
