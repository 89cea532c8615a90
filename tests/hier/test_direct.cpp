// SPDX-License-Identifier: BSD-3-Clause
// What is read straight from other processes' buffers: when that fails, who gets it says so, and nobody else is hurt; and data
// may be changed as soon as the call is over, however late some ranks read.
#include "sim_worlds.h"
#include <gtest/gtest.h>
extern "C" {
#include <hier/world.h>
#include <weft/weft.h>
}

namespace {

using Words = std::vector<uint64_t>;
constexpr size_t count = 3000; // words a block: long enough for the rules, too

uint64_t word(int from, int to, size_t index) {
    return uint64_t(from) << 40 | uint64_t(to) << 20 | index;
}

int (*real_read)(const inter_transport *, int, inter_run *, size_t, void *);

// Process 1 may not read what is in process 0.
int read_but_one(const inter_transport *self, int peer, inter_run *from, size_t runs, void *to) {
    return self->rank == 1 && peer == 0 ? WEFT_ERR_TRANSPORT : real_read(self, peer, from, runs, to);
}

int read_late(const inter_transport *self, int peer, inter_run *from, size_t runs, void *to) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return real_read(self, peer, from, runs, to);
}

int alltoall(weft_comm *comm) {
    int self = weft_rank(comm), ranks = weft_size(comm);
    Words send(count * size_t(ranks)), recv(send.size());
    for (int to = 0; to < ranks; to++)
        for (size_t i = 0; i < count; i++)
            send[size_t(to) * count + i] = word(self, to, i);
    int code = weft_alltoall(send.data(), count, WEFT_UINT64_T, recv.data(), count, WEFT_UINT64_T, comm);
    std::fill(send.begin(), send.end(), 0);
    for (int from = 0; from < ranks && !code; from++)
        for (size_t i = 0; i < count; i++)
            EXPECT_EQ(recv[size_t(from) * count + i], word(from, self, i)) << "rank " << self << " from " << from;
    return code;
}

int scatter(weft_comm *comm, int root) {
    int self = weft_rank(comm), ranks = weft_size(comm);
    Words send(self == root ? count * size_t(ranks) : 0), recv(count);
    for (size_t i = 0; i < send.size(); i++)
        send[i] = word(root, int(i / count), i % count);
    int code = weft_scatter(send.data(), count, WEFT_UINT64_T, recv.data(), count, WEFT_UINT64_T, root, comm);
    std::fill(send.begin(), send.end(), 0);
    for (size_t i = 0; i < count && !code; i++)
        EXPECT_EQ(recv[i], word(root, self, i)) << "rank " << self;
    return code;
}

// Three processes of 2, 3 and 1 threads, whose reads go by `read`.
void run(int (*read)(const inter_transport *, int, inter_run *, size_t, void *), weft_thread_level level,
         const std::function<void(weft_comm *)> &body) {
    JobShape shape{{2, 3, 1}, level};
    shape.algorithm = "alltoall=/direct,scatter=/direct";
    SimWorlds worlds(shape);
    worlds.run_processes([&](int rank, hier_world *world) {
        static std::once_flag once;
        std::call_once(once, [&] { real_read = world->transport->read; });
        world->transport->read = read;
        weft_team *team = nullptr;
        ASSERT_EQ(weft_team_create(world->process_comm, shape.threads[size_t(rank)], &team), WEFT_SUCCESS);
        worlds.run_team(team, body);
        EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS);
    });
}

class Direct : public ::testing::TestWithParam<weft_thread_level> {};

} // namespace

TEST_P(Direct, WhoCannotReadSaysSo) {
    threads::Watchdog watchdog(280);
    run(read_but_one, GetParam(), [](weft_comm *comm) {
        bool hit = weft_node(comm) == 1;
        for (int round = 0; round < 3; round++) {
            EXPECT_EQ(alltoall(comm), hit ? WEFT_ERR_TRANSPORT : WEFT_SUCCESS);
            std::string sentence = "rank " + std::to_string(weft_rank(comm)) +
                                   ": weft_alltoall: the data in the memory of process 0 cannot be read: " +
                                   weft_strerror(WEFT_ERR_TRANSPORT);
            EXPECT_TRUE(!hit || weft_last_error() == sentence) << weft_last_error();
            EXPECT_EQ(scatter(comm, 1), hit ? WEFT_ERR_TRANSPORT : WEFT_SUCCESS);
            EXPECT_EQ(scatter(comm, 5), WEFT_SUCCESS);
        }
        EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS);
    });
}

TEST_P(Direct, DataStayUntilAllHaveReadThem) {
    threads::Watchdog watchdog(280);
    run(read_late, GetParam(), [](weft_comm *comm) {
        for (int round = 0; round < 5; round++) {
            EXPECT_EQ(alltoall(comm), WEFT_SUCCESS);
            EXPECT_EQ(scatter(comm, round), WEFT_SUCCESS);
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Levels, Direct,
                         ::testing::Values(WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED, WEFT_THREAD_MULTIPLE),
                         [](const auto &level) { return level_name(level.param); });
