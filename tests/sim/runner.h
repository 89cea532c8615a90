// SPDX-License-Identifier: BSD-3-Clause
// Runs the schedules of all ranks as schedule.h says, in one loop: no engine, no transport, so that thousands of ranks
// take milliseconds. Every message is a rendezvous: it happens when both sides have got to it, and so a schedule that
// counts on buffering stands still here. Messages from one rank to another in strands of equal number (modulo INTER_STRANDS)
// match in order. A barrier moves nothing, so it is run with knowledge instead of elements: a message brings what its sender
// had heard from when it was issued, and at the end every rank must have heard from all.
#ifndef TESTS_SIM_RUNNER_H
#define TESTS_SIM_RUNNER_H

#include "plan.h"

namespace sim {

struct Outcome {
    std::string fault;    // empty: every rank got to its end
    size_t messages = 0;  // on their way from rank to rank
    size_t elements = 0;  // in them
    size_t steps = 0;     // when the last rank was done, a message taking 1 and everything else nothing
    size_t left_over = 0; // messages and receives that found no partner
};

class Runner {
  public:
    // The problem must be as reset. Seed 0: messages happen in the order in which they can; else in any order. One port:
    // `steps` counts one message in and one out of a rank at a time, earlier ones first.
    Outcome run(const Plan &plan, Problem &problem, uint64_t seed, bool one_port = false);

  private:
    struct Lane {
        bool busy;
        size_t next, end;
        uint32_t pending, pending_whole; // messages of the last stage issued; of independent stages
        size_t time, time_whole;         // when the last of them was complete
    };
    struct Rank {
        const inter_schedule *schedule;
        word *buffers[INTER_BUFFERS];
        size_t next; // the first step of the strands that have not begun
        uint32_t busy_lanes;
        size_t base;              // of its steps in messages_
        size_t time;              // when the last strand began
        size_t in_free, out_free; // one port: when it has taken the last message so far, and sent it
        Lane lanes[INTER_STRANDS];
    };
    struct Message { // a send or a receive that was issued
        size_t time;
        uint32_t next; // in its channel, the step behind it
    };
    struct Channel { // what waits for a partner, sends or receives, never both; four to a cache line
        uint32_t key, run, first;
        uint32_t last : 31, sends : 1;
    };
    struct Pair {
        int from, to;
        uint32_t send, recv;
    };
    static constexpr uint32_t none = UINT32_MAX;

    void prepare(const Plan &plan, Problem &problem);
    void finish(Outcome &outcome);
    void meet(const Pair &pair);
    void check_barrier(Outcome &outcome) const;
    Channel &channel(int from, int to, uint32_t strand);
    size_t place_of(uint32_t key) const;
    void grow_channels();
    void post(int rank, size_t index, size_t time);
    void local(const Rank &self, const inter_step &step);
    void advance_lane(int rank, Lane &lane);
    void advance(int rank);
    void complete(int rank, size_t index, size_t time);
    void exchange(const Pair &pair, Outcome &outcome);
    size_t start(const Pair &pair) const;
    size_t earliest() const;
    static word *address(const Rank &self, inter_place place) {
        return self.buffers[place.buffer] + place.offset;
    }

    std::vector<Rank> ranks_;
    std::vector<Message> messages_;
    std::vector<std::vector<uint64_t>> heard_, told_; // barrier: by rank from whom, a bit each; by send what it brings
    std::vector<Channel> channels_; // a hash table, open addressing; entries of other runs count as empty
    size_t channels_used_ = 0;
    uint32_t run_ = 0;
    std::vector<Pair> ready_;
    size_t ready_first_ = 0;
    size_t waiting_ = 0;
    bool one_port_ = false;
    word (*combine_)(word, word) = nullptr;
};

} // namespace sim

#endif
