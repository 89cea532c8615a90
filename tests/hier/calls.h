// SPDX-License-Identifier: BSD-3-Clause
// Collective calls of thread ranks, each with its oracle: a rank makes its buffers, calls, compares every word with what
// must be there, and then overwrites what it sent, which nobody may read any more.
#ifndef TESTS_HIER_CALLS_H
#define TESTS_HIER_CALLS_H

#include <atomic>
#include <cstdint>
#include <gtest/gtest.h>
#include <vector>
extern "C" {
#include <inter/algorithm.h>
#include <weft/weft.h>
}

// What thread communicators have so far.
inline constexpr inter_collective thread_collectives[] = {INTER_BARRIER,
                                                          INTER_BCAST,
                                                          INTER_REDUCE,
                                                          INTER_ALLREDUCE,
                                                          INTER_GATHER,
                                                          INTER_SCATTER,
                                                          INTER_ALLGATHER,
                                                          INTER_ALLTOALL,
                                                          INTER_ALLTOALLV,
                                                          INTER_GATHERV,
                                                          INTER_SCATTERV,
                                                          INTER_ALLGATHERV,
                                                          INTER_ALLTOALLW,
                                                          INTER_SCAN,
                                                          INTER_EXSCAN,
                                                          INTER_REDUCE_SCATTER,
                                                          INTER_REDUCE_SCATTER_BLOCK};

// One call, alike for all ranks.
struct Call {
    inter_collective kind;
    size_t words; // of one rank's contribution; of the unit of those with counts
    int root;
    bool in_place;
    uint64_t id; // makes the contents different from those of other calls
};

// Of gatherv, scatterv and allgatherv: the words of a rank's block.
size_t words_of_block(const Call &call, int rank);

std::ostream &operator<<(std::ostream &out, const Call &call);

// Every collective with every root (of long ones three), 8 B, 1 KiB, 1 KiB + 8 B and 100 KB, in place and not.
std::vector<Call> every_call(int ranks);
// A mixture, mostly of short ones.
std::vector<Call> mixture(int ranks, size_t count, uint64_t seed);

// What the ranks of one job share, and one rank's side of it.
class Caller {
  public:
    // `arrivals` is shared by all ranks: who passes a barrier sees that all have arrived.
    Caller(weft_comm *comm, std::atomic<uint64_t> *arrivals);

    // False, with a failure noted, when the call or its result is wrong.
    bool perform(const Call &call);

  private:
    void barrier();
    void bcast(const Call &call);
    void reduce(const Call &call);
    void allreduce(const Call &call);
    void scan(const Call &call);
    void reduce_scatter(const Call &call);
    void gather(const Call &call);
    void scatter(const Call &call);
    void allgather(const Call &call);
    void alltoall(const Call &call);
    void alltoallv(const Call &call); // and alltoallw
    void gatherv(const Call &call);
    void scatterv(const Call &call);
    void allgatherv(const Call &call);

    weft_comm *comm_;
    int rank_, ranks_;
    std::atomic<uint64_t> *arrivals_;
    uint64_t barriers_ = 0;
};

#endif
