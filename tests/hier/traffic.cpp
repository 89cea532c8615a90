// SPDX-License-Identifier: BSD-3-Clause
#include "traffic.h"
#include "sim/textbook.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

namespace traffic {

int Nodes::ranks() const {
    return std::accumulate(threads.begin(), threads.end(), 0);
}

int Nodes::node_of(int rank) const {
    if (!places.empty())
        return places[size_t(rank)];
    int node = 0;
    for (int first = 0; first + threads[size_t(node)] <= rank; node++)
        first += threads[size_t(node)];
    return node;
}

namespace {

// Of the collectives with counts: what rank r has for, or from, anybody.
size_t words_of(size_t words, int rank) {
    return words + size_t(rank);
}

struct Counted {
    std::vector<size_t> counts;
    std::vector<ptrdiff_t> displs;
    Counted(int ranks, size_t words, int only = -1) {
        ptrdiff_t at = 0;
        for (int rank = 0; rank < ranks; rank++) {
            counts.push_back(words_of(words, only < 0 ? rank : only));
            displs.push_back(at);
            at += ptrdiff_t(counts.back());
        }
    }
};

void in_bytes(Counted *blocks, const weft_datatype *type) {
    ptrdiff_t lower, extent;
    EXPECT_EQ(weft_type_extent(type, &lower, &extent), WEFT_SUCCESS);
    for (ptrdiff_t &displ : blocks->displs)
        displ *= extent;
}

} // namespace

hier_key Nodes::key_of(inter_collective kind, size_t bytes) const {
    return {kind,
            int(count()),
            *std::max_element(threads.begin(), threads.end()),
            bytes * (kind == INTER_ALLTOALL ? size_t(ranks()) : 1),
            true,
            false,
            true,
            false,
            count() > 1};
}

// A call in one of its forms.
#define CALL(name, ...)                                                                                                \
    (form == Form::Blocking      ? weft_##name(__VA_ARGS__, comm)                                                      \
     : form == Form::Nonblocking ? weft_i##name(__VA_ARGS__, comm, &request)                                           \
                                 : weft_##name##_init(__VA_ARGS__, comm, &request))

void perform(weft_comm *comm, inter_collective kind, size_t words, int root, Form form, const weft_datatype *type) {
    weft_request *request = nullptr;
    int ranks = weft_size(comm), rank = weft_rank(comm), code = WEFT_ERR_UNSUPPORTED;
    static thread_local std::vector<uint64_t> out, in; // kept: with sanitizers new memory is dear
    out.assign(2 * (words + size_t(ranks)) * size_t(ranks), uint64_t(rank));
    in.resize(out.size());
    const uint64_t *send = out.data();
    uint64_t *recv = in.data();
    Counted all(ranks, words), own(ranks, words, rank);
    std::vector<const weft_datatype *> types(size_t(ranks), type);
    switch (kind) {
    case INTER_BARRIER:
        code = form == Form::Blocking      ? weft_barrier(comm)
               : form == Form::Nonblocking ? weft_ibarrier(comm, &request)
                                           : weft_barrier_init(comm, &request);
        break;
    case INTER_BCAST:
        code = CALL(bcast, recv, words, type, root);
        break;
    case INTER_REDUCE:
        code = CALL(reduce, send, recv, words, type, WEFT_SUM, root);
        break;
    case INTER_ALLREDUCE:
        code = CALL(allreduce, send, recv, words, type, WEFT_SUM);
        break;
    case INTER_GATHER:
        code = CALL(gather, send, words, type, recv, words, type, root);
        break;
    case INTER_SCATTER:
        code = CALL(scatter, send, words, type, recv, words, type, root);
        break;
    case INTER_ALLGATHER:
        code = CALL(allgather, send, words, type, recv, words, type);
        break;
    case INTER_ALLTOALL:
        code = CALL(alltoall, send, words, type, recv, words, type);
        break;
    case INTER_GATHERV:
        code = CALL(gatherv, send, words_of(words, rank), type, recv, all.counts.data(), all.displs.data(), type, root);
        break;
    case INTER_SCATTERV:
        code =
            CALL(scatterv, send, all.counts.data(), all.displs.data(), type, recv, words_of(words, rank), type, root);
        break;
    case INTER_ALLGATHERV:
        code = CALL(allgatherv, send, words_of(words, rank), type, recv, all.counts.data(), all.displs.data(), type);
        break;
    case INTER_ALLTOALLV:
        code = CALL(alltoallv, send, own.counts.data(), own.displs.data(), type, recv, all.counts.data(),
                    all.displs.data(), type);
        break;
    case INTER_ALLTOALLW:
        in_bytes(&own, type);
        in_bytes(&all, type);
        code = CALL(alltoallw, send, own.counts.data(), own.displs.data(), types.data(), recv, all.counts.data(),
                    all.displs.data(), types.data());
        break;
    case INTER_REDUCE_SCATTER:
        code = CALL(reduce_scatter, send, recv, all.counts.data(), type, WEFT_SUM);
        break;
    case INTER_REDUCE_SCATTER_BLOCK:
        code = CALL(reduce_scatter_block, send, recv, words, type, WEFT_SUM);
        break;
    case INTER_SCAN:
        code = CALL(scan, send, recv, words, type, WEFT_SUM);
        break;
    case INTER_EXSCAN:
        code = CALL(exscan, send, recv, words, type, WEFT_SUM);
        break;
    default:
        break;
    }
    EXPECT_EQ(code, WEFT_SUCCESS) << weft_last_error();
    if (form == Form::Nonblocking) {
        EXPECT_EQ(weft_wait(&request, WEFT_STATUS_IGNORE), WEFT_SUCCESS) << weft_last_error();
    } else if (form == Form::Persistent) {
        EXPECT_EQ(weft_start(&request), WEFT_SUCCESS) << weft_last_error();
        EXPECT_EQ(weft_waitall(1, &request, WEFT_STATUSES_IGNORE), WEFT_SUCCESS) << weft_last_error();
        EXPECT_EQ(weft_request_free(&request), WEFT_SUCCESS) << weft_last_error();
    }
}

size_t bytes_between(const Nodes &nodes, inter_collective kind, size_t words, int root,
                     const inter_algorithm &algorithm) {
    size_t count = nodes.count(), ranks = size_t(nodes.ranks()), block = words * 8, sum = 0;
    bool counted =
        kind == INTER_GATHERV || kind == INTER_SCATTERV || kind == INTER_ALLTOALLV || kind == INTER_ALLTOALLW;
    if (count == 1)
        return 0;
    switch (kind) {
    case INTER_BCAST:
    case INTER_REDUCE:
        return (count - 1) * block;
    case INTER_GATHER:
    case INTER_SCATTER:
    case INTER_GATHERV:
    case INTER_SCATTERV: // once for each rank that is not on the root's node
        for (int rank = 0; rank < int(ranks); rank++)
            if (nodes.node_of(rank) != nodes.node_of(root))
                sum += counted ? words_of(words, rank) * 8 : block;
        return sum;
    case INTER_ALLGATHER: // each node needs all blocks but its own
        return (count - 1) * ranks * block;
    case INTER_ALLGATHERV:
    case INTER_REDUCE_SCATTER: // by nbBKT: what each node needs of each other
        for (int rank = 0; rank < int(ranks); rank++)
            sum += words_of(words, rank) * 8 * (count - 1);
        return sum;
    case INTER_ALLTOALL:
    case INTER_ALLTOALLV:
    case INTER_ALLTOALLW:
        for (int from = 0; from < int(ranks); from++)
            for (int to = 0; to < int(ranks); to++)
                if (nodes.node_of(from) != nodes.node_of(to))
                    sum += counted ? words_of(words, from) * 8 : block;
        return sum;
    case INTER_REDUCE_SCATTER_BLOCK: // the same
        return (count - 1) * ranks * block;
    case INTER_ALLREDUCE:
    case INTER_SCAN:
    case INTER_EXSCAN: { // within nodes; between them the exclusive prefixes, which cost the same
        sim::Cost cost = sim::cost_of(kind, algorithm, count, 0, words);
        EXPECT_TRUE(cost.known) << algorithm.name;
        return cost.elements * 8;
    }
    default:
        return 0;
    }
}

size_t lengths_between(const Nodes &nodes, inter_collective kind) {
    size_t sum = 0;
    for (size_t from = 0; (kind == INTER_ALLTOALLV || kind == INTER_ALLTOALLW) && from < nodes.count(); from++)
        for (size_t to = 0; to < nodes.count(); to++) {
            size_t blocks = from == to ? 0 : size_t(nodes.threads[from]) * size_t(nodes.threads[to]);
            sum += blocks > 1 ? blocks * sizeof(size_t) : 0;
        }
    return sum;
}

size_t bytes_inside(const Nodes &nodes, inter_collective kind, size_t words, int root) {
    size_t ranks = size_t(nodes.ranks()), block = words * 8, sum = 0;
    for (size_t node = 0; node < nodes.count(); node++) {
        size_t others = size_t(nodes.threads[node]) - 1, all = 0;
        for (int rank = 0; rank < int(ranks); rank++)
            all += words_of(words, rank) * 8;
        switch (kind) {
        case INTER_BCAST:
        case INTER_REDUCE:
        case INTER_GATHER:
        case INTER_SCATTER:
        case INTER_SCAN:
        case INTER_EXSCAN:
            sum += others * block;
            break;
        case INTER_ALLREDUCE:
            sum += 2 * others * block;
            break;
        case INTER_ALLGATHER:
        case INTER_ALLTOALL:
            sum += others * ranks * block;
            break;
        case INTER_ALLGATHERV:
        case INTER_REDUCE_SCATTER:
            sum += others * all;
            break;
        case INTER_REDUCE_SCATTER_BLOCK:
            sum += others * (ranks + 1) * block;
            break;
        default:
            break;
        }
    }
    // With lengths of their own rank by rank: of the host's node what is its own stays where it is.
    std::vector<int> firsts(nodes.count(), -1); // rank of each node
    for (int rank = 0; rank < int(ranks); rank++) {
        int node = nodes.node_of(rank), &first = firsts[size_t(node)];
        first = first < 0 ? rank : first;
        int host = node == nodes.node_of(root) ? root : first;
        if (kind == INTER_GATHERV || kind == INTER_SCATTERV)
            sum += rank == host ? 0 : words_of(words, rank) * 8;
        if (kind == INTER_REDUCE_SCATTER)
            sum += rank == first ? 0 : words_of(words, rank) * 8;
        for (int from = 0; (kind == INTER_ALLTOALLV || kind == INTER_ALLTOALLW) && from < int(ranks); from++)
            if (from != rank && (rank != first || nodes.node_of(from) == node))
                sum += words_of(words, from) * 8;
    }
    return sum;
}

} // namespace traffic
