// SPDX-License-Identifier: BSD-3-Clause
// Requests of several processes, all within this one, whose threads share a process communicator: whoever waits drives the
// operations of all. The test of requests under ThreadSanitizer.
#include "hier/sim_worlds.h"
#include "program.h"

namespace {

using namespace process;

class SimRequests : public ::testing::TestWithParam<int> {
  protected:
    void on_worlds(weft_thread_level level, weft_wait_policy policy, uint64_t seed,
                   const std::function<void(weft_comm *)> &run) {
        threads::Watchdog watchdog(280);
        JobShape shape{std::vector<int>(size_t(GetParam()), 1), level, policy};
        shape.seed = seed;
        SimWorlds(shape).run_processes([&](int, hier_world *world) { run(world->process_comm); });
    }
};

} // namespace

TEST_P(SimRequests, AnyOrderOfCompletion) {
    for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED})
        for (uint64_t seed : {0, 1, 2})
            on_worlds(level, WEFT_WAIT_YIELD, seed, [=](weft_comm *comm) {
                run_program(comm, seed, 150, 60);
                run_persistent(comm, seed + 3, 20, 4);
            });
}

TEST_P(SimRequests, ThreadsWaitForRequestsOfTheirOwn) {
    for (weft_wait_policy policy : {WEFT_WAIT_YIELD, WEFT_WAIT_AUTO, WEFT_WAIT_BLOCK})
        for (int thread_count : {2, 3})
            on_worlds(WEFT_THREAD_SERIALIZED, policy, 0,
                      [=](weft_comm *comm) { run_program_by_threads(comm, uint64_t(policy), 120, thread_count); });
}

INSTANTIATE_TEST_SUITE_P(Processes, SimRequests, ::testing::Values(1, 2, 3, 5));
