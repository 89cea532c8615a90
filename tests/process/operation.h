// SPDX-License-Identifier: BSD-3-Clause
// One collective on a process communicator with all that belongs to it: buffers between guards, arguments in every variety that
// the standard allows, and what a sequential computation says must be there afterwards.
#ifndef TESTS_PROCESS_OPERATION_H
#define TESTS_PROCESS_OPERATION_H

#include "hier/oracle_job.h"
#include <cstdint>
#include <string>
#include <vector>
extern "C" {
#include <inter/algorithm.h>
#include <weft/weft.h>
}

namespace process {

enum class Form { blocking, nonblocking, persistent };
constexpr Form forms[] = {Form::blocking, Form::nonblocking, Form::persistent};

// Alike on all ranks.
struct Case {
    inter_collective collective;
    size_t count = 0; // units of one rank's contribution; where counts differ, the most that one has
    int root = 0;
    bool in_place = false;
    bool uneven =
        false;         // counts differ and some are 0; blocks lie out of order, with gaps, on both sides of the pointer
    unsigned kind = 0; // which datatypes (a unit is so many bytes) or which operation; any number
    uint64_t seed = 0;
};

// What may be asked for: no in place for bcast, uneven counts only where there is a count for each rank.
constexpr unsigned with_counts = INTER_BIT(INTER_GATHERV) | INTER_BIT(INTER_SCATTERV) | INTER_BIT(INTER_ALLGATHERV) |
                                 INTER_BIT(INTER_REDUCE_SCATTER) | INTER_BIT(INTER_ALLTOALLV) |
                                 INTER_BIT(INTER_ALLTOALLW);
constexpr unsigned without_in_place = INTER_BIT(INTER_BARRIER) | INTER_BIT(INTER_BCAST);
size_t unit_bytes(inter_collective collective, unsigned kind);
std::string describe(const Case &what);

// What a request of a collective says when it is complete.
bool is_empty(const weft_status &status);

// One side's blocks (all ranks', or the own one) as one rank passes them.
struct Side {
    const weft_datatype *type = nullptr;
    std::vector<const weft_datatype *> types; // of alltoallw
    size_t count = 0;                         // of the own block, or of blocks that are all alike
    std::vector<size_t> counts, at, bytes;    // of each block; where it lies in the buffer
    std::vector<ptrdiff_t> displs;
    size_t buffer_bytes = 0, base = 0; // `base`: where the pointer that is passed points to
    bool there = false;                // else nothing is passed: NULL, and no counts
};

// The displacement of an empty block, which means nothing.
constexpr ptrdiff_t nowhere = PTRDIFF_MAX / 64;

class Operation {
  public:
    Operation(weft_comm *comm, const Case &what);

    // Makes the call; before that, fill() has been called. `request` is not used by the blocking form.
    int call(Form form, weft_request **request);
    // What is sent, other in each round, and what is expected.
    void fill(uint64_t round);
    // After it is complete, with this error: notes a failure and returns false when anything is wrong.
    bool verify(int code, const std::string &how) const;

    const Case &what() const {
        return case_;
    }

  private:
    bool is(unsigned set) const {
        return inter_is(case_.collective, set);
    }
    bool reduces() const {
        return is(INTER_REDUCTIONS);
    }
    bool at_root() const {
        return rank_ == case_.root;
    }
    size_t units(int from, int to) const;
    uint64_t pattern(int from, int to) const;
    unsigned kind_of(int from, int to) const;
    void set_type(Side *side, bool send) const;
    void lay_out_all(Side *side, bool send) const;
    void lay_out_own(Side *side, bool send) const;
    void lay_out_vectors();
    void fill_blocks(const Side &side, unsigned char *at, bool outgoing) const;
    void fill_moved();
    void fill_reduced();
    std::vector<uint64_t> operand(int rank) const;
    std::vector<uint64_t> combined(int first, int last) const;

    weft_comm *comm_;
    Case case_;
    int rank_, size_;
    uint64_t round_ = 0;
    Side out_, in_;
    const weft_op *op_ = nullptr; // of reductions, as are the next
    size_t operand_words_ = 0, result_bytes_ = 0;
    const void *send_; // as they are passed
    void *recv_;
    job::buffer send_memory_, recv_memory_;
    std::vector<unsigned char> sent_, expected_;
};

} // namespace process

#endif
