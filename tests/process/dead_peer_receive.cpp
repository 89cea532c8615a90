// SPDX-License-Identifier: BSD-3-Clause
// Receives, probes and requests of them.
#include "dead_peer.h"

#include <thread>

using namespace dead;

namespace {

TEST(DeadPeer, Receive) {
    weft_comm *comm = weft_process_comm();
    greet(comm);
    if (is_victim())
        die();
    int value = 0;
    weft_status status;
    EXPECT_DEAD(weft_recv(&value, 1, WEFT_INT, victim, 7, comm, &status));
    EXPECT_EQ(status.error, WEFT_ERR_PROC_FAILED);
    EXPECT_DEAD(weft_recv(&value, 1, WEFT_INT, victim, WEFT_ANY_TAG, comm, nullptr)); // it is dead already
    live_on(comm);
}

// Nothing was ever sent between the two.
TEST(DeadPeer, ReceiveFromAStranger) {
    if (is_victim())
        die();
    int value = 0;
    EXPECT_DEAD(weft_recv(&value, 1, WEFT_INT, victim, 7, weft_process_comm(), nullptr));
}

// Only the dead one has sent, and the connection is its own.
TEST(DeadPeer, ReceiveFromWhoHasSent) {
    weft_comm *comm = weft_process_comm();
    int value = 5;
    if (is_victim()) {
        for (int peer : living(comm))
            EXPECT_EQ(WEFT_SUCCESS, weft_ssend(&value, 1, WEFT_INT, peer, 1, comm)) << weft_last_error();
        die();
    }
    EXPECT_EQ(WEFT_SUCCESS, weft_recv(&value, 1, WEFT_INT, victim, 1, comm, nullptr)) << weft_last_error();
    EXPECT_DEAD(weft_recv(&value, 1, WEFT_INT, victim, 7, comm, nullptr));
}

// Nobody can say that it would not have been the dead one's; but on a communicator that it is not in.
TEST(DeadPeer, ReceiveFromAnySource) {
    weft_comm *comm = weft_process_comm(), *others = nullptr;
    ASSERT_EQ(WEFT_SUCCESS, weft_comm_split(comm, is_victim(), 0, &others)) << weft_last_error();
    greet(comm);
    if (is_victim())
        die();
    int value = 0;
    EXPECT_DEAD(weft_recv(&value, 1, WEFT_INT, WEFT_ANY_SOURCE, 7, comm, nullptr));
    int next = (weft_rank(others) + 1) % weft_size(others);
    weft_request *request = nullptr;
    EXPECT_EQ(WEFT_SUCCESS, weft_isend(&value, 1, WEFT_INT, next, 7, others, &request)) << weft_last_error();
    EXPECT_EQ(WEFT_SUCCESS, weft_recv(&value, 1, WEFT_INT, WEFT_ANY_SOURCE, 7, others, nullptr)) << weft_last_error();
    EXPECT_EQ(WEFT_SUCCESS, weft_wait(&request, nullptr)) << weft_last_error();
    live_on(comm);
    EXPECT_EQ(WEFT_SUCCESS, weft_comm_free(&others)) << weft_last_error();
}

TEST(DeadPeer, Requests) {
    weft_comm *comm = weft_process_comm();
    greet(comm);
    if (is_victim())
        die();
    constexpr int count = 6;
    int values[count];
    size_t index = 99, done_count = 0, indices[count], failed = 0;
    weft_request *requests[count];
    weft_status statuses[count];
    for (int i = 0; i < count; i++)
        ASSERT_EQ(WEFT_SUCCESS, weft_irecv(&values[i], 1, WEFT_INT, victim, i, comm, &requests[i]));
    EXPECT_DEAD(weft_waitany(count, requests, &index, &statuses[0]));
    EXPECT_LT(index, size_t(count));
    EXPECT_EQ(statuses[0].error, WEFT_ERR_PROC_FAILED);
    EXPECT_DEAD(weft_waitsome(count, requests, &done_count, indices, statuses));
    EXPECT_EQ(done_count, size_t(count - 1));
    for (size_t i = 0; i < done_count; i++)
        failed += statuses[i].error == WEFT_ERR_PROC_FAILED;
    EXPECT_EQ(failed, done_count);
    weft_request *request = nullptr;
    int done = 0, code = WEFT_SUCCESS;
    EXPECT_EQ(WEFT_SUCCESS, weft_irecv(values, 1, WEFT_INT, victim, 0, comm, &request));
    while (!done && !code)
        code = weft_test(&request, &done, &statuses[0]);
    EXPECT_DEAD(code);
    live_on(comm);
}

// The list is waited for before the death is known.
TEST(DeadPeer, WaitAny) {
    weft_comm *comm = weft_process_comm();
    greet(comm);
    if (is_victim())
        die();
    int values[2];
    size_t index = 99;
    weft_request *requests[2];
    for (int i = 0; i < 2; i++)
        ASSERT_EQ(WEFT_SUCCESS,
                  weft_irecv(&values[i], 1, WEFT_INT, i ? victim : WEFT_ANY_SOURCE, i, comm, &requests[i]));
    EXPECT_DEAD(weft_waitany(2, requests, &index, WEFT_STATUS_IGNORE));
    EXPECT_DEAD(weft_waitall(2, requests, WEFT_STATUSES_IGNORE));
}

TEST(DeadPeer, Probe) {
    weft_comm *comm = weft_process_comm();
    greet(comm);
    if (is_victim())
        die();
    weft_status status;
    EXPECT_DEAD(weft_probe(victim, 3, comm, &status));
    live_on(comm);
}

// What came before the death can still be received.
TEST(DeadPeer, ItsLastWords) {
    weft_comm *comm = weft_process_comm();
    int value = 42;
    greet(comm);
    if (is_victim()) {
        for (int peer : living(comm))
            EXPECT_EQ(WEFT_SUCCESS, weft_send(&value, 1, WEFT_INT, peer, 5, comm));
        die();
    }
    EXPECT_DEAD(weft_recv(&value, 1, WEFT_INT, victim, 7, comm, nullptr));
    value = 0;
    EXPECT_EQ(WEFT_SUCCESS, weft_recv(&value, 1, WEFT_INT, victim, 5, comm, nullptr)) << weft_last_error();
    EXPECT_EQ(value, 42);
}

// Threads that wait for threads: who may drive the network sees it for all.
void in_threads(bool leader_waits) {
    constexpr int threads = 2;
    weft_comm *process = weft_process_comm();
    weft_team *team = nullptr;
    greet(process);
    ASSERT_EQ(WEFT_SUCCESS, weft_team_create(process, threads, &team)) << weft_last_error();
    std::vector<std::thread> all;
    auto run = [&](int thread) {
        weft_comm *comm = nullptr;
        ASSERT_EQ(WEFT_SUCCESS, weft_team_enter(team, thread, &comm)) << weft_last_error();
        int value = thread, beside = weft_rank(comm) + 1 - 2 * thread;
        EXPECT_EQ(WEFT_SUCCESS, weft_barrier(comm)) << weft_last_error();
        show("through." + std::to_string(weft_rank(comm)));
        if (is_victim()) {
            for (int rank = 0; rank < weft_size(comm); rank++)
                await_shown("through." + std::to_string(rank));
            die();
        }
        if (thread > 0 || leader_waits) {
            EXPECT_DEAD(weft_recv(&value, 1, WEFT_INT, victim * threads + thread, 7, comm, nullptr));
        }
        // The process itself lives.
        EXPECT_EQ(WEFT_SUCCESS,
                  weft_sendrecv(&thread, 1, WEFT_INT, beside, 9, &value, 1, WEFT_INT, beside, 9, comm, nullptr))
            << weft_last_error();
        EXPECT_EQ(value, 1 - thread);
        EXPECT_EQ(WEFT_SUCCESS, weft_team_leave(&comm)) << weft_last_error();
    };
    all.emplace_back(run, 1);
    run(0);
    for (std::thread &thread : all)
        thread.join();
    EXPECT_EQ(WEFT_SUCCESS, weft_team_free(&team)) << weft_last_error();
}

TEST(DeadPeerOfTeams, Receive) {
    in_threads(true);
}

TEST(DeadPeerOfTeams, ReceiveOfAWorker) {
    in_threads(false);
}

} // namespace
