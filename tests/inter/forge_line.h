// SPDX-License-Identifier: BSD-3-Clause
#ifndef TESTS_INTER_FORGE_LINE_H
#define TESTS_INTER_FORGE_LINE_H
#ifdef __cplusplus
extern "C" {
#endif
#include <inter/lines.h>

/**
 * Writes to `lines` in the place of `peer`: a message of any kind and any length, behind `place` words of messages that were read before,
 * in a line that is said to be filled so far. The rest of the line is zeros: empty tagged messages.
 */
void forge_line(inter_lines *lines, int peer, uint32_t place, uint32_t kind, uint32_t bytes, uint32_t filled);

/** How many lines of `peer` are done with. */
uint64_t lines_taken(const inter_lines *lines, int peer);

/** From now on `peer` is that process. */
void lines_set_process(inter_lines *lines, int peer, int process);

/** How many lines have been opened to `peer`. */
uint64_t lines_opened(const inter_lines *lines, int peer);

#ifdef __cplusplus
}
#endif
#endif
