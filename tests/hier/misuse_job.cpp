// SPDX-License-Identifier: BSD-3-Clause
// Wrong use in a job of several processes: an error of one that concerns all is everybody's, a local one is nobody else's.
#include "misuse.h"
#include "oracle_job.h"

#include <algorithm>
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

// Other lengths are sent than expected: an error where they arrive, and nothing but them is written; whether the message comes before its
// receive or after.
TEST_F(MisuseJob, OtherLengthsThanExpected) {
    if (size_ == 1)
        GTEST_SKIP() << "what a process sends to itself is checked before";
    for (size_t elements : {size_t(8), size_t(3000), size_t(100000)})
        for (size_t room : {elements / 2, elements + 4})
            for (bool late : {false, true}) {
                std::vector<size_t> sent((size_t)size_, 0), expected((size_t)size_, 0);
                std::vector<ptrdiff_t> displs((size_t)size_, 0);
                std::vector<int> from(elements, 1), to(elements + 4, 2);
                if (rank_ == 0)
                    sent[1] = elements;
                if (rank_ == 1)
                    expected[0] = room;
                for (int looks = 0, found; rank_ == 1 && late && looks < 20; looks++) {
                    EXPECT_OK(weft_iprobe(WEFT_ANY_SOURCE, 99, comm_, &found, WEFT_STATUS_IGNORE));
                    usleep(500);
                }
                int code = weft_alltoallv(from.data(), sent.data(), displs.data(), WEFT_INT, to.data(), expected.data(),
                                          displs.data(), WEFT_INT, comm_);
                int wrong = room < elements ? WEFT_ERR_TRUNCATE : WEFT_ERR_MISMATCH;
                EXPECT_EQ(std::string(weft_strerror(rank_ == 1 ? wrong : WEFT_SUCCESS)), weft_strerror(code))
                    << "rank " << rank_ << ", " << elements << " elements, " << room << " expected, " << late << ": "
                    << weft_last_error();
                if (rank_ == 1)
                    misuse::expect_sentence({"rank 1"}, "weft_alltoallv");
                size_t both = std::min(room, elements);
                EXPECT_EQ(std::count(to.begin() + (ptrdiff_t)both, to.end(), 2), (ptrdiff_t)(to.size() - both));
                EXPECT_OK(weft_barrier(comm_));
            }
}

// The process of a rank, in a team.
int node_of(weft_comm *comm, int rank) {
    int node = 0;
    for (int first = weft_node_threads(comm, 0); first <= rank; first += weft_node_threads(comm, node))
        node++;
    return node;
}

// Blocks between all ranks of a thread communicator, of which one has another length than its receiver expects: he is told, and those of
// other processes get theirs; so do those of his own, but where all that comes for them from the sender's is too long.
void expect_one_wrong_length(weft_comm *comm, size_t elements, size_t room, int from, int to) {
    int rank = weft_rank(comm), wrong = 0;
    size_t size = size_t(weft_size(comm)), most = std::max(elements, room);
    std::vector<size_t> sent(size, elements), expected(size, elements);
    std::vector<ptrdiff_t> send_displs(size, 0), recv_displs(size, 0);
    for (size_t r = 0; r < size; r++)
        recv_displs[r] = ptrdiff_t(r * most);
    std::vector<int> values(elements, rank), got(size * most, -1);
    if (rank == to)
        expected[size_t(from)] = room;
    int code = weft_alltoallv(values.data(), sent.data(), send_displs.data(), WEFT_INT, got.data(), expected.data(),
                              recv_displs.data(), WEFT_INT, comm);
    bool together = node_of(comm, from) != node_of(comm, to) && node_of(comm, rank) == node_of(comm, to);
    if (rank == to || (together && code)) {
        EXPECT_TRUE(code == WEFT_ERR_MISMATCH || code == WEFT_ERR_TRUNCATE) << weft_strerror(code);
    } else {
        EXPECT_OK(code);
        for (size_t r = 0; r < size; r++) {
            auto block = got.begin() + recv_displs[r];
            EXPECT_EQ(std::count(block, block + ptrdiff_t(elements), int(r)), ptrdiff_t(elements));
        }
    }
    int one = code != WEFT_SUCCESS;
    EXPECT_OK(weft_allreduce(&one, &wrong, 1, WEFT_INT, WEFT_SUM, comm));
    EXPECT_GE(wrong, 1);
}

TEST_F(MisuseJob, OtherLengthsBetweenThreads) {
    job::on_team([](weft_comm *comm) {
        int last = weft_size(comm) - 1;
        if (last == 0)
            return;
        for (size_t elements : {size_t(8), size_t(1100), size_t(5000), size_t(40000)}) // 1100: around what goes at once
            for (size_t room : {elements / 20, elements + 4}) {
                expect_one_wrong_length(comm, elements, room, 1, 0);
                expect_one_wrong_length(comm, elements, room, 0, last);
                expect_one_wrong_length(comm, elements, room, last, 0);
            }
    });
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

// The root of a gather with lengths of its own, and a rank of its process.
TEST_F(MisuseJob, AnotherLengthThanTheRootExpects) {
    job::on_team([](weft_comm *comm) {
        size_t size = size_t(weft_size(comm));
        if (weft_node_threads(comm, 0) < 2)
            return;
        std::vector<size_t> counts(size, 2);
        std::vector<ptrdiff_t> displs(size, 0);
        std::vector<int> all(2 * size, -1);
        int values[2] = {weft_rank(comm), weft_rank(comm)}, wrong = 0;
        for (size_t r = 0; r < size; r++)
            displs[r] = ptrdiff_t(2 * r);
        counts[1] = 1;
        int one = WEFT_SUCCESS !=
                  weft_gatherv(values, 2, WEFT_INT, all.data(), counts.data(), displs.data(), WEFT_INT, 0, comm);
        EXPECT_OK(weft_allreduce(&one, &wrong, 1, WEFT_INT, WEFT_SUM, comm));
        EXPECT_GE(wrong, 1);
        for (size_t r = 2; weft_rank(comm) == 0 && !one && r < size; r++)
            EXPECT_EQ(all[2 * r] + all[2 * r + 1], int(2 * r));
    });
}

} // namespace
