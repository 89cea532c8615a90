// SPDX-License-Identifier: BSD-3-Clause
// Mailboxes: every way that a message can take between threads, in order, whole, and without a byte of memory left.
#include "effort.h"
#include "threads.h"
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <vector>
#include <weft/error.h>

extern "C" {
#include <intra/mailbox.h>
}

namespace {

// Mailboxes of the threads of a process.
class Office {
  public:
    Office(int threads, size_t eager_bytes, size_t unexpected_bytes) : threads_(threads) {
        core_waiting waiting = core_waiting_resolve(WEFT_WAIT_YIELD, true);
        boxes_.reset(static_cast<intra_mailbox *>(
            std::aligned_alloc(alignof(intra_mailbox), size_t(threads) * sizeof(intra_mailbox))));
        std::memset(static_cast<void *>(boxes_.get()), 0, size_t(threads) * sizeof(intra_mailbox));
        for (int thread = 0; thread < threads; thread++)
            EXPECT_EQ(intra_mailbox_init(&box(thread), thread, threads, waiting, {eager_bytes, unexpected_bytes}), 0);
    }
    ~Office() {
        for (int thread = 0; thread < threads_; thread++)
            intra_mailbox_free(&box(thread));
    }
    intra_mailbox &box(int thread) {
        return boxes_.get()[thread];
    }

    bool send(int from, int to, int tag, const void *buffer, size_t bytes, intra_send *send, bool synchronous = false) {
        return intra_mail_send(&box(from), &box(to), to, tag, buffer, WEFT_BYTE, bytes, bytes, synchronous, send);
    }
    void receive(int at, int source, int tag, void *buffer, size_t bytes, intra_receive *receive) {
        receive->match.source = source;
        receive->match.tag = tag;
        receive->buffer = buffer;
        receive->type = WEFT_BYTE;
        receive->count = receive->bytes = bytes;
        intra_mail_receive(&box(at), receive);
    }
    void finish(int at, const bool &done) {
        while (!done)
            if (!intra_mail_progress(&box(at)))
                std::this_thread::yield();
    }

  private:
    struct Free {
        void operator()(intra_mailbox *boxes) const {
            std::free(static_cast<void *>(boxes));
        }
    };
    int threads_;
    std::unique_ptr<intra_mailbox, Free> boxes_;
};

// The bytes of the n-th message of a sender, of a length that takes each of the ways now and then.
std::vector<unsigned char> message(int sender, int n) {
    static const size_t lengths[] = {0, 1, 8, 40, 41, 300, 2000, 17000, 40000, 200000};
    std::vector<unsigned char> bytes(lengths[size_t(sender * 31 + n * 7) % 10]);
    for (size_t i = 0; i < bytes.size(); i++)
        bytes[i] = static_cast<unsigned char>(size_t(sender) * 13 + size_t(n) * 5 + i);
    return bytes;
}

class Mailbox : public ::testing::TestWithParam<int> {};

// All send to all, without waiting for anybody; then each receives what it was sent, in order of sending.
TEST_P(Mailbox, EverythingArrivesInOrder) {
    threads::Watchdog watchdog(120);
    const int count = GetParam(), each = effort::rounds(120);
    Office office(count, 20000, 1 << 20);
    threads::run(count, [&](int self) {
        std::vector<std::vector<unsigned char>> sent;
        std::vector<std::unique_ptr<intra_send>> sends;
        for (int n = 0; n < each; n++)
            sent.push_back(message(self, n));
        for (int n = 0; n < each; n++)
            for (int to = 0; to < count; to++) {
                sends.push_back(std::make_unique<intra_send>());
                if (office.send(self, to, n, sent[size_t(n)].data(), sent[size_t(n)].size(), sends.back().get(),
                                n % 11 == 3))
                    sends.pop_back();
            }
        for (int n = 0; n < each; n++)
            for (int from = 0; from < count; from++) {
                std::vector<unsigned char> came(200001, 0xee), expected = message(from, n);
                intra_receive receive{};
                // Of any tag: the order of sending says which one it is.
                office.receive(self, from, WEFT_ANY_TAG, came.data(), came.size(), &receive);
                office.finish(self, receive.done);
                ASSERT_EQ(receive.tag, n);
                ASSERT_EQ(receive.source, from);
                ASSERT_EQ(receive.got_bytes, expected.size());
                ASSERT_TRUE(std::equal(expected.begin(), expected.end(), came.begin()));
                ASSERT_EQ(came[expected.size()], 0xee);
            }
        for (auto &send : sends)
            office.finish(self, send->done);
    });
}

// Receives are posted first, with wildcards; both ends copy long messages.
TEST_P(Mailbox, LongMessagesAreSharedOut) {
    threads::Watchdog watchdog(120);
    const int count = GetParam(), each = effort::rounds(20);
    const size_t bytes = 300000;
    Office office(count, 1000, 1 << 20);
    threads::run(count, [&](int self) {
        const int to = (self + 1) % count, from = (self + count - 1) % count;
        for (int n = 0; n < each; n++) {
            std::vector<unsigned char> out(bytes), in(bytes);
            for (size_t i = 0; i < bytes; i++)
                out[i] = static_cast<unsigned char>(i * 7 + size_t(self + n));
            auto send = std::make_unique<intra_send>();
            intra_receive receive{};
            office.receive(self, WEFT_ANY_SOURCE, n, in.data(), bytes, &receive);
            EXPECT_FALSE(office.send(self, to, n, out.data(), bytes, send.get()));
            office.finish(self, receive.done);
            office.finish(self, send->done);
            ASSERT_EQ(receive.source, from);
            for (size_t i = 0; i < bytes; i++)
                ASSERT_EQ(in[i], static_cast<unsigned char>(i * 7 + size_t(from + n)));
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Threads, Mailbox, ::testing::Values(1, 2, 3, 5, 8));

// More senders than there are lanes: the rest goes by the list.
TEST(MailboxAlone, SendersWithoutALane) {
    const int senders = INTRA_LANES + 20;
    Office office(senders + 1, 1000, 1 << 20);
    intra_send unused;
    for (int n = 0; n < 3; n++)
        for (int sender = 1; sender <= senders; sender++)
            ASSERT_TRUE(office.send(sender, 0, n, &sender, sizeof(sender), &unused));
    for (int sender = senders; sender >= 1; sender--)
        for (int n = 0; n < 3; n++) {
            int came = 0;
            intra_receive receive{};
            office.receive(0, sender, WEFT_ANY_TAG, &came, sizeof(came), &receive);
            office.finish(0, receive.done);
            EXPECT_EQ(came, sender);
            EXPECT_EQ(receive.tag, n);
        }
    EXPECT_EQ(office.box(0).parcel_bytes, 0u);
}

// Copied messages without receives take no more memory than the limit says; then senders must wait.
TEST(MailboxAlone, UnexpectedMemoryIsBounded) {
    const size_t limit = 100000;
    Office office(2, 5000, limit);
    office.box(1).takes_all = true;
    std::vector<unsigned char> bytes(5000, 1);
    std::vector<std::unique_ptr<intra_send>> waiting;
    for (int n = 0; n < 1000; n++) {
        auto send = std::make_unique<intra_send>();
        if (!office.send(0, 1, n, bytes.data(), bytes.size(), send.get()))
            waiting.push_back(std::move(send));
        intra_mail_progress(&office.box(1));
        ASSERT_LT(office.box(1).parcel_bytes, limit + 6000 + INTRA_LANE_BYTES);
    }
    EXPECT_GT(waiting.size(), 900u);
    for (int n = 0; n < 1000; n++) {
        intra_receive receive{};
        office.receive(1, 0, WEFT_ANY_TAG, bytes.data(), bytes.size(), &receive);
        office.finish(1, receive.done);
        ASSERT_EQ(receive.tag, n);
    }
    for (auto &send : waiting)
        office.finish(0, send->done);
    EXPECT_EQ(office.box(1).parcel_bytes, 0u);
}

TEST(MailboxAlone, TruncationAndCancelling) {
    Office office(2, 1000, 1 << 20);
    char text[8] = "seven b", room[4] = {};
    intra_send send;
    for (bool synchronous : {false, true}) {
        intra_receive taken{}, receive{};
        office.receive(1, 0, 5, room, sizeof(room), &taken);
        office.receive(1, 0, WEFT_ANY_TAG, room, 3, &receive);
        intra_mail_cancel(&office.box(1), &taken);
        EXPECT_TRUE(taken.done && taken.cancelled);
        EXPECT_EQ(office.send(0, 1, 5, text, 8, &send, synchronous), !synchronous);
        office.finish(1, receive.done);
        intra_mail_cancel(&office.box(1), &receive); /* too late: nothing happens */
        EXPECT_FALSE(receive.cancelled);
        EXPECT_EQ(receive.error, WEFT_ERR_TRUNCATE);
        EXPECT_EQ(receive.got_bytes, 3u);
        EXPECT_EQ(std::memcmp(room, "sev\0", 4), 0);
        if (synchronous)
            office.finish(0, send.done);
    }
}

// The short way of a receive that waits: it takes the next copy of a lane, and nothing that others are to have before, or that it must
// not have.
TEST(MailboxAlone, TheNextOfALane) {
    Office office(3, 1000, 1 << 20);
    intra_mailbox *box = &office.box(2);
    uint64_t number = 0, room = 0;
    intra_send send;
    auto sends = [&](int from, int tag) {
        number++;
        EXPECT_TRUE(office.send(from, 2, tag, &number, sizeof(number), &send));
    };
    auto next = [&](int tag, size_t bytes) { return intra_mail_next(box, tag, bytes, 1) != 0; };
    EXPECT_FALSE(intra_mail_find_lane(box, 0)) << "nothing was sent yet";
    sends(0, 5);
    sends(1, 5);
    EXPECT_FALSE(intra_mail_find_lane(box, 2));
    for (int from : {1, 0}) {
        ASSERT_TRUE(intra_mail_find_lane(box, from));
        EXPECT_EQ(box->last->source, from);
        EXPECT_FALSE(next(6, 8)) << "another tag";
        EXPECT_FALSE(next(5, 7)) << "too long";
        ASSERT_TRUE(next(from ? 5 : WEFT_ANY_TAG, 8));
        intra_mail_take_next(box, &room, 8);
        EXPECT_EQ(room, uint64_t(from + 1));
        EXPECT_FALSE(next(WEFT_ANY_TAG, 8)) << "taken";
    }
    // A receive that is posted comes first, though it has another tag: matching must tell.
    intra_receive posted;
    uint64_t other = 0;
    office.receive(2, 0, 7, &other, sizeof(other), &posted);
    sends(0, 5);
    EXPECT_FALSE(next(5, 8));
    intra_mail_cancel(box, &posted);
    EXPECT_TRUE(next(5, 8));
    // So does a message that was put aside: it was sent before.
    box->takes_all = true;
    intra_mail_progress(box);
    box->takes_all = false;
    sends(0, 5);
    EXPECT_FALSE(next(5, 8));
    office.receive(2, 0, 5, &room, sizeof(room), &posted);
    EXPECT_TRUE(posted.done);
    EXPECT_EQ(room + 1, number);
    ASSERT_TRUE(next(5, 8));
    intra_mail_take_next(box, &room, 8);
    EXPECT_EQ(room, number);
    // Who has a long one under way moves it on first: its sender may wait for that.
    std::vector<unsigned char> data(1 << 20), in(data.size());
    intra_receive receive;
    EXPECT_FALSE(office.send(1, 2, 9, data.data(), data.size(), &send));
    office.receive(2, 1, 9, in.data(), in.size(), &receive);
    intra_mail_progress(box);
    EXPECT_FALSE(receive.posted || receive.done) << "it is being copied";
    sends(0, 5);
    ASSERT_TRUE(intra_mail_find_lane(box, 0));
    EXPECT_FALSE(next(5, 8));
    office.finish(2, receive.done);
    office.finish(1, send.done);
    EXPECT_TRUE(next(5, 8));
    // So it does with what stands in its list.
    office.box(0).ways[2]->spilled++; // as if there had been no room
    EXPECT_TRUE(office.send(0, 2, 5, &number, sizeof(number), &send));
    EXPECT_FALSE(next(5, 8));
    office.receive(2, 0, 5, &room, sizeof(room), &posted);
    office.finish(2, posted.done);
    office.box(0).ways[2]->spilled--;
    while (intra_mail_progress(box))
        continue;
    office.receive(2, 0, 5, &room, sizeof(room), &posted);
    office.finish(2, posted.done);
    // What is offered is not in the lane; what follows by the list is found by progress alone.
    EXPECT_FALSE(office.send(0, 2, 5, &number, sizeof(number), &send, true));
    EXPECT_FALSE(next(5, 8));
    office.receive(2, 0, 5, &room, sizeof(room), &posted);
    office.finish(2, posted.done);
    office.finish(0, send.done);
}

// Receives of any tag that were posted together take what lies in the lane together: each has the tag of its own message.
TEST(MailboxAlone, AStreamOfSeveralTags) {
    Office office(2, 1000, 1 << 20);
    const int tags[] = {5, 5, 6, 5, 7, 7, 5};
    uint64_t came[std::size(tags)] = {};
    intra_receive receives[std::size(tags)] = {};
    intra_send unused;
    for (size_t i = 0; i < std::size(tags); i++)
        office.receive(1, 0, WEFT_ANY_TAG, &came[i], sizeof(came[i]), &receives[i]);
    for (uint64_t i = 0; i < std::size(tags); i++)
        ASSERT_TRUE(office.send(0, 1, tags[i], &i, sizeof(i), &unused));
    for (size_t i = 0; i < std::size(tags); i++) {
        office.finish(1, receives[i].done);
        EXPECT_EQ(receives[i].tag, tags[i]) << "receive " << i;
        EXPECT_EQ(came[i], i);
    }
}

// A lane that is filled to its end holds what was sent: lines that the sender takes back ahead of his messages are those that were read.
// Over many laps, with room for one message more or less each time.
TEST(MailboxAlone, AFullLane) {
    threads::Watchdog watchdog(60);
    Office office(2, 1000, 1 << 20);
    threads::Random random(7);
    std::vector<unsigned char> out(1000), in(1000);
    intra_send unused;
    uint64_t sent = 0, received = 0, full = 0;
    auto fill = [&](uint64_t n) {
        for (size_t i = 0; i < out.size(); i++)
            out[i] = static_cast<unsigned char>(n * 29 + i);
        return 8 + n * 37 % 700 / (n % 3 * 10 + 1);
    };
    auto receive = [&] {
        intra_receive one;
        size_t bytes = fill(received);
        office.receive(1, 0, int(received % 100), in.data(), in.size(), &one);
        office.finish(1, one.done);
        ASSERT_EQ(one.got_bytes, bytes);
        ASSERT_TRUE(std::equal(in.begin(), in.begin() + long(bytes), out.begin())) << "message " << received;
        received++;
    };
    size_t first = fill(sent);
    ASSERT_TRUE(office.send(0, 1, 0, out.data(), first, &unused)) << "makes the lane";
    for (sent++; full < 200;) {
        size_t bytes = fill(sent);
        intra_lane *lane = intra_mail_open_lane(&office.box(0), &office.box(1), 1, bytes);
        if (lane) {
            intra_lane_send_copy(lane, int(sent++ % 100), out.data(), bytes);
            continue;
        }
        if (intra_lane_has_room(office.box(0).ways[1], bytes, false))
            continue; // he knows now
        full++;
        for (uint64_t some = random.below(sent - received) + 1; some && !HasFatalFailure(); some--)
            receive();
        ASSERT_FALSE(HasFatalFailure());
    }
    while (received < sent && !HasFatalFailure())
        receive();
}

// What nobody receives is freed with the mailbox (LeakSanitizer looks).
TEST(MailboxAlone, UnreceivedMessagesAreFreed) {
    Office office(3, 1000, 1 << 20);
    office.box(2).takes_all = true;
    char bytes[900] = {};
    intra_send unused;
    for (int n = 0; n < 200; n++)
        ASSERT_TRUE(office.send(n % 2, 2, n, bytes, size_t(n) * 4, &unused));
    intra_mail_progress(&office.box(2));
    for (int n = 0; n < 200; n++)
        ASSERT_TRUE(office.send(n % 2, 2, n, bytes, size_t(n) * 4, &unused));
}

} // namespace
