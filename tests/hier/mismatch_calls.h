// SPDX-License-Identifier: BSD-3-Clause
// Calls no two of which belong together: what ranks that meet in a collective may take it for.
#ifndef TESTS_HIER_MISMATCH_CALLS_H
#define TESTS_HIER_MISMATCH_CALLS_H

#include "oracle_form.h"
#include <cstddef>
#include <cstring>
#include <weft/weft.h>

namespace mismatch {

struct one_call {
    const char *name;
    bool meets; // every rank waits for another one in it
    int (*run)(weft_comm *, int *send, int *recv);
};

// In the form that ORACLE_FORM names (oracle_form.h). What is started in an order of its own is not compared with what blocks.
inline bool comparable(const one_call &one, const one_call &other) {
    bool blocking = !oracle::is_form("nonblocking") && !oracle::is_form("persistent");
    return blocking || (strncmp(one.name, "comm_", 5) != 0 && strncmp(other.name, "comm_", 5) != 0);
}

constexpr size_t many = 4000; // ints: more than travel inside a cell

constexpr int most_ranks = 19;

// For every rank two ints; the displacements suit alltoallw, where they are in bytes, too.
struct two_each {
    size_t counts[most_ranks];
    ptrdiff_t displs[most_ranks];
    const weft_datatype *types[most_ranks];
    two_each() {
        for (ptrdiff_t rank = 0; rank < most_ranks; rank++) {
            counts[rank] = 2;
            displs[rank] = 8 * rank;
            types[rank] = WEFT_INT;
        }
    }
};
inline const two_each blocks;

template <class Make> int make_and_free(Make make) {
    weft_comm *made = nullptr;
    int code = make(&made);
    int freed = made ? weft_comm_free(&made) : WEFT_SUCCESS;
    return code ? code : freed;
}

inline const one_call calls[] = {
    {"comm_split", true,
     [](weft_comm *c, int *, int *) {
         return make_and_free([c](weft_comm **made) { return weft_comm_split(c, 0, 0, made); });
     }},
    {"comm_dup", true,
     [](weft_comm *c, int *, int *) {
         return make_and_free([c](weft_comm **made) { return weft_comm_dup(c, made); });
     }},
    {"barrier", true, [](weft_comm *c, int *, int *) { return FORM(barrier)(c); }},
    {"bcast root 0", false, [](weft_comm *c, int *, int *b) { return FORM(bcast)(b, 2, WEFT_INT, 0, c); }},
    {"bcast root 1", false, [](weft_comm *c, int *, int *b) { return FORM(bcast)(b, 2, WEFT_INT, 1, c); }},
    {"bcast of one", false, [](weft_comm *c, int *, int *b) { return FORM(bcast)(b, 1, WEFT_INT, 0, c); }},
    {"bcast of floats", false, [](weft_comm *c, int *, int *b) { return FORM(bcast)(b, 2, WEFT_FLOAT, 0, c); }},
    {"bcast long", false, [](weft_comm *c, int *, int *b) { return FORM(bcast)(b, many, WEFT_INT, 0, c); }},
    {"reduce root 0", false,
     [](weft_comm *c, int *a, int *b) { return FORM(reduce)(a, b, 2, WEFT_INT, WEFT_SUM, 0, c); }},
    {"reduce root 1", false,
     [](weft_comm *c, int *a, int *b) { return FORM(reduce)(a, b, 2, WEFT_INT, WEFT_SUM, 1, c); }},
    {"reduce long", true,
     [](weft_comm *c, int *a, int *b) { return FORM(reduce)(a, b, many, WEFT_INT, WEFT_SUM, 0, c); }},
    {"allreduce sum", true,
     [](weft_comm *c, int *a, int *b) { return FORM(allreduce)(a, b, 2, WEFT_INT, WEFT_SUM, c); }},
    {"allreduce max", true,
     [](weft_comm *c, int *a, int *b) { return FORM(allreduce)(a, b, 2, WEFT_INT, WEFT_MAX, c); }},
    {"allreduce long", true,
     [](weft_comm *c, int *a, int *b) { return FORM(allreduce)(a, b, many, WEFT_INT, WEFT_SUM, c); }},
    {"allreduce longer", true,
     [](weft_comm *c, int *a, int *b) { return FORM(allreduce)(a, b, many + 1, WEFT_INT, WEFT_SUM, c); }},
    {"gather root 0", false,
     [](weft_comm *c, int *a, int *b) { return FORM(gather)(a, 2, WEFT_INT, b, 2, WEFT_INT, 0, c); }},
    {"gather root 1", false,
     [](weft_comm *c, int *a, int *b) { return FORM(gather)(a, 2, WEFT_INT, b, 2, WEFT_INT, 1, c); }},
    {"scatter root 0", false,
     [](weft_comm *c, int *a, int *b) { return FORM(scatter)(a, 2, WEFT_INT, b, 2, WEFT_INT, 0, c); }},
    {"scatter root 1", false,
     [](weft_comm *c, int *a, int *b) { return FORM(scatter)(a, 2, WEFT_INT, b, 2, WEFT_INT, 1, c); }},
    {"allgather", true,
     [](weft_comm *c, int *a, int *b) { return FORM(allgather)(a, 2, WEFT_INT, b, 2, WEFT_INT, c); }},
    {"allgather of bytes", true,
     [](weft_comm *c, int *a, int *b) { return FORM(allgather)(a, 8, WEFT_BYTE, b, 8, WEFT_BYTE, c); }},
    {"alltoall", true, [](weft_comm *c, int *a, int *b) { return FORM(alltoall)(a, 2, WEFT_INT, b, 2, WEFT_INT, c); }},
    {"alltoallv", true,
     [](weft_comm *c, int *a, int *b) {
         return FORM(alltoallv)(a, blocks.counts, blocks.displs, WEFT_INT, b, blocks.counts, blocks.displs, WEFT_INT,
                                c);
     }},
    {"gatherv root 0", false,
     [](weft_comm *c, int *a, int *b) {
         return FORM(gatherv)(a, 2, WEFT_INT, b, blocks.counts, blocks.displs, WEFT_INT, 0, c);
     }},
    {"gatherv root 1", false,
     [](weft_comm *c, int *a, int *b) {
         return FORM(gatherv)(a, 2, WEFT_INT, b, blocks.counts, blocks.displs, WEFT_INT, 1, c);
     }},
    {"scatterv root 0", false,
     [](weft_comm *c, int *a, int *b) {
         return FORM(scatterv)(a, blocks.counts, blocks.displs, WEFT_INT, b, 2, WEFT_INT, 0, c);
     }},
    {"scatterv root 1", false,
     [](weft_comm *c, int *a, int *b) {
         return FORM(scatterv)(a, blocks.counts, blocks.displs, WEFT_INT, b, 2, WEFT_INT, 1, c);
     }},
    {"allgatherv", true,
     [](weft_comm *c, int *a, int *b) {
         return FORM(allgatherv)(a, 2, WEFT_INT, b, blocks.counts, blocks.displs, WEFT_INT, c);
     }},
    {"alltoallw", true,
     [](weft_comm *c, int *a, int *b) {
         return FORM(alltoallw)(a, blocks.counts, blocks.displs, blocks.types, b, blocks.counts, blocks.displs,
                                blocks.types, c);
     }},
    {"scan", false, [](weft_comm *c, int *a, int *b) { return FORM(scan)(a, b, 2, WEFT_INT, WEFT_SUM, c); }},
    {"scan long", true, [](weft_comm *c, int *a, int *b) { return FORM(scan)(a, b, many, WEFT_INT, WEFT_SUM, c); }},
    {"exscan", false, [](weft_comm *c, int *a, int *b) { return FORM(exscan)(a, b, 2, WEFT_INT, WEFT_SUM, c); }},
    {"exscan long", true, [](weft_comm *c, int *a, int *b) { return FORM(exscan)(a, b, many, WEFT_INT, WEFT_SUM, c); }},
    {"reduce_scatter", true,
     [](weft_comm *c, int *a, int *b) { return FORM(reduce_scatter)(a, b, blocks.counts, WEFT_INT, WEFT_SUM, c); }},
    {"reduce_scatter_block long", true,
     [](weft_comm *c, int *a, int *b) { return FORM(reduce_scatter_block)(a, b, 600, WEFT_INT, WEFT_SUM, c); }},
    {"nothing", true, [](weft_comm *c, int *, int *) { return FORM(bcast)(nullptr, 0, WEFT_INT, 0, c); }},
};

} // namespace mismatch

#endif
