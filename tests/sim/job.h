// SPDX-License-Identifier: BSD-3-Clause
// A job of p ranks in one process and one thread: real engines over the sim transport, driven round robin.
#ifndef TESTS_SIM_JOB_H
#define TESTS_SIM_JOB_H

#include <cstdint>
#include <deque>
#include <gtest/gtest.h>
#include <random>
#include <vector>
extern "C" {
#include <core/error.h>
#include <inter/engine.h>
#include <inter/transport_sim.h>
}

namespace sim {

class Job {
  public:
    // `seed` 0: messages are delivered at once and ranks driven in their order; else both vary with the seed.
    Job(int size, uint64_t seed);
    ~Job();
    Job(const Job &) = delete;
    Job &operator=(const Job &) = delete;

    // Starts a rank's part in collective number `sequence` of a context, on an execution of its own.
    int start(int rank, const inter_algorithm &algorithm, const inter_view &view, const inter_binding &binding,
              inter_id id = {0, 0, false, 0});

    // Drives all ranks, once each in some order; true when something happened.
    bool round();

    // Rounds until all that was started is done (true), or until nothing moves any more (false).
    bool finish();

    // The executions that a rank started, in the order of starting.
    std::deque<inter_execution> &executions(int rank) {
        return ranks_[size_t(rank)].executions;
    }
    inter_engine &engine(int rank) {
        return ranks_[size_t(rank)].engine;
    }
    inter_sim_counts counts() const {
        return inter_sim_count(sim_);
    }
    // How often `finished` was called, and with which error last.
    int finished_calls(int rank) const {
        return ranks_[size_t(rank)].finished_calls;
    }
    int finished_error(int rank) const {
        return ranks_[size_t(rank)].finished_error;
    }

  private:
    struct Rank {
        inter_engine engine{};
        std::deque<inter_execution> executions; // which stay where they are
        int finished_calls = 0, finished_error = 0;
    };
    static void on_finished(void *argument, int error);
    bool all_done() const;

    inter_sim *sim_ = nullptr;
    std::vector<Rank> ranks_;
    std::vector<size_t> order_;
    std::mt19937_64 random_;
    uint64_t seed_;
};

// For schedules of a test's own: a collective that is not of a vector, so that inter_build() adds nothing.
inter_view view_of(int rank, int size, size_t count, size_t element_bytes = 1);
inter_binding between(const void *send, void *recv);

} // namespace sim

#endif
