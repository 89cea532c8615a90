// SPDX-License-Identifier: BSD-3-Clause
// What must cross between nodes and within them, as formulas of where the ranks are; and calls that do it.
#ifndef TESTS_HIER_TRAFFIC_H
#define TESTS_HIER_TRAFFIC_H

#include <cstddef>
#include <vector>
extern "C" {
#include <hier/select.h>
#include <weft/weft.h>
}

namespace traffic {

struct Nodes {
    std::vector<int> threads;     // of each
    std::vector<int> places = {}; // the node of each rank; empty: in order
    size_t count() const {
        return threads.size();
    }
    int ranks() const;
    int node_of(int rank) const;
    hier_key key_of(inter_collective kind, size_t bytes) const; // of a block, or of a vector
};

inline constexpr inter_collective kinds[] = {
    INTER_BARRIER,    INTER_BCAST,     INTER_REDUCE,    INTER_ALLREDUCE,      INTER_GATHER,
    INTER_SCATTER,    INTER_ALLGATHER, INTER_ALLTOALL,  INTER_GATHERV,        INTER_SCATTERV,
    INTER_ALLGATHERV, INTER_ALLTOALLV, INTER_ALLTOALLW, INTER_REDUCE_SCATTER, INTER_REDUCE_SCATTER_BLOCK,
    INTER_SCAN,       INTER_EXSCAN};

enum class Form { Blocking, Nonblocking, Persistent };
inline constexpr Form forms[] = {Form::Blocking, Form::Nonblocking, Form::Persistent};

// One call of every rank, and one start, of `words` words of 8 bytes: a block, or a vector. With counts rank r has words + r. `type`: of a
// word, in twice as much memory at most; collectives that do not compute move others than WEFT_UINT64_T too.
void perform(weft_comm *comm, inter_collective kind, size_t words, int root, Form form = Form::Blocking,
             const weft_datatype *type = WEFT_UINT64_T);

// The bytes that must go from node to node in all: the least there can be, or (allreduce, reduce_scatter, scan) what the algorithm
// of the process level says.
size_t bytes_between(const Nodes &nodes, inter_collective kind, size_t words, int root,
                     const inter_algorithm &algorithm);

// The lengths of blocks that stand in front of the messages of one call, and are not counted.
size_t lengths_between(const Nodes &nodes, inter_collective kind);

// The bytes that weft/counters.h says for the inside of all nodes.
size_t bytes_inside(const Nodes &nodes, inter_collective kind, size_t words, int root);

} // namespace traffic

#endif
