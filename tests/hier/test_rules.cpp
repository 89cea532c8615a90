// SPDX-License-Identifier: BSD-3-Clause
// The built-in rules against the model that they come from (weft-bench --simulate, its machine unless told otherwise): what
// a row chooses is predicted to take no longer than `factor` times the best algorithm. The factor is what rows cost that go
// by the number of nodes: an algorithm that is best for 2^k nodes may be a bad one for the numbers between.
#include <cmath>
#include <gtest/gtest.h>
#include <simulate.h>
#include <string>
#include <vector>
extern "C" {
#include <hier/select.h>
}

namespace {

constexpr double factor = 1.5;
constexpr size_t most_messages = 100000; // those that have more are not predicted, and are none of the best

class Rules : public ::testing::TestWithParam<int> {
  protected:
    void SetUp() override {
        kind_ = inter_collective(GetParam());
        ASSERT_EQ(hier_selector_init(&selector_, ""), 0);
        candidates_.resize(size_t(inter_algorithm_names(kind_))); // in segments only as the rules have them
        for (size_t i = 0; i < candidates_.size(); i++)
            ASSERT_TRUE(inter_algorithm_at(kind_, int(i), &candidates_[i]));
        for (size_t i = 0; i < selector_.count; i++)
            if (selector_.table[i].collective == kind_ && !is_candidate(selector_.process[i]))
                candidates_.push_back(selector_.process[i]);
    }
    bool is_candidate(const inter_algorithm &algorithm) const {
        for (const inter_algorithm &other : candidates_)
            if (std::string(other.name) == algorithm.name && other.segment_bytes == algorithm.segment_bytes)
                return true;
        return false;
    }
    static double predict(const bench_machine &machine, const inter_algorithm &algorithm, const inter_view &view) {
        inter_prediction made{};
        return inter_predict(&machine.costs, &algorithm, &view, most_messages, &made) == INTER_PREDICTED ? made.seconds
                                                                                                         : INFINITY;
    }
    bool selectable(const inter_algorithm &algorithm, const hier_key &key) const {
        // Threads' blocks are of unequal size.
        bool unequal = kind_ == INTER_ALLTOALL && key.threads > 1;
        // Those of the fixed bracketing are kept for those who ask for it.
        return !algorithm.bracketed && (key.commutative || !algorithm.commutes) &&
               !(unequal && !inter_is(INTER_ALLTOALLV, algorithm.collectives));
    }
    void compare(const bench_machine &machine, const hier_key &key, const inter_view &view) {
        const hier_rule *rule = hier_select_rule(&selector_, key);
        const inter_algorithm &chosen = *hier_rule_algorithm(&selector_, rule);
        double mine = predict(machine, chosen, view), best = INFINITY;
        std::string name;
        EXPECT_TRUE(rule->origin == HIER_MODEL || rule->origin == HIER_STRUCTURE) << "of nodes on hosts of their own";
        if (std::isinf(mine))
            return;
        for (const inter_algorithm &other : candidates_) {
            double seconds = selectable(other, key) ? predict(machine, other, view) : INFINITY;
            if (seconds < best) {
                best = seconds;
                name = other.name;
            }
        }
        compared_++;
        EXPECT_TRUE(selectable(chosen, key));
        EXPECT_LE(mine, factor * best) << inter_collective_name(kind_) << ' ' << key.nodes << " nodes of "
                                       << key.threads << " threads, " << key.bytes << " bytes, "
                                       << (key.commutative ? "" : "not ") << "commutative: " << chosen.name << " takes "
                                       << mine / best << " times what " << name << " does";
    }

    inter_collective kind_{};
    hier_selector selector_{};
    std::vector<inter_algorithm> candidates_;
    int compared_ = 0;
};

} // namespace

TEST_P(Rules, AreAsGoodAsTheModelSays) {
    bool blocks = !inter_is(kind_, INTER_VECTORS | INTER_REDUCE_SCATTERS | INTER_BIT(INTER_BARRIER));
    std::vector<int> threads = blocks ? std::vector<int>{1, 4, 16, 64} : std::vector<int>{1};
    for (int nodes : {2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64, 96, 128})
        for (int count : threads)
            for (size_t bytes = 8; bytes <= size_t(16) << 20; bytes *= 8) {
                bench_machine machine;
                char message[256] = "";
                std::string text = "nodes=" + std::to_string(nodes) + ",threads=" + std::to_string(count);
                ASSERT_EQ(bench_parse_machine(text.c_str(), &machine, message, sizeof message), 0) << message;
                size_t rounded = bytes;
                inter_view view = bench_process_view(&machine, kind_, &rounded);
                for (bool commutative : {true, false})
                    if (commutative || inter_is(kind_, INTER_REDUCTIONS))
                        compare(machine, {kind_, nodes, count, rounded, commutative, false, false, false, false}, view);
            }
    EXPECT_GT(compared_, 50);
}

// Of the others only some ranks know how many bytes there are, or the rows are those of a collective here.
INSTANTIATE_TEST_SUITE_P(Model, Rules,
                         ::testing::Values(INTER_BARRIER, INTER_BCAST, INTER_SCATTER, INTER_GATHER, INTER_ALLGATHER,
                                           INTER_ALLTOALL, INTER_REDUCE, INTER_ALLREDUCE, INTER_REDUCE_SCATTER,
                                           INTER_SCAN, INTER_EXSCAN),
                         [](const auto &each) {
                             return std::string(inter_collective_name(inter_collective(each.param)));
                         });
