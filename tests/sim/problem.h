// SPDX-License-Identifier: BSD-3-Clause
// A collective as a problem with a known solution: every rank's buffers before, its view and binding, and every element
// that its buffers must hold afterwards, as the MPI standard has it.
//
// Elements are symbols (a word each), which say where they come from:
//   moved       "index of what `from` has for `to`"
//   reduced     "the operands of ranks first … last at index, in that order": combining two is right only where the left
//               one ends just before the right one begins; anything else gives the symbol `wrong`
//   commuting   for algorithms that take operands in any order: the sum of a random number for each rank and index, which
//               tells multisets of operands apart but for a chance of 2^-64
#ifndef TESTS_SIM_PROBLEM_H
#define TESTS_SIM_PROBLEM_H

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>
extern "C" {
#include <inter/engine.h>
}

namespace sim {

using word = uint64_t;

word moved(int from, int to, size_t index);
word reduced(int first, int last, size_t index);
word commuting(int rank, size_t index);

// What two operands make, the left one's ranks being the lower ones.
word combine_in_order(word left, word right);
word combine_in_any_order(word left, word right);
const weft_op *op_in_order();
const weft_op *op_in_any_order();

std::string describe(word symbol);

struct Shape {
    int size = 1;
    int root = 0;
    size_t count = 1;      // of a rank's contribution; of the unit of uneven blocks
    bool uneven = false;   // blocks of 0 to 3 units
    bool in_place = false; // where the standard allows it
    bool spread = false;   // the v-forms' blocks lie in another order, with gaps
    bool alone = false;    // who is not the root of gatherv or scatterv knows its own block only
    bool commuting = false;
};

std::ostream &operator<<(std::ostream &out, const Shape &shape);

// Shapes that differ in everything that the collective knows; the n-th of any number.
Shape varied(int size, unsigned n, size_t count);

constexpr unsigned with_blocks = INTER_GATHERS | INTER_SCATTERS | INTER_ALLGATHERS | INTER_REDUCE_SCATTERS;
constexpr unsigned with_counts = INTER_BIT(INTER_GATHERV) | INTER_BIT(INTER_SCATTERV) | INTER_BIT(INTER_ALLGATHERV) |
                                 INTER_BIT(INTER_REDUCE_SCATTER) | INTER_BIT(INTER_ALLTOALLV) |
                                 INTER_BIT(INTER_ALLTOALLW);
constexpr unsigned with_displs = INTER_BIT(INTER_GATHERV) | INTER_BIT(INTER_SCATTERV) | INTER_BIT(INTER_ALLGATHERV);
constexpr unsigned with_in_place = with_blocks | INTER_ALLTOALLS | INTER_REDUCTIONS;

class Problem {
  public:
    // A rank's memory holds its buffers, apart or one in the other, between guards.
    struct Area {
        bool exists = false;
        size_t begin = 0, words = 0; // in the rank's memory
    };

    // What does not exist for the collective (a root, uneven blocks, …) is left out of the shape.
    Problem(inter_collective collective, const Shape &shape);

    inter_collective collective() const {
        return collective_;
    }
    const Shape &shape() const {
        return shape_;
    }
    inter_view view(int rank) const {
        return ranks_[size_t(rank)].view;
    }
    inter_binding binding(int rank);
    Area area(int rank, inter_buffer buffer) const {
        return buffer == INTER_SEND ? ranks_[size_t(rank)].send : ranks_[size_t(rank)].recv;
    }
    // The rank's memory: so many words, behind which a runner may add more.
    std::vector<word> &memory(int rank) {
        return ranks_[size_t(rank)].memory;
    }
    size_t words(int rank) const {
        return ranks_[size_t(rank)].words;
    }
    // Everything as it was at the beginning.
    void reset();
    // Empty when every word of every rank's memory is what it must be; else the first one that is not.
    std::string difference() const;

  private:
    struct Rank {
        Area send, recv;
        size_t words = 0;
        std::vector<word> memory;
        inter_view view{};
        std::vector<size_t> send_counts, recv_counts, send_offsets, recv_offsets; // of alltoallv
    };
    bool is(unsigned set) const {
        return inter_is(collective_, set);
    }
    size_t units(int from, int to) const;
    size_t block_place(int rank) const {
        return shape_.spread ? displs_[size_t(rank)] : offsets_[size_t(rank)];
    }
    size_t block_count(int rank) const {
        return offsets_[size_t(rank) + 1] - offsets_[size_t(rank)];
    }
    word contribution(int rank, size_t index) const;
    word total(int first, int last, size_t index) const;
    bool has_operand(int rank) const;
    bool has_result(int rank) const;
    size_t operand_words(int rank) const;
    size_t result_words(int rank) const;
    void make_blocks();
    void make_alltoallv(Rank &self);
    void lay_out(Rank &self);
    void put_operand(const Rank &self, word *at, bool into_result) const;
    void put_result(const Rank &self, word *at) const;
    void fill(const Rank &self, std::vector<word> &memory, bool after) const;

    inter_collective collective_;
    Shape shape_;
    size_t whole_words_ = 0; // of all blocks, with gaps
    std::vector<size_t> offsets_, displs_;
    std::vector<word> totals_; // commuting: the sum over all ranks (of scans: over those up to each), by index
    std::vector<Rank> ranks_;
};

} // namespace sim

#endif
