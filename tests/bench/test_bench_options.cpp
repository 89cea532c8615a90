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
    EXPECT_EQ(parse({"limits"}, true, &options), -1);
    EXPECT_EQ(parse({"bcast", "--level", "process"}, true, &options), -1);
}

} // namespace
