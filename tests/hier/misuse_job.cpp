// SPDX-License-Identifier: BSD-3-Clause
// Wrong use in a job of several processes: an error of one that concerns all is everybody's, a local one is nobody else's.
#include "misuse.h"
#include "oracle_job.h"

#include <algorithm>
#include <sys/wait.h>
#include <unistd.h>

namespace {

class MisuseJob : public ::testing::Test {
  protected:
    void SetUp() override {
        comm_ = weft_process_comm();
        rank_ = weft_rank(comm_);
        size_ = weft_size(comm_);
    }
    void TearDown() override {
        expect_alive();
    }
    // All processes still work together.
    void expect_alive() {
        int one = 1, sum = 0;
        EXPECT_OK(weft_allreduce(&one, &sum, 1, WEFT_INT, WEFT_SUM, comm_));
        EXPECT_EQ(sum, size_);
    }
    weft_comm *comm_ = nullptr;
    int rank_ = 0, size_ = 0;
};

// Without a place for the communicator in one process there is none in any.
TEST_F(MisuseJob, NowhereToPutACommunicator) {
    for (int bad = 0; bad < size_; bad++) {
        weft_comm *made = nullptr;
        EXPECT_ERROR(WEFT_ERR_ARG, weft_comm_split(comm_, 0, 0, rank_ == bad ? nullptr : &made),
                     "rank " + std::to_string(rank_), "weft_comm_split");
        EXPECT_EQ(made, nullptr);
        if (rank_ != bad)
            misuse::expect_sentence({"rank " + std::to_string(bad)}, "weft_comm_split");
    }
    expect_alive();
}

// Every process that asks for a number of threads that cannot be makes the team fail everywhere, and the next one stands.
TEST_F(MisuseJob, BadThreadsInOneProcess) {
    for (int bad = 0; bad < size_; bad++)
        for (int threads : {-1, WEFT_MAX_TEAM_THREADS + 1}) {
            weft_team *team = nullptr;
            EXPECT_ERROR(WEFT_ERR_ARG, weft_team_create(comm_, rank_ == bad ? threads : 2, &team),
                         "rank " + std::to_string(rank_), "weft_team_create");
            EXPECT_EQ(team, nullptr);
            if (rank_ != bad)
                misuse::expect_sentence({"process " + std::to_string(bad)}, "weft_team_create");
        }
    weft_team *team = nullptr;
    EXPECT_OK(weft_team_create(comm_, 2, &team));
    EXPECT_OK(weft_team_free(&team));
}

// An argument that is wrong everywhere sends nothing, so the next collective is not disturbed.
TEST_F(MisuseJob, WrongArgumentsEverywhere) {
    int value = 0;
    for (int root : {-1, size_}) {
        EXPECT_ERROR(WEFT_ERR_RANK, weft_bcast(&value, 1, WEFT_INT, root, comm_), "rank " + std::to_string(rank_));
        expect_alive();
    }
    EXPECT_ERROR(WEFT_ERR_ARG, weft_allreduce(&value, nullptr, 1, WEFT_INT, WEFT_SUM, comm_), "recv is NULL");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_bcast(&value, 1, nullptr, 0, comm_), "type");
}

TEST_F(MisuseJob, FinalizeWithATeamStanding) {
    weft_team *team = nullptr;
    EXPECT_OK(weft_team_create(comm_, 2, &team));
    EXPECT_ERROR(WEFT_ERR_BUSY, weft_finalize(), "rank " + std::to_string(rank_), "weft_team_free");
    EXPECT_OK(weft_team_free(&team));
}

// A team that one process frees early, while another still holds its own: freeing is local.
TEST_F(MisuseJob, TeamFreedEarlyByOne) {
    weft_team *team = nullptr, *second = nullptr;
    EXPECT_OK(weft_team_create(comm_, 1, &team));
    if (rank_ == 0) {
        EXPECT_OK(weft_team_free(&team));
    }
    EXPECT_OK(weft_team_create(comm_, 1, &second));
    weft_comm *mine = nullptr;
    EXPECT_OK(weft_team_enter(second, 0, &mine));
    int sum = 0, one = 1;
    EXPECT_OK(weft_allreduce(&one, &sum, 1, WEFT_INT, WEFT_SUM, mine));
    EXPECT_EQ(sum, size_);
    EXPECT_OK(weft_team_leave(&mine));
    if (rank_ != 0) {
        EXPECT_OK(weft_team_free(&team));
    }
    EXPECT_OK(weft_team_free(&second));
}

// A child has nothing of its parent's, which goes on.
TEST_F(MisuseJob, ChildrenOfFork) {
    weft_team *team = nullptr;
    weft_comm *mine = nullptr, *copy = nullptr;
    weft_request *barrier = nullptr, *part = nullptr, *receive = nullptr;
    int got = 0, number = 7;
    EXPECT_OK(weft_comm_dup(comm_, &copy));
    EXPECT_OK(weft_team_create(comm_, 1, &team));
    EXPECT_OK(weft_team_enter(team, 0, &mine));
    EXPECT_OK(weft_ibarrier(copy, &barrier));
    EXPECT_OK(weft_ibarrier(mine, &part));
    EXPECT_OK(weft_irecv(&got, 1, WEFT_INT, weft_rank(mine), 5, mine, &receive));
    const pid_t child = fork();
    if (!child) {
        int one = 1, sum = 0;
        int failures = weft_initialized() + (weft_process_comm() != nullptr) + (weft_finalize() != WEFT_ERR_INIT);
        for (weft_comm *comm : {comm_, copy, mine})
            failures += weft_allreduce(&one, &sum, 1, WEFT_INT, WEFT_SUM, comm) != WEFT_ERR_ARG;
        for (weft_request *request : {barrier, part, receive})
            failures += weft_wait(&request, nullptr) != WEFT_ERR_ARG;
        failures += weft_team_leave(&mine) != WEFT_ERR_ARG;
        failures += weft_team_free(&team) != WEFT_ERR_ARG;
        _exit(failures);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_OK(weft_send(&number, 1, WEFT_INT, weft_rank(mine), 5, mine));
    for (weft_request **request : {&barrier, &part, &receive})
        EXPECT_OK(weft_wait(request, nullptr));
    EXPECT_EQ(got, number);
    EXPECT_OK(weft_team_leave(&mine));
    EXPECT_OK(weft_team_free(&team));
    EXPECT_OK(weft_comm_free(&copy));
}

// Another length is sent than expected: nothing but the block is written, whether the message comes before its receive or after.
void expect_no_more_than_room(weft_comm *comm, size_t elements, size_t room, bool late) {
    const size_t size = size_t(weft_size(comm)), both = std::min(room, elements);
    const int rank = weft_rank(comm);
    std::vector<size_t> sent(size, 0), expected(size, 0);
    std::vector<ptrdiff_t> displs(size, 0);
    std::vector<int> from(elements, 1), to(elements + 4, 2);
    if (rank == 0)
        sent[1] = elements;
    if (rank == 1)
        expected[0] = room;
    for (int looks = 0, found; rank == 1 && late && looks < 20; looks++) {
        EXPECT_OK(weft_iprobe(WEFT_ANY_SOURCE, 99, comm, &found, WEFT_STATUS_IGNORE));
        usleep(500);
    }
    int code = weft_alltoallv(from.data(), sent.data(), displs.data(), WEFT_INT, to.data(), expected.data(),
                              displs.data(), WEFT_INT, comm);
    EXPECT_TRUE(code || rank != 1);
    EXPECT_EQ(std::count(to.begin() + ptrdiff_t(both), to.end(), 2), ptrdiff_t(to.size() - both));
    EXPECT_ERROR(WEFT_ERR_MISMATCH, weft_barrier(comm), "rank 0 called weft_alltoallv", "rank 1 called weft_alltoallv",
                 room < elements ? "more bytes" : "fewer bytes");
}

TEST_F(MisuseJob, OtherLengthsThanExpected) {
    if (size_ == 1)
        GTEST_SKIP() << "what a process sends to itself is checked before";
    for (size_t elements : {size_t(8), size_t(3000), size_t(100000)})
        for (size_t room : {elements / 2, elements + 4})
            for (bool late : {false, true}) {
                weft_comm *copy = nullptr;
                EXPECT_OK(weft_comm_dup(comm_, &copy));
                expect_no_more_than_room(copy, elements, room, late);
                EXPECT_OK(weft_comm_free(&copy));
            }
}

// All of the root's process call a short bcast, which nobody else does before the communicator is freed. What it sent is not the next one's.
void expect_no_old_data(weft_comm *comm) {
    for (int round = 0; round < 3; round++)
        for (bool skipped : {true, false}) {
            weft_comm *made = nullptr;
            EXPECT_OK(weft_comm_dup(comm, &made));
            int value = weft_rank(made) == 0 ? 1 + skipped : 0;
            if (!skipped || weft_node(made) == 0) {
                EXPECT_OK(weft_bcast(&value, 1, WEFT_INT, 0, made));
            }
            if (!skipped) {
                EXPECT_EQ(value, 1);
            }
            EXPECT_OK(weft_comm_free(&made));
        }
}

TEST_F(MisuseJob, ACollectiveThatOthersLeaveOut) {
    expect_no_old_data(comm_);
    job::on_team(expect_no_old_data);
}

} // namespace
