// SPDX-License-Identifier: BSD-3-Clause
// Several "processes" in one: each a world of its own over the sim transport, made by a thread of its own, with a team
// whose threads all run the same body. What a job of several processes does, where sanitizers see all of it.
#ifndef TESTS_HIER_SIM_WORLDS_H
#define TESTS_HIER_SIM_WORLDS_H

#include "intra/threads.h"
#include <cstring>
#include <functional>
#include <ostream>
#include <stdatomic.h>
#include <string>
#include <vector>
extern "C" {
#include <core/error.h>
#include <hier/channels.h>
#include <hier/ledger.h>
#include <hier/progress.h>
#include <inter/transport_sim.h>
}

using Threads = std::vector<int>; // of each process

// Of a test of such a job: "1_3_2".
inline std::string shape_name(const ::testing::TestParamInfo<Threads> &info) {
    std::string name;
    for (int threads : info.param)
        name += (name.empty() ? "" : "_") + std::to_string(threads);
    return name;
}

struct JobShape {
    Threads threads;
    weft_thread_level level = WEFT_THREAD_SERIALIZED;
    weft_wait_policy policy = WEFT_WAIT_AUTO;
    std::string algorithm = "";
    int slots = 16;
    uint64_t seed = 0;
    bool reproducible = false;
    std::string trace = "";                             // WEFT_TRACE
    int eager_limit = 4096, unexpected_limit = 1 << 20; // bytes
    bool progress = false;                              // WEFT_PROGRESS=thread
    int cores = 2;                                      // that the host seems to have

    int ranks() const {
        int sum = 0;
        for (int count : threads)
            sum += count;
        return sum;
    }
    // Does every hand-over between threads take a time slice?
    bool crawls() const {
        return policy == WEFT_WAIT_SPIN && ranks() > 2;
    }
};

inline std::string level_name(weft_thread_level level) {
    static const char *const names[] = {"Default", "Funneled", "Serialized", "Multiple"};
    return names[level];
}

inline std::ostream &operator<<(std::ostream &out, const JobShape &shape) {
    static const char *const policy_names[] = {"default", "auto", "spin", "yield", "block"};
    for (size_t process = 0; process < shape.threads.size(); process++)
        out << (process ? "+" : "") << shape.threads[process];
    return out << " threads, " << level_name(shape.level) << ", " << policy_names[shape.policy] << ", " << shape.slots
               << " slots" << (shape.algorithm.empty() ? "" : ", ") << shape.algorithm;
}

class SimWorlds {
  public:
    explicit SimWorlds(const JobShape &shape) : shape_(shape) {
        EXPECT_EQ(inter_sim_create(int(shape.threads.size()), shape.seed, &sim_), WEFT_SUCCESS);
    }
    ~SimWorlds() {
        inter_sim_counts left = inter_sim_count(sim_);
        EXPECT_EQ(left.waiting_messages + left.waiting_receives, 0u);
        inter_sim_destroy(sim_);
    }
    SimWorlds(const SimWorlds &) = delete;

    // Without the questions of processes that waited long.
    inter_sim_counts counts() const {
        inter_sim_counts counts = inter_sim_count(sim_);
        counts.messages -= asked_messages_;
        counts.bytes -= asked_bytes_;
        return counts;
    }

    // Calls process(rank, world) on one thread for each process, in which the world was made.
    void run_processes(const std::function<void(int, hier_world *)> &process) {
        threads::run(int(shape_.threads.size()), [&](int rank) {
            core_config config{};
            config.thread_level = shape_.level;
            config.wait_policy = shape_.policy;
            config.slots = shape_.slots;
            config.reproducible = shape_.reproducible;
            config.eager_limit = shape_.eager_limit;
            config.unexpected_limit = shape_.unexpected_limit;
            ASSERT_LT(shape_.algorithm.size(), sizeof(config.algorithm));
            strcpy(config.algorithm, shape_.algorithm.c_str());
            strcpy(config.trace, shape_.trace.c_str());
            hier_card card{};
            card.cores = card.host_cores = shape_.cores;
            hier_world *world = nullptr;
            inter_transport *transport = shape_.threads.size() > 1 ? inter_sim_transport(sim_, rank) : nullptr;
            ASSERT_EQ(hier_world_create(&config, &card, nullptr, transport, &world), WEFT_SUCCESS) << weft_last_error();
            world->roster.watched = true; // long waits are written down, as under weftrun
            if (shape_.progress) {
                ASSERT_EQ(hier_progress_start(world), WEFT_SUCCESS) << weft_last_error();
            }
            process(rank, world);
            hier_progress_stop(world);
            part(world);
            hier_world_destroy(world);
        });
    }

    // Calls body(comm) on every thread of a team over all processes.
    void run(const std::function<void(weft_comm *)> &body) {
        run_processes([&](int rank, hier_world *world) {
            weft_team *team = nullptr;
            int count = shape_.threads[size_t(rank)];
            ASSERT_EQ(weft_team_create(world->process_comm, count, &team), WEFT_SUCCESS) << weft_last_error();
            run_team(team, body);
            EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS) << weft_last_error();
        });
    }

    // Under FUNNELED the calling thread is thread 0, as it must be; else any other.
    void run_team(weft_team *team, const std::function<void(weft_comm *)> &body) const {
        int count = weft_team_threads(team), own = shape_.level == WEFT_THREAD_FUNNELED ? 0 : count / 2;
        threads::run(count, [&](int index) {
            weft_comm *comm = nullptr;
            ASSERT_EQ(weft_team_enter(team, (index + own) % count, &comm), WEFT_SUCCESS) << weft_last_error();
            body(comm);
            EXPECT_EQ(weft_team_leave(&comm), WEFT_SUCCESS) << weft_last_error();
        });
    }

  private:
    // A "go on" may still be on its way there.
    static void look_at_channels(hier_world *world) {
        for (int number = 0; number < INTER_CHANNELS; number++)
            if (hier_channel *channel = hier_channel_at(world, number)) {
                hier_channel_enter(channel);
                channel->transport->progress(channel->transport);
                hier_channel_leave(channel);
            }
    }

    // Processes that waited long have asked others about their calls: who is through hears that too.
    void part(hier_world *world) {
        int count = int(shape_.threads.size());
        for (int round = 1; round <= 2; round++) {
            ++parted_;
            for (int looks = 0; looks < 100 && count > 1; looks += parted_ >= round * count) {
                hier_funnel_enter(world);
                hier_channel_overhear(&world->channel, true);
                world->transport->progress(world->transport);
                hier_progress(world);
                hier_funnel_leave(world);
                look_at_channels(world);
                std::this_thread::yield();
            }
        }
        asked_messages_ += world->ledgers->sent_messages;
        asked_bytes_ += world->ledgers->sent_bytes;
    }

    std::atomic<int> parted_{0};
    std::atomic<size_t> asked_messages_{0}, asked_bytes_{0};
    JobShape shape_;
    inter_sim *sim_ = nullptr;
};

#endif
