// SPDX-License-Identifier: BSD-3-Clause
/**
 * Layouts: buffers of an execution whose data are not one run. Steps name bytes of what they are when packed, as in any buffer; long messages
 * between processes of a host then go straight from and to where they lie, packed and unpacked part by part on their way (pull.h),
 * both sides at once, in parts that stay in the cache.
 */
#ifndef INTER_LAYOUTS_H
#define INTER_LAYOUTS_H

#include <core/layout.h>
#include <stdbool.h>

/** Blocks, packed one behind the other. */
typedef struct inter_layout {
    const core_data *blocks; /* type NULL: of no bytes */
    const ptrdiff_t *begins; /* in packed bytes, rising */
    size_t count;
    core_data all; /* all of them, where they are alike and beside each other; else its type is NULL */
    size_t whole;  /* so much passes through the cache (stream.h) */
} inter_layout;

/** The data in which all of so many packed bytes lie, and from which of these on; NULL: they are in several. Of no bytes it is anything. */
const core_data *inter_layout_find(const inter_layout *layout, size_t begin, size_t bytes, size_t *from);

/** One side of a copy: a run, or (layout not NULL) packed bytes of a layout. */
typedef struct inter_laid {
    const inter_layout *layout;
    unsigned char *run;
    size_t begin;
} inter_laid;

/** Can bytes be copied so? They have to be in one block on each side that has blocks, and equally far behind where it begins. */
bool inter_laid_match(inter_laid to, inter_laid from, size_t bytes);
void inter_laid_copy(inter_laid to, inter_laid from, size_t bytes);

#endif
