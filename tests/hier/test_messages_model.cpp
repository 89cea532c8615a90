// SPDX-License-Identifier: BSD-3-Clause
// The check of random programs: it accepts what MPI allows and finds each kind of fault; and programs are alike from a seed.
#include "messages_model.h"
#include <gtest/gtest.h>

using messages::contradiction;
using messages::Kind;
using messages::Message;
using messages::no_message;
using messages::Operation;
using messages::Program;
using messages::Receive;

namespace {

constexpr int any = -1;

// Messages to rank 0 of phase 0, as sent.
Program with(std::vector<Message> messages) {
    Program program(1, 4);
    program.messages = std::move(messages);
    return program;
}

std::string said(const std::vector<Message> &messages, const std::vector<Receive> &receives) {
    return contradiction(with(messages), 0, 0, receives);
}

const std::vector<Message> two_of_one = {{1, 0, 5, 0, 8}, {1, 0, 5, 0, 8}};
const std::vector<Message> one_of_two = {{1, 0, 5, 0, 8}, {2, 0, 5, 0, 8}};

} // namespace

TEST(MessagesModel, AcceptsWhatIsAllowed) {
    EXPECT_EQ(said({}, {}), "");
    EXPECT_EQ(said(two_of_one, {{{1, 5}, 1, 0, 3}, {{any, any}, 2, 1, 4}}), "");
    // Either sender may be the first.
    EXPECT_EQ(said(one_of_two, {{{any, 5}, 1, 0, 3}, {{any, 5}, 2, 1, 4}}), "");
    EXPECT_EQ(said(one_of_two, {{{any, 5}, 1, 1, 3}, {{any, 5}, 2, 0, 4}}), "");
    // The second message overtakes the first, which its receive does not match.
    EXPECT_EQ(said({{1, 0, 5, 0, 8}, {1, 0, 6, 0, 8}}, {{{1, 6}, 1, 1, 2}, {{1, 5}, 3, 0, 4}}), "");
    // Known in another order than received.
    EXPECT_EQ(said(two_of_one, {{{1, 5}, 1, 0, 9}, {{1, 5}, 2, 1, 4}}), "");
    // Taken back before the message came.
    EXPECT_EQ(said({two_of_one[0]}, {{{1, 5}, 1, no_message, 0, 2}, {{1, 5}, 3, 0, 4}}), "");
    EXPECT_EQ(said({}, {{{1, 5}, 1, no_message, 0, 2}}), "");
}

TEST(MessagesModel, FindsWhatIsLostTwiceOrWrong) {
    EXPECT_NE(said(two_of_one, {{{1, 5}, 1, 0, 2}}), "");
    EXPECT_NE(said(two_of_one, {{{1, 5}, 1, 0, 2}, {{1, 5}, 1, 0, 2}}), "");
    EXPECT_NE(said({two_of_one[0]}, {{{1, 5}, 1, 0, 2}, {{1, 5}, 1, 0, 2}}), "") << "twice";
    EXPECT_NE(said({two_of_one[0]}, {{{2, 5}, 1, 0, 2}}), "") << "another source";
    EXPECT_NE(said({two_of_one[0]}, {{{any, 6}, 1, 0, 2}}), "") << "another tag";
    EXPECT_NE(said({{1, 2, 5, 0, 8}}, {{{1, 5}, 1, 0, 2}}), "") << "to another rank";
    EXPECT_NE(said({{1, 0, 5, 1, 8}}, {{{1, 5}, 1, 0, 2}}), "") << "of another phase";
    EXPECT_NE(said({}, {{{1, 5}, 1, no_message, 0, 0}}), "") << "neither a message nor taken back";
}

TEST(MessagesModel, FindsOvertaking) {
    EXPECT_NE(said(two_of_one, {{{1, 5}, 1, 1, 3}, {{1, 5}, 2, 0, 4}}), "");
    EXPECT_NE(said(two_of_one, {{{any, any}, 1, 1, 3}, {{1, 5}, 2, 0, 4}}), "");
    EXPECT_NE(said({{1, 0, 5, 0, 8}, {1, 0, 6, 0, 8}}, {{{1, any}, 1, 1, 2}, {{1, 5}, 3, 0, 4}}), "");
}

TEST(MessagesModel, FindsAnOlderReceivePassedBy) {
    // It was posted and nothing took its place, yet a younger one got the message before it was taken back.
    EXPECT_NE(said({two_of_one[0]}, {{{1, 5}, 1, no_message, 0, 9}, {{any, any}, 2, 0, 4}}), "");
    // Likewise: message 0 came before message 1 of the same sender, hence before the older receive was taken back.
    EXPECT_NE(
        said({{1, 0, 5, 0, 8}, {1, 0, 6, 0, 8}}, {{{1, 5}, 1, no_message, 0, 5}, {{1, 6}, 2, 1, 4}, {{1, 5}, 6, 0, 7}}),
        "");
    EXPECT_EQ(
        said({{1, 0, 5, 0, 8}, {1, 0, 6, 0, 8}}, {{{1, 5}, 1, no_message, 0, 3}, {{1, 6}, 2, 1, 4}, {{1, 5}, 6, 0, 7}}),
        "");
}

// Each step is allowed, and all of them together are not: 3 before 0 before 1 before 2 before 3.
TEST(MessagesModel, FindsACycle) {
    std::vector<Message> sent = {{1, 0, 5, 0, 8}, {1, 0, 6, 0, 8}, {2, 0, 6, 0, 8}, {2, 0, 5, 0, 8}};
    // Receive (any, 5) got 3 although 0 came to a younger one: 3 before 0. (any, 6) got 1, 2 to a younger one: 1 before 2.
    std::vector<Receive> receives = {{{any, 5}, 1, 3, 9}, {{any, 6}, 2, 1, 9}, {{1, 5}, 3, 0, 9}, {{2, 6}, 4, 2, 9}};
    EXPECT_NE(said(sent, receives), "");
    std::swap(receives[1].message, receives[3].message);
    receives[3].pattern = {1, 6};
    EXPECT_EQ(said(sent, receives), "");
}

TEST(MessagesProgram, IsMadeOfItsSeed) {
    size_t operations = 0, waiting = 0, probed = 0, sync = 0, cancelled = 0, started = 0, exchanged = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        Program program(seed, 1 + int(seed % 8)), again(seed, 1 + int(seed % 8));
        ASSERT_EQ(program.messages.size(), again.messages.size());
        for (size_t i = 0; i < program.messages.size(); i++)
            ASSERT_EQ(program.messages[i].tag, again.messages[i].tag);
        for (const auto &list : program.operations)
            for (const Operation &operation : list) {
                operations++;
                waiting += operation.kind == Kind::receive && operation.handle < 0;
                probed += operation.way != messages::Way::plain;
                sync += operation.kind == Kind::send && operation.mode == messages::Mode::synchronous;
                cancelled += operation.kind == Kind::cancel;
                started += operation.kind == Kind::start;
                exchanged += operation.kind == Kind::exchange;
            }
    }
    EXPECT_GT(operations, 10000u);
    for (size_t count : {waiting, probed, sync, cancelled, started, exchanged})
        EXPECT_GT(count, operations / 200) << "each kind is common";
}
