// SPDX-License-Identifier: BSD-3-Clause
// Processes of a job call collectives that do not belong together: on teams, then, each time between a weft_init and a weft_finalize,
// on the process communicator.
#include "effort.h"
#include "intra/threads.h"
#include "mismatch_between.h"
#include "mismatch_blocks.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace {

using namespace mismatch;

// Between weft_init and weft_finalize, which go well whatever happens between them.
class MismatchJob : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(WEFT_SUCCESS, weft_init(nullptr)) << weft_last_error();
        comm_ = weft_process_comm();
        last_ = weft_rank(comm_) == weft_size(comm_) - 1;
        const char *text = getenv("WEFT_THREADS");
        threads_ = text ? atoi(text) : 1;
    }
    void TearDown() override {
        EXPECT_OK(weft_finalize());
    }
    // Team after team, each of which the last process breaks, or the first.
    void on_team(const one_call &odd, const one_call &usual, bool first = false) const {
        if (!comparable(odd, usual))
            return;
        std::string what = std::string(odd.name) + " / " + usual.name + (first ? ", the first process" : "");
        misuse::in_team(threads_, [&](weft_comm *comm, int) {
            bool is_odd = first ? weft_rank(comm_) == 0 : last_;
            expect_two_calls(expect_between(comm, is_odd ? odd : usual, what), what);
        });
        expect_works(comm_, what);
    }
    void on_processes(const one_call &odd, const one_call &usual) const {
        if (!comparable(odd, usual))
            return;
        std::string what = std::string(odd.name) + " / " + usual.name;
        expect_two_calls(expect_between(comm_, last_ ? odd : usual, what), what);
        expect_messages(comm_);
    }
    // Which part of the pairs: another one for each shape, level and transport that is common.
    size_t part() const {
        return size_t(weft_size(comm_) * 2 + threads_) + (getenv("WEFT_LINES") ? 3 : 0) +
               (getenv("WEFT_THREAD_LEVEL") ? 6 : 0);
    }
    weft_comm *comm_ = nullptr;
    bool last_ = false;
    int threads_ = 1;

  private:
    threads::Watchdog watchdog_{200};
};

} // namespace

TEST_F(MismatchJob, EveryPair) {
    const size_t count = std::size(calls) - 1, step = 9 * effort::parts;
    for (size_t i = 0; i < count; i++)
        for (size_t j = (i + part()) % step; j < count; j += step)
            if (i != j)
                on_team(calls[i], calls[j], (i + j / step) % 2);
}

TEST_F(MismatchJob, OneThingOnly) {
    for (const two_calls &pair : special_pairs())
        on_team(pair.odd, pair.usual);
}

// A root that sends short messages waits for nobody.
TEST_F(MismatchJob, ARootFarAhead) {
    for (bool late : {true, false})
        misuse::in_team(
            1, [&](weft_comm *comm, int) { expect_between(comm, last_ == late ? ahead_late : ahead, "far ahead"); });
}

TEST_F(MismatchJob, ProcessesInDifferentCollectives) {
    on_processes(calls[0], calls[8]);
}

TEST_F(MismatchJob, ProcessesWithDifferentRoots) {
    on_processes(calls[1], calls[2]);
}

// Not a mismatch: what process 1 had to send came long before the root of all that asked for it, process 1 has forgotten about it, and
// the last process is late.
TEST_F(MismatchJob, AProcessThatIsLateOnly) {
    const auto pause = [](int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
    int one = 1, sum = 0;
    if (weft_rank(comm_) == 1)
        pause(30);
    else if (last_)
        pause(1300);
    for (int i = 0; i < 100; i++)
        EXPECT_OK(weft_reduce(&one, &sum, 1, WEFT_INT, WEFT_SUM, 0, comm_));
    if (weft_rank(comm_) == 0) {
        EXPECT_EQ(sum, weft_size(comm_));
    }
    EXPECT_OK(weft_barrier(comm_));
}

// Not a mismatch either: a thread starts more calls than are remembered otherwise, those begin that need nobody else of its process, and the
// first one, which all have waited for long, begins when the other threads come.
class MismatchOfManySlotsJob : public MismatchJob {
  protected:
    void SetUp() override {
        setenv("WEFT_SLOTS", "128", 1);
        MismatchJob::SetUp();
        unsetenv("WEFT_SLOTS");
    }
};

TEST_F(MismatchOfManySlotsJob, AThreadThatIsLateOnly) {
    if (threads_ == 1)
        GTEST_SKIP() << "there is one thread a process";
    const int root = (weft_size(comm_) - 1) * threads_;
    misuse::in_team(threads_, [&](weft_comm *comm, int thread) {
        std::vector<uint64_t> words(70, thread || !last_ ? 0 : 5);
        std::vector<weft_request *> requests(words.size());
        if (last_ && thread)
            std::this_thread::sleep_for(std::chrono::milliseconds(1500));
        EXPECT_OK(weft_ibarrier(comm, &requests[0]));
        if (!last_) {
            EXPECT_OK(weft_wait(&requests[0], nullptr));
        }
        for (size_t i = 1; i < words.size(); i++)
            EXPECT_OK(weft_ibcast(&words[i], 8, WEFT_BYTE, i == 1 ? 0 : root, comm, &requests[i]));
        EXPECT_OK(weft_waitall(requests.size(), requests.data(), nullptr));
        EXPECT_EQ(std::count(words.begin() + 2, words.end(), 5u), ptrdiff_t(words.size() - 2));
        EXPECT_OK(weft_barrier(comm));
    });
}

// The same, but it is another call: that is found when it begins.
TEST_F(MismatchOfManySlotsJob, AThreadThatIsLateAndWrong) {
    if (threads_ == 1)
        GTEST_SKIP() << "there is one thread a process";
    misuse::in_team(threads_, [&](weft_comm *comm, int thread) {
        std::vector<uint64_t> words(70);
        std::vector<weft_request *> requests(last_ && thread == 0 ? words.size() : 1);
        int one = 1, sum = 0;
        if (last_ && thread)
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
        EXPECT_OK(last_ ? weft_iallreduce(&one, &sum, 1, WEFT_INT, WEFT_SUM, comm, &requests[0])
                        : weft_ibarrier(comm, &requests[0]));
        for (size_t i = 1; i < requests.size(); i++)
            EXPECT_OK(weft_ibcast(&words[i], 8, WEFT_BYTE, weft_rank(comm), comm, &requests[i]));
        EXPECT_ERROR(WEFT_ERR_MISMATCH, weft_waitall(requests.size(), requests.data(), nullptr), "weft_ibarrier",
                     "weft_iallreduce");
    });
}

// Long messages wait at their senders.
TEST_F(MismatchJob, ProcessesWithLongMessages) {
    std::vector<char> send(1 << 20), recv((1 << 20) * size_t(weft_size(comm_)));
    int code = last_ ? weft_allgather(send.data(), send.size(), WEFT_BYTE, recv.data(), send.size(), WEFT_BYTE, comm_)
                     : weft_allreduce(send.data(), recv.data(), send.size(), WEFT_BYTE, WEFT_BOR, comm_);
    EXPECT_EQ(code, WEFT_ERR_MISMATCH);
    expect_two_calls(weft_last_error(), "long messages");
    expect_messages(comm_);
}

// A long message that nobody receives, on a communicator that its receiver has freed, again and again: what was broken before keeps nobody.
TEST_F(MismatchJob, OfProcessesThatHaveLeft) {
    std::vector<int> data(many, 1);
    int told = 0;
    for (int round = 0; round < effort::rounds(160); round++) {
        weft_comm *copy = nullptr;
        EXPECT_OK(weft_comm_dup(comm_, &copy));
        EXPECT_OK(weft_bcast(data.data(), many, WEFT_INT, 0, copy));
        int code = last_ ? WEFT_SUCCESS : weft_bcast(data.data(), many, WEFT_INT, 0, copy);
        EXPECT_TRUE(code == WEFT_ERR_MISMATCH || code == WEFT_SUCCESS) << weft_last_error();
        told += code == WEFT_ERR_MISMATCH;
        EXPECT_OK(weft_comm_free(&copy));
    }
    // By UCX the root is not through before the last process has asked for the message, or takes it for nobody, which it tells first: both may come at
    // once. Else what the root sent may be on its way.
    if (weft_rank(comm_) == 0 && getenv("WEFT_LINES")) {
        EXPECT_GT(told, 0);
    }
}

TEST_F(MismatchJob, ProcessesWithRequests) {
    mismatch_nonblocking(comm_, last_);
    expect_messages(comm_);
}

TEST_F(MismatchJob, ProcessesWithPersistentRequests) {
    mismatch_persistent(comm_, last_);
    expect_messages(comm_);
}

// Prepared, not started: the next collective tells them apart.
TEST_F(MismatchJob, ProcessesThatPrepareDifferentOnes) {
    int word = 1, sum = 0;
    weft_request *request = nullptr;
    EXPECT_OK(last_ ? weft_bcast_init(&word, 1, WEFT_INT, 0, comm_, &request)
                    : weft_allreduce_init(&word, &sum, 1, WEFT_INT, WEFT_SUM, comm_, &request));
    EXPECT_ERROR(WEFT_ERR_MISMATCH, weft_barrier(comm_), "after collectives that were not the same");
    EXPECT_OK(weft_request_free(&request));
    expect_messages(comm_);
}

// Between ranks of one process and of several: the first, the last, and who is neither a leader nor the last.
class MismatchOfBlocksJob : public MismatchJob {
  protected:
    void expect_all(bool on_processes) const {
        int ranks = weft_size(comm_) * (on_processes ? 1 : threads_);
        for (with_blocks which : all_with_blocks)
            for (auto lengths : wrong_lengths)
                for (auto pair : {std::pair{0, ranks - 1}, std::pair{ranks - 1, 0}, std::pair{1, ranks - 1}}) {
                    if (pair.first == pair.second)
                        continue;
                    wrong_block wrong{pair.first, pair.second, lengths.sent, lengths.expected};
                    if (on_processes)
                        on_copy(which, wrong);
                    else
                        misuse::in_team(threads_, [&](weft_comm *comm, int) {
                            expect_wrong_block(which, wrong, comm, threads_ == 1);
                        });
                }
        expect_works(comm_, "blocks");
    }

  private:
    void on_copy(with_blocks which, const wrong_block &wrong) const {
        weft_comm *copy = nullptr;
        EXPECT_OK(weft_comm_dup(comm_, &copy));
        expect_wrong_block(which, wrong, copy, true);
        EXPECT_OK(weft_comm_free(&copy));
    }
};

TEST_F(MismatchOfBlocksJob, OnProcesses) {
    expect_all(true);
}

TEST_F(MismatchOfBlocksJob, OnTeams) {
    expect_all(false);
}

// What came before its receiver did is over, and wrong, while the call starts: its other threads, who are woken then, learn what the one does
// that started it.
class MismatchOfLateBlocksJob : public MismatchJob {
  protected:
    void SetUp() override {
        const char *set = getenv("WEFT_WAIT"); // NOLINT(concurrency-mt-unsafe): before any thread is started
        const std::string wait = set ? set : "";
        setenv("WEFT_ALGORITHM", "scatterv=nbFT/flags", 1);
        setenv("WEFT_WAIT", "block", 1);
        MismatchJob::SetUp();
        unsetenv("WEFT_ALGORITHM");
        if (set)
            setenv("WEFT_WAIT", wait.c_str(), 1);
        else
            unsetenv("WEFT_WAIT");
    }
};

TEST_F(MismatchOfLateBlocksJob, OnTeams) {
    const int ranks = weft_size(comm_) * threads_, late = ranks - threads_;
    for (int turn = 0; turn < 200; turn++)
        misuse::in_team(threads_, [&](weft_comm *comm, int) {
            if (weft_rank(comm) == late)
                usleep(300);
            expect_wrong_block(with_blocks::scatterv, {0, late, 3, 2}, comm, threads_ == 1);
        });
    expect_works(comm_, "late blocks");
}

// The algorithms that need all counts have them from the root, before the blocks.
class MismatchOfCountsJob : public MismatchJob {
  protected:
    void SetUp() override {
        setenv("WEFT_ALGORITHM", "gatherv=MST,scatterv=MST", 1);
        MismatchJob::SetUp();
        unsetenv("WEFT_ALGORITHM");
    }
    // The last process has so many elements, the root counts others for it. All learn of it, and nothing else is written.
    void expect_broken(bool gathers, size_t has, size_t counted) {
        const size_t size = size_t(weft_size(comm_)), own = last_ ? has : 5, room = std::max(has, counted);
        std::vector<size_t> counts(size, 5);
        std::vector<ptrdiff_t> displs(size);
        std::vector<int> all(size * room, 1), mine(own + room, 2);
        counts.back() = counted;
        for (size_t i = 0; i < size; i++)
            displs[i] = ptrdiff_t(i * room);
        int code = gathers ? weft_gatherv(mine.data(), own, WEFT_INT, all.data(), counts.data(), displs.data(),
                                          WEFT_INT, 0, comm_)
                           : weft_scatterv(all.data(), counts.data(), displs.data(), WEFT_INT, mine.data(), own,
                                           WEFT_INT, 0, comm_);
        if (code == WEFT_SUCCESS)
            code = weft_barrier(comm_);
        EXPECT_STREQ(weft_strerror(WEFT_ERR_MISMATCH), weft_strerror(code)) << weft_last_error();
        std::string last = "rank " + std::to_string(size - 1), sender = gathers ? last : "rank 0",
                    receiver = gathers ? "rank 0" : last;
        misuse::expect_sentence(
            {sender + " called", " sends " + receiver + " " + std::to_string(4 * (gathers ? has : counted)) + " bytes",
             "but " + receiver + " called", " expects " + std::to_string(4 * (gathers ? counted : has))},
            gathers ? "gatherv" : "scatterv");
        EXPECT_EQ(std::count(mine.begin() + ptrdiff_t(own), mine.end(), 2), ptrdiff_t(room));
        expect_messages(comm_);
    }
};

TEST_F(MismatchOfCountsJob, RootSendsMore) {
    expect_broken(false, 3, 20000);
}

TEST_F(MismatchOfCountsJob, RootSendsLess) {
    expect_broken(false, 20000, 0);
}

TEST_F(MismatchOfCountsJob, RootExpectsMore) {
    expect_broken(true, 0, 5);
}

TEST_F(MismatchOfCountsJob, RootExpectsLess) {
    expect_broken(true, 20000, 4);
}

// One calls a collective, the others are about to end.
TEST(MismatchAtTheEnd, OfOne) {
    ASSERT_EQ(WEFT_SUCCESS, weft_init(nullptr)) << weft_last_error();
    weft_comm *comm = weft_process_comm();
    bool last = weft_rank(comm) == weft_size(comm) - 1;
    if (last)
        EXPECT_ERROR(WEFT_ERR_MISMATCH, weft_barrier(comm), "weft_barrier", "weft_finalize");
    EXPECT_EQ(last ? WEFT_SUCCESS : WEFT_ERR_MISMATCH, weft_finalize()) << weft_last_error();
    EXPECT_FALSE(weft_initialized());
}
