// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include <core/clock.h>
}
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace {

// In turn with the clock that they stand for, so that each is between two of it, whatever the machine does meanwhile: no time is asserted.
TEST(Ticks, AreBetweenTheNanosecondsBeforeAndAfterThem) {
    enum { MOMENTS = 1000 };
    core_clock_start();
    std::vector<uint64_t> ns, ticks;
    for (int i = 0; i < MOMENTS; i++) {
        ns.push_back(core_now_ns());
        ticks.push_back(core_ticks());
    }
    ns.push_back(core_now_ns());
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // for a scale that is worth something
    const core_clock_scale scale = core_clock_measure();
    // The two readings that make a moment of the scale are not taken at once. What a preempted one is off is off for all.
    const auto error = static_cast<int64_t>(core_ticks_ns(&scale, ticks[0]) - ns[0]);
    const int64_t off = error < 0 ? -error : error, allowed = off + 2000;
    for (int i = 0; i < MOMENTS; i++) {
        const auto at = static_cast<int64_t>(core_ticks_ns(&scale, ticks[i]));
        EXPECT_GE(at, static_cast<int64_t>(ns[i]) - allowed);
        EXPECT_LE(at, static_cast<int64_t>(ns[i + 1]) + allowed);
    }
}

TEST(Ticks, OfOneScaleKeepTheirOrder) {
    core_clock_start();
    const uint64_t first = core_ticks();
    const core_clock_scale scale = core_clock_measure();
    for (uint64_t i = 0, last = 0; i < 100000; i++) {
        const uint64_t at = core_ticks_ns(&scale, first + i);
        EXPECT_GE(at, last);
        last = at;
    }
}

TEST(Ticks, BeforeTheScaleBeganHaveATimeToo) {
    core_clock_start();
    const core_clock_scale scale = core_clock_measure();
    EXPECT_LT(core_ticks_ns(&scale, scale.ticks - 1000000), scale.ns);
    EXPECT_EQ(core_ticks_ns(&scale, scale.ticks), scale.ns);
}

TEST(Ticks, OfAnyThreadAreOfOneClock) {
    core_clock_start();
    const uint64_t before = core_ticks();
    uint64_t there = 0;
    std::thread([&there] {
        core_clock_start();
        there = core_ticks();
    }).join();
    EXPECT_LE(before, there);
    EXPECT_LE(there, core_ticks());
}

} // namespace
