// SPDX-License-Identifier: BSD-3-Clause
// Reproducible sums: the same ranks in many splits into processes and threads, by any algorithm, in all forms, in any order of the
// ranks: always the bits of the documented bracketing, evaluated here one operand after the other.
#include "bracketing.h"
#include "effort.h"
#include "sim_worlds.h"
#include <cmath>

namespace {

using namespace bracketing;
using Complex = std::complex<double>;

void add_doubles(const void *in, void *inout, size_t count, const weft_datatype *) {
    const double *left = static_cast<const double *>(in);
    double *right = static_cast<double *>(inout);
    for (size_t i = 0; i < count; i++)
        right[i] = left[i] + right[i];
}

std::string where(weft_comm *comm, size_t count, int form, bool in_place) {
    return "rank " + std::to_string(weft_rank(comm)) + " of " + std::to_string(weft_size(comm)) + ", " +
           std::to_string(count) + " elements, form " + std::to_string(form) + (in_place ? ", in place: " : ": ") +
           weft_last_error();
}

// With sanitizers in place or not, in turn.
template <typename T> void check_all(weft_comm *comm, size_t count, const weft_op *op = Of<T>::op()) {
    for (int form = 0; form < FORMS; form++)
        for (bool in_place : effort::part_of(std::vector<char>{0, 1}, count + size_t(form), effort::sanitized ? 2 : 1))
            EXPECT_TRUE(Rank<T>(comm, count, Form(form), in_place, op).all()) << where(comm, count, form, in_place);
}

void check_sizes(weft_comm *comm) {
    for (size_t count : {1, 3, 100, 3001})
        check_all<double>(comm, count);
    check_all<float>(comm, 513);
    check_all<Complex>(comm, 17);
}

// Ranks in another order than that of the processes, and groups of some of them.
void check_splits(weft_comm *comm) {
    int rank = weft_rank(comm);
    const int wishes[][2] = {{0, rank * 5 % 8}, {rank % 2, -rank}, {rank % 3 != 1, rank % 2}};
    for (auto &wish : wishes) {
        weft_comm *group = nullptr;
        ASSERT_EQ(weft_comm_split(comm, wish[0], wish[1], &group), WEFT_SUCCESS) << weft_last_error();
        check_all<double>(group, 5);
        check_all<double>(group, 1500);
        EXPECT_EQ(weft_comm_free(&group), WEFT_SUCCESS) << weft_last_error();
    }
}

JobShape shape_of(const Threads &threads, const std::string &algorithm = "") {
    JobShape shape;
    shape.threads = threads;
    shape.algorithm = algorithm;
    shape.reproducible = true;
    shape.seed = 7;
    return shape;
}

class Reproducible : public ::testing::TestWithParam<Threads> {};

} // namespace

TEST_P(Reproducible, EveryCollectiveAndForm) {
    SimWorlds(shape_of(GetParam())).run(check_sizes);
}

TEST_P(Reproducible, AnyOrderOfTheRanks) {
    SimWorlds(shape_of(GetParam())).run(check_splits);
}

// The user's operation is in the fixed order too, though it commutes.
TEST_P(Reproducible, UsersOperation) {
    SimWorlds(shape_of(GetParam())).run([](weft_comm *comm) {
        weft_op *op = nullptr;
        ASSERT_EQ(weft_op_create(add_doubles, 1, &op), WEFT_SUCCESS);
        check_all<double>(comm, 2);
        check_all<double>(comm, 700, op);
        EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS);
        EXPECT_EQ(weft_op_free(&op), WEFT_SUCCESS);
    });
}

// Those that cannot give way to those that can.
TEST_P(Reproducible, AnyAlgorithm) {
    static const char *const algorithms[] = {
        "allreduce=RAB/tree,reduce=MST/counter,reduce_scatter=nbBKT,scan=linear/slices,exscan=nbFT",
        "allreduce=FOLD:4K/slices,reduce=SFOLD/slices,reduce_scatter=FOLD/inline,scan=FOLD:1K,exscan=/slices",
        "allreduce=SFOLD:8K/inline,reduce=FOLD/inline,reduce_scatter=/slices,reduce_scatter_block=/slices"};
    SimWorlds(shape_of(GetParam(), algorithms[GetParam().size() % std::size(algorithms)])).run([](weft_comm *comm) {
        for (size_t count : {1, 20, 3001})
            check_all<double>(comm, count);
    });
}

TEST_P(Reproducible, FunneledAndAsleep) {
    JobShape shape = shape_of(GetParam());
    shape.level = WEFT_THREAD_FUNNELED;
    shape.policy = WEFT_WAIT_BLOCK;
    shape.slots = 2;
    SimWorlds(shape).run([](weft_comm *comm) {
        check_all<double>(comm, 3);
        check_all<double>(comm, 2000);
    });
}

INSTANTIATE_TEST_SUITE_P(Splits, Reproducible,
                         ::testing::Values(Threads{8}, Threads{1, 1, 1, 1, 1, 1, 1, 1}, Threads{2, 2, 2, 2},
                                           Threads{4, 4}, Threads{3, 1, 4}, Threads{2, 5}, Threads{7},
                                           Threads{1, 5, 1}),
                         shape_name);

// The ranks are the processes: they have the bits of as many threads.
TEST(ReproducibleProcesses, EveryCollectiveAndForm) {
    for (const Threads &threads : {Threads{1}, Threads{1, 1}, Threads{1, 1, 1, 1, 1}, Threads(8, 1)})
        SimWorlds(shape_of(threads)).run_processes([](int, hier_world *world) { check_sizes(world->process_comm); });
}

TEST(ReproducibleProcesses, AnyOrderOfTheRanks) {
    SimWorlds(shape_of(Threads(8, 1))).run_processes([](int, hier_world *world) { check_splits(world->process_comm); });
}

// Without it the bits do depend on the split: else all of the above would say nothing.
TEST(ReproducibleOption, IsNotSoByItself) {
    int others = 0;
    for (const Threads &threads : {Threads{8}, Threads{2, 2, 2, 2}, Threads{3, 1, 4}}) {
        JobShape shape = shape_of(threads);
        std::atomic<int> differ{0};
        shape.reproducible = false;
        SimWorlds(shape).run([&](weft_comm *comm) { differ += !Rank<double>(comm, 100, BLOCKING, false).allreduce(); });
        others += differ > 0;
    }
    EXPECT_GT(others, 0);
}

// Processes that do not agree on it are told so.
TEST(ReproducibleOption, MustBeTheSameEverywhere) {
    JobShape shape = shape_of(Threads{1, 1});
    shape.seed = 0; // nothing is left of the call when it has failed
    SimWorlds(shape).run_processes([](int rank, hier_world *world) {
        double one = 1, sum = 0;
        world->config.reproducible = rank == 0;
        EXPECT_EQ(weft_allreduce(&one, &sum, 1, WEFT_DOUBLE, WEFT_SUM, world->process_comm), WEFT_ERR_MISMATCH);
    });
}
