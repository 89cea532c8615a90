// SPDX-License-Identifier: BSD-3-Clause
// A thread that finds itself in another call than others leaves, and does with its memory what it likes, whoever comes into the call later.
#include "effort.h"
#include "hier/misuse.h"

namespace {

void leave_and_come(int round, const std::function<int(weft_comm *, int *, int *)> &call) {
    misuse::in_team(3, [&](weft_comm *comm, int thread) {
        constexpr size_t most = 3000;
        std::vector<int> send(most, thread), recv(most, thread);
        threads::Random own(uint64_t(round * 3 + thread));
        if (thread == 2)
            for (uint64_t yields = own.below(40); yields > 0; yields--)
                std::this_thread::yield();
        const int code = thread == 1 ? weft_barrier(comm) : call(comm, send.data(), recv.data());
        EXPECT_TRUE(code == WEFT_ERR_MISMATCH || code == WEFT_SUCCESS) << weft_last_error(); // who has all needs nobody
        std::fill(send.begin(), send.end(), -1);
        std::fill(recv.begin(), recv.end(), -1);
        EXPECT_EQ(WEFT_ERR_MISMATCH, weft_barrier(comm)) << weft_last_error();
    });
}

class Leaving : public ::testing::Test {
  protected:
    void SetUp() override {
        EXPECT_OK(weft_init(nullptr));
    }
    void TearDown() override {
        EXPECT_OK(weft_finalize());
    }
};

} // namespace

TEST_F(Leaving, AnAllreduceInSlices) {
    for (int round = 0; round < 50; round++)
        leave_and_come(round, [](weft_comm *comm, int *send, int *recv) {
            return weft_allreduce(send, recv, 3000, WEFT_INT, WEFT_SUM, comm);
        });
}

TEST_F(Leaving, AnAlltoall) {
    for (int round = 0; round < 50; round++)
        leave_and_come(round, [](weft_comm *comm, int *send, int *recv) {
            return weft_alltoall(send, 1000, WEFT_INT, recv, 1000, WEFT_INT, comm);
        });
}

TEST_F(Leaving, ABcast) {
    for (int round = 0; round < 50; round++)
        leave_and_come(round,
                       [](weft_comm *comm, int *, int *recv) { return weft_bcast(recv, 3000, WEFT_INT, 0, comm); });
}
