// SPDX-License-Identifier: BSD-3-Clause
// Threads for tests: run a function on several, and end the program, loudly, when a test hangs.
#ifndef TESTS_INTRA_THREADS_H
#define TESTS_INTRA_THREADS_H

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

namespace threads {

// Aborts the program unless it is destroyed in time.
class Watchdog {
  public:
    explicit Watchdog(int seconds);
    ~Watchdog();

  private:
    void watch(int seconds);

    std::mutex lock_;
    std::condition_variable changed_;
    bool over_ = false;
    std::thread thread_; // last: it uses the others
};

// Calls body(0) … body(count-1), each on a thread of its own (0 on the caller's), and waits for all.
void run(int count, const std::function<void(int)> &body);

// Small pseudo-random numbers (xorshift64, Marsaglia 2003), cheap enough not to hide races.
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 0x2545f4914f6cdd1d) {}
    uint64_t below(uint64_t limit) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_ % limit;
    }
    // Mostly goes on at once; sometimes busy, off the core, or asleep for a moment.
    void dawdle() {
        uint64_t choice = below(64);
        if (choice < 8) {
            for (volatile uint64_t left = below(500); left > 0; left = left - 1)
                ;
        } else if (choice == 8) {
            std::this_thread::yield();
        } else if (choice == 9 && below(4) == 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(below(300)));
        }
    }

  private:
    uint64_t state_;
};

// Fewer rounds where threads that do not give the core away outnumber the cores: each hand-over takes a time slice.
inline int rounds_for(bool spins, int thread_count, int rounds) {
    return spins && thread_count > 2 ? rounds / 150 + 5 : rounds;
}

} // namespace threads

#endif
