// SPDX-License-Identifier: BSD-3-Clause
// Meetings: thousands in a ring of two slots, by threads of very different speed, in teams below and above the size from
// which they sync through thread 0. What a thread reads in a cell is what its owner put there for this very meeting.
#include "effort.h"
#include "policies.h"
#include <cstring>
extern "C" {
#include <intra/meeting.h>
#include <weft/error.h>
}

namespace {

using threads::Random;
using threads::Watchdog;

class Meeting : public ::testing::TestWithParam<std::tuple<Policy, int, int>> {
  protected:
    void SetUp() override {
        ASSERT_EQ(intra_team_create(count(), slots(), policy().waiting(), &team), WEFT_SUCCESS);
    }
    void TearDown() override {
        intra_team_free(team);
    }
    const Policy &policy() const {
        return std::get<0>(GetParam());
    }
    int count() const {
        return std::get<1>(GetParam());
    }
    int slots() const {
        return std::get<2>(GetParam());
    }
    uint64_t rounds(int wanted) const {
        return uint64_t(threads::rounds_for(policy().spins, count(), wanted));
    }
    intra_team *team = nullptr;
    Watchdog watchdog{200};
};

uint64_t secret(uint64_t sequence, int thread, size_t word) {
    return sequence * 1000003 + uint64_t(thread) * 101 + word;
}

constexpr size_t words = INTRA_INLINE_BYTES / sizeof(uint64_t);

void put(const intra_meeting &meeting) {
    uint64_t payload[words];
    for (size_t i = 0; i < words; i++)
        payload[i] = secret(meeting.sequence, meeting.member->thread, i);
    memcpy(meeting.own->payload.bytes, payload, sizeof(payload));
}

bool holds(const intra_meeting &meeting, int thread) {
    uint64_t payload[words];
    memcpy(payload, meeting.cells[thread].payload.bytes, sizeof(payload));
    for (size_t i = 0; i < words; i++)
        if (payload[i] != secret(meeting.sequence, thread, i))
            return false;
    return true;
}

// Everybody waits for everybody, twice.
void meet_all(intra_meeting &meeting, Random &random) {
    put(meeting);
    intra_post(&meeting, 1);
    EXPECT_TRUE(intra_await_sync(&meeting, 1));
    for (int thread = 0; thread < meeting.team->threads; thread++)
        EXPECT_TRUE(holds(meeting, thread));
    random.dawdle();
    intra_post(&meeting, 2);
    EXPECT_TRUE(intra_await_sync(&meeting, 2));
}

// One tells, and is gone before the others look: only the ring keeps its cell for them.
void one_tells(intra_meeting &meeting, Random &random) {
    int root = int(meeting.sequence % uint64_t(meeting.team->threads));
    if (meeting.member->thread == root) {
        put(meeting);
        intra_post(&meeting, 3);
        return;
    }
    EXPECT_TRUE(intra_await(&meeting, root, 3));
    EXPECT_TRUE(intra_has_posted(&meeting, root, 3));
    random.dawdle();
    EXPECT_TRUE(holds(meeting, root));
}

// Nobody waits at all.
void pass_by(const intra_meeting &meeting) {
    put(meeting);
    intra_post(&meeting, 1);
    EXPECT_TRUE(holds(meeting, meeting.member->thread));
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<Policy, int, int>> &info) {
    return std::string(std::get<0>(info.param).name) + "_" + std::to_string(std::get<1>(info.param)) + "_slots_" +
           std::to_string(std::get<2>(info.param));
}

// A blocking collective's way in.
void begin(intra_meeting *meeting, intra_member *member) {
    intra_take(meeting, member, 0, true);
    while (!intra_is_free(meeting))
        std::this_thread::yield();
    intra_occupy(meeting);
}

} // namespace

TEST_P(Meeting, NobodyReadsAnotherMeetingsCell) {
    const uint64_t total = rounds(effort::rounds(3000));
    threads::run(count(), [&](int self) {
        Random random(uint64_t(self) * 17 + 1);
        for (uint64_t round = 1; round <= total && !HasFailure(); round++) {
            intra_meeting meeting{};
            begin(&meeting, &team->members[self]);
            ASSERT_EQ(meeting.sequence, round);
            random.dawdle();
            if (round % 16 < 3)
                meet_all(meeting, random);
            else if (round % 16 < 13)
                one_tells(meeting, random);
            else
                pass_by(meeting);
            intra_end(&meeting);
        }
    });
}

// A thread may be at most one ring ahead of the slowest.
TEST_P(Meeting, TheRingHoldsTheFastBack) {
    std::atomic<uint64_t> slow_has_ended{0};
    const uint64_t total = rounds(400);
    threads::run(count(), [&](int self) {
        Random random(uint64_t(self) + 1);
        for (uint64_t round = 1; round <= total; round++) {
            intra_meeting meeting{};
            begin(&meeting, &team->members[self]);
            if (count() > 1 && self != count() - 1) {
                EXPECT_LE(round, slow_has_ended + uint64_t(slots()) + 1);
            }
            pass_by(meeting);
            if (self == count() - 1) {
                random.dawdle();
                slow_has_ended = round - 1;
            }
            intra_end(&meeting);
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Teams, Meeting,
                         ::testing::Combine(::testing::ValuesIn(policies), ::testing::Values(1, 2, 3, 5, 8, 12, 17),
                                            ::testing::Values(2, 8)),
                         name_of);

// As much of the next cell is fetched as was filled lately: until a round of the slots has gone by, and for two at most.
TEST(Clearing, WhatWasFilledIsRememberedForARound) {
    for (int slots : {2, 8, 16}) {
        intra_team *team = nullptr;
        ASSERT_EQ(intra_team_create(1, slots, core_waiting_yields, &team), WEFT_SUCCESS);
        intra_member *member = &team->members[0];
        const int period = 3 * slots; // of one long call and short ones
        for (int call = 0; call < 3 * period; call++) {
            intra_meeting meeting{};
            begin(&meeting, member);
            EXPECT_EQ(intra_fill(&meeting, call % period ? 8 : 100), meeting.own->payload.bytes);
            intra_end(&meeting);
            if (call % period < slots) {
                EXPECT_EQ(member->fills, 100u) << call;
            }
            if (call % period >= 2 * slots) {
                EXPECT_EQ(member->fills, 8u) << call;
            }
        }
        intra_team_free(team);
    }
}

TEST(Scratch, GrowsAndIsAligned) {
    intra_scratch scratch{};
    for (size_t bytes : {0, 1, 64, 4096, 4097, 100000, 5}) {
        char *memory = static_cast<char *>(intra_scratch_take(&scratch, bytes));
        ASSERT_NE(memory, nullptr);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
        memset(memory, 1, bytes);
    }
    EXPECT_EQ(intra_scratch_take(&scratch, SIZE_MAX), nullptr) << "more than can be rounded up to pages";
    EXPECT_NE(intra_scratch_take(&scratch, 10), nullptr) << "after a refusal";
    free(scratch.memory);
}
