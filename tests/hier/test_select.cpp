// SPDX-License-Identifier: BSD-3-Clause
// The selector: what WEFT_ALGORITHM may say, what is refused with which sentence, and that there is a choice for everything.
#include <climits>
#include <gtest/gtest.h>
#include <set>
#include <string>
extern "C" {
#include <core/config.h>
#include <core/error.h>
#include <hier/select.h>
}

namespace {

constexpr size_t inline_bytes = 1024;

class Selector : public ::testing::Test {
  protected:
    void parse(const std::string &text) {
        ASSERT_EQ(hier_selector_init(&selector, text.c_str()), WEFT_SUCCESS) << weft_last_error();
    }
    void refuse(const std::string &text, const std::string &sentence) {
        EXPECT_EQ(hier_selector_init(&selector, text.c_str()), WEFT_ERR_CONFIG) << text;
        EXPECT_EQ(weft_last_error(), sentence);
    }
    std::string choice(inter_collective collective, int nodes, size_t bytes, bool commutative = true) {
        hier_choice made = hier_select(&selector, collective, nodes, bytes, commutative);
        return std::string(made.process->name) + "/" + hier_thread_algorithm_name(made.thread);
    }
    // By the thread-level algorithm; the only choice of a collective that threads do not have says nothing.
    static bool served(inter_collective collective, hier_thread_algorithm algorithm) {
        for (int other = 0; other < HIER_THREAD_ALGORITHMS; other++)
            if (hier_thread_algorithm_exists(collective, hier_thread_algorithm(other)))
                return hier_thread_algorithm_exists(collective, algorithm);
        return algorithm == HIER_FLAGS;
    }
    hier_selector selector{};
};

} // namespace

TEST_F(Selector, HasAChoiceForEverything) {
    parse("");
    for (int kind = 0; kind < INTER_COLLECTIVES; kind++)
        for (int nodes : {1, 2, 4, 5, 1000, INT_MAX})
            for (size_t bytes : {size_t(0), size_t(1), inline_bytes, inline_bytes + 1, SIZE_MAX})
                for (bool commutative : {false, true}) {
                    hier_choice made = hier_select(&selector, inter_collective(kind), nodes, bytes, commutative);
                    ASSERT_NE(made.process, nullptr);
                    EXPECT_TRUE(inter_is(inter_collective(kind), made.process->collectives));
                    EXPECT_TRUE(served(inter_collective(kind), made.thread));
                    EXPECT_TRUE(commutative || !made.process->commutes);
                    EXPECT_TRUE(made.thread != HIER_INLINE || bytes <= inline_bytes);
                }
}

TEST_F(Selector, EveryRuleNamesAlgorithmsThatExist) {
    parse("");
    for (int kind = 0; kind < INTER_COLLECTIVES; kind++) {
        const hier_rule *rule = selector.rules[kind];
        ASSERT_NE(rule, nullptr);
        for (bool last = false; !last; rule++) {
            ASSERT_EQ(rule->collective, kind) << "the last rule of a collective fits everything";
            inter_algorithm algorithm;
            ASSERT_TRUE(inter_algorithm_find(rule->collective, rule->process, &algorithm)) << rule->process;
            EXPECT_TRUE(served(rule->collective, rule->thread));
            last = rule->max_nodes == INT_MAX && rule->max_bytes == SIZE_MAX && !algorithm.commutes;
        }
    }
}

// Of gatherv and scatterv a node that is not the root's knows its own bytes only.
TEST_F(Selector, TheRulesOfRootsCountsAskForNoOthers) {
    parse("gatherv=MST,scatterv=MST");
    for (inter_collective kind : {INTER_GATHERV, INTER_SCATTERV})
        for (int nodes : {1, 2, 9, 1000, INT_MAX}) {
            EXPECT_TRUE(hier_select(&selector, kind, nodes, 0, true).process->needs_counts);
            EXPECT_FALSE(hier_select_rule(&selector, kind, nodes, 0, true).process->needs_counts);
        }
}

TEST_F(Selector, TheFirstRuleThatFitsWins) {
    parse("");
    EXPECT_EQ(choice(INTER_BCAST, 4, inline_bytes), "nbFT/inline");
    EXPECT_EQ(choice(INTER_BCAST, 5, inline_bytes), "MST/inline");
    EXPECT_EQ(choice(INTER_BCAST, 4, inline_bytes + 1), "MST/flags");
    EXPECT_EQ(choice(INTER_ALLREDUCE, 3, 8), "nbBDE/inline");
    EXPECT_EQ(choice(INTER_ALLREDUCE, 2, 1 << 20), "nbBDE/slices");
    EXPECT_EQ(choice(INTER_ALLREDUCE, 3, 1 << 20), "RAB/slices");
}

TEST_F(Selector, EitherSideOfTheSlashMayBeLeftOut) {
    parse("bcast=nbFT,allreduce=/counter,reduce=MST/slices,barrier=/counter");
    EXPECT_EQ(choice(INTER_BCAST, 100, 1 << 20), "nbFT/flags");
    EXPECT_EQ(choice(INTER_ALLREDUCE, 100, 8), "nbBDE/counter");
    EXPECT_EQ(choice(INTER_REDUCE, 100, 8), "MST/slices");
    EXPECT_EQ(choice(INTER_BARRIER, 1, 0), "DISS/counter");
    EXPECT_EQ(choice(INTER_GATHER, 100, 8), "MST/flags") << "not mentioned";
    parse("allreduce=");
    EXPECT_EQ(choice(INTER_ALLREDUCE, 3, 8), "nbBDE/inline") << "nothing is fixed";
}

TEST_F(Selector, ComposedNamesAndTheLastWordCount) {
    parse("allreduce=nbBDE/inline,allreduce=MSTReduce+nbFTBcast/slices");
    EXPECT_EQ(choice(INTER_ALLREDUCE, 3, 8), "MSTReduce+nbFTBcast/slices");
}

TEST_F(Selector, EveryAlgorithmCanBeForced) {
    std::set<std::string> forced;
    for (int kind = 0; kind < INTER_COLLECTIVES; kind++) {
        auto collective = inter_collective(kind);
        inter_algorithm algorithm;
        for (int index = 0; inter_algorithm_at(collective, index, &algorithm); index++)
            for (int thread = 0; thread < HIER_THREAD_ALGORITHMS; thread++) {
                if (!served(collective, hier_thread_algorithm(thread)))
                    continue;
                std::string pair = algorithm.name;
                if (hier_thread_algorithm_exists(collective, hier_thread_algorithm(thread)))
                    pair += std::string("/") + hier_thread_algorithm_name(hier_thread_algorithm(thread));
                parse(std::string(inter_collective_name(collective)) + "=" + pair);
                EXPECT_EQ(choice(collective, 3, 8).substr(0, pair.size()), pair);
                forced.insert(inter_collective_name(collective) + pair);
            }
    }
    EXPECT_GE(forced.size(), 200u);
}

TEST_F(Selector, SegmentsAreForcedWithANumber) {
    parse("bcast=CHAIN:1K,allreduce=RAB:4096/slices");
    EXPECT_EQ(choice(INTER_BCAST, 3, 1 << 20), "CHAIN:1K/flags");
    EXPECT_EQ(selector.overrides[INTER_BCAST].process.segment_bytes, 1024u);
    EXPECT_EQ(choice(INTER_ALLREDUCE, 3, 1 << 20), "RAB:4096/slices");
}

TEST_F(Selector, InlineGivesWayWhenItDoesNotFit) {
    parse("bcast=/inline,reduce=/inline,allreduce=/inline");
    EXPECT_EQ(choice(INTER_BCAST, 3, inline_bytes), "nbFT/inline");
    EXPECT_EQ(choice(INTER_BCAST, 3, inline_bytes + 1), "MST/flags");
    EXPECT_EQ(choice(INTER_REDUCE, 3, inline_bytes + 1), "MST/slices");
    EXPECT_EQ(choice(INTER_ALLREDUCE, 3, inline_bytes + 1), "nbBDE/slices");
}

TEST_F(Selector, WhatLosesRankOrderGivesWayToARule) {
    parse("allreduce=BKT/slices,reduce_scatter=nbBKT");
    EXPECT_EQ(choice(INTER_ALLREDUCE, 3, 8, true), "BKT/slices");
    EXPECT_EQ(choice(INTER_ALLREDUCE, 3, 8, false), "nbBDE/slices");
    EXPECT_EQ(choice(INTER_REDUCE_SCATTER, 3, 1 << 20, true), "nbBKT/slices");
    EXPECT_EQ(choice(INTER_REDUCE_SCATTER, 3, 1 << 20, false), "MSTReduce+MSTScatterv/slices");
    parse("");
    EXPECT_EQ(choice(INTER_REDUCE_SCATTER, 100, 1 << 10, true), "nbBDE/inline") << "a rule's own";
    EXPECT_EQ(choice(INTER_REDUCE_SCATTER, 100, 1 << 10, false), "MSTReduce+MSTScatterv/inline");
}

TEST_F(Selector, MistakesAreNamed) {
    refuse("allreduce", "WEFT_ALGORITHM: \"allreduce\" is not of the form collective=PROCESS/thread");
    refuse("bcast=MST,nonsense", "WEFT_ALGORITHM: \"nonsense\" is not of the form collective=PROCESS/thread");
    refuse("sort=BDE", "WEFT_ALGORITHM: there is no collective \"sort\"");
    refuse("scan=BDE/flags",
           "WEFT_ALGORITHM: scan has no thread-level algorithm \"flags\" (see weft-info --algorithms)");
    refuse("=MST", "WEFT_ALGORITHM: there is no collective \"\"");
    refuse(" bcast=MST", "WEFT_ALGORITHM: there is no collective \" bcast\"");
    refuse("bcast=mst", "WEFT_ALGORITHM: bcast has no process-level algorithm \"mst\" (see weft-info --algorithms)");
    refuse("barrier=MST/flags",
           "WEFT_ALGORITHM: barrier has no process-level algorithm \"MST\" (see weft-info --algorithms)");
    refuse("bcast=MST/slices",
           "WEFT_ALGORITHM: bcast has no thread-level algorithm \"slices\" (see weft-info --algorithms)");
    refuse("bcast=MST/", "WEFT_ALGORITHM: bcast has no thread-level algorithm \"\" (see weft-info --algorithms)");
    refuse("bcast=MST/flags/inline",
           "WEFT_ALGORITHM: bcast has no thread-level algorithm \"flags/inline\" (see weft-info --algorithms)");
    refuse(std::string(CORE_ALGORITHM_BYTES, 'x'), "WEFT_ALGORITHM is longer than 1023 bytes");
    refuse(std::string(100000, ','), "WEFT_ALGORITHM is longer than 1023 bytes");
}

TEST_F(Selector, TheLongestTextIsRead) {
    std::string text = "bcast=nbFT";
    text.append(CORE_ALGORITHM_BYTES - 1 - text.size(), ',');
    parse(text);
    EXPECT_EQ(choice(INTER_BCAST, 100, 8), "nbFT/inline");
}
