// SPDX-License-Identifier: BSD-3-Clause
/**
 * A cursor walks the layout of a message's elements in packed order. It stops at *runs*: rows of blocks, as the two
 * innermost loops of a nest have them. Packed bytes are a run of one block.
 */
#ifndef CORE_LAYOUT_CURSOR_H
#define CORE_LAYOUT_CURSOR_H

#include <core/datatype.h>
#include <core/nest.h>

/**
 * Block i of a row lies displs[i] or items[i].displ behind the row's beginning, or (both NULL) i * stride. Items have
 * sizes of their own.
 */
typedef struct core_run {
    char *row; /* the beginning of the row that we are in */
    const ptrdiff_t *displs;
    const core_nest_item *items;
    ptrdiff_t stride;    /* from block to block */
    ptrdiff_t to_next;   /* from row to row */
    size_t bytes;        /* in a block; of items: in the one that we are at */
    size_t index, count; /* the block that we are at, and how many a row has */
    size_t offset;       /* bytes of that block that are done */
    size_t rows;         /* this one and those that follow; 0: the run is done */
} core_run;

/** A nest that is gone through, and the child we are at. */
typedef struct core_frame {
    const core_nest *nest;
    char *base;
    size_t index;
} core_frame;

typedef struct core_cursor {
    core_run run;
    int depth;          /* frames in use */
    core_nest elements; /* the outermost loop: the elements of the message */
    core_frame frames[CORE_NEST_DEPTH + 1];
} core_cursor;

/** Stands at the beginning of `bytes` packed bytes. */
void core_cursor_packed(core_cursor *c, const void *packed, size_t bytes);

/** Stands at packed byte `from` of elements that have more than that. The type stays while the cursor is used. */
void core_cursor_elements(core_cursor *c, const void *buffer, const weft_datatype *type, size_t count, size_t from);

/** Goes on to the next run. There is one: whoever calls knows that there are bytes left. */
void core_cursor_next(core_cursor *c);

static inline size_t core_item_bytes(const core_nest_item *items, size_t index) {
    return items[index].end - (index > 0 ? items[index - 1].end : 0);
}

static inline char *core_run_block(const core_run *r) {
    return r->row + (r->items    ? r->items[r->index].displ
                     : r->displs ? r->displs[r->index]
                                 : (ptrdiff_t)r->index * r->stride);
}

static inline void core_run_finish_rows(core_run *r, size_t rows) {
    r->index = 0;
    r->rows -= rows;
    /* Behind the last row there need be no memory. */
    if (r->rows > 0)
        r->row += (ptrdiff_t)rows * r->to_next;
}

/* `blocks`: as many as the row has left, or less. */
static inline void core_run_finish_blocks(core_run *r, size_t blocks) {
    r->index += blocks;
    if (r->index == r->count)
        core_run_finish_rows(r, 1);
    if (r->items && r->rows > 0)
        r->bytes = core_item_bytes(r->items, r->index);
}

/* `bytes`: as many as the block has left, or less. */
static inline void core_run_finish_bytes(core_run *r, size_t bytes) {
    r->offset += bytes;
    if (r->offset == r->bytes) {
        r->offset = 0;
        core_run_finish_blocks(r, 1);
    }
}

#endif
