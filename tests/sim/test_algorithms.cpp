// SPDX-License-Identifier: BSD-3-Clause
// Every process-level algorithm moves every word to its place: for every p from 1 to 128, several roots, counts and
// orders of delivery, on real engines. A schedule that waits for ever is found, since then nothing moves.
#include "every_algorithm.h"
#include "job.h"
#include "problem.h"

namespace sim {
namespace {

// Runs one problem to its solution; false after a failure, to spare the thousands that would follow.
bool solves(const inter_algorithm &algorithm, const Shape &shape, uint64_t seed) {
    Problem problem(algorithm.collective, shape);
    Job job(shape.size, seed);
    for (int rank = 0; rank < shape.size; rank++)
        EXPECT_EQ(job.start(rank, algorithm, problem.view(rank), problem.binding(rank)), WEFT_SUCCESS);
    bool finished = job.finish();
    EXPECT_TRUE(finished) << "deadlock";
    int errors = 0;
    for (int rank = 0; finished && rank < shape.size; rank++)
        errors += job.finished_calls(rank) != 1 || job.finished_error(rank) != WEFT_SUCCESS;
    EXPECT_EQ(errors, 0);
    inter_sim_counts counts = job.counts();
    EXPECT_EQ(counts.waiting_messages, 0u);
    EXPECT_EQ(counts.waiting_receives, 0u);
    if (finished) {
        EXPECT_TRUE(problem.solved());
    }
    return !::testing::Test::HasFailure();
}

// Delivery orders: the plain one, and the fewer random ones the more there is to run.
std::vector<uint64_t> seeds_for(int size) {
    std::vector<uint64_t> seeds = {0};
    for (uint64_t seed = 1; seed <= (size <= 9 ? 10u : size <= 33 ? 2u : 1u); seed++)
        seeds.push_back(seed * 0x9e3779b97f4a7c15 + uint64_t(size));
    return seeds;
}

bool solves_in_all_orders(const inter_algorithm &algorithm, const Shape &shape) {
    for (uint64_t seed : seeds_for(shape.size)) {
        SCOPED_TRACE(::testing::Message() << shape << ", seed " << seed);
        if (!solves(algorithm, shape, seed))
            return false;
    }
    return true;
}

bool solves_for_all_roots(const inter_algorithm &algorithm, Shape shape) {
    for (int root : has_root(algorithm.collective) ? some_roots(shape.size) : std::set<int>{0}) {
        shape.root = root;
        if (!solves_in_all_orders(algorithm, shape))
            return false;
    }
    return true;
}

} // namespace

TEST_P(EveryAlgorithm, SolvesEveryProblemOfEverySize) {
    const inter_algorithm &algorithm = *GetParam();
    for (int size = 1; size <= largest_job; size++)
        for (bool uneven : {false, true})
            for (bool in_place : {false, true}) {
                if ((uneven && !has_blocks(algorithm.collective)) || (in_place && !has_in_place(algorithm.collective)))
                    continue;
                ASSERT_TRUE(solves_for_all_roots(algorithm, {size, 0, 3, in_place, uneven}));
            }
}

TEST_P(EveryAlgorithm, SolvesEmptyAndTinyAndLongerProblems) {
    const inter_algorithm &algorithm = *GetParam();
    for (int size : {1, 2, 3, 5, 7, 8, 13, 32, 47})
        for (size_t count : {0, 1, 2, 257})
            for (bool uneven : {false, true})
                if (!uneven || has_blocks(algorithm.collective)) {
                    ASSERT_TRUE(solves_for_all_roots(algorithm, {size, 0, count, false, uneven}));
                }
}

TEST_P(EveryAlgorithm, ServesEveryRootOfASmallJob) {
    const inter_algorithm &algorithm = *GetParam();
    for (int size = 1; size <= 17; size++)
        for (int root = 0; root < (has_root(algorithm.collective) ? size : 1); root++)
            ASSERT_TRUE(solves_in_all_orders(algorithm, {size, root, 2, false, true}));
}

// The order of operands shows only if the test's operation does not commute.
TEST(Oracle, OperationIsAssociativeAndDoesNotCommute) {
    uint64_t f = 3ull << 32 | 5, g = 7ull << 32 | 11, h = 0xffffffffull << 32 | 13;
    EXPECT_EQ(after(after(f, g), h), after(f, after(g, h)));
    EXPECT_NE(after(f, g), after(g, f));
}

// In a job where one rank is late, nobody leaves a barrier.
TEST(Barrier, NobodyLeavesBeforeTheLastHasCome) {
    for (const inter_algorithm *algorithm : every_algorithm()) {
        if (algorithm->collective != INTER_BARRIER)
            continue;
        for (int size : {2, 3, 5, 7, 8, 13, 32, 100})
            for (int late : some_roots(size)) {
                Problem problem(INTER_BARRIER, {size, 0, 0, false, false});
                Job job(size, 0);
                for (int rank = 0; rank < size; rank++)
                    if (rank != late)
                        job.start(rank, *algorithm, problem.view(rank), problem.binding(rank));
                EXPECT_FALSE(job.finish());
                for (int rank = 0; rank < size; rank++)
                    EXPECT_EQ(job.finished_calls(rank), 0) << algorithm->name << ", p = " << size;
                job.start(late, *algorithm, problem.view(late), problem.binding(late));
                EXPECT_TRUE(job.finish());
            }
    }
}

INSTANTIATE_TEST_SUITE_P(Table, EveryAlgorithm, ::testing::ValuesIn(every_algorithm()), algorithm_name);

} // namespace sim
