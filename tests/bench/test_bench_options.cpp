// SPDX-License-Identifier: BSD-3-Clause
// The command line: sizes, and what is refused.
#include <getopt.h>
#include <gtest/gtest.h>
#include <options.h>
#include <string>
#include <vector>

namespace {

std::vector<size_t> sizes_of(const std::string &text) {
    size_t sizes[BENCH_MOST_SIZES];
    int count = bench_parse_sizes(text.c_str(), sizes);
    return count < 0 ? std::vector<size_t>() : std::vector<size_t>(sizes, sizes + count);
}

TEST(Sizes, SingleRangeAndList) {
    using V = std::vector<size_t>;
    EXPECT_EQ(sizes_of("8"), V({8}));
    EXPECT_EQ(sizes_of("3k"), V({3072}));
    EXPECT_EQ(sizes_of("2G"), V({size_t{2} << 30}));
    EXPECT_EQ(sizes_of("8..64"), V({8, 16, 32, 64}));
    EXPECT_EQ(sizes_of("3..20"), V({3, 6, 12}));
    EXPECT_EQ(sizes_of("8..8"), V({8}));
    EXPECT_EQ(sizes_of("8,1K,512K..1M"), V({8, 1024, 524288, 1048576}));
    EXPECT_EQ(sizes_of("8..4M").size(), 20u);
}

TEST(Sizes, WhatIsNoneIsRefused) {
    for (const char *text : {"", "0", "-8", " 8", "8 ", "8B", "K", "8..", "..8", "16..8", "8,", ",8", "8...16", "0x8",
                             "18446744073709551616", "18446744073709551615K", "1e3"})
        EXPECT_TRUE(sizes_of(text).empty()) << '"' << text << '"';
    std::string many = "8";
    for (int i = 0; i < BENCH_MOST_SIZES; i++)
        many += ",8";
    EXPECT_TRUE(sizes_of(many).empty());
}

TEST(Sizes, TheLargestRangeEnds) {
    EXPECT_EQ(sizes_of("1..18446744073709551615").size(), 64u);
}

int parse(std::vector<std::string> words, bool peer, bench_options *options) {
    std::vector<char *> argv;
    words.insert(words.begin(), "bench");
    for (std::string &word : words)
        argv.push_back(&word[0]);
    argv.push_back(nullptr);
    optind = 0; // getopt starts anew
    opterr = 0;
    return bench_parse(static_cast<int>(words.size()), argv.data(), peer, options);
}

TEST(CommandLine, ReadsAllOptionsInAnyOrder) {
    bench_options options;
    ASSERT_EQ(parse({"--check", "allreduce", "--bytes=1K", "--level", "process", "--format", "json", "--repeats", "9"},
                    false, &options),
              0);
    EXPECT_EQ(options.operation, BENCH_ALLREDUCE);
    EXPECT_TRUE(options.check && options.process_level && !options.help);
    EXPECT_EQ(options.format, BENCH_JSON);
    EXPECT_EQ(options.repeats, 9u);
    ASSERT_EQ(options.size_count, 1);
    EXPECT_EQ(options.sizes[0], 1024u);
}

TEST(CommandLine, Defaults) {
    bench_options options;
    ASSERT_EQ(parse({"barrier"}, false, &options), 0);
    EXPECT_FALSE(options.check || options.process_level || options.help);
    EXPECT_EQ(options.format, BENCH_TABLE);
    EXPECT_EQ(options.repeats, 0u);
    EXPECT_EQ(options.size_count, 20);
}

TEST(CommandLine, APeerHasNeitherLimitsNorLevels) {
    bench_options options;
    EXPECT_EQ(parse({"bcast"}, true, &options), 0);
    EXPECT_TRUE(options.process_level);
    EXPECT_EQ(parse({"limits"}, true, &options), -1);
    EXPECT_EQ(parse({"bcast", "--level", "process"}, true, &options), -1);
    EXPECT_EQ(parse({"scan", "--nonblocking"}, true, &options), 0);
    EXPECT_EQ(parse({"scan", "--overlap"}, true, &options), 0);
}

TEST(CommandLine, ModesAddUp) {
    const unsigned blocking = 1u << BENCH_BLOCKING, nonblocking = 1u << BENCH_NONBLOCKING,
                   persistent = 1u << BENCH_PERSISTENT;
    bench_options options;
    ASSERT_EQ(parse({"bcast"}, false, &options), 0);
    EXPECT_EQ(options.modes, blocking);
    ASSERT_EQ(parse({"bcast", "--level=process", "--nonblocking"}, false, &options), 0);
    EXPECT_EQ(options.modes, nonblocking);
    ASSERT_EQ(parse({"bcast", "--level=process", "--persistent", "--blocking"}, false, &options), 0);
    EXPECT_EQ(options.modes, blocking | persistent);
}

TEST(CommandLine, TouchIsForCollectivesThatAreTimed) {
    bench_options options;
    ASSERT_EQ(parse({"bcast", "--touch"}, true, &options), 0);
    EXPECT_TRUE(options.touch);
    ASSERT_EQ(parse({"limits", "--touch"}, false, &options), 0);
    EXPECT_TRUE(options.touch);
    EXPECT_EQ(parse({"bcast", "--touch", "--overlap"}, false, &options), -1);
    EXPECT_EQ(parse({"pingpong", "--touch"}, false, &options), -1);
}

TEST(CommandLine, OverlapIsNonblockingUnlessPersistent) {
    bench_options options;
    ASSERT_EQ(parse({"bcast", "--level=process", "--overlap", "--tests", "12"}, false, &options), 0);
    EXPECT_TRUE(options.overlap);
    EXPECT_EQ(options.modes, 1u << BENCH_NONBLOCKING);
    EXPECT_EQ(options.tests, 12);
    ASSERT_EQ(parse({"bcast", "--level=process", "--overlap", "--persistent"}, false, &options), 0);
    EXPECT_EQ(options.modes, 1u << BENCH_PERSISTENT);
    EXPECT_EQ(options.tests, 0);
    EXPECT_EQ(parse({"bcast", "--level=process", "--overlap", "--blocking"}, false, &options), -1);
    EXPECT_EQ(parse({"bcast", "--level=process", "--tests", "12"}, false, &options), -1);
    EXPECT_EQ(parse({"bcast", "--level=process", "--overlap", "--tests", "0"}, false, &options), -1);
}

TEST(CommandLine, BothLevelsHaveAllCollectivesInAllForms) {
    bench_options options;
    for (int i = 0; i < BENCH_COLLECTIVES; i++)
        for (const char *level : {"thread", "process"})
            for (const char *form : {"--blocking", "--nonblocking", "--persistent"}) {
                std::string name = bench_operation_name((enum bench_operation)i);
                EXPECT_EQ(parse({name, "--level", level, form}, false, &options), 0) << name << level << form;
            }
}

TEST(CommandLine, MessagesHavePairsOnBothLevels) {
    bench_options options;
    for (int operation = BENCH_PINGPONG; operation < BENCH_OPERATIONS; operation++) {
        std::string name = bench_operation_name(static_cast<bench_operation>(operation));
        ASSERT_EQ(parse({name}, false, &options), 0) << name;
        EXPECT_EQ(options.operation, operation);
        EXPECT_EQ(options.pairs, BENCH_PAIRS_UNSAID);
        EXPECT_FALSE(options.overlap);
        ASSERT_EQ(parse({name, "--pair", "same-node", "--check"}, false, &options), 0) << name;
        EXPECT_EQ(options.pairs, BENCH_SAME_NODE);
        ASSERT_EQ(parse({name, "--pair=other-node", "--level=process"}, false, &options), 0) << name;
        EXPECT_EQ(options.pairs, BENCH_OTHER_NODE);
        EXPECT_EQ(parse({name}, true, &options), 0) << name;
        EXPECT_EQ(parse({name, "--pair", "same-node", "--level", "process"}, false, &options), -1) << name;
        EXPECT_EQ(parse({name, "--pair", "same-node"}, true, &options), -1) << "peers have processes only";
        for (const char *option : {"--blocking", "--nonblocking", "--persistent", "--overlap"})
            EXPECT_EQ(parse({name, option, "--level", "process"}, false, &options), -1) << name << ' ' << option;
    }
    EXPECT_EQ(parse({"pingpong", "--pair", "node"}, false, &options), -1);
    EXPECT_EQ(parse({"bcast", "--pair", "other-node"}, false, &options), -1);
    EXPECT_EQ(parse({"limits", "--pair", "other-node"}, false, &options), -1);
}

TEST(CommandLine, OfTheMessagesOverlapHasTestsAndTheRateSmallSizes) {
    bench_options options;
    ASSERT_EQ(parse({"overlap", "--tests", "7"}, false, &options), 0);
    EXPECT_EQ(options.tests, 7);
    EXPECT_EQ(parse({"pingpong", "--tests", "7"}, false, &options), -1);
    ASSERT_EQ(parse({"message-rate"}, false, &options), 0);
    EXPECT_EQ(options.sizes[options.size_count - 1], 1024u);
    ASSERT_EQ(parse({"stream"}, false, &options), 0);
    EXPECT_EQ(options.sizes[options.size_count - 1], size_t{4} << 20);
}

TEST(Operations, BlocksAreTheLeastThatContributeSoMuch) {
    EXPECT_EQ(bench_block_bytes(BENCH_BCAST, 17, 3), 17u);
    EXPECT_EQ(bench_block_bytes(BENCH_GATHERV, 17, 3), 17u);
    EXPECT_EQ(bench_block_bytes(BENCH_ALLTOALLW, 17, 3), 6u);
    EXPECT_EQ(bench_block_bytes(BENCH_SCAN, 17, 3), 24u);
    EXPECT_EQ(bench_block_bytes(BENCH_REDUCE_SCATTER, 17, 3), 8u);
    EXPECT_EQ(bench_block_bytes(BENCH_REDUCE_SCATTER_BLOCK, 25, 3), 16u);
    EXPECT_EQ(bench_block_bytes(BENCH_PINGPONG, 17, 3), 17u);
    EXPECT_EQ(bench_block_bytes(BENCH_DATATYPES, 65, 3), 128u);
    for (int operation = BENCH_BCAST; operation < BENCH_COLLECTIVES; operation++)
        for (size_t bytes = 1; bytes < 100; bytes++) {
            bench_call call = {};
            call.operation = static_cast<bench_operation>(operation);
            call.block = bench_block_bytes(call.operation, bytes, 3);
            EXPECT_GE(bench_contributed_bytes(&call, 3), bytes);
            call.block -= bench_unit_bytes(call.operation);
            EXPECT_LT(bench_contributed_bytes(&call, 3), bytes);
        }
}

} // namespace
