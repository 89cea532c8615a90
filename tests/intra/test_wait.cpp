// SPDX-License-Identifier: BSD-3-Clause
// Flags: whoever waits goes on when the value is there, under every policy and with more threads than cores, and sees
// what the publisher wrote before. The plain variables handed on are what ThreadSanitizer looks at.
#include "effort.h"
#include "policies.h"
#include <array>
#include <climits>

namespace {

using threads::Random;
using threads::Watchdog;

class Wait : public ::testing::TestWithParam<std::tuple<Policy, int>> {
  protected:
    const Policy &policy() const {
        return std::get<0>(GetParam());
    }
    int count() const {
        return std::get<1>(GetParam());
    }
    int rounds(int wanted) const {
        return threads::rounds_for(policy().spins, count(), wanted);
    }
    core_waiting waiting = policy().waiting();
    Watchdog watchdog{200};
};

struct alignas(128) Line {
    core_flag flag{};
    uint64_t plain = 0;
};

std::string name_of(const ::testing::TestParamInfo<std::tuple<Policy, int>> &info) {
    return std::string(std::get<0>(info.param).name) + "_" + std::to_string(std::get<1>(info.param));
}

constexpr size_t all_ways = 2 * CORE_WAYS_EARLY;
using Costs = std::array<uint64_t, all_ways>; // ticks of a look, by way

int tries(const core_patience &patience) {
    return int(patience.prepares ? all_ways : size_t(CORE_WAYS_EARLY)) * CORE_TRIES_OF_A_WAY;
}

// So many stretches of looks that come too early, how often each way was taken; `jitter` more in all but the third try of each.
std::array<int, all_ways> ways_taken(core_patience *patience, uint64_t *now, int stretches, Costs costs,
                                     uint64_t jitter) {
    std::array<int, all_ways> taken = {};
    for (int stretch = 0; stretch < stretches; stretch++) {
        const bool disturbed = int(patience->stretch) / (tries(*patience) / CORE_TRIES_OF_A_WAY) != 2;
        taken.at(patience->way)++;
        *now += CORE_STRETCH_LOOKS * costs.at(patience->way) + (disturbed ? jitter : 0);
        core_patience_turn(patience, *now);
        EXPECT_EQ(patience->looks, 0u);
    }
    return taken;
}

} // namespace

// A token goes round; every thread adds to it.
TEST_P(Wait, AValueGoesRound) {
    const int n = count(), turns = rounds(effort::rounds(3000));
    std::vector<Line> lines(size_t(n), Line{});
    threads::run(n, [&](int self) {
        Random random(uint64_t(self) + 1);
        Line &own = lines[size_t(self)], &left = lines[size_t((self + n - 1) % n)];
        for (int turn = 1; turn <= turns; turn++) {
            if (self || turn > 1)
                core_flag_wait(&left.flag, uint64_t(self ? turn : turn - 1), &waiting);
            random.dawdle();
            own.plain = left.plain + 1;
            core_flag_publish(&own.flag, uint64_t(turn), &waiting);
        }
    });
    EXPECT_EQ(lines[size_t(n - 1)].plain, uint64_t(n) * uint64_t(turns));
}

// One publishes, all others wait on the same flag and add to a common counter, on which the publisher waits.
TEST_P(Wait, AllWhoWaitOnOneFlagGoOn) {
    const int n = count(), turns = rounds(effort::rounds(2000));
    Line published, counted;
    std::vector<uint64_t> seen(size_t(n), 0);
    threads::run(n, [&](int self) {
        Random random(uint64_t(self) + 77);
        for (uint64_t turn = 1; turn <= uint64_t(turns); turn++) {
            random.dawdle();
            if (self == 0) {
                published.plain = turn * turn;
                core_flag_publish(&published.flag, turn, &waiting);
                core_flag_wait(&counted.flag, turn * uint64_t(n - 1), &waiting);
                for (int other = 1; other < n; other++)
                    ASSERT_EQ(seen[size_t(other)], turn * turn);
            } else {
                core_flag_wait(&published.flag, turn, &waiting);
                seen[size_t(self)] = published.plain;
                core_flag_add(&counted.flag, 1, &waiting);
            }
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Policies, Wait,
                         ::testing::Combine(::testing::ValuesIn(policies), ::testing::Values(1, 2, 3, 5, 8)), name_of);

// A publication between a waiter's last look and its sleep must wake it. Delays of all lengths around that moment.
TEST(Sleep, NoWakeUpIsLost) {
    Watchdog watchdog(200);
    core_waiting waiting = core_waiting_resolve(WEFT_WAIT_BLOCK, true);
    waiting.spins = waiting.yields = 0;
    Line ping, pong;
    constexpr uint64_t turns = 20000;
    auto play = [&waiting](core_flag *from, core_flag *to, bool first, uint64_t seed) {
        Random random(seed);
        for (uint64_t turn = 1; turn <= turns; turn++) {
            if (!first)
                core_flag_wait(from, turn, &waiting);
            for (volatile uint64_t left = random.below(3000); left > 0; left = left - 1)
                ;
            core_flag_publish(to, turn, &waiting);
            if (first)
                core_flag_wait(from, turn, &waiting);
        }
    };
    threads::run(2, [&](int self) {
        play(self ? &ping.flag : &pong.flag, self ? &pong.flag : &ping.flag, self == 0, uint64_t(self) + 5);
    });
    EXPECT_EQ(atomic_load_explicit(&ping.flag.sleepers, memory_order_relaxed), 0u);
    EXPECT_EQ(atomic_load_explicit(&pong.flag.sleepers, memory_order_relaxed), 0u);
}

// Many adders, many sleepers that wait for different values of one flag.
TEST(Sleep, SleepersOfDifferentValuesAreAllWoken) {
    Watchdog watchdog(200);
    core_waiting waiting = core_waiting_resolve(WEFT_WAIT_BLOCK, true);
    constexpr int n = 6;
    constexpr uint64_t turns = 1500;
    Line counter;
    threads::run(n, [&](int self) {
        Random random(uint64_t(self) + 3);
        for (uint64_t turn = 1; turn <= turns; turn++) {
            core_flag_add(&counter.flag, 1, &waiting);
            random.dawdle();
            core_flag_wait(&counter.flag, self % 2 ? turn * n : turn * n - n / 2, &waiting);
        }
    });
    EXPECT_EQ(atomic_load_explicit(&counter.flag.value, memory_order_relaxed), n * turns);
}

// Of those that sleep on one flag for long the one that is looked for wakes up, and the others sleep on.
TEST(Sleep, WhoNapsIsWokenByItsMark) {
    Watchdog watchdog(200);
    constexpr int n = 5;
    constexpr long longer_than_the_watchdog_ns = 600'000'000'000;
    Line line;
    core_flag *_Atomic napping[n] = {};
    std::atomic<int> woken{0};
    threads::run(n + 1, [&](int self) {
        if (self < n) {
            atomic_store_explicit(&napping[self], &line.flag, memory_order_relaxed);
            atomic_thread_fence(memory_order_seq_cst);
            core_flag_sleep_marked(&line.flag, 1, longer_than_the_watchdog_ns, CORE_MARK(self));
            atomic_store_explicit(&napping[self], static_cast<core_flag *>(nullptr), memory_order_relaxed);
            woken++;
            return;
        }
        while (atomic_load_explicit(&line.flag.sleepers, memory_order_relaxed) < n)
            sched_yield();
        for (int whom = 0; whom < n; whom++) {
            while (woken <= whom) {
                core_flag_wake_napping(&napping[whom], CORE_MARK(whom));
                sched_yield();
            }
            EXPECT_EQ(woken, whom + 1);
            EXPECT_EQ(atomic_load_explicit(&line.flag.sleepers, memory_order_relaxed), unsigned(n - whom - 1));
        }
    });
}

TEST(Idle, IsCalledUntilTheFlagIsThere) {
    Watchdog watchdog(200);
    struct Driver {
        core_flag flag{};
        core_waiting waiting{};
        int calls = 0, tired_calls = 0;
    };
    for (const Policy &policy : policies) {
        Driver driver;
        driver.waiting = policy.waiting();
        // Nobody but the function itself publishes: a sleep that nobody ends would hang.
        core_flag_wait_slow(
            &driver.flag, 1, &driver.waiting,
            [](void *argument, bool tired) {
                Driver *self = static_cast<Driver *>(argument);
                self->tired_calls += tired;
                if (++self->calls == 5000 || self->tired_calls == 5)
                    core_flag_publish(&self->flag, 1, &self->waiting);
                return CORE_IDLE_NOTHING;
            },
            &driver);
        EXPECT_EQ(driver.tired_calls, driver.waiting.may_sleep ? 5 : 0) << policy;
    }
}

// How often a blocking wait asks, all in all and as one that is tired, while `result` is the answer: until one of both has its limit.
struct Asked {
    core_idle result;
    int most_calls, most_tired_calls;
    int calls = 0, tired_calls = 0;
    core_flag flag{};

    Asked(core_idle answer, int most, int most_tired) : result(answer), most_calls(most), most_tired_calls(most_tired) {
        core_waiting waiting = core_waiting_resolve(WEFT_WAIT_BLOCK, true);
        core_flag_wait_slow(
            &flag, 1, &waiting,
            [](void *argument, bool tired) {
                Asked *self = static_cast<Asked *>(argument);
                self->calls++;
                self->tired_calls += tired;
                if (self->calls == self->most_calls || self->tired_calls == self->most_tired_calls)
                    atomic_store_explicit(&self->flag.value, 1, memory_order_release);
                return self->result;
            },
            this);
    }
};

// As long as something moves, the waiting thread stays awake.
TEST(Idle, WhatMovesKeepsTheWaiterAwake) {
    EXPECT_EQ(Asked(CORE_IDLE_MOVED, 1000, INT_MAX).tired_calls, 0);
}

// Where somebody else drives, who waits asks again soon: by the naps of those who have nothing to do this would take minutes.
TEST(Idle, WhoeverDrivesIsWaitedForShortly) {
    Watchdog watchdog(100);
    Asked asked(CORE_IDLE_BUSY, INT_MAX, 4000);
    EXPECT_EQ(asked.tired_calls, 4000);
    EXPECT_LT(asked.calls, 4100) << "it stays tired";
}

// However often others are late, a look is put off by some hundred cycles at most; and not at all when they never are, or while it is
// tried without.
TEST(Patience, GrowsAndEnds) {
    core_patience patience{};
    unsigned before = 0;
    for (unsigned most : {0u, 200u, 1000u}) {
        for (int look = 0; look < 100; look++) {
            const unsigned way = patience.way;
            core_patience_learn(&patience, false);
            patience.way = way; // however it fares
        }
        const unsigned steps = patience.steps[patience.way];
        EXPECT_EQ(steps > before, most > 0);
        EXPECT_LE(steps, most);
        core_linger(&patience);
        core_patience_learn(&patience, true);
        EXPECT_EQ(patience.steps[patience.way], most ? steps - 1 : 0);
        before = steps;
        patience.way++;
    }
}

TEST(Patience, TriesAnotherWayWhenAStretchIsOver) {
    core_patience patience{};
    for (int look = 0; look < CORE_STRETCH_LOOKS; look++)
        core_patience_learn(&patience, true);
    EXPECT_EQ(patience.way, 1u);
    EXPECT_EQ(patience.stretch, 1u);
}

// Each way is tried as often as the others, and then the quickest is taken, whatever was the quickest before.
TEST(Patience, DoesWhatWasQuickest) {
    for (bool prepares : {false, true})
        for (uint64_t jitter : {uint64_t(0), uint64_t(100000)}) {
            core_patience patience = {};
            patience.prepares = prepares;
            uint64_t now = 1234567;
            for (unsigned best : prepares ? std::vector<unsigned>{0, 5, 3, 1, 4} : std::vector<unsigned>{0, 1, 2, 0}) {
                Costs costs = {250, 260, 270, 280, 290, 300};
                costs.at(best) = 200;
                const int each = CORE_TRIES_OF_A_WAY, rest = CORE_STRETCHES - tries(patience),
                          beside = prepares ? each : 0;
                EXPECT_EQ(ways_taken(&patience, &now, tries(patience), costs, jitter),
                          (std::array<int, all_ways>{each, each, each, beside, beside, beside}));
                EXPECT_EQ(ways_taken(&patience, &now, rest, costs, jitter).at(best), rest);
            }
        }
}

TEST(Backoff, GoesThroughItsStages) {
    core_waiting waiting{};
    waiting.may_sleep = true;
    waiting.spins = 3;
    waiting.yields = 2;
    unsigned looks = 0;
    for (int look = 0; look < 5; look++)
        EXPECT_FALSE(core_backoff(&waiting, &looks)) << look;
    for (int look = 0; look < 5; look++)
        EXPECT_TRUE(core_backoff(&waiting, &looks)) << look;
    waiting.may_sleep = false;
    looks = 0;
    for (int look = 0; look < 100; look++)
        EXPECT_FALSE(core_backoff(&waiting, &looks));
}

TEST(Backoff, PoliciesMeanWhatTheySay) {
    core_waiting spin = core_waiting_resolve(WEFT_WAIT_SPIN, true),
                 block = core_waiting_resolve(WEFT_WAIT_BLOCK, false);
    EXPECT_FALSE(spin.may_sleep);
    EXPECT_EQ(spin.spins, UINT_MAX);
    EXPECT_TRUE(block.may_sleep);
    EXPECT_FALSE(core_waiting_resolve(WEFT_WAIT_YIELD, true).may_sleep);
    EXPECT_FALSE(core_waiting_resolve(WEFT_WAIT_AUTO, false).may_sleep);
    EXPECT_TRUE(core_waiting_resolve(WEFT_WAIT_AUTO, true).may_sleep);
    EXPECT_EQ(core_waiting_resolve(WEFT_WAIT_DEFAULT, true).yields, core_waiting_resolve(WEFT_WAIT_AUTO, true).yields);
}
