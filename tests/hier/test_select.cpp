// SPDX-License-Identifier: BSD-3-Clause
// The selector: what WEFT_ALGORITHM may say, what is refused with which sentence, and that there is a choice for everything.
#include "effort.h"
#include <climits>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <string>
#include <vector>
extern "C" {
#include <core/config.h>
#include <core/error.h>
#include <hier/select.h>
#include <hier/world.h>
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
    static hier_key key_of(inter_collective collective, int nodes, size_t bytes, bool commutative = true,
                           int threads = 1) {
        return {collective, nodes, threads, bytes, commutative, false, true, false, nodes > 1};
    }
    std::string choice(inter_collective collective, int nodes, size_t bytes, bool commutative = true) {
        hier_choice made = hier_select(&selector, key_of(collective, nodes, bytes, commutative));
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
                for (int how = 0; how < 32; how++) {
                    bool commutative = how & 1, bracketed = how & 2;
                    if (bracketed && !inter_is(inter_collective(kind), INTER_REDUCTIONS))
                        continue;
                    hier_key key = key_of(inter_collective(kind), nodes, bytes, commutative, INT_MAX);
                    key.bracketed = bracketed;
                    key.one_host = how & 4;
                    key.reads = how & 8;
                    key.crowded = how & 16;
                    hier_choice made = hier_select(&selector, key);
                    EXPECT_TRUE(!bracketed || made.process->bracketed);
                    ASSERT_NE(made.process, nullptr);
                    EXPECT_TRUE(inter_is(inter_collective(kind), made.process->collectives));
                    EXPECT_TRUE(served(inter_collective(kind), made.thread));
                    EXPECT_TRUE(commutative || !made.process->commutes);
                    EXPECT_TRUE(made.thread != HIER_INLINE || hier_fits_inline(key));
                    EXPECT_TRUE(made.thread != HIER_DIRECT || key.reads);
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
            EXPECT_EQ(hier_rule_algorithm(&selector, rule)->segment_bytes, rule->segment_bytes) << rule->process;
            EXPECT_TRUE(served(rule->collective, rule->thread));
            EXPECT_EQ(rule->thread == HIER_DIRECT, rule->origin == HIER_READS);
            hier_key largest = key_of(rule->collective, rule->max_nodes, rule->max_bytes, true, rule->max_threads);
            EXPECT_TRUE(rule->thread != HIER_INLINE || hier_fits_inline(largest)) << rule->process;
            last = rule->max_nodes == INT_MAX && rule->max_threads == INT_MAX && rule->max_bytes == SIZE_MAX &&
                   !algorithm.commutes;
        }
    }
}

// Of gatherv and scatterv a node that is not the root's knows its own bytes only.
TEST_F(Selector, TheRulesOfRootsCountsAskForNoOthers) {
    parse("gatherv=MST,scatterv=MST");
    for (inter_collective kind : {INTER_GATHERV, INTER_SCATTERV})
        for (int nodes : {1, 2, 9, 1000, INT_MAX}) {
            EXPECT_TRUE(hier_select(&selector, key_of(kind, nodes, 0)).process->needs_counts);
            EXPECT_FALSE(hier_select_unfixed(&selector, key_of(kind, nodes, 0)).process->needs_counts);
        }
}

// What only some ranks know must not decide: the others would choose something else.
TEST_F(Selector, RulesAskForNoBytesThatOnlySomeRanksKnow) {
    for (size_t i = 0; i < hier_rules_count; i++)
        for (inter_collective kind : {INTER_GATHERV, INTER_SCATTERV, INTER_ALLTOALLV, INTER_ALLTOALLW})
            EXPECT_TRUE(hier_rules[i].collective != kind || hier_rules[i].max_bytes == SIZE_MAX) << i;
}

// Against a reference that looks at every row of the table and keeps the first that fits.
TEST_F(Selector, TheFirstRowThatFitsWins) {
    parse("");
    std::mt19937 random(5);
    std::set<const hier_rule *> used;
    auto look = [&](const hier_key &key) {
        const hier_rule *first = nullptr;
        for (const hier_rule *row = hier_rules + hier_rules_count; row-- != hier_rules;) {
            inter_algorithm algorithm;
            ASSERT_TRUE(inter_algorithm_find(row->collective, row->process, &algorithm));
            if (row->collective == key.collective && key.nodes <= row->max_nodes && key.threads <= row->max_threads &&
                key.bytes <= row->max_bytes && (key.commutative || !algorithm.commutes) &&
                (!key.bracketed || algorithm.bracketed) &&
                (key.one_host ||
                 (row->origin != HIER_HOST && row->origin != HIER_CROWD && row->origin != HIER_CORES)) &&
                (key.crowded || (row->origin != HIER_CROWD && row->origin != HIER_CROWDS)) &&
                (!key.crowded || row->origin != HIER_CORES) && (key.reads || row->origin != HIER_READS))
                first = row;
        }
        ASSERT_EQ(hier_select_rule(&selector, key), first)
            << inter_collective_name(key.collective) << " nodes " << key.nodes << " bytes " << key.bytes;
        used.insert(first);
    };
    for (int round = 0; round < effort::rounds(100000); round++) {
        hier_key key = key_of(inter_collective(random() % INTER_COLLECTIVES), 1 << random() % 12,
                              random() % 8 ? size_t(1) << random() % 26 : 0, random() % 4, 1 << random() % 8);
        key.nodes += int(random() % size_t(key.nodes)) - (key.nodes > 1);
        key.bytes += random() % 3 - (key.bytes > 0);
        key.bracketed = inter_is(key.collective, INTER_REDUCTIONS) && random() % 4 == 0;
        key.one_host = random() % 2;
        key.reads = key.one_host && random() % 2;
        key.crowded = random() % 2;
        look(key);
    }
    for (const hier_rule *row = hier_rules; row != hier_rules + hier_rules_count; row++) // at its limits
        for (int how = 0; how < 32; how++) {
            hier_key key = key_of(row->collective, row->max_nodes, row->max_bytes, how & 1, row->max_threads);
            key.bracketed = inter_is(row->collective, INTER_REDUCTIONS) && how & 2;
            key.one_host = how & 4;
            key.reads = how & 8;
            key.crowded = how & 16;
            look(key);
        }
    for (size_t i = 0; i < hier_rules_count; i++)
        EXPECT_TRUE(used.count(&hier_rules[i]))
            << "no key reaches row " << i << " of " << inter_collective_name(hier_rules[i].collective);
}

// Whatever is asked for, operands meet in the fixed bracketing.
TEST_F(Selector, OverridesWithBracketsOfTheirOwnGiveWay) {
    hier_key key = key_of(INTER_ALLREDUCE, 3, 65536);
    key.bracketed = true;
    for (const char *text : {"allreduce=RAB/tree", "allreduce=MSTReduce+MSTBcast/counter", "allreduce=/inline",
                             "allreduce=FOLDReduce+MSTBcast"}) {
        parse(text);
        hier_choice made = hier_select(&selector, key);
        EXPECT_STREQ(made.process->name, "SFOLD") << text;
        EXPECT_EQ(made.thread, HIER_SLICES) << text;
    }
    parse("allreduce=FOLD:4K/slices");
    EXPECT_STREQ(hier_select(&selector, key).process->name, "FOLD:4K");
}

TEST_F(Selector, ThreadsANodeCount) {
    parse("");
    auto name = [&](inter_collective kind, int threads, size_t bytes) {
        return std::string(hier_select(&selector, key_of(kind, 100, bytes, true, threads)).process->name);
    };
    EXPECT_EQ(name(INTER_ALLTOALL, 1, 8 * 100), "BRUCK");
    EXPECT_EQ(name(INTER_ALLTOALL, 2, 8 * 100), "nb1FT") << "threads exchange blocks of unequal size";
    EXPECT_EQ(name(INTER_SCATTER, 1, 1024), "MST");
    EXPECT_EQ(name(INTER_SCATTER, 16, 64), "MST");
    EXPECT_EQ(name(INTER_SCATTER, 16, 1024), "nbFT") << "a node's block has the bytes of all its threads";
    EXPECT_EQ(name(INTER_SCATTER, 17, 64), "nbFT");
}

TEST_F(Selector, WhyARowDoesNotServe) {
    parse("");
    hier_rule row = {INTER_REDUCE_SCATTER, 4, 8, 100, "nbBKT", 0, HIER_SLICES, HIER_MODEL};
    hier_selector one = selector;
    one.table = &row;
    ASSERT_TRUE(inter_algorithm_find(INTER_REDUCE_SCATTER, "nbBKT", &one.process[0]));
    auto miss = [&](int nodes, int threads, size_t bytes, bool commutative) {
        return hier_rule_misses(&one, &row, key_of(INTER_REDUCE_SCATTER, nodes, bytes, commutative, threads));
    };
    EXPECT_EQ(miss(4, 8, 100, true), HIER_FITS);
    EXPECT_EQ(miss(5, 9, 101, false), HIER_MISS_NODES);
    EXPECT_EQ(miss(4, 9, 101, false), HIER_MISS_THREADS);
    EXPECT_EQ(miss(4, 8, 101, false), HIER_MISS_BYTES);
    EXPECT_EQ(miss(4, 8, 100, false), HIER_MISS_ORDER);
    row.origin = HIER_HOST;
    EXPECT_EQ(miss(4, 8, 100, true), HIER_FITS);
    hier_key key = key_of(INTER_REDUCE_SCATTER, 4, 100, false, 8);
    key.one_host = false;
    EXPECT_EQ(hier_rule_misses(&one, &row, key), HIER_MISS_HOSTS);
    row.origin = HIER_CROWD;
    EXPECT_EQ(hier_rule_misses(&one, &row, key), HIER_MISS_HOSTS);
    EXPECT_EQ(miss(4, 8, 100, true), HIER_MISS_CROWD);
    row.origin = HIER_CROWDS;
    EXPECT_EQ(miss(4, 8, 100, true), HIER_MISS_CROWD);
    key.crowded = key.commutative = true;
    EXPECT_EQ(hier_rule_misses(&one, &row, key), HIER_FITS) << "on several hosts";
    row.origin = HIER_CROWD;
    key.one_host = key.crowded = key.commutative = true;
    EXPECT_EQ(hier_rule_misses(&one, &row, key), HIER_FITS);
    row.origin = HIER_CORES;
    EXPECT_EQ(hier_rule_misses(&one, &row, key), HIER_MISS_CORES);
    EXPECT_EQ(miss(4, 8, 100, true), HIER_FITS);
    key.one_host = false;
    EXPECT_EQ(hier_rule_misses(&one, &row, key), HIER_MISS_HOSTS);
    key.one_host = true;
    row.origin = HIER_READS;
    EXPECT_EQ(miss(4, 8, 100, true), HIER_FITS);
    key.reads = false;
    EXPECT_EQ(hier_rule_misses(&one, &row, key), HIER_MISS_READS);
}

// What is read directly needs other processes, and their leave.
TEST_F(Selector, DirectReadsAreForThoseWhoMay) {
    parse("alltoall=PAIR/direct");
    hier_key key = key_of(INTER_ALLTOALL, 3, 8);
    EXPECT_EQ(hier_select(&selector, key).thread, HIER_DIRECT);
    key.reads = false;
    EXPECT_NE(hier_select(&selector, key).thread, HIER_DIRECT);
    EXPECT_STREQ(hier_select(&selector, key).process->name, "PAIR");
}

// Long ones go directly; who names the process-level algorithm has it carry the data.
TEST_F(Selector, WhatIsForcedBetweenProcessesCarriesTheData) {
    parse("");
    EXPECT_EQ(choice(INTER_ALLTOALL, 2, 1 << 20), "nb1FT/direct");
    parse("alltoall=PAIR");
    EXPECT_EQ(choice(INTER_ALLTOALL, 2, 1 << 20), "PAIR/flags");
    parse("alltoall=PAIR/direct");
    EXPECT_EQ(choice(INTER_ALLTOALL, 2, 1 << 20), "PAIR/direct");
    parse("alltoall=PAIR/inline"); // which gives way: of so many bytes
    EXPECT_EQ(choice(INTER_ALLTOALL, 2, 1 << 20), "PAIR/flags");
}

// Four processes on the hosts 7, 7, 7 and 8, and nodes that are some of them.
TEST(Layout, TellsWhetherItsNodesAreOfOneHost) {
    inter_bootstrap bootstrap{};
    bootstrap.host = [](inter_bootstrap *, int process) { return process == 3 ? 8 : 7; };
    hier_world world{};
    world.bootstrap = &bootstrap;
    const size_t offsets[] = {0, 2, 5, 6, 8};
    auto survey = [&](std::vector<int> processes, bool all = false) {
        hier_layout layout{};
        layout.nodes = int(processes.size());
        layout.offsets = offsets;
        layout.processes = all ? nullptr : processes.data();
        hier_world_survey(&world, &layout);
        EXPECT_EQ(layout.threads, layout.nodes > 1 ? 3 : 2);
        return layout.one_host;
    };
    EXPECT_TRUE(survey({0}));
    EXPECT_TRUE(survey({3}));
    EXPECT_TRUE(survey({2, 0, 1}));
    EXPECT_FALSE(survey({2, 3}));
    EXPECT_FALSE(survey({3, 0, 1}));
    EXPECT_FALSE(survey({0, 1, 2, 3}, true));
    EXPECT_TRUE(survey({0, 1, 2}, true));
}

TEST_F(Selector, EitherSideOfTheSlashMayBeLeftOut) {
    parse("bcast=nbFT,allreduce=/counter,reduce=MST/slices,barrier=/counter");
    EXPECT_EQ(choice(INTER_BCAST, 100, 1 << 20), "nbFT/flags");
    EXPECT_EQ(choice(INTER_ALLREDUCE, 100, 8), "nbBDE/counter");
    EXPECT_EQ(choice(INTER_REDUCE, 100, 8), "MST/slices");
    EXPECT_EQ(choice(INTER_BARRIER, 1, 0), "DISS/counter");
    EXPECT_EQ(choice(INTER_GATHER, 100, 8), "MST/flags") << "not mentioned";
    parse("allreduce=");
    EXPECT_EQ(choice(INTER_ALLREDUCE, 3, 8), "nbFT/inline") << "nothing is fixed";
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
    parse("allgather=nbFT:64K,alltoall=PAIR:64K,reduce_scatter=nbBKT:64K,reduce_scatter_block=nbBKT:64K/slices");
    EXPECT_EQ(choice(INTER_ALLGATHER, 3, 1 << 20), "nbFT:64K/flags");
    EXPECT_EQ(choice(INTER_ALLTOALL, 3, 1 << 20), "PAIR:64K/flags");
    EXPECT_EQ(choice(INTER_REDUCE_SCATTER, 3, 1 << 20), "nbBKT:64K/slices");
    EXPECT_EQ(choice(INTER_REDUCE_SCATTER_BLOCK, 3, 1 << 20), "nbBKT:64K/slices");
}

TEST_F(Selector, InlineGivesWayWhenItDoesNotFit) {
    parse("bcast=/inline,reduce=/inline,allreduce=/inline");
    EXPECT_EQ(choice(INTER_BCAST, 3, inline_bytes), "nbFT/inline");
    EXPECT_EQ(choice(INTER_BCAST, 3, inline_bytes + 1), "nbFT/flags");
    EXPECT_EQ(choice(INTER_REDUCE, 3, inline_bytes + 1), "nbFT/flags");
    EXPECT_EQ(choice(INTER_ALLREDUCE, 3, inline_bytes + 1), "nbBDE/slices");
    parse("allgather=/inline"); // what all gather must fit the tray
    EXPECT_EQ(choice(INTER_ALLGATHER, 4, inline_bytes), "nbFT/inline");
    EXPECT_EQ(choice(INTER_ALLGATHER, 5, inline_bytes), "nbFT/flags");
    EXPECT_EQ(choice(INTER_ALLGATHER, 1, inline_bytes), "nbFT/inline");
    EXPECT_EQ(choice(INTER_ALLGATHER, 1, inline_bytes + 1), "nbFT/flags");
}

TEST_F(Selector, WhatLosesRankOrderGivesWayToARule) {
    parse("allreduce=BKT/slices,reduce_scatter=nbBKT");
    EXPECT_EQ(choice(INTER_ALLREDUCE, 3, 8, true), "BKT/slices");
    EXPECT_EQ(choice(INTER_ALLREDUCE, 3, 8, false), "nbFT/slices");
    EXPECT_EQ(choice(INTER_REDUCE_SCATTER, 3, 1 << 20, true), "nbBKT/slices");
    EXPECT_EQ(choice(INTER_REDUCE_SCATTER, 3, 1 << 20, false), "MSTReduce+MSTScatterv/slices");
    parse("");
    EXPECT_EQ(choice(INTER_REDUCE_SCATTER, 100, 1 << 10, true), "nbBDE/inline") << "a rule's own";
    EXPECT_EQ(choice(INTER_REDUCE_SCATTER, 100, 1 << 10, false), "MSTReduce+MSTScatterv/inline");
}

TEST_F(Selector, MistakesAreNamed) {
    refuse("allreduce", "WEFT_ALGORITHM: \"allreduce\" is not of the form collective=PROCESS/thread");
    refuse("bcast=MST,nonsense", "WEFT_ALGORITHM: \"nonsense\" is not of the form collective=PROCESS/thread");
    refuse(std::string(600, 'x'),
           "WEFT_ALGORITHM: \"" + std::string(200, 'x') + "\" is not of the form collective=PROCESS/thread");
    refuse("sort=BDE", "WEFT_ALGORITHM: there is no collective \"sort\"");
    refuse("scan=BDE/tree", "WEFT_ALGORITHM: scan has no thread-level algorithm \"tree\" (see weft-info --algorithms)");
    refuse("=MST", "WEFT_ALGORITHM: there is no collective \"\"");
    refuse(" bcast=MST", "WEFT_ALGORITHM: there is no collective \" bcast\"");
    refuse("bcast=mst", "WEFT_ALGORITHM: bcast has no process-level algorithm \"mst\" (see weft-info --algorithms)");
    refuse("barrier=MST/flags",
           "WEFT_ALGORITHM: barrier has no process-level algorithm \"MST\" (see weft-info --algorithms)");
    refuse("gather=MST/slices",
           "WEFT_ALGORITHM: gather has no thread-level algorithm \"slices\" (see weft-info --algorithms)");
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
