// SPDX-License-Identifier: BSD-3-Clause
// Sends, messages that are on their way, and collectives.
#include "dead_peer.h"

#include <vector>

using namespace dead;

namespace {

constexpr size_t long_bytes = size_t(64) << 20; // far more than the connection holds

// A send that nobody will ever receive.
TEST(DeadPeer, Synchronous) {
    weft_comm *comm = weft_process_comm();
    greet(comm);
    if (is_victim())
        die();
    int value = 3;
    EXPECT_DEAD(weft_ssend(&value, 1, WEFT_INT, victim, 7, comm));
    EXPECT_DEAD(weft_ssend(&value, 1, WEFT_INT, victim, 8, comm)); // it is dead already
    // Of a send and a receive it is the send that fails: the status says so.
    const std::vector<unsigned char> bytes(1 << 20);
    weft_request *both = nullptr;
    weft_status status{};
    EXPECT_EQ(WEFT_SUCCESS, weft_isendrecv(bytes.data(), bytes.size(), WEFT_BYTE, victim, 9, &value, 1, WEFT_INT,
                                           WEFT_PROC_NULL, 9, comm, &both));
    EXPECT_DEAD(weft_wait(&both, &status));
    EXPECT_DEAD(status.error);
    EXPECT_EQ(status.source, WEFT_PROC_NULL);
    live_on(comm);
}

// Short sends are over when they are copied: one of many fails at last, and none waits.
TEST(DeadPeer, ShortSends) {
    weft_comm *comm = weft_process_comm();
    greet(comm);
    if (is_victim())
        die(0);
    int value = 3, code = WEFT_SUCCESS;
    for (int i = 0; i < 10000 && !code; i++) {
        code = weft_send(&value, 1, WEFT_INT, victim, 7, comm);
        sleep_ms(1);
    }
    EXPECT_DEAD(code);
    live_on(comm);
}

// Process 1 sends, and dies when the first bytes have come.
TEST(DeadPeer, InAFetchAsSender) {
    weft_comm *comm = weft_process_comm();
    std::vector<unsigned char> bytes(long_bytes, is_victim() ? 1 : 0);
    greet(comm);
    int done = 0, rank = weft_rank(comm);
    weft_request *request = nullptr;
    weft_status status;
    if (is_victim()) {
        EXPECT_EQ(WEFT_SUCCESS, weft_isend(bytes.data(), long_bytes, WEFT_BYTE, 0, 7, comm, &request));
        while (!is_shown("begun"))
            EXPECT_EQ(WEFT_SUCCESS, weft_test(&request, &done, nullptr));
        show("dying");
        die(0);
    }
    if (rank > 0)
        return;
    EXPECT_EQ(WEFT_SUCCESS, weft_irecv(bytes.data(), long_bytes, WEFT_BYTE, victim, 7, comm, &request));
    while (!*static_cast<volatile unsigned char *>(bytes.data()))
        EXPECT_EQ(WEFT_SUCCESS, weft_test(&request, &done, nullptr)) << weft_last_error();
    show("begun");
    await_shown("dying"); // lest the rest comes before
    await_death(100);
    EXPECT_DEAD(weft_wait(&request, &status));
    EXPECT_EQ(status.error, WEFT_ERR_PROC_FAILED);
}

// Process 1 receives, and dies when the first bytes have come.
TEST(DeadPeer, InAFetchAsReceiver) {
    weft_comm *comm = weft_process_comm();
    std::vector<unsigned char> bytes(long_bytes, is_victim() ? 0 : 1);
    greet(comm);
    int done = 0, rank = weft_rank(comm);
    weft_request *request = nullptr;
    if (is_victim()) {
        EXPECT_EQ(WEFT_SUCCESS, weft_irecv(bytes.data(), long_bytes, WEFT_BYTE, 0, 7, comm, &request));
        while (!*static_cast<volatile unsigned char *>(bytes.data()))
            EXPECT_EQ(WEFT_SUCCESS, weft_test(&request, &done, nullptr));
        show("dying");
        await_shown("seen"); // who is in weft_test still may find it dead
        die(0);
    }
    if (rank > 0)
        return;
    EXPECT_EQ(WEFT_SUCCESS, weft_isend(bytes.data(), long_bytes, WEFT_BYTE, victim, 7, comm, &request));
    while (!is_shown("dying")) // lest the rest goes before
        EXPECT_EQ(WEFT_SUCCESS, weft_test(&request, &done, nullptr));
    show("seen");
    await_death(100);
    EXPECT_DEAD(weft_wait(&request, nullptr));
}

// Offered before, fetched when the sender is no longer there.
TEST(DeadPeer, FetchFromTheDead) {
    weft_comm *comm = weft_process_comm();
    std::vector<unsigned char> bytes(1 << 20);
    greet(comm);
    weft_request *request = nullptr;
    if (is_victim()) {
        EXPECT_EQ(WEFT_SUCCESS, weft_isend(bytes.data(), bytes.size(), WEFT_BYTE, 0, 7, comm, &request));
        while (!is_shown("offered")) {
            int done = 0;
            EXPECT_EQ(WEFT_SUCCESS, weft_test(&request, &done, nullptr));
        }
        die(0);
    }
    if (weft_rank(comm) > 0)
        return;
    EXPECT_EQ(WEFT_SUCCESS, weft_probe(victim, 7, comm, nullptr)) << weft_last_error();
    show("offered");
    await_death(5000);
    EXPECT_DEAD(weft_recv(bytes.data(), bytes.size(), WEFT_BYTE, victim, 7, comm, nullptr));
}

TEST(DeadPeer, Collectives) {
    weft_comm *comm = weft_process_comm();
    greet(comm);
    if (is_victim())
        die();
    std::vector<unsigned char> bytes(1 << 20);
    weft_request *request = nullptr;
    EXPECT_DEAD(weft_barrier(comm));
    EXPECT_EQ(WEFT_SUCCESS,
              weft_iallreduce(WEFT_IN_PLACE, bytes.data(), bytes.size(), WEFT_UINT8_T, WEFT_BOR, comm, &request));
    EXPECT_DEAD(weft_wait(&request, nullptr));
}

// The root sends its long buffer to all at once (nbFT). Process 2 learns of the death first, and receives it no more: its root does
// not wait for that.
TEST(DeadPeer, WhatNobodyReceives) {
    weft_comm *comm = weft_process_comm();
    std::vector<unsigned char> bytes(1 << 20);
    int value = weft_rank(comm);
    greet(comm);
    if (is_victim())
        die();
    if (value == 2) {
        EXPECT_DEAD(weft_recv(&value, 1, WEFT_INT, victim, 7, comm, nullptr));
    }
    EXPECT_DEAD(weft_bcast(bytes.data(), bytes.size(), WEFT_BYTE, 0, comm));
    live_on(comm);
}

// Along a chain (CHAIN): each but the first waits for the one before, which has given up and is not in weft until the last has, too.
TEST(DeadPeer, BehindWhoHasGivenUp) {
    weft_comm *comm = weft_process_comm();
    std::vector<unsigned char> bytes(100);
    if (is_victim())
        die();
    int code = weft_bcast(bytes.data(), bytes.size(), WEFT_BYTE, 0, comm);
    if (weft_rank(comm) == 0)
        return; // it has sent
    EXPECT_DEAD(code);
    if (weft_rank(comm) == weft_size(comm) - 1)
        show("told");
    await_shown("told");
    EXPECT_TRUE(is_shown("told"));
}

// The victim's host has gone, too: who connects to it gets no answer, and is told by who knew the victim.
TEST(DeadPeer, OnAHostThatIsGone) {
    weft_comm *comm = weft_process_comm();
    int value = weft_rank(comm), rank = value;
    for (int one : {1, 2})
        if (rank == 0 || rank == one) {
            int peer = one - rank; // 0, or who it is
            EXPECT_EQ(WEFT_SUCCESS,
                      weft_sendrecv(&rank, 1, WEFT_INT, peer, 1, &value, 1, WEFT_INT, peer, 1, comm, nullptr))
                << weft_last_error();
        }
    if (is_victim())
        die();
    await_shown("cut");
    if (rank == 2) {
        EXPECT_DEAD(weft_ssend(&value, 1, WEFT_INT, victim, 7, comm));
    } else {
        sleep_ms(500); // the other is in connect()
        EXPECT_DEAD(weft_recv(&value, 1, WEFT_INT, victim, 7, comm, nullptr));
    }
}

} // namespace
