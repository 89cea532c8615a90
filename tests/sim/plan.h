// SPDX-License-Identifier: BSD-3-Clause
// The schedules of all ranks for one problem: what can be said of them without running them, and what it takes to run them.
#ifndef TESTS_SIM_PLAN_H
#define TESTS_SIM_PLAN_H

#include "problem.h"

namespace sim {

class Plan {
  public:
    Plan() = default;
    Plan(const Plan &) = delete;
    Plan &operator=(const Plan &) = delete;
    ~Plan();

    // Builds them; the memory of those before is used again.
    void build(const inter_algorithm &algorithm, const Problem &problem);

    int size() const {
        return size_;
    }
    const inter_schedule &schedule(int rank) const {
        return schedules_[size_t(rank)];
    }

    // Where a place lies in a rank's memory: the problem's, and the temporary memory behind it.
    size_t address(const Problem &problem, int rank, inter_place place) const;

    // Empty when all schedules keep the rules of schedule.h and algorithm.h, whatever the order in which messages come:
    //   * every place lies in a buffer that the rank has; nothing is written to the send buffer; peers are other ranks
    //   * in a stage nothing is read or written that is being received in it, nothing is written that is being sent;
    //     independent stages' messages are under way until their strand ends
    //   * in a stage sends stand before receives
    //   * strands that may be under way together share nothing that one of them writes
    //   * what is reduced or copied to a place that overlaps another of the step is exactly that place
    // Else the first rule that is broken, and where.
    std::string broken_rule(const Problem &problem);

    // Calls visit(rank, step) for every send.
    template <class Visit> void sends(Visit visit) const {
        for (int rank = 0; rank < size_; rank++)
            for (size_t i = 0; i < schedule(rank).count; i++)
                if (schedule(rank).steps[i].kind == INTER_STEP_SEND)
                    visit(rank, schedule(rank).steps[i]);
    }

  private:
    // For every word of a rank's memory until when (in stages, counted on and on) it is being sent and being received; and
    // the strand that last read or wrote it.
    struct Use {
        uint64_t sent_until = 0, received_until = 0, read_by = 0, written_by = 0;
    };
    // What is wrong, or NULL.
    const char *check_step(const Problem &problem, int rank, const inter_step &step) const;
    const char *check_place(const Problem &problem, int rank, inter_place place, size_t count) const;
    std::string check_strand(const Problem &problem, int rank, size_t begin, size_t end);
    bool apart(const Problem &problem, int rank, size_t begin, size_t end);

    std::vector<inter_schedule> schedules_; // one more than `size_` at times
    int size_ = 0;
    std::vector<Use> uses_;
    uint64_t stage_ = 0, strand_ = 0; // never go back, so that nothing in uses_ need be cleared
};

} // namespace sim

#endif
