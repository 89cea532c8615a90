// SPDX-License-Identifier: BSD-3-Clause
// Random programs of messages, within one process and over several in one, of which ThreadSanitizer sees all.
#include "effort.h"
#include "messages_series.h"
#include "sim_worlds.h"

namespace {

// WEFT_EAGER_LIMIT and WEFT_UNEXPECTED_LIMIT: all is offered; both ways at sizes that are common here; no room for copies; the usual.
struct Limits {
    int eager, unexpected;
};
const std::vector<Limits> limits = {{0, 1 << 20}, {40, 1 << 20}, {4096, 1500}, {8192, 1 << 20}};

const std::vector<int> shapes[] = {{1}, {2}, {3}, {5}, {8}, {1, 1}, {2, 2}, {1, 3, 2}, {1, 1, 1, 1}, {4, 1}};

using Parameter = std::tuple<size_t, weft_thread_level, size_t>; // shape, level, limits

class Messages : public ::testing::TestWithParam<Parameter> {};

std::string name_of(const ::testing::TestParamInfo<Parameter> &info) {
    std::string name;
    for (int threads : shapes[std::get<0>(info.param)])
        name += (name.empty() ? "" : "And") + std::to_string(threads);
    name += level_name(std::get<1>(info.param));
    const Limits &limit = limits[std::get<2>(info.param)];
    return name + "Eager" + std::to_string(limit.eager) + "Of" + std::to_string(limit.unexpected);
}

} // namespace

TEST_P(Messages, RandomPrograms) {
    auto [shape, level, limit] = GetParam();
    JobShape job{shapes[shape], level};
    job.eager_limit = limits[limit].eager;
    job.unexpected_limit = limits[limit].unexpected;
    job.policy = limit % 2 ? WEFT_WAIT_BLOCK : WEFT_WAIT_AUTO;
    SimWorlds worlds(job);
    uint64_t number = shape * 12 + size_t(level) * 4 + limit;
    messages::Series series(number * 100000 + 1, 16);
    worlds.run([&](weft_comm *comm) { series.run(comm); });
}

INSTANTIATE_TEST_SUITE_P(Shapes, Messages,
                         ::testing::Combine(::testing::Range(size_t{0}, std::size(shapes)),
                                            ::testing::Values(WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED,
                                                              WEFT_THREAD_MULTIPLE),
                                            ::testing::Range(size_t{0}, std::size(limits))),
                         name_of);

TEST(MessagesBesideAProgressThread, RandomPrograms) {
    size_t turn = 0;
    for (weft_thread_level level : {WEFT_THREAD_SERIALIZED, WEFT_THREAD_MULTIPLE})
        for (const std::vector<int> &threads : {std::vector<int>{1, 1}, {2, 2}, {1, 3, 2}})
            for (const Limits &limit : effort::part_of(limits, turn++, effort::sanitized ? 2 : 1)) {
                JobShape job{threads, level};
                job.progress = true;
                job.eager_limit = limit.eager;
                job.unexpected_limit = limit.unexpected;
                SimWorlds worlds(job);
                messages::Series series(70000000 + uint64_t(limit.eager) * 10 + threads.size() + uint64_t(level), 10);
                worlds.run([&](weft_comm *comm) { series.run(comm); });
            }
}

// The process communicators' own messages.
TEST(ProcessMessages, RandomPrograms) {
    for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED, WEFT_THREAD_MULTIPLE})
        for (int processes : {1, 2, 3, 5}) {
            JobShape job{std::vector<int>(size_t(processes), 1), level};
            SimWorlds worlds(job);
            messages::Series series(90000000 + uint64_t(processes) * 100000 + uint64_t(level), 25);
            worlds.run_processes([&](int, hier_world *world) { series.run(world->process_comm); });
        }
}
