// SPDX-License-Identifier: BSD-3-Clause
// A collective as a problem with a known solution: every rank's buffers before, views and bindings, and every word that its
// buffers must hold afterwards, computed by a sequential oracle. Buffers are embedded in guard words.
#ifndef TESTS_SIM_PROBLEM_H
#define TESTS_SIM_PROBLEM_H

#include <cstdint>
#include <gtest/gtest.h>
#include <ostream>
#include <vector>
extern "C" {
#include <inter/engine.h>
}

namespace sim {

struct Shape {
    int size;
    int root;
    size_t count; // words of a rank's contribution; of the unit of the uneven blocks
    bool in_place;
    bool uneven; // blocks of 0, 1, 2 and 3 units
};

std::ostream &operator<<(std::ostream &out, const Shape &shape);

bool has_root(inter_collective collective);
bool has_blocks(inter_collective collective);   // of which there may be uneven ones
bool has_in_place(inter_collective collective); // at this level

// Of alltoallv: how many units `from` sends to `to`, some of them none.
size_t units_from_to(int from, int to);

// An affine map x → a·x + b over 32-bit numbers, packed in a word. Doing one after the other is associative and does not
// commute, so the result shows the order in which operands met.
uint64_t after(uint64_t first, uint64_t then);
const weft_op *affine_op();

class Problem {
  public:
    Problem(inter_collective collective, const Shape &shape);

    inter_view view(int rank) const {
        return ranks_[size_t(rank)].view;
    }
    inter_binding binding(int rank) const {
        return ranks_[size_t(rank)].binding;
    }
    // Is every word of every buffer what it must be?
    ::testing::AssertionResult solved() const;

  private:
    struct Buffer {
        std::vector<uint64_t> now, expected; // with guards; empty: the rank has no such buffer
    };
    struct Rank {
        Buffer send, recv;
        std::vector<size_t> send_counts, recv_counts, send_offsets, recv_offsets;
        inter_view view{};
        inter_binding binding{};
    };
    static void make(Buffer &buffer, size_t words, uint64_t filling);
    static uint64_t *data(std::vector<uint64_t> &words);
    void bind(Rank &rank);
    void make_bcast();
    void make_reduction(bool everywhere);
    void make_offsets();
    void make_gather(bool everywhere);
    void make_scatter();
    void make_alltoall();
    void make_alltoallv();

    Shape shape_;
    std::vector<Rank> ranks_;
    std::vector<size_t> offsets_; // of blocks
};

} // namespace sim

#endif
