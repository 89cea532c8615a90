// SPDX-License-Identifier: BSD-3-Clause
// The memory itself: what C11 allows is seen, what it forbids is not, and what must not be is told.
#include "intra/threads.h"
#include "memory.h"
#include <atomic>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <set>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto consistent = std::memory_order_seq_cst;

using Outcomes = std::set<std::pair<int, int>>;
using Word = std::atomic<uint32_t>;

void run(uint64_t seed, int count, const std::function<void(int)> &body) {
    weak::begin(seed);
    threads::run(count, body);
    weak::end();
}

void fence(std::memory_order order) {
    std::atomic_thread_fence(order);
}

// Both store, then look at the other's.
Outcomes store_buffers(std::memory_order stores, std::memory_order loads, std::memory_order fences) {
    Outcomes found;
    for (uint64_t seed = 0; seed < 300; seed++) {
        std::atomic<int> x{0}, y{0};
        int a = 0, b = 0;
        run(seed, 2, [&](int thread) {
            std::atomic<int> &own = thread ? y : x, &other = thread ? x : y;
            own.store(1, stores);
            fence(fences);
            (thread ? b : a) = other.load(loads);
        });
        found.insert({a, b});
    }
    return found;
}

// One stores two, another loads them the other way round.
Outcomes messages(std::memory_order stores, std::memory_order loads) {
    Outcomes found;
    for (uint64_t seed = 0; seed < 300; seed++) {
        std::atomic<int> data{0}, flag{0};
        int a = 0, b = 0;
        run(seed, 2, [&](int thread) {
            if (thread) {
                data.store(1, relaxed);
                flag.store(1, stores);
            } else {
                a = flag.load(loads);
                b = data.load(relaxed);
            }
        });
        found.insert({a, b});
    }
    return found;
}

const std::pair<int, int> none(0, 0), later_only(1, 0);

// A flag and what it says is there.
void hand_over(std::memory_order stores, std::memory_order loads) {
    for (uint64_t seed = 0; seed < 100; seed++) {
        std::atomic<int> flag{0};
        int data = 0, read = 0;
        run(seed, 2, [&](int thread) {
            if (thread) {
                data = 1;
                flag.store(1, stores);
            } else {
                while (!flag.load(loads))
                    std::this_thread::yield();
                read = data;
            }
        });
        ASSERT_EQ(read, 1);
    }
    fprintf(stderr, "all went well\n");
    _exit(0);
}

// Says that it sleeps, looks, sleeps; the other one tells, looks whether anybody sleeps, and wakes.
void sleep_and_wake(std::memory_order stores, std::memory_order loads) {
    for (uint64_t seed = 0; seed < 300; seed++) {
        Word word{0}, sleepers{0};
        run(seed, 2, [&](int thread) {
            if (thread) {
                word.store(1, stores);
                if (sleepers.load(loads))
                    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
                return;
            }
            sleepers.store(1, stores);
            while (!word.load(loads))
                syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
        });
    }
    fprintf(stderr, "all were woken\n");
    _exit(0);
}

} // namespace

TEST(WeakMemory, StoresAreBuffered) {
    EXPECT_TRUE(store_buffers(relaxed, relaxed, relaxed).count(none));
    EXPECT_TRUE(store_buffers(release, acquire, relaxed).count(none));
    EXPECT_TRUE(store_buffers(relaxed, relaxed, std::memory_order_acq_rel).count(none));
    EXPECT_TRUE(store_buffers(consistent, acquire, relaxed).count(none));
    EXPECT_EQ(store_buffers(consistent, consistent, relaxed), (Outcomes{{0, 1}, {1, 0}, {1, 1}}));
    EXPECT_EQ(store_buffers(relaxed, relaxed, consistent), (Outcomes{{0, 1}, {1, 0}, {1, 1}}));
}

TEST(WeakMemory, MessagesArePassedByReleaseAndAcquire) {
    EXPECT_TRUE(messages(relaxed, acquire).count(later_only));
    EXPECT_TRUE(messages(release, relaxed).count(later_only));
    EXPECT_EQ(messages(release, acquire), (Outcomes{{0, 0}, {0, 1}, {1, 1}}));
}

TEST(WeakMemory, NobodyGoesBack) {
    for (uint64_t seed = 0; seed < 300; seed++) {
        std::atomic<int> x{0};
        run(seed, 3, [&](int thread) {
            int last = 0;
            for (int i = 1; i < 8; i++) {
                if (thread == 0)
                    x.store(i, relaxed);
                int now = x.load(relaxed);
                EXPECT_LE(last, now);
                last = now;
            }
        });
    }
}

TEST(WeakMemory, UpdatesAreOneAfterTheOther) {
    for (uint64_t seed = 0; seed < 100; seed++) {
        std::atomic<int> sum{0}, swapped{0};
        run(seed, 4, [&](int) {
            for (int i = 0; i < 5; i++) {
                sum.fetch_add(1, relaxed);
                int seen = swapped.load(relaxed);
                while (!swapped.compare_exchange_weak(seen, seen + 1, relaxed))
                    ;
            }
        });
        EXPECT_EQ(sum.load(), 20);
        EXPECT_EQ(swapped.load(), 20);
    }
}

// Another's update between a release and an acquire takes nothing away.
TEST(WeakMemory, ReleasesGoOnThroughUpdates) {
    for (uint64_t seed = 0; seed < 300; seed++) {
        std::atomic<int> count{0};
        int data[2] = {};
        run(seed, 3, [&](int thread) {
            if (thread < 2) {
                data[thread] = 1;
                count.fetch_add(1, release);
                return;
            }
            while (count.load(acquire) < 2)
                std::this_thread::yield();
            EXPECT_EQ(data[0] + data[1], 2);
        });
    }
}

// Two readers need not agree which of two stores came first, unless all are consistent.
TEST(WeakMemory, ReadersAgreeByConsistency) {
    auto disagree = [](std::memory_order stores, std::memory_order loads) {
        for (uint64_t seed = 0; seed < 3000; seed++) {
            std::atomic<int> x{0}, y{0};
            int seen[2][2] = {};
            run(seed, 4, [&](int thread) {
                if (thread < 2) {
                    (thread ? y : x).store(1, stores);
                    return;
                }
                seen[thread - 2][0] = (thread == 2 ? x : y).load(loads);
                seen[thread - 2][1] = (thread == 2 ? y : x).load(loads);
            });
            if (seen[0][0] && !seen[0][1] && seen[1][0] && !seen[1][1])
                return true;
        }
        return false;
    };
    EXPECT_TRUE(disagree(release, acquire));
    EXPECT_FALSE(disagree(consistent, consistent));
}

TEST(WeakMemoryDeathTest, RacesAreTold) {
    EXPECT_EXIT(hand_over(release, acquire), ::testing::ExitedWithCode(0), "all went well");
    EXPECT_EXIT(hand_over(relaxed, acquire), ::testing::ExitedWithCode(1), "a race: a write, and this read");
    EXPECT_EXIT(hand_over(release, relaxed), ::testing::ExitedWithCode(1), "a race: a write, and this read");
}

TEST(WeakMemoryDeathTest, LostWakeUpsAreTold) {
    EXPECT_EXIT(sleep_and_wake(consistent, consistent), ::testing::ExitedWithCode(0), "all were woken");
    EXPECT_EXIT(sleep_and_wake(release, acquire), ::testing::ExitedWithCode(1), "deadlock");
    EXPECT_EXIT(sleep_and_wake(consistent, acquire), ::testing::ExitedWithCode(1), "deadlock");
}
