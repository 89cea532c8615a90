// SPDX-License-Identifier: BSD-3-Clause
// The sim transport keeps the transport's contract: exact matching, order, rendezvous, lengths, cancelling.
#include <cstring>
#include <gtest/gtest.h>
#include <vector>
extern "C" {
#include <inter/transport_sim.h>
#include <weft/error.h>
}

namespace {

class TransportSim : public ::testing::Test {
  protected:
    void open(int size, uint64_t seed) {
        ASSERT_EQ(inter_sim_create(size, seed, &sim), WEFT_SUCCESS);
    }
    void TearDown() override {
        if (sim)
            inter_sim_destroy(sim);
    }
    void send(int from, int to, uint64_t tag, const void *buffer, size_t bytes, inter_request *request) {
        inter_transport *transport = inter_sim_transport(sim, from);
        EXPECT_EQ(transport->send(transport, to, tag, buffer, bytes, request), WEFT_SUCCESS);
    }
    void recv(int at, int from, uint64_t tag, void *buffer, size_t bytes, inter_request *request) {
        inter_transport *transport = inter_sim_transport(sim, at);
        EXPECT_EQ(transport->recv(transport, from, tag, buffer, bytes, request), WEFT_SUCCESS);
    }
    unsigned progress(int rank) {
        inter_transport *transport = inter_sim_transport(sim, rank);
        return transport->progress(transport);
    }
    void cancel(int rank, inter_request *request) {
        inter_transport *transport = inter_sim_transport(sim, rank);
        transport->cancel(transport, request);
    }
    inter_sim *sim = nullptr;
};

struct Pending {
    inter_completion completion{};
    inter_request request{};
    Pending() {
        request.completion = &completion;
    }
};

} // namespace

TEST_F(TransportSim, AMessageIsARendezvous) {
    open(2, 0);
    Pending out, in;
    int value = 42, got = 0;
    send(0, 1, 7, &value, sizeof(value), &out.request);
    progress(0), progress(1), progress(0);
    EXPECT_EQ(out.completion.pending, 1u) << "nobody has received it";
    EXPECT_EQ(inter_sim_count(sim).waiting_messages, 1u);
    recv(1, 0, 7, &got, sizeof(got), &in.request);
    EXPECT_EQ(in.completion.pending, 1u);
    EXPECT_EQ(progress(1), 1u);
    EXPECT_EQ(in.completion.pending, 0u);
    EXPECT_EQ(in.request.native, nullptr);
    EXPECT_EQ(got, 42);
    EXPECT_EQ(out.completion.pending, 1u) << "the sender learns of it when it looks";
    EXPECT_EQ(progress(0), 1u);
    EXPECT_EQ(out.completion.pending, 0u);
    inter_sim_counts counts = inter_sim_count(sim);
    EXPECT_EQ(counts.messages, 1u);
    EXPECT_EQ(counts.bytes, sizeof(value));
    EXPECT_EQ(counts.waiting_messages + counts.waiting_receives, 0u);
}

TEST_F(TransportSim, MatchesSourceAndTagExactly) {
    open(3, 0);
    Pending out[3], in;
    int values[] = {1, 2, 3}, got = 0;
    send(0, 2, 8, &values[0], sizeof(int), &out[0].request);
    send(1, 2, 7, &values[1], sizeof(int), &out[1].request);
    send(0, 1, 7, &values[2], sizeof(int), &out[2].request);
    recv(2, 0, 7, &got, sizeof(got), &in.request);
    EXPECT_EQ(progress(2), 0u);
    EXPECT_EQ(in.completion.pending, 1u);
    EXPECT_EQ(got, 0);
}

// Whatever is held back, messages of one source and tag come in order; of different tags they overtake each other.
TEST_F(TransportSim, KeepsTheOrderOfEqualTags) {
    constexpr int messages = 40;
    bool overtaken = false;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        open(2, seed);
        std::vector<Pending> out(2 * messages), in(2 * messages);
        std::vector<int> values(2 * messages), got(2 * messages, -1);
        for (int i = 0; i < 2 * messages; i++) {
            values[size_t(i)] = i / 2;
            send(0, 1, uint64_t(i % 2), &values[size_t(i)], sizeof(int), &out[size_t(i)].request);
            recv(1, 0, uint64_t(i % 2), &got[size_t(i)], sizeof(int), &in[size_t(i)].request);
        }
        for (int round = 0; round < 10000 && inter_sim_count(sim).waiting_messages; round++) {
            progress(1);
            size_t first = 0, second = 0;
            for (int i = 0; i < 2 * messages; i++)
                (i % 2 ? second : first) += in[size_t(i)].completion.pending;
            overtaken |= first != second;
        }
        EXPECT_EQ(got, values) << "seed " << seed;
        inter_sim_destroy(sim);
        sim = nullptr;
    }
    EXPECT_TRUE(overtaken);
}

TEST_F(TransportSim, TheWrongLengthIsAnErrorOfTheReceiver) {
    open(2, 0);
    Pending out[2], in[2];
    char text[] = "abcdefgh", got[9] = "........";
    send(0, 1, 1, text, 8, &out[0].request);
    recv(1, 0, 1, got, 4, &in[0].request);
    send(0, 1, 2, text, 3, &out[1].request);
    recv(1, 0, 2, got + 4, 4, &in[1].request);
    progress(1), progress(0);
    EXPECT_EQ(in[0].completion.error, WEFT_ERR_TRUNCATE);
    EXPECT_EQ(in[1].completion.error, WEFT_ERR_MISMATCH);
    EXPECT_STREQ(got, "abcdabc.") << "nothing is written behind the buffer";
    for (int i = 0; i < 2; i++) {
        EXPECT_EQ(in[i].completion.pending + out[i].completion.pending, 0u);
        EXPECT_EQ(out[i].completion.error, WEFT_SUCCESS);
    }
}

TEST_F(TransportSim, WhatIsCancelledCompletesWithAnErrorAndIsGone) {
    open(2, 0);
    Pending out, in, taken, last;
    int value = 1, got = 0;
    send(0, 1, 1, &value, sizeof(value), &out.request);
    recv(1, 0, 2, &got, sizeof(got), &in.request);
    cancel(0, &out.request);
    cancel(1, &in.request);
    for (Pending *request : {&out, &in}) {
        EXPECT_EQ(request->completion.pending, 0u);
        EXPECT_EQ(request->completion.error, WEFT_ERR_PROC_FAILED);
        EXPECT_EQ(request->request.native, nullptr);
    }
    EXPECT_EQ(inter_sim_count(sim).waiting_messages + inter_sim_count(sim).waiting_receives, 0u);
    // A message that was received already, but its sender has not looked.
    send(0, 1, 3, &value, sizeof(value), &taken.request);
    recv(1, 0, 3, &got, sizeof(got), &last.request);
    progress(1);
    cancel(0, &taken.request);
    EXPECT_EQ(taken.completion.pending, 0u);
    EXPECT_EQ(got, 1);
    EXPECT_EQ(inter_sim_count(sim).waiting_messages, 0u);
}

// Cancelling the last item must leave the lists fit for the next one.
TEST_F(TransportSim, GoesOnAfterCancelling) {
    open(2, 0);
    Pending first, second, third, in;
    int values[] = {1, 2, 3}, got = 0;
    send(0, 1, 1, &values[0], sizeof(int), &first.request);
    send(0, 1, 1, &values[1], sizeof(int), &second.request);
    cancel(0, &second.request);
    cancel(0, &first.request);
    send(0, 1, 1, &values[2], sizeof(int), &third.request);
    recv(1, 0, 1, &got, sizeof(got), &in.request);
    progress(1), progress(0);
    EXPECT_EQ(got, 3);
    EXPECT_EQ(third.completion.pending, 0u);
}
