// SPDX-License-Identifier: BSD-3-Clause
// Thread-rank collectives over several processes, all within this one: every collective, both thread levels, every waiting
// policy, even and uneven teams, every algorithm, every root, short and long, in place and not; and long mixtures of them
// by threads of different speed. The main test under ThreadSanitizer.
#include "calls.h"
#include "effort.h"
#include "sim_worlds.h"
#include "thread_algorithms.h"
#include <algorithm>
#include <array>

namespace {

const std::vector<Threads> shapes = {{1}, {2}, {5}, {1, 1, 1}, {2, 2}, {1, 3, 2}, {8, 1}, {1, 1, 1, 1, 1}, {9, 9, 9}};

// Together they name every thread-level and every process-level algorithm.
std::vector<std::string> every_algorithm() {
    std::vector<std::string> texts = every_thread_algorithm();
    texts.insert(
        texts.end(),
        {
            "",
            "barrier=DISS/counter,bcast=MST/counter,reduce=MST/counter,allreduce=nbBDE/counter",
            "scan=linear/slices,exscan=nbFT/slices,reduce_scatter=nbBKT/slices,reduce_scatter_block=nbBDE/slices",
            "scan=nbFT/inline,exscan=linear/inline,reduce_scatter=MSTReduce+nbFTScatterv/inline",
            "exscan=linear/slices,reduce_scatter_block=bBDE/inline,reduce_scatter=nbBDE:1K/flags",
            "bcast=nbFT/flags,allreduce=MSTReduce+MSTBcast/slices,reduce=MST:1K/flags",
            "bcast=MST/inline,allreduce=MSTReduce+nbFTBcast/inline",
            "bcast=nbFT/counter,allreduce=MSTReduce+nbFTBcast/counter",
            "bcast=CHAIN:1K/flags,reduce=MST:1K/slices,allreduce=RAB:5K/slices,allgather=nbFT:1K/slices,"
            "alltoall=nb1FT:1K/slices",
        });
    return texts;
}

constexpr unsigned several_algorithms = INTER_BIT(INTER_BARRIER) | INTER_BIT(INTER_BCAST) | INTER_REDUCTIONS |
                                        INTER_BIT(INTER_ALLGATHER) | INTER_BIT(INTER_ALLTOALL);

// Every rank makes all the calls; with `dawdling` at its own pace.
void perform_all(const JobShape &shape, const std::vector<Call> &calls, bool dawdling) {
    SCOPED_TRACE(::testing::Message() << shape);
    threads::Watchdog watchdog(280);
    std::atomic<uint64_t> arrivals{0};
    SimWorlds(shape).run([&](weft_comm *comm) {
        EXPECT_EQ(weft_size(comm), shape.ranks());
        EXPECT_EQ(weft_nodes(comm), int(shape.threads.size()));
        threads::Random random(uint64_t(weft_rank(comm)) * 31 + 1);
        Caller caller(comm, &arrivals);
        for (const Call &call : calls) {
            if (dawdling)
                random.dawdle();
            caller.perform(call); // goes on after a failure: the others would wait for this rank
        }
    });
}

class Shapes : public ::testing::TestWithParam<Threads> {};

} // namespace

TEST_P(Shapes, EveryCallIsRight) {
    for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED}) {
        JobShape shape{GetParam(), level};
        perform_all(shape, effort::part_of(every_call(shape.ranks()), size_t(shape.level + shape.ranks())), false);
        ASSERT_FALSE(HasFailure());
    }
}

// Every other shape has the other level.
TEST_P(Shapes, EveryAlgorithmIsRight) {
    bool funneled = GetParam().size() % 2;
    for (const std::string &algorithm :
         effort::part_of(every_algorithm(), GetParam().size(), effort::sanitized ? 2 : 1)) {
        funneled = !funneled;
        JobShape shape{GetParam(), funneled ? WEFT_THREAD_FUNNELED : WEFT_THREAD_SERIALIZED};
        shape.algorithm = algorithm;
        shape.slots = 4;
        shape.seed = 17;
        std::vector<Call> calls;
        for (const Call &call : every_call(shape.ranks()))
            if (inter_is(call.kind, several_algorithms) && (call.root + int(call.words)) % 2 == 0)
                calls.push_back(call);
        perform_all(shape, effort::part_of(calls, algorithm.size() + size_t(shape.ranks())), false);
        ASSERT_FALSE(HasFailure());
    }
}

// Each pair of a process-level and a thread-level algorithm on every third shape (with sanitizers on one), and a part of the calls.
TEST_P(Shapes, EveryPairIsRight) {
    static const std::vector<std::string> pairs = every_pair();
    size_t own = size_t(std::find(shapes.begin(), shapes.end(), GetParam()) - shapes.begin());
    const size_t apart = effort::sanitized ? shapes.size() * effort::parts : 3;
    const size_t parts_of_calls = effort::sanitized ? 7 : 7 * effort::parts;
    for (size_t i = own % apart; i < pairs.size(); i += apart) {
        JobShape shape{GetParam(), i % 2 ? WEFT_THREAD_FUNNELED : WEFT_THREAD_SERIALIZED};
        shape.algorithm = pairs[i];
        shape.slots = 4;
        perform_all(shape, effort::part_of(every_call(shape.ranks()), i, parts_of_calls), false);
        ASSERT_FALSE(HasFailure()) << pairs[i];
    }
}

// Two slots: whoever is fast meets the end of the ring all the time.
TEST_P(Shapes, MixturesAreRightUnderEveryPolicy) {
    uint64_t seed = 1;
    for (weft_wait_policy policy : {WEFT_WAIT_AUTO, WEFT_WAIT_YIELD, WEFT_WAIT_BLOCK, WEFT_WAIT_SPIN})
        for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED}) {
            JobShape shape{GetParam(), level, policy};
            shape.slots = seed % 2 ? 2 : 16;
            shape.seed = seed % 3;
            perform_all(shape, mixture(shape.ranks(), effort::rounds(shape.crawls() ? 12 : 300), ++seed), true);
            ASSERT_FALSE(HasFailure());
        }
}

// A thread of weft's own drives, too, and under MULTIPLE matches what comes for ranks that compute.
TEST_P(Shapes, MixturesAreRightWithAProgressThread) {
    for (weft_thread_level level : {WEFT_THREAD_SERIALIZED, WEFT_THREAD_MULTIPLE}) {
        JobShape shape{GetParam(), level};
        shape.progress = true;
        shape.slots = 4;
        perform_all(shape, mixture(shape.ranks(), effort::rounds(120), uint64_t(level) + 77), true);
        ASSERT_FALSE(HasFailure());
    }
}

INSTANTIATE_TEST_SUITE_P(Sim, Shapes, ::testing::ValuesIn(shapes), shape_name);

// What `times` calls of a kind put on the network, beyond what making and freeing the team does.
inter_sim_counts traffic_of(const JobShape &shape, inter_collective kind, size_t words, int root, int times) {
    inter_sim_counts with_and_without[2];
    for (int with : {0, 1}) {
        SimWorlds worlds(shape);
        std::atomic<uint64_t> arrivals{0};
        worlds.run([&](weft_comm *comm) {
            Caller caller(comm, &arrivals);
            for (int i = 0; with && i < times; i++)
                EXPECT_TRUE(caller.perform({kind, words, root, false, uint64_t(i)}));
        });
        with_and_without[with] = worlds.counts();
    }
    with_and_without[1].messages -= with_and_without[0].messages;
    with_and_without[1].bytes -= with_and_without[0].bytes;
    return with_and_without[1];
}

// Data crosses the network once a process, never once a thread.
TEST(Traffic, IsOnePerPairOfNodesOrLess) {
    threads::Watchdog watchdog(280);
    JobShape shape{{3, 2, 4}};
    // In one piece; and RAB, of reduce, moves more in all, so that each process moves less.
    shape.algorithm = "bcast=MST,reduce=MST,scan=BDE,exscan=BDE";
    const size_t nodes = 3, ranks = 9, words = 5, times = 4;
    inter_sim_counts all = traffic_of(shape, INTER_ALLTOALLV, words, 0, int(times));
    EXPECT_EQ(all.messages, times * nodes * (nodes - 1)) << "alltoallv";
    all = traffic_of(shape, INTER_ALLTOALL, words, 0, int(times));
    EXPECT_EQ(all.messages, times * nodes * (nodes - 1)) << "alltoall";
    size_t remote_pairs = ranks * ranks - 3 * 3 - 2 * 2 - 4 * 4;
    EXPECT_EQ(all.bytes, times * remote_pairs * words * 8) << "alltoall";
    for (size_t length : {size_t(8), size_t(5000)}) {
        all = traffic_of(shape, INTER_BCAST, length, 4, int(times));
        EXPECT_EQ(all.messages, times * (nodes - 1)) << "bcast";
        EXPECT_EQ(all.bytes, times * (nodes - 1) * length * 8) << "bcast";
        all = traffic_of(shape, INTER_REDUCE, length, 8, int(times));
        EXPECT_EQ(all.bytes, times * (nodes - 1) * length * 8) << "reduce";
    }
    for (inter_collective kind : {INTER_SCAN, INTER_EXSCAN}) {
        all = traffic_of(shape, kind, 5000, 0, int(times));
        EXPECT_EQ(all.messages, times * 3) << inter_collective_name(kind); // 0 → 1, 1 → 2, 0 → 2
    }
    shape.algorithm = "reduce_scatter_block=nbBKT";
    all = traffic_of(shape, INTER_REDUCE_SCATTER_BLOCK, 900, 0, 1); // the first, which commutes
    EXPECT_EQ(all.messages, nodes * (nodes - 1)) << "reduce_scatter_block";
    EXPECT_EQ(all.bytes, (nodes - 1) * 900 * 8) << "reduce_scatter_block";
    all = traffic_of(shape, INTER_ALLGATHER, words, 0, int(times));
    EXPECT_EQ(all.bytes, times * (nodes - 1) * ranks * words * 8) << "allgather";
}

// With counts too: no more bytes than the blocks have, in a message a pair of nodes, and no round of counts.
TEST(Traffic, WithCountsIsThatOfTheBlocks) {
    threads::Watchdog watchdog(280);
    JobShape shape{{3, 2, 4}};
    const size_t nodes = 3, words = 5, times = 4, root = 4;
    size_t all_bytes = 0, others_bytes = 0;
    for (uint64_t id = 0; id < times; id++)
        for (int rank = 0; rank < 9; rank++) {
            size_t bytes = words_of_block({INTER_GATHERV, words, root, false, id}, rank) * 8;
            all_bytes += bytes;
            others_bytes += rank == 3 || rank == 4 ? 0 : bytes;
        }
    for (inter_collective kind : {INTER_GATHERV, INTER_SCATTERV}) {
        shape.algorithm = std::string(inter_collective_name(kind)) + "=/flags";
        inter_sim_counts all = traffic_of(shape, kind, words, root, int(times));
        EXPECT_EQ(all.messages, times * (nodes - 1)) << inter_collective_name(kind);
        EXPECT_EQ(all.bytes, others_bytes) << inter_collective_name(kind);
        shape.algorithm = std::string(inter_collective_name(kind)) + "=/direct"; // lengths are a word a message
        all = traffic_of(shape, kind, words, root, int(times));
        EXPECT_EQ(all.messages, times * (nodes - 1)) << inter_collective_name(kind);
        EXPECT_EQ(all.bytes, others_bytes + times * (nodes - 1) * sizeof(uint64_t)) << inter_collective_name(kind);
    }
    shape.algorithm.clear();
    inter_sim_counts all = traffic_of(shape, INTER_ALLGATHERV, words, 0, int(times));
    EXPECT_EQ(all.messages, times * nodes * (nodes - 1)) << "allgatherv";
    EXPECT_EQ(all.bytes, (nodes - 1) * all_bytes) << "allgatherv";
    all = traffic_of(shape, INTER_ALLTOALLW, words, 0, int(times));
    EXPECT_EQ(all.messages, times * nodes * (nodes - 1)) << "alltoallw";
}

// Who has given its share may leave weft before the root has got it, and somebody sees to that it does: all others are gone for good then,
// as far as the root can tell.
TEST(Leaving, SharesComeWithoutThoseWhoGaveThem) {
    threads::Watchdog watchdog(280);
    for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED, WEFT_THREAD_MULTIPLE})
        for (weft_wait_policy policy : {WEFT_WAIT_YIELD, WEFT_WAIT_BLOCK, WEFT_WAIT_AUTO})
            for (const char *algorithm : {"", "gather=/inline,gatherv=/flags", "gather=/direct,gatherv=/direct"}) {
                JobShape shape{{2, 3, 1}, level, policy};
                shape.algorithm = algorithm;
                shape.seed = uint64_t(policy);
                const size_t most = 6000;
                std::atomic<int> got{0};
                SimWorlds worlds(shape);
                worlds.run([&](weft_comm *comm) {
                    const int self = weft_rank(comm), ranks = weft_size(comm);
                    threads::Random random(uint64_t(self) + shape.seed);
                    std::vector<uint64_t> all(most * size_t(ranks)), own(most, uint64_t(self) + 1);
                    int calls = 0;
                    auto leave = [&](int root, bool right) {
                        calls++;
                        EXPECT_TRUE(right) << weft_last_error();
                        if (self == root)
                            got.store(calls, std::memory_order_release);
                        while (got.load(std::memory_order_acquire) < calls)
                            std::this_thread::yield();
                    };
                    for (int round = 0; round < effort::rounds(6); round++)
                        for (size_t words : {size_t(1), size_t(50), size_t(200), most}) {
                            const int root = (round + int(words)) % ranks;
                            std::vector<size_t> counts(size_t(ranks), words);
                            std::vector<ptrdiff_t> displs;
                            for (int rank = 0; rank < ranks; rank++)
                                displs.push_back(rank * ptrdiff_t(words));
                            auto is_right = [&](int code) {
                                for (size_t i = 0; self == root && i < words * size_t(ranks); i++)
                                    code |= all[i] != i / words + 1;
                                std::fill(all.begin(), all.end(), 0);
                                return code == WEFT_SUCCESS;
                            };
                            random.dawdle();
                            leave(root, is_right(weft_gather(own.data(), words, WEFT_UINT64_T, all.data(), words,
                                                             WEFT_UINT64_T, root, comm)));
                            random.dawdle();
                            leave(root,
                                  is_right(weft_gatherv(own.data(), words, WEFT_UINT64_T, all.data(), counts.data(),
                                                        displs.data(), WEFT_UINT64_T, root, comm)));
                            random.dawdle();
                            int code = weft_reduce(own.data(), all.data(), words, WEFT_UINT64_T, WEFT_SUM, root, comm);
                            leave(root, !code && (self != root || all[words - 1] == uint64_t(ranks * (ranks + 1) / 2)));
                        }
                });
            }
}

// Threads come and go between collectives, with other numbers each time; the team goes on where it was.
TEST(Teams, ThreadsMayLeaveAndComeBack) {
    threads::Watchdog watchdog(280);
    JobShape shape{{3, 2}};
    SimWorlds worlds(shape);
    std::atomic<uint64_t> arrivals{0};
    worlds.run_processes([&](int rank, hier_world *world) {
        weft_team *team = nullptr;
        ASSERT_EQ(weft_team_create(world->process_comm, shape.threads[size_t(rank)], &team), WEFT_SUCCESS);
        for (uint64_t visit = 1; visit <= 10; visit++)
            worlds.run_team(team, [&](weft_comm *comm) {
                Caller caller(comm, &arrivals);
                for (const Call &call : mixture(shape.ranks(), 7, visit))
                    if (call.kind != INTER_BARRIER)
                        caller.perform(call);
            });
        EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS);
    });
}

// What a slot keeps of a call, where each process has one thread, serves no call of a thread that has come back, however alike the two are.
TEST(Teams, WhoComesBackHasOtherBuffers) {
    threads::Watchdog watchdog(60);
    JobShape shape{{1, 1, 1}};
    shape.cores = 8;
    SimWorlds worlds(shape);
    worlds.run_processes([&](int rank, hier_world *world) {
        std::vector<std::array<int, 2>> sent(5), sums(5);
        std::vector<int> gathered(15);
        weft_team *team = nullptr;
        ASSERT_EQ(weft_team_create(world->process_comm, 1, &team), WEFT_SUCCESS);
        for (size_t visit = 0; visit < sent.size(); visit++)
            worlds.run_team(team, [&](weft_comm *comm) {
                for (int turn = 0; turn < 40; turn++) {
                    const int all = 1 + int(visit) * 10 + turn;
                    int *given = sent[visit].data(), *sum = sums[visit].data(), *from_all = &gathered[3 * visit];
                    given[0] = all * (rank + 1);
                    EXPECT_EQ(weft_allreduce(given, sum, 1, WEFT_INT, WEFT_SUM, comm), WEFT_SUCCESS);
                    EXPECT_EQ(sum[0], 6 * all);
                    if (turn % 3 == 0) {
                        EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS);
                    }
                    EXPECT_EQ(weft_allgather(given, 1, WEFT_INT, from_all, 1, WEFT_INT, comm), WEFT_SUCCESS);
                    EXPECT_TRUE(from_all[0] == all && from_all[1] == 2 * all && from_all[2] == 3 * all);
                    if (turn % 5 == 0) { // the same slots, by another schedule
                        EXPECT_EQ(weft_allreduce(given, sum, visit % 2, WEFT_INT, WEFT_SUM, comm), WEFT_SUCCESS);
                    }
                }
            });
        EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS);
    });
}

// A thread that takes the place of one that has ended may leave for it, and goes on with all that is its own: what it has under way in
// one team moves while it waits in another.
TEST(Teams, LeftForAThreadThatHasEnded) {
    threads::Watchdog watchdog(60);
    JobShape shape{{1}};
    SimWorlds worlds(shape);
    worlds.run_processes([&](int, hier_world *world) {
        std::vector<uint64_t> own(1 << 17, 1), others(own);
        weft_team *first = nullptr, *second = nullptr, *ended = nullptr;
        ASSERT_EQ(weft_team_create(world->process_comm, 2, &first), WEFT_SUCCESS);
        ASSERT_EQ(weft_team_create(world->process_comm, 2, &second), WEFT_SUCCESS);
        ASSERT_EQ(weft_team_create(world->process_comm, 1, &ended), WEFT_SUCCESS);
        weft_comm *of_ended = nullptr;
        pthread_t who_ended{};
        bool takes_its_place = false;
        std::thread([&] {
            who_ended = pthread_self();
            EXPECT_EQ(weft_team_enter(ended, 0, &of_ended), WEFT_SUCCESS);
        }).join();
        std::thread heir([&] {
            weft_comm *of_first = nullptr, *of_second = nullptr;
            weft_request *request = nullptr;
            EXPECT_EQ(weft_team_enter(first, 0, &of_first), WEFT_SUCCESS);
            takes_its_place = pthread_equal(who_ended, pthread_self());
            EXPECT_EQ(weft_team_leave(&of_ended), takes_its_place ? WEFT_SUCCESS : WEFT_ERR_THREAD);
            EXPECT_EQ(weft_team_enter(second, 0, &of_second), WEFT_SUCCESS);
            EXPECT_EQ(
                weft_iallreduce(WEFT_IN_PLACE, own.data(), own.size(), WEFT_UINT64_T, WEFT_SUM, of_first, &request),
                WEFT_SUCCESS);
            EXPECT_EQ(weft_barrier(of_second), WEFT_SUCCESS);
            EXPECT_EQ(weft_wait(&request, nullptr), WEFT_SUCCESS);
            EXPECT_EQ(weft_team_leave(&of_second), WEFT_SUCCESS);
            EXPECT_EQ(weft_team_leave(&of_first), WEFT_SUCCESS);
        });
        weft_comm *of_first = nullptr, *of_second = nullptr;
        EXPECT_EQ(weft_team_enter(first, 1, &of_first), WEFT_SUCCESS);
        EXPECT_EQ(weft_team_enter(second, 1, &of_second), WEFT_SUCCESS);
        EXPECT_EQ(weft_allreduce(WEFT_IN_PLACE, others.data(), others.size(), WEFT_UINT64_T, WEFT_SUM, of_first),
                  WEFT_SUCCESS);
        EXPECT_EQ(weft_barrier(of_second), WEFT_SUCCESS);
        EXPECT_EQ(weft_team_leave(&of_second), WEFT_SUCCESS);
        EXPECT_EQ(weft_team_leave(&of_first), WEFT_SUCCESS);
        heir.join();
        EXPECT_EQ(own.back() + others.back(), 4u);
        EXPECT_EQ(weft_team_free(&first), WEFT_SUCCESS);
        EXPECT_EQ(weft_team_free(&second), WEFT_SUCCESS);
        EXPECT_EQ(weft_team_free(&ended), takes_its_place ? WEFT_SUCCESS : WEFT_ERR_BUSY);
    });
}

// Teams one after the other use the same context again.
TEST(Teams, AreMadeAndFreedManyTimes) {
    threads::Watchdog watchdog(280);
    for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED, WEFT_THREAD_MULTIPLE}) {
        JobShape shape{{2, 1, 3}, level};
        SimWorlds worlds(shape);
        worlds.run_processes([&](int rank, hier_world *world) {
            for (int round = 0; round < 20; round++) {
                weft_team *team = nullptr;
                int count = 1 + (rank + round) % 3, ranks = 0;
                for (int process = 0; process < 3; process++)
                    ranks += 1 + (process + round) % 3;
                ASSERT_EQ(weft_team_create(world->process_comm, count, &team), WEFT_SUCCESS) << weft_last_error();
                worlds.run_team(team, [&](weft_comm *comm) {
                    uint64_t one = 1, sum = 0;
                    EXPECT_EQ(weft_allreduce(&one, &sum, 1, WEFT_UINT64_T, WEFT_SUM, comm), WEFT_SUCCESS);
                    EXPECT_EQ(sum, uint64_t(ranks));
                });
                EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS);
            }
        });
    }
}

// Two teams of the same processes at work at once: whoever waits drives the messages of both.
TEST(Teams, WorkSideBySide) {
    threads::Watchdog watchdog(280);
    JobShape shape{{2, 2, 2}};
    SimWorlds worlds(shape);
    std::atomic<uint64_t> arrivals[2] = {{0}, {0}};
    worlds.run_processes([&](int, hier_world *world) {
        weft_team *teams[2] = {nullptr, nullptr};
        for (weft_team *&team : teams)
            ASSERT_EQ(weft_team_create(world->process_comm, 2, &team), WEFT_SUCCESS) << weft_last_error();
        threads::run(2, [&](int which) {
            worlds.run_team(teams[which], [&](weft_comm *comm) {
                threads::Random random(uint64_t(weft_rank(comm) * 2 + which));
                Caller caller(comm, &arrivals[which]);
                for (const Call &call : mixture(shape.ranks(), 100, uint64_t(which) + 5)) {
                    random.dawdle();
                    caller.perform(call);
                }
            });
        });
        for (weft_team *&team : teams)
            EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS);
    });
}

namespace {

void add(const void *in, void *inout, size_t count, const weft_datatype *) {
    for (size_t i = 0; i < count; i++)
        static_cast<int *>(inout)[i] += static_cast<const int *>(in)[i];
}

void multiply(const void *in, void *inout, size_t count, const weft_datatype *) {
    for (size_t i = 0; i < count; i++)
        static_cast<int *>(inout)[i] *= static_cast<const int *>(in)[i];
}

// The operation is freed between starts, and many others, one of which may have its place, are made.
void free_between_starts(weft_comm *comm) {
    int own = weft_rank(comm) + 1, sum = 0, expected = 0;
    for (int rank = 0; rank < weft_size(comm); rank++)
        expected += rank + 1;
    weft_op *op = nullptr, *other = nullptr;
    weft_request *request = nullptr;
    ASSERT_EQ(weft_op_create(add, 1, &op), WEFT_SUCCESS);
    ASSERT_EQ(weft_allreduce_init(&own, &sum, 1, WEFT_INT, op, comm, &request), WEFT_SUCCESS);
    for (int start = 0; start < 2; start++) {
        sum = 0;
        ASSERT_EQ(weft_start(&request), WEFT_SUCCESS);
        ASSERT_EQ(weft_wait(&request, WEFT_STATUS_IGNORE), WEFT_SUCCESS) << weft_last_error();
        EXPECT_EQ(sum, expected);
        if (start == 0) {
            ASSERT_EQ(weft_op_free(&op), WEFT_SUCCESS);
        }
        for (int i = 0; i < 200; i++) {
            ASSERT_EQ(weft_op_create(multiply, 1, &other), WEFT_SUCCESS);
            ASSERT_EQ(weft_op_free(&other), WEFT_SUCCESS);
        }
    }
    EXPECT_EQ(weft_request_free(&request), WEFT_SUCCESS);
}

} // namespace

TEST(Persistent, OperationsMayBeFreedBetweenStarts) {
    threads::Watchdog watchdog(280);
    for (const Threads &shape : {Threads{3}, Threads{2, 2}, Threads{1, 1, 1}}) {
        SimWorlds(JobShape{shape}).run(free_between_starts);
        SimWorlds(JobShape{shape}).run_processes([](int, hier_world *world) {
            free_between_starts(world->process_comm);
        });
    }
}
