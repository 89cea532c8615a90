// SPDX-License-Identifier: BSD-3-Clause
// A blocked thread stops nobody, and who waits in a collective still receives: several processes in one.
#include "effort.h"
#include "messages_progression.h"
#include "sim_worlds.h"

namespace {

using progression::Blocked;
using Parameter = std::tuple<weft_thread_level, weft_wait_policy, int>; // level, policy, blocked thread

class Progression : public ::testing::TestWithParam<Parameter> {};

std::string name_of(const ::testing::TestParamInfo<Parameter> &info) {
    return std::string(level_name(std::get<0>(info.param))) +
           (std::get<1>(info.param) == WEFT_WAIT_BLOCK ? "Block" : "Auto") + "Thread" +
           std::to_string(std::get<2>(info.param));
}

JobShape shape_of(const Parameter &parameter, std::vector<int> threads, int eager) {
    JobShape shape{std::move(threads), std::get<0>(parameter)};
    shape.policy = std::get<1>(parameter);
    shape.eager_limit = eager;
    return shape;
}

} // namespace

TEST_P(Progression, OneBlockedThread) {
    int blocked = std::get<2>(GetParam());
    for (Blocked where : {progression::IN_RECEIVE, progression::IN_PROBE, progression::OUTSIDE})
        for (int eager : {4096, 0}) {
            // Under FUNNELED nobody else drives the network while the leader is outside.
            if (where == progression::OUTSIDE && blocked == 0 && std::get<0>(GetParam()) == WEFT_THREAD_FUNNELED)
                continue;
            threads::Watchdog watchdog(100);
            progression::Gate gates[2];
            SimWorlds(shape_of(GetParam(), {3, 3}, eager)).run([&](weft_comm *comm) {
                progression::exchange_beside(comm, gates[weft_node(comm)], blocked, where, effort::rounds(24));
            });
        }
}

TEST_P(Progression, ReceiveBehindABarrier) {
    for (const std::vector<int> &threads : {std::vector<int>{2}, {3}, {1, 1}, {2, 2}})
        for (int receiver :
             {0, threads[0] - 1}) { // which under FUNNELED may be the only one of its process with messages
            threads::Watchdog watchdog(100);
            SimWorlds worlds(shape_of(GetParam(), threads, receiver ? 0 : 4096));
            worlds.run([&](weft_comm *comm) { progression::receive_behind_barrier(comm, receiver); });
        }
}

TEST_P(Progression, ReceiveBehindABarrierOfProcesses) {
    threads::Watchdog watchdog(100);
    SimWorlds worlds(shape_of(GetParam(), {1, 1, 1}, 4096));
    worlds.run_processes([&](int, hier_world *world) { progression::receive_behind_barrier(world->process_comm, 0); });
}

TEST_P(Progression, TeamBehindABarrierOfProcesses) {
    threads::Watchdog watchdog(100);
    SimWorlds worlds(shape_of(GetParam(), {2, 2}, 4096));
    worlds.run([&](weft_comm *comm) { progression::team_behind_barrier(comm, comm->world->process_comm); });
}

TEST_P(Progression, ProcessesBehindWaitsWithinAProcess) {
    using progression::Within;
    threads::Watchdog watchdog(100);
    for (Within how : {Within::barrier, Within::receive, Within::probe, Within::test}) {
        progression::Gate gate;
        SimWorlds worlds(shape_of(GetParam(), {2, 2, 2, 2}, 4096));
        worlds.run([&](weft_comm *comm) {
            progression::processes_behind_barrier(comm, comm->world->process_comm, gate, how);
        });
    }
}

INSTANTIATE_TEST_SUITE_P(
    Levels, Progression,
    ::testing::Combine(::testing::Values(WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED, WEFT_THREAD_MULTIPLE),
                       ::testing::Values(WEFT_WAIT_AUTO, WEFT_WAIT_BLOCK), ::testing::Values(0, 2)),
    name_of);
