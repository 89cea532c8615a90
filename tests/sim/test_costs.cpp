// SPDX-License-Identifier: BSD-3-Clause
// What the schedules cost: for every p from 1 to 64, and some to 256 (all by WEFT_TEST_PARTS=1), the messages, the elements in them and the
// steps are those of the textbook; so are the messages that leave a node.
#include "effort.h"
#include "proof.h"
#include "textbook.h"

namespace sim {
namespace {

class Costs : public ::testing::TestWithParam<Algorithm> {};
constexpr unsigned all = INTER_BIT(INTER_COLLECTIVES) - 1;

Shape even(const Algorithm &algorithm, int size, int root, size_t count) {
    Shape shape;
    shape.size = size;
    shape.root = root;
    shape.count = count;
    shape.commuting = algorithm.is.commutes;
    return shape;
}

::testing::AssertionResult costs_the_textbook_price(const Algorithm &algorithm, int size, int root) {
    static Plan plan;
    static Runner runner;
    Shape shape = even(algorithm, size, root, std::max<size_t>(2, unit_of(algorithm.is, size_t(size))));
    size_t words = shape.count * (inter_is(algorithm.collective, INTER_VECTORS) ? 1 : size_t(size));
    if (words * size_t(size) > 4000000) // of all ranks: some compositions' units are long
        return ::testing::AssertionSuccess();
    Problem problem(algorithm.collective, shape);
    plan.build(algorithm.is, problem);
    Outcome outcome = runner.run(plan, problem, 0);
    Cost cost =
        cost_of(algorithm.collective, algorithm.is, size_t(size), size_t(problem.shape().root), problem.shape().count);
    if (!cost.known)
        return ::testing::AssertionFailure() << "the algorithm needs a row in textbook.cpp";
    if (outcome.fault.empty() && outcome.messages == cost.messages && outcome.elements == cost.elements &&
        outcome.steps == cost.steps)
        return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << problem.shape() << ": " << outcome.messages << " messages of "
                                         << outcome.elements << " elements, " << outcome.steps
                                         << " steps; textbook: " << cost.messages << ", " << cost.elements << ", "
                                         << cost.steps << " " << outcome.fault;
}

} // namespace

TEST_P(Costs, TheTextbookPrice) {
    bool quadratic = messages_of(GetParam(), 64) > 64 * 20;
    int failures = 0;
    for (int size = 1; size <= 256; size += size < 64 ? 1 : quadratic ? 31 : effort::rank_parts)
        for (int root : inter_is(GetParam().collective, INTER_ROOTED) ? some_roots(size) : std::set<int>{0}) {
            auto result = costs_the_textbook_price(GetParam(), size, root);
            EXPECT_TRUE(result);
            failures += !result;
            ASSERT_LT(failures, 3);
        }
}

// With ranks placed node by node, halving contiguous ranges crosses nodes only at the top: 7 of 127.
TEST_P(Costs, NodeCrossingsOfBlockPlacement) {
    if (!inter_is(GetParam().collective, INTER_ROOTED))
        return;
    static Plan plan;
    for (int root = 0; root < 128; root++) {
        Problem problem(GetParam().collective, even(GetParam(), 128, root, 128));
        plan.build(GetParam().is, problem);
        size_t crossings = 0;
        plan.sends([&](int rank, const inter_step &step) { crossings += rank / 16 != step.peer / 16; });
        ASSERT_EQ(crossings, crossings_of(GetParam().collective, GetParam().is, 128, size_t(root), 16)) << root;
    }
}

TEST(Crossings, OfTheTreesInTheLiterature) {
    inter_algorithm mst{}, four_ary{};
    ASSERT_TRUE(inter_algorithm_find(INTER_BCAST, "MST", &mst));
    ASSERT_TRUE(inter_algorithm_find(INTER_BCAST, "bFaT", &four_ary));
    for (size_t root = 0; root < 128; root++)
        EXPECT_EQ(crossings_of(INTER_BCAST, mst, 128, root, 16), 7u);
    EXPECT_EQ(crossings_of(INTER_BCAST, four_ary, 128, 0, 16), 112u);
}

// Segments flow behind each other: with m of them, and one message in and one out of a rank at a time, the last rank is
// done p − 2 + m steps after the start.
TEST(Chain, SegmentsFlowAsInAPipeline) {
    static Plan plan;
    static Runner runner;
    for (inter_collective collective : {INTER_BCAST, INTER_REDUCE, INTER_SCAN, INTER_EXSCAN})
        for (int size : {2, 3, 4, 5, 8, 13, 40})
            for (size_t segments : {1, 2, 3, 7, 8, 9, 16, 17, 50}) {
                Algorithm chain{collective, {}, false};
                const char *name = inter_is(collective, INTER_SCANS) ? "linear:16" : "CHAIN:16";
                ASSERT_TRUE(inter_algorithm_find(collective, name, &chain.is));
                Problem problem(collective, even(chain, size, 0, 2 * segments));
                plan.build(chain.is, problem);
                Outcome outcome = runner.run(plan, problem, 0, true);
                EXPECT_EQ(outcome.fault, "");
                EXPECT_EQ(outcome.messages, segments * size_t(size - 1));
                EXPECT_EQ(outcome.steps, size_t(size) - 2 + segments) << name << ", p = " << size << ", " << segments;
                EXPECT_EQ(problem.difference(), "");
            }
}

INSTANTIATE_TEST_SUITE_P(Every, Costs, ::testing::ValuesIn([] {
                             std::vector<Algorithm> list = algorithms_of(all, false);
                             for (const Algorithm &composition : algorithms_of(all, true))
                                 if (name_of(composition) != "barrier nbFTGather+bFaTBcast") // has a name of its own
                                     list.push_back(composition);
                             return list;
                         }()),
                         test_name);

} // namespace sim
