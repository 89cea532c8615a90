// SPDX-License-Identifier: BSD-3-Clause
// What tests of overlap by pieces share: two nodes of two threads, waiting for what must come, and what threads are told.
#ifndef TESTS_HIER_OVERLAP_H
#define TESTS_HIER_OVERLAP_H

#include "sim_worlds.h"
extern "C" {
#include <hier/pieces.h>
}

// FUNNELED by default: an operation then knows who calls it for whom.
inline JobShape two_by_two(const char *algorithm, weft_thread_level level = WEFT_THREAD_FUNNELED) {
    JobShape shape{{2, 2}, level};
    shape.algorithm = algorithm;
    return shape;
}

inline bool comes(const std::function<bool()> &what) {
    for (int i = 0; i < 20000 && !what(); i++)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return what();
}

inline bool comes(const std::atomic<bool> &flag) {
    return comes([&] { return flag.load(); });
}

// For operations of the user's that are the larger of two words, words being their own index: who calls it, which nodes have combined
// what came from another process, and on which a thread was held up until then.
inline thread_local int node = -1, thread = -1;
inline std::atomic<bool> between_processes[2], held[2];

// On the thread that will call it.
inline void call_as(const weft_comm *comm) {
    node = weft_node(comm);
    thread = weft_thread(comm);
}

inline void forget_calls() {
    for (int i = 0; i < 2; i++)
        between_processes[i] = held[i] = false;
}

// Once a node.
inline void hold_until_on_the_wire() {
    if (!held[node].exchange(true)) {
        EXPECT_TRUE(comes(between_processes[node])) << "the network waits for this thread";
    }
}

inline void keep_larger(const uint64_t *left, uint64_t *right, size_t elements) {
    for (size_t i = 0; i < elements; i++)
        right[i] = left[i] > right[i] ? left[i] : right[i];
}

// The counter of the pieces of a rank's next collective, and what it begins with.
class PieceCounter {
  public:
    void watch(const weft_comm *comm) {
        uint64_t next = intra_taken(comm->member) + 1;
        base_ = next << 20;
        flag_ = &comm->team->intra->counters[INTRA_COUNTERS * (next & (comm->team->intra->slots - 1))].flag;
    }
    // Of a piece, but not yet of the end?
    bool tells_of_some() const {
        const core_flag *flag = flag_;
        uint64_t seen = flag ? atomic_load_explicit(&flag->value, memory_order_acquire) : 0;
        return seen > base_ && seen < hier_pieces_over(base_);
    }

  private:
    std::atomic<const core_flag *> flag_{nullptr};
    std::atomic<uint64_t> base_{0};
};

#endif
