// SPDX-License-Identifier: BSD-3-Clause
// Lines: messages between processes of a host. The processes are played by this one, which maps its own segments again and
// reads and writes its own memory as that of another process.
#include "active_messages.h"
#include "effort.h"
#include "forge_line.h"
#include "intra/threads.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>
extern "C" {
#include <core/wait.h>
#include <inter/lines.h>
#include <inter/pull.h>
#include <inter/transport_sim.h>
#include <inter/window.h>
#include <weft/datatype.h>
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
            transport[rank] = inter_lines_transport(lines[rank], inter_sim_transport(sim, rank), pulls, wakes);
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
    bool pulls = true, wakes = false;
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

// Where long messages may not be copied from memory to memory.
class LinesWithoutPulls : public Lines {
  protected:
    LinesWithoutPulls() {
        pulls = false;
    }
};

// Where processes sleep while they wait.
class LinesThatWake : public Lines {
  protected:
    LinesThatWake() {
        wakes = true;
    }
    static uint32_t *word_of(const inter_bed &bed) {
        return static_cast<uint32_t *>(bed.word);
    }
    static bool sleeps(const inter_bed &bed) {
        return atomic_load_explicit(word_of(bed), std::memory_order_relaxed) == bed.value;
    }
    // Waits as hier does, but sleeps until it is woken: a wake-up that is lost is a test that does not end.
    void wait(int self, const inter_completion &completion) {
        while (completion.pending) {
            inter_bed bed;
            if (transport[self]->progress(transport[self]) || !transport[self]->arm(transport[self], &bed))
                continue;
            ASSERT_NE(bed.word, nullptr);
            while (sleeps(bed))
                core_word_sleep(word_of(bed), bed.value, 900000000);
        }
    }
};

// Of each kind: in a line, through the ring, copied in one piece, by both, and in pieces.
const std::vector<size_t> lengths = {0,    1,     39,    40,    41,     64,      100,    4096,
                                     8191, 8192,  8193,  32767, 32768,  100000,  262145, (1 << 20) + 3,
                                     63,   70000, 65536, 4,     500000, 2500000, 40960};

} // namespace

// At first where every process has a core, then where they are short.
TEST_F(Lines, EveryLengthArrives) {
    for (int round = 0; round < 4; round++)
        for (size_t bytes : lengths) {
            bool early = round % 2, crowded = round / 2;
            SCOPED_TRACE(bytes);
            if (crowded)
                inter_lines_expect_crowd(lines[0]);
            const std::string text = some_text(bytes, bytes);
            Pending sent;
            std::unique_ptr<Receive> got;
            if (!early)
                got.reset(new Receive(transport[1], 0, tag_of_test, bytes));
            ASSERT_EQ(send(0, 1, tag_of_test, text, &sent.request), WEFT_SUCCESS);
            const size_t most = crowded ? INTER_CROWDED_BYTES : INTER_EAGER_BYTES;
            if (bytes <= INTER_FAR_BYTES || bytes > most) { // between them it may be pulled, where copies are slow
                EXPECT_EQ(sent.completion.pending, size_t(bytes > most)) << "what is written is sent";
            }
            if (early) {
                Receive other(transport[1], 0, tag_of_test + 1,
                              1); // somebody looks at what has come, and puts it aside
                transport[1]->progress(transport[1]);
                transport[1]->cancel(transport[1], &other.request);
                got.reset(new Receive(transport[1], 0, tag_of_test, bytes));
            }
            while (got->completion.pending || sent.completion.pending)
                progress_all();
            EXPECT_TRUE(got->text == text);
            EXPECT_EQ(got->completion.error, WEFT_SUCCESS);
            EXPECT_EQ(sent.completion.error, WEFT_SUCCESS);
        }
}

TEST_F(LinesWithoutPulls, EveryLengthArrivesAllTheSame) {
    for (size_t bytes : lengths) {
        const std::string text = some_text(bytes, bytes);
        Pending sent;
        Receive got(transport[1], 0, tag_of_test, bytes);
        ASSERT_EQ(send(0, 1, tag_of_test, text, &sent.request), WEFT_SUCCESS);
        while (got.completion.pending || sent.completion.pending)
            progress_all();
        EXPECT_TRUE(got.text == text) << bytes;
    }
}

// Two sides that wait for each other and sleep at once, with messages of all kinds: each sleep ends with a wake-up.
// A thread loses its core before it sleeps; what wakes it comes, and another thread is about to sleep there in its place.
TEST_F(LinesThatWake, NobodySleepsOnWhatHasWokenHim) {
    inter_transport *at = transport[0];
    inter_bed first{}, busy{}, second{};
    ASSERT_TRUE(at->arm(at, &first));
    EXPECT_TRUE(sleeps(first));
    at->rouse(at);
    EXPECT_FALSE(sleeps(first));
    EXPECT_FALSE(at->arm(at, &busy));
    ASSERT_TRUE(at->arm(at, &second));
    EXPECT_TRUE(sleeps(second));
    EXPECT_FALSE(sleeps(first));
}

TEST_F(LinesThatWake, NobodySleepsForEver) {
    auto side = [&](int self) {
        inter_transport *at = transport[self];
        for (uint64_t i = 0; i < 3000; i++) {
            const std::string out = some_text(i % 50 ? i % 100 : lengths[i % lengths.size()], i);
            std::string in(out.size(), '.');
            inter_completion sent{}, got{};
            inter_request requests[2] = {};
            requests[0].completion = &got, requests[1].completion = &sent;
            // One side answers, so that both have to wait every time.
            if (self == 0)
                at->send(at, 1, tag_of_test, out.data(), out.size(), &requests[1]);
            at->recv(at, 1 - self, tag_of_test, &in[0], in.size(), &requests[0]);
            wait(self, got);
            if (self == 1)
                at->send(at, 0, tag_of_test, out.data(), out.size(), &requests[1]);
            wait(self, sent);
            ASSERT_TRUE(in == out) << i;
        }
    };
    std::thread other(side, 1);
    side(0);
    other.join();
}

// The receiver can do all of the copying, if the sender does not call.
TEST_F(Lines, ALongMessageNeedsTheReceiverOnly) {
    const std::string text = some_text(3000000, 1);
    Pending sent;
    Receive got(transport[1], 0, tag_of_test, text.size());
    ASSERT_EQ(send(0, 1, tag_of_test, text, &sent.request), WEFT_SUCCESS);
    while (got.completion.pending)
        transport[1]->progress(transport[1]);
    EXPECT_TRUE(got.text == text);
    EXPECT_EQ(sent.completion.pending, 1u) << "the sender has not looked";
    transport[0]->progress(transport[0]);
    EXPECT_EQ(sent.completion.pending, 0u);
}

// The sender puts what there is room for, and no more.
TEST_F(Lines, ASenderThatCallsHelps) {
    const std::string text = some_text(3000000, 1);
    Pending sent;
    Receive got(transport[1], 0, tag_of_test, text.size());
    ASSERT_EQ(send(0, 1, tag_of_test, text, &sent.request), WEFT_SUCCESS);
    transport[1]->progress(transport[1]); // sets it up
    size_t put = 0;
    while (got.completion.pending) {
        EXPECT_EQ(sent.completion.pending, 1u);
        put += transport[0]->progress(transport[0]);
        EXPECT_EQ(transport[0]->progress(transport[0]), 0u) << "nobody has taken anything since";
        transport[1]->progress(transport[1]);
    }
    EXPECT_EQ(put, (text.size() + INTER_PART_BYTES - 1) / INTER_PART_BYTES) << "all came through the parts";
    transport[0]->progress(transport[0]);
    EXPECT_EQ(sent.completion.pending, 0u);
    EXPECT_TRUE(got.text == text);
}

// What comes first is the sender's, then it is away for a while, and comes back.
TEST_F(Lines, ASenderMayComeAndGo) {
    const std::string text = some_text(20000000, 2);
    Pending sent;
    Receive got(transport[1], 0, tag_of_test, text.size());
    ASSERT_EQ(send(0, 1, tag_of_test, text, &sent.request), WEFT_SUCCESS);
    size_t there = 0, away = 0;
    for (int look = 0; got.completion.pending; look++) {
        if (look / 3 % 2 == 0)
            there += transport[0]->progress(transport[0]);
        else
            std::this_thread::sleep_for(std::chrono::microseconds(20));
        away += transport[1]->progress(transport[1]) && look / 3 % 2;
    }
    EXPECT_GT(there, 1u);
    EXPECT_GT(away, 1u);
    EXPECT_TRUE(got.text == text);
    transport[0]->progress(transport[0]);
    EXPECT_EQ(sent.completion.pending, 0u);
}

// Active messages whose data do not lie in one run, here, there, or on both sides; some for less room than they need. `away`: those that lie
// in one run at their sender come without it.
class LinesWithLayouts : public Lines {
  protected:
    void SetUp() override {
        Lines::SetUp();
        ASSERT_EQ(weft_type_vector(1 << 15, 3, 5, WEFT_SHORT, &vector), WEFT_SUCCESS);
        ASSERT_EQ(weft_type_commit(&vector), WEFT_SUCCESS);
        for (int rank = 0; rank < local; rank++) {
            ears.emplace_back(transport[rank]);
            ears.back().listen();
        }
        ASSERT_TRUE(transport[0]->takes_layouts(transport[0], 1, 1));
        ASSERT_FALSE(transport[0]->takes_layouts(transport[0], local, 1)) << "on another host";
    }
    void TearDown() override {
        weft_type_free(&vector);
        Lines::TearDown();
    }
    // One message's data, as they lie and packed.
    struct Data {
        Data(const weft_datatype *type, size_t count, size_t seed)
            : memory(some_text(count ? size_t(type->extent) * count : 0, seed)), packed(type->size_bytes * count, 0) {
            data = {&memory[0], type, count};
            core_pack(&packed[0], &memory[0], type, count, 0, packed.size());
        }
        std::string memory, packed;
        core_data data;
    };
    void exchange(bool laid_out_here, bool laid_out_there, size_t count, size_t room, bool away) {
        Data from(vector, count, 5);
        Pending sent;
        inter_am_header header{{1, 2}};
        sent.request.data = laid_out_here ? &from.data : nullptr;
        ASSERT_EQ(transport[0]->am_send(transport[0], 1, &header, laid_out_here ? nullptr : from.packed.data(),
                                        from.packed.size(), true, &sent.request),
                  WEFT_SUCCESS);
        ears[1].heard.clear();
        while (ears[1].heard.empty())
            transport[1]->progress(transport[1]);
        Heard &heard = ears[1].heard.front();
        Data to(vector, room, 6);
        const std::string before = to.memory;
        std::string plain(to.packed.size(), '.');
        heard.request.data = laid_out_there ? &to.data : nullptr;
        ASSERT_EQ(transport[1]->am_fetch(transport[1], &heard.arrival, laid_out_there ? nullptr : &plain[0],
                                         to.packed.size(), &heard.request),
                  WEFT_SUCCESS);
        for (int look = 0; !heard.done(); look++) {
            ASSERT_LT(look, 100000);
            transport[1]->progress(transport[1]);
            if (away)
                std::this_thread::sleep_for(std::chrono::microseconds(10));
            else
                transport[0]->progress(transport[0]);
        }
        transport[0]->progress(transport[0]);
        EXPECT_TRUE(sent.done());
        EXPECT_EQ(heard.completion.error, room < count ? WEFT_ERR_TRUNCATE : WEFT_SUCCESS);
        size_t both = std::min(from.packed.size(), to.packed.size());
        std::string expected = before;
        core_unpack(&expected[0], from.packed.data(), vector, room, 0, both);
        if (laid_out_there) {
            EXPECT_TRUE(to.memory == expected) << "what lies between the data too";
        } else {
            EXPECT_TRUE(plain.compare(0, both, from.packed, 0, both) == 0);
            EXPECT_EQ(plain.find_first_not_of('.', both), std::string::npos);
        }
    }
    weft_datatype *vector = nullptr;
    std::deque<Ear> ears;
};

TEST_F(LinesWithLayouts, AllWays) {
    for (int ways = 0; ways < 8; ways++)
        for (size_t room : {3, 4, 2, 1}) {
            bool here = ways & 1, there = ways & 2, away = ways & 4;
            SCOPED_TRACE(std::to_string(ways) + ", room for " + std::to_string(room));
            if (here && away)
                continue;
            ASSERT_NO_FATAL_FAILURE(exchange(here, there, 3, room, away));
        }
}

// More at once than can be under way; some come only when the sender calls, for which others that are under way do not wait.
TEST_F(LinesWithLayouts, ManyAtOnce) {
    const size_t count = 30;
    auto laid_out = [](size_t i) { return i % 3 == 1; };
    std::deque<Data> from, to;
    std::deque<Pending> sent(count);
    for (size_t i = 0; i < count; i++) {
        inter_am_header header{{i, 0}};
        from.emplace_back(vector, 1, i);
        sent[i].request.data = laid_out(i) ? &from[i].data : nullptr;
        ASSERT_EQ(transport[0]->am_send(transport[0], 1, &header, laid_out(i) ? nullptr : from[i].packed.data(),
                                        from[i].packed.size(), true, &sent[i].request),
                  WEFT_SUCCESS);
    }
    while (ears[1].heard.size() < count)
        transport[1]->progress(transport[1]);
    for (size_t i = 0; i < count; i++) {
        Heard &heard = ears[1].heard[i];
        to.emplace_back(vector, 1, 100);
        heard.request.data = &to[i].data;
        ASSERT_EQ(transport[1]->am_fetch(transport[1], &heard.arrival, nullptr, to[i].packed.size(), &heard.request),
                  WEFT_SUCCESS);
    }
    for (size_t i = 0; i < INTER_PULLS; i++)
        while (!laid_out(i) && !ears[1].heard[i].done())
            transport[1]->progress(transport[1]);
    for (size_t i = 0; i < count; i++)
        EXPECT_EQ(ears[1].heard[i].done(), i < INTER_PULLS && !laid_out(i)) << i;
    while (!ears[1].all_done())
        progress_all();
    for (size_t i = 0; i < count; i++) {
        std::string expected = some_text(to[i].memory.size(), 100);
        core_unpack(&expected[0], from[i].packed.data(), vector, 1, 0, from[i].packed.size());
        EXPECT_TRUE(to[i].memory == expected) << i;
    }
    progress_all();
    for (Pending &one : sent)
        EXPECT_TRUE(one.done());
}

// Tagged ones are parts of what lies there, from any byte on.
TEST_F(LinesWithLayouts, TaggedFromAnyByteOn) {
    ASSERT_TRUE(transport[0]->carries_layouts(transport[0], 1, 100000));
    ASSERT_FALSE(transport[0]->carries_layouts(transport[0], 1, 1000)) << "too short";
    ASSERT_FALSE(transport[0]->carries_layouts(transport[0], local, 100000)) << "on another host";
    Data from(vector, 2, 5);
    for (size_t begin : {0, 1, 77777, 196608})
        for (size_t into : {0, 5, 100001})
            for (bool here : {true, false})
                for (bool there : {true, false}) {
                    const size_t bytes = 150000;
                    SCOPED_TRACE(::testing::Message() << begin << " to " << into << ", " << here << there);
                    Data to(vector, 2, 6);
                    std::string expected = to.memory, plain(bytes, '.');
                    core_unpack(&expected[0], &from.packed[begin], vector, 2, into, into + bytes);
                    Pending sent, got;
                    sent.request.data = here ? &from.data : nullptr;
                    sent.request.data_from = begin;
                    got.request.data = there ? &to.data : nullptr;
                    got.request.data_from = into;
                    ASSERT_EQ(transport[1]->recv(transport[1], 0, tag_of_test, there ? nullptr : &plain[0], bytes,
                                                 &got.request),
                              WEFT_SUCCESS);
                    ASSERT_EQ(transport[0]->send(transport[0], 1, tag_of_test, here ? nullptr : &from.packed[begin],
                                                 bytes, &sent.request),
                              WEFT_SUCCESS);
                    for (int look = 0; !got.done() || !sent.done(); look++) {
                        ASSERT_LT(look, 100000);
                        progress_all();
                    }
                    EXPECT_EQ(got.completion.error, WEFT_SUCCESS);
                    EXPECT_TRUE(there ? to.memory == expected : plain == from.packed.substr(begin, bytes));
                }
}

// A short one where a long one was expected: what has come is put where it belongs.
TEST_F(LinesWithLayouts, TaggedShorterThanExpected) {
    Data from(vector, 1, 5), to(vector, 1, 6);
    for (size_t bytes : {8, 3000, 100000}) {
        std::string expected = to.memory;
        core_unpack(&expected[0], from.packed.data(), vector, 1, 10, 10 + bytes);
        Pending sent, got;
        got.request.data = &to.data;
        got.request.data_from = 10;
        ASSERT_EQ(transport[1]->recv(transport[1], 0, tag_of_test, nullptr, 150000, &got.request), WEFT_SUCCESS);
        ASSERT_EQ(transport[0]->send(transport[0], 1, tag_of_test, from.packed.data(), bytes, &sent.request),
                  WEFT_SUCCESS);
        for (int look = 0; !got.done() || !sent.done(); look++) {
            ASSERT_LT(look, 100000);
            progress_all();
        }
        EXPECT_EQ(got.completion.error, WEFT_ERR_MISMATCH);
        EXPECT_TRUE(to.memory == expected);
    }
}

// A sender that needs to be there has died: once others have found that out, nobody waits for what it would put.
TEST_F(LinesWithLayouts, SenderIsGone) {
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    ASSERT_GT(child, 0);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    Data from(vector, 1, 5), to(vector, 1, 6);
    Pending sent, got;
    sent.request.data = &from.data;
    got.request.data = &to.data;
    ASSERT_EQ(transport[1]->recv(transport[1], 0, tag_of_test, nullptr, 150000, &got.request), WEFT_SUCCESS);
    ASSERT_EQ(transport[0]->send(transport[0], 1, tag_of_test, nullptr, 150000, &sent.request), WEFT_SUCCESS);
    for (int look = 0; look < 10; look++)
        transport[1]->progress(transport[1]);
    transport[0]->progress(transport[0]); // it has put some, and claimed them
    lines_set_process(lines[1], 0, child);
    for (int look = 0; look < 10; look++)
        transport[1]->progress(transport[1]);
    EXPECT_FALSE(got.done());
    transport[1]->cancel(transport[1], &got.request);
    for (int look = 0; !got.done(); look++) {
        ASSERT_LT(look, 100000);
        transport[1]->progress(transport[1]);
    }
    EXPECT_EQ(got.completion.error, WEFT_ERR_PROC_FAILED);
    lines_set_process(lines[1], 0, getpid());
    transport[0]->progress(transport[0]);
    EXPECT_TRUE(sent.done());
}

// What a sender that needs to be there has taken back is not waited for.
TEST_F(LinesWithLayouts, TakenBack) {
    Data from(vector, 1, 5);
    Pending sent;
    inter_am_header header{{1, 2}};
    sent.request.data = &from.data;
    ASSERT_EQ(transport[0]->am_send(transport[0], 1, &header, nullptr, from.packed.size(), true, &sent.request),
              WEFT_SUCCESS);
    while (ears[1].heard.empty())
        transport[1]->progress(transport[1]);
    transport[0]->cancel(transport[0], &sent.request);
    EXPECT_TRUE(sent.done());
    EXPECT_EQ(sent.completion.error, WEFT_ERR_PROC_FAILED);
    Heard &heard = ears[1].heard.front();
    std::string plain(from.packed.size(), '.');
    ASSERT_EQ(transport[1]->am_fetch(transport[1], &heard.arrival, &plain[0], plain.size(), &heard.request),
              WEFT_SUCCESS);
    transport[1]->cancel(transport[1], &heard.request); // while it waits
    while (!heard.done())
        transport[1]->progress(transport[1]);
    EXPECT_EQ(heard.completion.error, WEFT_ERR_PROC_FAILED);
    EXPECT_EQ(plain.find_first_not_of('.'), std::string::npos);
}

// More long messages than may be copied at once, received in another order than sent.
TEST_F(Lines, ManyOffersWaitTheirTurn) {
    const size_t count = 3 * 8 + 1;
    std::vector<std::string> texts;
    std::vector<Pending> sent(count);
    for (size_t i = 0; i < count; i++)
        texts.push_back(some_text(20000 + 1000 * i, i));
    for (size_t i = 0; i < count; i++)
        ASSERT_EQ(send(0, 1, tag_of_test + i, texts[i], &sent[i].request), WEFT_SUCCESS);
    std::vector<std::unique_ptr<Receive>> got(count);
    for (size_t i = count; i-- > 0;)
        got[i].reset(new Receive(transport[1], 0, tag_of_test + i, texts[i].size()));
    for (int round = 0; round < 10000; round++)
        progress_all();
    for (size_t i = 0; i < count; i++) {
        EXPECT_EQ(got[i]->completion.pending, 0u);
        EXPECT_EQ(sent[i].completion.pending, 0u);
        EXPECT_TRUE(got[i]->text == texts[i]) << i;
    }
}

// The ring is used up and used again, in pieces of all sizes.
TEST_F(Lines, TheRingGoesRound) {
    std::mt19937 random{5};
    for (int round = 0; round < 500; round++) {
        size_t most = round < 250 ? INTER_EAGER_BYTES : INTER_CROWDED_BYTES;
        if (round == 250)
            inter_lines_expect_crowd(lines[0]);
        std::vector<std::string> texts;
        std::vector<Pending> sent(1 + random() % 12);
        for (size_t i = 0; i < sent.size(); i++)
            texts.push_back(some_text(random() % (most + 1), random()));
        for (size_t i = 0; i < sent.size(); i++)
            ASSERT_EQ(send(0, 1, tag_of_test, texts[i], &sent[i].request), WEFT_SUCCESS);
        for (size_t i = 0; i < sent.size(); i++) {
            Receive got(transport[1], 0, tag_of_test, texts[i].size());
            while (got.completion.pending || sent[i].completion.pending) // it may be pulled, where copies are slow
                progress_all();
            ASSERT_TRUE(got.text == texts[i]) << round << ", " << i;
        }
    }
}

// Messages before their receives, with tags in another order, from two senders.
TEST_F(Lines, EarlyMessagesWaitForTheirReceive) {
    Pending sent[6];
    for (int i = 0; i < 6; i++)
        ASSERT_EQ(send(i % 2, 2, tag_of_test + uint64_t(i / 2), std::to_string(i), &sent[i].request), WEFT_SUCCESS);
    for (int i = 5; i >= 0; i--) {
        Receive got(transport[2], i % 2, tag_of_test + uint64_t(i / 2), 1);
        while (got.completion.pending)
            progress_all();
        EXPECT_EQ(got.text, std::to_string(i));
    }
}

// More messages than a lane has lines: they wait, and arrive in order.
TEST_F(Lines, AFullLaneHoldsBack) {
    const int count = 800;
    std::vector<Pending> sent(count);
    std::vector<std::string> texts;
    for (int i = 0; i < count; i++)
        texts.push_back(std::to_string(100 + i));
    for (size_t i = 0; i < sent.size(); i++)
        ASSERT_EQ(send(0, 1, tag_of_test, texts[i], &sent[i].request), WEFT_SUCCESS);
    EXPECT_EQ(sent[0].completion.pending, 0u);
    EXPECT_EQ(sent[size_t(count) - 1].completion.pending, 1u);
    for (int i = 0; i < count; i++) {
        Receive got(transport[1], 0, tag_of_test, 3);
        while (got.completion.pending)
            progress_all();
        EXPECT_EQ(got.text, texts[size_t(i)]);
    }
    progress_all();
    for (const Pending &one : sent)
        EXPECT_EQ(one.completion.pending, 0u);
}

// Messages share lines in all ways that their lengths allow, while the receiver is now behind and now ahead.
TEST_F(Lines, LinesAreSharedByMessagesOfAllLengths) {
    std::mt19937 random{11};
    std::deque<std::string> texts;
    std::deque<Pending> sent;
    size_t number = 0, taken = 0;
    for (int round = 0; round < 3000; round++) {
        for (size_t more = random() % 20; more > 0; more--, number++) {
            size_t bytes = random() % 50 ? random() % 61 : random() % (INTER_EAGER_BYTES + 1);
            texts.push_back(some_text(bytes, number));
            sent.emplace_back();
            ASSERT_EQ(send(0, 1, tag_of_test + number % 2, texts.back(), &sent.back().request), WEFT_SUCCESS);
        }
        for (size_t less = random() % 22; less > 0 && taken < number; less--, taken++) {
            Receive got(transport[1], 0, tag_of_test + taken % 2, texts.front().size());
            while (got.completion.pending || sent.front().completion.pending)
                progress_all();
            ASSERT_EQ(got.completion.error, WEFT_SUCCESS);
            ASSERT_TRUE(got.text == texts.front()) << taken;
            ASSERT_EQ(sent.front().completion.pending, 0u);
            texts.pop_front();
            sent.pop_front();
        }
    }
    EXPECT_GT(taken, 20000u);
}

// Who has answered has read the line, and does not get another message there: the next one has a line of its own. Streams share them.
TEST_F(Lines, MessagesOfAnExchangeDoNotShareLines) {
    const std::string text = "12345678";
    const uint64_t rounds = 100; // more than a lane has lines
    for (uint64_t round = 0; round < rounds; round++) {
        Receive at_first(transport[0], 1, round, text.size()), at_second(transport[1], 0, round, text.size());
        Pending first, second;
        ASSERT_EQ(send(0, 1, round, text, &first.request), WEFT_SUCCESS);
        ASSERT_EQ(send(1, 0, round, text, &second.request), WEFT_SUCCESS);
        while (at_first.completion.pending || at_second.completion.pending)
            progress_all();
        EXPECT_EQ(at_first.text, text);
        EXPECT_EQ(at_second.text, text);
        for (int rank : {0, 1})
            EXPECT_EQ(lines_opened(lines[rank], 1 - rank), round + 1);
    }
    std::deque<Pending> stream(9);
    for (Pending &one : stream)
        ASSERT_EQ(send(0, 1, rounds, text, &one.request), WEFT_SUCCESS);
    EXPECT_EQ(lines_opened(lines[0], 1), rounds + 3);
}

TEST_F(Lines, WrongLengthsAreErrors) {
    for (size_t expected : {2, 6}) {
        Pending sent;
        Receive posted(transport[1], 0, tag_of_test, expected);
        send(0, 1, tag_of_test, "abcd", &sent.request);
        while (posted.completion.pending)
            progress_all();
        EXPECT_EQ(posted.completion.error, expected < 4 ? WEFT_ERR_TRUNCATE : WEFT_ERR_MISMATCH);
        EXPECT_EQ(posted.text, expected < 4 ? "ab" : "abcd..");
    }
}

TEST_F(Lines, WrongLengthsOfLongMessagesAreErrors) {
    for (size_t bytes : {30, 5000, 100000})
        for (size_t expected : {20, 4000, 50000, 200000}) {
            SCOPED_TRACE(std::to_string(bytes) + " for " + std::to_string(expected));
            const std::string text = some_text(bytes, 3);
            Pending sent;
            Receive got(transport[1], 0, tag_of_test, expected);
            ASSERT_EQ(send(0, 1, tag_of_test, text, &sent.request), WEFT_SUCCESS);
            while (got.completion.pending || sent.completion.pending)
                progress_all();
            EXPECT_EQ(got.completion.error, bytes > expected ? WEFT_ERR_TRUNCATE : WEFT_ERR_MISMATCH);
            EXPECT_EQ(sent.completion.error, WEFT_SUCCESS) << "it is the receiver's mistake";
            size_t both = std::min(bytes, expected);
            EXPECT_TRUE(got.text.compare(0, both, text, 0, both) == 0);
            EXPECT_EQ(got.text.find_first_not_of('.', both), std::string::npos) << "nothing else is written";
        }
}

TEST_F(Lines, OffersCanBeTakenBack) {
    const std::string text = some_text(100000, 9);
    Pending offered;
    ASSERT_EQ(send(0, 1, tag_of_test, text, &offered.request), WEFT_SUCCESS);
    transport[0]->cancel(transport[0], &offered.request);
    EXPECT_EQ(offered.completion.pending, 0u);
    EXPECT_EQ(offered.completion.error, WEFT_ERR_PROC_FAILED);
    Receive late(transport[1], 0, tag_of_test, text.size());
    for (int i = 0; i < 100; i++)
        progress_all();
    EXPECT_EQ(late.completion.pending, 1u) << "what was taken back does not arrive";
    transport[1]->cancel(transport[1], &late.request);
    EXPECT_EQ(late.completion.pending, 0u);
    // Once the copy has begun it is finished instead.
    Pending sent;
    Receive got(transport[2], 0, tag_of_test, 3000000);
    const std::string longer = some_text(3000000, 9);
    ASSERT_EQ(send(0, 2, tag_of_test, longer, &sent.request), WEFT_SUCCESS);
    transport[2]->progress(transport[2]);
    transport[2]->cancel(transport[2], &got.request);
    transport[0]->cancel(transport[0], &sent.request);
    EXPECT_EQ(got.completion.pending, 1u);
    while (got.completion.pending || sent.completion.pending)
        progress_all();
    EXPECT_TRUE(got.text == longer);
}

// More than there are names kept, each with a receive that had seen the offer before, or sees it after.
TEST_F(Lines, ManyOffersCanBeTakenBack) {
    const size_t count = 300;
    const std::string text = some_text(20000, 3);
    for (size_t i = 0; i < count; i++) {
        Pending offered;
        ASSERT_EQ(send(0, 1, tag_of_test + i, text, &offered.request), WEFT_SUCCESS);
        transport[0]->cancel(transport[0], &offered.request);
        ASSERT_EQ(offered.completion.pending, 0u);
    }
    // The pulls of those that were taken back end when the sender has something to offer again.
    const std::string good = some_text(30000, 4);
    std::vector<std::unique_ptr<Receive>> late(count);
    Pending sent;
    for (size_t i = 0; i < count; i++)
        late[i].reset(new Receive(transport[1], 0, tag_of_test + i, text.size()));
    Receive got(transport[1], 0, tag_of_test + count, good.size());
    ASSERT_EQ(send(0, 1, tag_of_test + count, good, &sent.request), WEFT_SUCCESS);
    while (got.completion.pending || sent.completion.pending)
        progress_all();
    EXPECT_TRUE(got.text == good);
    for (size_t i = 0; i < count; i++) {
        EXPECT_EQ(late[i]->completion.pending, 1u) << i;
        transport[1]->cancel(transport[1], &late[i]->request);
    }
}

// What waits meanwhile, and was offered before, is not taken for one of them.
TEST_F(Lines, AnOfferOutlivesManyThatAreTakenBack) {
    const std::string good = some_text(30000, 4), text = some_text(20000, 3);
    Pending sent;
    Receive never(transport[1], 0, tag_of_test + 1000, 1); // so that the offers are looked at
    ASSERT_EQ(send(0, 1, tag_of_test, good, &sent.request), WEFT_SUCCESS);
    for (size_t i = 1; i <= 300; i++) {
        Pending offered;
        ASSERT_EQ(send(0, 1, tag_of_test + i, text, &offered.request), WEFT_SUCCESS);
        progress_all();
        transport[0]->cancel(transport[0], &offered.request);
        ASSERT_EQ(offered.completion.pending, 0u);
    }
    transport[1]->cancel(transport[1], &never.request);
    Receive got(transport[1], 0, tag_of_test, good.size());
    for (int i = 0; i < 100000 && (got.completion.pending || sent.completion.pending); i++)
        progress_all();
    EXPECT_EQ(got.completion.pending + sent.completion.pending, 0u);
    EXPECT_TRUE(got.text == good);
}

TEST_F(Lines, OtherHostsAreReachedThroughTheInnerTransport) {
    const std::string out = "thank", back = "yours"; /* a rendezvous reads them later */
    Pending sent[2];
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
    std::vector<Pending> sent(400);
    const std::string text = "x";
    for (Pending &one : sent)
        send(0, 1, tag_of_test, text, &one.request);
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
    inter_bed bed;
    EXPECT_FALSE(transport[1]->arm(transport[1], &bed));
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
    forged = other;
    forged.descriptor = -1;
    EXPECT_EQ(inter_lines_map(lines, 1, &forged), WEFT_ERR_TRANSPORT);
    forged = other;
    forged.pid = 1 << 30;
    EXPECT_EQ(inter_lines_map(lines, 1, &forged), WEFT_ERR_TRANSPORT);
    EXPECT_NE(std::string(weft_last_error()).find("rank 0"), std::string::npos);
    inter_lines_free(lines);
    inter_lines_free(wrong);
    inter_lines_free(small);
    inter_lines_free(nullptr);
}

// The same with messages of all lengths, several at a time.
TEST_F(Lines, TwoSidesExchangeMessagesOfAllLengths) {
    const uint64_t rounds = effort::rounds(300), at_once = 4;
    auto length = [](uint64_t i) { return lengths[i * 7 % lengths.size()]; };
    auto side = [&](int self) {
        inter_transport *at = transport[self];
        for (uint64_t i = 0; i < rounds; i++) {
            inter_completion completion{};
            inter_request requests[2 * at_once] = {};
            std::string out[at_once], in[at_once];
            for (uint64_t k = 0; k < at_once; k++) {
                requests[k].completion = requests[at_once + k].completion = &completion;
                out[k] = some_text(length(i + k), i * 100 + k * 10 + uint64_t(self));
                in[k].resize(out[k].size());
                at->recv(at, 1 - self, tag_of_test + k, &in[k][0], in[k].size(), &requests[k]);
            }
            for (uint64_t k = at_once; k-- > 0;)
                at->send(at, 1 - self, tag_of_test + k, out[k].data(), out[k].size(), &requests[at_once + k]);
            while (completion.pending)
                if (!at->progress(at))
                    std::this_thread::yield();
            for (uint64_t k = 0; k < at_once; k++)
                ASSERT_TRUE(in[k] == some_text(in[k].size(), i * 100 + k * 10 + uint64_t(1 - self))) << i << ", " << k;
        }
    };
    std::thread other(side, 1);
    side(0);
    other.join();
}

// What lies in a process's window the others read where they have it mapped, not by way of the kernel, which here may not read it.
TEST_F(Lines, WindowsAreReadWithoutTheKernel) {
    const std::string text = "in the window", beside = "somewhere else";
    const size_t page = size_t(sysconf(_SC_PAGESIZE));
    char *piece = static_cast<char *>(transport[0]->window_take(transport[0], 2 * page));
    ASSERT_NE(piece, nullptr);
    std::copy(text.begin(), text.end(), piece);
    std::copy(text.begin(), text.end(), piece + 2 * page - text.size());
    ASSERT_EQ(mprotect(piece, 2 * page, PROT_NONE), 0);
    for (int reader : {1, 2}) {
        std::string got(3 * text.size() + beside.size(), '.');
        inter_run from[] = {{piece, text.size()},
                            {const_cast<char *>(beside.data()), beside.size()},
                            {piece + 2 * page - text.size(), text.size()},
                            {piece + page, 0}};
        inter_run to[] = {{&got[0], text.size()},
                          {&got[text.size()], beside.size()},
                          {&got[text.size() + beside.size()], text.size()},
                          {&got[0], 0}};
        EXPECT_EQ(transport[reader]->read(transport[reader], 0, from, to, 4), WEFT_SUCCESS);
        EXPECT_EQ(got.substr(0, 2 * text.size() + beside.size()), text + beside + text);
        // What begins in it and goes on behind it is not read there.
        inter_run over = {piece, INTER_WINDOW_BYTES + 1}, place = {&got[0], INTER_WINDOW_BYTES + 1};
        EXPECT_NE(transport[reader]->read(transport[reader], 0, &over, &place, 1), WEFT_SUCCESS);
        inter_run before = {piece - 8, 16}, into = {&got[0], 16};
        EXPECT_NE(transport[reader]->read(transport[reader], 0, &before, &into, 1), WEFT_SUCCESS);
        // Nor is that of another process: 2's would begin elsewhere.
        inter_run other = {piece, 8}, there = {&got[0], 8};
        EXPECT_NE(transport[1]->read(transport[1], 2, &other, &there, 1), WEFT_SUCCESS);
    }
    ASSERT_EQ(mprotect(piece, 2 * page, PROT_READ | PROT_WRITE), 0);
    EXPECT_TRUE(transport[0]->window_give(transport[0], piece, 2 * page));
    EXPECT_EQ(transport[0]->window_take(transport[0], 2 * page), piece);
}

TEST_F(LinesWithoutPulls, HaveNoWindow) {
    EXPECT_EQ(transport[0]->read, nullptr);
    EXPECT_EQ(transport[0]->window_take, nullptr);
}

// An offer is taken back while the other side may be about to copy it: who has taken it back may use the memory for something else.
TEST_F(Lines, WhatIsTakenBackIsNotUsed) {
    const int rounds = int(effort::rounds(3000));
    std::vector<std::atomic<bool>> over((size_t(rounds))), received((size_t(rounds)));
    std::thread receiver([&] {
        for (int i = 0; i < rounds; i++) {
            Receive got(transport[1], 0, tag_of_test + uint64_t(i), 20000);
            while (got.completion.pending && !over[size_t(i)])
                if (!transport[1]->progress(transport[1]))
                    std::this_thread::yield();
            if (got.completion.pending)
                transport[1]->cancel(transport[1], &got.request);
            while (got.completion.pending)
                transport[1]->progress(transport[1]);
            if (!got.completion.error) {
                EXPECT_EQ(got.text.find_first_not_of(char('a' + i % 20)), std::string::npos) << i;
            }
            received[size_t(i)] = true;
        }
    });
    threads::Random random(7);
    for (int i = 0; i < rounds; i++) {
        std::string text(20000, char('a' + i % 20));
        Pending offered;
        ASSERT_EQ(send(0, 1, tag_of_test + uint64_t(i), text, &offered.request), WEFT_SUCCESS);
        for (uint64_t looks = random.below(8); looks > 0; looks--)
            random.dawdle();
        if (offered.request.native)
            transport[0]->cancel(transport[0], &offered.request);
        while (offered.completion.pending)
            transport[0]->progress(transport[0]);
        if (offered.completion.error)
            text.assign(text.size(), 'X');
        over[size_t(i)] = true;
        while (!received[size_t(i)])
            std::this_thread::yield();
    }
    receiver.join();
}

// Two threads stand for two processes and exchange numbers, with delays, both ahead of each other by turns.
TEST_F(Lines, TwoSidesExchangeManyMessages) {
    auto side = [&](int self) {
        std::mt19937 random{unsigned(self)};
        inter_transport *at = transport[self];
        for (uint64_t i = 0; i < effort::rounds<uint64_t>(20000); i++) {
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
