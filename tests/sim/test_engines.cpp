// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm on real engines over the sim transport, which holds messages back at random: what the runner proves of the
// schedules holds for the engine that runs them. A schedule that waits for ever is found, since then nothing moves.
#include "effort.h"
#include "job.h"
#include "proof.h"

namespace sim {
namespace {

constexpr unsigned all = INTER_BIT(INTER_COLLECTIVES) - 1;

class Engines : public ::testing::TestWithParam<Algorithm> {};
class ComposedEngines : public ::testing::TestWithParam<Algorithm> {};

// Runs one problem to its solution, and once more on the same executions, which then need no memory.
::testing::AssertionResult solves(const Algorithm &algorithm, Shape shape, uint64_t seed) {
    shape.commuting = algorithm.is.commutes;
    shape.alone = shape.alone && !algorithm.is.needs_counts;
    Problem problem(algorithm.collective, shape);
    Job job(shape.size, seed);
    auto failure = [&](const std::string &fault) {
        return ::testing::AssertionFailure()
               << name_of(algorithm) << ", " << problem.shape() << ", seed " << seed << ": " << fault;
    };
    for (int rank = 0; rank < shape.size; rank++)
        if (job.start(rank, algorithm.is, problem.view(rank), problem.binding(rank), {1, 7, false, 0}))
            return failure("not started");
    for (uint64_t again = 0; again < 2; again++) {
        if (again)
            problem.reset();
        for (int rank = 0; again && rank < shape.size; rank++) {
            inter_binding binding = problem.binding(rank);
            inter_execution_run(&job.executions(rank)[0], {1, 7, true, 0}, &binding);
        }
        if (!job.finish())
            return failure("deadlock");
        for (int rank = 0; rank < shape.size; rank++)
            if (job.finished_calls(rank) != int(again) + 1 || job.finished_error(rank) ||
                job.engine(rank).allocations != 1)
                return failure("rank " + std::to_string(rank) + " ended " + std::to_string(job.finished_calls(rank)) +
                               " times, error " + std::to_string(job.finished_error(rank)) + ", " +
                               std::to_string(job.engine(rank).allocations) + " allocations");
        if (job.counts().waiting_messages || job.counts().waiting_receives)
            return failure("messages or receives are left over");
        std::string difference = problem.difference();
        if (!difference.empty())
            return failure(difference);
    }
    return ::testing::AssertionSuccess();
}

Shape shape_number(int size, unsigned n) {
    return varied(size, n, n % 3 == 2 ? 0 : 1 + n % 5);
}

} // namespace

TEST_P(Engines, SolveProblemsInRandomOrders) {
    unsigned n = 0;
    for (int size = 1; size <= 128; size += size < 33 ? 1 : 19)
        for (int root : inter_is(GetParam().collective, INTER_ROOTED) ? some_roots(size) : std::set<int>{0})
            for (uint64_t seed = 0; seed < effort::rounds(size < 10 ? 50u : size < 34 ? 8u : 2u); seed++) {
                Shape shape = shape_number(size, n++);
                shape.root = root;
                ASSERT_TRUE(solves(GetParam(), shape, seed * 977));
            }
}

TEST_P(Engines, RunSegmentsBesideEachOther) {
    if (!inter_is(GetParam().collective, INTER_VECTORS | INTER_CUT_BLOCKS))
        return;
    Algorithm segmented = GetParam();
    segmented.is.segment_bytes = 16;
    for (int size : {2, 3, 5, 8, 13})
        for (size_t count : {2, 3, 15, 16, 17, 33, 60})
            for (uint64_t seed = 0; seed < effort::rounds(8u); seed++) {
                Shape shape{size, size / 2, count};
                shape.in_place = seed & 1;
                ASSERT_TRUE(solves(segmented, shape, seed));
            }
}

TEST_P(ComposedEngines, SolveProblemsInRandomOrders) {
    for (int size : {1, 2, 3, 5, 8, 13})
        for (unsigned n = unsigned(size) % 3; n < effort::rounds(60u); n += 3)
            ASSERT_TRUE(solves(GetParam(), shape_number(size, n), n));
}

// In a job where one rank is late, nobody leaves a barrier.
TEST(Barrier, NobodyLeavesBeforeTheLastHasCome) {
    for (const Algorithm &algorithm : algorithms_of(INTER_BIT(INTER_BARRIER), false))
        for (int size : {2, 3, 5, 7, 8, 13, 32, 100})
            for (int late : some_roots(size)) {
                Shape shape;
                shape.size = size;
                Problem problem(INTER_BARRIER, shape);
                Job job(size, 0);
                for (int rank = 0; rank < size; rank++)
                    if (rank != late)
                        job.start(rank, algorithm.is, problem.view(rank), problem.binding(rank));
                EXPECT_FALSE(job.finish());
                for (int rank = 0; rank < size; rank++)
                    EXPECT_EQ(job.finished_calls(rank), 0) << name_of(algorithm) << ", p = " << size;
                job.start(late, algorithm.is, problem.view(late), problem.binding(late));
                EXPECT_TRUE(job.finish());
            }
}

INSTANTIATE_TEST_SUITE_P(Every, Engines, ::testing::ValuesIn(algorithms_of(all, false)), test_name);
INSTANTIATE_TEST_SUITE_P(Every, ComposedEngines, ::testing::ValuesIn(algorithms_of(all, true)), test_name);

} // namespace sim
