// SPDX-License-Identifier: BSD-3-Clause
// Lines: tiny messages between processes of a host. The processes are played by this one, which maps its own segments again.
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <thread>
#include <vector>
extern "C" {
#include <inter/lines.h>
#include <inter/transport_sim.h>
#include <weft/error.h>
}

namespace {

const uint64_t tag_of_test = 7u << 20;

// `local` processes of one host and one more elsewhere, which only the inner transport reaches.
class Lines : public ::testing::Test {
  protected:
    static const int local = 3, all = local + 1;
    void SetUp() override {
        ASSERT_EQ(inter_sim_create(all, 0, &sim), WEFT_SUCCESS);
        for (int rank = 0; rank < local; rank++)
            ASSERT_NE(lines[rank] = inter_lines_create(rank, all, &cards[rank]), nullptr);
        for (int rank = 0; rank < local; rank++)
            for (int peer = 0; peer < local; peer++)
                if (peer != rank) {
                    ASSERT_EQ(inter_lines_map(lines[rank], peer, &cards[peer]), WEFT_SUCCESS) << weft_last_error();
                }
        for (int rank = 0; rank < local; rank++)
            transport[rank] = inter_lines_transport(lines[rank], inter_sim_transport(sim, rank));
        transport[local] = inter_sim_transport(sim, local);
    }
    void TearDown() override {
        for (inter_lines *of : lines)
            inter_lines_free(of);
        inter_sim_destroy(sim);
    }
    int send(int from, int to, uint64_t tag, const std::string &text, inter_request *request) {
        return transport[from]->send(transport[from], to, tag, text.data(), text.size(), request);
    }
    void progress_all() {
        for (inter_transport *of : transport)
            of->progress(of);
    }
    inter_sim *sim = nullptr;
    inter_lines *lines[local] = {};
    inter_lines_card cards[local] = {};
    inter_transport *transport[all] = {};
};

// A receive with its memory.
struct Receive {
    Receive(inter_transport *at, int from, uint64_t tag, size_t bytes) : text(bytes, '.') {
        request.completion = &completion;
        code = at->recv(at, from, tag, &text[0], bytes, &request);
    }
    inter_completion completion{};
    inter_request request{};
    std::string text;
    int code;
};

struct Send {
    Send() {
        request.completion = &completion;
    }
    inter_completion completion{};
    inter_request request{};
};

} // namespace

TEST_F(Lines, EveryLengthArrives) {
    for (size_t bytes = 0; bytes <= INTER_LINE_BYTES; bytes++) {
        std::string text(bytes, char('a' + bytes % 26));
        Send sent;
        Receive got(transport[1], 0, tag_of_test, bytes);
        ASSERT_EQ(send(0, 1, tag_of_test, text, &sent.request), WEFT_SUCCESS);
        EXPECT_EQ(sent.completion.pending, 0u) << "a line is written at once";
        while (got.completion.pending)
            progress_all();
        EXPECT_EQ(got.text, text);
        EXPECT_EQ(got.completion.error, WEFT_SUCCESS);
    }
}

// Messages before their receives, with tags in another order, from two senders.
TEST_F(Lines, EarlyMessagesWaitForTheirReceive) {
    Send sent[6];
    for (int i = 0; i < 6; i++)
        ASSERT_EQ(send(i % 2, 2, tag_of_test + uint64_t(i / 2), std::to_string(i), &sent[i].request), WEFT_SUCCESS);
    for (int i = 5; i >= 0; i--) {
        Receive got(transport[2], i % 2, tag_of_test + uint64_t(i / 2), 1);
        while (got.completion.pending)
            progress_all();
        EXPECT_EQ(got.text, std::to_string(i));
    }
}

// More messages than a lane has lines: they wait, arrive in order, and their buffers are the senders' again at once.
TEST_F(Lines, AFullLaneHoldsBack) {
    const int count = 50;
    std::vector<Send> sent(count);
    for (int i = 0; i < count; i++)
        ASSERT_EQ(send(0, 1, tag_of_test, std::to_string(100 + i), &sent[size_t(i)].request), WEFT_SUCCESS);
    EXPECT_EQ(sent[0].completion.pending, 0u);
    EXPECT_EQ(sent[size_t(count) - 1].completion.pending, 1u);
    for (int i = 0; i < count; i++) {
        Receive got(transport[1], 0, tag_of_test, 3);
        while (got.completion.pending)
            progress_all();
        EXPECT_EQ(got.text, std::to_string(100 + i));
    }
    progress_all();
    for (const Send &one : sent)
        EXPECT_EQ(one.completion.pending, 0u);
}

TEST_F(Lines, WrongLengthsAreErrors) {
    for (size_t expected : {2, 6}) {
        Send sent;
        Receive posted(transport[1], 0, tag_of_test, expected);
        send(0, 1, tag_of_test, "abcd", &sent.request);
        while (posted.completion.pending)
            progress_all();
        EXPECT_EQ(posted.completion.error, expected < 4 ? WEFT_ERR_TRUNCATE : WEFT_ERR_MISMATCH);
        EXPECT_EQ(posted.text, expected < 4 ? "ab" : "abcd..");
    }
}

TEST_F(Lines, OtherHostsAreReachedThroughTheInnerTransport) {
    const std::string out = "thank", back = "yours"; /* a rendezvous reads them later */
    Send sent[2];
    Receive there(transport[3], 0, tag_of_test, 5), here(transport[0], 3, tag_of_test, 5);
    ASSERT_EQ(send(0, 3, tag_of_test, out, &sent[0].request), WEFT_SUCCESS);
    ASSERT_EQ(send(3, 0, tag_of_test, back, &sent[1].request), WEFT_SUCCESS);
    for (int i = 0; i < 1000 && (there.completion.pending || here.completion.pending); i++)
        progress_all();
    EXPECT_EQ(there.text, "thank");
    EXPECT_EQ(here.text, "yours");
}

TEST_F(Lines, ReceivesAndWaitingSendsCanBeTakenBack) {
    Receive never(transport[1], 0, tag_of_test, 4);
    transport[1]->cancel(transport[1], &never.request);
    EXPECT_EQ(never.completion.pending, 0u);
    EXPECT_EQ(never.completion.error, WEFT_ERR_PROC_FAILED);
    std::vector<Send> sent(20);
    for (Send &one : sent)
        send(0, 1, tag_of_test, "x", &one.request);
    transport[0]->cancel(transport[0], &sent.back().request);
    EXPECT_EQ(sent.back().completion.pending, 0u);
    for (size_t i = 0; i + 1 < sent.size(); i++) {
        Receive got(transport[1], 0, tag_of_test, 1);
        while (got.completion.pending)
            progress_all();
    }
    Receive after(transport[1], 0, tag_of_test, 1);
    progress_all();
    EXPECT_EQ(after.completion.pending, 1u) << "what was taken back does not arrive";
    transport[1]->cancel(transport[1], &after.request);
}

TEST_F(Lines, NobodySleepsWhileALineIsAwaited) {
    Receive got(transport[1], 0, tag_of_test, 1);
    EXPECT_EQ(transport[1]->arm(transport[1]), -1);
    transport[1]->cancel(transport[1], &got.request);
}

TEST(LinesCard, SegmentsThatAreNotTheRightOnesAreRefused) {
    inter_lines_card mine, other, smaller;
    inter_lines *lines = inter_lines_create(0, 2, &mine), *wrong = inter_lines_create(1, 2, &other),
                *small = inter_lines_create(1, 1, &smaller);
    inter_lines_card forged = other;
    forged.cookie++;
    EXPECT_EQ(inter_lines_map(lines, 1, &forged), WEFT_ERR_TRANSPORT);
    EXPECT_EQ(inter_lines_map(lines, 1, &smaller), WEFT_ERR_TRANSPORT) << "another size";
    forged = {other.pid, -1, other.cookie};
    EXPECT_EQ(inter_lines_map(lines, 1, &forged), WEFT_ERR_TRANSPORT);
    forged = {1 << 30, 3, other.cookie};
    EXPECT_EQ(inter_lines_map(lines, 1, &forged), WEFT_ERR_TRANSPORT);
    EXPECT_NE(std::string(weft_last_error()).find("rank 0"), std::string::npos);
    inter_lines_free(lines);
    inter_lines_free(wrong);
    inter_lines_free(small);
    inter_lines_free(nullptr);
}

// Two threads stand for two processes and exchange numbers, with delays, both ahead of each other by turns.
TEST_F(Lines, TwoSidesExchangeManyMessages) {
    auto side = [&](int self) {
        std::mt19937 random{unsigned(self)};
        inter_transport *at = transport[self];
        for (uint64_t i = 0; i < 20000; i++) {
            uint64_t out = i * 2 + uint64_t(self), in = 0;
            inter_completion completion{};
            inter_request requests[2] = {};
            requests[0].completion = requests[1].completion = &completion;
            at->recv(at, 1 - self, tag_of_test + i % 3, &in, sizeof(in), &requests[0]);
            at->send(at, 1 - self, tag_of_test + i % 3, &out, sizeof(out), &requests[1]);
            while (completion.pending)
                if (!at->progress(at))
                    std::this_thread::yield();
            ASSERT_EQ(in, i * 2 + uint64_t(1 - self));
            if (random() % 64 == 0)
                std::this_thread::yield();
        }
    };
    std::thread other(side, 1);
    side(0);
    other.join();
}
