// SPDX-License-Identifier: BSD-3-Clause
// The report made of rows: its order, its lines, who is missing, when there is something new to report; and rows that nobody should
// trust.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>
extern "C" {
#include <core/rollcall.h>
}

namespace {

class RollCall : public testing::Test {
  protected:
    ~RollCall() override {
        core_roll_free(&roll);
    }
    core_row *add(int presence, int process, int thread) {
        core_row *row = core_roll_add(&roll);
        row->presence = presence;
        row->process = process;
        row->thread = thread;
        row->home = 1;
        row->home_rank = process * 10 + thread;
        return row;
    }
    core_row *waits(int process, int thread, const char *call, uint64_t sequence, int comm = 1) {
        core_row *row = add(CORE_WAITING, process, thread);
        strcpy(row->call, call);
        row->sequence = sequence;
        row->comm = comm;
        row->rank = row->home_rank;
        row->collective = sequence != 0;
        row->waited_s = 5;
        row->number = uint64_t(process * 100 + thread) * 1000;
        return row;
    }
    core_row *begun(int rank, uint64_t sequence, uint64_t over, int comm = 1) {
        core_row *row = add(CORE_BEGUN, 0, rank);
        row->comm = comm;
        row->rank = rank;
        row->collective = CORE_COLLECTIVE;
        row->sequence = sequence;
        row->over = over;
        return row;
    }
    std::string print(bool whole = true) {
        core_roll_sort(&roll);
        char *text = nullptr;
        size_t bytes = 0;
        FILE *file = open_memstream(&text, &bytes);
        core_roll_print(file, &roll, whole);
        fclose(file);
        std::string result(text, bytes);
        free(text);
        return result;
    }
    // The ranks of the rows, in their order.
    std::vector<int> order() {
        core_roll_sort(&roll);
        std::vector<int> ranks;
        for (size_t i = 0; i < roll.count; i++)
            ranks.push_back(roll.rows[i].home_rank);
        return ranks;
    }

    core_roll roll = {};
};

using Ranks = std::vector<int>;

} // namespace

TEST_F(RollCall, OfNobody) {
    EXPECT_EQ(print(), "");
    EXPECT_EQ(core_roll_longest(&roll), 0);
}

TEST_F(RollCall, TheOddOneComesFirst) {
    for (int process = 0; process < 3; process++)
        for (int thread = 0; thread < 3; thread++)
            waits(process, thread, "weft_barrier", 7);
    roll.rows[4].presence = CORE_OUTSIDE;     // 11
    roll.rows[5].presence = CORE_NOT_ENTERED; // 12
    roll.rows[8].presence = CORE_ENDED;       // 22
    strcpy(roll.rows[1].call, "weft_bcast");  // 1
    roll.rows[0].sequence = 6;                // 0: behind
    EXPECT_EQ(order(), (Ranks{22, 12, 11, 0, 1, 2, 10, 20, 21}));
}

TEST_F(RollCall, TheFewestOfSeveralOperationsComeFirst) {
    for (int thread = 0; thread < 4; thread++)
        waits(0, thread, "weft_allreduce", 3);
    for (int thread = 4; thread < 6; thread++)
        waits(0, thread, "weft_allreduce", 3, 2);
    waits(0, 6, "weft_recv", 0);
    EXPECT_EQ(order(), (Ranks{6, 4, 5, 0, 1, 2, 3}));
}

TEST_F(RollCall, WhoIsAheadIsNotBehind) {
    waits(0, 0, "weft_bcast", 9);
    waits(0, 1, "weft_bcast", 4);
    waits(0, 2, "weft_bcast", 8);
    waits(0, 3, "weft_bcast", 8);
    EXPECT_EQ(order(), (Ranks{1, 0, 2, 3}));
}

TEST_F(RollCall, Lines) {
    core_row *row = waits(1, 2, "weft_wait", 4);
    strcpy(row->of, "weft_ibcast");
    strcpy(row->place, "main+0x10 (program+0x1010)");
    row->root = 3;
    row->bytes = 64;
    row->rank = 2;
    row->ranks = 4;
    row->comm = 2;
    for (int rank : {0, 1, 3})
        begun(rank, 3, 3, 2);
    row = waits(2, CORE_NO_NUMBER, "weft_recv", 0, 0);
    row->home = row->home_rank = CORE_NO_NUMBER;
    row->rank = 2;
    row->peer = -1;
    row->tag = 7;
    add(CORE_NO_ANSWER, 3, CORE_NO_NUMBER)->home_rank = CORE_NO_NUMBER;
    EXPECT_EQ(
        print(),
        "  process 3: does not answer; is it stopped?\n"
        "  process 2: in weft_recv on the process communicator, peer any, tag 7, for 5.0 s\n"
        "  rank 12 (process 1, thread 2): in weft_wait for weft_ibcast #4 on communicator 2 as rank 2, root 3, 64 "
        "bytes, for 5.0 s, called at main+0x10 (program+0x1010)\n"
        "  missing in weft_wait for weft_ibcast #4 on communicator 2: rank 0 (process 0, thread 0), 1 (process 0, "
        "thread 1), 3 (process 0, thread 3) of 4\n");
}

TEST_F(RollCall, WhoIsOutOfACollectiveIsNotMissingInIt) {
    waits(0, 0, "weft_reduce", 3)->ranks = 8; // of rank 7 nothing is known
    begun(0, 3, 2);
    begun(1, 2, 2);
    begun(1, 9, 9, 2);
    begun(2, 3, 3);
    begun(3, 4, 2);
    begun(4, 7, UINT64_MAX);
    begun(5, 0, 0);
    begun(6, 3, 3);
    begun(-1, 3, 2);
    EXPECT_EQ(print(), "  rank 0 (process 0, thread 0): in weft_reduce #3 on communicator 1, for 5.0 s\n"
                       "  missing in weft_reduce #3 on communicator 1: rank 1, 5 of 8\n"
                       "  started, not waiting in weft_reduce #3 on communicator 1: rank 3 of 8\n");
}

TEST_F(RollCall, PersistentOnesHaveRounds) {
    for (int thread = 0; thread < 3; thread++) {
        core_row *row = waits(0, thread, "weft_wait", 2);
        strcpy(row->of, "weft_barrier_init");
        row->collective = CORE_PERSISTENT;
        row->round = thread ? 5 : 4;
        row->ranks = 4;
    }
    begun(3, 0, 0)->round = 1; // has prepared one only
    for (int thread = 0; thread < 3; thread++) {
        begun(thread, 0, 0)->round = 2;
        for (uint64_t ring : {1, 2, 3}) {
            core_row *row = add(CORE_BEGUN, 0, 0);
            row->comm = 1;
            row->rank = thread;
            row->collective = CORE_PERSISTENT;
            row->sequence = ring;
            row->round = ring == 2 ? (thread % 3 ? 5 : 4) : 9;
        }
    }
    const std::string wait = "in weft_wait for weft_barrier_init #2 on communicator 1";
    EXPECT_EQ(print(), "  rank 0 (process 0, thread 0): " + wait + ", for 5.0 s\n  rank 1 (process 0, thread 1): " +
                           wait + ", for 5.0 s\n  rank 2 (process 0, thread 2): " + wait + ", for 5.0 s\n  missing " +
                           wait + ": rank 3 of 4\n  started, not waiting " + wait + ": rank 1, 2 of 4\n  missing " +
                           wait + ": rank 0, 3 of 4\n");
}

TEST_F(RollCall, CommunicatorsOfOneNumber) {
    for (int process = 0; process < 4; process++) {
        core_row *row = process % 2 ? begun(1, 0, 0, 64) : waits(process, 0, "weft_barrier", 1, 64);
        row->process = process;
        row->rank = process % 2;
        row->ranks = 2;
        row->identity = uint64_t(process / 2 + 7);
    }
    std::string text = print();
    for (const char *process : {"0", "2"})
        EXPECT_NE(text.find(std::string("  missing in weft_barrier #1 on communicator 64 (that of process ") + process +
                            "): rank 1 (process " + (*process == '0' ? "1" : "3") + ", thread 1) of 2\n"),
                  std::string::npos)
            << text;
}

TEST_F(RollCall, PersistentOnesOfProcesses) {
    core_row *row = waits(0, CORE_NO_NUMBER, "weft_wait", 2, 0);
    strcpy(row->of, "weft_barrier_init");
    row->home_rank = CORE_NO_NUMBER;
    row->collective = CORE_PERSISTENT;
    row->rank = 0;
    row->ranks = 5;
    row->round = 3;
    for (int rank = 0; rank < 5; rank++) {
        row = begun(rank, 0, 0, 0);
        row->thread = CORE_NO_NUMBER;
        row->round = rank == 2 ? 1 : 2; // prepared
        if (rank == 2 || rank == 4)     // and freed
            continue;
        row = begun(rank, 2, 0, 0);
        row->thread = CORE_NO_NUMBER;
        row->collective = CORE_PERSISTENT;
        row->round = rank == 3 ? 2 : 3; // started so often
    }
    const std::string wait = "in weft_wait for weft_barrier_init #2 on the process communicator";
    EXPECT_EQ(print(), "  process 0: " + wait + ", for 5.0 s\n  missing " + wait +
                           ": rank 2, 3 of 5\n  started, not waiting " + wait + ": rank 1 of 5\n");
}

TEST_F(RollCall, RanksOfSeveralTeamsAreNamedByThem) {
    waits(0, 0, "weft_barrier", 1);
    add(CORE_OUTSIDE, 0, 1)->home = 2;
    EXPECT_EQ(print(),
              "  rank 1 of communicator 2 (process 0, thread 1): outside weft\n"
              "  rank 0 of communicator 1 (process 0, thread 0): in weft_barrier #1 on communicator 1, for 5.0 s\n");
}

TEST_F(RollCall, OfAPartOfAJobNobodyIsCalledMissing) {
    waits(0, 0, "weft_barrier", 1)->ranks = 2;
    EXPECT_EQ(print(false), "  rank 0 (process 0, thread 0): in weft_barrier #1 on communicator 1, for 5.0 s\n");
}

TEST_F(RollCall, ManyMissing) {
    core_row *row = waits(0, 0, "weft_barrier", 1);
    row->ranks = 100;
    for (int rank = 0; rank < 100; rank++)
        begun(rank, rank == 0, 0);
    std::string text = print();
    EXPECT_NE(text.find(": rank 1, 2, 3,"), std::string::npos) << text;
    EXPECT_NE(text.find(" 32 and 67 more of 100\n"), std::string::npos) << text;
}

TEST_F(RollCall, NothingNewWhileTheLongWaitsStand) {
    core_roll now = {};
    auto is_news = [&](std::vector<std::pair<uint64_t, double>> numbers) {
        now.count = 0;
        for (auto [number, seconds] : numbers) {
            core_row *row = core_roll_add(&now);
            row->presence = CORE_WAITING;
            row->number = number;
            row->waited_s = seconds;
        }
        return core_roll_is_news(&roll, 1, &now, 1);
    };
    EXPECT_TRUE(is_news({{1000, 1}})) << "the first report";
    EXPECT_FALSE(is_news({{1000, 0.9}})) << "nobody waits too long";
    EXPECT_FALSE(is_news({}));
    waits(0, 1, "weft_barrier", 1);
    waits(0, 2, "weft_barrier", 1);
    waits(0, 3, "weft_barrier", 1)->waited_s = 0.6;
    waits(0, 4, "weft_barrier", 1)->waited_s = 0.1;
    EXPECT_FALSE(is_news({{1000, 9}, {2000, 9}, {3000, 9}, {5000, 5}})) << "one more in the same hang";
    EXPECT_FALSE(is_news({{4001, 0.2}, {2000, 2}, {1000, 2}})) << "a short one is over";
    EXPECT_FALSE(is_news({{1000, 2}, {3000, 2}})) << "a long one is over; the others have been told of";
    EXPECT_FALSE(is_news({{2001, 0.5}, {3000, 2}})) << "all long ones are over";
    EXPECT_TRUE(is_news({{1000, 9}, {2001, 1}})) << "who was out of it is in the next";
    EXPECT_TRUE(is_news({{4000, 9}})) << "this one had only begun";
    core_roll_free(&now);
}

TEST_F(RollCall, RowsOfStrangersAreMadeSafe) {
    core_row *row = waits(0, 0, "weft_barrier", 1);
    memset(row->call, 'x', sizeof(row->call));
    strcpy(row->place, "a\033[2Jb");
    EXPECT_TRUE(core_roll_check(row, 1, 0));
    EXPECT_EQ(strlen(row->call), sizeof(row->call) - 1);
    EXPECT_STREQ(row->place, "a?[2Jb");
    EXPECT_FALSE(core_roll_check(row, 1, 1)) << "another process's";
    for (int presence : {-1, int(CORE_PRESENCES)}) {
        row->presence = presence;
        EXPECT_FALSE(core_roll_check(row, 1, 0));
    }
    row->presence = CORE_WAITING;
    for (double seconds : {-1.0, double(NAN), double(INFINITY)}) {
        row->waited_s = seconds;
        EXPECT_FALSE(core_roll_check(row, 1, 0));
    }
}

TEST_F(RollCall, NumbersOfStrangersDoNoHarm) {
    for (int32_t number : {INT32_MIN, -1, 0, INT32_MAX}) {
        core_row *row = waits(0, number, "weft_bcast", UINT64_MAX, number);
        row->rank = row->ranks = row->root = row->peer = row->tag = row->home = row->home_rank = number;
        row->bytes = UINT64_MAX - 1;
        row->collective = number;
    }
    EXPECT_NE(print(), "");
}
